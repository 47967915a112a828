//! Commands that a state admits.

use std::mem;

use crate::budget::BudgetExceeded;
use crate::event::{
    AnswerGiven, AttemptLost, CheckFinished, Observation, RunOutcome, RunResumed, StepEnd, WorkerFinished,
    WorkerProgressed,
};
use crate::id::{Attempt, Iteration, Millis, StepId};
use crate::state::{RunPhase, RunState, StepPhase, StepState};
use crate::workflow::{CheckMethod, Gate, OnFailure, Step, Workflow};

/// Reason why a command is refused. Nothing is recorded then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum Rejection {
    #[error("the run has not been started")]
    NotStarted,
    #[error("the run has been started already")]
    AlreadyStarted,
    #[error("the run has ended: {}", .0.as_str())]
    Ended(RunOutcome),
    #[error("the run is complete")]
    AlreadyComplete,
    #[error("the last allowed iteration is over")]
    NeedsIterations,
    #[error("the time of the run is over")]
    NeedsTime,
    #[error("the run waits for an answer")]
    NeedsAnswer,
    #[error("the money of the run is spent: {0}")]
    NeedsMoney(BudgetExceeded),
    #[error("the run does not wait for an answer")]
    NothingToAnswer,
    #[error("step {0} does not wait for an answer")]
    NotBlocked(StepId),
    #[error("the run does not wait for anything")]
    NothingToWaitFor,
    #[error(
        "step {0} has begun, so it cannot be left out, or get another kind of worker or check, or a gate that needs a new baseline"
    )]
    StepConflict(StepId),
    #[error("step {step}: attempt {attempt} of iteration {iteration} is not {expected}")]
    NotExpected { step: StepId, iteration: Iteration, attempt: Attempt, expected: &'static str },
}

impl RunState {
    /// Checks that a command fits the state.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] if it does not.
    pub fn check_allowed(&self, command: &Observation) -> Result<(), Rejection> {
        match (&self.phase, command) {
            (RunPhase::Empty, Observation::RunStarted(_)) => return Ok(()),
            (RunPhase::Empty, _) => return Err(Rejection::NotStarted),
            (_, Observation::RunStarted(_)) => return Err(Rejection::AlreadyStarted),
            (_, Observation::LogRepaired(_) | Observation::SnapshotTaken(_)) => return Ok(()),
            (_, Observation::RunResumed(event)) => return self.check_resume_allowed(event),
            (RunPhase::Ended(RunOutcome::Blocked, _), Observation::AnswerGiven(event)) => {
                return self.check_answer_allowed(event);
            }
            (_, Observation::AnswerGiven(_)) => return Err(Rejection::NothingToAnswer),
            (_, Observation::Kicked) if !self.is_waiting() => return Err(Rejection::NothingToWaitFor),
            (RunPhase::Ended(outcome, _), _) => return Err(Rejection::Ended(*outcome)),
            (RunPhase::Stopping(why, _), Observation::WorkerStarted(_) | Observation::CheckStarted(_)) => {
                return Err(Rejection::Ended(*why));
            }
            (RunPhase::Active | RunPhase::Stopping(..), _) => {}
        }
        match command {
            Observation::WorkerStarted(e) => {
                self.expects(&e.step, e.iteration, e.attempt, "due as work", |phase| {
                    *phase == StepPhase::WorkDue
                })
            }
            Observation::CheckStarted(e) => {
                self.expects(&e.step, e.iteration, e.attempt, "due as a check", |phase| {
                    *phase == StepPhase::CheckDue
                })
            }
            Observation::WorkerProgressed(WorkerProgressed { step, iteration, attempt, .. }) => {
                self.expects(step, *iteration, *attempt, "in flight", StepPhase::is_in_flight)
            }
            Observation::WorkerFinished(WorkerFinished { step, iteration, attempt, .. })
            | Observation::WorkerLost(AttemptLost { step, iteration, attempt, .. }) => {
                self.expects(step, *iteration, *attempt, "in flight as work", |phase| {
                    matches!(phase, StepPhase::Working(_))
                })
            }
            Observation::CheckFinished(CheckFinished { step, iteration, attempt, .. })
            | Observation::CheckLost(AttemptLost { step, iteration, attempt, .. }) => {
                self.expects(step, *iteration, *attempt, "in flight as a check", |phase| {
                    matches!(phase, StepPhase::Checking(_))
                })
            }
            _ => Ok(()),
        }
    }

    fn check_answer_allowed(&self, event: &AnswerGiven) -> Result<(), Rejection> {
        match event.steps.iter().find(|step| !self.is_blocked(step)) {
            None => Ok(()),
            Some(other) => Err(Rejection::NotBlocked(other.clone())),
        }
    }

