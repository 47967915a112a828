//! deno check, and the check before deno test: `TS2322 [ERROR]: message`.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads every error; its place follows the first `at`.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.starting(b"T").filter(|(_, line)| line.starts_with("TS")) {
        let Some((code, message)) = line.split_once(" [ERROR]: ") else { continue };
        let block = until(input.lines, at, str::is_empty);
        let place = block.iter().find_map(|line| line.trim_start().strip_prefix("at "));
        let mut parts = place.unwrap_or_default().rsplitn(3, ':');
        let column = parts.next().and_then(|number| number.parse().ok());
        let number = parts.next().and_then(|number| number.parse().ok());
        let file = parts.next().unwrap_or_default();
        let draft = RawFailure::diagnostic("tsc", file, number, message).kind(code).with_column(column, "");
        collector.push(draft.message(&block.join("\n")));
    }
}
