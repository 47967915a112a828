//! rustfmt in check mode: `Diff in <file>:<line>:`.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Maximum number of lines shown of a difference.
const LINES: usize = 256;

/// Reads every file that would change, once.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(place) = line.strip_prefix("Diff in ") else { continue };
        // Older versions: `Diff in <file> at line 3:`.
        let file = place.trim_end_matches(':').split(" at line ").next().unwrap_or_default();
        let (file, number) = match file.rsplit_once(':') {
            Some((file, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => {
                (file, number.parse().ok())
            }
            _ => (file, None),
        };
        let near = &input.lines[..input.lines.len().min(at + LINES)];
        let block = until(near, at + 1, |line| line.starts_with("Diff in "));
        let message = format!("{line}\n{}", block.join("\n"));
        collector.push(RawFailure::unformatted("rustfmt", file, number, &message));
    }
}
