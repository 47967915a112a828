//! Finds JSON in what a worker answered, chooses the last that has the right form, and remembers what was refused.
//!
//! Whether a value meets a schema is judged by the caller: the core knows no schemas.

use std::collections::BTreeMap;

use serde_json::Value;

use unstuck_core::evidence::{AnswerSource, ParsedAnswer, RejectedCandidate, SchemaViolation};
use unstuck_core::prompt_echo::{PromptEcho, Repeated};
use unstuck_core::text::json::spans;

/// Refused candidates that are recorded, at most: a long answer is full of braces.
const REFUSED_MAX: usize = 20;

/// Sources of an answer, in the order of the search.
#[derive(Clone, Copy, Debug, Default)]
pub struct AnswerSources<'a> {
    /// Structured output of the worker CLI.
    pub structured: Option<&'a Value>,
    /// The text of the decision file.
    pub decision_file: Option<&'a str>,
    /// The messages of the answer, the first one first.
    pub messages: &'a [String],
    /// The prompt; text that only repeats it is not an answer.
    pub echo: Option<&'a PromptEcho>,
}

impl<'a> AnswerSources<'a> {
    /// Returns a predicate for the parts of a message that only repeat the prompt.
    fn repeated(&self, message: &'a str) -> impl Fn(&str) -> bool + use<'a> {
        let repeated: Option<Repeated<'a>> = self.echo.map(|echo| echo.in_message(message));
        move |part| {
            let start = (part.as_ptr() as usize).wrapping_sub(message.as_ptr() as usize);
            let is_part = !part.is_empty() && start < message.len();
            is_part && repeated.as_ref().is_some_and(|spans| spans.contains(&(start..start + part.len())))
        }
    }
}

fn refuse(seen: &mut ParsedAnswer, from: AnswerSource, line: u32, reason: String) {
    if seen.refused.len() < REFUSED_MAX {
        seen.refused.push(RejectedCandidate { from, line, reason });
    }
}

fn accept(seen: &mut ParsedAnswer, from: AnswerSource, value: &Value) {
    (seen.value, seen.from) = (Some(value.to_string()), Some(from));
    seen.violations.clear();
}

/// Returns a violation by the answer as a whole, of what is no keyword of a schema.
pub(super) fn answer_violation(keyword: &str, message: String) -> SchemaViolation {
    SchemaViolation {
        path: String::new(),
        keyword: keyword.to_owned(),
        schema_path: String::new(),
        message,
        allowed: Vec::new(),
    }
}

/// Which JSON value of an answer is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CandidateKind<'a> {
    /// The last that fits: any value in a fence, or an object.
    Any,
    /// The last object that fits.
    Object,
    /// The last object with one of these fields, if it fits: it overrides the text before it.
    LastNaming(&'a [&'a str]),
}

impl CandidateKind<'_> {
    /// Returns whether a value ends the search, valid or not.
    fn is_final(self, value: &Value) -> bool {
        matches!(self, Self::LastNaming(fields) if fields.iter().any(|field| value.get(field).is_some()))
    }

    /// Returns the candidates of a text that are tried, in order.
    fn sort_candidates(self, mut candidates: Vec<Candidate<'_>>) -> Vec<Candidate<'_>> {
        if let Self::LastNaming(fields) = self {
            candidates.retain(|candidate| candidate.names_one_of(fields));
            candidates.sort_by_key(|candidate| std::cmp::Reverse(candidate.text.as_ptr().addr()));
        }
        candidates
    }
}

