//! `unstuck fork`: a new run that shares the first events of another one.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::fork::{self, ForkRequest};

use crate::args::GlobalArgs;
use crate::completion_values;
use crate::error::Result;
use crate::run_driver::{self, DriveOptions};
use crate::terminal::Terminal;

/// Arguments of `unstuck fork`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run, and the last event that the new run shares [default: all of its events].
    #[arg(value_name = "RUN[@EVENT]", default_value = "@last", add = ArgValueCompleter::new(completion_values::complete_run))]
    run: String,
    /// Change a key of the workflow, such as steps.fix.max_iterations=9; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Hint for the worker, part of the next prompt.
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// Work in a new worktree on a new branch, and leave the files here as they are.
    #[arg(long)]
    worktree: bool,
    /// Accept the permissions of changed workers without asking.
    #[arg(short, long)]
    yes: bool,
    /// How the run is shown.
    #[command(flatten)]
    driving: DriveOptions,
}

/// Forks the run and drives the new one.
pub fn fork(global: &GlobalArgs, args: Args) -> Result {
    let options = args.driving;
    options.summary_can_be_written()?;
    let request = ForkRequest {
        run: args.run,
        settings: args.settings,
        hint: args.hint,
        worktree: args.worktree,
        yes: args.yes,
    };
    let ready = fork::fork(&global.project()?, &request, &options.terms(), &Terminal)?;
    run_driver::resume(&options, ready)
}
