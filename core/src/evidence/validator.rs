//! The result of a validator.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use strum::IntoStaticStr;

use super::{Failure, FailureSet, NumberLine};
use crate::event::Exit;
use crate::id::{Blob, Millis};

/// Most failures of one validator that a verdict names.
pub const FINGERPRINTS_MAX: usize = 1000;

/// The result of a validator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidatorResult {
    /// Its name in the registry.
    pub validator: String,
    /// The outcome.
    pub outcome: ValidatorOutcome,
    /// The exit of its command, of the last run if there were two; 0 or 1 for files and checklists.
    pub exit: Exit,
    /// Wall time of all its runs.
    pub duration: Millis,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// The end of its standard output for the prompt; empty if it passed.
    pub stdout_end: String,
    /// The end of its standard error for the prompt; empty if it passed.
    pub stderr_end: String,
    /// The part of the output that shows the failure; empty if it passed.
    pub error: String,
    /// The report for the prompt; empty if it passed.
    pub report: FailureReport,
    /// The extracted parameters, by their names in the registry.
    pub params: BTreeMap<String, Value>,
    /// The failures, each once; one of kind `could_not_run` if it could not run.
    pub failures: Vec<Failure>,
    /// Whether it failed and no reader recognized its output.
    pub unparsed: bool,
    /// Whether it is reused from an earlier check of the same workspace.
    pub cached: bool,
    /// Lines of its output with numbers that can come closer to a bound; empty if it passed.
    #[serde(default)]
    pub numbers: Vec<NumberLine>,
}

impl ValidatorResult {
    /// Returns the failures as a set.
    pub fn set(&self) -> FailureSet {
        FailureSet::new(self.failures.iter().map(|failure| failure.fingerprint.clone()))
    }

    /// Returns the fingerprints of its failures; at most 1,000.
    pub fn fingerprints(&self) -> Vec<String> {
        let identities = self.failures.iter().map(|failure| failure.fingerprint.as_str().to_owned());
        identities.take(FINGERPRINTS_MAX).collect()
    }

    /// Returns the summary in one sentence.
    pub fn summary(&self) -> &str {
        &self.report.summary
    }

    /// Returns it marked as reused.
    pub fn as_cached(&self) -> Self {
        Self { cached: true, ..self.clone() }
    }

    /// Says whether the condition holds.
    pub fn passed(&self) -> bool {
        self.outcome == ValidatorOutcome::Pass
    }
}

/// The outcome of a validator.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorOutcome {
    /// The condition holds.
    Pass,
    /// The condition does not hold.
    Fail,
    /// It could not run, for this reason. The condition does not hold, and no work of an agent changes that.
    CouldNotRun(String),
}

/// The description of a failed validator for the prompt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureReport {
    /// One sentence.
    pub summary: String,
    /// One line for each failure.
    pub details: Vec<String>,
    /// The severity.
    pub severity: Severity,
    /// The action to take.
    pub suggested_action: String,
    /// The cause, if the output names it; otherwise empty.
    pub root_cause: String,
    /// The affected files.
    pub related_files: Vec<String>,
}

/// The severity of a failure.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "snake_case")]
#[strum(serialize_all = "snake_case")]
pub enum Severity {
    /// No problem.
    Info,
    /// A problem that may stay.
    Warning,
    /// A problem to fix.
    #[default]
    Error,
    /// A problem to fix before all others.
    Critical,
}

impl Severity {
    /// Returns the word that prompts have for it.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
