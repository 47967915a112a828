//! Reads one line, undressed, as a verdict.

use super::doubt;
use super::undress::{Bare, strip_once};
use crate::verdict::remark::affirm::affirms;
use crate::verdict::remark::cjk;
use crate::verdict::remark::limits::{self, Limit};
use crate::verdict::remark::ratio::has_unmet_ratio;
use crate::verdict::remark::reason::{is_nothing, is_reason, is_value, reports_success, speaks_of_all};
use crate::verdict::text::{is_cjk, quote};
use crate::verdict::words::{self, Word};

/// The two things a marker can say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verdict) enum Says {
    Complete,
    Incomplete,
}

/// How a marker says it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verdict) enum Form {
    /// A marker word, alone or behind a label.
    Exact,
    /// A marker word and a text, or a sentence.
    Prose,
}

/// What a line by itself is.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::verdict) enum Reading {
    Nothing,
    /// Names a marker word inside other text.
    Named,
    /// Says INCOMPLETE in a form that is none of a marker.
    Doubt,
    /// A choice or a condition.
    NotAsserted,
    Marker(Found),
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::verdict) struct Found {
    pub(in crate::verdict) says: Says,
    pub(in crate::verdict) form: Form,
    pub(in crate::verdict) reason: Option<String>,
    /// The bare word, without a label or a text, for the rules about test runners.
    pub(in crate::verdict) bare_word: Option<MarkerWord>,
    pub(in crate::verdict) in_capitals: bool,
}

/// The words that make a marker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verdict) enum MarkerWord {
    NotComplete,
    Incomplete,
    Completed,
    Complete,
    Passed,
    Pass,
    Failure,
    Failed,
    Fail,
}

/// Longest first, so that `COMPLETED` is not read as `COMPLETE` and a rest.
const MARKER_WORDS: &[(&str, MarkerWord)] = &[
    ("not completed", MarkerWord::NotComplete),
    ("not_completed", MarkerWord::NotComplete),
    ("not-completed", MarkerWord::NotComplete),
    ("not_complete", MarkerWord::NotComplete),
    ("not-complete", MarkerWord::NotComplete),
    ("not_passed", MarkerWord::NotComplete),
    ("not-passed", MarkerWord::NotComplete),
    ("not complete", MarkerWord::NotComplete),
    ("not passed", MarkerWord::NotComplete),
    ("incomplete", MarkerWord::Incomplete),
    ("completed", MarkerWord::Completed),
    ("complete", MarkerWord::Complete),
    ("passed", MarkerWord::Passed),
    ("pass", MarkerWord::Pass),
    ("failure", MarkerWord::Failure),
    ("failed", MarkerWord::Failed),
    ("fail", MarkerWord::Fail),
];

impl MarkerWord {
    fn says(self) -> Says {
        match self {
            Self::Completed | Self::Complete | Self::Passed | Self::Pass => Says::Complete,
            _ => Says::Incomplete,
        }
    }
}

pub(in crate::verdict) fn read(bare: &Bare) -> Reading {
    let reading = read_core(&bare.core);
    // "Verdict: ❌".
    let is_crossed = || bare.crossed && split_label(&bare.core).is_some_and(|value| value.trim().is_empty());
    if reading == Reading::Named && !bare.unchecked && (doubt::is_doubt(&bare.core) || is_crossed()) {
        return Reading::Doubt;
    }
    let Reading::Marker(mut found) = reading else { return reading };
    if bare.unchecked {
        return Reading::NotAsserted;
    }
    if found.says == Says::Complete && bare.crossed {
        // "❌ COMPLETE" contradicts itself.
        found.says = Says::Incomplete;
        found.form = Form::Prose;
    }
    Reading::Marker(found)
}

fn read_core(core: &str) -> Reading {
    if words::offers_choice(core) {
        return Reading::NotAsserted;
    }
    if let Some(lead) = split_word(core) {
        return read_lead(&lead, Label::No);
    }
    if let Some(value) = split_label(core) {
        return read_labelled(value);
    }
    if let Some(reading) = read_negated_cjk(core) {
        return reading;
    }
    read_sentence(core).unwrap_or(Reading::Named)
}

