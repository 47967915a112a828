//! The one place where decisions are taken: command and state to events.
//!
//! Read it from top to bottom. [`RunState::decide`] records the command as an observation, draws
//! the conclusions that follow from it (`Batch::conclude`), and lets the run go on as far as it
//! can without the world (`Batch::settle`). All of it is one batch, which the store appends whole.

mod verify;

use crate::claim::{
    CheckFailure, Claim, commands_claim, contradicted_by_exit, cut_short, exit_beside_file, exit_verdict,
    is_retryable, recorded, resolve, sentence, stands_although_failed, with_failures, with_timeout,
};
use crate::completion::{self, Completion};
use crate::convergence::Stall;
use crate::event::{
    CheckFinished, CheckRequested, Claimed, Conclusion, DecisionSource, Event, Exit, Fact, FallbackTaken,
    Inquiry, Lost, Next, Observation, Outcome, Purpose, RunEnded, RunOutcome, RunResumed, RunStopping,
    StageRaised, StallCause, StepEnd, StepEnded, VerdictReached, WaitReason, WaitRequested, WorkRequested,
    WorkerFinished, WorkerProgressed,
};
use crate::gate;
use crate::id::{Attempt, Digest, Iteration, Millis, Seq, StepId, Timestamp};
use crate::prompt;
use crate::reading::Trouble;
use crate::scope;
use crate::spending::Overspent;
use crate::state::{Changed, Phase, RunState, StepPhase, StepState};
use crate::verdict::Decision;
use crate::weather::{self, ErrorClass};
use crate::workflow::{
    Check, CheckBy, CheckCommand, OnExhausted, OnFailure, Step, Weather, Worker, WorkerKind, Workflow,
};

/// What comes in: an observation to record, a deadline that passed, a person's order. It is
/// recorded as it is, so that a replay can give it again.
pub type Command = Observation;

