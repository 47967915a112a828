//! The prompt that answers failures: one per check, with everything that was found.
//!
//! Pure: the same failures give the same prompt. Its parts, in order: the templates, the evidence that they do not
//! show, the declaration that contradicts the evidence, and the number of attempts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use unstuck_core::completion::{AnswerSchema, Completion, FailurePattern, Template};
use unstuck_core::truncate;

use crate::answer::allowed_values;
use crate::prompt_template::{AllowedNames, Params, Parsed, Variables, display_value, fenced};

/// Maximum bytes of one piece of evidence; the prompt shows its end.
const EVIDENCE_MAX: usize = 16 * 1024;

/// A condition that does not hold, or an answer that has not the right form.
#[derive(Clone, Debug, Default)]
pub struct FailedValidator<'a> {
    /// The name of the validator.
    pub validator: &'a str,
    /// The name of the failure.
    pub pattern: Option<&'a FailurePattern>,
    /// Answers it, whatever the pattern says.
    pub template: Option<&'a Template>,
    /// The values that were extracted from the output.
    pub params: Params,
    /// The part of the output that shows the failure.
    pub error: &'a str,
    /// One line for each failure.
    pub details: String,
    /// One sentence.
    pub summary: &'a str,
    /// How bad it is.
    pub severity: &'a str,
    /// The cause, if it is known.
    pub root_cause: Option<&'a str>,
    /// How to fix it.
    pub suggested_action: Option<&'a str>,
    /// The files that it is about.
    pub related_files: &'a [String],
    /// The reasons of a checker.
    pub reasons: &'a [String],
    /// The fingerprints of the failures.
    pub fingerprints: Vec<String>,
    /// The exit code of the command.
    pub exit_code: Option<i32>,
    /// Its standard output.
    pub stdout: &'a str,
    /// Its standard error.
    pub stderr: &'a str,
    /// How often in a row, this time included.
    pub occurrence: u32,
    /// Where the whole output is, for people and for the worker.
    pub whole: Option<String>,
}

/// The claim of the worker, and the evidence against it.
#[derive(Clone, Copy, Debug)]
pub struct ClaimVsEvidence<'a> {
    /// Its own words.
    pub declaration: &'a str,
    /// The evidence.
    pub evidence: &'a str,
}

/// The input for a prompt.
#[derive(Clone, Debug)]
pub struct RetryPromptRequest<'a> {
    /// The step.
    pub completion: &'a Completion,
    /// What failed, in the order of the conditions.
    pub failed: &'a [FailedValidator<'a>],
    /// A declaration against the evidence.
    pub declared: Option<ClaimVsEvidence<'a>>,
    /// Number of consecutive times that this was found, if it is not a failed validator.
    pub attempt: u32,
    /// The iteration that was checked.
    pub iteration: u32,
    /// The stage of the step.
    pub stage: u32,
    /// Values of `{uv-name}`, including the values of the step.
    pub uv: &'a BTreeMap<String, String>,
    /// The values that each field of an answer may have.
    pub allowed: &'a [(String, Vec<String>)],
}

/// The prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RetryPrompt {
    /// The text.
    pub text: String,
    /// The files that it was made from, in their order; none where the built-in text was used.
    pub files: Vec<String>,
    /// Templates that could not be read; the built-in text is used for them.
    pub complaints: Vec<String>,
}

/// Writes the prompt that answers failures.
pub fn retry_prompt(request: &RetryPromptRequest<'_>) -> RetryPrompt {
    let mut prompt = RetryPrompt::default();
    let mut evidence = String::new();
    for group in groups(request) {
        let shown = add_group(&group, request, &mut prompt);
        for failed in &group.failed {
            add_evidence(failed, &shown, &mut evidence);
        }
    }
    if !evidence.is_empty() {
        section(&mut prompt.text, &format!("## Evidence\n\n{evidence}"));
    }
    if let Some(ClaimVsEvidence { declaration, evidence }) = request.declared {
        let text = format!(
            "## What was declared, and what was found\n\nDeclared:\n\n{}\nFound:\n\n{}",
            fenced(declaration),
            fenced(evidence)
        );
        section(&mut prompt.text, &text);
    }
    section(&mut prompt.text, &attempts(request));
    prompt
}

