//! `unstuck guard`: ends what is left of a run when its supervisor dies. Started by the supervisor.

use std::path::PathBuf;
use std::process::Command;

use unstuck_core::id::RunId;
use unstuck_process::reaper::{self, Reaper};
use unstuck_runner::{host, orphan_note};
use unstuck_store_sled::SledStore as Runs;

use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck guard`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    run: String,
    /// The process of its supervisor.
    supervisor: u32,
    /// The folder of the project's state; none where runs are kept in memory.
    project: Option<PathBuf>,
}

/// Waits for the end of whoever started it. What a supervisor that died has left in the workspace is noted, so that a
/// resume can tell it from what a person changes from then on.
pub fn guard(args: &Args) -> Result {
    let run = RunId::new(args.run.clone());
    let project = args.project.clone().map(Runs::at);
    let is_taken_over =
        || project.as_ref().is_some_and(|runs| orphan_note::is_taken_over(runs, &run, args.supervisor));
    let gone = reaper::serve(&host::mark_of(&run), is_taken_over);
    if let Some((gone_at, project)) = gone.zip(project.as_ref()) {
        orphan_note::note(project, project.state(), &run, args.supervisor, gone_at);
    }
    Ok(exit::OK)
}

/// Starts the guard of a run; without one the run goes on, and a resume finds what was left.
pub fn start(run: &RunId, runs: Option<&Runs>) -> Option<Reaper> {
    let (run, supervisor) = (run.to_string(), std::process::id().to_string());
    let project = runs.map(|runs| runs.path().to_owned());
    let started = Reaper::start(move || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["guard", &run, &supervisor]).args(&project);
        Ok(command)
    });
    started
        .inspect_err(|error| {
            tracing::warn!(%error, "no guard could be started: if this supervisor is killed, processes of its workers may live on until `unstuck resume`");
        })
        .ok()
}