/// Why a command is refused. Nothing is recorded then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Rejection {
    /// The first event of a run is `RunStarted`.
    #[error("the run has not been started")]
    NotStarted,
    /// A run is started once.
    #[error("the run has been started already")]
    AlreadyStarted,
    /// The run is over.
    #[error("the run has ended: {}", .0.as_str())]
    Ended(RunOutcome),
    /// There is nothing to resume.
    #[error("the run is complete")]
    AlreadyComplete,
    /// A loop is at its bound.
    #[error("the last allowed iteration is over")]
    NeedsIterations,
    /// The run is at its bound.
    #[error("the time of the run is over")]
    NeedsTime,
    /// A person must answer first.
    #[error("the run waits for an answer")]
    NeedsAnswer,
    /// The run is at its bound.
    #[error("the money of the run is spent: {0}")]
    NeedsMoney(Overspent),
    /// Nobody asked.
    #[error("the run does not wait for an answer")]
    NothingToAnswer,
    /// Nothing is waited for.
    #[error("the run does not wait for anything")]
    NothingToWaitFor,
    /// The command is about a try that is not due, or not in flight.
    #[error("step {step}: try {attempt} of iteration {iteration} is not {expected}")]
    NotExpected {
        /// The step.
        step: StepId,
        /// The iteration.
        iteration: Iteration,
        /// The try.
        attempt: Attempt,
        /// What it would have to be.
        expected: &'static str,
    },
}

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
        if !matches!(command, Observation::LogRepaired(_) | Observation::SnapshotTaken(_)) {
            batch.settle(cause);
        }
        Ok(batch.events)
    }

    /// Says whether a command fits the state.
    ///
    /// # Errors
    ///
    /// A [`Rejection`] when it does not.
    pub fn admits(&self, command: &Command) -> Result<(), Rejection> {
        match (&self.phase, command) {
            (Phase::Empty, Observation::RunStarted(_)) => return Ok(()),
            (Phase::Empty, _) => return Err(Rejection::NotStarted),
            (_, Observation::RunStarted(_)) => return Err(Rejection::AlreadyStarted),
            (_, Observation::LogRepaired(_) | Observation::SnapshotTaken(_)) => return Ok(()),
            (_, Observation::RunResumed(event)) => return self.admits_resume(event),
            (Phase::Ended(RunOutcome::Blocked, _), Observation::AnswerGiven(_)) => return Ok(()),
            (_, Observation::AnswerGiven(_)) => return Err(Rejection::NothingToAnswer),
            (_, Observation::Kicked) if !self.is_waiting() => return Err(Rejection::NothingToWaitFor),
            (Phase::Ended(outcome, _), _) => return Err(Rejection::Ended(*outcome)),
            (Phase::Stopping(why, _), Observation::WorkerStarted(_) | Observation::CheckStarted(_)) => {
                return Err(Rejection::Ended(*why));
            }
            (Phase::Active | Phase::Stopping(..), _) => {}
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
            | Observation::WorkerLost(Lost { step, iteration, attempt, .. }) => {
                self.expects(step, *iteration, *attempt, "in flight as work", |phase| {
                    matches!(phase, StepPhase::Working(_))
                })
            }
            Observation::CheckFinished(CheckFinished { step, iteration, attempt, .. })
            | Observation::CheckLost(Lost { step, iteration, attempt, .. }) => {
                self.expects(step, *iteration, *attempt, "in flight as a check", |phase| {
                    matches!(phase, StepPhase::Checking(_))
                })
            }
            _ => Ok(()),
        }
    }

    fn admits_resume(&self, event: &RunResumed) -> Result<(), Rejection> {
        let Phase::Ended(outcome, _) = self.phase else { return Ok(()) };
        let out_of_time = self.time_allowed().is_some_and(|allowed| self.clock.used >= allowed);
        match outcome {
            RunOutcome::Complete => Err(Rejection::AlreadyComplete),
            RunOutcome::Blocked => Err(Rejection::NeedsAnswer),
            _ if out_of_time && event.add_time == Millis(0) => Err(Rejection::NeedsTime),
            _ if let Some(bound) = self.overspent_with(event) => Err(Rejection::NeedsMoney(bound)),
            _ if event.add_iterations == 0 && !self.steps().any(|(step, at)| self.can_go_on(step, at)) => {
                Err(Rejection::NeedsIterations)
            }
            _ => Ok(()),
        }
    }

    /// Says whether a resume gives a step something to do.
    fn can_go_on(&self, step: &Step, at: &StepState) -> bool {
        match &at.phase {
            StepPhase::Pending => !step.depends_on.iter().any(|on| self.is_closed(on)),
            StepPhase::Ended(StepEnd::Complete | StepEnd::Incomplete | StepEnd::Skipped(_)) => false,
            StepPhase::Ended(_) => !self.needs_iterations(step, at),
            _ => true,
        }
    }

    /// Says whether a step has ended in a way that its dependents cannot start after.
    fn is_closed(&self, id: &StepId) -> bool {
        let Some((step, at)) = self.step(id) else { return false };
        let continues = step.on_failure == OnFailure::Continue;
        at.phase.end().is_some_and(|end| !end.lets_dependents_run(continues))
    }

    /// Says whether a step can only go on with an iteration that it does not have.
    fn needs_iterations(&self, step: &Step, at: &StepState) -> bool {
        let goes_on_in_next = matches!(
            at.phase,
            StepPhase::Ended(
                StepEnd::IterationsExhausted | StepEnd::AttemptsExhausted(_) | StepEnd::Stuck(_)
            )
        );
        goes_on_in_next && at.iteration >= self.max_iterations(step, at)
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
        if at.is_some_and(|at| fits(&at.phase) && at.iteration == iteration && at.attempt == attempt) {
            return Ok(());
        }
        Err(Rejection::NotExpected { step: step.clone(), iteration, attempt, expected })
    }
}

/// The events of one decision, and the state they lead to.
struct Batch {
    state: RunState,
    at: Timestamp,
    events: Vec<Event>,
}

// What follows from a command.
impl Batch {
    fn conclude(&mut self, before: &RunState, command: &Command, cause: Seq) {
        match command {
            Observation::WorkerFinished(event) => self.work_ended(before, event, cause),
            Observation::CheckFinished(event) => self.check_ended(before, event, cause),
            Observation::WorkerLost(event) | Observation::CheckLost(event) => self.try_again(event),
            Observation::RunResumed(event) if before.reopens(event.add_iterations) => {
                self.reopen_ended_steps(false);
            }
            Observation::AnswerGiven(_) => self.reopen_ended_steps(true),
            Observation::RunInterrupted(event) => self.stop(RunOutcome::Interrupted(event.signal), cause),
            Observation::RunStarted(_)
            | Observation::RunResumed(_)
            | Observation::WorkerStarted(_)
            | Observation::CheckStarted(_)
            | Observation::WorkerProgressed(_)
            | Observation::Kicked
            | Observation::DeadlinePassed
            | Observation::LogRepaired(_)
            | Observation::SnapshotTaken(_) => {}
        }
    }

