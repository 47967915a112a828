//! Reads the words of a verdict, alone and in a longer value.

use super::remark::affirm::affirms;
use super::remark::cjk;
use super::remark::good_news::{BAD, unabsorbed};
use super::remark::limits::{Limit, limit_of};
use super::remark::reason::{is_value, reports_success};
use super::text::is_cjk;
use super::tokens::{Token, is_number, next_in_clause, tokens};

/// What the value of a decision key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The work is done.
    Complete,
    /// It is not, or not without a limit.
    Incomplete,
    /// A person must act.
    Blocked,
    /// An external job is still running.
    Waiting,
    /// Nothing we know.
    Unknown,
}

const COMPLETE: &[&str] = &[
    "complete", "completed", "pass", "passed", "done", "finished", "success", "succeeded", "ok", "approved",
];

const INCOMPLETE: &[&str] = &["incomplete", "fail", "failed", "failure", "partial", "pending", "rejected"];

/// Other forms of these, which are read under a decision key only.
const INCOMPLETE_FORMS: &[&str] = &["fails", "failing", "failures", "partially", "unsuccessful", "ongoing"];

/// Pairs of words that are one word of the list.
const INCOMPLETE_PAIRS: &[(&str, &str)] = &[("not", "complete"), ("in", "progress"), ("needs", "work")];

/// Words that may stand before a complete word without changing what it says.
const HARMLESS_BEFORE: &[&str] = &[
    "the", "a", "task", "work", "step", "everything", "all", "both", "tests", "test", "checks", "check",
    "suite", "build", "lint", "goals", "requirements", "criteria", "items", "steps", "tasks", "is", "are",
    "was", "were", "has", "have", "been", "now", "it", "this", "that", "job", "verdict", "decision",
    "status", "result", "final", "overall", "completion", "successfully", "fully", "totally", "entirely",
    "completely", "already", "i", "we", "my", "and",
];

/// Reads the value of a decision key.
pub(super) fn read_value(value: &str) -> Word {
    let value = value.trim();
    if is_template(value) {
        return Word::Unknown;
    }
    if let Some(spaced) = spaced_camel_case(value) {
        return read_value(&spaced);
    }
    let tokens = tokens(value);
    if let Some(word) = exact(value, &tokens) {
        return word;
    }
    let done = tokens.iter().position(|t| COMPLETE.contains(&t.text.as_str()));
    let open = first_incomplete(&tokens);
    match (done, open) {
        (None, None) if cjk::is_open(value) => Word::Incomplete,
        (None, None) => Word::Unknown,
        (None, Some(_)) if negates_failure(&tokens) => Word::Unknown,
        (None, Some(_)) => Word::Incomplete,
        (Some(_), Some(_)) if offers_choice(value) => Word::Unknown,
        (Some(done), _) => read_long(value, &tokens, done),
    }
}

/// `notComplete`, `inProgress`: a name of several words, as `not complete`.
pub(super) fn spaced_camel_case(value: &str) -> Option<String> {
    let is_name = !value.is_empty() && value.chars().all(|c| c.is_ascii_alphabetic());
    let joints = || value.char_indices().zip(value.chars().skip(1)).map(|((_, a), b)| (a, b));
    if !is_name || !joints().any(|(a, b)| a.is_ascii_lowercase() && b.is_ascii_uppercase()) {
        return None;
    }
    let mut spaced = String::new();
    let mut previous = ' ';
    for c in value.chars() {
        if previous.is_ascii_lowercase() && c.is_ascii_uppercase() {
            spaced.push(' ');
        }
        spaced.push(c.to_ascii_lowercase());
        previous = c;
    }
    Some(spaced)
}

/// `notdone`, `unfinished`, `disapproved`: a complete word that its beginning takes back.
pub(super) fn is_taken_back(word: &str) -> bool {
    ["not", "un", "non", "in", "dis"].iter().any(|head| {
        let rest = word.strip_prefix(head);
        rest.is_some_and(|rest| COMPLETE.contains(&rest))
    })
}

/// Says whether a word is one of those for what is done.
pub(super) fn is_complete_word(word: &str) -> bool {
    COMPLETE.contains(&word)
}

/// Says whether a value that is cut off may have been going to say that it is complete: `comp`.
pub(super) fn begins_complete(value: &str) -> bool {
    let core = value.trim().to_ascii_lowercase();
    let begins = |words: &[&str]| words.iter().any(|word| word.starts_with(core.as_str()));
    !core.is_empty() && begins(COMPLETE) && !begins(INCOMPLETE)
}

/// Reads a value that is one word of the lists and nothing else.
pub(super) fn read_exact(value: &str) -> Option<Word> {
    exact(value, &tokens(value))
}

