//! Reads one JSON object as a verdict: which key decides, whose check it is, what it adds.

use crate::moment;
use crate::verdict::check_id::{self, CheckIdMatch};
use crate::verdict::json::{Object, Value};
use crate::verdict::line::recant;
use crate::verdict::problem::Problem;
use crate::verdict::remark::limits::{Limit, limit_of};
use crate::verdict::sense::{Sense, is_something, sense_of};
use crate::verdict::signals;
use crate::verdict::text::quote;
use crate::verdict::words::{self, Word};
use crate::verdict::{Decision, Source};

/// Keys whose value is a word, the most telling first.
pub(in crate::verdict) const WORD_KEYS: &[&str] = &["decision", "verdict", "status", "result"];

/// Keys that a verdict is named by, even in an object that could be a record of something else.
pub(in crate::verdict) const STRONG_KEYS: &[&str] = &["decision", "verdict"];

/// Keys whose value is a boolean.
const BOOL_KEYS: &[&str] = &["complete", "completed", "done", "passed"];

/// Keys that name the check, the one that counts first.
pub(in crate::verdict) const ID_KEYS: &[&str] =
    &["check_id", "checkId", "check-id", "check id", "completion_check_id", "completionCheckId"];

/// Keys that give away an object about something else: a message of a worker CLI, an item of a list
/// of work, the answer of an API. Its `status` is not the verdict of this check.
const FOREIGN_KEYS: &[&str] = &[
    "type", "subtype", "event", "jsonrpc", "method", "role", "tool", "tool_name", "title", "task", "content",
    "activeform", "test", "command", "url", "code", "session_id", "exit_code",
];

/// A JSON object that says something about the check.
#[derive(Clone, Debug)]
pub(crate) struct Verdict {
    pub word: Word,
    pub check_id: CheckIdMatch,
    /// The member that decides, as it reads in a sentence.
    pub quote: String,
    pub start: usize,
    pub end: usize,
    pub reasons: Vec<String>,
    pub fingerprints: Vec<String>,
    pub needs: Option<String>,
    pub retry_after_ms: Option<u64>,
    pub until: Option<String>,
    pub contradiction: Option<(String, String)>,
    pub problems: Vec<Problem>,
}

/// What an object is to the check.
pub(crate) enum Reading {
    Verdict(Box<Verdict>),
    /// It has a decision key but is about something else.
    Foreign(Problem),
    /// It has no decision key.
    Other,
}

/// Reads an object. `expected` is the id that was asked for, if any.
pub(crate) fn read(object: &Object, source: Source, expected: Option<&str>) -> Reading {
    let Some(key) = deciding_key(&object.members) else { return Reading::Other };
    let Id { matched: check_id, problem: id_problem, opponents } = read_id(&object.members, source, expected);
    if let Some(foreign) = foreign_key(&object.members, key)
        && check_id != CheckIdMatch::Match
    {
        return Reading::Foreign(Problem::Envelope { source, key: foreign });
    }
    let mut problems: Vec<Problem> = id_problem.into_iter().collect();
    if let Some(key) = duplicate(&object.members) {
        problems.push(Problem::DuplicateKey { key });
    }
    let (mut word, quote) = read_key(&object.members, key);
    let opponents = opponents.filter(|_| word != Word::Unknown);
    let contradiction = contradiction(&object.members, key, word).or(opponents);
    if contradiction.is_some() {
        word = Word::Incomplete;
    }
    if word == Word::Complete && key == "status" {
        // A file that holds the status of something must not complete a step, even with the right id.
        word = Word::Unknown;
        problems.push(Problem::StatusAlone { source });
    } else if word == Word::Unknown {
        let value = last(&object.members, key).map_or_else(String::new, text_of);
        problems.push(Problem::UnknownWord { source, key: key.to_owned(), value });
    }
    let mut verdict = Verdict {
        word,
        check_id,
        quote,
        start: object.span.start,
        end: object.span.end,
        reasons: signals::list(&object.members, &["reasons", "reason"], &mut problems),
        fingerprints: signals::list(&object.members, &["fingerprints", "fingerprint"], &mut problems),
        needs: None,
        retry_after_ms: None,
        until: None,
        contradiction,
        problems,
    };
    read_pause(&object.members, &mut verdict);
    Reading::Verdict(Box::new(verdict))
}

