//! A schema that refers to nothing, and how large it may be.

use std::collections::BTreeMap;

use serde_json::Value;
use unstuck_document::Diagnostic;

/// Schemas inside each other, at most.
pub const LEVELS_MAX: usize = 1024;

/// The largest file that is read, in bytes.
pub const FILE_BYTES_MAX: u64 = 1024 * 1024;

/// The most problems that are reported; later ones are mostly consequences.
pub(super) const PROBLEMS_MAX: usize = 100;

/// A schema that refers to nothing.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedSchema {
    /// As its authors wrote it: no object is closed that they have left open.
    pub open: Value,
    /// The schema that answers are checked against.
    pub schema: Value,
    /// For a worker that accepts closed objects only: the same, without `additionalProperties: true`.
    pub closed: Value,
    /// Warnings for the author.
    pub warnings: Vec<Diagnostic>,
    /// Where it comes from: `issue.schema.json#/$defs/work`.
    pub source: String,
    /// SHA-256 of each file that it was made of, as hexadecimal digits.
    pub digests: BTreeMap<String, String>,
}

/// Writes the steps of a JSON pointer.
pub(super) fn pointer_text(way: &[String]) -> String {
    way.iter().map(|token| format!("/{}", token.replace('~', "~0").replace('/', "~1"))).collect()
}