/// A value that is one word of the lists, apart from its dress.
fn exact(value: &str, tokens: &[Token]) -> Option<Word> {
    if value.contains(['?', '？', '|']) || value.starts_with(['/', '\\']) || value.chars().any(is_cjk) {
        return None;
    }
    let words: Vec<&str> = tokens.iter().map(|t| t.text.as_str()).collect();
    match words.as_slice() {
        [word] if COMPLETE.contains(word) && !trails_off(value) => Some(dressed(value, Word::Complete)),
        [word] if INCOMPLETE.contains(word) => Some(Word::Incomplete),
        ["blocked"] => Some(Word::Blocked),
        ["waiting"] => Some(Word::Waiting),
        [first, second] if INCOMPLETE_PAIRS.contains(&(first, second)) => Some(Word::Incomplete),
        _ => None,
    }
}

/// `complete...`, `complete: -`, `complete/`: something was to come behind it.
fn trails_off(value: &str) -> bool {
    let behind = value.trim_end_matches(|c: char| !c.is_alphanumeric()).len();
    let behind = &value[behind..];
    behind.contains([':', '=', '…', '/', '\\', '&', '+', '@', '>'])
        || behind.contains("..")
        || behind.trim_start().starts_with(['-', '–', '—'])
}

/// A crossed-out or struck-through complete word says the opposite.
fn dressed(value: &str, word: Word) -> Word {
    // A lone mark behind the word is that of a footnote.
    let is_noted = value.ends_with(['*', '~']) && !value.starts_with(['*', '~']);
    let is_denied = value.starts_with(['!', '~', '¬']);
    let is_unchecked = value.contains("[ ]") || value.contains('☐');
    if is_denied || is_noted || is_unchecked || value.contains("~~") || value.chars().any(is_cross) {
        Word::Incomplete
    } else {
        word
    }
}

fn read_long(value: &str, tokens: &[Token], done: usize) -> Word {
    let before = &tokens[..done];
    let is_whole = value.contains(['/', '%', '％']);
    let is_harmless =
        |t: &Token| HARMLESS_BEFORE.contains(&t.text.as_str()) || (is_whole && is_number(Some(t)));
    let behind = behind(value, &tokens[done].text);
    let is_limited = limit_of(value) != Limit::Free
        || limit_of(behind) != Limit::Free
        || counts_none(behind)
        || goes_on(behind);
    if is_limited || value.chars().any(is_cross) || value.contains("~~") {
        return Word::Incomplete;
    }
    if is_no_text(value, behind) {
        return Word::Unknown;
    }
    if !before.iter().all(is_harmless) || is_imperative(tokens, done) || value.starts_with('!') {
        return Word::Unknown;
    }
    if is_compound(value, &tokens[done].text) {
        return Word::Unknown;
    }
    match attached_cjk(value, &tokens[done].text) {
        Some(suffix) => match cjk::read_suffix(suffix) {
            Some(true) => Word::Complete,
            Some(false) => Word::Incomplete,
            None => Word::Unknown,
        },
        None if behind.is_empty() || affirms(behind) => Word::Complete,
        None => Word::Incomplete,
    }
}

/// `complete: 12`, `complete: src/lib.rs`, `complete: N/A`, `complete: -`: a value, or nothing, and no text.
fn is_no_text(value: &str, behind: &str) -> bool {
    let core = behind.trim_matches(|c: char| !c.is_alphanumeric());
    let is_value = !core.is_empty() && is_value(core) && !reports_success(core) && !affirms(core);
    let is_separated =
        value.contains([':', '=', '-', '–', '—', '…', '/', '\\', '&', '+', '@']) || value.contains("..");
    is_value || (core.is_empty() && is_separated)
}

/// Returns what stands behind the word.
fn behind<'a>(value: &'a str, word: &str) -> &'a str {
    let start = value.to_ascii_lowercase().find(word).map_or(value.len(), |at| at + word.len());
    value[start..]
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '-' | '–' | '—' | '('))
}

/// `0`, `0 tests`: nothing was done; `0 errors` is good news.
fn counts_none(behind: &str) -> bool {
    const WORK: &[&str] = &[
        "test", "tests", "check", "checks", "step", "steps", "task", "tasks", "item", "items", "passed", "of",
    ];
    let tokens = tokens(behind);
    let mut words = tokens.iter().map(|token| (token.text.as_str(), token.clause));
    let Some((_, clause)) = words.next().filter(|(word, _)| matches!(*word, "0" | "zero")) else {
        return false;
    };
    let mut words = words.filter(|(_, of)| *of == clause).map(|(word, _)| word);
    match words.next() {
        None => true,
        Some(next) => WORK.contains(&next) && !words.any(|word| BAD.contains(&word)),
    }
}

