//! Decisions after work.

use super::outage::{needs_person, should_wait};
use super::{Batch, kind_of};
use crate::judge::completion_claim::{
    Claim, contradicted_by_exit, cut_short, file_evidence, is_retryable, resolve, to_message,
};

use crate::call_report::CallError;
use crate::completion::Completion;
use crate::event::{
    DecisionFile, DecisionSource, ErrorClass, Exit, Outcome, ProcessFailure, Purpose, RunOutcome, StepEnd,
    TurnKind, WaitReason, WorkerFinished,
};
use crate::evidence::Decision;
use crate::id::{Attempt, Seq};
use crate::outage;
use crate::prompt;
use crate::state::{RunPhase, RunState, StepState};
use crate::text::plain::escape_controls;
use crate::workflow::{Check, CheckMethod, OnFailure, Step, WorkerKind};

/// Failures of a worker in a row that changed nothing, which end its step.
const FAILED_IN_VAIN_MAX: u32 = 3;

/// A step's work that has ended.
#[derive(Clone, Copy)]
struct EndedWork<'a> {
    step: &'a Step,
    /// The step while the worker was in flight.
    then: &'a StepState,
    event: &'a WorkerFinished,
    /// The event of the end.
    cause: Seq,
}

impl Batch {
    /// Handles the end of a worker: its step is complete, is checked, or has failed.
    pub(super) fn on_worker_finished(&mut self, before: &RunState, event: &WorkerFinished, cause: Seq) {
        let Some((step, at)) = before.step(&event.step) else { return };
        if event.outcome.exit.is_stopped() {
            // A stuck step stays stuck even if no time was left for the diagnosis.
            let ran_out =
                matches!(before.phase, RunPhase::Stopping(RunOutcome::TimeLimit | RunOutcome::SpendLimit, _));
            if at.iteration.purpose == Purpose::Diagnosis && ran_out {
                self.end_stuck(step, at, cause);
            }
            return;
        }
        if matches!(&event.outcome.exit, Exit::Child(child) if child.end == RunOutcome::SpendLimit) {
            // The child's budget is part of this run's budget, so both continue when a person adds more.
            return self.stop(RunOutcome::SpendLimit, cause);
        }
        if matches!(&event.outcome.exit, Exit::Child(child) if child.end == RunOutcome::Blocked) {
            return self.block_step(&step.id, event.outcome.answer.clone(), vec![cause]);
        }
        if at.iteration.purpose == Purpose::Diagnosis {
            return self.on_diagnosis(step, at, event, cause);
        }
        if let Some(why) = &event.outcome.fatal {
            return self.end_step(&step.id, StepEnd::Fatal(why.clone()), vec![cause]);
        }
        if let Some(check) = step.check.as_ref().filter(|_| !step.claims())
            && let Some(obstacle) = obstacle(&event.decision_file)
        {
            return self.verdict(step, check, obstacle, vec![cause]);
        }
        let failure = event.failure(kind_of(step, at), step.check.is_some());
        let ended = EndedWork { step, then: at, event, cause };
        let is_claim = step.claims();
        // A verdict says more than how the output ends.
        if let Some(question) = event.outcome.question(event.changed, failure.as_ref())
            && (!is_claim || matches!(event.outcome.exit, Exit::Asks(_)))
        {
            return self.diagnose_question(step, &question, vec![cause]);
        }
        let broke_off = self.at(&step.id).calls.broke_off.is_some();
        let Some(check) = &step.check else {
            return match failure {
                Some(failure) => self.worker_failed(&ended, failure),
                None => self.end_step(&step.id, StepEnd::Complete, vec![cause]),
            };
        };
        // Without a condition to verify it, a failure does not claim completion.
        let is_asked = !step.completion.as_ref().is_some_and(Completion::has_no_checks);
        if check.by == CheckMethod::Conditions && (failure.is_none() || broke_off && is_asked) {
            return self.on_answer(step, check, event, cause);
        }
        if is_claim {
            return self.on_claim_finished(before, check, &ended, failure);
        }
        match failure {
            Some(_) if self.at(&step.id).calls.failed_in_vain >= FAILED_IN_VAIN_MAX => {
                let message = format!(
                    "it failed {FAILED_IN_VAIN_MAX} times in a row and changed nothing; {}",
                    last_lines(&event.outcome)
                );
                let class = ErrorClass::RetryableTransient;
                self.end_step(
                    &step.id,
                    StepEnd::WorkerFailed(ProcessFailure { class, message }),
                    vec![cause],
                );
            }
            // The check judges the partial work. That the worker stalled or was cut off is part of the evidence.
            Some(_) if (event.outcome.is_stalled() || broke_off) && check.by != CheckMethod::Conditions => {
                self.request_check(&step.id, event.iteration, Attempt(1));
            }
            Some(failure) => self.worker_failed(&ended, failure),
            None => self.request_check(&step.id, event.iteration, Attempt(1)),
        }
    }

