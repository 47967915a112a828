//! From a schema that was resolved to the form that an answer has to have.

use serde_json::Value;
use unstuck_core::completion::AnswerSchema;
use unstuck_document::diagnostic::LoadReport;

use super::read::SourceLocation;
use crate::schema::deep_stack::with_room;
use crate::schema::{Diagnostic, ResolvedSchema};

/// Makes the form of a schema that was resolved, and returns with it how the schema was before its objects were closed;
/// passes on what its author should know. `at` is what refers to it.
pub(crate) fn json_form(
    resolved: ResolvedSchema,
    at: &SourceLocation,
    report: &mut LoadReport,
) -> Option<(AnswerSchema, Value)> {
    let ResolvedSchema { open, schema, source, digests, warnings, .. } = resolved;
    for warning in warnings {
        match has_line(&warning) {
            true => report.adopt_warning(at.place, warning),
            false => at.warn(report, with_file(&warning), warning.help.unwrap_or_default()),
        }
    }
    let form = AnswerSchema::Json { schema: Some(schema), source, digests };
    if let Err(error) = read_back(&form) {
        let what = format!("this schema could not be read back from the log of a run: {error}");
        at.error(report, what, "127 levels are the most, with all that it refers to in its place");
        return None;
    }
    Some((form, open))
}

/// Passes on what is wrong with a schema that could not be resolved.
pub(crate) fn refuse(complaints: Vec<Diagnostic>, at: &SourceLocation, report: &mut LoadReport) {
    for complaint in complaints {
        match has_line(&complaint) {
            true => report.adopt(at.place, complaint),
            false => at.error(report, with_file(&complaint), complaint.help.unwrap_or_default()),
        }
    }
}

/// Reads a form as a log would hold it: what cannot be read must not be written.
fn read_back(form: &AnswerSchema) -> serde_json::Result<AnswerSchema> {
    serde_json::from_str(&with_room(|| serde_json::to_string(form))?)
}

/// Says whether a complaint names a line; one that does not is about what refers to the file.
fn has_line(complaint: &Diagnostic) -> bool {
    complaint.line > 0
}

/// Returns what is wrong, with the file that it is about.
fn with_file(complaint: &Diagnostic) -> String {
    let Diagnostic { file, what, .. } = complaint;
    if file.is_empty() || what.contains(file.as_str()) { what.clone() } else { format!("{file}: {what}") }
}
