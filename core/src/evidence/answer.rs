//! What was read of an answer that has to have a form.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Where a value was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// In the structured output of the worker CLI.
    StructuredOutput,
    /// In the decision file.
    DecisionFile,
    /// In this message of the answer; the first is 1.
    Message(u32),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::StructuredOutput => f.write_str("structured output"),
            Self::DecisionFile => f.write_str("decision file"),
            Self::Message(number) => write!(f, "message {number}"),
        }
    }
}

/// What was read of an answer.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AnswerSeen {
    /// The answer, as JSON text; `None` if nothing had the right form.
    pub value: Option<String>,
    /// Where it was found.
    pub from: Option<Origin>,
    /// What was looked at before, or in vain.
    pub refused: Vec<Refused>,
    /// What is wrong with the candidate that was most likely meant; empty if there is an answer.
    pub violations: Vec<Violation>,
}

/// Something that could have been the answer and is not.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// Where it was found.
    pub from: Origin,
    /// The line that it begins in; the first is 1.
    pub line: u32,
    /// Why it is not the answer.
    pub reason: String,
}

/// One way in which a value does not meet its schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    /// Where in the value, as people write it: `next_action.action`, `touched[2]`; empty for the value itself.
    pub path: String,
    /// The keyword of the schema that is not met.
    pub keyword: String,
    /// Where in the schema that keyword stands, as a JSON pointer without the keyword.
    pub schema_path: String,
    /// What is wrong, in words.
    pub message: String,
    /// The values that are allowed, where the schema lists them.
    pub allowed: Vec<Value>,
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let path = if self.path.is_empty() { "the answer" } else { &self.path };
        write!(f, "{path}: {}", self.message)
    }
}

impl Violation {
    /// Returns the identity of the failure: the same schema, the same keyword.
    pub fn fingerprint(&self) -> String {
        format!("format:#{}:{}", self.schema_path, self.keyword)
    }
}

impl AnswerSeen {
    /// Returns the identities of what is wrong with the answer, each once; empty if it is right.
    pub fn fingerprints(&self) -> Vec<String> {
        let mut out: Vec<String> = self.violations.iter().map(Violation::fingerprint).collect();
        out.sort();
        out.dedup();
        out
    }

    /// Returns the answer.
    pub fn parsed(&self) -> Option<Value> {
        serde_json::from_str(self.value.as_deref()?).ok()
    }
}

/// How many ways in which an answer departs from its form are told.
const DEPARTURES_MAX: usize = 12;

/// Returns in what an answer departs from the form that was asked for, a sentence each.
pub(crate) fn departures(answer: Option<&AnswerSeen>, who: &str) -> Vec<String> {
    match answer.map(|answer| &answer.violations[..]) {
        None | Some([]) => vec![format!("{who} has nothing of the form that was asked for")],
        Some(violations) => violations
            .iter()
            .take(DEPARTURES_MAX)
            .map(|it| format!("{who} is not of the right form: {it}"))
            .collect(),
    }
}
