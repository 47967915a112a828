//! Events of the work of a step.

use super::{Fold, Place};
use std::sync::Arc;

use crate::call_report::CallError;
use crate::duration;
use crate::event::{
    AttemptLost, Call, Exit, FallbackTaken, Inquiry, Outcome, Purpose, StepEnd, TurnKind, WorkRequested,
    WorkerFinished, WorkerProgressed, WorkerStarted,
};
use crate::id::{CheckId, Iteration};
use crate::snapshot::Snapshot;
use crate::state::{ChildRunRecord, ClientSession, Feedback, InFlight, RunState, StepPhase, StepState};
use crate::truncate;
use crate::workflow::WorkerKind;

impl RunState {
    pub(super) fn on_worker_started(
        &mut self,
        event: &WorkerStarted,
        seen: Option<Arc<Snapshot>>,
        place: Place,
    ) -> Fold {
        let is_at_work = |step: &StepState| matches!(step.phase, StepPhase::Working(_));
        let is_beside = self.steps.iter().any(is_at_work);
        let fold = self.begin_work(event, seen, place, is_beside);
        if matches!(fold, Fold::Done) && is_beside {
            self.steps
                .iter_mut()
                .filter(|step| is_at_work(step))
                .for_each(|step| step.workspace.is_beside = true);
        }
        fold
    }

    pub(super) fn begin_work(
        &mut self,
        event: &WorkerStarted,
        seen: Option<Arc<Snapshot>>,
        place: Place,
        is_beside: bool,
    ) -> Fold {
        self.with_step(&event.step, |step| {
            if step.phase != StepPhase::WorkDue || !step.iteration.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            let begun = in_flight_at(place, event.check_id.as_ref(), event.call.clone());
            step.phase = StepPhase::Working(InFlight { registry: event.registry.clone(), ..begun });
            step.calls.started = step.calls.started.saturating_add(1);
            step.iteration.begin_work();
            step.workspace.begin_work(seen, is_beside);
            step.begun_at.get_or_insert(place.at);
            Fold::Done
        })
    }

    pub(super) fn on_worker_progressed(&mut self, event: &WorkerProgressed) -> Fold {
        self.with_step(&event.step, |step| {
            if !step.iteration.is_at(event.iteration, event.attempt) {
                return Fold::Impossible;
            }
            let (StepPhase::Working(in_flight) | StepPhase::Checking(in_flight)) = &mut step.phase else {
                return Fold::Impossible;
            };
            in_flight.progress = Some(event.progress.clone());
            Fold::Done
        })
    }

    pub(super) fn on_fallback_taken(&mut self, event: &FallbackTaken) -> Fold {
        let first = self.step(&event.step).and_then(|(step, at)| step.first(at.place_in_chain(event.what)));
        let has_place = first.is_some_and(|first| first.chain().count() > event.to as usize);
        self.with_step(&event.step, |step| {
            if !has_place || step.phase != StepPhase::due(event.what) {
                return Fold::Impossible;
            }
            step.calls.switch_to(event.what, event.to);
            Fold::Done
        })
    }

