//! Workspace of a run: its last known state, and the source of each change.

use super::Fold;
use std::sync::Arc;

use crate::event::{Observation, SnapshotMoment, SnapshotTaken};
use crate::id::StepId;
use crate::snapshot::Snapshot;
use crate::state::RunState;
use crate::workflow::ConvergencePolicy;

impl RunState {
    /// Returns the workspace in an observation. Most iterations change something, most pauses nothing, so an unchanged
    /// snapshot is shared.
    pub(super) fn workspace_after(&self, observation: &Observation) -> Option<Arc<Snapshot>> {
        let snapshot = match observation {
            Observation::WorkerStarted(event) => event.snapshot.as_deref(),
            Observation::WorkerFinished(event) => event.snapshot.as_deref(),
            Observation::CheckFinished(event) => event.snapshot.as_deref(),
            Observation::SnapshotTaken(event) => Some(&*event.snapshot),
            _ => None,
        }?;
        let same = self.last_snapshot.as_ref().filter(|last| ***last == *snapshot);
        Some(same.map_or_else(|| Arc::new(snapshot.clone()), Arc::clone))
    }

    /// Records the workspace in an observation.
    pub(super) fn remember_snapshot(&mut self, observation: &Observation, seen: Option<Arc<Snapshot>>) {
        let ran = matches!(observation, Observation::WorkerFinished(_) | Observation::CheckFinished(_));
        let begins = matches!(observation, Observation::WorkerStarted(_) | Observation::CheckStarted(_));
        self.left_unseen = seen.is_none() && (self.left_unseen || ran);
        self.is_abandoned &= !begins;
        let Some(snapshot) = seen else { return };
        if let Observation::SnapshotTaken(SnapshotTaken { moment: SnapshotMoment::Abandoned, .. }) =
            observation
        {
            self.record_abandoned(&snapshot);
        }
        // A step's result is the state before another process starts. Its end does not count: a check follows, and
        // changes by a process that outlives the worker are the work of the step, too.
        if matches!(observation, Observation::WorkerStarted(_) | Observation::SnapshotTaken(_)) {
            self.steps.iter_mut().for_each(|step| step.workspace.record_snapshot(&snapshot));
        }
        self.first_snapshot.get_or_insert_with(|| Arc::clone(&snapshot));
        self.last_snapshot = Some(snapshot);
    }

    /// Records the state that the processes in flight left when the supervisor died.
    pub(super) fn record_abandoned(&mut self, left: &Arc<Snapshot>) {
        self.is_abandoned = true;
        let lost: Vec<StepId> = self.in_flight().map(|(step, _)| step.id.clone()).collect();
        for id in lost {
            self.end_turn(&id);
            self.with_step(&id, |step| {
                step.workspace.record_abandonment(left);
                Fold::Done
            });
        }
    }

    /// Ends the turn of a step: later changes may be the work of others.
    pub(super) fn end_turn(&mut self, id: &StepId) {
        let Some((step, _)) = self.step(id) else { return };
        if step.convergence.as_ref().is_some_and(ConvergencePolicy::has_rules) {
            self.with_step(id, |step| {
                step.workspace.end_turn();
                Fold::Done
            });
        }
    }

    /// Returns the current workspace; `None` if a process has run since the last snapshot.
    pub(super) fn current_workspace(&self) -> Option<Arc<Snapshot>> {
        self.last_snapshot.clone().filter(|_| !self.left_unseen)
    }

    /// Records that no process is running: later changes are not the work of any step.
    pub(super) fn nothing_in_flight(&mut self) {
        let Some(now) = self.current_workspace() else { return };
        self.steps.iter_mut().for_each(|step| step.workspace.record_snapshot(&now));
    }
}
