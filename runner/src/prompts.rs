//! The prompts of a steps registry, filled in with what a run knows, and the answers to them.

use std::collections::BTreeMap;

use serde_json::Value;
use unstuck_adapters::answer;
use unstuck_adapters::prompt_template::{Variables, substitute};
use unstuck_adapters::registry::retry_prompt::{Declared, Failed, Request, retry_prompt};
use unstuck_core::answer::{AnswerSeen, Sources, allowed_values};
use unstuck_core::completion::{AnswerFormat, Completion, Form, Pattern, Template};
use unstuck_core::declaration::Declaration;
use unstuck_core::echo::Echo;
use unstuck_core::event::{DecisionFile, DecisionSource, Exit, Inquiry, Outcome, Purpose};
use unstuck_core::id::Iteration;
use unstuck_core::prompt::{self, FromRegistry, fenced};
use unstuck_core::state::StepState;
use unstuck_core::validator::pattern::{self, Word};
use unstuck_core::validator::{ValidatorOutcome, ValidatorResult};
use unstuck_core::workflow::Step;
use unstuck_core::{RunState, closer, iteration_summary};

/// Returns what the registry says to the worker of a step.
pub(crate) fn of(state: &RunState, step: &Step, at: &StepState) -> FromRegistry {
    let Some(completion) = &step.completion else { return FromRegistry::default() };
    let uv = variables(state, step, at, completion);
    let mut files = Vec::new();
    let mut task = String::new();
    if let Some(prompts) = &completion.prompts {
        let template = prompts.of(at.iteration, at.repeats);
        let input = step.worker(Purpose::Work).map(|worker| worker.instructions.as_str());
        task.push_str(&filled(template, &uv, input));
        files.push(template.file.clone());
    }
    if let Some(format) = completion.answer_of(at.iteration) {
        task.push_str(&how_to_answer(format));
    }
    let findings = findings(at, completion, &uv, &mut files);
    FromRegistry { task, findings, files }
}

/// Returns what the closer is asked.
pub(crate) fn of_closer(state: &RunState, step: &Step, at: &StepState) -> FromRegistry {
    let Some((completion, closer)) = step.completion.as_ref().and_then(|it| Some((it, it.closer.as_ref()?)))
    else {
        return FromRegistry::default();
    };
    let mut uv = variables(state, step, at, completion);
    uv.insert("step_id".to_owned(), step.id.to_string());
    let declared = at.verified.answer.as_deref().and_then(|it| it.value.as_deref());
    let mut task = closer.worker.instructions.clone();
    task.push_str(&filled(&closer.prompt, &uv, declared.or(Some(&at.feedback.said))));
    task.push_str(&json_wanted(closer::SCHEMA));
    FromRegistry { task, findings: String::new(), files: vec![closer.prompt.file.clone()] }
}

/// To what an answer is one.
pub(crate) struct Asked<'a> {
    /// Who was asked; `None` for a worker.
    pub(crate) inquiry: Option<Inquiry>,
    pub(crate) iteration: Iteration,
    pub(crate) prompt: &'a str,
    /// What in the prompt are the worker's own words.
    pub(crate) said: &'a str,
}

/// Reads an answer that has to have a form; `None` where none is asked for.
pub(crate) fn answer(
    step: &Step,
    asked: &Asked<'_>,
    outcome: &Outcome,
    file: &DecisionFile,
) -> Option<Box<AnswerSeen>> {
    let completion = step.completion.as_ref()?;
    let messages = [outcome.answer.clone()];
    let structured = outcome.reading.as_ref().and_then(|it| it.structured.as_deref());
    let structured: Option<Value> = structured.and_then(|it| serde_json::from_str(it).ok());
    let decision_file = match file {
        DecisionFile::Read(bytes) => std::str::from_utf8(&bytes.0).ok(),
        _ => None,
    };
    let read = |form: &Form, echo: &Echo| {
        answer::read(
            form,
            &Sources {
                messages: &messages,
                decision_file,
                structured: structured.as_ref(),
                echo: Some(echo),
            },
        )
    };
    let seen = match asked.inquiry {
        _ if outcome.exit == Exit::Stopped => return None,
        Some(Inquiry::Closer) => read(&closer_form(), &Echo::of_judge(asked.prompt)),
        Some(_) => return None,
        None => {
            let seen =
                read(&completion.answer_of(asked.iteration)?.form, &Echo::of(asked.prompt, asked.said));
            with_final(completion, seen)
        }
    };
    Some(Box::new(seen))
}