/// Heeds what comments in the object say: `"decision": "complete" // not yet` is not complete. One that only lists the
/// words to choose from says nothing.
pub(crate) fn heed<'a>(verdict: &mut Verdict, remarks: impl Iterator<Item = &'a str>) {
    if verdict.word != Word::Complete {
        return;
    }
    let takes_back = |remark: &&str| limit_of(remark) != Limit::Free && !words::offers_choice(remark);
    if let Some(remark) = remarks.map(|remark| remark.trim_matches(['/', '*', ' '])).find(takes_back) {
        verdict.word = Word::Incomplete;
        verdict.contradiction = Some((format!("the comment \"{}\"", quote(remark)), verdict.quote.clone()));
    }
}

/// Reads what blocked and waiting verdicts must say. One that does not is none: the step would stop
/// without a task for a person, or wait without an end.
fn read_pause(members: &[(String, Value)], verdict: &mut Verdict) {
    match verdict.word {
        Word::Blocked => {
            let mut unused = Vec::new();
            let needs = signals::list(members, &["needs", "need"], &mut unused);
            let said = if needs.is_empty() { verdict.reasons.clone() } else { needs };
            if said.is_empty() {
                verdict.problems.push(Problem::NeedsMissing);
                verdict.word = Word::Unknown;
            } else {
                verdict.needs = Some(said.join("; "));
            }
        }
        Word::Waiting => {
            verdict.retry_after_ms = signals::retry_after_ms(members, &mut verdict.problems);
            verdict.until = signals::text(members, "until");
            let unreadable = verdict.until.as_ref().filter(|it| moment::parse(it).is_none());
            verdict.problems.extend(unreadable.map(|it| Problem::UntilUnreadable { value: it.clone() }));
            if verdict.retry_after_ms.is_none() && verdict.until.is_none() {
                verdict.problems.push(Problem::WaitMissing);
                verdict.word = Word::Unknown;
            }
        }
        _ => {}
    }
}

/// Compares keys in any case.
pub(crate) fn is_key(key: &str, wanted: &str) -> bool {
    key.trim().eq_ignore_ascii_case(wanted)
}

fn all<'a>(members: &'a [(String, Value)], wanted: &'a str) -> impl Iterator<Item = &'a Value> {
    members.iter().filter(move |(key, _)| is_key(key, wanted)).map(|(_, value)| value)
}

fn last<'a>(members: &'a [(String, Value)], wanted: &'a str) -> Option<&'a Value> {
    all(members, wanted).last()
}

fn deciding_key(members: &[(String, Value)]) -> Option<&'static str> {
    let is_there = |key: &&&'static str| last(members, key).is_some();
    let is_bool = |key: &&&'static str| matches!(last(members, key), Some(Value::Bool(_)));
    WORD_KEYS.iter().find(is_there).or_else(|| BOOL_KEYS.iter().find(is_bool)).copied()
}

fn foreign_key(members: &[(String, Value)], key: &str) -> Option<String> {
    if STRONG_KEYS.contains(&key) {
        return None;
    }
    let found = members.iter().find(|(key, _)| FOREIGN_KEYS.iter().any(|name| is_key(key, name)));
    found.map(|(key, _)| quote(key))
}

/// Reads the last value of a key.
fn read_key(members: &[(String, Value)], key: &str) -> (Word, String) {
    let word = last(members, key).map_or(Word::Unknown, |value| read_value(key, value));
    let text = last(members, key).map_or_else(String::new, text_of);
    (word, format!("\"{key}\": \"{}\"", quote(&text)))
}

fn read_value(key: &str, value: &Value) -> Word {
    match value {
        Value::String(text) => words::read_value(text),
        Value::Bool(true) if BOOL_KEYS.contains(&key) => Word::Complete,
        Value::Bool(false) if BOOL_KEYS.contains(&key) => Word::Incomplete,
        _ => Word::Unknown,
    }
}

