//! `unstuck resume`: continues a run.

use std::path::PathBuf;

use unstuck_app::resume::{self, Resume, ResumeResult};
use unstuck_core::id::Millis;

use crate::args::{self, GlobalArgs};
use crate::error::Result;
use crate::exit;
use crate::invocation::UNSTUCK;
use crate::progress::{self, OutputMode};
use crate::run_args::RunArg;
use crate::run_driver::{self, DriveOptions};
use crate::terminal::Terminal;

/// Arguments of `unstuck resume`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Additional iterations of every loop.
    #[arg(long, value_name = "N", default_value_t = 0)]
    add_iterations: u32,
    /// Additional time of the run, such as 1h.
    #[arg(long, value_name = "DURATION")]
    add_time: Option<Millis>,
    /// Additional US dollars of the run, such as 2.50.
    #[arg(long, value_name = "AMOUNT", value_parser = args::parse_usd)]
    add_usd: Option<u64>,
    /// Additional tokens of the run.
    #[arg(long, value_name = "N")]
    add_tokens: Option<u64>,
    /// Apply limits only to the cost that workers report.
    #[arg(long)]
    accept_unknown_cost: bool,
    /// Resume although files have changed since the run stopped; a changed workflow file is read again.
    #[arg(long = "accept-changes", alias = "accept-drift")]
    accept_drift: bool,
    /// Hint for the worker, part of the next prompt.
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// Change a key of the workflow from now on, such as steps.fix.max_iterations=9; may be repeated.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    settings: Vec<String>,
    /// Continue in this directory: the workspace was moved there.
    #[arg(long, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The worker.
    #[command(flatten)]
    successor: ReplacementWorker,
    /// How the run is shown.
    #[command(flatten)]
    driving: DriveOptions,
}

/// The worker from now on.
#[derive(Debug, clap::Args)]
struct ReplacementWorker {
    /// Switch to this worker: a client such as codex, several separated by commas, or a command line.
    #[arg(long, aliases = ["worker", "agent"], value_name = "WORKER", value_parser = args::non_blank)]
    with: Option<String>,
    /// Accept the permissions of changed workers without asking.
    #[arg(short, long)]
    yes: bool,
}

/// Resumes the run.
pub fn resume(global: &GlobalArgs, args: Args) -> Result {
    let options = args.driving;
    let request = Resume {
        run: args.run.run,
        add_iterations: args.add_iterations,
        add_time: args.add_time.unwrap_or_default(),
        add_micro_usd: args.add_usd.unwrap_or_default(),
        add_tokens: args.add_tokens.unwrap_or_default(),
        accept_unknown_cost: args.accept_unknown_cost,
        accept_drift: args.accept_drift,
        hint: args.hint,
        successor: args.successor.with,
        yes: args.successor.yes,
        settings: args.settings,
        workspace: args.workspace,
    };
    match resume::resume(&global.project()?, request, &options.terms(), &Terminal)? {
        ResumeResult::Ready(ready) => run_driver::resume(&options, *ready),
        ResumeResult::Complete { story, .. } if options.mode() == OutputMode::Json => {
            crate::output::print_json_line(&progress::end_json(&story, false));
            Ok(exit::OK)
        }
        ResumeResult::Complete { short, .. } => {
            println!("run {short} is complete: there is nothing to go on with");
            println!("next: {UNSTUCK} show {short}");
            Ok(exit::OK)
        }
    }
}
