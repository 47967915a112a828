//! Writes the prompt that answers a failure, as a run would.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::{Map, Value, json};
use unstuck_core::completion::Completion;
use unstuck_core::id::Iteration;
use unstuck_core::workflow::Workflow;
use unstuck_workflow::registry::contradiction::{ValidatorFinding, contradiction};
use unstuck_workflow::registry::retry_prompt::{
    self, ClaimVsEvidence, FailedValidator, RetryPrompt, allowed_field_values, retry_prompt as write_prompt,
};

use crate::error::{AppError, Result};
use crate::person::Person;
use crate::project_location::ProjectLocation;

/// The failure to answer.
#[derive(Clone, Copy, Debug)]
pub struct PromptRequest<'a> {
    /// A step of the registry: its name or its id.
    pub step: &'a str,
    /// The pattern of the failure; empty for a failure without one.
    pub pattern: &'a str,
    /// The file of the registry; `None` for the only one of the project.
    pub registry: Option<&'a Path>,
    /// The parameters that the validator found: JSON, or `@FILE`.
    pub params: &'a str,
    /// The number of times in a row that this failure was found, from 1.
    pub attempt: u32,
    /// The answer of the worker: JSON, or `@FILE`.
    pub declared: Option<&'a str>,
    /// Values of `{uv-NAME}`.
    pub uv: &'a [(String, String)],
}

/// Returns the prompt, and the files that it was made from.
///
/// # Errors
///
/// There is no registry, it has no such step or pattern, or a parameter is not JSON.
pub fn prompt(
    place: &ProjectLocation,
    request: &PromptRequest<'_>,
    person: &dyn Person,
) -> Result<RetryPrompt> {
    let workspace = place.directory()?;
    let registry = super::registry::registry(request.registry, &workspace, person)?.ok_or_else(|| {
        AppError::usage("there is no .agent/*/steps_registry.json here").hint("name it with --registry FILE")
    })?;
    let (completion, pattern) = registry
        .pattern(request.step, request.pattern)
        .map_err(|refused| AppError::usage(&refused.what).hint(refused.help))?;
    let mut params = params("--params", request.params)?;
    // These are not parameters of a validator: each has its own place in the prompt.
    let [error, summary, action] =
        ["error", "summary", "suggestedAction"].map(|name| text(params.remove(name)));
    // In a run both are always there.
    let [summary, action] = [(summary, "<summary>"), (action, "<suggestedAction>")]
        .map(|(given, sign)| if given.is_empty() { sign.to_owned() } else { given });
    let files: Vec<String> = params
        .remove("relatedFiles")
        .and_then(|value| serde_json::from_value(value).ok())
        .unwrap_or_default();
    let conditions = completion.conditions.iter().map(|condition| &condition.validator);
    let validator = conditions.into_iter().find(|validator| validator.pattern.name == request.pattern);
    let failed = FailedValidator {
        validator: validator.map_or("validator", |validator| &validator.name),
        pattern: pattern.as_ref(),
        error: &error,
        summary: &summary,
        suggested_action: Some(&action),
        related_files: &files,
        occurrence: request.attempt,
        params,
        ..FailedValidator::default()
    };
    let declared = declaration(request, &completion)?;
    Ok(write(request, &completion, failed, declared.as_ref()))
}

/// Returns an answer of the worker with its text: the one that is given, or where the step asks for an answer one that
/// declares its work complete.
fn declaration(request: &PromptRequest<'_>, completion: &Completion) -> Result<Option<(String, Value)>> {
    if let Some(given) = request.declared {
        let answer = Value::Object(params("--declared", given)?);
        return Ok(Some((answer.to_string(), answer)));
    }
    let is_asked = completion.answer.is_some() || completion.final_answer.is_some();
    Ok(is_asked.then(|| ("<declaration>".to_owned(), json!({ "status": "completed" }))))
}

fn write(
    request: &PromptRequest<'_>,
    completion: &Completion,
    failed: FailedValidator<'_>,
    declared: Option<&(String, Value)>,
) -> RetryPrompt {
    let uv = variables(request, completion);
    let finding = ValidatorFinding { validator: failed.validator, passed: false, summary: failed.summary };
    let against = declared.and_then(|(text, answer)| Some((text, contradiction(answer, &[finding])?)));
    let declared =
        against.as_ref().map(|(declaration, contrary)| ClaimVsEvidence { declaration, evidence: contrary });
    let forms = completion.answer_of(Iteration(request.attempt)).into_iter().chain(&completion.final_answer);
    write_prompt(&retry_prompt::RetryPromptRequest {
        completion,
        failed: &[failed],
        declared,
        attempt: request.attempt,
        iteration: request.attempt,
        stage: 1,
        uv: &uv,
        allowed: &allowed_field_values(forms.map(|form| &form.form)),
    })
}

/// Returns the values of `{uv-name}`: as a run has them in the iteration after so many failures, and those that are given.
fn variables(request: &PromptRequest<'_>, completion: &Completion) -> BTreeMap<String, String> {
    let (iteration, max) = (request.attempt.saturating_add(1), Workflow::DEFAULT_MAX_ITERATIONS);
    let of_run = [
        ("iteration", iteration.to_string()),
        ("completed_iterations", request.attempt.to_string()),
        ("max_iterations", max.to_string()),
        ("remaining", max.saturating_sub(request.attempt).to_string()),
        ("previous_summary", "<previous_summary>".to_owned()),
    ];
    let of_run = of_run.map(|(name, value)| (name.to_owned(), value)).into_iter();
    of_run.chain(completion.uv.clone()).chain(request.uv.iter().cloned()).collect()
}

fn text(value: Option<Value>) -> String {
    value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Reads a map that is given with an option.
fn params(option: &str, given: &str) -> Result<Map<String, Value>> {
    let text = match given.strip_prefix('@') {
        Some(file) => fs::read_to_string(file)
            .map_err(|error| AppError::usage(format!("cannot read {file}: {error}")))?,
        None => given.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        AppError::usage(format!("{option} is no JSON map: {error}"))
            .hint("for example '{\"error\": \"...\"}'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_a_map_or_a_file_with_a_map() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("params.json");
        fs::write(&file, r#"{"a": 1}"#).expect("the folder is ours");
        let cases = [
            ("{}".to_owned(), Some(0)),
            (r#"{"a": [1], "b": {}}"#.to_owned(), Some(2)),
            (format!("@{}", file.display()), Some(1)),
            ("[]".to_owned(), None),
            ("a=1".to_owned(), None),
            (format!("@{}", folder.path().join("none").display()), None),
        ];
        for (given, expected) in cases {
            assert_eq!(params("--params", &given).ok().map(|map| map.len()), expected, "{given}");
        }
    }
}