    /// Handles the end of a worker that is its own check.
    fn on_claim_finished(
        &mut self,
        before: &RunState,
        check: &Check,
        ended: &EndedWork<'_>,
        failure: Option<outage::ExitFailure>,
    ) {
        let EndedWork { step, then: at, event, cause } = *ended;
        let in_flight = at.phase.in_flight();
        let check_id = in_flight.and_then(|worker| worker.check_id.clone());
        let registry = in_flight.and_then(|worker| worker.registry.as_deref().cloned()).unwrap_or_default();
        let prompt = prompt::worker_prompt(before, step, at, check_id.as_ref(), &registry);
        let (answer, said) = (&event.outcome.answer, &at.feedback.said);
        let (file, doubt) = file_evidence(before.workflow(), step, &event.decision_file, check_id.as_ref());
        let resolution = resolve(&file, answer, &prompt, said, check_id.as_ref());
        if resolution.decision == Decision::None
            && let Some(question) = event.outcome.question(event.changed, failure.as_ref())
        {
            return self.diagnose_question(step, &question, vec![cause]);
        }
        // A worker that gives a verdict and ends well has worked, even if its text mentions an error.
        let is_hearsay = resolution.decision != Decision::None && event.outcome.failed_by_text_only();
        match failure.filter(|_| !is_hearsay) {
            Some(_) if resolution.decision == Decision::None && event.outcome.is_stalled() => {
                let claim = Claim::new(Decision::Incomplete, DecisionSource::None);
                self.verdict(step, check, claim, vec![cause]);
            }
            Some(failure)
                if resolution.decision == Decision::None && self.at(&step.id).calls.broke_off.is_none() =>
            {
                self.worker_failed(ended, failure)
            }
            failure => {
                let failure = failure.or_else(|| cut_short(&event.outcome));
                let claim = Claim::from_resolution(resolution, check_id).with_warning(doubt);
                let claim = contradicted_by_exit(claim, failure.as_ref(), "worker");
                self.verdict(step, check, claim, vec![cause]);
            }
        }
    }

    /// Blocks the step on a question that only a person can answer.
    pub(super) fn diagnose_question(&mut self, step: &Step, question: &str, evidence: Vec<Seq>) {
        self.block_step(&step.id, format!("an answer to its question: {question}"), evidence);
    }

    /// Handles the end of a diagnosis of a loop without progress. The step is stuck, whatever the result.
    fn on_diagnosis(&mut self, step: &Step, at: &StepState, event: &WorkerFinished, cause: Seq) {
        if let Some(failure) = event.outcome.failure(kind_of(step, at))
            && let free_at = self.available_at(step, &failure, &event.outcome, at.tries.outage)
            && let Some(wait) = self.outage_wait(step, &failure, &event.outcome, free_at)
        {
            let why = WaitReason::Weather(failure.class);
            return self.wait(step, wait, TurnKind::Work, why, to_message(&failure));
        }
        self.end_stuck(step, at, cause);
    }

