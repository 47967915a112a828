//! Events of the run: it starts, it is resumed, a person answers, it ends.

use super::{Fold, Place};
use std::sync::Arc;

use crate::event::{
    AnswerGiven, RunEnded, RunOutcome, RunResumed, RunStarted, StepEnd, WaitReason, WorkflowChange,
};
use crate::id::{Millis, StepId, Timestamp};
use crate::state::{RunConfig, RunPhase, RunState, StepPhase, StepState};
use crate::workflow::Worker;

impl RunState {
    pub(super) fn on_run_started(&mut self, event: &RunStarted, place: Place) -> Fold {
        if self.phase != RunPhase::Empty {
            return Fold::Impossible;
        }
        let steps = &event.workflow.steps;
        self.steps = vec![StepState::default(); steps.len()];
        let index = steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
        self.plan = Some(Arc::new(RunConfig { started: event.clone(), index }));
        self.phase = RunPhase::Active;
        self.clock.running_since = place.at;
        Fold::Done
    }

    pub(super) fn on_run_resumed(&mut self, event: &RunResumed, place: Place) -> Fold {
        if self.phase == RunPhase::Empty {
            return Fold::Impossible;
        }
        if event.change.as_ref().is_some_and(|change| self.step_that_conflicts(&change.workflow).is_some()) {
            return Fold::Impossible;
        }
        self.continue_run(place, event.add_iterations);
        if let Some(change) = &event.change {
            self.change_workflow(change, place.at);
        }
        if let Some((plan, workspace)) = self.plan.as_mut().zip(event.workspace.as_ref()) {
            Arc::make_mut(plan).started.move_workspace(workspace);
        }
        self.clock.extra = self.clock.extra.plus(event.add_time);
        if let Some(workflow) = self.workflow().filter(|_| event.renews_time) {
            self.clock.renewed = self.clock.renewed.plus(workflow.timeout);
        }
        self.extra_iterations = self.extra_iterations.saturating_add(event.add_iterations);
        self.spending.resume(event);
        if let Some(worker) = &event.worker {
            self.replace_workers(worker, place);
        }
        if let Some(plan) = self.plan.as_mut().filter(|_| !event.secrets.is_empty()) {
            Arc::make_mut(plan).started.secrets.extend_from_slice(&event.secrets);
        }
        if let Some(hint) = &event.hint {
            self.message_unfinished_steps(hint, |_| true);
        }
        Fold::Done
    }

    /// Replaces the workflow. Each step keeps its state, except for what another worker or check makes void.
    pub(crate) fn change_workflow(&mut self, change: &WorkflowChange, at: Timestamp) {
        let workflow = &change.workflow;
        let Some(plan) = self.plan.clone() else { return };
        let mut waited = Millis(0);
        let states = workflow.steps.iter().map(|step| {
            let Some(place) = self.position(&step.id) else { return StepState::default() };
            let mut state = std::mem::take(&mut self.steps[place]);
            waited = waited.plus(state.follow_change(&plan.started.workflow.steps[place], step, at));
            state
        });
        self.steps = states.collect();
        self.outage_wait = self.outage_wait.minus(waited);
        let index = workflow.steps.iter().enumerate().map(|(at, step)| (step.id.clone(), at)).collect();
        let workflow_digest = change.digest.or(plan.started.workflow_digest);
        let started = RunStarted { workflow: workflow.clone(), workflow_digest, ..plan.started.clone() };
        self.plan = Some(Arc::new(RunConfig { started, index }));
    }

    /// Replaces the worker. Limits of the previous workers no longer count, so their services are not waited for.
    pub(super) fn replace_workers(&mut self, worker: &Worker, place: Place) {
        let Some(plan) = &mut self.plan else { return };
        let plan = Arc::make_mut(plan);
        plan.started.workflow.replace_workers(worker);
        for (step, at) in plan.started.workflow.steps.iter().zip(&mut self.steps) {
            if !step.can_replace_worker() {
                continue;
            }
            self.outage_wait = self.outage_wait.minus(at.begin_chain_anew(place.at));
        }
    }

