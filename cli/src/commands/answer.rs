//! `unstuck answer`: what a blocked run needs.

use clap_complete::engine::ArgValueCompleter;
use unstuck_core::event::AnswerGiven;
use unstuck_runner::launch::TakeUp;

use crate::args::{self, Global};
use crate::commands::resume;
use crate::driving::{self, Driving};
use crate::error::Result;
use crate::project::{Project, RunArg, complete_run};

/// Arguments of `unstuck answer`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run: its id, the beginning of it, or @last.
    #[arg(add = ArgValueCompleter::new(complete_run))]
    run: String,
    /// The answer; goes into the next prompt.
    #[arg(value_parser = args::words)]
    text: String,
    /// How the run is shown.
    #[command(flatten)]
    driving: Driving,
}

/// Records the answer and goes on.
pub fn answer(global: &Global, args: Args) -> Result {
    let project = Project::open(global)?;
    let found = project.find(&RunArg { run: args.run })?;
    let log = driving::mend(&project, &found);
    let how = TakeUp::Answer(AnswerGiven { text: args.text });
    // Whoever answers may have done in the workspace what was needed.
    resume::take_up(&project, &found, log, &found.begun()?, &args.driving, how, true)
}
