//! shunit2: the name of each test, and its failed assertions below.

use std::collections::BTreeSet;

use super::{FailureCollector, FormatInput, LineIndex, RawFailure, blocks, until};

const TOOL: &str = "shunit2";

/// The beginning of a failed assertion's line; the next constant begins the line for a test that ended with an error.
const ASSERTED: &str = "ASSERT:";
const ENDED: &str = "shunit2:ERROR ";

/// Reads tests with failed assertions, and tests without one that ended with an error (on the other stream).
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let own = find_assertions(input.own);
    let names: BTreeSet<&str> =
        own.iter().chain(&find_assertions(input.beside)).map(|(name, _)| *name).collect();
    for (name, block) in own {
        let said: Vec<&str> = block.iter().map(|line| line.strip_prefix(ASSERTED).unwrap_or(line)).collect();
        collector.push(RawFailure::test(TOOL, name, &said).kind("assert"));
    }
    for (_, line) in input.starting(b"s") {
        let name =
            line.strip_prefix(ENDED).and_then(|told| told.strip_suffix("() returned non-zero return code."));
        if let Some(name) = name.filter(|name| !names.contains(name)) {
            collector.push(RawFailure::test(TOOL, name, &[line]).kind("error"));
        }
    }
}

/// Returns the tests with failed assertions below their names, and the lines from the first of these. A name is alone
/// on its line, and begins like one, or is directly above an assertion.
fn find_assertions<'a>(own: LineIndex<'a>) -> Vec<(&'a str, &'a [&'a str])> {
    let is_asserted = |at: usize| own.lines.get(at + 1).is_some_and(|line| line.starts_with(ASSERTED));
    let is_head =
        |at: &usize| is_name(own.lines[*at]) && (begins_like_test(own.lines[*at]) || is_asserted(*at));
    let lines = own.lines.len();
    let blocks = blocks((0..lines).filter(is_head), lines).filter_map(|(head, end)| {
        let block =
            until(&own.lines[..end], head + 1, |line| line.starts_with("shunit2:") || is_summary(line));
        let first = block.iter().position(|line| line.starts_with(ASSERTED))?;
        Some((own.lines[head], &block[first..]))
    });
    blocks.collect()
}

/// Checks whether a line is a word that may be the name of a function.
fn is_name(line: &str) -> bool {
    !line.is_empty()
        && !line.starts_with(|c: char| c.is_ascii_digit())
        && line.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Checks whether a word begins like the name of a test; `testing` is a different word.
fn begins_like_test(word: &str) -> bool {
    word.strip_prefix("test").is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_lowercase()))
}

fn is_summary(line: &str) -> bool {
    line.starts_with("Ran ") && [" test.", " tests."].iter().any(|end| line.trim_end().ends_with(end))
}
