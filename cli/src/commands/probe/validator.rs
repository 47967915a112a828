//! `unstuck probe validator`: one validator alone, without a run.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use unstuck_app::probe;
use unstuck_core::completion::{Condition, Run};
use unstuck_core::evidence::{ValidatorOutcome, ValidatorResult};
use unstuck_workflow::registry::{Registry, RequestedCondition};

use super::registry::{pair, registry};
use crate::args::Global;
use crate::error::{Error, Result};
use crate::{exit, text};

/// Arguments of `unstuck probe validator`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name in the registry, or one of git-clean, format-check, lint-check, type-check, tests-pass.
    name: String,
    /// The registry; the only one below .agent when not given.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// The step of the registry whose condition it is; the only one that asks for it when not given.
    #[arg(long, value_name = "STEP")]
    step: Option<String>,
    /// A parameter of the condition, instead of the one in the registry; JSON, or text.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it. The exit status is 0 where the condition holds, 1 where it does not, and 5 where it could not run.
pub fn validator(global: &Global, args: &Args) -> Result {
    let workspace = global.place().directory()?;
    // Five validators need no registry.
    let registry = registry(args.registry.as_deref(), &workspace)?.unwrap_or_else(Registry::built_in);
    let condition = &condition(args, &registry, &workspace)?;
    let result = probe::validator(condition, workspace)?;
    if args.json {
        crate::print_json(&result);
    } else {
        print(condition, &result);
    }
    Ok(match result.outcome {
        ValidatorOutcome::Pass => exit::OK,
        ValidatorOutcome::Fail => exit::DIFFERENT,
        ValidatorOutcome::CouldNotRun(_) => exit::COULD_NOT_RUN,
    })
}

/// Returns the condition as a step of the registry has it, with the parameters that are given.
fn condition(args: &Args, registry: &Registry, workspace: &Path) -> Result<Condition> {
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
    let params: Map<String, Value> =
        args.params.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let of_registry = of_registry(args, registry)?;
    if let (Some(condition), true) = (of_registry, params.is_empty()) {
        return Ok(condition.clone());
    }
    let wanted = RequestedCondition { validator: args.name.clone(), params };
    let given = registry
        .condition(&wanted, None, workspace)
        .map_err(|refused| Error::usage(&refused.what).hint(refused.help))?;
    let Some(given) = given else {
        return Err(Error::usage(format!("validator {} is of a type that is not run yet", args.name)));
    };
    let Some(condition) = of_registry else { return Ok(given) };
    // The parameter `paths` is part of what is run.
    let validator =
        if given.params.contains_key("paths") { given.validator } else { condition.validator.clone() };
    Ok(Condition { validator, params: condition.params.clone().into_iter().chain(given.params).collect() })
}

/// Returns the condition of the step that is named, or the only one; none is fine where no step is named.
fn of_registry<'a>(args: &Args, registry: &'a Registry) -> Result<Option<&'a Condition>> {
    let all = registry.conditions_with(&args.name);
    let is_named =
        |id: &str, name: &str| id == name || id.split_once('.').is_some_and(|(_, rest)| rest == name);
    let fits = |ids: &[&str]| args.step.as_deref().is_none_or(|name| ids.iter().any(|id| is_named(id, name)));
    let mut fitting = all.iter().filter(|(ids, _)| fits(ids));
    let ids = || all.iter().flat_map(|(ids, _)| ids.iter().copied()).collect::<Vec<_>>().join(", ");
    match (fitting.next(), fitting.next(), &args.step) {
        (Some(_), Some(_), _) => {
            let what = format!("steps ask for {} with different parameters", args.name);
            Err(Error::usage(what).hint(format!("name one of them with --step: {}", ids())))
        }
        (None, _, Some(step)) => {
            let error = Error::usage(format!("no step {step} has the condition {}", args.name));
            Err(if all.is_empty() { error } else { error.hint(format!("steps that have it: {}", ids())) })
        }
        (found, ..) => Ok(found.map(|(_, condition)| *condition)),
    }
}

fn print(condition: &Condition, result: &ValidatorResult) {
    let word = match &result.outcome {
        ValidatorOutcome::Pass => "passes".to_owned(),
        ValidatorOutcome::Fail => format!("fails: {}", result.summary()),
        ValidatorOutcome::CouldNotRun(why) => format!("could not run: {why}"),
    };
    println!("{} {word} ({})", result.validator, text::span(result.duration));
    let asked = match &condition.validator.run {
        Run::Command(command) | Run::Custom(command) => command.clone(),
        Run::Files(paths) => paths.join(", "),
        Run::Checklist(list) => list.path.clone(),
    };
    println!("  asked    {asked}");
    for (name, value) in &condition.params {
        println!("  with     {name}={}", text::cut(value, 400));
    }
    if result.passed() {
        return;
    }
    println!("  pattern  {} ({})", condition.validator.pattern.name, condition.validator.pattern.description);
    // The error is told below.
    for (name, value) in result.params.iter().filter(|(_, it)| it.as_str() != Some(&result.error)) {
        println!("  {name} = {}", text::cut(&value.to_string(), 400));
    }
    if !result.error.is_empty() {
        println!("\n{}", result.error.trim_end());
    }
}