    /// The worker has left: its step is complete, or is checked, or has failed.
    fn work_ended(&mut self, before: &RunState, event: &WorkerFinished, cause: Seq) {
        let Some((step, at)) = before.step(&event.step) else { return };
        if event.outcome.exit.is_stopped() {
            return;
        }
        if matches!(&event.outcome.exit, Exit::Child(child) if child.end == RunOutcome::SpendLimit) {
            // What it may spend is a part of what this run may spend, so both go on when a person gives more.
            return self.stop(RunOutcome::SpendLimit, cause);
        }
        if at.purpose == Purpose::Diagnosis {
            return self.diagnosed(step, at, event, cause);
        }
        if let Some(why) = &event.outcome.fatal {
            return self.end_step(&step.id, StepEnd::Fatal(why.clone()), vec![cause]);
        }
        if let Exit::Asks(question) = &event.outcome.exit {
            return self.blocked(&step.id, format!("an answer to its question: {question}"), vec![cause]);
        }
        let failure = event.outcome.failure(kind_of(step, at));
        let Some(check) = &step.check else {
            return match failure {
                Some(failure) => self.worker_failed(step, at, event, failure, cause),
                None => self.end_step(&step.id, StepEnd::Complete, vec![cause]),
            };
        };
        if check.by == CheckBy::Conditions && failure.is_none() {
            return self.answered(step, check, event, cause);
        }
        if check.by == CheckBy::Claim {
            return self.claim_ended(before, step, at, check, event, failure, cause);
        }
        match failure {
            // What it did until then is looked at, and that it stalled is among what is found.
            Some(_) if event.outcome.exit == Exit::Idle && check.by != CheckBy::Conditions => {
                self.request_check(&step.id, event.iteration, Attempt(1));
            }
            Some(failure) => self.worker_failed(step, at, event, failure, cause),
            None => self.request_check(&step.id, event.iteration, Attempt(1)),
        }
    }

    /// The worker that is its own check has left.
    #[expect(clippy::too_many_arguments, reason = "one call, and each is something else")]
    fn claim_ended(
        &mut self,
        before: &RunState,
        step: &Step,
        at: &StepState,
        check: &Check,
        event: &WorkerFinished,
        failure: Option<weather::Failure>,
        cause: Seq,
    ) {
        let check_id = match &at.phase {
            StepPhase::Working(in_flight) => in_flight.check_id.clone(),
            _ => None,
        };
        let registry = step.completion.as_ref().map(Completion::as_written).unwrap_or_default();
        let prompt = prompt::work(before, step, at, check_id.as_ref(), &registry);
        let resolution = resolve(&event.decision_file, &event.outcome.answer, &prompt, check_id.as_ref());
        match failure {
            Some(_) if resolution.decision == Decision::None && event.outcome.exit == Exit::Idle => {
                let claim = Claim::new(Decision::Incomplete, DecisionSource::None);
                self.verdict(step, check, claim, vec![cause]);
            }
            Some(failure) if resolution.decision == Decision::None => {
                self.worker_failed(step, at, event, failure, cause)
            }
            failure => {
                let failure = failure.or_else(|| cut_short(&event.outcome));
                let claim = contradicted_by_exit(
                    Claim::from_resolution(resolution, check_id),
                    failure.as_ref(),
                    "worker",
                );
                self.verdict(step, check, claim, vec![cause]);
            }
        }
    }

    /// Whoever was to say why the loop gets nowhere has left. The step is stuck, whatever was found.
    fn diagnosed(&mut self, step: &Step, at: &StepState, event: &WorkerFinished, cause: Seq) {
        if let Some(failure) = event.outcome.failure(kind_of(step, at))
            && let Some(wait) = self.weather_wait(step, &failure, &event.outcome, at.weather_tries)
        {
            let why = WaitReason::Weather(failure.class);
            return self.wait(step, wait, Next::Work, why, sentence(&failure));
        }
        // Only a stage that was raised asks for a diagnosis.
        let Some((stall, _)) = at.convergence.raised_for() else { return };
        self.end_step(&step.id, StepEnd::Stuck(stall), at.raised.into_iter().chain([cause]).collect());
    }

