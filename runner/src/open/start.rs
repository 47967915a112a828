//! Starts a run, and drives a run to its end.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use unstuck_core::event::{RunStarted, SnapshotMoment, SnapshotTaken};
use unstuck_core::{Observation, RunState};
use unstuck_files::error::with_causes;

use super::run_environment::{FinishedRun, LifecycleError, RunEnvironment};
use crate::host::Host;
use crate::runner::Runner;

impl RunEnvironment {
    /// Starts a run and drives it to its end.
    ///
    /// # Errors
    ///
    /// When the log cannot be made, the workspace is taken, or the store fails later.
    pub async fn start(&self, started: RunStarted) -> Result<FinishedRun, LifecycleError> {
        let _workspace = self.take_workspace(Path::new(&started.workspace), &started.run)?;
        let log = self.store.create(&started.run)?;
        let mut runner = self.runner(Arc::new(log), &started, RunState::default());
        runner.record(Observation::RunStarted(Box::new(started)))?;
        self.index(runner.state(), runner.state().last_at());
        finish(runner).await
    }
}

/// Drives a run to its end, and records what it leaves.
pub(super) async fn finish(mut runner: Runner<Host>) -> Result<FinishedRun, LifecycleError> {
    let outcome = runner.drive().await?;
    // The snapshot separates later changes by the user from the result of the run. A check takes no snapshot at its
    // end, so a check without changes is recorded too. Changes made by a check belong to the result of the run.
    let seen = runner.take_snapshot().unwrap_or_else(|error| {
        let why = with_causes(&error);
        tracing::warn!("nobody could look at the workspace when the run came to rest: {why}");
        None
    });
    if let Some(snapshot) = seen
        && (runner.state().may_have_changed_workspace() || runner.state().last_snapshot() != Some(&snapshot))
    {
        let taken = SnapshotTaken { snapshot, moment: SnapshotMoment::Ended };
        runner.record(Observation::SnapshotTaken(taken))?;
    }
    runner.save_checkpoint();
    runner.remove_what_memory_does_not_keep();
    Ok(FinishedRun { outcome, state: runner.into_state() })
}

impl Runner<Host> {
    /// Removes prompts and scripts of a run whose log is gone with the process.
    fn remove_what_memory_does_not_keep(&self) {
        if self.log.artifacts().is_none() {
            let _may_be_gone = fs::remove_dir_all(&self.host.artifacts);
        }
    }
}
