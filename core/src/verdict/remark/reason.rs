//! Tells a reason in words from figures, counters, names and what a test runner prints.

use crate::verdict::text::is_cjk;
use crate::verdict::words;

/// `12 passed, 0 failed`: counters, but of a success; what they count is looked at as a limit.
pub(in crate::verdict) fn reports_success(text: &str) -> bool {
    const SUCCESSES: &[&str] =
        &["passed", "passing", "0 fail", "0 error", "0 warning", "0 issue", "0 problem"];
    let lower = text.to_lowercase();
    SUCCESSES.iter().any(|piece| lower.contains(piece))
}

/// "Complete: the login page" lists what is done so far; "Complete: all checks pass" is a verdict.
pub(in crate::verdict) fn speaks_of_all(text: &str) -> bool {
    const TOTALS: &[&str] =
        &["all", "every", "everything", "done", "finished", "green", "verified", "nothing", "no"];
    let lower = text.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| TOTALS.contains(&word)) || text.chars().any(is_cjk)
}

/// Tells whether a text is a reason in words: no number, no file name, no list of counters, no line
/// of a test runner.
pub(in crate::verdict) fn is_reason(text: &str) -> bool {
    let has_word = text.chars().filter(|c| c.is_alphabetic()).count() >= 2;
    has_word && !words::is_refusal(text) && !is_value(text) && !is_nothing(text) && !is_timed(text)
}

pub(in crate::verdict) fn is_nothing(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!']).to_lowercase();
    matches!(core.as_str(), "nothing" | "true" | "yes" | "なし" | "無し" | "無" | "zero" | "ok")
}

/// `TestFoo (0.01s)`, `pkg 0.01s`: ends in a duration.
fn is_timed(text: &str) -> bool {
    let Some(last) = text.split_whitespace().next_back() else { return false };
    let core = last.trim_matches(['(', ')', '[', ']']);
    let digits = core.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = &core[digits.len()..];
    matches!(unit, "s" | "ms" | "sec" | "us" | "ns")
        && !digits.is_empty()
        && digits.chars().all(|c| c.is_ascii_digit() || c == '.')
}

/// Tells whether a text is a figure, a list of counters, file names or one identifier.
pub(in crate::verdict) fn is_value(text: &str) -> bool {
    let pieces: Vec<&str> = text.split([',', ';', '|']).map(str::trim).collect();
    if pieces.iter().all(|piece| is_counter(piece)) {
        return true;
    }
    text.split_whitespace().all(|word| is_name(word) || is_figure(word)) && !is_plain_word(text)
}

/// `12`, `12 passed`, `FAIL: 0`, `failures=1`, `3/10`, `40%`.
fn is_counter(piece: &str) -> bool {
    let words: Vec<&str> =
        piece.split([' ', '\t', ':', '=', '(', ')']).filter(|word| !word.is_empty()).collect();
    match words.as_slice() {
        [] => true,
        [one] => is_figure(one),
        [first, second] => is_figure(first) != is_figure(second) || is_figure(first),
        [first, "of" | "/" | "out", .., last] => is_figure(first) && is_figure(last),
        _ => false,
    }
}

fn is_figure(word: &str) -> bool {
    let core = word.trim_end_matches(['.', '%', ',']);
    core.starts_with(|c: char| c.is_ascii_digit())
        && core.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | '/' | '%'))
}

/// A path, a file or an identifier of a program.
fn is_name(word: &str) -> bool {
    let core = word.trim_matches(['`', '"', '\'', '(', ')', ',']).trim_end_matches(['.', ':']);
    if core.is_empty() || core.chars().any(is_cjk) {
        return false;
    }
    let inner_dot = core.contains('.') && !core.contains("..");
    let mixed = core.chars().any(|c| c.is_lowercase()) && core.chars().skip(1).any(|c| c.is_uppercase());
    core.contains(['/', '\\', '_']) || core.contains("::") || inner_dot || mixed
}

fn is_plain_word(text: &str) -> bool {
    text.chars().all(|c| c.is_alphabetic() || c == '-' || c.is_whitespace())
        && !text.split_whitespace().any(is_name)
}