/// Chooses the JSON value of the wanted kind for which `judge` returns no violations.
///
/// Structured output and JSON outside a fence must be objects.
pub fn select(
    sources: &AnswerSources<'_>,
    kind: CandidateKind<'_>,
    mut judge: impl FnMut(&Value) -> Vec<SchemaViolation>,
) -> ParsedAnswer {
    let (object, last) = (kind != CandidateKind::Any, matches!(kind, CandidateKind::LastNaming(_)));
    let mut seen = ParsedAnswer::default();
    let mut accepts = |seen: &mut ParsedAnswer, from, line, value: &Value| {
        let violations = judge(value);
        if violations.is_empty() {
            accept(seen, from, value);
            return true;
        }
        let messages: Vec<String> = violations.iter().take(3).map(SchemaViolation::to_string).collect();
        refuse(seen, from, line, messages.join("; "));
        if seen.violations.is_empty() {
            seen.violations = violations;
        }
        false
    };
    if let Some(value) = sources.structured {
        if !value.is_object() {
            refuse(&mut seen, AnswerSource::StructuredOutput, 1, not_an_object(value));
        } else if accepts(&mut seen, AnswerSource::StructuredOutput, 1, value) || kind.is_final(value) {
            return seen;
        }
    }
    'texts: for (from, text) in texts(sources) {
        let repeats = sources.repeated(text);
        for candidate in kind.sort_candidates(candidates(text)) {
            let repeats = repeats(candidate.text);
            match candidate.read(object) {
                Ok(_) if repeats => {
                    refuse(&mut seen, from, candidate.line, "it repeats the prompt".to_owned());
                }
                Err(reason) => refuse(&mut seen, from, candidate.line, reason),
                Ok(value) if accepts(&mut seen, from, candidate.line, &value) => return seen,
                Ok(_) => {}
            }
            if last && !repeats {
                break 'texts;
            }
        }
    }
    if seen.violations.is_empty() {
        let kind = if object { "a JSON object" } else { "JSON" };
        let message = match seen.refused.first() {
            None => format!("it holds no {}", kind.trim_start_matches("a ")),
            Some(first) => {
                format!("it holds no {} that can be read: {}", kind.trim_start_matches("a "), first.reason)
            }
        };
        seen.violations.push(answer_violation("json", message));
    }
    seen
}

/// Finds the last message in which a pattern matches. The answer is the match, or the match and its groups.
///
/// # Errors
///
/// The pattern is not a regular expression, or it needs more than linear time.
pub fn match_text(pattern: &str, sources: &AnswerSources<'_>) -> Result<ParsedAnswer, regex::Error> {
    let regex = regex::Regex::new(pattern)?;
    let mut seen = ParsedAnswer::default();
    for (from, text) in messages_last_first(sources.messages) {
        // Printing a line adds a line break, but `$` has to match at the end of the message.
        let text = text.trim_end_matches(['\n', '\r']);
        let repeats = sources.repeated(text);
        let Some(found) = regex.captures_iter(text).find(|found| !repeats(found.get_match().as_str())) else {
            refuse(&mut seen, from, 1, "the pattern does not match".to_owned());
            continue;
        };
        let groups: Vec<Value> =
            found.iter().map(|group| group.map_or(Value::Null, |group| group.as_str().into())).collect();
        let value = if groups.len() == 1 { groups[0].clone() } else { Value::Array(groups) };
        accept(&mut seen, from, &value);
        return Ok(seen);
    }
    seen.violations.push(answer_violation("pattern", format!("nothing in it matches {pattern}")));
    Ok(seen)
}

/// Returns the fields of a schema that take one of some values, with those values: what a prompt has to name.
///
/// The path is written as in a [`SchemaViolation`], with `[]` for each item of a list. Alternatives are listed together.
pub fn allowed_values(schema: &Value) -> BTreeMap<String, Vec<Value>> {
    let mut found = BTreeMap::new();
    collect_allowed(schema, "", FIELD_LEVELS_MAX, &mut found);
    found
}

/// Values of one field that are named in a prompt, at most.
const ALLOWED_MAX: usize = 100;

/// Fields inside each other that are named in a prompt, at most.
const FIELD_LEVELS_MAX: usize = 16;

