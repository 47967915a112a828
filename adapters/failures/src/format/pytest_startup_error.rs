//! pytest that came to no test: an error of its own or of a plugin, or a `conftest.py` that cannot be loaded.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, until};

const TOOL: &str = "pytest";

/// Before each line of an error that is no test's.
const INTERNAL: &str = "INTERNALERROR> ";

/// Reads the stack of such an error, the last one telling the most; and why a `conftest.py` was not loaded.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    let internal: Vec<&str> =
        sheet.starting(b"I").filter_map(|(_, line)| line.strip_prefix(INTERNAL)).collect();
    if !internal.is_empty() {
        found.push(RawFailure::process(TOOL, "", &internal));
    }
    for (at, line) in
        sheet.starting(b"I").filter(|(_, line)| line.starts_with("ImportError while loading conftest "))
    {
        let block = until(sheet.lines, at + 1, str::is_empty);
        found.push(RawFailure::process(TOOL, "", block).headed(line));
    }
}
