//! Reads names and values that say yes or no: the key `is_complete`, the label `Errors:`, the value `["a"]`.

use super::json::Value;
use super::remark::affirm::affirms;
use super::{text, words};

/// What it means that there is what a name names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Sense {
    /// `success`, `all_passed`: the work is done.
    Good,
    /// `errors`, `not_complete`: it is not.
    Bad,
    /// `missing`: what is still to be done.
    Open,
}

/// Names that say that the work is done, besides the words of a verdict.
const GOOD: &[&str] = &["successful", "verified", "passing", "ready", "correct", "fulfilled", "met", "valid"];

/// Names that say that something went wrong.
const BAD: &[&str] = &[
    "fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "blocked", "rejected",
    "unsuccessful", "aborted", "crashed", "broken", "open", "draft", "provisional", "tentative", "waiting",
    "example",
];

/// Names of what is left.
const OPEN: &[&str] = &[
    "missing", "remaining", "unresolved", "outstanding", "todo", "todos", "fixme", "fixmes", "blockers",
    "pending", "unverified", "untested", "incomplete", "unfinished",
];

/// Words that a name may have besides.
const FILLERS: &[&str] = &[
    "is", "are", "was", "has", "have", "all", "test", "tests", "check", "checks", "build", "task", "tasks",
    "work", "step", "steps", "items", "criteria", "requirements", "count", "num", "number", "total", "of",
    "the", "still", "fully", "overall", "successfully", "it", "item", "requirement", "by", "message",
    "messages", "reason", "reasons", "details",
];

/// Tells what a name means: of its words all but one are fillers.
pub(super) fn sense_of(name: &str) -> Option<Sense> {
    const NAME_CHARS_MAX: usize = 60;
    if name.len() > NAME_CHARS_MAX {
        return None;
    }
    let spaced = words::spaced_camel_case(name.trim()).unwrap_or_else(|| name.to_lowercase());
    if matches!(spaced.replace(['_', '-'], " ").trim(), "in progress" | "needs work" | "dry run") {
        return Some(Sense::Bad);
    }
    let mut is_negated = false;
    let mut sense = None;
    for word in spaced.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let found = match word {
            "not" | "never" | "un" | "non" => {
                is_negated = true;
                continue;
            }
            "no" => return None,
            _ if FILLERS.contains(&word) => continue,
            _ if words::is_complete_word(word) || GOOD.contains(&word) => Sense::Good,
            _ if OPEN.contains(&word) => Sense::Open,
            _ if BAD.contains(&word) || words::is_taken_back(word) => Sense::Bad,
            _ => return None,
        };
        if sense.replace(found).is_some() {
            return None;
        }
    }
    match sense? {
        Sense::Good if is_negated => Some(Sense::Open),
        _ if is_negated => None,
        sense => Some(sense),
    }
}

/// Says whether a value of a bad or open name says that there is something: `true`, `2`, `["a"]`, `"x"`.
pub(super) fn is_something(value: &Value) -> bool {
    match value {
        Value::Null => false,
        Value::Bool(said) => *said,
        Value::Number(text) => text.parse() != Ok(0.0),
        Value::String(text) => !is_nothing(text) && !affirms(text) && !is_settled(text),
        Value::List(items) => items.iter().any(|item| !matches!(item, Value::Bool(_)) && is_something(item)),
        Value::Object(members) => members.iter().any(|(_, value)| is_something(value)),
    }
}

/// `docs were missing, now added`, `Windows (out of scope)`: names what nobody has to do any more.
pub(super) fn is_settled(text: &str) -> bool {
    const SETTLED: &[&str] = &["fixed", "resolved", "addressed", "added", "mended", "scope", "optional"];
    let said = |list: &[&str]| text::words(text).any(|word| list.contains(&word.as_str()));
    said(SETTLED) && !said(&["not", "never", "yet", "isn't", "aren't", "but"])
}

/// `none`, `0`, `no errors`, `-`: names nothing.
pub(super) fn is_nothing(text: &str) -> bool {
    const NOTHING: &[&str] = &[
        "", "none", "no", "nothing", "nil", "null", "false", "n/a", "na", "0", "zero", "ok", "empty",
        "undefined", "なし", "無し", "无", "無",
    ];
    let lower = text
        .trim()
        .trim_matches(|c: char| matches!(c, '.' | '!' | '(' | ')' | '[' | ']' | '`'))
        .to_lowercase();
    let first = lower.split(|c: char| c.is_whitespace() || c == ',').next().unwrap_or_default();
    NOTHING.contains(&lower.as_str())
        || matches!(first, "no" | "none" | "nothing" | "0" | "zero")
        || !lower.contains(char::is_alphanumeric)
}
