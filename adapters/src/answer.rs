//! Reads the answer of a worker in the form that its step asks for.

use unstuck_core::answer::{AnswerSeen, Sources, Violation, choose, match_text};
use unstuck_core::completion::Form;

use crate::schema::check::Checker;

/// Reads an answer: the last JSON that meets the schema, or the last match of the pattern.
///
/// A form that cannot be used is a violation; forms are checked when they are loaded.
pub fn read(form: &Form, sources: &Sources<'_>) -> AnswerSeen {
    match form {
        Form::Json { schema: None, .. } => choose(sources, false, |_| Vec::new()),
        Form::Json { schema: Some(schema), .. } => match Checker::new(schema) {
            Ok(checker) => choose(sources, true, |value| checker.violations(value)),
            Err(what) => unusable("schema", what),
        },
        Form::TextPattern(pattern) => {
            match_text(pattern, sources).unwrap_or_else(|error| unusable("pattern", error.to_string()))
        }
    }
}

fn unusable(keyword: &str, message: String) -> AnswerSeen {
    let violation = Violation {
        path: String::new(),
        keyword: keyword.to_owned(),
        schema_path: String::new(),
        message,
        allowed: Vec::new(),
    };
    AnswerSeen { violations: vec![violation], ..AnswerSeen::default() }
}
