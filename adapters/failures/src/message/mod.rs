//! The message of a failure: its kind, its assertion and its place, independent of the tool.
//!
//! A format finds the block of a failed test. The content of the block depends on the language and its assertion
//! library, and is the same in every report. Each language or library has a file.

mod exception;
mod go;
mod native;
mod python;
mod ruby;
mod rust;

use super::parts::FailureMessage;
use super::words::{before_stack, indentation, is_frame};
use super::work;

pub(super) use exception::exception;

/// Understands a block, or not.
type MessageParser = fn(&[&str]) -> Option<FailureMessage>;

/// The ways of speaking, the most distinct first; the last understands everything.
const READERS: &[MessageParser] = &[
    rust::panic,
    python::marked_lines,
    python::group,
    python::traceback,
    native::googletest,
    native::assertion,
    ruby::example,
    go::log,
    exception::read_exception,
];

/// Maximum number of lines scanned in a block.
const LINES_MAX: usize = 400;

impl FailureMessage {
    pub(super) fn parse(block: &[&str]) -> Self {
        let block = &block[..work::allowed(block.len().min(LINES_MAX))];
        work::spend(block.len());
        let mut reason = READERS.iter().find_map(|read| read(block)).unwrap_or_else(|| plain(block));
        if reason.file.is_none() {
            (reason.file, reason.line) = exception::first_frame(block);
        }
        if reason.values.is_empty() {
            reason.values = before_stack(block).collect::<Vec<_>>().join("\n");
        }
        reason
    }

    /// Returns the text for people: the block up to the stack, without its indentation.
    pub(super) fn message(&self, block: &[&str]) -> String {
        const LINES_SHOWN: usize = 60;
        let block = &block[..block.len().min(LINES_MAX)];
        let shown = block.iter().filter(|line| !is_frame(line));
        let shown: Vec<&str> = shown.take(LINES_SHOWN).map(|line| line.trim_end()).collect();
        let indentation = shown.iter().filter(|line| !line.is_empty()).map(|line| indentation(line)).min();
        let shown: Vec<&str> = shown
            .iter()
            .map(|line| line.get(indentation.unwrap_or_default()..).unwrap_or_default())
            .collect();
        shown.join("\n").trim_matches('\n').to_owned()
    }
}

/// Returns a message that consists only of the first lines.
fn plain(block: &[&str]) -> FailureMessage {
    const LINES: usize = 3;
    let lines: Vec<&str> =
        before_stack(block).map(str::trim).filter(|line| !line.is_empty()).take(LINES).collect();
    FailureMessage { about: lines.join(" "), ..FailureMessage::default() }
}
