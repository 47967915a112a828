//! deno test.

use std::ops::Range;

use super::{FailureCollector, FormatInput, RawFailure, until};

const TOOL: &str = "deno-test";

/// Reads the blocks between `ERRORS` and `FAILURES` of each run, or the reason why a module could not be loaded.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let runs = runs(input);
    if runs.is_empty() {
        load(input, collector);
    }
    for run in runs {
        let listed = until(&input.lines[run], 0, |line| line.trim_ascii() == "FAILURES");
        for (at, line) in listed.iter().enumerate() {
            let Some((name, file, number)) = head(line) else { continue };
            let block = until(listed, at + 1, |line| head(line).is_some());
            let block: Vec<&str> =
                block.iter().map(|line| line.strip_prefix("error: ").unwrap_or(line)).collect();
            let whole = name.ends_with("(uncaught error)");
            let full = if whole { file.to_owned() } else { format!("{file} => {name}") };
            let draft = RawFailure::test(TOOL, &full, &block);
            let draft = if whole { RawFailure { test: None, ..draft } } else { draft };
            collector.push(draft.at(file, number).with_heading(name));
        }
    }
}

/// Returns the errors of each run, from the last `ERRORS` before its summary. A test's output is in a separate block.
fn runs(input: &FormatInput<'_>) -> Vec<Range<usize>> {
    let (mut runs, mut start, mut is_listed, mut depth) = (Vec::new(), None, false, 0_usize);
    for (at, (line, begin)) in input.lines.iter().zip(input.begins).enumerate() {
        // These checks reject most lines.
        if !matches!(begin, b'r' | b'E' | b'F') && !line.ends_with(['-', ' ']) {
            continue;
        }
        let line = line.trim_ascii();
        match line {
            _ if line.ends_with(" output -------") => depth += 1,
            _ if line.ends_with(" output end -----") => depth = depth.saturating_sub(1),
            // If a process died in a test, its block has no end.
            _ if line.starts_with("running ") && line.contains(" from ") => depth = 0,
            _ if depth > 0 => {}
            "ERRORS" => (start, is_listed) = (Some(at + 1), false),
            "FAILURES" => is_listed = true,
            _ if is_listed && line.starts_with("FAILED | ") => {
                runs.extend(start.take().map(|start| start..at));
            }
            _ => {}
        }
    }
    runs.extend(start.map(|start| start..input.lines.len()));
    runs
}

/// Reads `name => ./file.ts:6:6`; an uncaught error has the form `./file.ts (uncaught error)`.
fn head(line: &str) -> Option<(&str, &str, Option<u32>)> {
    if let Some(file) = line.trim_end().strip_suffix(" (uncaught error)") {
        return Some((line.trim_end(), file.trim_start_matches("./"), None));
    }
    let (name, place) = line.trim_end().rsplit_once(" => ")?;
    let mut parts = place.rsplitn(3, ':').skip(1);
    let number = parts.next()?.parse().ok();
    Some((name, parts.next()?.trim_start_matches("./"), number))
}

/// A module that cannot be parsed or found ends the run before the first test.
fn load(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let raised = |line: &str| {
        line.strip_prefix("error: ")
            .is_some_and(|rest| !rest.starts_with("Test failed") && !rest.starts_with("Type checking"))
    };
    let Some((at, _)) = input.starting(b"e").find(|(_, line)| raised(line)) else { return };
    let mut block: Vec<&str> = until(input.lines, at, str::is_empty).to_vec();
    block[0] = block[0].trim_start_matches("error: ").trim_start_matches("Uncaught ");
    collector.push(RawFailure::process(TOOL, "load", &block));
}