/// `starting now`: what was to be done goes on.
fn goes_on(behind: &str) -> bool {
    let tokens = tokens(behind);
    tokens
        .first()
        .is_some_and(|first| matches!(first.text.as_str(), "starting" | "continuing" | "proceeding"))
}

/// `complete.sh`, `pass-through`, `pass/fail`: the word is only the beginning of a name.
fn is_compound(value: &str, word: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let Some((_, rest)) = lower.split_once(word) else { return false };
    let mut next = rest.chars();
    next.next().is_some_and(|c| matches!(c, '.' | '-' | '/' | '\\' | '_' | '@'))
        && next.next().is_some_and(char::is_alphanumeric)
}

/// Returns the CJK text that follows the word without a gap, up to the end of the value.
fn attached_cjk<'a>(value: &'a str, word: &str) -> Option<&'a str> {
    let start = value.to_ascii_lowercase().find(word)? + word.len();
    value[start..].starts_with(is_cjk).then(|| &value[start..])
}

/// `complete the migration first`: an order, not a statement.
fn is_imperative(tokens: &[Token], done: usize) -> bool {
    const ORDERS: &[&str] = &["complete", "pass"];
    const OBJECTS: &[&str] = &[
        "the", "a", "an", "all", "this", "these", "those", "each", "every", "your", "my", "section", "step",
        "steps", "task", "tasks", "list", "them", "it", "rate", "to", "through", "on", "in",
    ];
    let is_order = ORDERS.contains(&tokens[done].text.as_str());
    is_order && next_in_clause(tokens, done).is_some_and(|next| OBJECTS.contains(&next.text.as_str()))
}

fn first_incomplete(tokens: &[Token]) -> Option<usize> {
    let free = unabsorbed(tokens);
    let pairs = tokens
        .windows(2)
        .position(|pair| INCOMPLETE_PAIRS.contains(&(pair[0].text.as_str(), pair[1].text.as_str())));
    let is_open =
        |word: &str| INCOMPLETE.contains(&word) || INCOMPLETE_FORMS.contains(&word) || is_taken_back(word);
    free.into_iter().find(|i| is_open(&tokens[*i].text)).or(pairs)
}

/// `not failed`, `never fails`: no failure, but no success either.
fn negates_failure(tokens: &[Token]) -> bool {
    const NEGATIONS: &[&str] = &["not", "never", "no", "isnt", "didnt", "doesnt", "0", "zero"];
    tokens.first().is_some_and(|t| NEGATIONS.contains(&t.text.as_str()))
}

/// Both a complete and an incomplete word, with nothing but a choice between them.
pub(super) fn offers_choice(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '|' | '/'))
        .flat_map(|part| part.split_inclusive(['|', '/']))
        .filter(|word| !word.is_empty())
        .collect();
    let side = |word: &str| {
        let word = word.trim_end_matches(['|', '/']);
        if COMPLETE.contains(&word) {
            Some(true)
        } else if INCOMPLETE.contains(&word) || word == "not" {
            Some(false)
        } else {
            None
        }
    };
    let is_joint = |word: &str| matches!(word, "or" | "|" | "/" | "vs" | "versus" | "oder");
    let joined = |pair: &[&str]| {
        pair[0].ends_with(['|', '/'])
            && side(pair[0]).is_some()
            && side(pair[1]).is_some_and(|s| Some(s) != side(pair[0]))
    };
    let spaced = |three: &[&str]| {
        is_joint(three[1])
            && side(three[0]).is_some()
            && side(three[2]).is_some_and(|s| Some(s) != side(three[0]))
    };
    words.windows(2).any(joined) || words.windows(3).any(spaced)
}

fn is_template(value: &str) -> bool {
    value.starts_with(['<', '$']) || value.contains("{{") || value.starts_with('%')
}

/// Symbols that say no.
pub(super) fn is_cross(c: char) -> bool {
    matches!(
        c,
        '❌' | '✗'
            | '✘'
            | '✕'
            | '✖'
            | '❎'
            | '🚫'
            | '⛔'
            | '⚠'
            | '🔴'
            | '🟡'
            | '🟠'
            | '❗'
            | '‼'
            | '❓'
            | '❔'
            | '⏳'
            | '⌛'
            | '🚧'
            | '👎'
            | '×'
            | '☒'
    )
}

