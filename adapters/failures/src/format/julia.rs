//! Test of Julia: `set: Test Failed at a.jl:3`, and below it the expression and its value.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<name>\S.*?): (?P<kind>Test Failed|Error During Test|Unexpected Pass|Test errored) at (?P<file>\S.*):(?P<line>\d+)$")
        .expect("well formed")
});

/// Reads each failed test up to its stack. A test has only its set's name; the expression (source text) identifies it.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let block = until(input.lines, at + 1, |line| {
            let trimmed = line.trim_start();
            trimmed.starts_with("Stacktrace:")
                || trimmed.starts_with("Test Summary:")
                || FAILED.is_match(line)
        });
        let expression = block.iter().find_map(|line| line.trim_start().strip_prefix("Expression: "));
        // If the expression raised an exception, the next line names it.
        let raised = block.iter().skip_while(|line| !line.contains("Expression: ")).nth(1);
        let raised = raised.filter(|_| &failed["kind"] == "Error During Test").map_or("", |line| line.trim());
        let draft = RawFailure {
            style: MaskingStyle::Diagnostic,
            ..RawFailure::test("julia", &failed["name"], block)
        };
        let draft =
            draft.kind(&failed["kind"]).about(&format!("{} {raised}", expression.unwrap_or_default()));
        collector.push(draft.at(&failed["file"], failed["line"].parse().ok()).with_heading(line));
    }
}