    pub(super) fn on_worker_finished(&mut self, event: &WorkerFinished, place: Place) -> Fold {
        if !self.is_in_flight(&event.step, TurnKind::Work, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        let of_child = match &event.outcome.exit {
            Exit::Child(child) => Some(&child.run),
            _ => None,
        };
        let before = self.spending.ledger.spent_in(of_child).tokens.total();
        self.count_cost(&event.step, Some(&event.outcome));
        let tokens = self.spending.ledger.spent_in(of_child).tokens.total().saturating_sub(before);
        self.end_turn(&event.step);
        let plain_exit = self.plain_exit(event);
        self.with_step(&event.step, |step| {
            step.calls.tokens = tokens;
            step.calls.child = child_record(step, &event.outcome, place).or(step.calls.child.take());
            let conversation = client_session(step, &event.outcome);
            step.workspace.clear_lost_work();
            step.phase = StepPhase::WorkDue;
            step.iteration.end_attempt();
            if step.iteration.purpose == Purpose::Diagnosis {
                step.diagnosis = diagnosis_text(&event.outcome);
                return Fold::Done;
            }
            step.calls.rests.record(step.place_in_chain(TurnKind::Work), event.outcome.limit_end(place.at));
            step.workspace.record_work(event);
            if !event.outcome.exit.is_stopped() {
                step.iteration.end_work(place.seq);
                step.calls.stalled = stall_reason(&event.outcome);
                step.calls.broke_off = event.outcome.cut_off_reason(event.changed).or(plain_exit);
                let is_in_vain = step.calls.broke_off.is_some() && event.changed == Some(false);
                step.calls.failed_in_vain =
                    if is_in_vain { step.calls.failed_in_vain.saturating_add(1) } else { 0 };
                step.calls.conversation = conversation;
                step.feedback.record_worker_message(&event.outcome.answer);
                step.verdicts.record_answer(event.answer.clone(), event.wants_repeat);
            }
            Fold::Done
        })
    }

    /// Returns how a command line ended that a check judges whatever its exit code is.
    fn plain_exit(&self, event: &WorkerFinished) -> Option<String> {
        let (step, at) = self.step(&event.step)?;
        let is_command = at.current_worker(step).is_some_and(|worker| worker.kind == WorkerKind::Command);
        let failure =
            event.outcome.plain_exit().filter(|_| is_command && step.check.is_some() && !step.claims());
        failure?.phrase
    }

    pub(super) fn on_lost(&mut self, event: &AttemptLost, what: TurnKind) -> Fold {
        if !self.is_in_flight(&event.step, what, (event.iteration, event.attempt)) {
            return Fold::Impossible;
        }
        self.count_cost(&event.step, None);
        self.end_turn(&event.step);
        self.with_step(&event.step, |step| {
            if what == TurnKind::Work {
                step.workspace.record_lost_worker();
            }
            step.phase = StepPhase::due(what);
            step.iteration.end_attempt();
            Fold::Done
        })
    }

    pub(super) fn on_work_requested(&mut self, event: &WorkRequested) -> Fold {
        let Some(at) = self.position(&event.step) else { return Fold::Impossible };
        let allowed = self.step(&event.step).map(|(step, at)| self.max_iterations(step, at));
        let step = &mut self.steps[at];
        let again = event.iteration == step.iteration() && event.iteration > Iteration(0);
        let nothing_to_diagnose = step.convergence.escalation_cause().is_none() || !again;
        if event.purpose == Purpose::Diagnosis && nothing_to_diagnose {
            return Fold::Impossible;
        }
        if step.phase.is_in_flight() || !(again || event.iteration == step.iteration().next()) {
            return Fold::Impossible;
        }
        let was_blocked = matches!(step.phase, StepPhase::Ended(StepEnd::Blocked(_)));
        if allowed.is_none_or(|allowed| event.iteration > allowed) {
            if !was_blocked {
                return Fold::Impossible;
            }
            // An answer from a person is worth an iteration.
            step.tries.extra_iterations = step.tries.extra_iterations.saturating_add(1);
        }
        step.begin_again();
        if !again {
            step.iteration.begin_iteration();
            step.tries.begin_iteration();
            step.workspace.begin_iteration();
            step.verdicts.claim = None;
        }
        step.verdicts.inquiry = Inquiry::Check;
        step.iteration.request_work(event.attempt, event.purpose);
        step.phase = StepPhase::WorkDue;
        Fold::Done
    }
}

/// Returns the child run that was the work of a step.
pub(super) fn child_record(step: &StepState, outcome: &Outcome, place: Place) -> Option<ChildRunRecord> {
    let (Exit::Child(ended), StepPhase::Working(begun)) = (&outcome.exit, &step.phase) else { return None };
    Some(ChildRunRecord { run: ended.run.clone(), end: ended.end, begun_at: begun.since, ended_at: place.at })
}

pub(super) fn in_flight_at(place: Place, check_id: Option<&CheckId>, call: Option<Box<Call>>) -> InFlight {
    InFlight {
        started: place.seq,
        since: place.at,
        check_id: check_id.cloned(),
        call,
        progress: None,
        registry: None,
    }
}

/// Describes the stall of a worker that Unstuck stopped because it was idle.
pub(super) fn stall_reason(outcome: &Outcome) -> Option<String> {
    let after = || duration::format_elapsed(outcome.duration);
    let said = || format!("stall: the worker was ended: {}, {} after it began", outcome.stall(), after());
    outcome.is_stalled().then(said)
}

/// Returns the conversation that can continue after a call. If the client reports no name, the name from the call
/// counts, provided that the call ended without trouble.
pub(super) fn client_session(step: &StepState, outcome: &Outcome) -> Option<ClientSession> {
    let reading = outcome.reading.as_deref()?;
    let is_over = matches!(reading.trouble, Some(CallError::NoSession | CallError::ContextOverflow));
    let StepPhase::Working(begun) = &step.phase else { return None };
    let named = begun.call.as_ref().and_then(|call| call.session.clone());
    let named = named.filter(|_| reading.trouble.is_none());
    let id = reading.session.clone().or(named).filter(|_| !is_over)?;
    Some(ClientSession { client: reading.client.clone(), id })
}

/// Returns the findings of a worker; `None` if it did not end, or reported nothing.
pub(super) fn diagnosis_text(outcome: &Outcome) -> Option<String> {
    let text = truncate::tail(outcome.answer.trim(), Feedback::DIAGNOSIS_MAX).to_owned();
    (!text.is_empty() && outcome.exit != Exit::Stopped).then_some(text)
}
