//! `unstuck probe prompt`: the prompt that answers a failure, and the file it is made from.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde_json::{Map, Value, json};
use unstuck_core::completion::Completion;
use unstuck_core::id::Iteration;
use unstuck_core::workflow::Workflow;
use unstuck_workflow::registry::contradiction::{Finding, contradiction};
use unstuck_workflow::registry::retry_prompt::{
    ClaimVsEvidence, FailedValidator, Request, RetryPrompt, allowed, retry_prompt,
};

use super::registry::{pair, registry};
use crate::args::Global;
use crate::error::{Error, Result};
use crate::exit;

/// Arguments of `unstuck probe prompt`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// A step of the registry: its name, such as `issue`, or its full id.
    step: String,
    /// The pattern of the failure; none for a failure without one.
    #[arg(long, value_name = "NAME", default_value = "")]
    pattern: String,
    /// The registry; the only one below .agent when not given.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// What the validator found: JSON, or @FILE with JSON.
    #[arg(long, value_name = "JSON", default_value = "{}")]
    params: String,
    /// How often in a row this failure was found.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    attempt: u32,
    /// What the worker had answered, which declares its work complete or says that a validator has passed: JSON, or @FILE
    /// with JSON.
    #[arg(long, value_name = "JSON")]
    declared: Option<String>,
    /// A value of {uv-NAME}; what every run has, such as {uv-iteration}, has one without it.
    #[arg(long, value_name = "NAME=VALUE", value_parser = pair)]
    uv: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Writes the prompt and prints it.
pub fn prompt(global: &Global, args: &Args) -> Result {
    let workspace = global.place().directory()?;
    let registry = registry(args.registry.as_deref(), &workspace)?.ok_or_else(|| {
        Error::usage("there is no .agent/*/steps_registry.json here").hint("name it with --registry FILE")
    })?;
    let (completion, pattern) = registry
        .pattern(&args.step, &args.pattern)
        .map_err(|refused| Error::usage(&refused.what).hint(refused.help))?;
    let mut params = params("--params", &args.params)?;
    // These are no parameters of a validator: each has a place of its own in the prompt.
    let [error, summary, action] =
        ["error", "summary", "suggestedAction"].map(|name| text(params.remove(name)));
    // In a run both are always there.
    let [summary, action] = [(summary, "<summary>"), (action, "<suggestedAction>")]
        .map(|(given, sign)| if given.is_empty() { sign.to_owned() } else { given });
    let files: Vec<String> =
        params.remove("relatedFiles").and_then(|it| serde_json::from_value(it).ok()).unwrap_or_default();
    let conditions = completion.conditions.iter().map(|it| &it.validator);
    let validator = conditions.into_iter().find(|it| it.pattern.name == args.pattern);
    let failed = FailedValidator {
        validator: validator.map_or("validator", |it| &it.name),
        pattern: pattern.as_ref(),
        error: &error,
        summary: &summary,
        suggested_action: Some(&action),
        related_files: &files,
        occurrence: args.attempt,
        params,
        ..FailedValidator::default()
    };
    let declared = declared(args, &completion)?;
    print(&written(args, &completion, failed, declared.as_ref()), args.json);
    Ok(exit::OK)
}

/// Returns an answer of the worker with its text: the one that is given, or where the step asks for an answer one that
/// declares its work complete.
fn declared(args: &Args, completion: &Completion) -> Result<Option<(String, Value)>> {
    if let Some(given) = &args.declared {
        let answer = Value::Object(params("--declared", given)?);
        return Ok(Some((answer.to_string(), answer)));
    }
    let is_asked = completion.answer.is_some() || completion.final_answer.is_some();
    Ok(is_asked.then(|| ("<declaration>".to_owned(), json!({ "status": "completed" }))))
}

fn written(
    args: &Args,
    completion: &Completion,
    failed: FailedValidator<'_>,
    declared: Option<&(String, Value)>,
) -> RetryPrompt {
    let uv = variables(args, completion);
    let finding = Finding { validator: failed.validator, passed: false, summary: failed.summary };
    let against = declared.and_then(|(text, answer)| Some((text, contradiction(answer, &[finding])?)));
    let declared =
        against.as_ref().map(|(declaration, contrary)| ClaimVsEvidence { declaration, evidence: contrary });
    let forms = completion.answer_of(Iteration(args.attempt)).into_iter().chain(&completion.final_answer);
    retry_prompt(&Request {
        completion,
        failed: &[failed],
        declared,
        attempt: args.attempt,
        iteration: args.attempt,
        stage: 1,
        uv: &uv,
        allowed: &allowed(forms.map(|it| &it.form)),
    })
}

/// Returns the values of `{uv-name}`: as a run has them in the iteration after so many failures, and those that are given.
fn variables(args: &Args, completion: &Completion) -> BTreeMap<String, String> {
    let (iteration, max) = (args.attempt.saturating_add(1), Workflow::DEFAULT_MAX_ITERATIONS);
    let of_run = [
        ("iteration", iteration.to_string()),
        ("completed_iterations", args.attempt.to_string()),
        ("max_iterations", max.to_string()),
        ("remaining", max.saturating_sub(args.attempt).to_string()),
        ("previous_summary", "<previous_summary>".to_owned()),
    ];
    let of_run = of_run.map(|(name, value)| (name.to_owned(), value)).into_iter();
    of_run.chain(completion.uv.clone()).chain(args.uv.iter().cloned()).collect()
}

/// Prints the prompt, and on standard error where it comes from.
fn print(prompt: &RetryPrompt, as_json: bool) {
    let RetryPrompt { text, files, complaints } = prompt;
    if as_json {
        crate::print_json(&json!({ "text": text, "files": files, "complaints": complaints }));
        return;
    }
    for complaint in complaints {
        eprintln!("warning: {complaint}");
    }
    let from = if files.is_empty() { "the built-in text".to_owned() } else { files.join(", ") };
    eprintln!("from: {from}");
    crate::print_exactly(text.as_bytes());
}

fn text(value: Option<Value>) -> String {
    value.as_ref().and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Reads a map that is given with an option.
fn params(option: &str, given: &str) -> Result<Map<String, Value>> {
    let text = match given.strip_prefix('@') {
        Some(file) => {
            fs::read_to_string(file).map_err(|error| Error::usage(format!("cannot read {file}: {error}")))?
        }
        None => given.to_owned(),
    };
    serde_json::from_str(&text).map_err(|error| {
        Error::usage(format!("{option} is no JSON map: {error}")).hint("for example '{\"error\": \"...\"}'")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_a_map_given_or_in_a_file() {
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
            assert_eq!(params("--params", &given).ok().map(|it| it.len()), expected, "{given}");
        }
    }
}
