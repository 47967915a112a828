//! The one place where decisions are taken: command and state to events.
//!
//! [`RunState::decide`] records the command as an observation, if the state admits it (`preconditions`), draws the
//! conclusions that follow from it (`work`, `check`, then `verify` and `verdict`; `outage` where a service is the
//! cause), and lets the run go on as far as it can without the world (`run`). All of it is one batch, which the store
//! appends whole.

mod check;
mod outage;
mod preconditions;
mod run;
mod verdict;
mod verify;
mod work;

pub use preconditions::Rejection;

use crate::event::{
    CheckRequested, Claimed, Conclusion, Event, Fact, Inquiry, Next, Observation, Purpose, RunOutcome,
    StepEnd, StepEnded, WaitReason, WaitRequested, WorkRequested,
};
use crate::id::{Attempt, Iteration, Millis, Seq, StepId, Timestamp};
use crate::state::{RunState, StepState};
use crate::workflow::{Step, WorkerKind};

/// What comes in: an observation to record, a deadline that passed, a person's order. It is
/// recorded as it is, so that a replay can give it again.
pub type Command = Observation;

impl RunState {
    /// Answers a command with the events to append, or says why it is refused.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] when the command does not fit the state; nothing is to be recorded then.
    pub fn decide(&self, command: Command, at: Timestamp) -> Result<Vec<Event>, Rejection> {
        self.admits(&command)?;
        // A clock that was set back must not make a span negative: order comes from the log.
        let at = at.max(self.last_at);
        let mut batch = Batch { state: self.clone(), at, events: Vec::new() };
        let cause = batch.push(command.clone());
        batch.conclude(self, &command, cause);
        let is_aside = matches!(
            command,
            Observation::LogRepaired(_) | Observation::SnapshotTaken(_) | Observation::Suspended(_)
        );
        if !is_aside {
            batch.settle(cause);
        }
        Ok(batch.events)
    }
}

/// The events of one decision, and the state they lead to.
struct Batch {
    state: RunState,
    at: Timestamp,
    events: Vec<Event>,
}

impl Batch {
    fn conclude(&mut self, before: &RunState, command: &Command, cause: Seq) {
        match command {
            Observation::WorkerFinished(event) => self.work_ended(before, event, cause),
            Observation::CheckFinished(event) => self.check_ended(before, event, cause),
            Observation::WorkerLost(event) | Observation::CheckLost(event) => self.try_again(event),
            Observation::RunResumed(event) if before.reopens(event.add_iterations) => {
                self.reopen_ended_steps(None);
            }
            Observation::AnswerGiven(event) => self.reopen_ended_steps(Some(event)),
            Observation::RunInterrupted(event) => self.stop(RunOutcome::Interrupted(event.signal), cause),
            Observation::RunStarted(_)
            | Observation::RunResumed(_)
            | Observation::WorkerStarted(_)
            | Observation::CheckStarted(_)
            | Observation::WorkerProgressed(_)
            | Observation::Kicked
            | Observation::Suspended(_)
            | Observation::DeadlinePassed
            | Observation::LogRepaired(_)
            | Observation::SnapshotTaken(_) => {}
        }
    }
}

// Small words.
impl Batch {
    fn push(&mut self, fact: impl Into<Fact>) -> Seq {
        let event = Event { seq: self.state.version.next(), at: self.at, fact: fact.into() };
        self.state = std::mem::take(&mut self.state).evolve(&event);
        let seq = event.seq;
        self.events.push(event);
        seq
    }

    fn at(&self, id: &StepId) -> &StepState {
        let (_, at) =
            self.state.step(id).expect("steps are named by the workflow that the state was made from");
        at
    }

    /// An attempt in the same iteration is for what the one before was for.
    fn request_work(&mut self, step: &StepId, iteration: Iteration, attempt: Attempt) {
        let at = self.at(step);
        let purpose = if iteration == at.iteration { at.purpose } else { Purpose::Work };
        self.request(step, iteration, attempt, purpose);
    }

    fn request(&mut self, step: &StepId, iteration: Iteration, attempt: Attempt, purpose: Purpose) {
        let stage = self.at(step).convergence.stage();
        let step = step.clone();
        self.push(Conclusion::WorkRequested(WorkRequested { step, iteration, attempt, stage, purpose }));
    }

    /// Asks the check, or again whoever was being asked in this iteration.
    fn request_check(&mut self, step: &StepId, iteration: Iteration, attempt: Attempt) {
        let at = self.at(step);
        let again = attempt > Attempt(1) && iteration == at.iteration;
        let (what, claim) =
            if again { (at.verdicts.inquiry, at.verdicts.claim.clone()) } else { (Inquiry::Check, None) };
        self.ask(step, iteration, attempt, what, claim);
    }

    fn ask(
        &mut self,
        step: &StepId,
        iteration: Iteration,
        attempt: Attempt,
        what: Inquiry,
        claim: Option<Box<Claimed>>,
    ) {
        let step = step.clone();
        self.push(Conclusion::CheckRequested(CheckRequested { step, iteration, attempt, what, claim }));
    }

    fn wait(&mut self, step: &Step, wait: Millis, then: Next, why: WaitReason, detail: String) {
        let until = self.at.after(wait);
        self.push(Conclusion::WaitRequested(WaitRequested {
            step: step.id.clone(),
            until,
            then,
            why,
            detail,
        }));
    }

    fn end_step(&mut self, step: &StepId, end: StepEnd, evidence: Vec<Seq>) {
        self.push(Conclusion::StepEnded(StepEnded { step: step.clone(), end, evidence }));
    }

    /// Only a person can help now.
    fn blocked(&mut self, step: &StepId, needs: String, evidence: Vec<Seq>) {
        let cause = evidence.last().copied();
        self.end_step(step, StepEnd::Blocked(needs), evidence);
        self.stop(RunOutcome::Blocked, cause.unwrap_or(self.state.version));
    }
}

/// Returns who is at work.
fn kind_of(step: &Step, at: &StepState) -> WorkerKind {
    at.whom(step).map_or(WorkerKind::Custom, |worker| worker.kind)
}
