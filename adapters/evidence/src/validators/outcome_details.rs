//! The recorded result of a validator, except for how its process ended.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};
use unstuck_core::completion::{Condition, Extractor, Validator, ValidatorKind};
use unstuck_core::event::Exit;
use unstuck_core::evidence::{
    Confidence, Failure, FailureReport, FailureSubject, UNPARSED, ValidatorOutcome,
};
use unstuck_core::truncate;
use unstuck_failures::ToolOutput;

use super::checklist::{self, CheckBox};
use super::custom;
use super::extract::ParsedOutput;
use super::failure_report::{self, ValidatorTopic};

/// The kind of the failure that stands for a validator that could not run.
pub const COULD_NOT_RUN: &str = "could_not_run";

/// Maximum bytes of one param in an event; of a longer text, the end is kept.
pub const TEXT_MAX: usize = 64 * 1024;

/// Maximum bytes of each output of a failed validator in an event; of a longer output, the end is kept.
pub const OUTPUT_MAX: usize = 16 * 1024;

/// Maximum items of a list of one param in an event.
pub const ITEMS_MAX: usize = 1000;

/// The details of an outcome: all fields of a result except for how the process ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutcomeDetails {
    /// As the field of `ValidatorResult`.
    pub stdout: String,
    /// As the field of `ValidatorResult`.
    pub stderr: String,
    /// As the field of `ValidatorResult`.
    pub error: String,
    /// As the field of `ValidatorResult`.
    pub report: FailureReport,
    /// As the field of `ValidatorResult`.
    pub params: BTreeMap<String, Value>,
    /// As the field of `ValidatorResult`.
    pub failures: Vec<Failure>,
    /// As the field of `ValidatorResult`.
    pub unparsed: bool,
}

impl OutcomeDetails {
    /// Returns the details of a command, or of required files.
    pub fn new(condition: &Condition, outcome: &ValidatorOutcome, facts: &ParsedOutput<'_>) -> Self {
        match outcome {
            // The output of a validator that passed contains no failures.
            ValidatorOutcome::Pass => Self::default(),
            ValidatorOutcome::CouldNotRun(why) => Self::could_not_run(&condition.validator, why),
            ValidatorOutcome::Fail => Self::from_failure(condition, facts),
        }
    }

    fn from_failure(condition: &Condition, facts: &ParsedOutput<'_>) -> Self {
        let validator = &condition.validator;
        let subject = ValidatorTopic::from_validator(validator);
        let git = match subject {
            ValidatorTopic::Changes => !facts.entries.is_empty(),
            ValidatorTopic::Branch => facts.extract(Extractor::MergeStatus) != "",
            _ => false,
        };
        let files = subject == ValidatorTopic::Files;
        let silence = silence_message(validator, facts).filter(|_| !git);
        let printed = |bytes: &[u8]| end_within(&String::from_utf8_lossy(bytes), OUTPUT_MAX);
        Self {
            stdout: printed(facts.raw().stdout),
            stderr: printed(facts.raw().stderr),
            error: match &silence {
                _ if files => absent(facts.raw().missing),
                Some(silence) => silence.clone(),
                None => end_of(&error_of(facts)),
            },
            report: match &silence {
                Some(silence) if subject != ValidatorTopic::Branch => failure_report::silence_report(silence),
                _ => failure_report::command_report(subject, facts),
            },
            params: params(validator, facts),
            failures: failures(condition, subject, facts, silence.as_deref()),
            unparsed: facts.is_unparsed() && !git && !files,
        }
    }

    /// Adds the result that a program reported itself: its params to the extracted ones and, if it failed, the reason.
    #[must_use]
    pub fn with_report(
        mut self,
        condition: &Condition,
        outcome: &ValidatorOutcome,
        reported: custom::CustomOutput,
    ) -> Self {
        self.params.extend(reported.params.into_iter().map(|(name, value)| (name, limit_size(value))));
        if *outcome == ValidatorOutcome::Fail && !reported.error.is_empty() {
            let output =
                ToolOutput { stderr: reported.error.as_bytes(), exit_code: Some(1), ..ToolOutput::default() };
            let read = unstuck_failures::extract(&output);
            self.failures = match read.confidence {
                Confidence::Low => with_question(condition, read.failures),
                _ => read.failures,
            };
            self.report.summary = reported.error.lines().next().unwrap_or_default().to_owned();
            self.error = end_of(&reported.error);
            self.unparsed = false;
        }
        self
    }

