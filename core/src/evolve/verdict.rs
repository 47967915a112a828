//! Verdicts, and what follows from them.

use super::{Fold, Place};
use std::collections::{BTreeMap, BTreeSet};

use crate::convergence::{Measured, Signal};
use crate::event::{DecisionSource, StageRaised, StepEnd, StepEnded, VerdictReached};
use crate::evidence::Decision;
use crate::judge::reason::{is_contrary, is_of_answer};
use crate::state::{Feedback, RunState, StepPhase, StepState, Unread};
use crate::truncate;

/// Most bytes of what was read instead of a verdict that are kept.
const UNREAD_BYTES: usize = 300;

impl RunState {
    pub(super) fn verdict_reached(&mut self, event: &VerdictReached, place: Place) -> Fold {
        let Some(at) = self.position(&event.step) else { return Fold::Impossible };
        let plan = self.plan.clone();
        let Some(configured) = plan.as_deref().map(|plan| &plan.started.workflow.steps[at]) else {
            return Fold::Impossible;
        };
        let is_controlled = configured.convergence.is_some();
        let step = &mut self.steps[at];
        if event.iteration != step.iteration || step.phase.is_in_flight() || step.phase.end().is_some() {
            return Fold::Impossible;
        }
        step.parse_failures = event.parse_failures;
        if event.parse_failures == 0 {
            step.unread.clear();
        } else {
            let problem =
                event.problems.last().map_or("nothing was said", |it| truncate::head(it, UNREAD_BYTES));
            step.unread.push(Unread {
                seq: place.seq,
                iteration: event.iteration,
                problem: problem.to_owned(),
            });
            step.unread.drain(..step.unread.len().saturating_sub(StepState::UNREAD_MAX));
        }
        step.weather_tries = 0;
        if configured.completion.is_some() {
            step.count_occurrences(&event.fingerprints, event.source);
        }
        step.feedback = Feedback {
            iteration: event.iteration,
            decision: Some(event.decision),
            source: Some(event.source),
            check_id: event.check_id.clone(),
            check_id_match: event.check_id_match,
            reasons: event.reasons.clone(),
            fingerprints: event.fingerprints.clone(),
            problems: event.problems.clone(),
            said: std::mem::take(&mut step.feedback.said),
            output: std::mem::take(&mut step.feedback.output),
            from_person: std::mem::take(&mut step.feedback.from_person),
        };
        if is_controlled && event.decision == Decision::Incomplete && event.parse_failures == 0 {
            // The worker itself is no judge, and neither is an exit status.
            let has_judge = !configured.claims() && event.source != DecisionSource::ExitCode;
            if step.convergence.key().is_none() {
                let open_boxes = step.began_with.as_ref().and_then(|it| it.open_boxes);
                step.convergence.begin(&Measured { open_boxes, ..Measured::default() });
            }
            let workspace = self.last_snapshot.as_deref();
            let results = step.results[0].as_deref().unwrap_or_default();
            let by_validators = event.source == DecisionSource::Validators;
            let validators = if by_validators { &step.verified.validators[..] } else { &[] };
            let open_boxes = workspace.and_then(|it| it.open_boxes);
            let mut measured = Measured::of(results, validators, open_boxes);
            // A decision that was overruled has fingerprints that are no findings of the judge.
            if event.source == DecisionSource::Closer || event.source.is_said() && event.claimed.is_none() {
                measured.source = Some(event.source);
                measured.failures = u64::try_from(event.fingerprints.len()).ok();
            }
            step.convergence.note(&Signal {
                fingerprints: &event.fingerprints,
                reasons: if has_judge { &event.reasons } else { &[] },
                workspace: workspace.map(|it| it.state()),
                changed: step.changed_now,
                measured,
            });
        }
        Fold::Done
    }

    pub(super) fn stage_raised(&mut self, event: &StageRaised, place: Place) -> Fold {
        self.with_step(&event.step, |step| {
            if event.to < event.from {
                return Fold::Impossible;
            }
            step.convergence.raise(event.to, event.cause, event.count);
            step.raised = Some(place.seq);
            Fold::Done
        })
    }

    pub(super) fn step_ended(&mut self, event: &StepEnded, place: Place) -> Fold {
        let now = self.workspace_now();
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
                step.rest(&now);
            }
            step.ended = Some(place.seq);
            step.ended_at = Some(place.at);
            Fold::Done
        })
    }
}

impl StepState {
    /// Counts the failures that come back. A set that became smaller is progress and counts as no occurrence;
    /// a failure that went away begins again.
    ///
    /// An answer that is none says nothing of the rest, so what the conditions found before it still counts.
    pub(super) fn count_occurrences(&mut self, fingerprints: &[String], source: DecisionSource) {
        let of_answers = source == DecisionSource::Answer;
        let (compared, kept): (BTreeMap<String, u32>, BTreeMap<String, u32>) =
            std::mem::take(&mut self.occurrences)
                .into_iter()
                .partition(|(it, _)| is_of_answer(it) == of_answers);
        let now: BTreeSet<&String> = fingerprints.iter().collect();
        let shrank = now.len() < compared.len();
        // A claim of completion comes back only where one of the failures that speak against it does: three different
        // ones are progress, whatever the worker says of each.
        let is_back = |it: &String| !is_contrary(it) && compared.contains_key(it);
        let claim_is_back = now.iter().any(|it| is_back(it));
        let count = |it: &String| match compared.get(it) {
            Some(count) if claim_is_back || !is_contrary(it) => count.saturating_add(u32::from(!shrank)),
            _ => 1,
        };
        let counted = now.into_iter().map(|it| (it.clone(), count(it)));
        self.occurrences = counted.chain(kept.into_iter().filter(|_| of_answers)).collect();
    }

    /// Gives a step that had ended its patience back: counters that ended it start afresh.
    pub(super) fn begin_again(&mut self) {
        if let StepPhase::Ended(end) = &self.phase {
            match end {
                StepEnd::Stuck(_) => self.convergence.restart(),
                StepEnd::Undecidable(_) => {
                    self.parse_failures = 0;
                    self.unread.clear();
                }
                StepEnd::WorkerFailed(_) => self.retries = 0,
                StepEnd::CheckFailed(_) | StepEnd::CheckCouldNotRun(_) => self.check_retries = 0,
                StepEnd::WaitExpired => self.waiting_since = None,
                StepEnd::AttemptsExhausted(_) => {
                    self.occurrences.clear();
                    self.repeats = 0;
                }
                _ => {}
            }
            (self.ended, self.ended_at) = (None, None);
        }
    }
}
