//! The prompts of a steps registry, filled in with what a run knows, and the answers to them.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde_json::Value;
use unstuck_core::RunState;
use unstuck_core::completion::{AnswerFormat, AnswerSchema, Completion, FailurePattern, Template};
use unstuck_core::event::{DecisionFile, DecisionSource, Exit, Outcome, Purpose, RegistryText};
use unstuck_core::evidence::{ParsedAnswer, ValidatorOutcome, ValidatorResult};
use unstuck_core::id::Iteration;
use unstuck_core::judge::declared_status::DeclaredStatus;
use unstuck_core::judge::reviewer;
use unstuck_core::prompt_echo::PromptEcho;
use unstuck_core::state::StepState;
use unstuck_core::text::fence::fenced;
use unstuck_core::workflow::Step;
use unstuck_store::blobs::BlobStore;
use unstuck_workflow::answer::{self, AnswerSources};
use unstuck_workflow::prompt_template::{Variables, substitute};
use unstuck_workflow::registry::contradiction::{ValidatorFinding, contradiction, open_items_table};
use unstuck_workflow::registry::pattern::{self, PatternTerm};
use unstuck_workflow::registry::retry_prompt::{
    ClaimVsEvidence, FailedValidator, RetryPromptRequest, allowed_field_values, retry_prompt,
};

use crate::checklist::retry_text;
use crate::iteration_summary;

/// Returns what the registry says to the worker of a step, and the files that it was made from; `blobs` know where whole
/// outputs are.
pub(crate) fn worker_text(
    state: &RunState,
    step: &Step,
    at: &StepState,
    blobs: &dyn BlobStore,
) -> (RegistryText, Vec<String>) {
    let Some(completion) = &step.completion else { return Default::default() };
    let uv = variables(state, step, at, completion);
    let mut files = Vec::new();
    let mut task = String::new();
    if let Some(prompts) = &completion.prompts {
        let template = prompts.template_for(at.iteration(), at.verdicts.repeats);
        let input = step.worker(Purpose::Work).map(|worker| worker.instructions.as_str());
        task.push_str(&render(template, &uv, input));
        files.push(template.file.clone());
    }
    if let Some(format) = completion.answer_of(at.iteration()) {
        task.push_str(&how_to_answer(format, completion.final_answer.as_ref()));
    }
    let findings = findings(at, completion, &uv, blobs, &mut files);
    (RegistryText { task, findings }, files)
}

/// Returns what the closer is asked.
pub(crate) fn reviewer_text(state: &RunState, step: &Step, at: &StepState) -> (RegistryText, Vec<String>) {
    let Some((completion, closer)) =
        step.completion.as_ref().and_then(|completion| Some((completion, completion.closer.as_ref()?)))
    else {
        return Default::default();
    };
    let mut uv = variables(state, step, at, completion);
    uv.insert("step_id".to_owned(), step.id.to_string());
    let declared = at.verdicts.verified.answer.as_deref().and_then(|answer| answer.value.as_deref());
    let mut task = closer.worker.instructions.clone();
    task.push_str(&render(&closer.prompt, &uv, declared.or(Some(&at.feedback.said))));
    task.push_str("\n\n## How to answer\n\n");
    task.push_str(&schema_text(answer::closer::SCHEMA));
    if let Some(Err(wrong)) = at
        .verdicts
        .verified
        .closer
        .as_deref()
        .map(|answer| reviewer::ReviewerAnswer::from_answer(Some(answer)))
    {
        let wrong: String = wrong.iter().map(|problem| format!("- {problem}\n")).collect();
        task.push_str(&format!(
            "\nYou were asked before, and nothing could be read in the answer:\n\n{wrong}"
        ));
    }
    (RegistryText { task, findings: String::new() }, vec![closer.prompt.file.clone()])
}

/// The prompt that an answer is compared with.
pub(crate) struct SentPrompt {
    pub(crate) iteration: Iteration,
    pub(crate) prompt: String,
    /// Text in the prompt that the worker wrote itself.
    pub(crate) said: String,
}