    /// `then` is where the step stood while the worker was at work.
    fn worker_failed(
        &mut self,
        step: &Step,
        then: &StepState,
        event: &WorkerFinished,
        failure: weather::Failure,
        cause: Seq,
    ) {
        if let Some(needs) = needs_person(then.whom(step), &failure) {
            return self.blocked(&step.id, needs, vec![cause]);
        }
        let continued = then.phase.in_flight().and_then(|it| it.call.as_ref()).is_some_and(|it| it.continues);
        if continued && matches!(failure.trouble, Some(Trouble::NoSession | Trouble::ContextOverflow)) {
            // The conversation is forgotten, so this happens once.
            return self.request_work(&step.id, event.iteration, self.at(&step.id).attempt);
        }
        if self.falls_back(step, Next::Work, then, &failure) {
            return self.request_work(&step.id, event.iteration, self.at(&step.id).attempt);
        }
        let at = self.at(&step.id);
        let retries_left = step.on_failure == OnFailure::Retry && at.retries < step.max_retries;
        let (tries, retries) = (at.weather_tries, at.retries);
        let class = failure.class;
        if let Some(wait) = self.weather_wait(step, &failure, &event.outcome, tries) {
            self.wait(step, wait, Next::Work, WaitReason::Weather(class), sentence(&failure));
        } else if retries_left && is_retryable(class) {
            let wait = self.backoff(step, class, retries);
            self.wait(step, wait, Next::Work, WaitReason::Retry(class), sentence(&failure));
        } else {
            self.end_step(&step.id, StepEnd::WorkerFailed(recorded(&failure)), vec![cause]);
        }
    }

    /// The check has left: its exit code, or its answer, is a claim, or it could not run.
    fn check_ended(&mut self, before: &RunState, event: &CheckFinished, cause: Seq) {
        let Some((step, at)) = before.step(&event.step) else { return };
        let Some(check) = &step.check else { return };
        if event.outcome.exit == Exit::Stopped {
            return;
        }
        if let Some(why) = &event.outcome.fatal {
            return self.end_step(&step.id, StepEnd::Fatal(why.clone()), vec![cause]);
        }
        if let Exit::Asks(question) = &event.outcome.exit {
            return self.blocked(&step.id, format!("an answer to its question: {question}"), vec![cause]);
        }
        let id = &event.check_id;
        let evidence: Vec<Seq> = at.worked.into_iter().chain([cause]).collect();
        match at.inquiry {
            Inquiry::Check => {}
            Inquiry::Preflight => return self.preflight_ended(step, event, evidence),
            Inquiry::Conditions => return self.conditions_ended(step, at, check, event, evidence),
            Inquiry::Closer => return self.closer_ended(step, at, check, event, evidence),
        }
        match &check.by {
            CheckBy::Exit(_) => match exit_verdict(&event.outcome) {
                Ok(decision) => {
                    let resolution = resolve(&event.decision_file, "", "", Some(id));
                    let claim = exit_beside_file(decision, &event.decision_file, resolution, id);
                    let claim = with_failures(claim, &event.commands);
                    self.verdict(step, check, with_timeout(claim, &event.outcome), evidence);
                }
                Err(failure) => self.check_failed(step, at, event, failure, evidence),
            },
            CheckBy::Agent(_) => {
                let prompt = prompt::check(before, step, at, id);
                let resolution = resolve(&event.decision_file, &event.outcome.answer, &prompt, Some(id));
                match event.outcome.failure(kind_of(step, at)) {
                    Some(failure) if !stands_although_failed(&resolution) => {
                        self.check_could_not_run(step, at, event, &failure, evidence);
                    }
                    failure => {
                        let failure = failure.or_else(|| cut_short(&event.outcome));
                        let claim = Claim::from_resolution(resolution, Some(id.clone()));
                        let claim = contradicted_by_exit(claim, failure.as_ref(), "check");
                        self.verdict(step, check, claim, evidence);
                    }
                }
            }
            CheckBy::Commands(commands) => match commands_claim(commands, event, at.baseline.as_deref()) {
                Ok(_) if event.iteration == Iteration::BASELINE => {
                    self.baseline_taken(step, commands, event, evidence);
                }
                Ok(claim) => self.verdict(step, check, claim, evidence),
                Err(failure) => self.check_could_not_run(step, at, event, &failure, evidence),
            },
            CheckBy::Claim | CheckBy::Conditions => {}
        }
    }

    /// It is known what fails before anybody has worked.
    fn baseline_taken(
        &mut self,
        step: &Step,
        commands: &[CheckCommand],
        event: &CheckFinished,
        evidence: Vec<Seq>,
    ) {
        match gate::no_baseline(commands, &event.commands) {
            Some(why) => self.end_step(&step.id, StepEnd::NoBaseline(why), evidence),
            None => self.request_work(&step.id, Iteration(1), Attempt(1)),
        }
    }