    /// Returns the details of a checklist.
    pub fn from_checklist(validator: &Validator, path: &str, reading: &checklist::ChecklistState) -> Self {
        let item = |item: &CheckBox| json!({ "text": item.text, "place": item.place });
        let open: Value = reading.open.iter().map(item).collect();
        let params = BTreeMap::from([("openItems".to_owned(), open)]);
        if reading.outcome == ValidatorOutcome::Pass {
            return Self { params, ..Self::default() };
        }
        let named = |item: &CheckBox| {
            Failure::synthetic(
                &validator.name,
                "open item",
                FailureSubject::Item(&item.text, path),
                &item.text,
            )
        };
        let failures: Vec<Failure> = reading.open.iter().map(named).collect();
        let whole = || {
            vec![Failure::synthetic(&validator.name, "checklist", FailureSubject::File(path), &reading.error)]
        };
        let open: Vec<String> =
            reading.open.iter().map(|item| format!("- {} ({})", item.text, item.place)).collect();
        Self {
            error: std::iter::once(reading.error.clone()).chain(open).collect::<Vec<_>>().join("\n"),
            report: failure_report::checklist_report(path, reading),
            params,
            failures: if failures.is_empty() { whole() } else { deduplicate(failures) },
            ..Self::default()
        }
    }

    /// Returns the details of a validator that could not run, with the reason.
    pub fn could_not_run(validator: &Validator, why: &str) -> Self {
        let outcome = ValidatorOutcome::CouldNotRun(why.to_owned());
        Self {
            error: format!("validator {} could not run: {why}", validator.name),
            report: failure_report::could_not_run(&validator.name, &outcome).unwrap_or_default(),
            failures: vec![Failure::synthetic(&validator.name, COULD_NOT_RUN, FailureSubject::Whole, why)],
            ..Self::default()
        }
    }
}

/// Returns the extracted params; for files, also those that they always supply.
fn params(validator: &Validator, facts: &ParsedOutput<'_>) -> BTreeMap<String, Value> {
    let extracted = validator
        .extract
        .iter()
        .map(|(name, extractor)| (name.clone(), limit_size(facts.extract(*extractor))));
    let mut params: BTreeMap<String, Value> = extracted.collect();
    if let (ValidatorKind::Files(_), [first, ..]) = (&validator.run, facts.raw().asked) {
        let always = [
            ("missingFiles", facts.raw().missing.into()),
            ("missingPaths", facts.raw().missing.into()),
            ("expectedPath", Value::from(first.as_str())),
        ];
        for (name, value) in always {
            params.entry(name.to_owned()).or_insert(value);
        }
    }
    params
}

/// Limits one param to the size that an event holds.
pub fn limit_size(value: Value) -> Value {
    match value {
        Value::String(text) => end_of(&text).into(),
        Value::Array(mut list) => {
            list.truncate(ITEMS_MAX);
            list.into_iter().map(limit_size).collect()
        }
        Value::Object(fields) => fields.into_iter().map(|(name, value)| (name, limit_size(value))).collect(),
        other => other,
    }
}

/// Returns a text; for a long one, a note and its end.
fn end_of(text: &str) -> String {
    end_within(text, TEXT_MAX)
}

fn end_within(text: &str, max: usize) -> String {
    let end = truncate::tail(text, max);
    match text.len() - end.len() {
        0 => text.to_owned(),
        left_out => format!("… {left_out} bytes before this are left out\n{end}"),
    }
}