/// Returns the values that the fields of a decision may have, where a schema lists them: the first that does.
pub fn allowed_field_values<'a>(forms: impl Iterator<Item = &'a AnswerSchema>) -> Vec<(String, Vec<String>)> {
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let mut all = BTreeMap::new();
    for form in forms {
        let AnswerSchema::Json { schema: Some(schema), .. } = form else { continue };
        for (field, values) in allowed_values(schema) {
            all.entry(field).or_insert(values);
        }
    }
    let found = |field: &str| {
        let values = all.remove(field)?;
        Some((field.to_owned(), values.into_iter().map(text).collect()))
    };
    ["status", "next_action.action"].into_iter().filter_map(found).collect()
}

/// Failures with one pattern and one template.
struct FailureGroup<'a> {
    pattern: Option<&'a FailurePattern>,
    template: Option<&'a Template>,
    failed: Vec<&'a FailedValidator<'a>>,
}

/// Groups failures, in the order of the first of each group. Those without a template are on their own.
fn groups<'a>(request: &RetryPromptRequest<'a>) -> Vec<FailureGroup<'a>> {
    let mut groups: Vec<FailureGroup<'a>> = Vec::new();
    for failed in request.failed {
        let template = template(failed, request.completion);
        let same = |group: &&mut FailureGroup<'_>| {
            template.is_some()
                && group.template.map(|template| &template.file) == template.map(|template| &template.file)
                && group.pattern.map(|pattern| &pattern.name) == failed.pattern.map(|pattern| &pattern.name)
        };
        match groups.iter_mut().find(same) {
            Some(group) => group.failed.push(failed),
            None => groups.push(FailureGroup { pattern: failed.pattern, template, failed: vec![failed] }),
        }
    }
    groups
}

/// Returns the template that answers a failure: the one for this occurrence, else the step's template for any failure.
fn template<'a>(failed: &FailedValidator<'a>, completion: &'a Completion) -> Option<&'a Template> {
    let own = failed.pattern.and_then(|pattern| {
        let at = usize::try_from(failed.occurrence.max(1) - 1).unwrap_or(usize::MAX);
        pattern.templates.get(at).or(pattern.templates.last())
    });
    failed.template.or(own).or(completion.fallback.as_ref())
}

/// Adds the text of a group; returns the names whose values it shows.
fn add_group(
    group: &FailureGroup<'_>,
    request: &RetryPromptRequest<'_>,
    prompt: &mut RetryPrompt,
) -> BTreeSet<String> {
    if let Some(template) = group.template {
        match Parsed::parse(&template.text, AllowedNames::Any) {
            Ok(parsed) => {
                let variables = Variables { custom: &template.custom, ..Variables::from_uv(request.uv) };
                let rendered = parsed.render(&values(group, request), &variables);
                section(&mut prompt.text, &rendered.text);
                prompt.files.push(template.file.clone());
                return rendered.shown;
            }
            Err(problems) => {
                let complaints = problems.iter().map(|problem| format!("{}:{problem}", template.file));
                prompt.complaints.extend(complaints);
            }
        }
    }
    for failed in &group.failed {
        section(&mut prompt.text, &built_in(failed));
    }
    BTreeSet::new()
}

/// Returns the values of a group: records joined, one text below the other.
fn values(group: &FailureGroup<'_>, request: &RetryPromptRequest<'_>) -> Params {
    let mut joined = Params::new();
    for failed in &group.failed {
        let mut one = standard(failed);
        one.extend(failed.params.clone());
        for (name, value) in one {
            let both = match joined.remove(&name) {
                Some(first) => join(first, value),
                None => value,
            };
            joined.insert(name, both);
        }
    }
    let occurrence = group.failed.iter().map(|failed| failed.occurrence).max().unwrap_or(1);
    let numbers = [
        ("attempt", occurrence),
        ("maxAttempts", request.completion.max_attempts),
        ("iteration", request.iteration),
        ("stage", request.stage),
    ];
    for (name, number) in numbers {
        joined.entry(name).or_insert_with(|| number.into());
    }
    joined
}

