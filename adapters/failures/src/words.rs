//! Small questions about words and lines.

pub(super) use crate::stack_trace::{begins, is_frame, is_number};

/// Returns the lines of a block as far as its stack.
pub(super) fn before_stack<'b>(block: &'b [&'b str]) -> impl Iterator<Item = &'b str> {
    block.iter().copied().take_while(|line| !is_frame(line))
}

/// Returns the number of spaces and tabs at the start of a line.
pub(super) fn indentation(line: &str) -> usize {
    line.bytes().take_while(|byte| matches!(byte, b' ' | b'\t')).count()
}

/// Checks whether a character may be a part of a word.
pub(super) fn is_of_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Checks whether a text is a number that may have decimals, as a time in seconds is.
pub(super) fn is_decimal(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
}

/// Takes the number off that a text begins with.
pub(super) fn leading_number(text: &str) -> Option<(&str, &str)> {
    let behind = text.trim_start_matches(|c: char| c.is_ascii_digit());
    (behind.len() < text.len()).then(|| text.split_at(text.len() - behind.len()))
}

/// Takes a number after a colon off the end of a text.
pub(super) fn numbered(text: &str) -> Option<(&str, &str)> {
    text.rsplit_once(':').filter(|(_, number)| is_number(number))
}
/// Checks whether a case failed only because one below it did.
pub(super) fn is_parent(message: &str) -> bool {
    let message = message.trim().trim_end_matches('.');
    let counted =
        message.split_once(' ').filter(|(count, _)| count.bytes().all(|byte| byte.is_ascii_digit()));
    counted.is_some_and(|(_, what)| {
        matches!(what, "subtest failed" | "subtests failed" | "test step failed" | "test steps failed")
    }) || (message.starts_with("contains ") && message.contains("failed subtest"))
}
