//! Lines that say INCOMPLETE and are no markers, because of the form in which they say it: `INCOMPLETE: 2 tests`,
//! `My verdict: INCOMPLETE`, `The task is not yet COMPLETE.`
//!
//! They decide nothing. But a COMPLETE beside one is not believed.

use crate::verdict::remark::ratio::has_unmet_ratio;
use crate::verdict::sense::{Sense, sense_of};
use crate::verdict::text;
use crate::verdict::words::{self, Word};

/// Words in front of a verdict that make no other sentence of it. The list is closed, since prose may say of anything
/// that it is incomplete.
const BEFORE: &[&str] = &[
    "a", "actually", "again", "and", "answer", "assessment", "but", "changed", "changes", "conclusion",
    "correction", "decision", "fail", "failed", "feature", "final", "hence", "however", "i",
    "implementation", "is", "it", "job", "judgement", "judgment", "my", "new", "now", "outcome", "overall",
    "remains", "result", "revised", "so", "sorry", "status", "stays", "step", "still", "task", "that", "the",
    "therefore", "this", "thus", "to", "updated", "verdict", "wait", "work", "wrong",
];

/// Words behind it that take it back, or that tell of an earlier time.
const EXCUSES: &[&str] = &[
    "was", "were", "previous", "previously", "earlier", "before", "formerly", "initially", "until", "if",
    "when", "unless", "means", "none", "nothing", "no", "zero", "0",
];

/// Words that begin a reason.
const REASONS: &[&str] = &["because", "since", "as", "due", "for"];

/// Words that a label ends with a verdict: the forms of those that are no markers by themselves.
const OPEN_VALUES: &[&str] = &["failing", "fails", "unfinished", "broken", "red", "unsuccessful"];

/// Says so of a line that was undressed and is no marker.
pub(in crate::verdict) fn is_doubt(line: &str) -> bool {
    let line = line.trim();
    leads(line) || ends(line) || denies(line)
}

/// Says so of what stands behind a label for a verdict.
pub(in crate::verdict) fn is_open_value(value: &str) -> bool {
    let value = value.trim();
    let (first, rest) = value.split_at(value.find(|c: char| !c.is_alphabetic()).unwrap_or(value.len()));
    let ends = rest.is_empty() || rest.starts_with(['.', ':', '(', ',', ';', '!']) || rest.starts_with(" - ");
    let reasons = text::words(rest)
        .next()
        .is_some_and(|word| REASONS.contains(&word.as_str()) && rest.starts_with(' '));
    let is_open = OPEN_VALUES.contains(&first.to_lowercase().as_str()) && (ends || reasons);
    let word = words::read_exact(value);
    is_open
        || value.starts_with(['未', '不', '非'])
        || words::says_no(value)
        || value.trim_end_matches('.').eq_ignore_ascii_case("ng")
        || matches!(word, Some(Word::Blocked | Word::Waiting))
        || matches!(sense_of(value), Some(Sense::Bad | Sense::Open))
        || counts_bad(value)
}

/// `0/5`, `2 failed`: of a result, what is left of it.
fn counts_bad(value: &str) -> bool {
    const FIGURE_CHARS_MAX: usize = 40;
    const MENDED: &[&str] = &["fixed", "resolved", "closed", "gone", "mended", "solved", "before"];
    let said: Vec<String> = text::words(text::head(value, text::BESIDE_CHARS_MAX)).collect();
    let counts = |pair: &[String]| {
        let is_some = pair[0].parse().is_ok_and(|number: u64| number > 0);
        is_some && matches!(sense_of(&pair[1]), Some(Sense::Bad | Sense::Open))
    };
    let is_mended = said.iter().any(|word| MENDED.contains(&word.as_str()));
    (value.len() <= FIGURE_CHARS_MAX && has_unmet_ratio(value)) || (!is_mended && said.windows(2).any(counts))
}

