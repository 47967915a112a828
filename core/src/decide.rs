//! The one place where decisions are taken: command and state to events.
//!
//! [`RunState::decide`] records the command as an observation if the state admits it (`preconditions`). It draws the
//! conclusions that follow (`work`, `check`, then `verify` and `verdict`; `outage` if a service is the cause). Then it
//! continues the run as far as possible without outside input (`run`). All of it is one batch, which the store appends
//! atomically.

mod check;
mod outage;
mod preconditions;
mod run;
mod verdict;
mod verify;
mod work;

pub use preconditions::Rejection;

use crate::event::{
    CheckRequested, Conclusion, Event, Fact, Inquiry, Observation, PendingClaim, Purpose, RunOutcome,
    StepEnd, StepEnded, TurnKind, WaitReason, WaitRequested, WorkRequested,
};
use crate::id::{Attempt, Iteration, Millis, Seq, StepId, Timestamp};
use crate::state::{RunState, StepState};
use crate::workflow::{Step, WorkerKind};

/// Input of a decision: an observation, a passed deadline, or an order from a person. It is recorded unchanged, so that
/// a replay can repeat it.
pub type Command = Observation;

impl RunState {
    /// Returns the events that a command appends, or the reason why it is refused.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] if the command does not fit the state; nothing may be recorded then.
    pub fn decide(&self, command: Command, at: Timestamp) -> Result<Vec<Event>, Rejection> {
        self.check_allowed(&command)?;
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
            batch.schedule(cause);
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
            Observation::WorkerFinished(event) => self.on_worker_finished(before, event, cause),
            Observation::CheckFinished(event) => self.on_check_finished(before, event, cause),
            Observation::WorkerLost(event) | Observation::CheckLost(event) => self.retry_lost(event),
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

    /// Requests work; an attempt in the same iteration keeps the purpose of the previous one.
    fn request_work(&mut self, step: &StepId, iteration: Iteration, attempt: Attempt) {
        let at = self.at(step);
        let purpose = if iteration == at.iteration() { at.iteration.purpose } else { Purpose::Work };
        self.request(step, iteration, attempt, purpose);
    }

    fn request(&mut self, step: &StepId, iteration: Iteration, attempt: Attempt, purpose: Purpose) {
        let stage = self.at(step).convergence.stage();
        let step = step.clone();
        self.push(Conclusion::WorkRequested(WorkRequested { step, iteration, attempt, stage, purpose }));
    }

    /// Requests the check, or repeats the inquiry that was in flight in this iteration.
    fn request_check(&mut self, step: &StepId, iteration: Iteration, attempt: Attempt) {
        let at = self.at(step);
        let again = attempt > Attempt(1) && iteration == at.iteration();
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
        claim: Option<Box<PendingClaim>>,
    ) {
        let step = step.clone();
        self.push(Conclusion::CheckRequested(CheckRequested { step, iteration, attempt, what, claim }));
    }

    fn wait(&mut self, step: &Step, wait: Millis, then: TurnKind, why: WaitReason, detail: String) {
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
    fn block_step(&mut self, step: &StepId, needs: String, evidence: Vec<Seq>) {
        let cause = evidence.last().copied();
        self.end_step(step, StepEnd::Blocked(needs), evidence);
        self.stop(RunOutcome::Blocked, cause.unwrap_or(self.state.version));
    }
}

/// Returns the kind of the active worker.
fn kind_of(step: &Step, at: &StepState) -> WorkerKind {
    at.current_worker(step).map_or(WorkerKind::Custom, |worker| worker.kind)
}