/// Returns the failure section of an output, else standard error, else standard output.
fn error_of(facts: &ParsedOutput<'_>) -> String {
    if facts.is_recognized() {
        return facts.error_output();
    }
    let raw = facts.raw();
    let text = |bytes: &[u8]| {
        let is_text = |c: &char| !c.is_control() || matches!(c, '\n' | '\t');
        unstuck_failures::plain(bytes).chars().filter(is_text).collect::<String>()
    };
    if text(raw.stderr).trim().is_empty() { text(raw.stdout) } else { text(raw.stderr) }
}

/// Returns a message about a command that printed nothing; `None` if it printed something, or for other validators.
fn silence_message(validator: &Validator, facts: &ParsedOutput<'_>) -> Option<String> {
    let raw = facts.raw();
    let is_blank = |bytes: &[u8]| unstuck_failures::plain(bytes).trim().is_empty();
    let Exit::Code(code) = raw.exit else { return None };
    if matches!(validator.run, ValidatorKind::Files(_)) || !is_blank(raw.stdout) || !is_blank(raw.stderr) {
        return None;
    }
    // The name of a command that is written in a workflow is the command.
    let name = Some(&validator.name).filter(|name| *name != raw.command);
    let name = name.map(|name| format!("`{name}`: ")).unwrap_or_default();
    Some(format!("{name}`{}` exited with {code} and printed nothing", in_a_sentence(raw.command)))
}

/// Returns a command for use in a sentence: its first line, at most 200 bytes.
fn in_a_sentence(command: &str) -> String {
    const BYTES_MAX: usize = 200;
    let line = command.trim().lines().next().unwrap_or_default();
    let shown = &line[..line.floor_char_boundary(BYTES_MAX)];
    if shown.len() == command.trim().len() { shown.to_owned() } else { format!("{shown}…") }
}

fn absent(missing: &[String]) -> String {
    format!("Missing files: {}", missing.join(", "))
}

/// Returns what failed: paths for git and for files, otherwise the failures in the output.
fn failures(
    condition: &Condition,
    subject: ValidatorTopic,
    facts: &ParsedOutput<'_>,
    silence: Option<&str>,
) -> Vec<Failure> {
    let validator = &condition.validator;
    let named =
        |kind: &str, path: &str| Failure::synthetic(&validator.name, kind, FailureSubject::File(path), kind);
    match subject {
        ValidatorTopic::Changes if !facts.entries.is_empty() => {
            deduplicate(facts.entries.iter().map(|entry| named(entry.status.as_str(), &entry.path)).collect())
        }
        ValidatorTopic::Branch if facts.extract(Extractor::MergeStatus) != "" => {
            vec![Failure::synthetic(
                &validator.name,
                "not merged",
                FailureSubject::Whole,
                &failure_report::command_report(subject, facts).summary,
            )]
        }
        ValidatorTopic::Files => facts.raw().missing.iter().map(|path| named("missing", path)).collect(),
        _ if facts.is_unparsed() => {
            let read = &facts.reading.extraction.failures;
            let whole = |why| vec![Failure::synthetic(&validator.name, UNPARSED, FailureSubject::Whole, why)];
            let failures = match silence {
                Some(silence) => whole(silence),
                // The tool reports success, but other output was required.
                None if read.is_empty() => whole("nothing in its output says what failed"),
                None => read.clone(),
            };
            with_question(condition, failures)
        }
        _ => facts.reading.extraction.failures.clone(),
    }
}

/// Returns failures for output that could not be parsed. Different validators or params can print the same output, or
/// none, so the name and the params are part of the identity.
fn with_question(condition: &Condition, failures: Vec<Failure>) -> Vec<Failure> {
    let params = condition.params.iter().flat_map(|(param, value)| [param.as_str(), value]);
    let question: Vec<&str> = std::iter::once(condition.validator.name.as_str()).chain(params).collect();
    failures.into_iter().map(|failure| failure.scoped_to(&question)).collect()
}

fn deduplicate(failures: Vec<Failure>) -> Vec<Failure> {
    let mut seen = BTreeSet::new();
    failures.into_iter().filter(|failure| seen.insert(failure.fingerprint.clone())).collect()
}