    pub(super) fn on_answer_given(&mut self, event: &AnswerGiven, place: Place) -> Fold {
        let is_asked = matches!(self.phase, RunPhase::Ended(RunOutcome::Blocked, _));
        if !is_asked || !event.steps.iter().all(|step| self.is_blocked(step)) {
            return Fold::Impossible;
        }
        self.continue_run(place, 0);
        self.message_unfinished_steps(&event.text, |step| event.is_for(step));
        Fold::Done
    }

    /// Restarts the clock, and makes skipped steps wait for their turn again.
    pub(super) fn continue_run(&mut self, place: Place, add_iterations: u32) {
        let reopens = self.reopens(add_iterations);
        self.nothing_in_flight();
        if !matches!(self.phase, RunPhase::Ended(..)) {
            // The supervisor died: its time ran until its last recorded event.
            let ran = self.clock.alive_until.since(self.clock.running_since);
            self.clock.used = self.clock.used.plus(ran);
        }
        let paused = place.at.since(self.clock.alive_until);
        self.clock.running_since = place.at;
        self.phase = RunPhase::Active;
        for step in &mut self.steps {
            // The time limit of an external job excludes the pause of the run.
            step.tries.waiting_since = step.tries.waiting_since.map(|since| since.after(paused));
            if reopens && matches!(step.phase, StepPhase::Ended(StepEnd::Skipped(_))) {
                step.phase = StepPhase::Pending;
                (step.ended, step.ended_at) = (None, None);
            }
        }
    }

    pub(super) fn message_unfinished_steps(&mut self, text: &str, is_for: impl Fn(&StepId) -> bool) {
        let Some(plan) = self.plan.clone() else { return };
        for (step, at) in plan.started.workflow.steps.iter().zip(&mut self.steps) {
            let is_finished = matches!(at.phase, StepPhase::Ended(StepEnd::Complete | StepEnd::Incomplete));
            if !is_finished && is_for(&step.id) {
                at.feedback.from_person.push(text.to_owned());
            }
        }
    }

    /// Ends all waits now; the rest of a wait does not count. A chain restarts at its first worker, so that all are
    /// tried in order.
    pub(super) fn on_retry_requested(&mut self, place: Place) -> Fold {
        for step in &mut self.steps {
            step.calls.rests.forget();
            let StepPhase::Waiting { until, why, then } = &mut step.phase else { continue };
            if matches!(why, WaitReason::Weather(_)) {
                self.outage_wait = self.outage_wait.minus(until.since(place.at));
                step.calls.switch_to(*then, 0);
            }
            *until = place.at;
        }
        Fold::Done
    }

    /// Excludes a suspension from the time of the run. A wait excludes this time anyway, so it is not counted twice.
    pub(super) fn on_suspended(&mut self, length: Millis, place: Place) -> Fold {
        if !matches!(self.phase, RunPhase::Active | RunPhase::Stopping(..)) {
            return Fold::Impossible;
        }
        let length = length.at_most(place.at.since(self.clock.running_since));
        let began = place.at.before(length);
        self.clock.running_since = self.clock.running_since.after(length);
        for step in &mut self.steps {
            step.tries.waiting_since = step.tries.waiting_since.map(|since| since.after(length));
            if let StepPhase::Waiting { until, why: WaitReason::Weather(_), .. } = step.phase {
                self.outage_wait = self.outage_wait.minus(until.since(began).at_most(length));
            }
        }
        Fold::Done
    }

    pub(super) fn on_run_stopping(&mut self, why: RunOutcome, place: Place) -> Fold {
        let is_new = !matches!(self.phase, RunPhase::Stopping(since, _) if since == why);
        if !self.phase.allows_in_flight() || !is_new {
            return Fold::Impossible;
        }
        self.phase = RunPhase::Stopping(why, place.seq);
        Fold::Done
    }

    pub(super) fn on_run_ended(&mut self, event: &RunEnded, place: Place) -> Fold {
        let can_end = matches!(self.phase, RunPhase::Active | RunPhase::Stopping(..));
        if !can_end || self.in_flight().next().is_some() {
            return Fold::Impossible;
        }
        self.clock.used = self.clock.used.plus(place.at.since(self.clock.running_since));
        self.phase = RunPhase::Ended(event.outcome, place.seq);
        self.nothing_in_flight();
        Fold::Done
    }
}