/// Returns the values that every template may use. What is not known has none.
fn standard(failed: &FailedValidator<'_>) -> Params {
    let text = |text: &str| (!text.is_empty()).then(|| Value::from(text));
    let list = |list: &[String]| (!list.is_empty()).then(|| Value::from(list));
    let values = [
        ("error", text(failed.error)),
        ("details", text(&failed.details)),
        ("pattern", failed.pattern.map(|pattern| Value::from(pattern.name.as_str()))),
        ("validator", text(failed.validator)),
        ("exitCode", failed.exit_code.map(Value::from)),
        ("stdout", text(failed.stdout)),
        ("stderr", text(failed.stderr)),
        ("summary", text(failed.summary)),
        ("severity", text(failed.severity)),
        ("rootCause", failed.root_cause.map(Value::from)),
        ("suggestedAction", failed.suggested_action.map(Value::from)),
        ("relatedFiles", list(failed.related_files)),
        ("reasons", list(failed.reasons)),
        ("fingerprints", list(&failed.fingerprints)),
    ];
    values.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// Joins what two failures say under one name.
fn join(first: Value, second: Value) -> Value {
    match (first, second) {
        (first, second) if first == second || second.is_null() => first,
        (Value::Null, second) => second,
        (Value::Array(mut first), Value::Array(second)) => {
            let new: Vec<Value> = second.into_iter().filter(|item| !first.contains(item)).collect();
            first.extend(new);
            Value::Array(first)
        }
        (Value::Array(mut first), one) => {
            first.push(one);
            Value::Array(first)
        }
        (one, Value::Array(mut rest)) => {
            rest.insert(0, one);
            Value::Array(rest)
        }
        (Value::String(first), Value::String(second)) => format!("{first}\n{second}").into(),
        (first, second) => vec![first, second].into(),
    }
}

/// Returns the text for a failure that no template answers.
fn built_in(failed: &FailedValidator<'_>) -> String {
    let title = failed.pattern.map(|pattern| pattern.description.as_str());
    let title = title.filter(|text| !text.trim().is_empty());
    let title = title.map_or_else(|| format!("{} does not hold", failed.validator), str::to_owned);
    let mut text = format!("## {}\n", title.trim());
    for sentence in [Some(failed.summary), failed.suggested_action].into_iter().flatten() {
        if !sentence.is_empty() {
            let _infallible = writeln!(text, "\n{sentence}");
        }
    }
    if !failed.related_files.is_empty() {
        text.push_str("\nFiles:\n");
        for file in failed.related_files {
            let _infallible = writeln!(text, "- {file}");
        }
    }
    text
}

/// Adds the error text and each parameter that no template has shown.
fn add_evidence(failed: &FailedValidator<'_>, shown_names: &BTreeSet<String>, evidence: &mut String) {
    let is_shown = shown_names.contains("error")
        || failed
            .params
            .iter()
            .any(|(_, value)| value.as_str().is_some_and(|text| text.trim() == failed.error.trim()));
    if !failed.error.trim().is_empty() && !is_shown {
        piece("error", failed.error, failed, evidence);
    }
    for (name, value) in failed.params.iter().filter(|(name, _)| !shown_names.contains(*name)) {
        let display = |value: &Value| display_value(value).unwrap_or_default();
        let text = match value {
            Value::Array(items) => items.iter().map(display).collect::<Vec<_>>().join("\n"),
            value => display(value),
        };
        piece(name, &text, failed, evidence);
    }
}

fn piece(name: &str, text: &str, failed: &FailedValidator<'_>, evidence: &mut String) {
    let _infallible = writeln!(evidence, "### {name} ({})\n", failed.validator);
    if text.trim().is_empty() {
        evidence.push_str("(empty)\n\n");
        return;
    }
    let end = truncate::tail(text, EVIDENCE_MAX);
    if end.len() < text.len() {
        let place = failed.whole.as_deref().unwrap_or("the record of the run");
        let _infallible = writeln!(evidence, "(only its end is shown; the whole output is in {place})\n");
    }
    evidence.push_str(&fenced(end));
    evidence.push('\n');
}

fn attempts(request: &RetryPromptRequest<'_>) -> String {
    let attempt =
        request.failed.iter().map(|failed| failed.occurrence).max().unwrap_or(request.attempt.max(1));
    let mut text = match request.completion.max_attempts {
        0 => String::new(),
        most => format!("This is attempt {attempt} of {most}.\n"),
    };
    for (field, values) in request.allowed {
        let values: Vec<String> = values.iter().map(|value| format!("`{value}`")).collect();
        let _infallible = writeln!(text, "`{field}` in the answer is one of {}.", values.join(", "));
    }
    text
}

/// Adds a part with a blank line before it.
fn section(text: &mut String, part: &str) {
    let breaks = if text.is_empty() || text.ends_with("\n\n") {
        ""
    } else if text.ends_with('\n') {
        "\n"
    } else {
        "\n\n"
    };
    text.push_str(breaks);
    text.push_str(part);
}
