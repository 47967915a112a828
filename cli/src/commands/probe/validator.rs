//! `unstuck probe validator`: one validator alone, without a run.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Map, Value};
use unstuck_adapters::process::Stop;
use unstuck_adapters::redact::Redactor;
use unstuck_adapters::registry::{Registry, Wanted};
use unstuck_adapters::validators::{self, Place};
use unstuck_core::completion::{Completion, Condition, Run};
use unstuck_core::validator::{ValidatorOutcome, ValidatorResult};
use unstuck_store::blobs::MemoryBlobs;

use super::registry::{pair, registry};
use crate::args::Global;
use crate::error::{Error, Result};
use crate::{exit, project, text};

/// Arguments of `unstuck probe validator`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Its name in the registry, or one of git-clean, tests-pass, type-check, lint-check, format-check.
    name: String,
    /// The registry; the only one below .agent when not given.
    #[arg(long, value_name = "FILE")]
    registry: Option<PathBuf>,
    /// A parameter of the condition; JSON, or text.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = pair)]
    params: Vec<(String, String)>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Runs it. The exit status is 0 where the condition holds, 1 where it does not, and 5 where it could not run.
pub fn validator(global: &Global, args: &Args) -> Result {
    let workspace = project::directory(global)?;
    // Five validators need no registry.
    let registry = registry(args.registry.as_deref(), &workspace)?.unwrap_or_else(Registry::built_in);
    let value = |text: &String| serde_json::from_str(text).unwrap_or_else(|_| Value::String(text.clone()));
    let params: Map<String, Value> =
        args.params.iter().map(|(name, text)| (name.clone(), value(text))).collect();
    let wanted = Wanted { validator: args.name.clone(), params };
    let condition = registry
        .condition(&wanted, None, &workspace)
        .map_err(|refused| Error::usage(&refused.what).hint(refused.help))?;
    let Some(condition) = &condition else {
        return Err(Error::usage(format!("validator {} is of a type that is not run yet", args.name)));
    };
    let result = run(condition, workspace)?;
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

fn run(condition: &Condition, workspace: PathBuf) -> Result<ValidatorResult> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Error::usage(format!("cannot start: {error}")))?;
    // Nobody else can name it, and it goes with us.
    let scratch = tempfile::tempdir()
        .map_err(|error| Error::usage(format!("cannot make a temporary folder: {error}")))?;
    let alone = Completion { conditions: vec![condition.clone()], ..Completion::default() };
    let limit = alone.limit(condition.validator.phase);
    let place = Place {
        environment: Vec::new(),
        limit: Duration::from_millis(limit.0),
        output_max: validators::OUTPUT_MAX,
        grace: Duration::from_secs(5),
        mark: format!("unstuck-probe-{}", std::process::id()),
        hidden: vec![workspace.join(".unstuck"), workspace.join("context")],
        scratch: scratch.path().to_owned(),
        base: None,
        checklists: BTreeMap::new(),
        stop_at_first: false,
        workspace,
    };
    let (_running, stop) = tokio::sync::watch::channel(Stop::Run);
    let blobs = MemoryBlobs::default();
    let redactor = Redactor::from_environment(std::env::vars_os(), &[]);
    let conditions = std::slice::from_ref(condition);
    let found =
        runtime.block_on(validators::run(conditions, &place, Vec::new(), &blobs, &redactor, stop, |_| {}));
    found.into_iter().next().ok_or_else(|| Error::usage("nothing was run"))
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