    fn check_resume_allowed(&self, event: &RunResumed) -> Result<(), Rejection> {
        if let Some(change) = &event.change {
            if let Some(step) = self.step_that_conflicts(&change.workflow) {
                return Err(Rejection::StepConflict(step));
            }
            let mut changed = self.clone();
            changed.change_workflow(change, self.last_at);
            return changed.check_resume_allowed(&RunResumed { change: None, ..event.clone() });
        }
        let RunPhase::Ended(outcome, _) = self.phase else { return Ok(()) };
        let out_of_time = self.time_allowed().is_some_and(|allowed| self.clock.used >= allowed);
        match outcome {
            RunOutcome::Complete => Err(Rejection::AlreadyComplete),
            // A blocked run may move to another place, and then waits for its answer there.
            RunOutcome::Blocked if event.workspace.is_none() => Err(Rejection::NeedsAnswer),
            RunOutcome::Blocked => Ok(()),
            _ if out_of_time && event.add_time == Millis(0) && !event.renews_time => {
                Err(Rejection::NeedsTime)
            }
            _ if let Some(bound) = self.budget_exceeded_after(event) => Err(Rejection::NeedsMoney(bound)),
            _ if event.add_iterations == 0 && !self.steps().any(|(step, at)| self.can_continue(step, at)) => {
                Err(Rejection::NeedsIterations)
            }
            _ => Ok(()),
        }
    }

    /// Returns a step that has begun and that a workflow leaves out, or of which it changes the kind of work or check.
    pub fn step_that_conflicts(&self, workflow: &Workflow) -> Option<StepId> {
        let conditions = |step: &Step| step.completion.as_ref().map(|completion| completion.conditions.len());
        // A gate that compares needs what was there before the work.
        let lacks_baseline = |old: &Step, new: &Step| {
            let compares = |step: &Step| match step.check.as_ref().map(|check| &check.by) {
                Some(CheckMethod::Commands(commands)) => {
                    commands.iter().any(|command| command.gate == Gate::NoNewFailures)
                }
                _ => false,
            };
            compares(new) && (old.checks() != new.checks() || !compares(old))
        };
        let fits = |old: &Step, new: &Step| {
            let kind = |step: &Step| step.check.as_ref().map(|check| mem::discriminant(&check.by));
            mem::discriminant(&old.work) == mem::discriminant(&new.work)
                && kind(old) == kind(new)
                && conditions(old) == conditions(new)
                && !lacks_baseline(old, new)
        };
        let has_begun =
            |at: &StepState| !matches!(at.phase, StepPhase::Pending | StepPhase::Ended(StepEnd::Skipped(_)));
        let mut begun = self.steps().filter(|(_, at)| has_begun(at)).map(|(step, _)| step);
        let conflict = begun.find(|old| !workflow.steps.iter().any(|new| new.id == old.id && fits(old, new)));
        conflict.map(|step| step.id.clone())
    }

    /// Returns whether a resume gives a step something to do.
    fn can_continue(&self, step: &Step, at: &StepState) -> bool {
        match &at.phase {
            StepPhase::Pending => !step.depends_on.iter().any(|on| self.is_closed(on)),
            StepPhase::Ended(StepEnd::Complete | StepEnd::Incomplete | StepEnd::Skipped(_)) => false,
            StepPhase::Ended(_) => !self.needs_iterations(step, at),
            _ => true,
        }
    }

    /// Returns whether a step has ended so that its dependents cannot start.
    pub(super) fn is_closed(&self, id: &StepId) -> bool {
        let Some((step, at)) = self.step(id) else { return false };
        let continues = step.on_failure == OnFailure::Continue;
        at.phase.end().is_some_and(|end| !end.lets_dependents_run(continues))
    }

    /// Returns whether a step can only continue with an iteration beyond its maximum.
    pub(super) fn needs_iterations(&self, step: &Step, at: &StepState) -> bool {
        let goes_on_in_next = matches!(
            at.phase,
            StepPhase::Ended(
                StepEnd::IterationsExhausted | StepEnd::AttemptsExhausted(_) | StepEnd::Stuck(_)
            )
        );
        goes_on_in_next && at.iteration() >= self.max_iterations(step, at)
    }

    fn expects(
        &self,
        step: &StepId,
        iteration: Iteration,
        attempt: Attempt,
        expected: &'static str,
        fits: impl Fn(&StepPhase) -> bool,
    ) -> Result<(), Rejection> {
        let at = self.step(step).map(|(_, at)| at);
        if at.is_some_and(|at| fits(&at.phase) && at.iteration() == iteration && at.attempt() == attempt) {
            return Ok(());
        }
        Err(Rejection::NotExpected { step: step.clone(), iteration, attempt, expected })
    }
}
