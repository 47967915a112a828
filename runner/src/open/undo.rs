//! Puts the files of a workspace back to a snapshot of a run.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::event::{SnapshotMoment, SnapshotTaken};
use unstuck_core::id::Seq;
use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::ExternalChange;
use unstuck_core::{Observation, Rejection};
use unstuck_process as process;
use unstuck_store::run_log::RunLog;
use unstuck_workspace::snapshot::{Git, RestoreOutcome};

use super::run_environment::{LifecycleError, RunEnvironment};
use super::undo_plan::{UndoOrder, UndoPlan};
use crate::host::Host;
use crate::runner::Runner;
use crate::snapshots::{self, RunSnapshots};

/// Result of an undo.
pub struct UndoReport {
    /// The event with the snapshot from before the undo.
    pub before: Seq,
    /// The plan.
    pub planned: UndoPlan,
    /// The restored files.
    pub restored: RestoreOutcome,
    /// Files that their owner could not read before the undo.
    pub made_readable: Vec<PathBuf>,
    /// Error of the recording, if the undo was done but not recorded.
    pub unrecorded: Option<LifecycleError>,
}

/// Whether a person was asked before an undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UndoConsent {
    /// And has agreed.
    Given,
    /// There was nothing to ask.
    NotNeeded,
}

impl RunEnvironment {
    /// Makes the files of the workspace what they were at a snapshot of a run, and records that. What others than the run
    /// changed stays, unless the order takes all. `agree` gets the plan before anything is changed, and whether the person
    /// was asked is what it returns; `None` declines.
    ///
    /// # Errors
    ///
    /// Another process works in the workspace, the snapshot is gone, the plan is declined, or the store fails.
    pub fn undo(
        &self,
        log: Arc<RunLog>,
        order: &UndoOrder<'_>,
        agree: impl FnOnce(&UndoPlan) -> Option<UndoConsent>,
    ) -> Result<UndoReport, LifecycleError> {
        let (mut runner, _workspace) = self.take_over(log, None)?;
        let _left_of_a_dead_supervisor = process::end_leftovers(&runner.mark());
        runner.record_abandoned()?;
        let started = runner.state().started().cloned();
        let (Some(state), Some(started)) = (&self.state_dir, started) else {
            return Err(crate::RunnerError::Rejected(Rejection::NotStarted).into());
        };
        let snapshots = snapshots::open(state, Path::new(&started.workspace), &started)?;
        let (first, last) =
            (runner.state().first_snapshot().cloned(), runner.state().last_snapshot().cloned());
        let keeper = RunSnapshots::new(snapshots, &started);
        keeper.find(order.snapshot)?;
        // Kept first, so that nothing can get lost from now on.
        let (now, made_readable) = keeper.take_readable(first.as_ref(), last.as_ref(), order.snapshot)?;
        let planned = self.plan_undo(&runner, &keeper, order, &now)?;
        match agree(&planned) {
            None => return Err(LifecycleError::Declined),
            Some(UndoConsent::NotNeeded) => {}
            Some(UndoConsent::Given) => {
                // The person took a while, and may have worked meanwhile.
                let files = keeper.drift(&now, &keeper.take(first.as_ref(), Some(&now))?)?;
                if !files.is_empty() {
                    return Err(LifecycleError::ChangedMeanwhile { files });
                }
            }
        }
        let mut record = |snapshot: Snapshot, moment| {
            let taken = SnapshotTaken { snapshot: Box::new(snapshot), moment };
            runner.record(Observation::SnapshotTaken(taken)).map(|()| runner.state().version())
        };
        let before = record(now, SnapshotMoment::BeforeUndo)?;
        let git = if planned.keeps_git { Git::Leave } else { order.git };
        let restored = keeper.restore(order.snapshot, git, &planned.files)?;
        // The files are restored by now, so the caller gets the result even if the recording fails.
        let taken = keeper.take(first.as_ref(), None).map_err(LifecycleError::from);
        let recorded = taken.and_then(|now| Ok(record(now, SnapshotMoment::Undone(order.seq))?));
        runner.save_checkpoint();
        Ok(UndoReport { before, planned, restored, made_readable, unrecorded: recorded.err() })
    }

    /// Plans an undo. A difference to the last snapshot belongs to others than the run, unless the run may have been at work
    /// since.
    fn plan_undo(
        &self,
        runner: &Runner<Host>,
        keeper: &RunSnapshots,
        order: &UndoOrder<'_>,
        now: &Snapshot,
    ) -> Result<UndoPlan, LifecycleError> {
        let state = runner.state();
        let (mut planned, mut gaps) = (UndoPlan::default(), order.gaps.clone());
        // A workspace without files has nothing that could get lost.
        let is_known = |last: &&Snapshot| {
            !order.is_unfinished && !state.may_have_changed_workspace() && (now.files > 0 || last.files == 0)
        };
        if let Some(last) = state.last_snapshot().filter(is_known) {
            planned.look_at_repository(keeper, order, last, now);
            // A child run that was resumed by itself left work that this log does not have.
            let children = self.child_snapshots(state).into_iter().filter(|left| keeper.has(left));
            let mut left = last.clone();
            for of_child in children {
                if keeper.drift(&of_child, now)?.is_empty() {
                    left = of_child;
                }
            }
            if left.id != now.id {
                gaps.push(ExternalChange { left: Arc::new(left), found: Arc::new(now.clone()) });
            }
        }
        let files = keeper.plan(order.snapshot, now, &gaps)?;
        planned.files = if order.takes_all { files.with_all() } else { files };
        planned.look_for_links(&runner.host.workspace);
        Ok(planned)
    }
}