    fn check_failed(
        &mut self,
        step: &Step,
        then: &StepState,
        event: &CheckFinished,
        failure: CheckFailure,
        evidence: Vec<Seq>,
    ) {
        match failure {
            CheckFailure::CouldNotRun(failure) => {
                self.check_could_not_run(step, then, event, &failure, evidence)
            }
            CheckFailure::OtherCode(failure) => {
                self.end_step(&step.id, StepEnd::CheckFailed(failure), evidence)
            }
        }
    }

    /// `then` is where the step stood while the check was in flight.
    fn check_could_not_run(
        &mut self,
        step: &Step,
        then: &StepState,
        event: &CheckFinished,
        failure: &weather::Failure,
        evidence: Vec<Seq>,
    ) {
        if let Some(needs) = needs_person(then.whom(step), failure) {
            return self.blocked(&step.id, needs, evidence);
        }
        if self.falls_back(step, Next::Check, then, failure) {
            let at = self.at(&step.id);
            let (what, claim, attempt) = (then.inquiry, at.claim.clone(), at.attempt);
            return self.ask(&step.id, event.iteration, attempt, what, claim);
        }
        let at = self.at(&step.id);
        let (tries, retries) = (at.weather_tries, at.check_retries);
        let class = failure.class;
        if let Some(wait) = self.weather_wait(step, failure, &event.outcome, tries) {
            self.wait(step, wait, Next::Check, WaitReason::Weather(class), sentence(failure));
        } else if is_retryable(class) && retries < step.max_retries.max(2) {
            let wait = self.backoff(step, class, retries);
            self.wait(step, wait, Next::Check, WaitReason::CheckRetry(class), sentence(failure));
        } else {
            self.end_step(&step.id, StepEnd::CheckCouldNotRun(recorded(failure)), evidence);
        }
    }

    /// Puts a claim beside the evidence and says how the step goes on.
    fn verdict(&mut self, step: &Step, check: &Check, claim: Claim, evidence: Vec<Seq>) {
        let claim = self.with_answer(step, check, claim);
        let (needs, retry_after) = (claim.needs.clone(), claim.retry_after);
        let event = self.judge(step, claim, evidence.clone());
        if event.decision == Decision::Complete && self.verifies(step, &event) {
            return;
        }
        let (decision, parse_failures, iteration) = (event.decision, event.parse_failures, event.iteration);
        let last_problem = event.problems.last().cloned();
        let seq = self.push(Conclusion::VerdictReached(event));
        let evidence: Vec<Seq> = evidence.into_iter().chain([seq]).collect();
        match decision {
            Decision::Complete => self.end_step(&step.id, StepEnd::Complete, evidence),
            Decision::Blocked => {
                let needs = needs.unwrap_or_else(|| "the checker did not say what".to_owned());
                self.blocked(&step.id, needs, evidence);
            }
            Decision::Waiting => self.wait_for_job(step, check, retry_after, evidence),
            Decision::None if parse_failures >= check.max_parse_failures => {
                let problem = last_problem.unwrap_or_else(|| "nothing was said".to_owned());
                self.end_step(&step.id, StepEnd::Undecidable(problem), evidence);
            }
            Decision::Incomplete | Decision::None => {
                if !self.given_up(step, &evidence) && !self.stalled(step, iteration, &evidence) {
                    self.next_iteration(step, iteration, evidence);
                }
            }
        }
    }

    /// Only a person can help now.
    fn blocked(&mut self, step: &StepId, needs: String, evidence: Vec<Seq>) {
        let cause = evidence.last().copied();
        self.end_step(step, StepEnd::Blocked(needs), evidence);
        self.stop(RunOutcome::Blocked, cause.unwrap_or(self.state.version));
    }

