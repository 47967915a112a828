//! Verification of a completion claim: by the form of the answer, the validators of the conditions, and a closer, in
//! this order. The cheapest verifier runs first, and none runs after a disagreement.

use super::check::EndedCheck;
use super::{Batch, kind_of};
use crate::completion::{Completion, OnValidatorFailure, Timing};
use crate::event::{
    CheckFinished, DecisionSource, ErrorClass, Exit, Inquiry, PendingClaim, ProcessFailure, StepEnd,
    VerdictReached, WorkerFinished,
};
use crate::evidence::{Decision, ValidatorResult};
use crate::id::{Attempt, Iteration, Seq};
use crate::judge::answer::declaration_claim;
use crate::judge::completion_claim::Claim;
use crate::judge::conditions::{UNSETTLED, contradictions, could_not_run, failed_validators, reason};
use crate::judge::reason::{Reason, VerdictWarning, is_contradiction};
use crate::judge::{gate, reviewer};
use crate::outage;
use crate::plural::first;
use crate::state::StepState;
use crate::truncate;
use crate::workflow::{Check, CheckMethod, Step};

/// Maximum repeats of a check because the validators after it changed the workspace.
const UNSETTLED_MAX: u32 = 3;

/// Maximum failures that the end of a step names.
const NAMED_MAX: usize = 3;

/// Maximum length of the quote from an unreadable answer, in bytes.
const QUOTED_MAX: usize = 160;

// Requests.
impl Batch {
    /// Requests the next verifier of a claim before it becomes the verdict; returns whether there is one.
    pub(super) fn request_verifier(&mut self, step: &Step, verdict: &VerdictReached) -> bool {
        let Some(completion) = &step.completion else { return false };
        let at = self.at(&step.id);
        let rules = || completion.has_conditions(Timing::AfterWork).then_some(Inquiry::Conditions);
        // A closer that agreed in this iteration does not run again.
        let agreed = at.verdicts.verified.closer.is_some();
        let closer = || (completion.closer.is_some() && !agreed).then_some(Inquiry::Closer);
        let next = match at.verdicts.inquiry {
            Inquiry::Check | Inquiry::Preflight => rules().or_else(closer),
            Inquiry::Conditions => closer(),
            // Changes by a judge must be verified like any others.
            Inquiry::Closer if at.verdicts.verified.is_outdated => rules(),
            Inquiry::Closer => None,
        };
        let Some(what) = next else { return false };
        // The first claim keeps its source; later findings are added.
        let first = at.verdicts.claim.as_deref();
        let claim = Box::new(PendingClaim {
            check_id: first.map_or(&verdict.check_id, |claim| &claim.check_id).clone(),
            source: first.map_or(verdict.source, |claim| claim.source),
            reasons: verdict.reasons.clone(),
            problems: verdict.problems.clone(),
            evidence: verdict.evidence.clone(),
        });
        self.ask(&step.id, verdict.iteration, Attempt(1), what, Some(claim));
        true
    }
}

// Results.
impl Batch {
    /// Handles the end of a worker whose only verification is its answer and the conditions.
    pub(super) fn on_answer(&mut self, step: &Step, check: &Check, event: &WorkerFinished, cause: Seq) {
        let asked = step.completion.as_ref().and_then(|rules| rules.answer_of(event.iteration));
        let claim = match asked {
            None if step.completion.as_ref().is_some_and(Completion::has_no_checks) => Claim {
                reasons: vec![Reason::NothingAsked],
                ..Claim::new(Decision::Complete, DecisionSource::None)
            },
            None => Claim::new(Decision::Complete, DecisionSource::None),
            Some(format) => declaration_claim(step, format, event.answer.as_deref()),
        };
        self.verdict(step, check, claim, vec![cause]);
    }

    /// Handles the results of the validators before the first work.
    pub(super) fn on_preflight_finished(&mut self, ended: EndedCheck<'_>) {
        let EndedCheck { step, event, evidence, .. } = ended;
        if let Some(failure) = could_not_run(event) {
            return self.end_step(&step.id, StepEnd::CheckCouldNotRun(failure), evidence);
        }
        match failed_validators(&event.validators).next() {
            Some(result) => {
                self.end_step(&step.id, StepEnd::ConditionFailed(reason(result).to_string()), evidence)
            }
            None => self.begin_work(step),
        }
    }

