//! `unstuck kick`: tries now what a run waits for.

use unstuck_core::RunState;
use unstuck_core::event::RunResumed;
use unstuck_runner::kick;
use unstuck_runner::open::{self, TakeUp};

use crate::args::Global;
use crate::commands::resume;
use crate::driving::{self, Driving};
use crate::error::{Error, Result};
use crate::exit;
use crate::project::{Project, RunArg};

/// Arguments of `unstuck kick`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// How the run is shown, where nobody drives it and it is gone on with.
    #[command(flatten)]
    driving: Driving,
}

/// Leaves a sign for whoever drives the run; where nobody does, goes on with it.
pub fn kick(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let found = project.find(&args.run)?;
    let log = driving::mend(&project, &found);
    let events = found.begun()?;
    let state = RunState::of(&events);
    if !state.is_waiting() && !state.waits_when_resumed() {
        let next = if state.is_interrupted() { "resume" } else { "show" };
        return Err(Error::usage(format!("run {} does not wait for anything", found.short()))
            .hint(format!("unstuck {next} {}", found.short())));
    }
    let artifacts = found.runs.artifacts(&found.entry.run);
    kick::leave(&artifacts, state.version()).map_err(|error| Error::store(&error))?;
    if state.is_waiting() && log.is_none() && found.is_live() {
        println!("run {} tries now what it waits for", found.short());
        return Ok(exit::OK);
    }
    let order = RunResumed { program: open::program(), ..RunResumed::default() };
    resume::take_up(&project, &found, log, &events, &args.driving, TakeUp::Resume(order), false)
        .inspect_err(|_| kick::take_back(&artifacts))
}