    fn judge(&self, step: &Step, claim: Claim, evidence: Vec<Seq>) -> VerdictReached {
        let at = self.at(&step.id);
        let unread = claim.decision == Decision::None;
        let mut event = VerdictReached {
            step: step.id.clone(),
            iteration: at.iteration,
            check_id: claim.check_id,
            decision: claim.decision,
            claimed: claim.claimed,
            source: claim.source,
            reasons: claim.reasons,
            fingerprints: claim.fingerprints,
            problems: claim.problems,
            parse_failures: if unread { at.parse_failures.saturating_add(1) } else { 0 },
            evidence,
        };
        if event.decision == Decision::Complete && step.require_change && at.changed == Changed::No {
            event.claimed = Some(Decision::Complete);
            event.decision = Decision::Incomplete;
            event.reasons = vec![
                "no_observable_change: nothing in the workspace has changed since the step began".to_owned(),
            ];
        }
        let claims = step.check.as_ref().is_some_and(|check| check.by == CheckBy::Claim);
        if event.decision == Decision::Complete && claims && !at.drift.put_back.is_empty() {
            event.claimed = Some(Decision::Complete);
            event.decision = Decision::Incomplete;
            event.reasons = vec![
                "scope: a part of the work was out of scope and was put back after the claim".to_owned(),
            ];
            event.fingerprints.push("scope:put_back".to_owned());
        }
        if event.decision == Decision::Incomplete
            && let Some(stalled) = &at.stalled
        {
            event.reasons.insert(0, stalled.clone());
            event.fingerprints.push("stall:idle".to_owned());
        }
        if matches!(event.decision, Decision::Complete | Decision::Incomplete)
            && let Some(policy) = &step.convergence
            && let Some(violation) = scope::violation(policy, &at.drift)
        {
            event.claimed = event.claimed.or(Some(event.decision));
            event.decision = Decision::Incomplete;
            event.reasons.splice(0..0, violation.reasons);
            event.fingerprints.extend(violation.fingerprints);
        }
        event
    }

    /// Raises the stage if the loop gets nowhere; returns whether that ended its work.
    fn stalled(&mut self, step: &Step, iteration: Iteration, evidence: &[Seq]) -> bool {
        let Some(policy) = &step.convergence else { return false };
        let convergence = &self.at(&step.id).convergence;
        let Some(Stall { cause, key, count }) = convergence.stall(policy) else { return false };
        let from = convergence.stage();
        let last = policy.max_stage.max(from);
        // Who changes nothing does not begin to because of a narrower task.
        let to = if cause == StallCause::NoChange { last } else { from.next().min(last) };
        let raised = StageRaised { step: step.id.clone(), iteration, from, to, cause, key, count };
        let seq = self.push(Conclusion::StageRaised(raised));
        let stops = to >= policy.max_stage && policy.fail_on_max_stage;
        if stops && policy.diagnose_with.is_some() {
            let attempt = self.at(&step.id).work_attempt.next();
            self.request(&step.id, iteration, attempt, Purpose::Diagnosis);
        } else if stops {
            let evidence = evidence.iter().copied().chain([seq]).collect();
            self.end_step(&step.id, StepEnd::Stuck(cause), evidence);
        }
        stops
    }

    fn next_iteration(&mut self, step: &Step, iteration: Iteration, evidence: Vec<Seq>) {
        let at = self.at(&step.id);
        if iteration < self.state.max_iterations(step, at) {
            return self.request_work(&step.id, iteration.next(), Attempt(1));
        }
        let end = match step.on_exhausted {
            OnExhausted::Abort => StepEnd::IterationsExhausted,
            OnExhausted::Continue => StepEnd::Incomplete,
        };
        self.end_step(&step.id, end, evidence);
    }

    fn wait_for_job(&mut self, step: &Step, check: &Check, retry_after: Option<Millis>, evidence: Vec<Seq>) {
        let wait = retry_after.unwrap_or(JOB_POLL_DEFAULT);
        let wait = Millis(wait.0.clamp(JOB_POLL_MIN.0, JOB_POLL_MAX.0));
        let since = self.at(&step.id).waiting_since.unwrap_or(self.at);
        if self.at.after(wait).since(since) > step.timeout {
            return self.end_step(&step.id, StepEnd::WaitExpired, evidence);
        }
        let then = if check.by == CheckBy::Claim { Next::Work } else { Next::Check };
        self.wait(step, wait, then, WaitReason::ExternalJob, "an external job is still running".to_owned());
    }

    /// What was in flight when the supervisor died is begun again. It costs no retry.
    fn try_again(&mut self, lost: &Lost) {
        let at = self.at(&lost.step);
        let (due, attempt) = (at.phase.clone(), at.attempt);
        match due {
            StepPhase::WorkDue => self.request_work(&lost.step, lost.iteration, attempt),
            StepPhase::CheckDue => self.request_check(&lost.step, lost.iteration, attempt),
            _ => {}
        }
    }

