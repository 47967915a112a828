//! Verdicts, and what follows from them.

use super::{Fold, Place};

use crate::convergence::{IterationSignal, Measures};
use crate::event::{DecisionSource, StageRaised, StepEnd, StepEnded, VerdictReached};
use crate::evidence::Decision;
use crate::state::{RunState, StepPhase, StepState};

impl RunState {
    pub(super) fn on_verdict_reached(&mut self, event: &VerdictReached, place: Place) -> Fold {
        let Some(at) = self.position(&event.step) else { return Fold::Impossible };
        let plan = self.plan.clone();
        let Some(configured) = plan.as_deref().map(|plan| &plan.started.workflow.steps[at]) else {
            return Fold::Impossible;
        };
        let is_controlled = configured.convergence.is_some();
        let step = &mut self.steps[at];
        if event.iteration != step.iteration() || step.phase.is_in_flight() || step.phase.end().is_some() {
            return Fold::Impossible;
        }
        step.tries.outage = 0;
        step.verdicts.record_verdict(event, place.seq, configured.completion.is_some());
        step.feedback.record_verdict(event);
        if is_controlled && event.decision == Decision::Incomplete && event.parse_failures == 0 {
            // The worker itself is no judge, and neither is an exit status.
            let has_judge = !configured.claims() && event.source != DecisionSource::ExitCode;
            if step.convergence.key().is_none() {
                let open_boxes = step.workspace.began_with.as_ref().and_then(|snapshot| snapshot.open_boxes);
                step.convergence.begin(&Measures { open_boxes, ..Measures::default() });
            }
            let workspace = self.last_snapshot.as_deref();
            let results = step.evidence.results[0].as_deref().unwrap_or_default();
            let by_validators = event.source == DecisionSource::Validators;
            let validators = if by_validators { &step.verdicts.verified.validators[..] } else { &[] };
            let open_boxes = workspace.and_then(|snapshot| snapshot.open_boxes);
            let mut measured = Measures::new(results, validators, open_boxes);
            // A decision that was overruled has fingerprints that are no findings of the judge.
            if event.source == DecisionSource::Closer || event.source.is_stated() && event.claimed.is_none() {
                measured.source = Some(event.source);
                measured.failures = u64::try_from(event.fingerprints.len()).ok();
            }
            step.convergence.record(&IterationSignal {
                fingerprints: &event.fingerprints,
                reasons: if has_judge { &event.reasons } else { &[] },
                workspace: workspace.map(|snapshot| snapshot.state()),
                changed: step.workspace.changed_now,
                measured,
            });
        }
        Fold::Done
    }

    pub(super) fn on_stage_raised(&mut self, event: &StageRaised, place: Place) -> Fold {
        self.with_step(&event.step, |step| {
            if event.to < event.from {
                return Fold::Impossible;
            }
            step.convergence.escalate(event.to, event.cause, event.count);
            step.raised = Some(place.seq);
            Fold::Done
        })
    }

    pub(super) fn on_step_ended(&mut self, event: &StepEnded, place: Place) -> Fold {
        let now = self.current_workspace();
        self.with_step(&event.step, |step| {
            let fits = match (&event.end, &step.phase) {
                (StepEnd::Skipped(_), phase) => *phase == StepPhase::Pending,
                (_, StepPhase::Pending | StepPhase::Ended(_)) => false,
                (_, phase) => !phase.is_in_flight(),
            };
            if !fits {
                return Fold::Impossible;
            }
            step.phase = StepPhase::Ended(event.end.clone());
            if let Some(now) = now {
                step.workspace.record_snapshot(&now);
            }
            step.ended = Some(place.seq);
            step.ended_at = Some(place.at);
            Fold::Done
        })
    }
}

impl StepState {
    /// Gives a step that had ended its patience back: counters that ended it start afresh.
    pub(super) fn begin_again(&mut self) {
        if let StepPhase::Ended(end) = &self.phase {
            match end {
                StepEnd::Stuck(_) => self.convergence.restart(),
                StepEnd::Undecidable(_) => {
                    self.verdicts.parse_failures = 0;
                    self.verdicts.unread.clear();
                }
                StepEnd::WorkerFailed(_) => (self.tries.work, self.calls.failed_in_vain) = (0, 0),
                StepEnd::CheckFailed(_) | StepEnd::CheckCouldNotRun(_) => self.tries.check = 0,
                StepEnd::WaitExpired => self.tries.waiting_since = None,
                StepEnd::AttemptsExhausted(_) => {
                    self.verdicts.occurrences.clear();
                    self.verdicts.repeats = 0;
                }
                _ => {}
            }
            (self.ended, self.ended_at) = (None, None);
        }
    }
}
