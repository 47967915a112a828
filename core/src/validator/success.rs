//! When a validator has passed.

use serde::{Deserialize, Serialize};

/// When a command has passed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SuccessWhen {
    /// It ran properly and printed nothing but white space and colours.
    Empty,
    /// It exited with one of these codes.
    ExitCode(Vec<i32>),
    /// It ran properly, and this stands in its standard output as a whole.
    Contains(String),
    /// It ran properly, and this regular expression matches in its standard output.
    Matches(String),
}