    /// Handles the results of the validators for the work of this iteration.
    pub(super) fn on_validators_finished(&mut self, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, then: at, event, evidence } = ended;
        let Some(completion) = &step.completion else { return };
        if let Some(failure) = could_not_run(event) {
            return self.end_step(&step.id, StepEnd::CheckCouldNotRun(failure), evidence);
        }
        let (skipped, open): (Vec<&ValidatorResult>, Vec<&ValidatorResult>) =
            failed_validators(&event.validators).partition(|result| completion.is_skipped(result));
        let said = at.verdicts.claim.as_deref();
        let evidence = at.evidence_with(evidence);
        // A condition that was not checked cannot hold.
        let unasked = completion.conditions_in(Timing::AfterWork).nth(event.validators.len());
        if let Some(condition) = unasked.filter(|_| open.is_empty()) {
            let message = format!("the condition {} was not asked", condition.validator.name);
            let failure = ProcessFailure { class: ErrorClass::NonRetryable, message };
            return self.end_step(&step.id, StepEnd::CheckCouldNotRun(failure), evidence);
        }
        if open.is_empty() && !self.end_unsettled(step, check, &event.iteration, &evidence) {
            return;
        }
        let mut claim = Claim::new(Decision::Complete, DecisionSource::Validators);
        claim.check_id = Some(event.check_id.clone());
        let problems = said.into_iter().flat_map(|said| &said.problems);
        claim.problems = problems.cloned().map(VerdictWarning::Said).collect();
        if !open.is_empty() {
            claim.decision = Decision::Incomplete;
            claim.reasons = open.iter().map(|result| reason(result)).collect();
            claim.fingerprints = open.iter().flat_map(|result| result.fingerprints()).collect();
            if said.is_some_and(|said| said.source != DecisionSource::None) {
                claim.claimed = Some(Decision::Complete);
            }
            let answer = at.verdicts.verified.answer.as_deref();
            claim.fingerprints.extend(contradictions(answer, &event.validators));
        } else if !skipped.is_empty() {
            let names: Vec<String> = skipped.iter().map(|result| reason(result).to_string()).collect();
            claim.reasons = vec![Reason::Skipped(names.join("; "))];
        }
        self.verdict(step, check, claim, evidence);
    }

    /// Returns whether the results hold for the current workspace. If validators changed it, the preceding check runs
    /// again; if they change it each time, the results stay unknown.
    fn end_unsettled(&mut self, step: &Step, check: &Check, iteration: &Iteration, evidence: &[Seq]) -> bool {
        let rounds = self.at(&step.id).verdicts.verified.unsettled;
        if rounds == 0 || matches!(check.by, CheckMethod::Conditions | CheckMethod::Claim) {
            return true;
        }
        if rounds < UNSETTLED_MAX {
            self.ask(&step.id, *iteration, Attempt(1), Inquiry::Check, None);
        } else {
            let message = format!("{UNSETTLED}; until then the check before them says nothing");
            let failure = ProcessFailure { class: ErrorClass::NonRetryable, message };
            self.end_step(&step.id, StepEnd::CheckCouldNotRun(failure), evidence.to_vec());
        }
        false
    }

    /// Handles the end of the closer.
    pub(super) fn on_reviewer_finished(&mut self, ended: EndedCheck<'_>) {
        let EndedCheck { step, check, then: at, event, .. } = ended;
        let Some(closer) = step.completion.as_ref().and_then(|rules| rules.closer.as_ref()) else { return };
        // A closer that did not end well could have reported something else later.
        if let Some(failure) = event.outcome.failure(kind_of(step, at)) {
            let failure = allow_retry(failure, event);
            let phrase = Some(format!("the closer: {}", failure.phrase.as_deref().unwrap_or("it failed")));
            return self.check_could_not_run(&outage::ExitFailure { phrase, ..failure }, ended);
        }
        let report = match reviewer::ReviewerAnswer::from_answer(event.answer.as_deref()) {
            Ok(report) => report,
            // The worker cannot fix an unreadable report.
            Err(wrong) => {
                let failure = unreadable_answer(&wrong, &event.outcome.answer);
                return self.check_could_not_run(&failure, ended);
            }
        };
        let evidence = at.evidence_with(ended.evidence);
        let mut claim = Claim::new(Decision::Incomplete, DecisionSource::Closer);
        claim.check_id = Some(event.check_id.clone());
        claim.claimed = at.verdicts.claim.is_some().then_some(Decision::Complete);
        let open = report.open(&closer.required);
        claim.fingerprints = open.iter().map(reviewer::RejectReason::fingerprint).collect();
        claim.problems = report.complaints.into_iter().map(VerdictWarning::Said).collect();
        claim.reasons = open.into_iter().map(Reason::Closer).collect();
        if claim.reasons.is_empty() {
            (claim.decision, claim.claimed) = (Decision::Complete, None);
            let reasons = at.verdicts.claim.as_deref().into_iter().flat_map(|claim| &claim.reasons);
            claim.reasons = reasons.cloned().map(Reason::Said).collect();
        }
        self.verdict(step, check, claim, evidence);
    }

    /// Ends a step if the worker may not fix its failure, or not any longer; returns whether it did.
    pub(super) fn try_end_step(&mut self, step: &Step, evidence: &[Seq]) -> bool {
        let Some(completion) = &step.completion else { return false };
        let at = self.at(&step.id);
        let lost = (at.verdicts.inquiry == Inquiry::Conditions)
            .then(|| {
                failed_validators(&at.verdicts.verified.validators)
                    .find(|result| completion.ends_step(result))
            })
            .flatten();
        // An answer of the wrong form and the open items of a closer are failures like any other.
        let aborts =
            completion.on_failure == OnValidatorFailure::Abort && !at.feedback.fingerprints.is_empty();
        let end = if let Some(result) = lost {
            StepEnd::ConditionFailed(reason(result).to_string())
        } else if aborts {
            StepEnd::ConditionFailed(at.feedback.reasons.first().cloned().unwrap_or_default())
        } else if let Some(what) = at.recurring_failures(completion.max_attempts) {
            StepEnd::AttemptsExhausted(what)
        } else if completion.prompts.as_ref().is_some_and(|own| own.is_exhausted(at.verdicts.repeats)) {
            StepEnd::AttemptsExhausted(format!(
                "adaptation chain exhausted: the worker asked for repeat {} of its step",
                at.verdicts.repeats
            ))
        } else {
            return false;
        };
        self.end_step(&step.id, end, evidence.to_vec());
        true
    }

    /// Starts with the baseline if the step has one, otherwise with the work.
    pub(super) fn begin_work(&mut self, step: &Step) {
        if step.check.as_ref().is_some_and(Check::has_baseline) {
            self.ask(&step.id, Iteration::BASELINE, Attempt(1), Inquiry::Check, None);
        } else {
            self.request_work(&step.id, Iteration(1), Attempt(1));
        }
    }
}