fn collect_allowed(schema: &Value, path: &str, levels: usize, found: &mut BTreeMap<String, Vec<Value>>) {
    let Some(below) = levels.checked_sub(1) else { return };
    let listed =
        schema.get("enum").and_then(Value::as_array).into_iter().flatten().chain(schema.get("const"));
    for value in listed {
        let known = found.entry(path.to_owned()).or_default();
        if known.len() < ALLOWED_MAX && !known.contains(value) {
            known.push(value.clone());
        }
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect_allowed(property, &path, below, found);
    }
    if let Some(item) = schema.get("items") {
        collect_allowed(item, &format!("{path}[]"), below, found);
    }
    let branches =
        ["allOf", "anyOf", "oneOf"].into_iter().filter_map(|keyword| schema.get(keyword)?.as_array());
    for branch in branches.flatten() {
        collect_allowed(branch, path, below, found);
    }
}

fn texts<'a>(sources: &AnswerSources<'a>) -> impl Iterator<Item = (AnswerSource, &'a str)> {
    let file =
        sources.decision_file.map(|text| (AnswerSource::DecisionFile, text.trim_start_matches('\u{feff}')));
    file.into_iter().chain(messages_last_first(sources.messages))
}

fn messages_last_first(messages: &[String]) -> impl Iterator<Item = (AnswerSource, &str)> {
    let numbered = (1..).zip(messages).map(|(number, text)| (AnswerSource::Message(number), text.as_str()));
    numbered.collect::<Vec<_>>().into_iter().rev()
}

fn not_an_object(value: &Value) -> String {
    let kind = match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    };
    format!("expected an object, got {kind}")
}

/// Context of a candidate in its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CandidateContext {
    Fenced,
    Bare,
}

/// A part of a text that may be JSON.
#[derive(Clone, Debug)]
struct Candidate<'a> {
    stands: CandidateContext,
    line: u32,
    text: &'a str,
}

impl Candidate<'_> {
    fn read(&self, object: bool) -> Result<Value, String> {
        let value: Value = serde_json::from_str(self.text).map_err(|error| match error.is_eof() {
            true => "not JSON: it is cut off".to_owned(),
            false => format!("not JSON: {error}"),
        })?;
        if (object || self.stands == CandidateContext::Bare) && !value.is_object() {
            return Err(not_an_object(&value));
        }
        Ok(value)
    }

    /// Says whether it is an object with one of these fields, or would be one if it could be read.
    fn names_one_of(&self, fields: &[&str]) -> bool {
        match serde_json::from_str::<Value>(self.text) {
            Ok(value) => fields.iter().any(|field| value.get(field).is_some()),
            Err(_) => fields.iter().any(|field| {
                [format!("{field}\""), format!("{field}:")].iter().any(|key| self.text.contains(key))
            }),
        }
    }
}

/// Returns what may be JSON, in the order in which it is tried: the last fence first, then the last bare object.
fn candidates(text: &str) -> Vec<Candidate<'_>> {
    let parts = TextBlocks::parse(text);
    let is_json = |fence: &&Fence<'_>| fence.may_be_json();
    let fenced = parts.fences.iter().rev().filter(is_json);
    let mut out: Vec<_> = fenced
        .map(|fence| Candidate { stands: CandidateContext::Fenced, line: fence.line, text: fence.text })
        .collect();
    for (line, gap) in parts.gaps.iter().rev() {
        out.extend(bare(gap, *line));
    }
    out
}

/// Returns the objects of a text without fences, the last one first.
fn bare(text: &str, first_line: u32) -> Vec<Candidate<'_>> {
    let whole = text.trim();
    if whole.starts_with('[') && serde_json::from_str::<serde::de::IgnoredAny>(whole).is_ok() {
        return vec![Candidate { stands: CandidateContext::Bare, line: first_line, text: whole }];
    }
    let spans = spans(text, &[]);
    let mut out = Vec::new();
    for span in spans.iter().rev().take(REFUSED_MAX * 50) {
        out.push(Candidate { stands: CandidateContext::Bare, line: 0, text: &text[span.clone()] });
    }
    number_lines(text, first_line, &mut out);
    out
}

