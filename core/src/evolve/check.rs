//! Events of a check, and of waiting.

use super::work::begun;
use super::{Fold, Place};
use std::sync::Arc;

use crate::convergence::Measured;
use crate::event::{CheckFinished, CheckRequested, CheckStarted, Inquiry, Next, WaitReason, WaitRequested};
use crate::id::Iteration;
use crate::snapshot::Snapshot;
use crate::state::{RunState, StepPhase};

impl RunState {
    pub(super) fn check_started(&mut self, event: &CheckStarted, place: Place) -> Fold {
        let now = self.last_snapshot.clone();
        self.with_step(&event.step, |step| {
            if step.phase != StepPhase::CheckDue || !step.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            step.workspace.goes_on(now);
            step.phase = StepPhase::Checking(begun(place, Some(&event.check_id), event.call.clone()));
            Fold::Done
        })
    }

    pub(super) fn check_finished(
        &mut self,
        event: &CheckFinished,
        workspace: Option<Arc<Snapshot>>,
        place: Place,
    ) -> Fold {
        if !self.is_in_flight(&event.step, Next::Check, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        let before = self.last_snapshot.as_deref();
        let changed = workspace.as_deref().zip(before).is_some_and(|(now, then)| !now.same_work(then));
        let open_boxes = workspace.as_ref().and_then(|it| it.open_boxes);
        self.count_cost(&event.step, Some(&event.outcome));
        self.turn_ended(&event.step);
        self.with_step(&event.step, |step| {
            step.calls.rests.note(step.place_in_chain(Next::Check), event.outcome.named_limit(place.at));
            step.phase = StepPhase::CheckDue;
            step.attempt = step.attempt.next();
            step.workspace.check_ended(event);
            if event.outcome.exit.is_stopped() {
                return Fold::Done;
            }
            step.verdicts.verified(event, workspace, changed);
            if step.verdicts.inquiry != Inquiry::Check {
                return Fold::Done;
            }
            step.feedback.check_printed(&event.outcome);
            step.evidence.checked(event.iteration, &event.commands);
            if event.iteration == Iteration::BASELINE {
                step.convergence.begin(&Measured::of(&event.commands, &[], open_boxes));
            }
            Fold::Done
        })
    }

    pub(super) fn check_requested(&mut self, event: &CheckRequested) -> Fold {
        self.with_step(&event.step, |step| {
            if step.phase.is_in_flight() || event.iteration != step.iteration {
                return Fold::Impossible;
            }
            step.begin_again();
            step.attempt = event.attempt;
            step.verdicts.inquiry = event.what;
            step.verdicts.claim.clone_from(&event.claim);
            step.phase = StepPhase::CheckDue;
            Fold::Done
        })
    }

    pub(super) fn wait_requested(&mut self, event: &WaitRequested, place: Place) -> Fold {
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
