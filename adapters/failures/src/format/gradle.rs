//! Gradle: `Class > method() FAILED`, and the exception below.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, until};

/// Reads every test that failed.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    for (at, line) in sheet.marked() {
        let Some(name) = line.strip_suffix(" FAILED").filter(|name| !name.starts_with(' ')) else { continue };
        if !name.contains(" > ") {
            continue;
        }
        let block = until(sheet.lines, at + 1, |line| !line.starts_with("    "));
        let block: Vec<&str> = block.iter().map(|line| line.trim_start()).collect();
        let draft = RawFailure::test("gradle", name, &block);
        found.push(draft.headed(name));
    }
}