/// Reads the answer of a worker that has to have a form; `None` where none is asked for.
pub(crate) fn worker_answer(
    step: &Step,
    sent: &SentPrompt,
    outcome: &Outcome,
    file: &DecisionFile,
) -> Option<Box<ParsedAnswer>> {
    let completion = step.completion.as_ref().filter(|_| outcome.exit != Exit::Stopped)?;
    let decision_file = match file {
        DecisionFile::Read(bytes) => std::str::from_utf8(&bytes.0).ok(),
        _ => None,
    };
    let echo = PromptEcho::new(&sent.prompt, &sent.said);
    let read = |form: &AnswerSchema| {
        reading(outcome, |sources| {
            answer::read(form, &AnswerSources { decision_file, echo: Some(&echo), ..sources })
        })
    };
    let seen = read(&completion.answer_of(sent.iteration)?.form);
    let seen = match completion_format(completion, &seen) {
        Some((last @ AnswerSchema::Json { .. }, value)) => {
            let own = AnswerSources { structured: Some(&value), ..AnswerSources::default() };
            check_final_format(seen, answer::read(last, &own))
        }
        Some((last @ AnswerSchema::TextPattern(_), _)) => check_final_format(seen, read(last)),
        None => seen,
    };
    Some(Box::new(seen))
}

/// Reads the answer of a closer; `None` where it was stopped.
pub(crate) fn reviewer_answer(sent: &SentPrompt, outcome: &Outcome) -> Option<Box<ParsedAnswer>> {
    if outcome.exit == Exit::Stopped {
        return None;
    }
    let echo = PromptEcho::for_judge(&sent.prompt);
    Some(Box::new(reading(outcome, |sources| {
        answer::read_closer(&AnswerSources { echo: Some(&echo), ..sources })
    })))
}

/// Reads an answer in all that a process left of it.
fn reading<T>(outcome: &Outcome, read: impl FnOnce(AnswerSources<'_>) -> T) -> T {
    let messages = [outcome.answer.clone()];
    let structured = outcome.reading.as_ref().and_then(|reading| reading.structured.as_deref());
    let structured: Option<Value> = structured.and_then(|text| serde_json::from_str(text).ok());
    read(AnswerSources {
        messages: &messages,
        decision_file: None,
        structured: structured.as_ref(),
        echo: None,
    })
}

/// Returns the form that an answer has to have besides its own, and the answer, if it declares completion.
fn completion_format<'a>(
    completion: &'a Completion,
    seen: &ParsedAnswer,
) -> Option<(&'a AnswerSchema, Value)> {
    let last = completion.final_answer.as_ref()?;
    let value = seen.to_value()?;
    (DeclaredStatus::from_answer(&value) == DeclaredStatus::Complete).then_some((&last.form, value))
}

/// An answer that declares completion and has not the form of a last one is none.
fn check_final_format(seen: ParsedAnswer, last: ParsedAnswer) -> ParsedAnswer {
    ParsedAnswer { value: last.value.and(seen.value), violations: last.violations, ..seen }
}

fn render(template: &Template, uv: &BTreeMap<String, String>, input: Option<&str>) -> String {
    substitute(&template.text, &Variables { uv, input_text: input, custom: &template.custom })
}

/// Returns the values of `{uv-name}`: what the workflow gives, and what every step has.
fn variables(
    state: &RunState,
    step: &Step,
    at: &StepState,
    completion: &Completion,
) -> BTreeMap<String, String> {
    let max = state.max_iterations(step, at).0;
    let done = at.iteration().0.saturating_sub(1);
    let own = [
        ("iteration", at.iteration().to_string()),
        ("completed_iterations", done.to_string()),
        ("max_iterations", max.to_string()),
        ("remaining", max.saturating_sub(done).to_string()),
        ("previous_summary", previous(at, completion)),
    ];
    let mut all: BTreeMap<String, String> = own.map(|(name, value)| (name.to_owned(), value)).into();
    all.extend(completion.uv.clone());
    all
}

/// Returns what happened in the iteration before; empty in the first.
fn previous(at: &StepState, completion: &Completion) -> String {
    let told = &at.feedback;
    let Some(decision) = told.decision else { return String::new() };
    let answer = at.verdicts.verified.answer.as_deref().and_then(ParsedAnswer::to_value);
    let failed: Vec<String> = match told.source {
        Some(DecisionSource::Validators) => told.reasons.clone(),
        _ => Vec::new(),
    };
    let contrary = contradictions(at, completion).unwrap_or_default();
    iteration_summary::render(&iteration_summary::AnsweredIteration {
        number: told.iteration.0,
        answer: answer.as_ref(),
        last_message: &told.said,
        tools: &[],
        errors: &[],
        found: iteration_summary::CheckSummary {
            verdict: if failed.is_empty() { "" } else { decision.in_words() },
            failed: &failed,
            contrary: &contrary,
        },
    })
}