/// An answer that declares completion has to meet the form of the last step, too.
fn with_final(completion: &Completion, seen: AnswerSeen) -> AnswerSeen {
    let (Some(last), Some(value)) = (&completion.final_answer, seen.parsed()) else { return seen };
    if Declaration::of(&value) != Declaration::Complete {
        return seen;
    }
    let again = answer::read(&last.form, &Sources { structured: Some(&value), ..Sources::default() });
    AnswerSeen {
        value: again.value.and(seen.value),
        from: seen.from,
        refused: seen.refused,
        violations: again.violations,
    }
}

fn closer_form() -> Form {
    let schema = serde_json::from_str(closer::SCHEMA).expect("the schema is a constant and tested");
    Form::Json { schema: Some(schema), source: "closer".to_owned(), digests: BTreeMap::new() }
}

fn filled(template: &Template, uv: &BTreeMap<String, String>, input: Option<&str>) -> String {
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
    let done = at.iteration.0.saturating_sub(1);
    let own = [
        ("iteration", at.iteration.to_string()),
        ("completed_iterations", done.to_string()),
        ("max_iterations", max.to_string()),
        ("remaining", max.saturating_sub(done).to_string()),
        ("previous_summary", previous(at)),
    ];
    let mut all: BTreeMap<String, String> = own.map(|(name, value)| (name.to_owned(), value)).into();
    all.extend(completion.uv.clone());
    all
}

/// Returns what happened in the iteration before; empty in the first.
fn previous(at: &StepState) -> String {
    let told = &at.feedback;
    let Some(decision) = told.decision else { return String::new() };
    let answer = at.verified.answer.as_deref().and_then(AnswerSeen::parsed);
    let failed: Vec<String> = match told.source {
        Some(DecisionSource::Validators) => told.reasons.clone(),
        _ => Vec::new(),
    };
    let contrary = contrary(at).map(|it| it.text).unwrap_or_default();
    iteration_summary::render(&iteration_summary::Iteration {
        number: told.iteration.0,
        answer: answer.as_ref(),
        last_message: &told.said,
        tools: &[],
        errors: &[],
        found: iteration_summary::Found {
            verdict: if failed.is_empty() { "" } else { prompt::in_words(decision) },
            failed: &failed,
            contrary: &contrary,
        },
    })
}

/// Returns what was declared against what was found, where the newest verdict is about that.
fn contrary(at: &StepState) -> Option<unstuck_core::declaration::Contrary> {
    let validated = at.feedback.source == Some(DecisionSource::Validators);
    at.verified.contrary(&at.verified.validators).filter(|_| validated)
}

/// Returns what answers the newest verdict; empty where our own words are enough.
fn findings(
    at: &StepState,
    completion: &Completion,
    uv: &BTreeMap<String, String>,
    files: &mut Vec<String>,
) -> String {
    match at.feedback.source {
        Some(DecisionSource::Validators) => {
            let failed = at.verified.validators.iter().filter(|it| it.outcome == ValidatorOutcome::Fail);
            let failed: Vec<Failed<'_>> = failed.map(|it| of_validator(at, completion, it)).collect();
            answering(at, completion, uv, &failed, files)
        }
        Some(DecisionSource::Answer) => {
            let seen = at.verified.answer.as_deref().filter(|it| it.value.is_none());
            let Some(seen) = seen else { return String::new() };
            let (error, fingerprints) = (at.feedback.reasons.join("\n"), seen.fingerprints());
            let failed = Failed {
                validator: "answer",
                pattern: guessed(completion, &error),
                template: completion.answer_of(at.feedback.iteration).and_then(|it| it.template.as_ref()),
                error: &error,
                summary: "The answer is not of the form that is asked for",
                severity: "error",
                reasons: &at.feedback.reasons,
                occurrence: occurrence(at, &fingerprints),
                fingerprints,
                ..Failed::default()
            };
            answering(at, completion, uv, &[failed], files)
        }
        Some(DecisionSource::Closer) => {
            let required = completion.closer.as_ref().map(|it| &it.required[..]).unwrap_or_default();
            let value = at.verified.closer.as_deref().and_then(AnswerSeen::parsed);
            let report = value.and_then(|value| closer::Report::read(&value).ok());
            let Some(report) = report else { return String::new() };
            format!("{}\n\n{}", report.retry_text(required), answering(at, completion, uv, &[], files))
        }
        _ => String::new(),
    }
}