/// Tells whether a text is nothing but "no", "false" and the like.
pub(super) fn is_refusal(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(
        core.as_str(),
        "no" | "false"
            | "never"
            | "nope"
            | "nay"
            | "none"
            | "not yet"
            | "not"
            | "n"
            | "いいえ"
            | "否"
            | "ng"
            | "偽"
            | "null"
            | "nil"
            | "n/a"
            | "undefined"
            | "nan"
            | "off"
            | "nah"
            | "nein"
            | "non"
            | "x"
    )
}

/// Tells whether a text is a plain no. A "none" or "n/a" only says that there is nothing to say.
pub(super) fn says_no(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(
        core.as_str(),
        "no" | "false" | "never" | "nope" | "nah" | "off" | "not yet" | "not" | "いいえ" | "否"
    )
}

/// Tells whether a text is nothing but "yes", "true" and the like.
pub(super) fn is_assent(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(core.as_str(), "yes" | "true" | "はい" | "是")
}

#[cfg(test)]
mod tests {
    use super::super::remark::ratio::has_unmet_ratio;
    use super::*;

    #[test]
    fn every_listed_word_is_read_in_any_case_and_dress() {
        for word in COMPLETE {
            for value in [
                (*word).to_owned(),
                word.to_uppercase(),
                format!(" {word}. "),
                format!("{word} ✅"),
                format!("**{word}**"),
                format!("\"{word}\""),
                format!("{word}!"),
            ] {
                assert_eq!(read_value(&value), Word::Complete, "{value}");
            }
        }
        for word in INCOMPLETE.iter().chain(&[
            "not complete", "not_complete", "in_progress", "in-progress", "needs_work", "Needs work",
        ]) {
            assert_eq!(read_value(word), Word::Incomplete, "{word}");
            assert_eq!(read_value(&word.to_uppercase()), Word::Incomplete, "{word}");
        }
    }

    #[test]
    fn a_longer_value_counts_when_nothing_limits_it() {
        for value in [
            "complete - all tests pass",
            "task completed successfully",
            "All tests passed",
            "The work is done",
            "passed: 12/12",
            "complete (no failures)",
            "done, 0 errors",
            "completed; fixed the failing test",
            "approved with no remaining issues",
            "completeです",
            "COMPLETE：問題なし",
            "successfully completed",
            "pass, nothing left",
            "complete: fixed all failing tests",
            "done: previously failing tests now pass",
        ] {
            assert_eq!(read_value(value), Word::Complete, "{value}");
        }
    }

    #[test]
    fn a_negation_or_a_limit_makes_it_incomplete() {
        for value in [
            "not done",
            "isn't complete",
            "isn’t complete",
            "not yet passed",
            "almost done",
            "complete except for the docs",
            "complete, but two tests fail",
            "3/10 complete",
            "complete 3 of 10",
            "complete?",
            "done 40%",
            "no success",
            "never completed",
            "completed with 2 failures",
            "complete if the tests pass",
            "COMPLETEではない",
            "COMPLETEとは言えない",
            "COMPLETEしていない",
            "未complete",
            "complete ❌",
            "~~complete~~",
            "mostly complete",
            "failed: 2 tests",
            "complete without fixing the failing tests",
            "complete, no errors fixed",
            "passed 3 out of 4",
            "two of three done",
            "no tests passed",
            "complete, lint still red",
            "rejected: see comments",
            "pass, 1 failed",
        ] {
            assert_eq!(read_value(value), Word::Incomplete, "{value}");
        }
    }

    #[test]
    fn what_says_nothing_is_unknown() {
        for value in [
            "",
            "   ",
            "maybe",
            "complete|incomplete",
            "<complete|incomplete>",
            "complete/incomplete",
            "COMPLETE or INCOMPLETE",
            "pass / fail",
            "{{decision}}",
            "$DECISION",
            "to be decided",
            "complete the migration first",
            "not failed",
            "no failures",
            "<complete>",
            "yes",
            "true",
            "完了",
            "ready to be approved",
            "incomplete | complete",
            "!complete",
        ] {
            assert_ne!(read_value(value), Word::Complete, "{value}");
        }
        for value in ["", "maybe", "complete|incomplete", "no failures", "yes", "<complete>"] {
            assert_eq!(read_value(value), Word::Unknown, "{value}");
        }
    }

    #[test]
    fn ratios_below_one_are_found_wherever_they_stand() {
        for (text, expected) in [
            ("3/10", true),
            ("10/10", false),
            ("3 of 10", true),
            ("3 out of the 10", true),
            ("40%", true),
            ("100 %", false),
            ("99.5 percent", true),
            ("two of three", true),
            ("src/3", false),
            ("2026/01", false),
            ("12", false),
        ] {
            assert_eq!(has_unmet_ratio(text), expected, "{text}");
        }
    }
}
