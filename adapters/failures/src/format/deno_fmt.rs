//! deno fmt --check: `from <file>:` and a difference.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads every file that would change, and every one that cannot be read.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.starting(b"fE") {
        if let Some(file) = line.strip_prefix("from ").and_then(|rest| rest.strip_suffix(':')) {
            let block = until(input.lines, at, str::is_empty).join("\n");
            collector.push(RawFailure::unformatted("deno-fmt", file, None, &block));
        } else if let Some(file) = line.strip_prefix("Error checking: ") {
            let block = until(input.lines, at + 1, str::is_empty).join("\n");
            collector.push(RawFailure::diagnostic("deno-fmt", file, None, &block).kind("syntax"));
        }
    }
}
