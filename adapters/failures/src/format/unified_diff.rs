//! A difference in the form of `diff -u`: gofmt -d, black --diff and others show the changes they would make like this.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Maximum number of lines shown of a difference.
const LINES: usize = 4096;

/// Reads every file that would change.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    for (at, line) in input.starting(b"+") {
        let Some(file) = line.strip_prefix("+++ ") else { continue };
        let framed = at > 0 && lines[at - 1].starts_with("--- ");
        if !framed || lines.get(at + 1).is_none_or(|line| !line.starts_with("@@ ")) {
            continue;
        }
        // A time may follow a tab, and git writes `b/` before the name.
        let file = file.split('\t').next().unwrap_or_default().trim();
        let file = file.strip_prefix("b/").unwrap_or(file);
        let near = &lines[..lines.len().min(at + LINES)];
        let block = until(near, at + 1, |line| line.starts_with("--- ") || line.starts_with("diff "));
        let message = format!("{}\n{line}\n{}", lines[at - 1], block.join("\n"));
        collector.push(RawFailure::unformatted("diff", file, None, &message));
    }
}
