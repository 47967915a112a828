//! Makes the workspace of a forked run what it was at the event that the fork begins after.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::event::{SnapshotMoment, SnapshotTaken};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::ExternalChange;
use unstuck_core::{Observation, Rejection};
use unstuck_store::run_log::RunLog;
use unstuck_workspace::snapshot::Git;

use super::run_environment::{LifecycleError, RunEnvironment};
use crate::snapshots::{self, RunSnapshots};

/// Where a fork begins.
pub struct ForkOrigin<'a> {
    /// The last shared event.
    pub event: Seq,
    /// The workspace at that event.
    pub then: &'a Snapshot,
    /// All snapshots of the shared events, which the fork keeps.
    pub shared: Vec<&'a Snapshot>,
    /// Changes of others than the run since then, as far as its log knows them. They stay.
    pub gaps: Vec<ExternalChange>,
    /// The workspace as the run left it: later changes stay, too. `None` if that is not known, or the fork works elsewhere.
    pub left: Option<&'a Snapshot>,
}

impl RunEnvironment {
    /// Makes the files of the workspace what they were at the origin of a fork, and records that. The workspace as it is now
    /// is kept first, and `undo` of the fork brings it back.
    ///
    /// # Errors
    ///
    /// Another process works in the workspace, a snapshot is gone, or the store fails.
    pub fn restore_fork(&self, log: Arc<RunLog>, origin: &ForkOrigin<'_>) -> Result<(), LifecycleError> {
        let (mut runner, _workspace) = self.take_over(log, None)?;
        let started = runner.state().started().cloned();
        let (Some(state), Some(started)) = (&self.state_dir, started) else {
            return Err(crate::RunnerError::Rejected(Rejection::NotStarted).into());
        };
        let keeper =
            RunSnapshots::new(snapshots::open(state, Path::new(&started.workspace), &started)?, &started);
        keeper.find(origin.then)?;
        for shared in &origin.shared {
            if keeper.has(shared) {
                keeper.keep(shared)?;
            }
        }
        let first = runner.state().first_snapshot().cloned();
        let (now, _) = keeper.take_readable(first.as_ref(), None, origin.then)?;
        if now.id == origin.then.id {
            return Ok(());
        }
        let later = origin
            .left
            .filter(|left| left.id != now.id)
            .map(|left| ExternalChange { left: Arc::new(left.clone()), found: Arc::new(now.clone()) });
        let gaps: Vec<ExternalChange> = origin.gaps.iter().cloned().chain(later).collect();
        let plan = keeper.plan(origin.then, &now, &gaps)?;
        let mut record = |snapshot: Snapshot, moment| {
            let taken = SnapshotTaken { snapshot: Box::new(snapshot), moment };
            runner.record(Observation::SnapshotTaken(taken))
        };
        record(now, SnapshotMoment::BeforeUndo)?;
        keeper.restore(origin.then, Git::Leave, &plan)?;
        record(keeper.take(first.as_ref(), None)?, SnapshotMoment::Undone(origin.event))?;
        runner.save_checkpoint();
        Ok(())
    }
}
