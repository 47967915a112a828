//! Errors that stop pytest before any test: its own, a plugin's, or a `conftest.py` that cannot be loaded.

use super::{FailureCollector, FormatInput, RawFailure, until};

const TOOL: &str = "pytest";

/// The beginning of each line of an error outside of tests.
const INTERNAL: &str = "INTERNALERROR> ";

/// Reads the last stack of such an error, which says the most, and the reason why a `conftest.py` was not loaded.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let internal: Vec<&str> =
        input.starting(b"I").filter_map(|(_, line)| line.strip_prefix(INTERNAL)).collect();
    if !internal.is_empty() {
        collector.push(RawFailure::process(TOOL, "", &internal));
    }
    for (at, line) in
        input.starting(b"I").filter(|(_, line)| line.starts_with("ImportError while loading conftest "))
    {
        let block = until(input.lines, at + 1, str::is_empty);
        collector.push(RawFailure::process(TOOL, "", block).with_heading(line));
    }
}
