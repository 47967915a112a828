//! Decisions after a check.

use super::outage::{needs_person, should_wait};
use super::{Batch, kind_of};
use crate::effect::Turn;
use crate::event::{CheckFinished, Exit, StepEnd, TurnKind, WaitReason};
use crate::evidence::Decision;
use crate::id::{Attempt, Iteration, Seq};
use crate::judge::completion_claim::{
    CheckFailure, Claim, commands_claim, contradicted_by_exit, cut_short, exit_and_file_claim, exit_verdict,
    file_evidence, holds_despite_failure, is_retryable, resolve, to_message, with_failures, with_timeout,
};
use crate::judge::gate;
use crate::outage;
use crate::prompt;
use crate::state::{RunState, StepState};
use crate::workflow::{Check, CheckMethod, Step};

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
    pub(super) fn on_check_finished(&mut self, before: &RunState, event: &CheckFinished, cause: Seq) {
        let Some((step, then)) = before.step(&event.step) else { return };
        let Some(check) = &step.check else { return };
        if event.outcome.exit.is_stopped() {
            return;
        }
        if let Some(why) = &event.outcome.fatal {
            return self.end_step(&step.id, StepEnd::Fatal(why.clone()), vec![cause]);
        }
        if let Exit::Asks(question) = &event.outcome.exit {
            return self.diagnose_question(step, question, vec![cause]);
        }
        let evidence = then.iteration.worked.into_iter().chain([cause]).collect();
        let ended = EndedCheck { step, check, then, event, evidence };
        match Turn::of_checker(step, then.verdicts.inquiry) {
            Turn::Preflight => self.on_preflight_finished(ended),
            Turn::Conditions => self.on_validators_finished(ended),
            Turn::Closer => self.on_reviewer_finished(ended),
            Turn::Script => self.on_script_finished(before, ended),
            Turn::Agent => self.on_agent_finished(before, ended),
            Turn::Commands => self.on_commands_finished(ended),
            Turn::Work | Turn::Claim | Turn::Diagnosis => {}
        }
    }

    fn on_script_finished(&mut self, before: &RunState, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, event, .. } = ended;
        let id = &event.check_id;
        match exit_verdict(&event.outcome) {
            Ok(decision) => {
                let (file, doubt) = file_evidence(before.workflow(), step, &event.decision_file, Some(id));
                let resolution = resolve(&file, "", "", "", Some(id));
                let claim = exit_and_file_claim(decision, &file, resolution, id).with_warning(doubt);
                let claim = with_failures(claim, &event.commands);
                self.verdict(step, check, with_timeout(claim, &event.outcome), ended.evidence);
            }
            Err(CheckFailure::CouldNotRun(failure)) => self.check_could_not_run(&failure, ended),
            Err(CheckFailure::OtherCode(failure)) => {
                self.end_step(&step.id, StepEnd::CheckFailed(failure), ended.evidence);
            }
        }
    }

    fn on_agent_finished(&mut self, before: &RunState, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, then, event, .. } = ended;
        let id = &event.check_id;
        let (file, doubt) = file_evidence(before.workflow(), step, &event.decision_file, Some(id));
        let prompt = prompt::check_prompt(before, step, then, id);
        let resolution = resolve(&file, &event.outcome.answer, &prompt, "", Some(id));
        // A checker that gives a verdict and ends well has checked, whatever else it speaks of.
        let is_hearsay = resolution.decision != Decision::None && event.outcome.failed_by_text_only();
        let failure = event.outcome.failure(kind_of(step, then)).filter(|_| !is_hearsay);
        if resolution.decision == Decision::None
            && let Some(question) = event.outcome.question(None, failure.as_ref())
        {
            return self.diagnose_question(step, &question, ended.evidence);
        }
        match failure {
            Some(failure) if !holds_despite_failure(&resolution) => {
                self.check_could_not_run(&failure, ended);
            }
            failure => {
                let failure = failure.or_else(|| cut_short(&event.outcome));
                let claim = Claim::from_resolution(resolution, Some(id.clone())).with_warning(doubt);
                let claim = contradicted_by_exit(claim, failure.as_ref(), "check");
                self.verdict(step, check, claim, ended.evidence);
            }
        }
    }

    fn on_commands_finished(&mut self, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, then, event, .. } = ended;
        let CheckMethod::Commands(commands) = &check.by else { return };
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
    pub(super) fn check_could_not_run(&mut self, failure: &outage::ExitFailure, ended: EndedCheck<'_>) {
        let EndedCheck { step, then, event, evidence, .. } = ended;
        if let Some(needs) = needs_person(then.current_worker(step), failure) {
            return self.block_step(&step.id, needs, evidence);
        }
        let Some(free_at) = self.try_fallback(step, TurnKind::Check, then, failure, &event.outcome) else {
            let at = self.at(&step.id);
            let (what, claim, attempt) = (then.verdicts.inquiry, at.verdicts.claim.clone(), at.attempt());
            return self.ask(&step.id, event.iteration, attempt, what, claim);
        };
        let retries = self.at(&step.id).tries.check;
        let class = failure.class;
        if let Some(wait) = self.outage_wait(step, failure, &event.outcome, free_at) {
            let detail = self.wait_reason(step, TurnKind::Check, then, failure);
            self.wait(step, wait, TurnKind::Check, WaitReason::Weather(class), detail);
        } else if is_retryable(class)
            && retries < step.max_retries.max(2)
            && !should_wait(step, failure, &event.outcome)
        {
            let wait = self.backoff(step, class, retries);
            self.wait(step, wait, TurnKind::Check, WaitReason::CheckRetry(class), to_message(failure));
        } else {
            let why = self.outage_failure(step, failure, &event.outcome, free_at);
            self.end_step(&step.id, StepEnd::CheckCouldNotRun(why), evidence);
        }
    }
}
