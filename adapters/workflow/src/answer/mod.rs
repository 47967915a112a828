//! Reads the answer of a worker in the form that its step asks for.

pub mod closer;
mod find;

use serde_json::Value;
use unstuck_core::evidence::ParsedAnswer;

use unstuck_core::completion::AnswerSchema;

use crate::schema::check::SchemaChecker;
pub use find::{AnswerSources, CandidateKind, allowed_values, match_text, select};

/// Reads an answer: the last JSON that meets the schema, or the last match of the pattern.
///
/// A form that cannot be used is a violation; forms are checked when they are loaded.
pub fn read(form: &AnswerSchema, sources: &AnswerSources<'_>) -> ParsedAnswer {
    match form {
        AnswerSchema::Json { schema: None, .. } => select(sources, CandidateKind::Any, |_| Vec::new()),
        AnswerSchema::Json { schema: Some(schema), .. } => {
            read_by_schema(schema, CandidateKind::Object, sources)
        }
        AnswerSchema::TextPattern(pattern) => {
            match_text(pattern, sources).unwrap_or_else(|error| invalid_form("pattern", error.to_string()))
        }
    }
}

/// Reads the answer of a closer: its last one, if that can be read. Who corrects himself has not agreed.
pub fn read_closer(sources: &AnswerSources<'_>) -> ParsedAnswer {
    read_by_schema(&closer::readable(), CandidateKind::LastNaming(closer::FIELDS), sources)
}

fn read_by_schema(schema: &Value, kind: CandidateKind<'_>, sources: &AnswerSources<'_>) -> ParsedAnswer {
    match SchemaChecker::new(schema) {
        Ok(checker) => select(sources, kind, |value| checker.violations(value)),
        Err(what) => invalid_form("schema", what),
    }
}

fn invalid_form(keyword: &str, message: String) -> ParsedAnswer {
    ParsedAnswer { violations: vec![find::answer_violation(keyword, message)], ..ParsedAnswer::default() }
}
