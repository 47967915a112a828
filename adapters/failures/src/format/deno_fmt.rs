//! deno fmt --check: `from <file>:` and a difference.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, until};

/// Reads every file that would change, and every one that cannot be read.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    for (at, line) in sheet.starting(b"fE") {
        if let Some(file) = line.strip_prefix("from ").and_then(|rest| rest.strip_suffix(':')) {
            let block = until(sheet.lines, at, str::is_empty).join("\n");
            found.push(RawFailure::unformatted("deno-fmt", file, None, &block));
        } else if let Some(file) = line.strip_prefix("Error checking: ") {
            let block = until(sheet.lines, at + 1, str::is_empty).join("\n");
            found.push(RawFailure::diagnostic("deno-fmt", file, None, &block).kind("syntax"));
        }
    }
}
