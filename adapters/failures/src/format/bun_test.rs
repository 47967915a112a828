//! bun test.

use super::{FailureCollector, FormatInput, RawFailure, until, without_time};

const TOOL: &str = "bun";

/// The beginning of the line of a failed test: in a file, and on a terminal.
const FAILED: [&str; 2] = ["(fail) ", "✗ "];

/// The beginning of the line of another test.
const OTHERS: [&str; 7] = ["(pass) ", "(skip) ", "(todo) ", "(cancelled) ", "✓ ", "» ", "✎ "];

/// The heading of failures outside of tests.
const OUTSIDE: &str = "# Unhandled error between tests";

/// Reads every test that failed, below the name of its file.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    // A test may print such a line as well, but without the time that it took.
    let is_timed = |line: &str| without_time(line).len() < line.trim_end().len();
    let timed = input.marked().any(|(_, line)| failed_name(line).is_some() && is_timed(line));
    let (mut file, mut begin) = ("", 0);
    for (at, line) in lines.iter().enumerate() {
        if let Some(name) = named_file(line) {
            (file, begin) = (name, at + 1);
        } else if *line == OUTSIDE {
            let block = until(lines, at + 2, |line| line.starts_with("-----"));
            collector.push(RawFailure::process(TOOL, "uncaught", &without_source(block)).at(file, None));
            begin = at + 2 + block.len();
        } else if failed_name(line).is_some() || OTHERS.iter().any(|other| line.starts_with(other)) {
            let name = failed_name(line).filter(|_| !file.is_empty() && (!timed || is_timed(line)));
            if let Some(name) = name {
                let below = until(lines, at + 1, |line| !line.starts_with("  ^ "));
                let block = without_source(&[&lines[begin..at], below].concat());
                let draft = RawFailure::test(TOOL, without_time(name), &block).with_test_file(file);
                let line_of_file =
                    draft.line.filter(|_| draft.file.as_deref().is_some_and(|path| path.ends_with(file)));
                collector.push(draft.at(file, line_of_file).with_heading(line));
            }
            begin = at + 1;
        }
    }
}

/// Returns the name of a failed test, and the time after it.
fn failed_name(line: &str) -> Option<&str> {
    FAILED.iter().find_map(|mark| line.strip_prefix(mark))
}

/// Returns the file that a line names: `src/a.test.ts:`.
fn named_file(line: &str) -> Option<&str> {
    let name = line.strip_suffix(':').filter(|name| !name.contains([' ', '\t']))?;
    [".ts", ".tsx", ".js", ".jsx", ".mts", ".mjs", ".cts", ".cjs"]
        .iter()
        .any(|end| name.ends_with(end))
        .then_some(name)
}

/// Leaves out the source: its lines begin with a number and a bar, and the last one has a caret below.
fn without_source<'a>(block: &[&'a str]) -> Vec<&'a str> {
    let is_source = |line: &str| {
        let number =
            line.trim_start().split_once(" | ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        number || line.trim() == "^"
    };
    let lines = block.iter().filter(|line| !is_source(line));
    lines.map(|line| line.strip_prefix("  ^ ").unwrap_or(line)).collect()
}
