//! behave: scenarios that failed, or that an error ended.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::super::words::indentation;
use super::{FormatInput, until};

/// Reads the lists at the end.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    // A report above may already contain these failures.
    let reported = found.told_tests();
    for heading in ["Failing scenarios:", "Errored scenarios:"] {
        if let Some((start, _)) = sheet.marked().rfind(|(_, line)| line.trim_end() == heading) {
            list(sheet, start, &reported, found);
        }
    }
}

/// Reads a list of failed scenarios. The message of a failed step is below it, more indented than the steps.
fn list(
    sheet: &FormatInput<'_>,
    start: usize,
    reported: &dyn Fn(&str, &str) -> bool,
    found: &mut FailureCollector<'_>,
) {
    const STEPS: usize = 4;
    // A failing hook before a scenario leaves no step with the reason.
    let hook = sheet.with("HOOK-ERROR in ").next().map(|(_, line)| line.trim());
    for line in until(sheet.lines, start + 1, |line| !line.starts_with("  ")) {
        let Some((place, name)) = line.trim().split_once("  ") else { continue };
        let Some((file, number)) = place.rsplit_once(':').filter(|(file, _)| !reported(name, file)) else {
            continue;
        };
        let begins = format!("# {place}");
        let begin = sheet.with(&begins).find(|(at, line)| *at < start && line.ends_with(&begins));
        let steps = begin.map_or(&[][..], |(at, _)| until(sheet.lines, at + 1, str::is_empty));
        let block: Vec<&str> = steps.iter().copied().filter(|line| indentation(line) > STEPS).collect();
        let margin = block.first().map_or(0, |line| indentation(line));
        let block: Vec<&str> =
            block.iter().map(|line| line.get(margin..).unwrap_or_else(|| line.trim_start())).collect();
        let mut block: Vec<&str> =
            block.iter().map(|line| line.strip_prefix("ASSERT FAILED: ").unwrap_or(line)).collect();
        if block.is_empty() {
            block.extend(hook);
        }
        let draft = RawFailure::test("behave", name, &block).within(file).at(file, number.parse().ok());
        found.push(draft.headed(line.trim()));
    }
}
