//! Events of a check, and of waiting.

use super::work::begun;
use super::{Fold, Place};
use std::sync::Arc;

use crate::convergence::Measured;
use crate::event::{
    CheckFinished, CheckRequested, CheckStarted, Inquiry, Next, Outcome, WaitReason, WaitRequested,
};
use crate::id::Iteration;
use crate::judge::scope::{self, Drift};
use crate::snapshot::Snapshot;
use crate::state::{Feedback, RunState, StepPhase};
use crate::text::plain::strip_ansi;
use crate::truncate;

impl RunState {
    pub(super) fn check_started(&mut self, event: &CheckStarted, place: Place) -> Fold {
        let now = self.last_snapshot.clone();
        self.with_step(&event.step, |step| {
            if step.phase != StepPhase::CheckDue || !step.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            step.goes_on(now);
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
            step.rests.note(step.turn(Next::Check), event.outcome.named_limit(place.at));
            step.phase = StepPhase::CheckDue;
            step.attempt = step.attempt.next();
            step.checks_changed.extend(event.changed.iter().cloned());
            if event.outcome.exit.is_stopped() {
                return Fold::Done;
            }
            match step.inquiry {
                Inquiry::Check => step.feedback.output = shown_output(&event.outcome),
                Inquiry::Preflight => {}
                Inquiry::Conditions => {
                    step.verified.validators = event.validators.clone().into();
                    step.verified.workspace = workspace;
                    step.verified.stamp = event.stamp;
                    step.verified.is_outdated = false;
                    step.verified.unsettled = step.verified.unsettled.saturating_add(u32::from(changed));
                }
                Inquiry::Closer => {
                    step.verified.closer.clone_from(&event.answer);
                    let then = step.verified.workspace.as_deref();
                    let same = workspace.as_deref().zip(then).is_none_or(|(now, then)| now.same_work(then));
                    step.verified.is_outdated = !same || event.stamp != step.verified.stamp;
                }
            }
            if let Some(drift) = &event.drift {
                scope::checked(&mut step.by_checks, &step.drift, drift);
                let put_back = std::mem::take(&mut step.drift.put_back);
                step.drift = Drift { put_back, ..(**drift).clone() };
            }
            if step.inquiry != Inquiry::Check {
                return Fold::Done;
            }
            let results = (!event.commands.is_empty()).then(|| event.commands.clone().into());
            if event.iteration == Iteration::BASELINE {
                step.convergence.begin(&Measured::of(&event.commands, &[], open_boxes));
                step.baseline = results;
            } else {
                step.results = [results, step.results[0].take()];
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
            step.inquiry = event.what;
            step.claim.clone_from(&event.claim);
            step.phase = StepPhase::CheckDue;
            Fold::Done
        })
    }

    pub(super) fn wait_requested(&mut self, event: &WaitRequested, place: Place) -> Fold {
        let fold = self.with_step(&event.step, |step| {
            if step.phase.is_in_flight() || step.phase == StepPhase::Pending || step.phase.end().is_some() {
                return Fold::Impossible;
            }
            let counter = match event.why {
                WaitReason::Retry(_) => Some(&mut step.retries),
                WaitReason::CheckRetry(_) => Some(&mut step.check_retries),
                WaitReason::Weather(_) => Some(&mut step.weather_tries),
                WaitReason::ExternalJob => {
                    step.waiting_since.get_or_insert(place.at);
                    None
                }
            };
            if let Some(counter) = counter {
                *counter = counter.saturating_add(1);
            }
            step.phase = StepPhase::Waiting { until: event.until, then: event.then, why: event.why };
            Fold::Done
        });
        if matches!((&fold, event.why), (Fold::Done, WaitReason::Weather(_))) {
            self.weather_wait = self.weather_wait.plus(event.until.since(place.at));
        }
        fold
    }
}

/// Returns the end of what a check printed, for the next prompt.
pub(super) fn shown_output(outcome: &Outcome) -> String {
    let text = if outcome.answer.trim().is_empty() { &outcome.stderr_tail } else { &outcome.answer };
    truncate::tail(strip_ansi(text).trim(), Feedback::OUTPUT_MAX).to_owned()
}
