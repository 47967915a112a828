//! pytest-timeout if it cannot interrupt a test (`--timeout-method=thread`): it shows the stacks of all threads and
//! ends the run, which then has no summary.

use super::{FailureCollector, FormatInput, RawFailure, python_place, until};

const TOOL: &str = "pytest";

/// Between the stacks, and above and below them.
const RULES: [&str; 2] = ["~~~", "+++"];

/// Reads the test in the main thread, or a function on behalf of one. A run that continued has already reported it.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let stacks = input.marked().filter(|(_, line)| line.starts_with(RULES[0]));
    for (at, _) in stacks {
        let stack = until(input.lines, at + 1, |line| RULES.iter().any(|rule| line.starts_with(rule)));
        let Some((first, file, line, function)) = test(stack) else { continue };
        if collector.has_test_in(file) {
            continue;
        }
        let draft = RawFailure::test(TOOL, &format!("{file}::{function}"), &stack[first..]);
        collector.push(draft.kind("Timeout").about("").at(file, line));
        collector.add_printed(stack);
    }
}

/// Returns the line of a stack that is in the test, with its place and its name.
///
/// Candidates are the functions that pytest called and that are not in a library: the first one with the name of a
/// test, or the first of all.
fn test<'a>(stack: &[&'a str]) -> Option<(usize, &'a str, Option<u32>, &'a str)> {
    let frame = |(at, line): (usize, &&'a str)| {
        let (file, number, behind) = python_place(line.trim_start())?;
        Some((at, file, number, behind.strip_prefix(", in ")?))
    };
    let called = stack.iter().rposition(|line| line.contains("/_pytest/")).map_or(0, |last| last + 1);
    let own = || {
        let frames = stack.iter().enumerate().skip(called).filter_map(frame);
        frames.filter(|(_, file, ..)| !is_of_library(file))
    };
    own().find(|(.., function)| function.starts_with("test")).or_else(|| own().next())
}

/// Checks whether a file is one of a package that was installed, or of Python: `/usr/lib/python3.11/threading.py`.
fn is_of_library(file: &str) -> bool {
    let of_python = |(_, rest): (&str, &str)| rest.starts_with(|c: char| c.is_ascii_digit());
    file.contains("site-packages/") || file.split_once("/lib/python").is_some_and(of_python)
}
