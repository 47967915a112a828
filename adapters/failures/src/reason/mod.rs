//! A reason: what a block of text says about a failure, whatever tool printed it.
//!
//! A format knows where the block of a failed test begins and ends; what stands in it is a matter of the
//! language and its assertion library, and the same in every report. One file for each way of speaking.

mod exception;
mod go;
mod native;
mod python;
mod ruby;
mod rust;

use super::draft::Style;
use super::work;
pub(super) use unstuck_core::text::stack::{begins, is_frame, is_number};

pub(super) use exception::exception;

/// What a block says.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reason {
    /// The kind: an exception, `panic`, `assert`; empty when the block does not say.
    pub(super) kind: String,
    /// What tells this failure from another of the same test.
    pub(super) about: String,
    /// Everything that it says, the values included.
    pub(super) values: String,
    /// The file.
    pub(super) file: Option<String>,
    /// The line.
    pub(super) line: Option<u32>,
    /// How `about` is masked.
    pub(super) style: Style,
}

/// Understands a block, or not.
type Read = fn(&[&str]) -> Option<Reason>;

/// The ways of speaking, the most distinct first; the last understands everything.
const READERS: &[Read] = &[
    rust::panic,
    python::marked_lines,
    python::group,
    python::traceback,
    native::googletest,
    native::assertion,
    ruby::example,
    go::log,
    exception::raised,
];

/// So many lines of a block are looked at.
const LINES_MAX: usize = 400;

impl Reason {
    /// Reads a block.
    pub(super) fn of(block: &[&str]) -> Self {
        let block = &block[..work::allowed(block.len().min(LINES_MAX))];
        work::spend(block.len());
        let mut reason = READERS.iter().find_map(|read| read(block)).unwrap_or_else(|| plain(block));
        if reason.file.is_none() {
            (reason.file, reason.line) = exception::first_frame(block);
        }
        if reason.values.is_empty() {
            reason.values = told(block).collect::<Vec<_>>().join("\n");
        }
        reason
    }

    /// Returns what people should read: the block as far as the stack, without its indentation.
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

/// Says only what the first lines are.
fn plain(block: &[&str]) -> Reason {
    const LINES: usize = 3;
    let lines: Vec<&str> = told(block).map(str::trim).filter(|line| !line.is_empty()).take(LINES).collect();
    Reason { about: lines.join(" "), ..Reason::default() }
}

/// Returns the lines of a block as far as its stack.
fn told<'b>(block: &'b [&'b str]) -> impl Iterator<Item = &'b str> {
    block.iter().copied().take_while(|line| !is_frame(line))
}

/// Returns how many blanks a line begins with.
pub(super) fn indentation(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Says whether a character may be a part of a word.
pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Says whether a text is a number that may have decimals, as a time in seconds is.
pub(super) fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Takes the number off that a text begins with.
pub(super) fn leading_number(text: &str) -> Option<(&str, &str)> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (behind.len() < text.len()).then(|| text.split_at(text.len() - behind.len()))
}

/// Takes a number behind a colon off the end of a text.
pub(super) fn numbered(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(':').filter(|(_, number)| is_number(number))
}