/// Whether a label stood before the word, which then needs no reason to be believed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Label {
    Yes,
    No,
}

fn read_labelled(value: &str) -> Reading {
    let mut unused = Bare { core: String::new(), bulleted: false, crossed: false, unchecked: false };
    let mut value = value.trim();
    loop {
        let shorter = strip_once(value, &mut unused);
        if shorter.len() == value.len() {
            break;
        }
        value = shorter;
    }
    let reading = match split_word(value) {
        Some(lead) => read_lead(&lead, Label::Yes),
        None => read_unfinished(value).unwrap_or_else(|| read_negated(value)),
    };
    if reading == Reading::Named && (doubt::is_open_value(value) || says_incomplete(value)) {
        return Reading::Doubt;
    }
    match reading {
        Reading::Marker(mut found) => {
            found.bare_word = None;
            found.in_capitals = true;
            if unused.crossed && found.says == Says::Complete {
                found.says = Says::Incomplete;
            }
            Reading::Marker(found)
        }
        other => other,
    }
}

/// `FAIL (2 tests)`, `INCOMPLETE. Lint is red.`: of the runner's counters, those that count nothing say nothing.
fn says_incomplete(value: &str) -> bool {
    let lead = split_word(value).filter(|lead| lead.says() == Says::Incomplete);
    lead.is_some_and(|lead| {
        let mut digits = lead.rest.chars().filter(char::is_ascii_digit).peekable();
        let counts_nothing = digits.peek().is_some() && digits.all(|digit| digit == '0');
        let reason = lead.rest.trim_start_matches(|c: char| !c.is_alphanumeric());
        !counts_nothing && !is_nothing(reason) && !words::is_refusal(reason)
    })
}

/// `needs_work`, `in progress: the docs`: the words for an open verdict that are no markers by themselves.
fn read_unfinished(value: &str) -> Option<Reading> {
    let dashed = value.split([':', ';', ',', '.', '(', '–', '—', '：', '、', '。']).next()?;
    let word = dashed.split(" - ").next()?;
    if words::read_exact(word) != Some(Word::Incomplete) {
        return None;
    }
    let rest = value[word.len()..].trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
    let form = if rest.is_empty() { Form::Exact } else { Form::Prose };
    Some(marker(Says::Incomplete, form, Some(rest)))
}

/// `not yet complete`, `almost COMPLETE`, `未COMPLETE` behind a label.
fn read_negated(value: &str) -> Reading {
    const NEGATIONS: &[&str] = &[
        "not", "yet", "almost", "nearly", "partially", "mostly", "never", "isn't", "only", "quite", "fully",
        "still", "half",
    ];
    if let Some(reading) = read_negated_cjk(value) {
        return reading;
    }
    let lower = value.to_lowercase();
    let mut words = lower.split_whitespace().peekable();
    let mut negated = false;
    while words.next_if(|word| NEGATIONS.contains(word)).is_some() {
        negated = true;
    }
    let rest: Vec<&str> = words.collect();
    match rest.as_slice() {
        [word] if negated => match split_word(word) {
            Some(lead) if is_final_stop(lead.rest) && lead.says() == Says::Complete => {
                marker(Says::Incomplete, Form::Prose, Some(value))
            }
            None if words::read_exact(word) == Some(Word::Complete) => {
                marker(Says::Incomplete, Form::Prose, Some(value))
            }
            _ => Reading::Named,
        },
        _ => Reading::Named,
    }
}

/// `未COMPLETE`: negated by the character before.
fn read_negated_cjk(core: &str) -> Option<Reading> {
    let rest = core.strip_prefix(['未', '不', '非'])?;
    let lead = split_word(rest.trim_start())?;
    (is_final_stop(lead.rest) && lead.says() == Says::Complete)
        .then(|| marker(Says::Incomplete, Form::Prose, Some(core)))
}

fn marker(says: Says, form: Form, reason: Option<&str>) -> Reading {
    let reason = reason.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty());
    Reading::Marker(Found { says, form, reason, bare_word: None, in_capitals: true })
}

