//! `unstuck diagnose`: what a run leaves for a person, made from its log.

use std::path::PathBuf;

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::diagnosis;
use unstuck_core::Event;
use unstuck_core::id::StepId;
use unstuck_files::private_dir::PrivateDir;

use crate::args::GlobalArgs;
use crate::completion_values;
use crate::error::{AppError, Result};
use crate::exit;
use crate::invocation;
use crate::run_args::RunArg;

/// Arguments of `unstuck diagnose`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// The step; without it all that loop.
    #[arg(add = ArgValueCompleter::new(completion_values::complete_step))]
    step: Option<String>,
    /// Write the files to this folder, a folder for each step, instead of printing the diagnosis.
    #[arg(long, value_name = "DIR")]
    to: Option<PathBuf>,
    /// Print the diagnosis of each step with all that it rests on as JSON.
    #[arg(long, conflicts_with = "to")]
    json: bool,
}

/// Prints the diagnosis of each step, or writes it with all that it rests on.
pub fn diagnose(global: &GlobalArgs, args: &Args) -> Result {
    let project = global.project()?;
    let found = project.find(&args.run.run)?;
    let events = found.known_events()?;
    let started = found.started(&events)?;
    let wanted = |id: &StepId| args.step.as_ref().is_none_or(|step| *step == id.as_str());
    let loops = started.workflow.steps.iter().filter(|step| step.check.is_some() && wanted(&step.id));
    let steps: Vec<&StepId> = loops.map(|step| &step.id).collect();
    if steps.is_empty() {
        let what = args.step.as_deref().map_or("no step".to_owned(), |step| format!("no step {step}"));
        return Err(AppError::usage(format!("run {} has {what} that loops", found.short()))
            .hint(format!("unstuck show {}", found.short())));
    }
    if args.json {
        let of_step = |step: &StepId| as_json(&events, step, found.short());
        let all: Vec<serde_json::Value> = steps.into_iter().map(of_step).collect();
        crate::output::print_json(&all);
        return Ok(exit::OK);
    }
    for step in steps {
        match &args.to {
            Some(folder) => {
                let folder = PrivateDir::at(folder).join(step.as_str());
                diagnosis::write(&events, step, found.short(), &folder, true)
                    .map_err(|error| AppError::usage(format!("cannot write {error}")))?;
                println!("{}", folder.path().display());
            }
            None => {
                let files = unstuck_replay::diagnosis(&events, step, found.short()).unwrap_or_default();
                let page = files.get(diagnosis::PAGE).map_or("", String::as_str);
                println!("{}", invocation::command_line(page.trim_end()));
            }
        }
    }
    Ok(exit::OK)
}

/// Returns the files of a step by their names: what is JSON as such, the rest as text.
fn as_json(events: &[Event], step: &StepId, short: &str) -> serde_json::Value {
    let files = unstuck_replay::diagnosis(events, step, short).unwrap_or_default();
    let parsed = files.into_iter().map(|(name, text)| {
        let value = serde_json::from_str(&text).ok().filter(|_| name.ends_with(".json"));
        (name, value.unwrap_or_else(|| invocation::command_line(&text).into()))
    });
    let files: std::collections::BTreeMap<&str, serde_json::Value> = parsed.collect();
    serde_json::json!({ "step": step, "files": files })
}
