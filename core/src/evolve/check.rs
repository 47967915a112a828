//! Events of a check, and of waiting.

use super::work::in_flight_at;
use super::{Fold, Place};
use std::sync::Arc;

use crate::convergence::Measures;
use crate::event::{
    CheckFinished, CheckRequested, CheckStarted, Inquiry, TurnKind, WaitReason, WaitRequested,
};
use crate::id::Iteration;
use crate::snapshot::Snapshot;
use crate::state::{RunState, StepPhase};

impl RunState {
    pub(super) fn on_check_started(&mut self, event: &CheckStarted, place: Place) -> Fold {
        let now = self.last_snapshot.clone();
        self.with_step(&event.step, |step| {
            if step.phase != StepPhase::CheckDue || !step.iteration.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            step.workspace.begin_turn(now);
            step.phase = StepPhase::Checking(in_flight_at(place, Some(&event.check_id), event.call.clone()));
            Fold::Done
        })
    }

    pub(super) fn on_check_finished(
        &mut self,
        event: &CheckFinished,
        workspace: Option<Arc<Snapshot>>,
        place: Place,
    ) -> Fold {
        if !self.is_in_flight(&event.step, TurnKind::Check, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        let before = self.last_snapshot.as_deref();
        let changed = workspace.as_deref().zip(before).is_some_and(|(now, then)| !now.same_work(then));
        let open_boxes = workspace.as_ref().and_then(|snapshot| snapshot.open_boxes);
        self.count_cost(&event.step, Some(&event.outcome));
        self.end_turn(&event.step);
        self.with_step(&event.step, |step| {
            step.calls.rests.record(step.place_in_chain(TurnKind::Check), event.outcome.limit_end(place.at));
            step.phase = StepPhase::CheckDue;
            step.iteration.end_attempt();
            step.workspace.record_check(event);
            if event.outcome.exit.is_stopped() {
                return Fold::Done;
            }
            step.verdicts.record_check(event, workspace, changed);
            if step.verdicts.inquiry != Inquiry::Check {
                return Fold::Done;
            }
            step.feedback.record_check_output(&event.outcome);
            step.evidence.record_check(event.iteration, &event.commands);
            if event.iteration == Iteration::BASELINE {
                step.convergence.begin(&Measures::new(&event.commands, &[], open_boxes));
            }
            Fold::Done
        })
    }

    pub(super) fn on_check_requested(&mut self, event: &CheckRequested) -> Fold {
        self.with_step(&event.step, |step| {
            if step.phase.is_in_flight() || event.iteration != step.iteration() {
                return Fold::Impossible;
            }
            step.begin_again();
            step.iteration.request_check(event.attempt);
            step.verdicts.inquiry = event.what;
            step.verdicts.claim.clone_from(&event.claim);
            step.phase = StepPhase::CheckDue;
            Fold::Done
        })
    }

    pub(super) fn on_wait_requested(&mut self, event: &WaitRequested, place: Place) -> Fold {
        let fold = self.with_step(&event.step, |step| {
            if step.phase.is_in_flight() || step.phase == StepPhase::Pending || step.phase.end().is_some() {
                return Fold::Impossible;
            }
            step.tries.waits(event.why, place.at);
            step.phase = StepPhase::Waiting { until: event.until, then: event.then, why: event.why };
            Fold::Done
        });
        if matches!((&fold, event.why), (Fold::Done, WaitReason::Weather(_))) {
            self.outage_wait = self.outage_wait.plus(event.until.since(place.at));
        }
        fold
    }
}