/// A marker word at the beginning of a text.
#[derive(Clone, Copy, Debug)]
struct Lead<'a> {
    word: MarkerWord,
    /// The word as it is written.
    head: &'a str,
    /// What follows it.
    rest: &'a str,
}

impl Lead<'_> {
    fn says(&self) -> Says {
        self.word.says()
    }

    fn in_capitals(&self) -> bool {
        !self.head.chars().any(|c| c.is_ascii_lowercase())
    }

    /// The word with another text behind it, for a reason.
    fn with(&self, rest: &str) -> String {
        format!("{}{rest}", self.head)
    }
}

/// Splits a marker word off the front, unless it is only the beginning of a longer word or name.
fn split_word(text: &str) -> Option<Lead<'_>> {
    MARKER_WORDS.iter().find_map(|(name, word)| {
        let head = text.get(..name.len()).filter(|head| head.eq_ignore_ascii_case(name))?;
        let rest = &text[name.len()..];
        let mut next = rest.chars();
        let joined = match next.next() {
            Some('_' | '\'' | '’' | '\\' | '@' | '$' | '=') => true,
            Some('-' | '.' | ':' | '/') => {
                next.next().is_some_and(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '/' | ':'))
                    && (!rest.starts_with(':') || rest.starts_with("::"))
            }
            Some(c) => c.is_alphanumeric() && !is_cjk(c),
            None => false,
        };
        (!joined).then_some(Lead { word: *word, head, rest })
    })
}

/// What a verdict is announced by, in small letters, a longer label before its beginning.
pub(in crate::verdict) const LABELS: &[&str] =
    &["verdict", "decision", "status", "result", "completion", "判定結果", "判定", "結果"];

/// Splits a label such as `Final verdict:` off the front and returns what follows.
fn split_label(text: &str) -> Option<&str> {
    const QUALIFIERS: &[&str] = &["final", "overall", "最終", "総合", "the"];
    let mut rest = text.trim_start();
    let mut labels = 0;
    loop {
        let head = |name: &&&str| rest.get(..name.len()).is_some_and(|head| head.eq_ignore_ascii_case(name));
        if let Some(name) = LABELS.iter().find(head) {
            labels += 1;
            rest = &rest[name.len()..];
        } else if let Some(name) = QUALIFIERS.iter().find(head).filter(|_| labels == 0) {
            rest = &rest[name.len()..];
        } else {
            return None;
        }
        let trimmed = rest.trim_start();
        if labels > 0
            && let Some(value) = split_separator(trimmed, trimmed.len() < rest.len())
        {
            return Some(value);
        }
        if rest.starts_with(|c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '/')) {
            return None;
        }
        rest = trimmed;
    }
}

fn split_separator(text: &str, after_blank: bool) -> Option<&str> {
    if let Some(rest) = text.strip_prefix([':', '：', '=', '＝', 'は']) {
        return Some(rest.strip_prefix('=').unwrap_or(rest));
    }
    if let Some(rest) = split_dash(text, after_blank) {
        return Some(rest);
    }
    let rest = text.get(..2).filter(|head| head.eq_ignore_ascii_case("is")).map(|_| &text[2..])?;
    (after_blank && rest.starts_with([' ', ':', '\t'])).then(|| rest.trim_start_matches(':'))
}

/// Splits off a dash that separates: a long one, or a hyphen (or two) with a blank beside it.
fn split_dash(text: &str, after_blank: bool) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['–', '—', '―', '－', 'ー', '→', '⇒']) {
        return Some(rest.trim_start_matches(['–', '—', '―']));
    }
    let rest = text.strip_prefix('-')?.trim_start_matches(['-', '>']);
    (after_blank || rest.is_empty() || rest.starts_with(char::is_whitespace)).then_some(rest)
}