/// `INCOMPLETE because lint is red`, `INCOMPLETE: 2 tests`.
fn leads(line: &str) -> bool {
    let Some(rest) = line.strip_prefix("NOT COMPLETE").or_else(|| line.strip_prefix("INCOMPLETE")) else {
        return false;
    };
    let reason = rest.trim_start();
    let first = text::words(reason).next().unwrap_or_default();
    let separated = reason.starts_with([':', '：', '-', '–', '—', '(', '[', '.', ',', ';', '=', '→', '|']);
    let figure = first.starts_with(|c: char| c.is_ascii_digit());
    let begins = separated || rest.starts_with('\t') || figure || REASONS.contains(&first.as_str());
    let is_name = reason.len() == rest.len() && rest.starts_with(['-', '.', '=']) && !rest.starts_with(". ");
    begins
        && !is_name
        && !rest.contains("COMPLETE")
        && !text::words(rest).any(|word| EXCUSES.contains(&word.as_str()))
}

/// `Actually, this is not complete yet.`, `まだ完了していません。`: the first sentence takes it back, in small letters too.
pub(in crate::verdict) fn denies(line: &str) -> bool {
    const WHAT: &[&str] = &["feature", "implementation", "it", "job", "step", "task", "that", "this", "work"];
    const OPEN: &[&str] = &["incomplete", "unfinished", "undone"];
    const ENDS: &[&str] = &["complete", "completed", "done", "finished"];
    const NEGATIONS: &[&str] = &["not", "isn't", "isnt", "never"];
    const DEGREES: &[&str] = &["yet", "fully", "quite", "really", "all", "actually"];
    let core = line.trim_end_matches(['.', '!', '。', '*']);
    let unfinished = core.rsplit_once("まだ").is_some_and(|(_, rest)| {
        let is_whole =
            !rest.contains(['、', '。']) && ["ません", "ない"].iter().any(|end| rest.ends_with(end));
        is_whole && ["完了", "完成", "終わ", "済"].iter().any(|word| rest.contains(word))
    });
    if unfinished {
        return true;
    }
    let sentence = line.split(['.', '!', ';']).next().unwrap_or_default().to_lowercase().replace('’', "'");
    let mut words: Vec<&str> = sentence
        .split(|c: char| c.is_whitespace() || matches!(c, ',' | ':' | '"' | '*'))
        .filter(|word| !word.is_empty())
        .collect();
    let drop_degrees = |words: &mut Vec<&str>| while words.pop_if(|last| DEGREES.contains(last)).is_some() {};
    drop_degrees(&mut words);
    let says_of_work = |words: &[&str]| {
        words.iter().any(|word| WHAT.contains(word)) && words.iter().all(|word| BEFORE.contains(word))
    };
    if words.pop_if(|last| OPEN.contains(last)).is_some() {
        return says_of_work(&words);
    }
    if words.pop_if(|last| ENDS.contains(last)).is_none() {
        return false;
    }
    drop_degrees(&mut words);
    words.pop_if(|last| NEGATIONS.contains(last)).is_some() && says_of_work(&words)
}

/// `It is INCOMPLETE.`, `My verdict: NOT COMPLETE`.
fn ends(line: &str) -> bool {
    const NEGATIONS: &[&str] = &["not", "isn't", "isnt"];
    const BETWEEN: &[&str] = &["yet", "fully", "quite", "really"];
    let core = line.trim_end_matches(['.', '!', '*', '"', '”']);
    let Some((before, last)) = core.rsplit_once(char::is_whitespace) else { return false };
    let mut before: Vec<String> = text::words(before).collect();
    if last == "COMPLETE" {
        if before.last().is_some_and(|word| BETWEEN.contains(&word.as_str())) {
            before.pop();
        }
        if !before.pop().is_some_and(|word| NEGATIONS.contains(&word.as_str())) {
            return false;
        }
    } else if last != "INCOMPLETE" {
        return false;
    }
    // "It was" tells of an earlier time, "I was wrong" of now.
    let was_wrong = before.iter().any(|word| word == "wrong");
    before.iter().all(|word| BEFORE.contains(&word.as_str()) || word == "was" && was_wrong)
}
