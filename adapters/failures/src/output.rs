//! The output of a command, and the failures that were read from it.

use serde::{Deserialize, Serialize};
use unstuck_core::evidence::{Confidence, Failure, FailureSet};

/// The output of a command, as bytes.
#[derive(Clone, Debug, Default)]
pub struct ToolOutput<'a> {
    /// The command line.
    pub command: &'a str,
    /// The directory that it ran in, absolute; paths below it become relative.
    pub cwd: &'a str,
    /// Its exit code, where it is known; negative for a process that did not end by itself.
    pub exit_code: Option<i32>,
    /// Standard output.
    pub stdout: &'a [u8],
    /// Standard error.
    pub stderr: &'a [u8],
    /// The machine reports that it wrote.
    pub reports: Vec<MachineReport<'a>>,
    /// Tests that the same command named as failed before; one that it names again failed, whatever the exit code.
    pub failed_before: Option<&'a FailureSet>,
}

/// A machine report.
#[derive(Clone, Copy, Debug)]
pub struct MachineReport<'a> {
    /// The name of its format, see [`FORMATS`](crate::formats::FORMATS); empty to have it recognized.
    pub format: &'a str,
    /// Its content.
    pub bytes: &'a [u8],
}

/// The failures that were read from an output.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Extraction {
    /// The tool that was recognized; empty where none was.
    pub tool: String,
    /// The failures, each fingerprint once, in the order of the output.
    pub failures: Vec<Failure>,
    /// How far this can be relied on. An extraction of low confidence satisfies no gate.
    pub confidence: Confidence,
    /// Output that was left out because there was too much of it, in bytes.
    pub bytes_left_out: u64,
    /// Failures that were left out because there were too many.
    pub failures_left_out: u64,
}

impl Extraction {
    /// Returns the failures as a set.
    pub fn set(&self) -> FailureSet {
        FailureSet::new(self.failures.iter().map(|failure| failure.fingerprint.clone()))
    }
}
