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
    /// Let every loop run so many iterations beyond its bound.
    #[arg(long, value_name = "N", default_value_t = 0)]
    add_iterations: u32,
    /// Let the run take so much time beyond its bound, such as 1h.
    #[arg(long, value_name = "DURATION")]
    add_time: Option<Millis>,
    /// Let the run spend so much money beyond its bound, such as 2.50.
    #[arg(long, value_name = "USD", value_parser = args::usd)]
    add_usd: Option<u64>,
    /// Let the run use so many tokens beyond its bound.
    #[arg(long, value_name = "N")]
    add_tokens: Option<u64>,
    /// Keep to the bounds as far as the workers tell what they spend.
    #[arg(long)]
    accept_unknown_cost: bool,
    /// Go on although files were changed since the run came to rest.
    #[arg(long)]
    accept_drift: bool,
    /// Tell the worker this.
    #[arg(long, value_name = "TEXT")]
    hint: Option<String>,
    /// Who works.
    #[command(flatten)]
    successor: Successor,
    /// How the run is shown.
    #[command(flatten)]
    driving: Driving,
}

/// Who works from now on.
#[derive(Debug, clap::Args)]
struct Successor {
    /// Have somebody else work from now on: a client such as codex, several with commas between, or a command line.
    #[arg(long, value_name = "WHO", value_parser = args::words)]
    with: Option<String>,
    /// Let workers do what they can do, without asking. Those that the run has are not asked about again.
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
