//! Reads the messages of RSpec examples.

use super::exception::exception;
use crate::parts::FailureMessage;
use crate::words::{begins, is_frame};

/// Reads `Failure/Error: <source>` and what follows it.
pub(super) fn example(block: &[&str]) -> Option<FailureMessage> {
    let is_head = |line: &&str| begins(line) == Some(b'F') && line.trim_start().starts_with("Failure/Error:");
    let at = block.iter().position(is_head)?;
    let source = block[at].trim_start().trim_start_matches("Failure/Error:").trim();
    let told: Vec<&str> = block[at + 1..]
        .iter()
        .map(|line| line.trim())
        .take_while(|line| !is_frame(line) && *line != "Diff:")
        .collect();
    let named = told.iter().find_map(|line| line.strip_suffix(':').filter(|name| exception(name).is_some()));
    let prose: Vec<&str> = told.iter().copied().filter(|line| !line.is_empty()).take(4).collect();
    Some(FailureMessage {
        kind: named.unwrap_or("ExpectationNotMet").to_owned(),
        about: format!("{source} | {}", prose.join(" ")),
        values: told.join("\n"),
        ..FailureMessage::default()
    })
}
