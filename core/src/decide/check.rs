//! Decisions after a check.

use super::outage::{is_waited_for, needs_person};
use super::{Batch, kind_of};
use crate::effect::Turn;
use crate::event::{CheckFinished, Exit, Next, StepEnd, WaitReason};
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
use crate::workflow::{Check, CheckBy, Step};

/// A check that has ended.
pub(super) struct EndedCheck<'a> {
    pub(super) step: &'a Step,
    pub(super) check: &'a Check,
    /// The step while the check was in flight.
    pub(super) then: &'a StepState,
    pub(super) event: &'a CheckFinished,
    /// The events that a verdict rests on: the work and this end.
    pub(super) evidence: Vec<Seq>,
}

impl Batch {
    /// A check has ended: its exit code or its answer is a claim, or it could not run.
    pub(super) fn check_ended(&mut self, before: &RunState, event: &CheckFinished, cause: Seq) {
        let Some((step, then)) = before.step(&event.step) else { return };
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
        let evidence = then.worked.into_iter().chain([cause]).collect();
        let ended = EndedCheck { step, check, then, event, evidence };
        match Turn::of_checker(step, then.verdicts.inquiry) {
            Turn::Preflight => self.preflight_ended(ended),
            Turn::Conditions => self.conditions_ended(ended),
            Turn::Closer => self.closer_ended(ended),
            Turn::Script => self.script_ended(before, ended),
            Turn::Agent => self.agent_ended(before, ended),
            Turn::Commands => self.commands_ended(ended),
            Turn::Work | Turn::Claim | Turn::Diagnosis => {}
        }
    }

    fn script_ended(&mut self, before: &RunState, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, event, .. } = ended;
        let id = &event.check_id;
        match exit_verdict(&event.outcome) {
            Ok(decision) => {
                let (file, doubt) = own_file(before.workflow(), step, &event.decision_file, Some(id));
                let resolution = resolve(&file, "", "", "", Some(id));
                let claim = exit_beside_file(decision, &file, resolution, id).doubted(doubt);
                let claim = with_failures(claim, &event.commands);
                self.verdict(step, check, with_timeout(claim, &event.outcome), ended.evidence);
            }
            Err(CheckFailure::CouldNotRun(failure)) => self.check_could_not_run(&failure, ended),
            Err(CheckFailure::OtherCode(failure)) => {
                self.end_step(&step.id, StepEnd::CheckFailed(failure), ended.evidence);
            }
        }
    }

    fn agent_ended(&mut self, before: &RunState, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, then, event, .. } = ended;
        let id = &event.check_id;
        let (file, doubt) = own_file(before.workflow(), step, &event.decision_file, Some(id));
        let prompt = prompt::check(before, step, then, id);
        let resolution = resolve(&file, &event.outcome.answer, &prompt, "", Some(id));
        // A checker that gives a verdict and ends well has checked, whatever else it speaks of.
        let is_hearsay = resolution.decision != Decision::None && event.outcome.only_says_so();
        let failure = event.outcome.failure(kind_of(step, then)).filter(|_| !is_hearsay);
        if resolution.decision == Decision::None
            && let Some(question) = event.outcome.question(None, failure.as_ref())
        {
            return self.asks(step, &question, ended.evidence);
        }
        match failure {
            Some(failure) if !stands_although_failed(&resolution) => {
                self.check_could_not_run(&failure, ended);
            }
            failure => {
                let failure = failure.or_else(|| cut_short(&event.outcome));
                let claim = Claim::from_resolution(resolution, Some(id.clone())).doubted(doubt);
                let claim = contradicted_by_exit(claim, failure.as_ref(), "check");
                self.verdict(step, check, claim, ended.evidence);
            }
        }
    }

    fn commands_ended(&mut self, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, then, event, .. } = ended;
        let CheckBy::Commands(commands) = &check.by else { return };
        match commands_claim(check, commands, event, then) {
            Ok(_) if event.iteration == Iteration::BASELINE => {
                match gate::no_baseline(commands, &event.commands, check.baseline) {
                    Some(why) => self.end_step(&step.id, StepEnd::NoBaseline(why), ended.evidence),
                    None => self.request_work(&step.id, Iteration(1), Attempt(1)),
                }
            }
            Ok(claim) => self.verdict(step, check, claim, ended.evidence),
            Err(failure) => self.check_could_not_run(&failure, ended),
        }
    }

    /// A check that could not run is repeated, waited for, or ends its step.
    pub(super) fn check_could_not_run(&mut self, failure: &outage::Failure, ended: EndedCheck<'_>) {
        let EndedCheck { step, then, event, evidence, .. } = ended;
        if let Some(needs) = needs_person(then.whom(step), failure) {
            return self.blocked(&step.id, needs, evidence);
        }
        let Some(free_at) = self.falls_back(step, Next::Check, then, failure, &event.outcome) else {
            let at = self.at(&step.id);
            let (what, claim, attempt) = (then.verdicts.inquiry, at.verdicts.claim.clone(), at.attempt);
            return self.ask(&step.id, event.iteration, attempt, what, claim);
        };
        let retries = self.at(&step.id).tries.check;
        let class = failure.class;
        if let Some(wait) = self.outage_wait(step, failure, &event.outcome, free_at) {
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