fn read_lead(lead: &Lead<'_>, label: Label) -> Reading {
    let says = lead.says();
    let trimmed = lead.rest.trim_start();
    let after_blank = trimmed.len() < lead.rest.len();
    if is_final_stop(trimmed) {
        let (bare_word, in_capitals) = (Some(lead.word), lead.in_capitals());
        let form = Form::Exact;
        return Reading::Marker(Found { says, form, reason: None, bare_word, in_capitals });
    }
    if trimmed.starts_with(['?', '？']) {
        return if says == Says::Complete || lead.word == MarkerWord::Incomplete {
            marker(Says::Incomplete, Form::Prose, Some(&lead.with(trimmed)))
        } else {
            Reading::Named
        };
    }
    if trimmed.starts_with(is_cjk) {
        return read_cjk(lead, trimmed);
    }
    if trimmed.starts_with([',', ';', '，', '、']) {
        return read_comma(lead, trimmed);
    }
    if let Some(text) = split_reason(trimmed, after_blank) {
        return read_text(lead, text.trim(), label);
    }
    read_words(lead, trimmed)
}

fn is_final_stop(rest: &str) -> bool {
    matches!(rest, "" | "." | "。" | "!" | "！" | "!!" | "!!!" | ".!" | "．")
}

/// Splits off `:`, a dash or a bracket between the word and its text.
fn split_reason(text: &str, after_blank: bool) -> Option<&str> {
    if let Some(rest) = text.strip_prefix([':', '：']) {
        return Some(rest);
    }
    if let Some(rest) = split_dash(text, after_blank) {
        return Some(rest);
    }
    let core = text.trim_end_matches(['.', '!', '。']);
    core.strip_prefix(['(', '（'])?.strip_suffix([')', '）'])
}

/// `COMPLETEではない`, `COMPLETEです`, `FAILなし`.
fn read_cjk(lead: &Lead<'_>, suffix: &str) -> Reading {
    match (lead.says(), cjk::read_suffix(suffix)) {
        (Says::Complete, Some(true)) => marker(Says::Complete, Form::Prose, None),
        (Says::Complete, Some(false)) => marker(Says::Incomplete, Form::Prose, Some(&lead.with(suffix))),
        (Says::Incomplete, Some(true)) => marker(Says::Incomplete, Form::Prose, None),
        _ => Reading::Named,
    }
}

/// `complete, but two tests still fail`.
fn read_comma(lead: &Lead<'_>, rest: &str) -> Reading {
    let text = rest.trim_start_matches([',', ';', '，', '、']);
    match lead.says() {
        Says::Complete if limits::limit_of(text) == Limit::Limited => {
            marker(Says::Incomplete, Form::Prose, Some(&lead.with(rest)))
        }
        Says::Incomplete if lead.word == MarkerWord::Incomplete && is_reason(text) => {
            marker(Says::Incomplete, Form::Prose, Some(text))
        }
        _ => Reading::Named,
    }
}

/// Tells whether a text takes the COMPLETE before it back with its first word.
pub(in crate::verdict) fn taken_back(text: &str) -> Option<Limit> {
    const TAKES_BACK: &[&str] =
        &["but", "except", "excepting", "however", "although", "though", "apart", "aside", "minus"];
    const CONDITIONS: &[&str] = &["if", "when", "once", "unless", "until", "or", "only", "after"];
    let first: String =
        text.chars().take_while(|c| c.is_ascii_alphabetic()).collect::<String>().to_lowercase();
    if CONDITIONS.contains(&first.as_str()) {
        return Some(Limit::Conditional);
    }
    TAKES_BACK.contains(&first.as_str()).then_some(Limit::Limited)
}

/// A word and, behind only a blank, other words: a marker only when these take it back at once.
fn read_words(lead: &Lead<'_>, rest: &str) -> Reading {
    let limit = taken_back(rest);
    if limit == Some(Limit::Conditional) {
        return Reading::NotAsserted;
    }
    let takes_back = limit == Some(Limit::Limited);
    let figure = rest.starts_with(|c: char| c.is_ascii_digit()) && has_unmet_ratio(rest);
    let plain_word = matches!(lead.word, MarkerWord::Complete | MarkerWord::Completed);
    if lead.says() == Says::Complete && (takes_back || (figure && plain_word)) {
        return marker(Says::Incomplete, Form::Prose, Some(&lead.with(&format!(" {rest}"))));
    }
    Reading::Named
}

