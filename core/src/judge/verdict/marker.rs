//! Reads lines that are a verdict: `COMPLETE`, `Verdict: PASS`, `FAIL: two tests` (docs/decisions.md, "Lines").

use std::sync::LazyLock;

use regex::Regex;

use crate::text::lines::{TextLine, line_above};
use crate::text::pattern::regex;
use crate::text::strip_markup::strip_markup;

/// The class of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Class<'a> {
    Blank,
    Text,
    Complete,
    /// With its reason, or nothing.
    Incomplete(&'a str),
    /// It begins like a verdict and continues.
    Unclear,
}

/// The result for all lines of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Marking<'a> {
    Nothing,
    Complete,
    /// The line, and its reason, or nothing.
    Incomplete(TextLine<'a>, &'a str),
    /// The line that has more in it than a verdict, or follows an unfinished line.
    Unclear(TextLine<'a>),
}

/// Reads the lines of a text. A COMPLETE counts in the last line, of a file also in the first, where it is labelled or what is
/// above it is closed; one line that says otherwise, or is unclear, takes it back.
pub(super) fn read<'a>(lines: &[TextLine<'a>], is_file: bool) -> Marking<'a> {
    let said: Vec<(usize, Class<'_>)> = (0..lines.len())
        .map(|at| (at, classify(lines[at].text)))
        .filter(|(_, class)| *class != Class::Blank)
        .collect();
    let find = |wanted: fn(&Class<'_>) -> bool| said.iter().rfind(|(_, class)| wanted(class));
    if let Some((at, Class::Incomplete(reason))) = find(|class| matches!(class, Class::Incomplete(_))) {
        return Marking::Incomplete(lines[*at], reason);
    }
    if let Some((at, _)) = find(|class| *class == Class::Unclear) {
        return Marking::Unclear(lines[*at]);
    }
    let last = said.last().map(|(at, _)| *at);
    let heads_a_block = |at: usize| Some(at) != last && HEADING.is_match(strip_markup(lines[at].text));
    let stands = |(at, class): &&(usize, Class<'_>)| {
        let is_labelled = || LABEL.is_match(strip_markup(lines[*at].text));
        *class == Class::Complete && !heads_a_block(*at) && (is_labelled() || is_closed_above(lines, *at))
    };
    if said.last().into_iter().chain(said.first().filter(|_| is_file)).any(|line| stands(&line)) {
        return Marking::Complete;
    }
    let in_sentence = || lines.iter().rfind(|line| line.text.contains("COMPLETE"));
    let unclear = find(|class| *class == Class::Complete).map(|(at, _)| &lines[*at]).or_else(in_sentence);
    unclear.map_or(Marking::Nothing, |line| Marking::Unclear(*line))
}

/// A label and what follows it.
const LABELS: &str = r"(?i)^(?:(?:final|overall|completion|task|my)\s+)?(?:verdict|decision|status|result|completion|判定|結果)\s*(?:is\b|[:=：–—-])";

static LABEL: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"{LABELS}\s*(\S)")));

/// A label that heads a block where it is not the last line: `STATUS: COMPLETE` above `EXIT_SIGNAL: false`.
static HEADING: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)^(?:task\s+)?(?:status|result|completion|結果)\b"));

/// A label with nothing but an `X` behind it.
static BARE_LABEL: LazyLock<Regex> = LazyLock::new(|| regex(&format!(r"{LABELS}[\s*_`]*X$")));

/// A dress that says otherwise: an empty check box, a cross, strike-through, dots at the end, `!complete`, `complete*`.
static DENIED: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^\s*(?:[-*+]\s*)?\[ \]|[☐❌✗✘✖⚠]|~~|(?:\.\.\.|…)\s*$|^\s*[-!]+[A-Za-z]|^\s*[A-Za-z]+\*\s*$")
});

static ITEM: LazyLock<Regex> = LazyLock::new(|| regex(r"^\s*(?:[-*+•]|\d{1,2}[.)])\s"));

static CAPITALS: LazyLock<Regex> = LazyLock::new(|| regex("[A-Z]{4}"));

/// A word of a verdict in capitals, and what follows.
static IN_CAPITALS: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"^(?:(INCOMPLETE|FAILED|FAILURE|FAIL|NOT[ _-]COMPLETE)(-)?|COMPLETED?|PASS(?:ED)?)(?:\W|$)")
});

static REASON: LazyLock<Regex> =
    LazyLock::new(|| regex(r"(?i)^(?:incomplete|failed|fail|not complete)\s*[:：(–—-]\s*(\S.*)$"));

static BEGINS_COMPLETE: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)^(?:completed?|pass(?:ed)?)\b"));

/// Reads one line.
fn classify(line: &str) -> Class<'_> {
    if line.trim_start().starts_with('{') {
        return Class::Text;
    }
    let plain = strip_markup(line);
    if plain.is_empty() {
        return Class::Blank;
    }
    let label = LABEL.captures(plain).and_then(|found| found.get(1)).map(|behind| behind.start());
    let body = label.map_or(plain, |behind| strip_markup(&plain[behind..]));
    match words(body).as_str() {
        "complete" | "completed" | "pass" | "passed" => {
            let is_item = ITEM.is_match(line) && !CAPITALS.is_match(line);
            return match DENIED.is_match(line) {
                true => Class::Unclear,
                false if is_item => Class::Text, // Of a list of what was done.
                false => Class::Complete,
            };
        }
        "incomplete" | "fail" | "failed" | "failure" | "not complete" => return Class::Incomplete(""),
        _ => {}
    }
    let reason = |rest: regex::Match<'_>| &body[rest.start()..];
    if let Some(reason) = REASON.captures(body).and_then(|found| found.get(1)).map(reason) {
        return Class::Incomplete(reason);
    }
    match IN_CAPITALS.captures(body).map(|found| (found.get(1), found.get(2))) {
        Some((Some(word), None)) => Class::Incomplete(body[word.end()..].trim()),
        Some(_) => Class::Unclear,
        None if label.is_some() && BEGINS_COMPLETE.is_match(body) => Class::Unclear,
        None => Class::Text,
    }
}

/// Returns whether the text above a line is finished: there is none, or it is a verdict, a label, or ends like a sentence or a
/// heading.
pub(super) fn is_closed_above(lines: &[TextLine<'_>], at: usize) -> bool {
    const ENDS: &[char] = &[
        '.', '!', '?', '。', '！', '？', ')', ']', '}', '`', '"', '\'', '>', '*', '_', '|', '~', '✓', '✔',
        '✅', '🎉', '☑', '=', '-',
    ];
    let Some(above) = line_above(lines, at) else { return true };
    let text = above.text.trim_end();
    let ends = text.ends_with(ENDS) && !text.trim_end_matches(['*', '_', '`']).ends_with(':');
    ends || is_label(text) || matches!(classify(text), Class::Complete | Class::Incomplete(_))
}

/// Tells whether a text is a label alone: `Verdict:`.
pub(super) fn is_label(text: &str) -> bool {
    BARE_LABEL.is_match(strip_markup(&format!("{text} X")))
}

/// Returns the words of a value in small letters, with one blank between them, without a final full stop.
pub(super) fn words(value: &str) -> String {
    let value = value.trim().trim_matches(['.', '!', '。', '！']).trim();
    let words = value.split(|c: char| c.is_whitespace() || matches!(c, '_' | '-'));
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    words.join(" ").to_lowercase()
}
