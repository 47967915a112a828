//! Condition 2: every validator passes. One that could not run neither passes nor is the worker's fault.

use super::declaration::{self, Finding};
use super::reason::Reason;
use crate::event::{CheckFinished, Failure};
use crate::evidence::{AnswerSeen, ValidatorOutcome, ValidatorResult};
use crate::outage::ErrorClass;
use crate::plural::count;
use crate::state::Verified;

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

impl Verified {
    /// Puts what the worker declared beside what the validators found; `None` where they agree.
    pub fn contrary(&self, results: &[ValidatorResult]) -> Option<declaration::Contrary> {
        let answer = self.answer.as_deref().and_then(AnswerSeen::parsed)?;
        let ran = results.iter().filter(|it| !matches!(it.outcome, ValidatorOutcome::CouldNotRun(_)));
        let findings: Vec<Finding<'_>> = ran
            .map(|it| Finding {
                validator: &it.validator,
                passed: it.outcome == ValidatorOutcome::Pass,
                summary: it.summary(),
            })
            .collect();
        declaration::contrary(&answer, &findings)
    }
}
