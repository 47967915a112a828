//! Resolves a schema for answers, and checks an answer against it.

use std::path::{Path, PathBuf};

use unstuck_core::completion::AnswerSchema;
use unstuck_core::evidence::ParsedAnswer;
use unstuck_workflow::answer::{self, AnswerSources};
use unstuck_workflow::schema;

use crate::error::{AppError, Result};

pub use unstuck_workflow::schema::ResolvedSchema;

/// Returns a schema with its references replaced. `named` is `FILE`, `FILE#name` or `FILE#/$defs/name`; `folder` is the folder
/// that FILE is relative to, or `None` for the folder of FILE.
///
/// # Errors
///
/// The file cannot be read, or the schema is invalid.
pub fn resolve(named: &str, folder: Option<&Path>) -> Result<ResolvedSchema> {
    let (file, name) = schema::split_reference(named);
    let (folder, file) = place(folder, file)?;
    schema::resolve(&folder, &file, &name).map_err(AppError::invalid)
}

/// Reads an answer as a run would, with text around its JSON or without.
pub fn check(schema: ResolvedSchema, answer: String) -> ParsedAnswer {
    let ResolvedSchema { schema, source, digests, .. } = schema;
    let form = AnswerSchema::Json { schema: Some(schema), source, digests };
    answer::read(&form, &AnswerSources { messages: &[answer], ..AnswerSources::default() })
}

/// Returns the folder of the schemas, and the file as it is named from there.
fn place(folder: Option<&Path>, file: &str) -> Result<(PathBuf, String)> {
    if let Some(folder) = folder {
        return Ok((folder.to_owned(), file.to_owned()));
    }
    let path = Path::new(file);
    let name = path.file_name().ok_or_else(|| {
        AppError::usage(format!("\"{file}\" names no file")).hint("unstuck debug schema answers.json#name")
    })?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    Ok((folder.to_owned(), name.to_string_lossy().into_owned()))
}
