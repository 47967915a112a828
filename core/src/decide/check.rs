//! What follows when a check has left.

use super::outage::{is_waited_for, needs_person};
use super::{Batch, kind_of};
use crate::event::{CheckFinished, Exit, Inquiry, Next, StepEnd, WaitReason};
use crate::evidence::Decision;
use crate::id::{Attempt, Iteration, Seq};
use crate::judge::claim::{
    CheckFailure, Claim, commands_claim, contradicted_by_exit, cut_short, exit_beside_file, exit_verdict,
    is_retryable, own_file, resolve, sentence, stands_although_failed, with_failures, with_timeout,
};
use crate::judge::gate;
use crate::outage;
use crate::prompt;
use crate::state::{RunState, StepState};
use crate::workflow::{Check, CheckBy, CheckCommand, Step};

impl Batch {
    /// The check has left: its exit code, or its answer, is a claim, or it could not run.
    pub(super) fn check_ended(&mut self, before: &RunState, event: &CheckFinished, cause: Seq) {
        let Some((step, at)) = before.step(&event.step) else { return };
        let Some(check) = &step.check else { return };
        if event.outcome.exit.is_stopped() {
            return;
        }
        if let Some(why) = &event.outcome.fatal {
            return self.end_step(&step.id, StepEnd::Fatal(why.clone()), vec![cause]);
        }
        if let Exit::Asks(question) = &event.outcome.exit {
            return self.asks(step, question, vec![cause]);
        }
        let id = &event.check_id;
        let (file, doubt) = own_file(before.workflow(), step, &event.decision_file, Some(id));
        let evidence: Vec<Seq> = at.worked.into_iter().chain([cause]).collect();
        match at.verdicts.inquiry {
            Inquiry::Check => {}
            Inquiry::Preflight => return self.preflight_ended(step, event, evidence),
            Inquiry::Conditions => return self.conditions_ended(step, at, check, event, evidence),
            Inquiry::Closer => return self.closer_ended(step, at, check, event, evidence),
        }
        match &check.by {
            CheckBy::Exit(_) => match exit_verdict(&event.outcome) {
                Ok(decision) => {
                    let resolution = resolve(&file, "", "", "", Some(id));
                    let claim = exit_beside_file(decision, &file, resolution, id).doubted(doubt);
                    let claim = with_failures(claim, &event.commands);
                    self.verdict(step, check, with_timeout(claim, &event.outcome), evidence);
                }
                Err(failure) => self.check_failed(step, at, event, failure, evidence),
            },
            CheckBy::Agent(_) => {
                let prompt = prompt::check(before, step, at, id);
                let resolution = resolve(&file, &event.outcome.answer, &prompt, "", Some(id));
                // Who gives a verdict and ends well has checked, whatever else it speaks of.
                let is_hearsay = resolution.decision != Decision::None && event.outcome.only_says_so();
                let failure = event.outcome.failure(kind_of(step, at)).filter(|_| !is_hearsay);
                if resolution.decision == Decision::None
                    && let Some(question) = event.outcome.question(None, failure.as_ref())
                {
                    return self.asks(step, &question, evidence);
                }
                match failure {
                    Some(failure) if !stands_although_failed(&resolution) => {
                        self.check_could_not_run(step, at, event, &failure, evidence);
                    }
                    failure => {
                        let failure = failure.or_else(|| cut_short(&event.outcome));
                        let claim = Claim::from_resolution(resolution, Some(id.clone())).doubted(doubt);
                        let claim = contradicted_by_exit(claim, failure.as_ref(), "check");
                        self.verdict(step, check, claim, evidence);
                    }
                }
            }
            CheckBy::Commands(commands) => match commands_claim(check, commands, event, at) {
                Ok(_) if event.iteration == Iteration::BASELINE => {
                    self.baseline_taken(step, check, commands, event, evidence);
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
        check: &Check,
        commands: &[CheckCommand],
        event: &CheckFinished,
        evidence: Vec<Seq>,
    ) {
        match gate::no_baseline(commands, &event.commands, check.baseline) {
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
    pub(super) fn check_could_not_run(
        &mut self,
        step: &Step,
        then: &StepState,
        event: &CheckFinished,
        failure: &outage::Failure,
        evidence: Vec<Seq>,
    ) {
        if let Some(needs) = needs_person(then.whom(step), failure) {
            return self.blocked(&step.id, needs, evidence);
        }
        let Some(free_at) = self.falls_back(step, Next::Check, then, failure, &event.outcome) else {
            let at = self.at(&step.id);
            let (what, claim, attempt) = (then.verdicts.inquiry, at.verdicts.claim.clone(), at.attempt);
            return self.ask(&step.id, event.iteration, attempt, what, claim);
        };
        let at = self.at(&step.id);
        let retries = at.tries.check;
        let class = failure.class;
        if let Some(wait) = self.weather_wait(step, failure, &event.outcome, free_at) {
            let detail = self.why_waits(step, Next::Check, then, failure);
            self.wait(step, wait, Next::Check, WaitReason::Weather(class), detail);
        } else if is_retryable(class)
            && retries < step.max_retries.max(2)
            && !is_waited_for(step, failure, &event.outcome)
        {
            let wait = self.backoff(step, class, retries);
            self.wait(step, wait, Next::Check, WaitReason::CheckRetry(class), sentence(failure));
        } else {
            let why = self.not_waited_for(step, failure, &event.outcome, free_at);
            self.end_step(&step.id, StepEnd::CheckCouldNotRun(why), evidence);
        }
    }
}