/// Gives candidates, the last one first, their lines: one pass over the text.
fn number_lines(text: &str, first_line: u32, candidates: &mut [Candidate<'_>]) {
    let (mut at, mut line) = (0, first_line);
    for candidate in candidates.iter_mut().rev().filter(|candidate| !candidate.text.is_empty()) {
        let start = candidate.text.as_ptr() as usize - text.as_ptr() as usize;
        line += count(text[at..start].matches('\n').count());
        (at, candidate.line) = (start, line);
    }
}

fn count(lines: usize) -> u32 {
    u32::try_from(lines).unwrap_or(u32::MAX)
}

/// A block of code in a text.
struct Fence<'a> {
    /// The line that opens it.
    line: u32,
    tag: &'a str,
    text: &'a str,
}

impl Fence<'_> {
    /// A block without a tag is a candidate only if it begins like JSON: most are output of commands.
    fn may_be_json(&self) -> bool {
        let tag = self.tag.split_whitespace().next().unwrap_or_default();
        let begins_like_json = || self.text.trim_start().starts_with(['{', '[', '"']);
        let is_scalar = || serde_json::from_str::<serde::de::IgnoredAny>(self.text).is_ok();
        tag.eq_ignore_ascii_case("json") || (tag.is_empty() && (begins_like_json() || is_scalar()))
    }
}

/// A text, cut into blocks of code and what stands between them.
#[derive(Default)]
struct TextBlocks<'a> {
    fences: Vec<Fence<'a>>,
    /// With the line that each begins in.
    gaps: Vec<(u32, &'a str)>,
}

impl<'a> TextBlocks<'a> {
    /// A block that nothing closes ends with the text.
    fn parse(text: &'a str) -> Self {
        let mut parts = Self::default();
        let mut open: Option<(FenceStart<'a>, u32, usize)> = None;
        let (mut at, mut gap) = (0, (1, 0));
        for (number, line) in (1..).zip(text.split_inclusive('\n')) {
            let end = at + line.len();
            match &open {
                None => {
                    if let Some(opening) = FenceStart::read(line) {
                        parts.gaps.push((gap.0, &text[gap.1..at]));
                        open = Some((opening, number, end));
                    }
                }
                Some((opening, first, start)) if opening.is_closed_by(line) => {
                    parts.fences.push(Fence { line: *first, tag: opening.tag, text: &text[*start..at] });
                    open = None;
                    gap = (number + 1, end);
                }
                // An opening fence with a tag shows that the untagged block before it was left unclosed.
                Some((opening, first, start)) if opening.tag.is_empty() => {
                    let is_another =
                        |next: &FenceStart<'_>| !next.tag.is_empty() && opening.could_open_with(next);
                    if let Some(next) = FenceStart::read(line).filter(is_another) {
                        parts.fences.push(Fence { line: *first, tag: opening.tag, text: &text[*start..at] });
                        open = Some((next, number, end));
                    }
                }
                Some(_) => {}
            }
            at = end;
        }
        match open {
            None => parts.gaps.push((gap.0, &text[gap.1..])),
            Some((opening, first, start)) => {
                parts.fences.push(Fence { line: first, tag: opening.tag, text: &text[start..] });
            }
        }
        parts
    }
}

/// The line that opens a block of code.
struct FenceStart<'a> {
    mark: char,
    length: usize,
    tag: &'a str,
}

