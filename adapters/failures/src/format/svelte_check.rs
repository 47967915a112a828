//! svelte-check for machines: `1700000000000 ERROR "src/A.svelte" 3:5 "message"`, or an object after the time.

use serde::Deserialize;

use super::{FailureCollector, FormatInput, RawFailure};

const TOOL: &str = "svelte-check";

/// A problem, as `--output machine-verbose` has it.
#[derive(Deserialize)]
struct Problem {
    #[serde(rename = "type")]
    level: String,
    filename: String,
    start: Position,
    message: String,
    #[serde(default)]
    code: serde_json::Value,
}

/// Both are counted from 0.
#[derive(Deserialize)]
struct Position {
    line: u32,
    character: u32,
}

/// Reads the errors, or where nothing is one the warnings.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let drafts = input.marked().filter_map(|(_, line)| {
        let rest = after_time(line)?;
        let draft = if rest.starts_with('{') { verbose(rest) } else { plain(rest) }?;
        Some(draft.message(rest).with_line(line))
    });
    collector.push_errors(drafts.collect());
}

fn after_time(line: &str) -> Option<&str> {
    let (time, rest) = line.split_once(' ')?;
    (time.len() >= 10 && time.bytes().all(|byte| byte.is_ascii_digit())).then_some(rest)
}

fn plain(line: &str) -> Option<RawFailure> {
    let (level, rest) = line.split_once(" \"")?;
    let (file, rest) = rest.split_once("\" ")?;
    let (place, what) = rest.split_once(" \"")?;
    let (number, column) = place.split_once(':')?;
    let draft = RawFailure::diagnostic(TOOL, file, number.parse().ok(), what.strip_suffix('"')?);
    let is_known = matches!(level, "ERROR" | "WARNING");
    is_known.then(|| draft.warning(level == "WARNING").with_column(column.parse().ok(), ""))
}

fn verbose(line: &str) -> Option<RawFailure> {
    let problem: Problem = serde_json::from_str(line).ok()?;
    let code = match problem.code {
        serde_json::Value::String(code) => code,
        serde_json::Value::Number(code) => format!("TS{code}"),
        _ => String::new(),
    };
    let draft =
        RawFailure::diagnostic(TOOL, &problem.filename, problem.start.line.checked_add(1), &problem.message);
    Some(
        draft
            .kind(&code)
            .warning(problem.level == "WARNING")
            .with_column(problem.start.character.checked_add(1), ""),
    )
}