impl StepState {
    /// Names the failures that reached the maximum number of occurrences; `None` if none did or no limit is set.
    fn recurring_failures(&self, max_attempts: u32) -> Option<String> {
        let enough =
            self.verdicts.occurrences.iter().filter(|(_, count)| max_attempts > 0 && **count >= max_attempts);
        let (claims, failures): (Vec<_>, Vec<_>) =
            enough.partition(|(fingerprint, _)| is_contradiction(fingerprint));
        // Such a claim comes with a failure, which is more specific.
        let named = if failures.is_empty() { claims } else { failures };
        let times = named.iter().map(|(_, count)| **count).max()?;
        let what = first(named.iter().map(|(failure, _)| self.failure_name(failure)), NAMED_MAX, 0);
        let (is, them) = if named.len() > 1 { ("are", "them") } else { ("is", "it") };
        Some(match times {
            1 => format!("{what} {is} there, and one iteration with {them} is all that is allowed"),
            _ => format!("{what} came back in {times} iterations in a row"),
        })
    }

    /// Returns a fingerprint, with the name of the failure if a validator found one.
    fn failure_name(&self, fingerprint: &str) -> String {
        let mut failures = self.verdicts.verified.validators.iter().flat_map(|result| &result.failures);
        let named = failures.find(|failure| failure.fingerprint.as_str() == fingerprint).map(gate::name);
        named.map_or_else(|| fingerprint.to_owned(), |name| format!("{name} ({fingerprint})"))
    }

    /// Returns the observations that a verdict is based on: the evidence of the claim, then `more`.
    fn evidence_with(&self, more: Vec<Seq>) -> Vec<Seq> {
        let before = self.verdicts.claim.as_deref().map(|claim| claim.evidence.clone()).unwrap_or_default();
        let more: Vec<Seq> = more.into_iter().filter(|seq| !before.contains(seq)).collect();
        [before, more].concat()
    }
}

impl Completion {
    /// Returns whether nothing is verified after the work.
    pub(super) fn has_no_checks(&self) -> bool {
        !self.has_conditions(Timing::AfterWork) && self.closer.is_none() && self.answer.is_none()
    }

    /// Returns whether a failure is skipped. A failure that the worker cannot fix never is.
    fn is_skipped(&self, result: &ValidatorResult) -> bool {
        self.on_failure == OnValidatorFailure::Skip && self.is_recoverable_failure(result)
    }

    fn ends_step(&self, result: &ValidatorResult) -> bool {
        self.on_failure == OnValidatorFailure::Abort || !self.is_recoverable_failure(result)
    }

    fn is_recoverable_failure(&self, result: &ValidatorResult) -> bool {
        let named = self.conditions.iter().find(|condition| condition.validator.name == result.validator);
        named.is_none_or(|condition| condition.validator.recoverable)
    }
}

/// Returns the failure of a closer with an unreadable answer, quoting the end of the answer.
fn unreadable_answer(wrong: &[String], said: &str) -> outage::ExitFailure {
    let last = said.lines().rfind(|line| !line.trim().is_empty()).map(str::trim).unwrap_or_default();
    let last = match truncate::head(last, QUOTED_MAX) {
        "" => String::new(),
        last => format!("; it ends with: {last}"),
    };
    let phrase = Some(format!("{}{last}", wrong.join("; ")));
    outage::ExitFailure { phrase, ..outage::ExitFailure::from_class(ErrorClass::RetryableTransient) }
}

/// Allows a retry of a closer that ran and failed for an unknown reason. A retry costs less than more work in vain.
fn allow_retry(failure: outage::ExitFailure, event: &CheckFinished) -> outage::ExitFailure {
    let ran = matches!(event.outcome.exit, Exit::Code(code) if !matches!(code, 126 | 127));
    match failure.class {
        ErrorClass::NonRetryable if ran && failure.trouble.is_none() => {
            outage::ExitFailure { class: ErrorClass::RetryableTransient, ..failure }
        }
        _ => failure,
    }
}