impl<'a> FenceStart<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let line = line.trim();
        let mark = line.chars().next().filter(|c| matches!(c, '`' | '~'))?;
        let tag = line.trim_start_matches(mark);
        let length = line.len() - tag.len();
        // Backticks behind it: code within a line.
        (length >= 3 && !(mark == '`' && tag.contains('`'))).then(|| Self { mark, length, tag: tag.trim() })
    }

    /// Says whether another line may open a block like this one: a shorter fence is a part of the block.
    fn could_open_with(&self, other: &Self) -> bool {
        other.mark == self.mark && other.length >= self.length
    }

    fn is_closed_by(&self, line: &str) -> bool {
        let line = line.trim();
        line.len() >= self.length && line.chars().all(|c| c == self.mark)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads messages, asking for an object that has the key `key`, if one is given.
    fn read(messages: &[&str], key: Option<&str>) -> ParsedAnswer {
        let messages: Vec<String> = messages.iter().map(|text| (*text).to_owned()).collect();
        let sources = AnswerSources { messages: &messages, ..AnswerSources::default() };
        let kind = if key.is_some() { CandidateKind::Object } else { CandidateKind::Any };
        select(&sources, kind, |value| match key.filter(|key| value.get(key).is_none()) {
            Some(key) => vec![answer_violation("required", format!("{key} is missing"))],
            None => Vec::new(),
        })
    }

    #[track_caller]
    fn check(messages: &[&str], key: Option<&str>, expected: Result<&str, &str>) {
        let seen = read(messages, key);
        let violations = |seen: &ParsedAnswer| {
            seen.violations.iter().map(SchemaViolation::to_string).collect::<Vec<_>>().join("; ")
        };
        let found = seen.value.clone().ok_or_else(|| violations(&seen));
        assert_eq!(found.as_deref().map_err(String::as_str), expected, "{messages:?}");
        assert_eq!(seen.from.is_some(), seen.violations.is_empty());
    }

    #[test]
    fn the_last_that_fits_is_the_answer() {
        let fits = Some("s");
        check(&["text {\"s\":1}"], fits, Ok(r#"{"s":1}"#));
        check(&["{\"s\":1}. Done."], fits, Ok(r#"{"s":1}"#));
        check(&["```json\n{\"s\":1}\n```\n```json\n{\"s\":2}\n```"], fits, Ok(r#"{"s":2}"#));
        check(&["```json\n{\"s\":1}\n```", "later {\"s\":2}"], fits, Ok(r#"{"s":2}"#));
        check(&["{\"s\":2}", "and then nothing"], fits, Ok(r#"{"s":2}"#));
        check(&["```json\n{\"s\":1}\n```\nthen {\"s\":2}"], fits, Ok(r#"{"s":1}"#));
        check(&["```json\n{\"s\":1}\n```\n```json\n{bad}\n```"], fits, Ok(r#"{"s":1}"#));
        check(&["```json\n{\"s\":1}\n```\n```json\n{\"x\":1}\n```"], fits, Ok(r#"{"s":1}"#));
        check(&["{\"s\":{\"s\":1},\"s\":2}"], fits, Ok(r#"{"s":2}"#));
    }

    /// Reads an answer of which the last object with `a` or `b` counts, and has to have `s` too.
    #[track_caller]
    fn check_last(message: &str, expected: Option<&str>) {
        let messages = [message.to_owned()];
        let echo = PromptEcho::for_judge("For example:\n{\"a\":9}\n");
        let sources = AnswerSources { messages: &messages, echo: Some(&echo), ..AnswerSources::default() };
        let seen = select(&sources, CandidateKind::LastNaming(&["a", "b"]), |value| match value.get("s") {
            Some(_) => Vec::new(),
            None => vec![answer_violation("required", "s is missing".to_owned())],
        });
        assert_eq!(seen.value.as_deref(), expected, "{message}");
        assert_eq!(seen.violations.is_empty(), expected.is_some(), "{message}");
    }

    #[test]
    fn last_wanted_object_overrides_earlier_ones() {
        let fits = r#"{"a":1,"s":1}"#;
        let fence = |text: &str| format!("```json\n{text}\n```\n");
        check_last(fits, Some(fits));
        for later in [r#"{"a":2}"#, r#"{"b":[]}"#, r#"{"a":2,}"#, r#"{a:2}"#] {
            check_last(&format!("{fits}\nNo, wait.\n{later}"), None);
            check_last(&format!("{}No, wait.\n{later}", fence(fits)), None);
            check_last(&format!("{fits}\nNo, wait.\n{}", fence(later)), None);
            check_last(&format!("{}No, wait.\n{}", fence(fits), fence(later)), None);
            check_last(&format!("{later}\nNo, wait.\n{fits}"), Some(fits));
            check_last(&format!("{}No, wait.\n{fits}", fence(later)), Some(fits));
        }
        check_last(&format!("{}```json\n{{\"a\":[", fence(fits)), None);
        let other = r#"{"x":{"a":1}}"#;
        check_last(&format!("{fits}\nand {other}"), Some(fits));
        check_last(&format!("{}{}", fence(fits), fence(other)), Some(fits));
        check_last(&format!("{fits}\nFor example:\n{{\"a\":9}}\n"), Some(fits));
        check_last(other, None);
    }

    #[test]
    fn truncated_json_holds_no_answer() {
        let cut = |text: &str| {
            let refused = "the answer: it holds no JSON object that can be read: not JSON: it is cut off";
            check(&[text], Some("s"), Err(refused));
            check_last(&text.replace("\"s\"", "\"a\":1,\"s\""), None);
        };
        cut(r#"{"x":1,"child":{"s":1}"#);
        cut(r#"[{"s":1},{"s":2}"#);
        cut("{\n  \"x\": 1,\n  \"all\": [\n    {\"s\": 1},\n    {\"s\": 2},\n    {\"s");
        cut("Here it is:\n[ {\"s\":1}, {\"s\"");
        check(&["{\"s\":1}\nNo, wait.\n{\"x\":{\"s\":2}"], Some("s"), Ok(r#"{"s":1}"#));
        let open = "not JSON: key must be a string at line 2 column 1";
        let refused = format!("the answer: it holds no JSON object that can be read: {open}");
        check(&["function f() {\n{\"s\":1}"], Some("s"), Err(&refused));
        check(&["as in [1\n{\"s\":1}"], Some("s"), Ok(r#"{"s":1}"#));
        for text in [r#"{"s":"a brace {\"b and [{ in a text"}"#, r#"[{"x":1}, {"y":["a"]}] {"s":"["}"#] {
            check(&[text], Some("s"), Ok(&text[text.find(r#"{"s""#).unwrap_or_default()..]));
        }
    }

    #[test]
    fn an_example_in_a_longer_fence_is_a_part_of_it() {
        let example = "``````\n```json\n{\"s\":1}\n```\n``````\n";
        check(&[example], Some("s"), Err("the answer: it holds no JSON object"));
        check(&[&format!("{example}{{\"s\":2}}")], Some("s"), Ok(r#"{"s":2}"#));
    }

    #[test]
    fn a_fence_is_read_in_every_shape() {
        for fence in ["```", "~~~~", "`````", "  ```"] {
            for tag in ["json", "JSON", "", "json title"] {
                let text = format!("{fence}{tag}\n{{\"s\":\"```\"}}\n{fence}\n");
                check(&[&text], Some("s"), Ok(r#"{"s":"```"}"#));
                check(&[&text.replace('\n', "\r\n")], Some("s"), Ok(r#"{"s":"```"}"#));
            }
        }
        check(&["```json\n{\"s\":1}"], Some("s"), Ok(r#"{"s":1}"#));
        check(&["```ts\n{\"s\":1}\n```"], Some("s"), Err("the answer: it holds no JSON object"));
        check(&["use ```json {\"s\":1}``` here"], Some("s"), Ok(r#"{"s":1}"#));
    }

    #[test]
    fn lax_json_and_other_types_are_refused_with_their_reason() {
        let none = |reason: &str| format!("the answer: it holds no JSON object that can be read: {reason}");
        check(&["{\"s\":1,}"], Some("s"), Err(&none("not JSON: trailing comma at line 1 column 8")));
        check(&["[{\"s\":1}]"], Some("s"), Err(&none("expected an object, got a list")));
        check(&["```json\n[1]\n```"], Some("s"), Err(&none("expected an object, got a list")));
        check(&["```json\n[1]\n```"], None, Ok("[1]"));
        check(&["```\n17\n```"], None, Ok("17"));
        check(
            &["[1]"],
            None,
            Err("the answer: it holds no JSON that can be read: expected an object, got a list"),
        );
        check(&["{\"s\":"], Some("s"), Err(&none("not JSON: it is cut off")));
        check(&["{\"x\":1}"], Some("s"), Err("the answer: s is missing"));
        check(&[], Some("s"), Err("the answer: it holds no JSON object"));
    }

    #[test]
    fn refused_candidates_keep_their_lines() {
        let seen = read(&["{\"s\":1}\n\n{\"x\":1}\n{\"y\":1}\n```json\nno\n```\n"], Some("s"));
        let refusals: Vec<_> =
            seen.refused.iter().map(|refused| (refused.line, refused.reason.as_str())).collect();
        let expected = [
            (5, "not JSON: expected ident at line 1 column 2"),
            (4, "the answer: s is missing"),
            (3, "the answer: s is missing"),
        ];
        assert_eq!(refusals, expected);
        assert_eq!(seen.value.as_deref(), Some("{\"s\":1}"));
    }

    #[test]
    fn sources_are_asked_in_their_order() {
        let messages = [r#"{"m":1}"#.to_owned()];
        let structured = serde_json::json!({"o": 1});
        let all = AnswerSources {
            structured: Some(&structured),
            decision_file: Some("{\"f\":1}"),
            messages: &messages,
            echo: None,
        };
        for (key, from) in [
            ("o", AnswerSource::StructuredOutput),
            ("f", AnswerSource::DecisionFile),
            ("m", AnswerSource::Message(1)),
        ] {
            let seen = select(&all, CandidateKind::Object, |value| match value.get(key) {
                Some(_) => Vec::new(),
                None => vec![answer_violation("required", String::new())],
            });
            assert_eq!(seen.from, Some(from));
        }
    }

    #[test]
    fn the_allowed_values_of_every_field_are_found() {
        let schema = serde_json::json!({
            "properties": {
                "status": {"enum": ["completed", "blocked"]},
                "next": {"properties": {"action": {"oneOf": [{"const": "go"}, {"enum": ["stop", "go"]}]}}},
                "items": {"items": {"properties": {"kind": {"const": 1}}}},
                "free": {"type": "string"},
            },
        });
        let found = allowed_values(&schema);
        let texts: Vec<String> =
            found.iter().map(|(path, values)| format!("{path}: {}", Value::from(values.clone()))).collect();
        let expected =
            ["items[].kind: [1]", r#"next.action: ["go","stop"]"#, r#"status: ["completed","blocked"]"#];
        assert_eq!(texts, expected);
    }

    #[test]
    fn a_text_is_matched_from_its_last_message() {
        let messages = ["id=1".to_owned(), "id=2 id=3".to_owned(), "none".to_owned()];
        let sources = AnswerSources { messages: &messages, ..AnswerSources::default() };
        let found = |pattern| match_text(pattern, &sources).unwrap().value;
        assert_eq!(found("id=.").as_deref(), Some(r#""id=2""#));
        assert_eq!(found("id=(.)( x)?").as_deref(), Some(r#"["id=2","2",null]"#));
        assert_eq!(match_text("DONE", &sources).unwrap().fingerprints(), ["format:#:pattern"]);
        assert!(match_text("(?=x)", &sources).is_err());
    }

    #[test]
    fn work_grows_no_faster_than_the_text() {
        for unit in ["```json\n{\n", "{\"a\":", "```\n{}\n```\n", "{\"a\":1}\n", "~~~\n", "[", "{\"a\":1,}\n"]
        {
            let seen = read(&[&unit.repeat(100_000)], Some("s"));
            assert!(seen.value.is_none() && seen.refused.len() <= REFUSED_MAX);
        }
    }
}
