//! `unstuck answer`: what a blocked run needs.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::resume;

use crate::args::{self, Global};
use crate::driving::{self, Driving};
use crate::error::Result;
use crate::half_typed;

/// Arguments of `unstuck answer`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the beginning of it, or @last.
    #[arg(add = ArgValueCompleter::new(half_typed::run))]
    run: String,
    /// Answer, part of the next prompt of the worker and the reviewer.
    #[arg(value_parser = args::words)]
    text: String,
    /// The step that it is for, where several are blocked. May be given again, for one answer to several.
    #[arg(long = "step", value_name = "STEP")]
    steps: Vec<String>,
    /// How the run is shown.
    #[command(flatten)]
    driving: Driving,
}

/// Records the answer and resumes the run.
pub fn answer(global: &Global, args: Args) -> Result {
    let ready = resume::answer(&global.project()?, &args.run, args.text, &args.steps, &args.driving.terms())?;
    driving::resume(&args.driving, ready)
}
