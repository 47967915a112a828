//! deno check, and the check before deno test: `TS2322 [ERROR]: message`.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, until};

/// Reads every error; its place follows the first `at`.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    for (at, line) in sheet.starting(b"T").filter(|(_, line)| line.starts_with("TS")) {
        let Some((code, message)) = line.split_once(" [ERROR]: ") else { continue };
        let block = until(sheet.lines, at, str::is_empty);
        let place = block.iter().find_map(|line| line.trim_start().strip_prefix("at "));
        let mut parts = place.unwrap_or_default().rsplitn(3, ':');
        let column = parts.next().and_then(|number| number.parse().ok());
        let number = parts.next().and_then(|number| number.parse().ok());
        let file = parts.next().unwrap_or_default();
        let draft = RawFailure::diagnostic("tsc", file, number, message).kind(code).shown_at(column, "");
        found.push(draft.message(&block.join("\n")));
    }
}
