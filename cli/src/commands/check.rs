//! `unstuck check`: a workflow file, read and planned, without running it.

use std::path::PathBuf;

use serde::Serialize;
use unstuck_document::Diagnostic;
use unstuck_workflow::workflow_file::{self, Options};

use crate::args::Global;
use crate::commands::run;
use crate::error::{Error, Result};
use crate::exit;
use unstuck_app::{lints, missing_file, programs, workers};

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
    /// What decides how a file is read.
    #[command(flatten)]
    reading: run::Reading,
}

/// What is wrong with a file, in place of its plan.
#[derive(Serialize)]
struct Problems<'a> {
    problems: &'a [Diagnostic],
}

/// Prints what is wrong with the file, or its plan.
pub fn check(global: &Global, args: &Args) -> Result {
    if args.schema {
        print!("{}", workflow_file::schema());
        return Ok(exit::OK);
    }
    let Some(file) = &args.file else { return Err(Error::usage("no workflow file is named")) };
    let workspace = global.place().directory()?;
    let options: Options = args.reading.options(&workspace, None)?;
    let path = workspace.join(file);
    if !args.json && !path.exists() {
        return Err(missing_file::file(file, &path, "check", run::WRITE_ONE));
    }
    let loaded = workflow_file::load(&path, &options).map_err(|why| {
        if args.json {
            crate::print_json(&Problems { problems: &why.complaints });
        }
        run::rejected(file, &why)
    })?;
    for warning in &loaded.warnings {
        eprintln!("warning: {warning}");
    }
    let workflow = &loaded.workflow;
    let kinds = [
        workers::missing,
        workers::too_long,
        programs::of_commands,
        programs::of_validators,
        lints::covered_up,
    ];
    for warning in kinds.into_iter().flat_map(|of| of(workflow)) {
        eprintln!("warning: {warning}");
    }
    if args.explore {
        return explore::explore(&loaded, args.json);
    }
    let plan = workflow_file::plan(&loaded.workflow);
    if args.json {
        crate::print_json(&plan);
    } else {
        print!("{plan}");
    }
    Ok(exit::OK)
}
