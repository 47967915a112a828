//! The description of a client: how it is started, how its output is read, and what its errors mean.
//!
//! A new program needs a description and no code.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use unstuck_core::call_report::Trouble;
use unstuck_core::client::{Client, StopSignal};

use crate::launch::LaunchSpec;
use crate::rule::{Pattern, Rule};

/// The description of a client.
///
/// It is recorded with the run that uses it, so that its output is read in the same way again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Description {
    /// What it is called in a workflow: `claude`.
    pub name: String,
    /// What it is called for people: `Claude Code`.
    pub title: String,
    /// The program that is started.
    pub program: String,
    /// How it is started.
    pub launch: LaunchSpec,
    /// The signals that end it, the first one first; what is left afterwards is killed.
    #[serde(default)]
    pub stop: Vec<StopSignal>,
    /// What a person does when its login is not good.
    #[serde(default)]
    pub login: String,
    /// What a person does when there is no money left.
    #[serde(default)]
    pub credit: String,
    /// What its output is made of.
    pub stream: OutputFormat,
    /// An answer that is one JSON object is its structured output: it has no other place for it.
    #[serde(default)]
    pub structured_text: bool,
    /// Beginnings of lines that say nothing but that it is alive; they are not read any further.
    #[serde(default)]
    pub ignore: Vec<String>,
    /// How a line is read. All rules that match are followed, in their order.
    #[serde(default)]
    pub rules: Vec<Rule>,
    /// What its exit codes mean, where it does not say how it ended.
    #[serde(default)]
    pub exits: BTreeMap<i32, Trouble>,
    /// What a line on standard error means, where it does not say how it ended.
    #[serde(default)]
    pub stderr: Vec<ErrorPattern>,
    /// What its errors mean, before what such words usually mean.
    #[serde(default)]
    pub troubles: Vec<ErrorPattern>,
}

impl Description {
    /// Reads the description that a workflow holds.
    ///
    /// # Errors
    ///
    /// It was written by another version, in a form that this one does not know.
    pub fn of(client: &Client) -> serde_json::Result<Self> {
        serde_json::from_str(client.description())
    }

    /// Returns it as a workflow holds it.
    pub fn client(&self) -> Client {
        let text = serde_json::to_string(self).expect("a description is plain data");
        Client::parse(&text).expect("a description has a name and a title")
    }

    /// Returns whether it says where the cost of a call is.
    pub fn tells_cost(&self) -> bool {
        self.rules.iter().any(|rule| rule.says.cost.is_some())
    }

    /// Returns whether it says where the tokens of a call are.
    pub fn tells_tokens(&self) -> bool {
        self.rules.iter().any(|rule| rule.says.usage.is_some())
    }
}

/// What an output is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputFormat {
    /// One JSON object a line.
    Jsonl,
    /// Text. What no rule takes is the answer.
    Text,
}

/// What a text means.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorPattern {
    /// A text in which this is found,
    pub re: Pattern,
    /// means this.
    pub trouble: Trouble,
    /// What a person can do about it; empty where the text says that itself. It is told behind the text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub help: String,
}
