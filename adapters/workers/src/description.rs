//! The description of a client: how it is started, how its output is read, and what its errors mean.
//!
//! A new program needs a description and no code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unstuck_core::call_report::CallError;
use unstuck_core::client::{Client, StopSignal};

use crate::launch::LaunchSpec;
use crate::rule::{OutputRule, RegexPattern};

/// The description of a client.
///
/// It is recorded with the run that uses it, so that its output is read in the same way again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// Its name in a workflow: `claude`.
    pub name: String,
    /// Its display name: `Claude Code`.
    pub title: String,
    /// The program that is started.
    pub program: String,
    /// How it is started.
    pub launch: LaunchSpec,
    /// The signals that stop it, in this order. Processes that are left afterwards are killed.
    #[serde(default)]
    pub stop: Vec<StopSignal>,
    /// Instructions for the user if its login is invalid.
    #[serde(default)]
    pub login: String,
    /// Instructions for the user if its account is out of credit.
    #[serde(default)]
    pub credit: String,
    /// The format of its output.
    pub stream: OutputFormat,
    /// Whether an answer that is one JSON object is its structured output, because it has no other place for it.
    #[serde(default)]
    pub structured_text: bool,
    /// Prefixes of lines that only show that it is alive; the rest of these lines is not read.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// How a line is read. All rules that match are followed, in their order.
    #[serde(default)]
    pub rules: Vec<OutputRule>,
    /// Meanings of its exit codes, used if its output does not report how it ended.
    #[serde(default)]
    pub exits: BTreeMap<i32, CallError>,
    /// Patterns for standard error, used if its output does not report how it ended.
    #[serde(default)]
    pub stderr: Vec<ErrorPattern>,
    /// Patterns for its errors, which come before the general ones.
    #[serde(default)]
    pub troubles: Vec<ErrorPattern>,
}

impl Description {
    /// Reads the description that a workflow holds.
    ///
    /// # Errors
    ///
    /// It was written by another version, in a form that this one does not know.
    pub fn from_client(client: &Client) -> serde_json::Result<Self> {
        serde_json::from_str(client.description())
    }

    /// Returns it as a workflow holds it.
    pub fn client(&self) -> Client {
        let text = serde_json::to_string(self).expect("a description is plain data");
        Client::parse(&text).expect("a description has a name and a title")
    }

    /// Returns whether a rule extracts the cost of a call.
    pub fn reports_cost(&self) -> bool {
        self.rules.iter().any(|rule| rule.says.cost.is_some())
    }

    /// Returns whether a rule extracts the tokens of a call.
    pub fn reports_tokens(&self) -> bool {
        self.rules.iter().any(|rule| rule.says.usage.is_some())
    }
}

/// The format of a client's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// One JSON object a line.
    Jsonl,
    /// Text. Lines that no rule matches are the answer.
    Text,
}

/// A pattern for error messages, and the kind of error that a match means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPattern {
    /// The pattern.
    pub re: RegexPattern,
    /// The kind of error.
    pub trouble: CallError,
    /// Help for the user, appended to the message; empty if the message is enough.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}