    /// Ends a step as stuck after its diagnosis.
    fn end_stuck(&mut self, step: &Step, at: &StepState, cause: Seq) {
        // Only a raised stage requests a diagnosis.
        let Some((stall, _)) = at.convergence.escalation_cause() else { return };
        self.end_step(&step.id, StepEnd::Stuck(stall), at.raised.into_iter().chain([cause]).collect());
    }

    /// Replaces, repeats or delays a failed worker, or ends its step.
    fn worker_failed(&mut self, ended: &EndedWork<'_>, failure: outage::ExitFailure) {
        let EndedWork { step, then, event, cause } = *ended;
        if let Some(needs) = needs_person(then.current_worker(step), &failure) {
            return self.block_step(&step.id, needs, vec![cause]);
        }
        let resumed =
            then.phase.in_flight().and_then(|now| now.call.as_ref()).is_some_and(|call| call.continues);
        if resumed && matches!(failure.trouble, Some(CallError::NoSession | CallError::ContextOverflow)) {
            // The conversation is forgotten, so this happens once.
            return self.request_work(&step.id, event.iteration, self.at(&step.id).attempt());
        }
        let Some(free_at) = self.try_fallback(step, TurnKind::Work, then, &failure, &event.outcome) else {
            return self.request_work(&step.id, event.iteration, self.at(&step.id).attempt());
        };
        let at = self.at(&step.id);
        let retries_left = step.on_failure == OnFailure::Retry && at.tries.work < step.max_retries;
        let retries = at.tries.work;
        let class = failure.class;
        let is_command = kind_of(step, then) == WorkerKind::Command;
        if let Some(wait) = self.outage_wait(step, &failure, &event.outcome, free_at) {
            let detail = self.wait_reason(step, TurnKind::Work, then, &failure);
            self.wait(step, wait, TurnKind::Work, WaitReason::Weather(class), detail);
        } else if retries_left
            && (is_retryable(class) || is_command && event.outcome.plain_exit().is_some())
            && !should_wait(step, &failure, &event.outcome)
        {
            let wait = self.backoff(step, class, retries);
            self.wait(step, wait, TurnKind::Work, WaitReason::Retry(class), to_message(&failure));
        } else {
            let why = self.outage_failure(step, &failure, &event.outcome, free_at);
            let end = child_limit(step, &event.outcome.exit).unwrap_or(StepEnd::WorkerFailed(why));
            self.end_step(&step.id, end, vec![cause]);
        }
    }
}

/// Returns the last lines of the output of a process, errors first, for a person.
fn last_lines(outcome: &Outcome) -> String {
    const LINES_MAX: usize = 3;
    let has_words = |text: &&&String| text.contains(char::is_alphanumeric);
    let text = [&outcome.stderr_tail, &outcome.answer].iter().find(has_words).copied();
    let lines = text.iter().flat_map(|text| text.lines()).map(str::trim).filter(|line| !line.is_empty());
    let lines: Vec<&str> = lines.collect();
    match &lines[lines.len().saturating_sub(LINES_MAX)..] {
        [] => "it printed nothing".to_owned(),
        last => format!("its last lines: {}", escape_controls(&last.join(" | "))),
    }
}

/// Returns what keeps a worker from its work, if its file says so. Whether the work is complete, its check decides.
fn obstacle(file: &DecisionFile) -> Option<Claim> {
    let said = resolve(file, "", "", "", None);
    matches!(said.decision, Decision::Blocked | Decision::Waiting).then(|| Claim::from_resolution(said, None))
}

/// Returns the end of a step whose child run reached an iteration limit that a person can raise for both; `None` for
/// other ends, or if the run continues without the step.
fn child_limit(step: &Step, exit: &Exit) -> Option<StepEnd> {
    let is_out = matches!(exit, Exit::Child(child) if child.end == RunOutcome::IterationLimit);
    (is_out && step.on_failure != OnFailure::Continue).then_some(StepEnd::IterationsExhausted)
}
