//! What a validator showed, as it is recorded.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Failure, FailureSet};
use crate::event::Exit;
use crate::id::{Blob, Millis};

/// Most failures of one validator that a verdict names.
pub const FINGERPRINTS_MAX: usize = 1000;

/// What a validator showed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidatorResult {
    /// Its name in the registry.
    pub validator: String,
    /// What it found.
    pub outcome: ValidatorOutcome,
    /// How its command ended; the last time, if it was run twice. 0 or 1 for files and checklists.
    pub exit: Exit,
    /// Wall time, of all times together.
    pub duration: Millis,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// Its standard output as a prompt shows it: of a long one the end, with a note; empty for one that passed.
    pub stdout_end: String,
    /// The same of its standard error.
    pub stderr_end: String,
    /// What it says of its failure: the part of the output that shows it; empty for one that passed.
    pub error: String,
    /// What a prompt says besides; empty for one that passed.
    pub report: Report,
    /// What was extracted, by the names of the registry.
    pub params: BTreeMap<String, Value>,
    /// What failed, each once; one of kind `could_not_run` where it could not run.
    pub failures: Vec<Failure>,
    /// It failed, and nothing was recognised in its output.
    pub unparsed: bool,
    /// It is that of an earlier check of the same workspace.
    pub cached: bool,
}

impl ValidatorResult {
    /// Returns the failures as a set.
    pub fn set(&self) -> FailureSet {
        FailureSet::new(self.failures.iter().map(|failure| failure.fingerprint.clone()))
    }

    /// Returns what the controller compares; at most 1,000 of them.
    pub fn fingerprints(&self) -> Vec<String> {
        let identities = self.failures.iter().map(|it| it.fingerprint.as_str().to_owned());
        identities.take(FINGERPRINTS_MAX).collect()
    }

    /// Returns what is said of it in one sentence.
    pub fn summary(&self) -> &str {
        &self.report.summary
    }

    /// Returns it as that of an earlier check.
    pub fn as_cached(&self) -> Self {
        Self { cached: true, ..self.clone() }
    }

    /// Says whether the condition holds.
    pub fn passed(&self) -> bool {
        self.outcome == ValidatorOutcome::Pass
    }
}

/// What a validator found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorOutcome {
    /// The condition holds.
    Pass,
    /// It does not.
    Fail,
    /// Nobody knows, for this reason. It holds no condition, and no worker can mend it.
    CouldNotRun(String),
}

/// What a prompt says of a failed validator.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    /// One sentence.
    pub summary: String,
    /// One line for each failure.
    pub details: Vec<String>,
    /// How bad it is.
    pub severity: Severity,
    /// What mends it.
    pub suggested_action: String,
    /// What is behind it, as far as the output tells; empty if it does not.
    pub root_cause: String,
    /// The files that it is about.
    pub related_files: Vec<String>,
}

/// How bad a failure is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    /// Nothing is wrong.
    Info,
    /// It may be left so.
    Warning,
    /// It has to be mended.
    #[default]
    Error,
    /// It stands in the way of everything else.
    Critical,
}

impl Severity {
    /// Returns the word that prompts have for it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Info => "info",
            Self::Warning => "warning",
            Self::Error => "error",
            Self::Critical => "critical",
        }
    }
}