/// Finds two members that exclude each other: the deciding key twice with different words, or a
/// complete word beside another key that plainly says it is not.
fn contradiction(members: &[(String, Value)], key: &str, word: Word) -> Option<(String, String)> {
    let show = |key: &str, value: &Value| format!("\"{key}\": \"{}\"", quote(&text_of(value)));
    let decided = last(members, key)?;
    if let Some(other) = all(members, key).find(|value| excludes(read_value(key, value), word)) {
        return Some((show(key, other), show(key, decided)));
    }
    if word != Word::Complete {
        return None;
    }
    let others = members.iter().filter(|(name, _)| !is_key(name, key));
    let no = others.clone().find(|(name, value)| says_no(name, value));
    let no = no.or_else(|| others.clone().find(|(name, value)| explains_no(name, value)));
    no.map(|(name, value)| (show(key, decided), show(name, value)))
}

/// `"success": false`, `"errors": 2`, `"status": "pending"`: says beside a complete word that it is not.
fn says_no(name: &str, value: &Value) -> bool {
    match sense_of(name) {
        Some(Sense::Good) => denies(value, true),
        Some(Sense::Bad | Sense::Open) => is_something(value),
        None if WORD_KEYS.iter().any(|key| is_key(name, key)) => denies(value, false),
        None => counts_failures(name, value),
    }
}

/// `"tests": {"failed": 2}`, `"checks": [{"passed": false}]`: counts or names what failed of something.
fn counts_failures(name: &str, value: &Value) -> bool {
    const COUNTED: &[&str] = &[
        "tests", "checks", "counts", "stats", "test_results", "results", "totals", "criteria", "requirements",
    ];
    let is_bad = |name: &str| matches!(sense_of(name), Some(Sense::Bad | Sense::Open));
    let failed = |item: &Value| match item {
        Value::Object(members) => members.iter().any(|(name, value)| says_no(name, value)),
        _ => false,
    };
    COUNTED.iter().any(|key| is_key(name, key))
        && match value {
            Value::Object(members) => members.iter().any(|(name, value)| is_bad(name) && is_something(value)),
            Value::List(items) => items.iter().any(failed),
            _ => false,
        }
}

/// `"reason": "INCOMPLETE: 2 tests fail"`: one of the reasons says that it is not complete.
fn explains_no(name: &str, value: &Value) -> bool {
    const EXPLANATIONS: &[&str] =
        &["reasons", "reason", "summary", "message", "explanation", "rationale", "notes", "note", "comment"];
    let mut unused = Vec::new();
    EXPLANATIONS.iter().any(|key| is_key(name, key))
        && signals::list(&[(name.to_owned(), value.clone())], &[name], &mut unused)
            .iter()
            .any(|text| recant::takes_back_in_prose(text))
}

/// Tells whether a value plainly says that it is not complete. A number is none or an exit code,
/// except where a boolean belongs.
fn denies(value: &Value, of_bool: bool) -> bool {
    match value {
        Value::String(text) => {
            words::read_exact(text).is_some_and(|word| word != Word::Complete)
                || words::says_no(text)
                || (of_bool && (text.trim() == "0" || words::read_value(text) == Word::Incomplete))
        }
        Value::Bool(said) => !said,
        Value::Number(text) => of_bool && text.parse().is_ok_and(|number: f64| number == 0.0),
        _ => false,
    }
}

/// Two known words that are not the same.
fn excludes(first: Word, second: Word) -> bool {
    first != second && first != Word::Unknown && second != Word::Unknown
}

/// Whose check an object is.
struct Id {
    matched: CheckIdMatch,
    problem: Option<Problem>,
    /// The id of another check beside the right one, and the right one.
    opponents: Option<(String, String)>,
}

