//! The guard of a run: a process that ends what is left when the supervisor dies.

use std::process::Command;

use unstuck_core::id::RunId;
use unstuck_process::reaper::{self, Reaper};
use unstuck_runner::{host, orphaned_work};
use unstuck_store::Runs;
use unstuck_store::store_url::StoreUrl;

use crate::stores::Stores;

/// Waits for the end of a supervisor, and ends what it had started. What it left in the workspace is noted, so that a resume
/// can tell it from what a person changes from then on. `store` names the store; `None` for runs in memory.
pub fn serve(run: &RunId, supervisor: u32, store: Option<StoreUrl>, stores: &Stores) {
    let runs = store.and_then(|url| stores.open_url(url).ok());
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
    let project = runs.map(|runs| runs.url().clone());
    let started = Reaper::start(move || {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["reap", &run, &supervisor])
            .args(project.iter().flat_map(|url| [url.scheme.as_ref(), url.rest.as_os_str()]));
        Ok(command)
    });
    started
        .inspect_err(|error| {
            tracing::warn!(%error, "no guard could be started: if this supervisor is killed, processes of its workers may live on until `unstuck resume`");
        })
        .ok()
}
