//! Reads a file as a whole: its bytes, its tree, and why it was not taken.

use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::Path;

use serde::Serialize;

use crate::diagnostic::{Diagnostic, FileOffset, KeyPath, LoadReport, MOST_BYTES};
use crate::node::{self, TreeNode};

/// Why a file was not taken: all that is wrong with it, in the order of the files and their lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{}", lines(.complaints))]
pub struct LoadError {
    /// At least one.
    pub complaints: Vec<Diagnostic>,
}

impl LoadError {
    /// Returns all complaints with excerpts that fit into so many columns.
    pub fn render(&self, columns: usize) -> String {
        self.complaints.iter().map(|complaint| complaint.render(columns)).collect()
    }
}

fn lines(complaints: &[Diagnostic]) -> String {
    complaints.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// Returns the content of a file, or a little more than the largest that is taken.
///
/// # Errors
///
/// A path that is not a file, or a file that cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    if !fs::metadata(path)?.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a file"));
    }
    let most = u64::try_from(MOST_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    let mut bytes = Vec::new();
    File::open(path)?.take(most).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// Turns the bytes of a file into a tree; an empty file is a complaint.
pub fn tree(bytes: &[u8], name: String, report: &mut LoadReport) -> Option<TreeNode> {
    let (source, text) = report.add_file(name, bytes)?;
    let before = report.count();
    let root = node::parse(source, &text, report);
    if root.is_none() && report.count() == before {
        let place = FileOffset { source, offset: 0 };
        report.error(place, &KeyPath::default(), "the file is empty", "expected a map");
    }
    root
}

/// Returns why a file could not be read, without the number that the system adds.
pub fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "there is no such file".to_owned(),
        io::ErrorKind::PermissionDenied => "permission denied".to_owned(),
        _ => error.to_string(),
    }
}