/// Reads whose check an object is. `check_id` outranks `checkId`, unless it is blank; of a key that is
/// there twice only the last value that is not blank is looked at.
///
/// The id of another check is never passed over: beside the right one it is a contradiction, and
/// beside a placeholder it is what counts.
fn read_id(members: &[(String, Value)], source: Source, expected: Option<&str>) -> Id {
    let absent = Id { matched: CheckIdMatch::Absent, problem: None, opponents: None };
    let Some(expected) = expected else { return absent };
    let found = ids(members, expected);
    let is_other = |id: &&FoundId| matches!(id.matched, CheckIdMatch::Mismatch { .. });
    let Some(first) = found.first() else { return absent };
    let Some(last) = found.iter().rfind(|id| id.key == first.key) else { return absent };
    let other = found.iter().find(is_other);
    let (counts, opponents) = match other {
        Some(other) if last.matched == CheckIdMatch::Match => (last, Some((other.show(), last.show()))),
        Some(other) if !is_other(&last) => (other, None),
        _ => (last, None),
    };
    let problem = id_problem(&counts.matched, source, expected, &counts.got);
    Id { matched: counts.matched.clone(), problem, opponents }
}

/// A text under one of the keys that name the check.
struct FoundId {
    key: &'static str,
    got: String,
    matched: CheckIdMatch,
}

impl FoundId {
    fn show(&self) -> String {
        format!("\"{}\": \"{}\"", self.key, quote(&self.got))
    }
}

/// Finds all ids that are not blank, those of the most telling key first.
fn ids(members: &[(String, Value)], expected: &str) -> Vec<FoundId> {
    let mut found = Vec::new();
    for key in ID_KEYS {
        let mut of_key = Vec::new();
        for value in all(members, key) {
            let mut ids = Vec::new();
            gather_ids(key, value, expected, &mut ids);
            if !ids.is_empty() {
                of_key = ids;
            }
        }
        found.append(&mut of_key);
    }
    found
}

/// Reads an id, also one inside a list or an object. How deep that goes is bounded by the parser.
fn gather_ids(key: &'static str, value: &Value, expected: &str, found: &mut Vec<FoundId>) {
    let matched = match value {
        Value::Null => CheckIdMatch::Absent,
        Value::String(got) => check_id::compare(got, expected),
        Value::List(items) if !items.is_empty() => {
            return items.iter().for_each(|item| gather_ids(key, item, expected, found));
        }
        Value::Object(members) if !members.is_empty() => {
            return members.iter().for_each(|(_, item)| gather_ids(key, item, expected, found));
        }
        // A number or a boolean is no id of another check.
        _ => CheckIdMatch::Placeholder,
    };
    if matched != CheckIdMatch::Absent {
        found.push(FoundId { key, got: text_of(value), matched });
    }
}

/// Says what is to be said about an id.
pub(crate) fn id_problem(
    matched: &CheckIdMatch,
    source: Source,
    expected: &str,
    got: &str,
) -> Option<Problem> {
    let (expected, got) = (expected.to_owned(), quote(got.trim()));
    match matched {
        CheckIdMatch::Placeholder => Some(Problem::PlaceholderId { source, expected, got }),
        CheckIdMatch::Mismatch { .. } => Some(Problem::CheckIdMismatch { source, expected, got }),
        CheckIdMatch::Match | CheckIdMatch::Absent => None,
    }
}

/// Returns the first key that occurs twice.
fn duplicate(members: &[(String, Value)]) -> Option<String> {
    let mut seen = std::collections::BTreeSet::new();
    members.iter().find(|(key, _)| !seen.insert(key.as_str())).map(|(key, _)| quote(key))
}

/// Returns a short text for a value, for sentences.
pub(crate) fn text_of(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(said) => said.to_string(),
        Value::Number(text) | Value::String(text) => text.clone(),
        Value::List(_) => "[...]".to_owned(),
        Value::Object(_) => "{...}".to_owned(),
    }
}

impl Verdict {
    /// Returns the decision, if the word is one.
    pub(crate) fn decision(&self) -> Option<Decision> {
        match self.word {
            Word::Complete => Some(Decision::Complete),
            Word::Incomplete => Some(Decision::Incomplete),
            Word::Blocked => Some(Decision::Blocked),
            Word::Waiting => Some(Decision::Waiting),
            Word::Unknown => None,
        }
    }
}
