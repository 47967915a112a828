//! How the work of a step is checked.

use serde::{Deserialize, Serialize};

use super::worker::Worker;
use crate::id::Millis;

/// The check after the work.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    /// The source of the verdict, and its form.
    pub by: CheckMethod,
    /// Bound of one check.
    pub timeout: Millis,
    /// Where the verdict is written, from the workspace root; may hold `{{completion_check_id}}`.
    #[serde(default)]
    pub decision_file: Option<String>,
    /// So many checks in a row without a readable verdict end the step.
    pub max_parse_failures: u32,
    /// How often a failing command of [`CheckMethod::Commands`] is run before its failures count; at least 1.
    #[serde(default = "once")]
    pub observations: u32,
    /// The rule for the baseline, a run of the same commands before the first iteration.
    #[serde(default)]
    pub baseline: Baseline,
    /// The files of tests that failed in the baseline may change, and the tools of the check. A log from before this rule has no value: they may.
    #[serde(default = "always")]
    pub allow_test_edits: bool,
}

impl Check {
    /// Default number of checks in a row that may end without a readable verdict.
    pub const DEFAULT_MAX_PARSE_FAILURES: u32 = 3;

    /// Returns a check that runs once, without a baseline and a decision file.
    pub fn new(by: CheckMethod, timeout: Millis) -> Self {
        Self {
            by,
            timeout,
            decision_file: None,
            max_parse_failures: Check::DEFAULT_MAX_PARSE_FAILURES,
            observations: 1,
            baseline: Baseline::Off,
            allow_test_edits: false,
        }
    }

    /// Says whether it is run before the first iteration: only what commands show can be compared with.
    pub fn has_baseline(&self) -> bool {
        matches!(self.by, CheckMethod::Commands(_)) && self.baseline != Baseline::Off
    }
}

fn once() -> u32 {
    1
}

fn always() -> bool {
    true
}

/// The source of a verdict, and its form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckMethod {
    /// A script whose exit code is the verdict.
    Exit(Worker),
    /// An agent whose decision file or answer is the verdict.
    Agent(Worker),
    /// The worker itself: its decision file or answer is the verdict; no further process runs.
    Claim,
    /// Commands that are run one after the other, all of them; each has to get through its gate.
    Commands(Vec<CheckCommand>),
    /// Only the conditions of the step, and the form of the answer if one is configured.
    Conditions,
}

/// One command of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckCommand {
    /// The command line, run by `bash -c` in the root of the workspace.
    pub run: String,
    /// The condition for its result.
    #[serde(default)]
    pub gate: Gate,
    /// Patterns of the machine reports that it writes, from the root of the workspace.
    #[serde(default)]
    pub reports: Vec<String>,
}

/// The condition for the result of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gate {
    /// It exits with 0.
    #[default]
    Pass,
    /// It shows no failure that the baseline did not have.
    NoNewFailures,
}

/// Whether the commands of a check are run before the first iteration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Baseline {
    /// They are not.
    #[default]
    Off,
    /// They are, and what failed is shown.
    Report,
    /// They are, and fewer tests than there were go through no gate.
    Gate,
}