/// A word, a separator and a text.
fn read_text(lead: &Lead<'_>, text: &str, label: Label) -> Reading {
    let in_capitals = lead.in_capitals();
    let reading = match lead.word {
        MarkerWord::Complete => read_complete_text(text, in_capitals),
        MarkerWord::Completed | MarkerWord::Passed | MarkerWord::Pass if label == Label::Yes => {
            read_complete_text(text, true)
        }
        MarkerWord::Completed | MarkerWord::Passed | MarkerWord::Pass => Reading::Named,
        MarkerWord::Incomplete | MarkerWord::NotComplete if text.is_empty() && in_capitals => {
            marker(Says::Incomplete, Form::Prose, None)
        }
        _ if is_reason(text) => marker(Says::Incomplete, Form::Prose, Some(text)),
        _ => Reading::Named,
    };
    match reading {
        Reading::Marker(found) => Reading::Marker(Found { in_capitals, ..found }),
        other => other,
    }
}

fn read_complete_text(text: &str, in_capitals: bool) -> Reading {
    if !text.contains(|c: char| c.is_alphanumeric() || c == '?') || text.starts_with(['|', '/']) {
        return Reading::Named;
    }
    if words::is_assent(text) {
        return marker(Says::Complete, Form::Prose, None);
    }
    if words::is_refusal(text) || (text.len() < 40 && has_unmet_ratio(text)) {
        return marker(Says::Incomplete, Form::Prose, Some(text));
    }
    if is_value(text) && !reports_success(text) {
        return Reading::Named;
    }
    match limits::limit_of(text) {
        Limit::Limited => marker(Says::Incomplete, Form::Prose, Some(text)),
        Limit::Conditional => Reading::NotAsserted,
        Limit::Free if !in_capitals && !speaks_of_all(text) => Reading::Named,
        Limit::Free if affirms(text) => marker(Says::Complete, Form::Prose, None),
        Limit::Free => {
            let reason = format!("\"{}\" does not plainly say that all is done", quote(text));
            marker(Says::Incomplete, Form::Prose, Some(&reason))
        }
    }
}

/// "the task is **not** COMPLETE.": task, work, step or everything; the word in capitals.
fn read_sentence(core: &str) -> Option<Reading> {
    let mut words = core.split_whitespace().peekable();
    words.next_if(|word| word.eq_ignore_ascii_case("the") || word.eq_ignore_ascii_case("this"));
    let subject = words.next()?.to_ascii_lowercase();
    if !["task", "work", "step", "everything"].contains(&subject.as_str()) {
        return None;
    }
    let verb = words.next()?.to_ascii_lowercase();
    let mut negated = matches!(verb.as_str(), "isn't" | "isn’t");
    if !negated && verb != "is" {
        return None;
    }
    negated |= words.next_if(|word| word.eq_ignore_ascii_case("not")).is_some();
    words
        .next_if(|word| !negated && (word.eq_ignore_ascii_case("now") || word.eq_ignore_ascii_case("fully")));
    let last = words.next()?;
    let word = last.trim_end_matches(['.', '!', ',', ';', ':']);
    let says = match (word, negated) {
        ("COMPLETE", false) => Says::Complete,
        ("COMPLETE", true) | ("INCOMPLETE", false) => Says::Incomplete,
        _ => return None,
    };
    let tail: Vec<&str> = words.collect();
    let tail = tail.join(" ");
    match (says, limits::limit_of(&tail)) {
        _ if tail.is_empty() => Some(marker(says, Form::Prose, None)),
        (Says::Complete, Limit::Limited) => Some(marker(Says::Incomplete, Form::Prose, Some(&quote(core)))),
        (Says::Incomplete, Limit::Free | Limit::Limited) if last.len() > word.len() => {
            Some(marker(says, Form::Prose, Some(&tail)))
        }
        (_, Limit::Conditional) => Some(Reading::NotAsserted),
        _ => Some(Reading::Named),
    }
}
