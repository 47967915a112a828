//! `unstuck answer`: what a blocked run needs.

use clap_complete::engine::ArgValueCompleter;
use unstuck_app::resume;

use crate::args::{self, GlobalArgs};
use crate::completion_values;
use crate::error::Result;
use crate::run_driver::{self, DriveOptions};

/// Arguments of `unstuck answer`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the beginning of it, or @last.
    #[arg(add = ArgValueCompleter::new(completion_values::complete_run))]
    run: String,
    /// Answer, part of the next prompt of the worker and the reviewer.
    #[arg(value_parser = args::non_blank)]
    text: String,
    /// The step that it is for, where several are blocked. May be given again, for one answer to several.
    #[arg(long = "step", value_name = "STEP")]
    steps: Vec<String>,
    /// How the run is shown.
    #[command(flatten)]
    driving: DriveOptions,
}

/// Records the answer and resumes the run.
pub fn answer(global: &GlobalArgs, args: Args) -> Result {
    let ready = resume::answer(&global.project()?, &args.run, args.text, &args.steps, &args.driving.terms())?;
    run_driver::resume(&args.driving, ready)
}
