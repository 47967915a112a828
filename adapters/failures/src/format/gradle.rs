//! Gradle: `Class > method() FAILED`, and the exception below.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads every test that failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(name) = line.strip_suffix(" FAILED").filter(|name| !name.starts_with(' ')) else { continue };
        if !name.contains(" > ") {
            continue;
        }
        let block = until(input.lines, at + 1, |line| !line.starts_with("    "));
        let block: Vec<&str> = block.iter().map(|line| line.trim_start()).collect();
        let draft = RawFailure::test("gradle", name, &block);
        collector.push(draft.with_heading(name));
    }
}
