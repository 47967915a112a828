//! Progress of a run: which steps start, which are skipped, when it ends, and how it continues after a crash or an end.

use super::Batch;
use crate::completion::Completion;
use crate::event::{
    AnswerGiven, AttemptLost, Conclusion, Inquiry, RunEnded, RunOutcome, RunStopping, StepEnd, TurnKind,
};
use crate::id::{Attempt, Iteration, Seq, StepId};
use crate::state::{RunPhase, RunState, StepPhase};
use crate::workflow::{CheckMethod, Step, Workflow};

impl Batch {
    /// Skips, starts and ends steps as the state and the time require.
    pub(super) fn schedule(&mut self, cause: Seq) {
        let Some(plan) = self.state.plan.clone() else { return };
        let workflow = &plan.started.workflow;
        let is_active = self.state.phase == RunPhase::Active;
        let is_late = self.state.time_limit().is_some_and(|limit| self.at >= limit);
        let goes_on = is_active || self.state.in_flight().next().is_some();
        if goes_on && is_late {
            self.stop(RunOutcome::TimeLimit, cause);
        } else {
            if is_active {
                self.skip_unreachable(workflow);
                self.start_pending(workflow);
                self.start_ready(workflow);
            }
            if goes_on && self.state.is_exhausted() {
                self.stop(RunOutcome::SpendLimit, cause);
            }
        }
        match self.state.phase {
            RunPhase::Stopping(why, since) if self.state.in_flight().next().is_none() => {
                // A pending diagnosis is not work: if only that was left, the run is over.
                let ends = || self.state.steps.iter().map(|step| step.phase.end());
                let is_over = ends().all(|end| end.is_some())
                    && ends().any(|end| matches!(end, Some(StepEnd::Stuck(_))));
                self.end_run(workflow, Some(why).filter(|_| !is_over), since);
            }
            RunPhase::Active if self.state.steps.iter().all(|step| step.phase.end().is_some()) => {
                self.end_run(workflow, None, cause);
            }
            _ => {}
        }
    }

    fn skip_unreachable(&mut self, workflow: &Workflow) {
        loop {
            let skipped = workflow.steps.iter().find_map(|step| {
                let pending = self.at(&step.id).phase == StepPhase::Pending;
                let culprit =
                    pending.then(|| step.depends_on.iter().find(|on| self.state.is_closed(on)))??;
                Some((step.id.clone(), culprit.clone()))
            });
            let Some((step, culprit)) = skipped else { return };
            let evidence = self.at(&culprit).ended.into_iter().collect();
            self.end_step(&step, StepEnd::Skipped(culprit), evidence);
        }
    }

    fn start_pending(&mut self, workflow: &Workflow) {
        for step in &workflow.steps {
            let at = self.at(&step.id);
            let StepPhase::Waiting { until, then, .. } = at.phase else { continue };
            if until > self.at {
                continue;
            }
            let (iteration, attempt) = (at.iteration(), at.attempt());
            match then {
                TurnKind::Work => self.request_work(&step.id, iteration, attempt),
                TurnKind::Check => self.request_check(&step.id, iteration, attempt),
            }
        }
    }

    fn start_ready(&mut self, workflow: &Workflow) {
        let places = self.state.concurrency_limit();
        for step in &workflow.steps {
            if self.state.active().count() >= places {
                return;
            }
            let ready = self.at(&step.id).phase == StepPhase::Pending
                && step
                    .depends_on
                    .iter()
                    .all(|on| self.at(on).phase.end().is_some() && !self.state.is_closed(on))
                && RunState::can_run_concurrently(step, self.state.active());
            // A missing base must be found before the first paid call.
            let preflight = step.completion.as_ref().is_some_and(Completion::has_preflight)
                || step.convergence.as_ref().is_some_and(crate::workflow::ConvergencePolicy::names_base)
                    && step.check.is_some();
            match (ready, preflight) {
                (false, _) => {}
                (true, true) => {
                    self.ask(&step.id, Iteration::BASELINE, Attempt(1), Inquiry::Preflight, None);
                }
                (true, false) => self.begin_work(step),
            }
        }
    }

    /// Starts nothing new. Activity that may finish can still be stopped for another reason.
    pub(super) fn stop(&mut self, why: RunOutcome, cause: Seq) {
        let is_known = matches!(self.state.phase, RunPhase::Stopping(since, _) if since == why);
        if self.state.phase.allows_in_flight() && !is_known {
            self.push(Conclusion::RunStopping(RunStopping { why, evidence: vec![cause] }));
        }
    }

