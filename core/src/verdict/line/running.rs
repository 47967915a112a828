//! Reads a sentence that runs over the end of its line into a verdict below: "The task is not", then
//! "COMPLETE".
//!
//! A line counts only where its last word cannot end a sentence, or where it ends in a colon. What a
//! summary says above an honest COMPLETE is no part of it, whatever it denies.

use super::denial::{Reach, denial_of};
use super::example::last_sentence;
use crate::verdict::remark::limits::Limit;

/// Words that leave a sentence open: verbs of being, negations and degrees, auxiliaries, joints.
const LINKS: &[&str] = &[
    "is", "are", "was", "were", "be", "been", "being", "am", "becomes", "means", "not", "never", "neither",
    "nor", "yet", "almost", "nearly", "mostly", "partly", "partially", "half", "quite", "fully", "really",
    "hardly", "barely", "from", "near", "as", "the", "a", "an", "than", "until", "unless", "if", "when",
    "once", "because", "or", "and", "but", "cannot", "will", "would", "should", "could", "might", "may",
    "must",
];

/// Verbs that are followed by what is said, and what joins it to them.
const SAYINGS: &[&str] = &[
    "say", "says", "saying", "print", "report", "write", "answer", "output", "call", "calling", "declare",
    "return", "reply", "respond", "claim", "mark", "consider", "deem", "emit", "send", "signal", "conclude",
    "confirm", "announce", "state", "with", "to",
];

/// What may stand between such a verb and the verdict: "call this", "mark the task".
const SAID_OF: &[&str] =
    &["this", "that", "it", "them", "these", "task", "work", "step", "job", "everything", "all"];

/// Words in CJK scripts that deny what comes after them.
const DENIALS_CJK: &[&str] = &["まだ", "未", "不是", "尚未", "还没有", "還沒有", "还没", "還沒"];

/// Returns the sentence that runs into a COMPLETE, and what it does to it. `above` are the lines above
/// that have text, the nearest first.
pub(crate) fn limit_above<'a>(above: impl Iterator<Item = &'a str>) -> Option<(String, Limit)> {
    let sentence = sentence_above(above);
    let core = trim_end(&sentence);
    if DENIALS_CJK.iter().any(|piece| core.ends_with(piece)) {
        return Some((core.to_owned(), Limit::Limited));
    }
    if is_due(core) {
        return Some((core.to_owned(), Limit::Conditional));
    }
    let limit = denial_of(last_sentence(core), reach(core)?);
    (limit != Limit::Free).then(|| (core.to_owned(), limit))
}

/// `The next step is to print`, `TODO: print`: what is below is still to be said.
fn is_due(core: &str) -> bool {
    const OUTPUTS: &[&str] = &["print", "output", "write", "emit", "reply", "respond", "answer", "return"];
    let mut words = core.rsplit(char::is_whitespace).filter(|word| !word.is_empty()).map(bare);
    let says = words.next().is_some_and(|last| OUTPUTS.contains(&last.as_str()));
    says && match words.next().as_deref() {
        Some("todo:") => true,
        Some("to") => words.next().as_deref() == Some("is") && words.next().as_deref() == Some("step"),
        _ => false,
    }
}

/// Joins the lines of a sentence: one that begins with a small letter goes on from the line above it.
fn sentence_above<'a>(above: impl Iterator<Item = &'a str>) -> String {
    const LINES_MAX: usize = 4;
    const LINE_CHARS_MAX: usize = 300;
    let mut sentence = String::new();
    for line in above.take(LINES_MAX) {
        let line = line.trim();
        let start = line.char_indices().rev().nth(LINE_CHARS_MAX).map_or(0, |(at, _)| at);
        sentence = format!("{} {sentence}", &line[start..]);
        let goes_on = line.starts_with(char::is_lowercase) && last_sentence(line).len() == line.len();
        if !goes_on {
            break;
        }
    }
    sentence
}

/// Takes off what decorates the end of a line, and what only separates it from the next.
fn trim_end(text: &str) -> &str {
    const DRESS: &[char] =
        &['*', '_', '`', '"', '\'', '“', '”', '‘', '’', '「', '(', '[', '<', '—', '–', '-', ',', '…', '>'];
    let core = text.trim_end_matches(|c: char| c.is_whitespace() || DRESS.contains(&c));
    core.strip_suffix("...").unwrap_or(core).trim_end()
}

/// Tells how a line goes on into the next. `None`: nothing shows that it does.
fn reach(core: &str) -> Option<Reach> {
    if core.ends_with([':', '：']) {
        return Some(Reach::Colon);
    }
    let mut words = core.rsplit(char::is_whitespace).filter(|word| !word.is_empty()).map(bare);
    let last = words.next()?;
    let before: Vec<String> = words.take(3).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    if is_manner(&last, &before) {
        return None;
    }
    if is_in(&last, LINKS) || last.ends_with("n't") {
        return Some(Reach::Link);
    }
    let said_of = is_in(&last, SAID_OF) && before.iter().take(2).any(|word| is_in(word, SAYINGS));
    (said_of || is_in(&last, SAYINGS)).then_some(Reach::Saying)
}

/// "left as is", "as it should be": ends a sentence after all.
fn is_manner(last: &str, before: &[String]) -> bool {
    let back = match last {
        "is" | "are" | "was" | "were" => 2,
        "be" => 3,
        _ => return false,
    };
    before.iter().take(back).any(|word| word == "as")
}

/// A word in small letters, without what stands around it.
fn bare(word: &str) -> String {
    word.trim_matches(|c: char| matches!(c, '*' | '_' | '`' | '"' | '“' | '(' | '['))
        .to_lowercase()
        .replace('’', "'")
}
