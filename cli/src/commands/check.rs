//! `unstuck check`: a workflow file, read and planned, without running it.

use std::path::PathBuf;

use serde_json::json;
use unstuck_app::workflows;

use crate::args::GlobalArgs;
use crate::commands::run;
use crate::error::{AppError, Result};
use crate::exit;

mod explore;

/// Arguments of `unstuck check`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The workflow file.
    #[arg(required_unless_present = "schema")]
    file: Option<PathBuf>,
    /// Print the JSON Schema of workflow files, for editors.
    #[arg(long)]
    schema: bool,
    /// Print the plan as JSON, or what is wrong.
    #[arg(long)]
    json: bool,
    /// Play all short histories of each step: what it may cost at most, how it can end, what is never reached.
    #[arg(long, conflicts_with = "schema")]
    explore: bool,
    /// The options of reading a workflow file.
    #[command(flatten)]
    reading: run::WorkflowArgs,
}

/// Prints what is wrong with the file, or its plan.
pub fn check(global: &GlobalArgs, args: &Args) -> Result {
    if args.schema {
        print!("{}", workflows::schema());
        return Ok(exit::OK);
    }
    let Some(file) = &args.file else { return Err(AppError::usage("no workflow file is named")) };
    let workspace = global.place().directory()?;
    if !args.json && !workspace.join(file).exists() {
        return Err(workflows::missing(file, &workspace, "check"));
    }
    let checked = workflows::check(file, &workspace, &args.reading.reading(None)).inspect_err(|error| {
        if args.json && !error.problems().is_empty() {
            crate::output::print_json(&json!({ "problems": error.problems() }));
        }
    })?;
    for warning in &checked.warnings {
        eprintln!("warning: {warning}");
    }
    if args.explore {
        return explore::explore(&checked, args.json);
    }
    let plan = checked.plan();
    if args.json {
        crate::output::print_json(&plan);
    } else {
        print!("{plan}");
    }
    Ok(exit::OK)
}
