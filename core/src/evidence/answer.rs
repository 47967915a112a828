//! A structured answer of an agent: the accepted value, or the reasons why there is none.

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The place of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "snake_case")]
pub enum AnswerSource {
    /// In the structured output of the worker CLI.
    #[error("structured output")]
    StructuredOutput,
    /// In the decision file.
    #[error("decision file")]
    DecisionFile,
    /// In this message of the answer; the first is 1.
    #[error("message {0}")]
    Message(u32),
}

/// A structured answer, with the candidates that were rejected.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ParsedAnswer {
    /// The answer as JSON text; `None` if no candidate was accepted.
    pub value: Option<String>,
    /// The place of the answer.
    pub from: Option<AnswerSource>,
    /// Rejected candidates; a bounded number of them.
    pub refused: Vec<RejectedCandidate>,
    /// Errors of the most likely candidate; empty if there is an answer.
    pub violations: Vec<SchemaViolation>,
}

/// A rejected candidate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RejectedCandidate {
    /// Its place.
    pub from: AnswerSource,
    /// Its first line, counted from 1.
    pub line: u32,
    /// The reason for the rejection.
    pub reason: String,
}

/// A violation of the schema.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{}: {message}", if path.is_empty() { "the answer" } else { path })]
pub struct SchemaViolation {
    /// The path in the value, such as `next_action.action` or `touched[2]`; empty for the value itself.
    pub path: String,
    /// The keyword of the schema that is violated.
    pub keyword: String,
    /// JSON pointer to the part of the schema that has the keyword.
    pub schema_path: String,
    /// The error as a sentence.
    pub message: String,
    /// The allowed values, if the schema lists them.
    pub allowed: Vec<Value>,
}

impl SchemaViolation {
    /// Returns the fingerprint: equal for the same place and keyword of the schema.
    pub fn fingerprint(&self) -> String {
        format!("format:#{}:{}", self.schema_path, self.keyword)
    }
}

impl ParsedAnswer {
    /// Returns the fingerprints of all violations, sorted and distinct; empty for a valid answer.
    pub fn fingerprints(&self) -> Vec<String> {
        let mut out: Vec<String> = self.violations.iter().map(SchemaViolation::fingerprint).collect();
        out.sort();
        out.dedup();
        out
    }

    /// Parses the answer.
    pub fn to_value(&self) -> Option<Value> {
        serde_json::from_str(self.value.as_deref()?).ok()
    }
}

/// Most violations that a verdict names.
const DEPARTURES_MAX: usize = 12;

/// Returns the violations of an answer, one sentence each.
pub(crate) fn format_violations(answer: Option<&ParsedAnswer>, who: &str) -> Vec<String> {
    match answer.map(|answer| &answer.violations[..]) {
        None | Some([]) => vec![format!("{who} has nothing of the form that was asked for")],
        Some(violations) => violations
            .iter()
            .take(DEPARTURES_MAX)
            .map(|violation| format!("{who} is not of the right form: {violation}"))
            .collect(),
    }
}
