//! The guard of a run: a process that ends what is left when the supervisor dies.

use std::path::Path;
use std::process::Command;

use unstuck_core::id::RunId;
use unstuck_process::reaper::{self, Reaper};
use unstuck_runner::{host, orphaned_work};
use unstuck_store_sled::SledStore as Runs;

/// Waits for the end of a supervisor, and ends what it had started. What it left in the workspace is noted, so that a resume
/// can tell it from what a person changes from then on. `state` is the state folder; `None` for runs in memory.
pub fn serve(run: &RunId, supervisor: u32, state: Option<&Path>) {
    let runs = state.map(Runs::at);
    let is_taken_over =
        || runs.as_ref().is_some_and(|runs| orphaned_work::has_new_supervisor(runs, run, supervisor));
    let gone = reaper::serve(&host::mark_of(run), is_taken_over);
    if let Some((gone_at, runs)) = gone.zip(runs.as_ref()) {
        orphaned_work::record(runs, runs.state(), run, supervisor, gone_at);
    }
}

/// Starts the guard of a run. A run can do without: the next resume finds what was left.
pub(crate) fn start(run: &RunId, runs: Option<&Runs>) -> Option<Reaper> {
    let (run, supervisor) = (run.to_string(), std::process::id().to_string());
    let project = runs.map(|runs| runs.path().to_owned());
    let started = Reaper::start(move || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["reap", &run, &supervisor]).args(&project);
        Ok(command)
    });
    started
        .inspect_err(|error| {
            tracing::warn!(%error, "no guard could be started: if this supervisor is killed, processes of its workers may live on until `unstuck resume`");
        })
        .ok()
}
