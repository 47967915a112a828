//! Reads the answer of a worker in the form that its step asks for.

pub mod closer;
mod find;

use serde_json::Value;
use unstuck_core::evidence::AnswerSeen;

use unstuck_core::completion::Form;

use crate::schema::check::Checker;
pub use find::{AnswerSources, CandidateKind, allowed_values, choose, match_text};

/// Reads an answer: the last JSON that meets the schema, or the last match of the pattern.
///
/// A form that cannot be used is a violation; forms are checked when they are loaded.
pub fn read(form: &Form, sources: &AnswerSources<'_>) -> AnswerSeen {
    match form {
        Form::Json { schema: None, .. } => choose(sources, CandidateKind::Any, |_| Vec::new()),
        Form::Json { schema: Some(schema), .. } => meeting(schema, CandidateKind::Object, sources),
        Form::TextPattern(pattern) => {
            match_text(pattern, sources).unwrap_or_else(|error| unusable("pattern", error.to_string()))
        }
    }
}

/// Reads the answer of a closer: its last one, if that can be read. Who corrects himself has not agreed.
pub fn read_of_closer(sources: &AnswerSources<'_>) -> AnswerSeen {
    meeting(&closer::readable(), CandidateKind::LastNaming(closer::FIELDS), sources)
}

fn meeting(schema: &Value, wanted: CandidateKind<'_>, sources: &AnswerSources<'_>) -> AnswerSeen {
    match Checker::new(schema) {
        Ok(checker) => choose(sources, wanted, |value| checker.violations(value)),
        Err(what) => unusable("schema", what),
    }
}

fn unusable(keyword: &str, message: String) -> AnswerSeen {
    AnswerSeen { violations: vec![find::whole(keyword, message)], ..AnswerSeen::default() }
}
