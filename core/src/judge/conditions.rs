//! Condition 2: every validator passes. One that could not run neither passes nor is the worker's fault.

use super::declaration::{self, Declaration};
use super::reason::Reason;
use crate::event::{CheckFinished, ErrorClass, Failure};
use crate::evidence::{AnswerSeen, ValidatorOutcome, ValidatorResult};
use crate::plural::count;

/// Why nobody can know what holds.
pub(crate) const UNSETTLED: &str =
    "the validators change the workspace each time they run: have git ignore what they write";

pub(crate) fn failed(results: &[ValidatorResult]) -> impl Iterator<Item = &ValidatorResult> {
    results.iter().filter(|it| it.outcome == ValidatorOutcome::Fail)
}

/// Says why what the validators found is no answer: one could not run, or what one passed is not what is there now.
pub(crate) fn could_not_run(event: &CheckFinished) -> Option<Failure> {
    event.validators.iter().find_map(|result| {
        let why = match (&result.outcome, event.unsettled_after) {
            (ValidatorOutcome::CouldNotRun(why), _) => why.clone(),
            (ValidatorOutcome::Pass, Some(rounds)) => format!("after {} {UNSETTLED}", count(rounds, "round")),
            (ValidatorOutcome::Pass | ValidatorOutcome::Fail, _) => return None,
        };
        let message = format!("validator {} could not run: {why}", result.validator);
        Some(Failure { class: ErrorClass::NonRetryable, message })
    })
}

pub(crate) fn reason(result: &ValidatorResult) -> Reason {
    Reason::Validator(result.validator.clone(), result.summary().to_owned())
}

/// Returns the fingerprints of failed validators that a declaration of completion contradicts.
pub(crate) fn contradicted(answer: Option<&AnswerSeen>, results: &[ValidatorResult]) -> Vec<String> {
    let answer = answer.and_then(AnswerSeen::parsed);
    let is_declared = answer.is_some_and(|answer| Declaration::of(&answer) == Declaration::Complete);
    let failed = failed(results).filter(|_| is_declared);
    failed.map(|result| format!("{}{}", declaration::CONTRARY, result.validator)).collect()
}