/// Returns the contradiction between the worker's declaration and the findings, if the newest verdict is about one.
fn contradictions(at: &StepState, completion: &Completion) -> Option<String> {
    let verified = &at.verdicts.verified;
    match at.feedback.source? {
        DecisionSource::Validators => {
            let answer = verified.answer.as_deref()?.to_value()?;
            let ran = verified.validators.iter();
            let ran = ran.filter(|result| !matches!(result.outcome, ValidatorOutcome::CouldNotRun(_)));
            let findings = ran.map(|result| ValidatorFinding {
                validator: &result.validator,
                passed: result.passed(),
                summary: result.summary(),
            });
            contradiction(&answer, &findings.collect::<Vec<_>>())
        }
        DecisionSource::Closer => {
            let answer = verified.answer.as_deref()?.to_value()?;
            let report = reviewer::ReviewerAnswer::from_answer(verified.closer.as_deref()).ok()?;
            let open: Vec<String> =
                report.open(required(completion)).iter().map(ToString::to_string).collect();
            open_items_table(&answer, &open)
        }
        _ => None,
    }
}

/// Returns the items that a closer has to have on its list.
fn required(completion: &Completion) -> &[String] {
    completion.closer.as_ref().map(|closer| &closer.required[..]).unwrap_or_default()
}

/// Returns what answers the newest verdict; empty where our own words are enough.
fn findings(
    at: &StepState,
    completion: &Completion,
    uv: &BTreeMap<String, String>,
    blobs: &dyn BlobStore,
    files: &mut Vec<String>,
) -> String {
    match at.feedback.source {
        Some(DecisionSource::Validators) => {
            let results = at.verdicts.verified.validators.iter();
            let failed = results.filter(|result| result.outcome == ValidatorOutcome::Fail);
            let failed: Vec<FailedValidator<'_>> =
                failed.map(|result| failed_validator(at, completion, blobs, result)).collect();
            answering(at, completion, uv, &failed, files)
        }
        Some(DecisionSource::Answer) => failed_answer(at, completion, uv, files),
        Some(DecisionSource::Closer) => {
            let Ok(report) = reviewer::ReviewerAnswer::from_answer(at.verdicts.verified.closer.as_deref())
            else {
                return String::new();
            };
            let open = retry_text(&report, required(completion));
            format!("{open}\n\n{}", answering(at, completion, uv, &[], files))
        }
        _ => String::new(),
    }
}

/// Returns what answers an answer of another form, or one that says nothing clear of completion.
fn failed_answer(
    at: &StepState,
    completion: &Completion,
    uv: &BTreeMap<String, String>,
    files: &mut Vec<String>,
) -> String {
    let reasons = &at.feedback.reasons;
    let Some(seen) = at.verdicts.verified.answer.as_deref() else { return String::new() };
    if seen.value.is_some() {
        // A request to continue is not a failure.
        if at.feedback.fingerprints.is_empty() {
            return String::new();
        }
        let said: String = reasons.iter().map(|reason| format!("- {reason}\n")).collect();
        let rest = answering(at, completion, uv, &[], files);
        return format!("## The answer does not say whether the work is complete\n\n{said}\n{rest}");
    }
    let (error, fingerprints) = (reasons.join("\n"), seen.fingerprints());
    let formats = completion.answer_of(at.feedback.iteration).into_iter().chain(&completion.final_answer);
    let failed = FailedValidator {
        validator: "answer",
        pattern: inferred_pattern(completion, &error),
        template: formats.filter_map(|format| format.template.as_ref()).next(),
        error: &error,
        details: error.clone(),
        summary: "The answer is not of the form that is asked for",
        severity: "error",
        reasons,
        occurrence: occurrence(at, &fingerprints),
        fingerprints,
        ..FailedValidator::default()
    };
    answering(at, completion, uv, &[failed], files)
}