    fn end_run(&mut self, workflow: &Workflow, why: Option<RunOutcome>, cause: Seq) {
        let ended = |id: &StepId| self.at(id).phase.end().cloned().zip(self.at(id).ended);
        // The step that failed first decides; later failures may be its consequence.
        let failed = workflow.steps.iter().filter_map(|step| {
            let (end, seq) = ended(&step.id)?;
            Some((seq, step.id.clone(), end.outcome()?))
        });
        let mut failed: Vec<_> = failed.collect();
        failed.sort_by_key(|(seq, ..)| *seq);
        let deciding = failed.iter().find(|(_, _, outcome)| why.is_none() || why == Some(*outcome)).cloned();
        let incomplete = |step: &&Step| matches!(ended(&step.id), Some((StepEnd::Incomplete, _)));
        let incomplete_steps = workflow.steps.iter().filter(incomplete).map(|step| step.id.clone()).collect();
        let (outcome, step, evidence) = match (why, deciding) {
            (Some(RunOutcome::Blocked) | None, Some((seq, step, outcome))) => {
                let others = failed.iter().map(|(event, ..)| *event).filter(|event| *event != seq);
                (outcome, Some(step), std::iter::once(seq).chain(others).collect())
            }
            (Some(why), _) => (why, None, vec![cause]),
            (None, None) => {
                let ends = self.state.steps.iter().filter_map(|step| step.ended);
                (RunOutcome::Complete, None, ends.collect())
            }
        };
        self.push(Conclusion::RunEnded(RunEnded { outcome, step, incomplete_steps, evidence }));
    }

    /// Restarts the activity that was in flight when the supervisor died. It costs no retry.
    pub(super) fn retry_lost(&mut self, lost: &AttemptLost) {
        let at = self.at(&lost.step);
        let (due, attempt) = (at.phase.clone(), at.attempt());
        match due {
            StepPhase::WorkDue => self.request_work(&lost.step, lost.iteration, attempt),
            StepPhase::CheckDue => self.request_check(&lost.step, lost.iteration, attempt),
            _ => {}
        }
    }

    /// Reopens steps that did not end well, where they ended; blocked ones only if the answer is for them.
    pub(super) fn reopen_ended_steps(&mut self, answer: Option<&AnswerGiven>) {
        let Some(plan) = self.state.plan.clone() else { return };
        for step in &plan.started.workflow.steps {
            let at = self.at(&step.id);
            let StepPhase::Ended(end) = &at.phase else { continue };
            if self.state.needs_iterations(step, at) {
                continue;
            }
            let (iteration, attempt) = (at.iteration(), at.attempt());
            // A child run is resumed as the same run; the next iteration has another one.
            let has_open_child =
                at.calls.child.as_ref().is_some_and(|child| child.end != RunOutcome::Complete);
            // The last inquiry is repeated; a worker that is its own check has to work again.
            let claim = at.verdicts.inquiry == Inquiry::Check
                && step
                    .check
                    .as_ref()
                    .is_none_or(|check| matches!(check.by, CheckMethod::Claim | CheckMethod::Conditions));
            match end {
                StepEnd::Complete | StepEnd::Incomplete | StepEnd::Skipped(_) => {}
                StepEnd::Blocked(_) if !answer.is_some_and(|answer| answer.is_for(&step.id)) => {}
                _ if has_open_child => self.request_work(&step.id, iteration, attempt),
                StepEnd::Blocked(_)
                | StepEnd::IterationsExhausted
                | StepEnd::AttemptsExhausted(_)
                | StepEnd::Stuck(_) => {
                    self.request_work(&step.id, iteration.next(), Attempt(1));
                }
                StepEnd::CheckFailed(_)
                | StepEnd::CheckCouldNotRun(_)
                | StepEnd::ConditionFailed(_)
                | StepEnd::Undecidable(_)
                | StepEnd::WaitExpired
                    if !claim =>
                {
                    self.request_check(&step.id, iteration, attempt);
                }
                _ if iteration == Iteration::BASELINE => self.request_check(&step.id, iteration, attempt),
                _ => self.request_work(&step.id, iteration, attempt),
            }
        }
    }
}
