//! The required form of the answers of a step, from the requirements of its parts.
//!
//! The first prompt, the later prompts and, for a declared completion, the end of the step each require a form.
//! One answer may have to meet two of them, so their schemas are closed together; see [`crate::schema::together`].

use std::collections::BTreeMap;

use serde_json::{Value, json};
use unstuck_core::completion::{AnswerFormat, AnswerSchema, LaterAnswer};

use crate::schema::{excluded_property, together};

/// The requirements of one entry of a registry.
#[derive(Clone, Debug)]
pub(super) struct StepAnswer {
    pub(super) format: AnswerFormat,
    /// The schema before its objects were closed.
    pub(super) open: Option<Value>,
}

/// The required forms of the answers of a step.
#[derive(Debug, Default)]
pub(super) struct AnswerSchemas {
    pub(super) first: Option<AnswerFormat>,
    pub(super) later: LaterAnswer,
    pub(super) last: Option<AnswerFormat>,
}

/// Combines the requirements of the first iteration, the later ones (`None` without a separate entry) and the end.
///
/// # Errors
///
/// The problem and its remedy, if no answer could meet two of the requirements.
pub(super) fn forms(
    first: Option<&StepAnswer>,
    later: Option<Option<&StepAnswer>>,
    end: Option<&StepAnswer>,
) -> Result<AnswerSchemas, (String, String)> {
    let Some(end) = end else {
        let format = |step: Option<&StepAnswer>| step.map(|answer| answer.format.clone());
        return Ok(AnswerSchemas {
            later: later_answer(format(first), later.map(format)),
            first: format(first),
            last: None,
        });
    };
    let answers: Vec<&StepAnswer> = [first, later.flatten()].into_iter().flatten().collect();
    let refused: Vec<String> =
        answers.iter().filter_map(|own| excluded_property(end.open.as_ref()?, own.open.as_ref()?)).collect();
    if let Some(name) = refused.first().filter(|_| refused.len() == answers.len()) {
        let what = format!(
            "no answer can declare completion: {} requires \"{name}\", and {} allows no such property",
            source(end),
            answers.first().map(|answer| source(answer)).unwrap_or_default(),
        );
        return Err((what, format!("add {name} to the properties of the other schema")));
    }
    let with_end = |own: Option<&StepAnswer>| Some(combine_with_end(own, end));
    Ok(AnswerSchemas {
        later: later_answer(with_end(first), later.map(with_end)),
        first: with_end(first),
        last: Some(last(&answers, end)),
    })
}

fn later_answer(first: Option<AnswerFormat>, later: Option<Option<AnswerFormat>>) -> LaterAnswer {
    match later {
        None => LaterAnswer::Same,
        Some(later) if later == first => LaterAnswer::Same,
        Some(None) => LaterAnswer::Any,
        Some(Some(later)) => LaterAnswer::Other(later),
    }
}

/// Returns the form of an answer that may be the last: its entry's form, closed together with the end's form.
///
/// If only the end requires a schema, an intermediate answer may be any object. It has to be an object, so that it can
/// declare the work complete.
fn combine_with_end(own: Option<&StepAnswer>, end: &StepAnswer) -> AnswerFormat {
    let Some(own) = own else {
        let form = match &end.format.form {
            AnswerSchema::Json { schema: Some(_), .. } => AnswerSchema::Json {
                schema: Some(json!({"type": "object"})),
                source: "any object".to_owned(),
                digests: BTreeMap::new(),
            },
            form => form.clone(),
        };
        return AnswerFormat { form, template: end.format.template.clone(), declares: true };
    };
    match (&own.open, &end.open) {
        (Some(open), Some(end)) => with_schema(&own.format, together(open, end).0),
        _ => own.format.clone(),
    }
}

/// Returns the form of an answer that declares completion, closed together with the other required forms.
fn last(answers: &[&StepAnswer], end: &StepAnswer) -> AnswerFormat {
    let Some(open) = &end.open else { return end.format.clone() };
    let others = answers.iter().filter_map(|answer| answer.open.as_ref());
    match others.cloned().reduce(|first, second| together(&first, &second).0) {
        Some(other) => with_schema(&end.format, together(open, &other).0),
        None => end.format.clone(),
    }
}

fn with_schema(format: &AnswerFormat, closed: Value) -> AnswerFormat {
    let form = match &format.form {
        AnswerSchema::Json { source, digests, .. } => {
            AnswerSchema::Json { schema: Some(closed), source: source.clone(), digests: digests.clone() }
        }
        form @ AnswerSchema::TextPattern(_) => form.clone(),
    };
    AnswerFormat { form, ..format.clone() }
}

fn source(answer: &StepAnswer) -> &str {
    match &answer.format.form {
        AnswerSchema::Json { source, .. } => source,
        AnswerSchema::TextPattern(pattern) => pattern,
    }
}
