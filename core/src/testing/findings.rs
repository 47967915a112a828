//! Findings of a check, converted to the report of each kind of check.

use super::check_output::command_result;
use super::world::Behavior;
use crate::completion::{Condition, Timing};
use crate::event::Exit;
use crate::evidence::{
    CommandResult, Confidence, Failure, FailureReport, FailureSubject, Fingerprint, Location, Number,
    NumberLine, Tests, ValidatorOutcome, ValidatorResult,
};
use crate::id::{Digest, Millis};
use crate::workflow::{CheckMethod, Step};

/// Result of a check in one iteration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Findings {
    /// It passes.
    Passed,
    /// It does not pass, and gives no reason.
    Silent,
    /// It shows failures.
    Failed(Failed),
}

/// The failures that a check shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Failed {
    failures: Vec<Failure>,
    number: Option<i64>,
    passed: Option<u64>,
}

/// Returns a check that shows these failures, by their names.
pub fn failing<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Findings {
    let failure = |name: N| {
        let name = name.into();
        Failure::synthetic("test", "failed", FailureSubject::Item(&name, "tests"), &name)
    };
    Findings::Failed(Failed { failures: names.into_iter().map(failure).collect(), ..Failed::default() })
}

impl Findings {
    /// Moves the failures to a line of a file of 100 lines that has so many after it.
    #[must_use]
    pub fn at_place(self, remaining: u32) -> Self {
        self.with(|failed| {
            for failure in &mut failed.failures {
                let line = Some(100_u32.saturating_sub(remaining));
                failure.location = Some(Location { file: "tests".to_owned(), line });
                failure.remaining = Some(remaining);
            }
        })
    }

    /// Adds a line with a number, in millionths, that should reach 0.
    #[must_use]
    pub fn with_number(self, number: i64) -> Self {
        self.with(|failed| failed.number = Some(number))
    }

    /// Adds so many tests that pass.
    #[must_use]
    pub fn with_passed(self, passed: u64) -> Self {
        self.with(|failed| failed.passed = Some(passed))
    }

    fn with(mut self, change: impl FnOnce(&mut Failed)) -> Self {
        if let Self::Failed(failed) = &mut self {
            change(failed);
        }
        self
    }

    fn failures(&self) -> &[Failure] {
        if let Self::Failed(failed) = self { &failed.failures } else { &[] }
    }

    /// Returns how the check of this step shows it. Of several commands or conditions, the first one does.
    pub fn check(&self, step: &Step) -> Behavior {
        let is_passed = *self == Self::Passed;
        let code = i32::from(!is_passed);
        match step.check.as_ref().map(|check| &check.by) {
            Some(CheckMethod::Commands(commands)) => {
                let show = |(at, run): (usize, &str)| {
                    if at == 0 { self.result(run) } else { Self::Passed.result(run) }
                };
                Behavior::Shows(
                    commands.iter().map(|command| command.run.as_str()).enumerate().map(show).collect(),
                )
            }
            Some(CheckMethod::Agent(_)) => Behavior::Writes(0, self.verdict()),
            Some(CheckMethod::Exit(_)) if matches!(self, Self::Failed(_)) => {
                Behavior::Writes(1, self.verdict())
            }
            Some(CheckMethod::Conditions) => Behavior::Validates(self.validator_results(step)),
            _ => Behavior::Exits(code, String::new()),
        }
    }

    /// Returns it as a decision file; `{id}` stands for the check id.
    pub fn verdict(&self) -> String {
        if *self == Self::Passed {
            return r#"{"decision":"complete","check_id":"{id}"}"#.to_owned();
        }
        let names: Vec<String> =
            self.failures().iter().map(|failure| format!("{:?}", failure.message)).collect();
        format!(r#"{{"decision":"incomplete","check_id":"{{id}}","fingerprints":[{}]}}"#, names.join(","))
    }

    /// Returns it as the result of a command.
    pub fn result(&self, run: &str) -> CommandResult {
        let code = Exit::Code(i32::from(*self != Self::Passed));
        let result = command_result(run, &code, "");
        let Self::Failed(failed) = self else { return result };
        let line = |value| NumberLine {
            frame: Digest::sha256(b"# left"),
            numbers: vec![Number { value, bound: Some(0) }],
        };
        let mut failures = failed.failures.clone();
        failures.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
        CommandResult {
            failures,
            confidence: Confidence::High,
            tests: failed.passed.map(|passed| Tests { passed, ..Tests::default() }),
            numbers: failed.number.map(line).into_iter().collect(),
            ..result
        }
    }

    /// Returns it as the results of the conditions of a step.
    fn validator_results(&self, step: &Step) -> Vec<ValidatorResult> {
        let conditions = step.completion.iter().flat_map(|rules| rules.conditions_in(Timing::AfterWork));
        let result = |(at, condition): (usize, &Condition)| {
            let name = &condition.validator.name;
            let has_failed = at == 0 && *self != Self::Passed;
            let of_condition = |failure: &Failure| Failure {
                fingerprint: Fingerprint::from_recorded(format!("validator:{name}:{}", failure.message)),
                ..failure.clone()
            };
            let failures = if has_failed { self.failures() } else { &[] };
            let outcome = if has_failed { ValidatorOutcome::Fail } else { ValidatorOutcome::Pass };
            ValidatorResult {
                exit: Exit::Code(i32::from(has_failed)),
                failures: failures.iter().map(of_condition).collect(),
                ..validator_result(name, outcome)
            }
        };
        conditions.enumerate().map(result).collect()
    }
}

/// Returns the result of a validator that exited with 0 and printed nothing.
pub fn validator_result(validator: &str, outcome: ValidatorOutcome) -> ValidatorResult {
    ValidatorResult {
        validator: validator.to_owned(),
        outcome,
        exit: Exit::Code(0),
        duration: Millis(1),
        stdout: None,
        stderr: None,
        stdout_end: String::new(),
        stderr_end: String::new(),
        error: String::new(),
        report: FailureReport::default(),
        params: [].into(),
        failures: Vec::new(),
        unparsed: false,
        cached: false,
        numbers: Vec::new(),
    }
}