/// Returns the pattern that a failure has which names none: the one of which most words are in it.
fn guessed<'a>(completion: &'a Completion, error: &str) -> Option<&'a Pattern> {
    let corpus = pattern::corpus(error, [])?;
    let words = |it: &Pattern| it.words.iter().filter_map(|word| Word::parse(word).ok()).collect();
    let words: Vec<Vec<Word>> = completion.guesses.iter().map(words).collect();
    completion.guesses.get(pattern::best(words.iter().map(Vec::as_slice), &corpus)?)
}

fn answering(
    at: &StepState,
    completion: &Completion,
    uv: &BTreeMap<String, String>,
    failed: &[Failed<'_>],
    files: &mut Vec<String>,
) -> String {
    let contrary = contrary(at);
    let declaration = at.verified.answer.as_deref().and_then(|it| it.value.as_deref()).unwrap_or_default();
    let allowed = completion.answer_of(at.iteration).map(|it| allowed(&it.form)).unwrap_or_default();
    let written = retry_prompt(&Request {
        completion,
        failed,
        declared: contrary.as_ref().map(|it| Declared { declaration, evidence: &it.text }),
        iteration: at.feedback.iteration.0,
        stage: at.convergence.stage().0,
        uv,
        allowed: &allowed,
    });
    files.extend(written.files);
    written.text
}

fn of_validator<'a>(
    at: &'a StepState,
    completion: &'a Completion,
    result: &'a ValidatorResult,
) -> Failed<'a> {
    let condition = completion.conditions.iter().find(|it| it.validator.name == result.validator);
    let report = &result.report;
    let fingerprints = result.fingerprints();
    Failed {
        validator: &result.validator,
        pattern: condition.map(|it| &it.validator.pattern),
        params: result.params.clone().into_iter().collect(),
        error: &result.error,
        details: report.details.join("\n"),
        summary: &report.summary,
        severity: report.severity.as_str(),
        root_cause: Some(report.root_cause.as_str()).filter(|it| !it.is_empty()),
        suggested_action: Some(report.suggested_action.as_str()).filter(|it| !it.is_empty()),
        related_files: &report.related_files,
        reasons: &at.feedback.reasons,
        exit_code: match result.exit {
            Exit::Code(code) => Some(code),
            _ => None,
        },
        stdout: &result.tail,
        occurrence: occurrence(at, &fingerprints),
        fingerprints,
        ..Failed::default()
    }
}

/// Returns how often the most stubborn of these failures has come back, this time included.
fn occurrence(at: &StepState, fingerprints: &[String]) -> u32 {
    fingerprints.iter().filter_map(|it| at.attempts.get(it)).max().copied().unwrap_or(1)
}

/// Returns the values that the fields of a decision may have, where the schema lists them.
fn allowed(form: &Form) -> Vec<(String, Vec<String>)> {
    let Form::Json { schema: Some(schema), .. } = form else { return Vec::new() };
    let mut all = allowed_values(schema);
    let text = |value: Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let fields = ["status", "next_action.action"].map(str::to_owned).into_iter();
    let found = |field: String| {
        let values = all.remove(&field)?;
        Some((field, values.into_iter().map(text).collect()))
    };
    fields.filter_map(found).collect()
}

fn how_to_answer(format: &AnswerFormat) -> String {
    match &format.form {
        Form::Json { schema: Some(schema), .. } => {
            json_wanted(&serde_json::to_string_pretty(schema).expect("JSON can be written"))
        }
        Form::Json { schema: None, .. } => {
            "\n\n## How to answer\n\nEnd your answer with a JSON value in a block of code.\n".to_owned()
        }
        Form::TextPattern(pattern) => {
            format!(
                "\n\n## How to answer\n\nYour answer has to match this regular expression:\n\n{}\n",
                fenced(pattern)
            )
        }
    }
}

fn json_wanted(schema: &str) -> String {
    format!(
        "\n\n## How to answer\n\nEnd your answer with one JSON object in a block of code. It has to meet this \
         schema:\n\n{}\n",
        fenced(schema.trim())
    )
}
