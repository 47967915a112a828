//! `unstuck debug validator`: one validator alone, without a run.

use std::path::PathBuf;

use unstuck_app::probe::validator::{self, ValidatorRequest};
use unstuck_core::completion::{Condition, ValidatorKind};
use unstuck_core::evidence::{ValidatorOutcome, ValidatorResult};

use crate::args::{GlobalArgs, name_value};
use crate::error::Result;
use crate::terminal::Terminal;
use crate::{exit, format};

/// Arguments of `unstuck debug validator`.
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
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = name_value)]
    params: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it. The exit status is 0 if the condition holds, 1 if it does not, and 5 if it could not run.
pub fn validator(global: &GlobalArgs, args: &Args) -> Result {
    let Args { name, registry, step, params, json } = args;
    let request = ValidatorRequest { name, registry: registry.as_deref(), step: step.as_deref(), params };
    let (condition, result) = validator::validator(&global.place(), &request, &Terminal)?;
    if *json {
        crate::output::print_json(&result);
    } else {
        print(&condition, &result);
    }
    Ok(match result.outcome {
        ValidatorOutcome::Pass => exit::OK,
        ValidatorOutcome::Fail => exit::DIFFERENT,
        ValidatorOutcome::CouldNotRun(_) => exit::COULD_NOT_RUN,
    })
}

fn print(condition: &Condition, result: &ValidatorResult) {
    let word = match &result.outcome {
        ValidatorOutcome::Pass => "passes".to_owned(),
        ValidatorOutcome::Fail => format!("fails: {}", result.summary()),
        ValidatorOutcome::CouldNotRun(why) => format!("could not run: {why}"),
    };
    println!("{} {word} ({})", result.validator, format::duration(result.duration));
    let asked = match &condition.validator.run {
        ValidatorKind::Command(command) | ValidatorKind::Custom(command) => command.clone(),
        ValidatorKind::Files(paths) => paths.join(", "),
        ValidatorKind::Checklist(list) => list.path.clone(),
    };
    println!("  asked    {asked}");
    for (name, value) in &condition.params {
        println!("  with     {name}={}", format::cut(value, 400));
    }
    if result.passed() {
        return;
    }
    println!("  pattern  {} ({})", condition.validator.pattern.name, condition.validator.pattern.description);
    // The error is printed below.
    for (name, value) in result.params.iter().filter(|(_, value)| value.as_str() != Some(&result.error)) {
        println!("  {name} = {}", format::cut(&value.to_string(), 400));
    }
    if !result.error.is_empty() {
        println!("\n{}", result.error.trim_end());
    }
}