    /// Lets steps that had not ended well go on where they ended.
    fn reopen_ended_steps(&mut self, answered: bool) {
        let Some(plan) = self.state.plan.clone() else { return };
        for step in &plan.started.workflow.steps {
            let at = self.at(&step.id);
            let StepPhase::Ended(end) = &at.phase else { continue };
            if self.state.needs_iterations(step, at) {
                continue;
            }
            let (iteration, attempt) = (at.iteration, at.attempt);
            // Who was asked last is asked again; a worker that is its own check has to work again.
            let claim = at.inquiry == Inquiry::Check
                && step.check.as_ref().is_none_or(|it| matches!(it.by, CheckBy::Claim | CheckBy::Conditions));
            match end {
                StepEnd::Complete | StepEnd::Incomplete | StepEnd::Skipped(_) => {}
                StepEnd::Blocked(_) if !answered => {}
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

// How the run goes on by itself.
impl Batch {
    /// Skips, starts and ends what follows from the state and the time.
    fn settle(&mut self, cause: Seq) {
        let Some(plan) = self.state.plan.clone() else { return };
        let workflow = &plan.started.workflow;
        if self.state.phase == Phase::Active {
            if self.state.time_limit().is_some_and(|limit| self.at >= limit) {
                self.stop(RunOutcome::TimeLimit, cause);
            } else {
                self.skip_unreachable(workflow);
                self.take_up_due(workflow);
                self.start_ready(workflow);
                if self.state.is_broke() {
                    self.stop(RunOutcome::SpendLimit, cause);
                }
            }
        }
        match self.state.phase {
            Phase::Stopping(why, since) if self.state.in_flight().next().is_none() => {
                self.end_run(workflow, Some(why), since);
            }
            Phase::Active if self.state.steps.iter().all(|step| step.phase.end().is_some()) => {
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

    fn take_up_due(&mut self, workflow: &Workflow) {
        for step in &workflow.steps {
            let at = self.at(&step.id);
            let StepPhase::Waiting { until, then, .. } = at.phase else { continue };
            if until > self.at {
                continue;
            }
            let (iteration, attempt) = (at.iteration, at.attempt);
            match then {
                Next::Work => self.request_work(&step.id, iteration, attempt),
                Next::Check => self.request_check(&step.id, iteration, attempt),
            }
        }
    }

    fn start_ready(&mut self, workflow: &Workflow) {
        let places = self.state.places();
        for step in &workflow.steps {
            let active = self.state.steps.iter().filter(|step| step.phase.is_active()).count();
            if active >= places {
                return;
            }
            let ready = self.at(&step.id).phase == StepPhase::Pending
                && step
                    .depends_on
                    .iter()
                    .all(|on| self.at(on).phase.end().is_some() && !self.state.is_closed(on));
            let preflight = step.completion.as_ref().is_some_and(|it| it.asks(completion::Phase::Preflight));
            match (ready, preflight) {
                (false, _) => {}
                (true, true) => {
                    self.ask(&step.id, Iteration::BASELINE, Attempt(1), Inquiry::Preflight, None);
                }
                (true, false) => self.begin_work(step),
            }
        }
    }

    fn stop(&mut self, why: RunOutcome, cause: Seq) {
        if self.state.phase == Phase::Active {
            self.push(Conclusion::RunStopping(RunStopping { why, evidence: vec![cause] }));
        }
    }

    fn end_run(&mut self, workflow: &Workflow, why: Option<RunOutcome>, cause: Seq) {
        let ended = |id: &StepId| self.at(id).phase.end().cloned().zip(self.at(id).ended);
        // The step that failed first decides; what came after it may be its consequence.
        let deciding = workflow
            .steps
            .iter()
            .filter_map(|step| {
                let (end, seq) = ended(&step.id)?;
                Some((seq, step.id.clone(), end.outcome()?))
            })
            .filter(|(_, _, outcome)| why.is_none() || why == Some(*outcome))
            .min_by_key(|(seq, ..)| *seq);
        let incomplete = |step: &&Step| matches!(ended(&step.id), Some((StepEnd::Incomplete, _)));
        let incomplete_steps = workflow.steps.iter().filter(incomplete).map(|step| step.id.clone()).collect();
        let (outcome, step, evidence) = match (why, deciding) {
            (Some(RunOutcome::Blocked) | None, Some((seq, step, outcome))) => {
                (outcome, Some(step), vec![seq])
            }
            (Some(why), _) => (why, None, vec![cause]),
            (None, None) => {
                let ends = self.state.steps.iter().filter_map(|step| step.ended);
                (RunOutcome::Complete, None, ends.collect())
            }
        };
        self.push(Conclusion::RunEnded(RunEnded { outcome, step, incomplete_steps, evidence }));
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

    /// A try in the same iteration is for what the one before was for.
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
        let (what, claim) = if again { (at.inquiry, at.claim.clone()) } else { (Inquiry::Check, None) };
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

    /// Hands what is done to the next in its chain, where a service is limited or out of order; says whether there
    /// is one. After the last one the first is asked again, when all have been waited for.
    fn falls_back(&mut self, step: &Step, what: Next, then: &StepState, failure: &weather::Failure) -> bool {
        let (first, place) = match what {
            Next::Work => (step.worker(Purpose::Work), then.worker_at),
            Next::Check => (step.checker(then.inquiry), then.checker_at),
        };
        let Some(first) = first.filter(|_| weather::is_weather(failure.class)) else { return false };
        let is_last = first.chain().nth(place.saturating_add(1) as usize).is_none();
        let to = if is_last { 0 } else { place + 1 };
        if to != place {
            let (step, why) = (step.id.clone(), recorded(failure));
            self.push(Conclusion::FallbackTaken(FallbackTaken { step, what, to, why }));
        }
        to > place
    }

    /// Returns how long to wait for a service that is limited or out of order; `None` where waiting is over or not
    /// wanted.
    fn weather_wait(
        &self,
        step: &Step,
        failure: &weather::Failure,
        outcome: &Outcome,
        tries: u32,
    ) -> Option<Millis> {
        let workflow = self.state.workflow()?;
        if !is_waited_for(step, failure, outcome) || workflow.weather != Weather::Wait {
            return None;
        }
        // A service may name a later moment, never an earlier one: it would be asked without an end.
        let pause = self.backoff(step, failure.class, tries);
        let asked = failure.retry_after_ms.map_or(Millis(0), Millis);
        let until_reset = outcome.resets_at.map_or(Millis(0), |moment| moment.since(self.at));
        let wait = pause.max(asked).max(until_reset);
        (self.state.weather_wait.plus(wait) <= workflow.outage_budget).then_some(wait)
    }

    /// Returns the pause before a try: it doubles, is bounded, and is spread by up to a fifth, by
    /// the names of run, step and try instead of by chance.
    fn backoff(&self, step: &Step, class: ErrorClass, tries: u32) -> Millis {
        let (first, most) = match class {
            ErrorClass::RetryableNetwork | ErrorClass::RetryableService => (2_000, 120_000),
            ErrorClass::RetryableRateLimit => (5_000, 600_000),
            _ => (100, 5_000),
        };
        let pause: u64 = 1_u64.checked_shl(tries).unwrap_or(u64::MAX).saturating_mul(first).min(most);
        let at = self.at(&step.id);
        let run = self.state.run().map_or("", |run| run.as_str());
        let name = format!("{run}/{}/{}/{}", step.id, at.iteration, at.attempt);
        let spread = u64::from(Digest::of(name.as_bytes()).0[0]);
        Millis((pause + pause * spread / (5 * 256)).min(most))
    }
}

/// Says whether a failure is the weather: a limit always; a service or connection that is out of order where the client
/// says so, or where the step tries again anyway.
fn is_waited_for(step: &Step, failure: &weather::Failure, outcome: &Outcome) -> bool {
    let says_so = outcome.reading.is_some() || step.on_failure == OnFailure::Retry;
    failure.class == ErrorClass::RetryableRateLimit || weather::is_weather(failure.class) && says_so
}

/// Returns who is at work.
fn kind_of(step: &Step, at: &StepState) -> WorkerKind {
    at.whom(step).map_or(WorkerKind::Custom, |worker| worker.kind)
}

/// Returns what a person has to do before anything can be tried again; `None` if that would not help.
fn needs_person(worker: Option<&Worker>, failure: &weather::Failure) -> Option<String> {
    let client = worker.and_then(|worker| worker.client.as_deref());
    let name = client.map_or("the worker", |client| client.title.as_str());
    let said = failure.phrase.as_deref().unwrap_or("it failed");
    let what = match failure.trouble? {
        Trouble::Auth => match client.map(|client| client.login.as_str()).filter(|it| !it.is_empty()) {
            Some(login) => format!("a login for {name}: {login}"),
            None => format!("a login, or a valid key, for {name}"),
        },
        Trouble::Credit => match client.map(|client| client.credit.as_str()).filter(|it| !it.is_empty()) {
            Some(credit) => format!("credit for {name}: {credit}"),
            None => format!("credit for {name}"),
        },
        _ => return None,
    };
    Some(format!("{what} ({said})"))
}

/// How often an external job is asked for, where the verdict does not say.
const JOB_POLL_DEFAULT: Millis = Millis::from_secs(60);
const JOB_POLL_MIN: Millis = Millis::from_secs(1);
const JOB_POLL_MAX: Millis = Millis::from_secs(3600);
