//! Condition 2: every validator passes. One that could not run neither passes nor is the worker's fault.

use super::declared_status::{self, DeclaredStatus};
use super::reason::Reason;
use crate::event::{CheckFinished, ErrorClass, ProcessFailure};
use crate::evidence::{ParsedAnswer, ValidatorOutcome, ValidatorResult};
use crate::plural::count;
use crate::snapshot::Snapshot;

/// Why the result of the conditions is unknown.
pub(crate) const UNSETTLED: &str =
    "the validators change the workspace each time they run: have git ignore what they write";

/// The validators of a step run at most this often until none of them changes the workspace.
const ROUNDS_MAX: u32 = 3;

/// The consequence of one round of validators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Round {
    /// The results are about the current workspace.
    Settled,
    /// They changed the workspace, so they run again.
    Again,
    /// They changed the workspace in every round that they have.
    Unsettled,
}

impl Round {
    /// Returns what follows from the round with this number; the first is 1. A missing snapshot counts as no
    /// change.
    pub fn after(number: u32, before: Option<&Snapshot>, now: Option<&Snapshot>) -> Self {
        let is_same = before.zip(now).is_none_or(|(before, now)| before.same_work(now));
        match is_same {
            true => Self::Settled,
            false if number < ROUNDS_MAX => Self::Again,
            false => Self::Unsettled,
        }
    }
}

pub(crate) fn failed_validators(results: &[ValidatorResult]) -> impl Iterator<Item = &ValidatorResult> {
    results.iter().filter(|result| result.outcome == ValidatorOutcome::Fail)
}

/// Says why what the validators found is no answer: one could not run, or what one passed is not what is there now.
pub(crate) fn could_not_run(event: &CheckFinished) -> Option<ProcessFailure> {
    event.validators.iter().find_map(|result| {
        let why = match (&result.outcome, event.unsettled_after) {
            (ValidatorOutcome::CouldNotRun(why), _) => why.clone(),
            (ValidatorOutcome::Pass, Some(rounds)) => format!("after {} {UNSETTLED}", count(rounds, "round")),
            (ValidatorOutcome::Pass | ValidatorOutcome::Fail, _) => return None,
        };
        let message = format!("validator {} could not run: {why}", result.validator);
        Some(ProcessFailure { class: ErrorClass::NonRetryable, message })
    })
}

pub(crate) fn reason(result: &ValidatorResult) -> Reason {
    Reason::Validator(result.validator.clone(), result.summary().to_owned())
}

/// Returns the fingerprints of failed validators that a declaration of completion contradicts.
pub(crate) fn contradictions(answer: Option<&ParsedAnswer>, results: &[ValidatorResult]) -> Vec<String> {
    let answer = answer.and_then(ParsedAnswer::to_value);
    let is_declared =
        answer.is_some_and(|answer| DeclaredStatus::from_answer(&answer) == DeclaredStatus::Complete);
    let failed = failed_validators(results).filter(|_| is_declared);
    failed.map(|result| format!("{}{}", declared_status::CONTRARY, result.validator)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::snapshot;

    #[test]
    fn validators_run_until_they_change_nothing_or_have_no_round_left() {
        let (one, other) = (snapshot(1), snapshot(2));
        for (number, before, now, expected) in [
            (1, Some(&one), Some(&one), Round::Settled),
            (1, Some(&one), Some(&other), Round::Again),
            (2, Some(&other), Some(&one), Round::Again),
            (3, Some(&one), Some(&other), Round::Unsettled),
            (3, Some(&one), Some(&one), Round::Settled),
            (3, None, Some(&one), Round::Settled),
            (3, Some(&one), None, Round::Settled),
        ] {
            assert_eq!(Round::after(number, before, now), expected, "round {number}");
        }
    }
}