/// Returns the pattern that a failure has which names none: the one of which most words are in it.
fn inferred_pattern<'a>(completion: &'a Completion, error: &str) -> Option<&'a FailurePattern> {
    let corpus = pattern::corpus(error, [])?;
    let words = |pattern: &FailurePattern| {
        pattern.words.iter().filter_map(|word| PatternTerm::parse(word).ok()).collect()
    };
    let words: Vec<Vec<PatternTerm>> = completion.guesses.iter().map(words).collect();
    completion.guesses.get(pattern::best(words.iter().map(Vec::as_slice), &corpus)?)
}

fn answering(
    at: &StepState,
    completion: &Completion,
    uv: &BTreeMap<String, String>,
    failed: &[FailedValidator<'_>],
    files: &mut Vec<String>,
) -> String {
    let contrary = contradictions(at, completion);
    let declaration =
        at.verdicts.verified.answer.as_deref().and_then(|answer| answer.value.as_deref()).unwrap_or_default();
    let forms = completion.answer_of(at.iteration()).into_iter().chain(&completion.final_answer);
    let allowed = allowed_field_values(forms.map(|form| &form.form));
    let written = retry_prompt(&RetryPromptRequest {
        completion,
        failed,
        declared: contrary.as_deref().map(|evidence| ClaimVsEvidence { declaration, evidence }),
        attempt: occurrence(at, &at.feedback.fingerprints),
        iteration: at.feedback.iteration.0,
        stage: at.convergence.stage().0,
        uv,
        allowed: &allowed,
    });
    files.extend(written.files);
    written.text
}

fn failed_validator<'a>(
    at: &'a StepState,
    completion: &'a Completion,
    blobs: &dyn BlobStore,
    result: &'a ValidatorResult,
) -> FailedValidator<'a> {
    let condition =
        completion.conditions.iter().find(|condition| condition.validator.name == result.validator);
    let report = &result.report;
    let fingerprints = result.fingerprints();
    let outputs = [&result.stdout, &result.stderr].into_iter().flatten().filter(|blob| blob.size > 0);
    let whole: Vec<String> =
        outputs.filter_map(|blob| Some(blobs.file(blob)?.to_string_lossy().into_owned())).collect();
    FailedValidator {
        validator: &result.validator,
        pattern: condition.map(|condition| &condition.validator.pattern),
        params: result.params.clone().into_iter().collect(),
        error: &result.error,
        details: report.details.join("\n"),
        summary: &report.summary,
        severity: report.severity.as_str(),
        root_cause: Some(report.root_cause.as_str()).filter(|cause| !cause.is_empty()),
        suggested_action: Some(report.suggested_action.as_str()).filter(|action| !action.is_empty()),
        related_files: &report.related_files,
        reasons: &at.feedback.reasons,
        exit_code: result.exit.code(),
        stdout: &result.stdout_end,
        stderr: &result.stderr_end,
        occurrence: occurrence(at, &fingerprints),
        fingerprints,
        whole: (!whole.is_empty()).then(|| whole.join(" and ")),
        ..FailedValidator::default()
    }
}

/// Returns how often the most stubborn of these failures has come back, this time included.
fn occurrence(at: &StepState, fingerprints: &[String]) -> u32 {
    fingerprints.iter().filter_map(|name| at.verdicts.occurrences.get(name)).max().copied().unwrap_or(1)
}

/// Says what an answer has to look like, and what one that declares completion has to look like besides.
fn how_to_answer(format: &AnswerFormat, last: Option<&AnswerFormat>) -> String {
    let mut text = format!("\n\n## How to answer\n\n{}", answer_format(&format.form));
    if let Some(last) = last.filter(|last| last.form != format.form) {
        let _infallible =
            write!(text, "\nIf it says that the work is complete: {}", answer_format(&last.form));
    }
    text
}

fn answer_format(form: &AnswerSchema) -> String {
    match form {
        AnswerSchema::Json { schema: Some(schema), .. } => {
            schema_text(&serde_json::to_string_pretty(schema).expect("JSON can be written"))
        }
        AnswerSchema::Json { schema: None, .. } => {
            "End your answer with a JSON value in a block of code.\n".to_owned()
        }
        AnswerSchema::TextPattern(pattern) => {
            format!("Your answer has to match this regular expression:\n\n{}\n", fenced(pattern))
        }
    }
}

fn schema_text(schema: &str) -> String {
    format!(
        "End your answer with one JSON object in a block of code. It has to meet this schema:\n\n{}\n",
        fenced(schema.trim())
    )
}
