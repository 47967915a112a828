//! `unstuck resume`: continues a run.

use unstuck_app::resume::{self, Resume, Resumed};
use unstuck_core::id::Millis;

use crate::args::{self, Global};
use crate::driving::{self, Driving};
use crate::error::Result;
use crate::exit;
use crate::place::{RunArg, Terminal};
use crate::screen::{self, Mode};
use crate::typed::UNSTUCK;

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
    #[arg(long, value_name = "AMOUNT", value_parser = args::usd)]
    add_usd: Option<u64>,
    /// Additional tokens of the run.
    #[arg(long, value_name = "N")]
    add_tokens: Option<u64>,
    /// Apply limits only to the cost that workers report.
    #[arg(long)]
    accept_unknown_cost: bool,
    /// Resume although files have changed since the run stopped.
    #[arg(long = "accept-changes", alias = "accept-drift")]
    accept_drift: bool,
    /// Hint for the worker, part of the next prompt.
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// The worker.
    #[command(flatten)]
    successor: Successor,
    /// How the run is shown.
    #[command(flatten)]
    driving: Driving,
}

/// The worker from now on.
#[derive(Debug, clap::Args)]
struct Successor {
    /// Switch to this worker: a client such as codex, several separated by commas, or a command line.
    #[arg(long, aliases = ["worker", "agent"], value_name = "WORKER", value_parser = args::words)]
    with: Option<String>,
    /// Accept the permissions of the workers without asking.
    #[arg(short, long)]
    yes: bool,
}

/// Resumes the run.
pub fn resume(global: &Global, args: Args) -> Result {
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
        successor: args.successor.with.map(|with| (with, args.successor.yes)),
    };
    match resume::resume(&global.project()?, request, &options.terms(), &Terminal)? {
        Resumed::Ready(ready) => driving::resume(&options, *ready),
        Resumed::Complete { story, .. } if options.mode() == Mode::Json => {
            crate::output::print_json_line(&screen::end_json(&story, false));
            Ok(exit::OK)
        }
        Resumed::Complete { short, .. } => {
            println!("run {short} is complete: there is nothing to go on with");
            println!("next: {UNSTUCK} show {short}");
            Ok(exit::OK)
        }
    }
}
