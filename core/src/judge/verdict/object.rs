//! Finds JSON objects in a text and reads each as a verdict (docs/decisions.md, "JSON").

use std::collections::BTreeSet;
use std::ops::Range;

use serde_json::Value;

use super::check_id;
use super::marker::{is_closed_above, is_label, words};
use super::problem::VerdictProblem;
use super::resolution::{Resolution, no_decision, quotation};
use crate::duration::span_ms;
use crate::evidence::{CheckIdMatch, Decision, DecisionSource};
use crate::text::json::{Members, blocks, spans};
use crate::text::lines::{TextLine, line_of};
use crate::text::plain::quote;
use crate::text::strip_markup::strip_markup;
use crate::timestamp;

/// Reads an object, or a list of them.
fn parse(text: &str) -> serde_json::Result<Vec<Members>> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text);
    }
    serde_json::from_str(text).map(|object| vec![object])
}

/// An object of a text.
#[derive(Debug)]
pub(super) struct Object {
    members: Members,
    pub(super) span: Range<usize>,
    /// Whether it is the whole text, or alone on its lines and closed above.
    pub(super) stands: bool,
}

/// Finds the objects of a text: the whole text, otherwise code blocks with JSON, otherwise text between balanced
/// braces.
///
/// Also returns the error of the first text that looks like an object and cannot be parsed.
pub(super) fn find(
    text: &str,
    lines: &[TextLine<'_>],
    source: DecisionSource,
) -> (Vec<Object>, Option<VerdictProblem>) {
    let is_file = source == DecisionSource::FileJson;
    let broken = |start, error| Some(invalid(lines, source, start, &error));
    let mut out = Vec::new();
    let mut add = |objects: Vec<Members>, span: Range<usize>, stands| {
        out.extend(objects.into_iter().map(|members| Object { members, span: span.clone(), stands }));
    };
    let whole = text.trim();
    let start = text.len() - text.trim_start().len();
    let mut problem = None;
    match parse(whole) {
        Ok(objects) => {
            add(objects, start..start + whole.len(), true);
            return (out, None);
        }
        Err(error) if whole.starts_with(['{', '[']) => problem = broken(start, error),
        Err(_) => {}
    }
    let blocks = blocks(text);
    for block in &blocks {
        let code = block.start + 3..block.end - 3;
        let begin = text[code.clone()].find('\n').map_or(code.end, |line| code.start + line);
        if let Ok(objects) = parse(&text[begin..code.end]) {
            let stands = is_file || is_closed_above(lines, line_of(lines, block.start));
            add(objects, begin..code.end, stands);
        }
    }
    let bare = spans(text, &blocks);
    for (index, span) in bare.iter().enumerate() {
        let before = index.checked_sub(1).map_or(0, |before| bare[before].end);
        let after = bare.get(index + 1).map_or(text.len(), |next| next.start);
        match parse(&text[span.clone()]) {
            Ok(objects) => {
                let stands = is_alone(text, lines, before..after, span)
                    && (is_file || is_closed_above(lines, line_of(lines, span.start)));
                add(objects, span.clone(), stands);
            }
            Err(error) => problem = problem.or_else(|| broken(span.start, error)),
        }
    }
    out.sort_by_key(|object| object.span.start);
    (out, problem)
}

fn invalid(
    lines: &[TextLine<'_>],
    source: DecisionSource,
    start: usize,
    error: &serde_json::Error,
) -> VerdictProblem {
    let first = line_of(lines, start);
    let line = first + error.line();
    let column = error.column() + if error.line() == 1 { start - lines[first].start } else { 0 };
    let told = error.to_string();
    let what = told.split(" at line ").next().unwrap_or_default().to_owned();
    let text = quotation(lines.get(line - 1).map_or("", |line| line.text));
    VerdictProblem::InvalidJson(source, line, column, what, text)
}

/// Returns whether an object is alone on its lines, apart from a label. `between` is the text up to other objects.
fn is_alone(text: &str, lines: &[TextLine<'_>], between: Range<usize>, span: &Range<usize>) -> bool {
    let start = lines[line_of(lines, span.start)].start;
    let last = lines[line_of(lines, span.end - 1)];
    let end = last.start + last.text.len();
    if start < between.start || end > between.end {
        return false;
    }
    let before = &text[start..span.start];
    (strip_markup(before).is_empty() || is_label(before)) && strip_markup(&text[span.end..end]).is_empty()
}

/// Verdict of one object.
#[derive(Clone, Debug)]
pub(super) struct Verdict {
    pub(super) resolution: Resolution,
    /// Deciding member as quoted in a sentence.
    pub(super) quote: String,
    pub(super) span: Range<usize>,
    /// Part that means incomplete although the deciding member means complete.
    pub(super) opposed: Option<String>,
}

impl Verdict {
    /// Returns whether it carries the id of another check.
    pub(super) fn is_of_another(&self) -> bool {
        matches!(self.resolution.check_id, CheckIdMatch::Mismatch { .. })
    }
}

/// Keys whose value is a word, the most telling first.
const WORD_KEYS: [&str; 4] = ["decision", "verdict", "status", "result"];

/// Keys whose value is a boolean.
const DONE_KEYS: [&str; 4] = ["complete", "completed", "done", "passed"];

/// Reads an object; `None` if it has no key of a decision.
pub(super) fn read(object: &Object, source: DecisionSource, expected: Option<&str>) -> Option<Verdict> {
    let members = &object.members;
    let (key, value) = members.deciding()?;
    let quote = format!("\"{key}\": {}", display_value(value));
    let mut resolution = Resolution { source, ..no_decision(Vec::new()) };
    resolution.check_id = expected.map_or(CheckIdMatch::Absent, |expected| members.check_id(expected));
    resolution.problems.extend(match (&resolution.check_id, expected) {
        (CheckIdMatch::Placeholder, Some(id)) => Some(VerdictProblem::PlaceholderId(source, id.to_owned())),
        (CheckIdMatch::Mismatch { expected, got }, _) => {
            Some(VerdictProblem::CheckIdMismatch(source, expected.clone(), got.clone()))
        }
        _ => None,
    });
    resolution.reasons = members.list("reason", &mut resolution.problems);
    resolution.fingerprints = members.list("fingerprint", &mut resolution.problems);
    let said = match value {
        Value::String(text) => word(text),
        Value::Bool(true) if DONE_KEYS.contains(&key) => Decision::Complete,
        Value::Bool(false) if DONE_KEYS.contains(&key) => Decision::Incomplete,
        _ => Decision::None,
    };
    let opposed = (said == Decision::Complete).then(|| members.opposed(key)).flatten();
    let needs = members.list("need", &mut Vec::new());
    let problem = match said {
        Decision::None => Some(VerdictProblem::UnknownWord(source, key.to_owned(), display_value(value))),
        Decision::Complete if opposed.is_some() => None,
        // A file that holds the status of something must not complete a step, even with the right id.
        Decision::Complete if key == "status" || (DONE_KEYS.contains(&key) && !members.is_plain()) => {
            Some(VerdictProblem::WeakKey(source, key.to_owned()))
        }
        Decision::Complete if !object.stands => Some(VerdictProblem::NotAlone(source, quote.clone())),
        Decision::Blocked if needs.is_empty() => Some(VerdictProblem::NeedsMissing),
        Decision::Blocked => {
            resolution.needs = Some(needs.join("; "));
            None
        }
        Decision::Waiting => members.read_wait(&mut resolution),
        Decision::Complete | Decision::Incomplete => None,
    };
    resolution.decision = match (&problem, &opposed) {
        (Some(_), _) => Decision::None,
        (None, Some(_)) => Decision::Incomplete,
        (None, None) => said,
    };
    resolution.problems.extend(problem);
    Some(Verdict { resolution, quote, span: object.span.clone(), opposed })
}

/// Parses a word; a longer value that begins with a word for complete is incomplete.
fn word(value: &str) -> Decision {
    const BEGINNINGS: [&str; 7] = ["complete", "pass", "done", "ok", "success", "almost", "partial"];
    let is_open = ["?", "...", "…"].iter().any(|end| value.trim_end().ends_with(end));
    match words(value).as_str() {
        text if says_no(text) => Decision::Incomplete,
        _ if is_open => Decision::None,
        "complete" | "completed" | "pass" | "passed" | "done" | "finished" | "success" | "succeeded"
        | "ok" | "approved" => Decision::Complete,
        "blocked" => Decision::Blocked,
        "waiting" => Decision::Waiting,
        text if BEGINNINGS.iter().any(|begin| text.starts_with(begin)) => Decision::Incomplete,
        _ => Decision::None,
    }
}

fn says_no(words: &str) -> bool {
    matches!(words, "in progress" | "partial" | "pending" | "rejected" | "needs work")
        || ["incomplete", "fail", "not "].iter().any(|begin| words.starts_with(begin))
}

impl Members {
    /// Returns the value of a key in any case; for a duplicate key, the last one.
    fn get(&self, key: &str) -> Option<&Value> {
        self.0.iter().rfind(|(name, _)| name.eq_ignore_ascii_case(key)).map(|(_, value)| value)
    }

    /// Returns the deciding member, with its key in lower case.
    fn deciding(&self) -> Option<(&'static str, &Value)> {
        let worded = WORD_KEYS.into_iter().find_map(|key| Some((key, self.get(key)?)));
        let is_bool = |key| Some((key, self.get(key).filter(|value| value.is_boolean())?));
        worded.or_else(|| DONE_KEYS.into_iter().find_map(is_bool))
    }

    /// Returns whether the only members are a boolean and the usual ones of a verdict.
    fn is_plain(&self) -> bool {
        const BESIDE: [&str; 6] = ["check_id", "checkid", "reason", "reasons", "fingerprint", "fingerprints"];
        let is_known = |name: &str| BESIDE.contains(&name) || DONE_KEYS.contains(&name);
        self.0.iter().all(|(name, _)| is_known(&name.to_lowercase()))
    }

    /// Finds a part of a complete object that means incomplete: an incomplete word or `false`, at any depth, or the
    /// deciding key again with another value.
    fn opposed(&self, key: &str) -> Option<String> {
        let deciding = self.get(key);
        let opposes = |(name, value): &&(String, Value)| {
            denies(value) || (name.eq_ignore_ascii_case(key) && Some(value) != deciding)
        };
        self.0.iter().find(opposes).map(|(name, value)| format!("\"{name}\": {}", display_value(value)))
    }

    fn check_id(&self, expected: &str) -> CheckIdMatch {
        let is_id = |name: &str| name.replace(['_', '-'], "").eq_ignore_ascii_case("checkid");
        let ids = self.0.iter().filter(|(name, _)| is_id(name)).map(|(_, value)| match value {
            Value::String(text) => check_id::compare(text, expected),
            Value::Null => CheckIdMatch::Absent,
            _ => CheckIdMatch::Placeholder,
        });
        let better = |found, next| if found == CheckIdMatch::Match { found } else { next };
        ids.reduce(better).unwrap_or(CheckIdMatch::Absent)
    }

    /// Parses a text or a list of texts, under a key or its plural.
    fn list(&self, key: &str, problems: &mut Vec<VerdictProblem>) -> Vec<String> {
        let plural = format!("{key}s");
        let named = |name: &str| name.eq_ignore_ascii_case(key) || name.eq_ignore_ascii_case(&plural);
        let values = self.0.iter().filter(|(name, _)| named(name)).flat_map(|(_, value)| match value {
            Value::Array(items) => items.iter().collect(),
            value => vec![value],
        });
        items(values.filter_map(text_of), problems)
    }

    /// Parses when to check again; returns the problem if the object does not say.
    fn read_wait(&self, into: &mut Resolution) -> Option<VerdictProblem> {
        let text = |key| {
            self.get(key).and_then(text_of).map(|text| text.trim().to_owned()).filter(|text| !text.is_empty())
        };
        let retry_after = text("retry_after").or_else(|| text("retryAfter"));
        into.until = text("until");
        if retry_after.is_none() && into.until.is_none() {
            return Some(VerdictProblem::WaitMissing);
        }
        into.retry_after_ms = retry_after.as_deref().and_then(span_ms);
        let span = retry_after.filter(|_| into.retry_after_ms.is_none()).map(|text| ("retry_after", text));
        let moment =
            into.until.clone().filter(|text| timestamp::parse(text).is_none()).map(|text| ("until", text));
        let unreadable = span.into_iter().chain(moment);
        into.problems.extend(unreadable.map(|(key, text)| VerdictProblem::WaitUnreadable(key, quote(&text))));
        None
    }
}

fn denies(value: &Value) -> bool {
    match value {
        Value::Bool(value) => !value,
        Value::String(text) => says_no(&words(text)),
        Value::Array(items) => items.iter().any(denies),
        Value::Object(members) => members.values().any(denies),
        Value::Null | Value::Number(_) => false,
    }
}

fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// Cuts items at 240 characters, drops blank and duplicate ones, and keeps 200.
pub(super) fn items(texts: impl Iterator<Item = String>, problems: &mut Vec<VerdictProblem>) -> Vec<String> {
    const CHARS_MAX: usize = 240;
    const ITEMS_MAX: usize = 200;
    let (mut seen, mut out, mut cut) = (BTreeSet::new(), Vec::new(), 0);
    for text in texts {
        let item: String = text.trim().chars().take(CHARS_MAX).collect();
        let item = item.trim_end().to_owned();
        if !item.is_empty() && seen.insert(item.clone()) && out.len() < ITEMS_MAX {
            cut += usize::from(text.trim().chars().nth(CHARS_MAX).is_some());
            out.push(item);
        }
    }
    let dropped = seen.len() - out.len();
    problems.extend((cut > 0).then_some(VerdictProblem::ItemsCut(cut)));
    problems.extend((dropped > 0).then_some(VerdictProblem::ItemsDropped(dropped)));
    out
}

fn display_value(value: &Value) -> String {
    match value {
        Value::String(text) => quotation(text),
        value => quote(&value.to_string()),
    }
}
