//! behave: scenarios that failed, or that an error ended.

use super::{FailureCollector, FormatInput, RawFailure, indentation, until};

/// Reads the lists at the end.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // A report above may already contain these failures.
    let reported = collector.known_tests();
    for heading in ["Failing scenarios:", "Errored scenarios:"] {
        if let Some((start, _)) = input.marked().rfind(|(_, line)| line.trim_end() == heading) {
            list(input, start, &reported, collector);
        }
    }
}

/// Reads a list of failed scenarios. The message of a failed step is below it, more indented than the steps.
fn list(
    input: &FormatInput<'_>,
    start: usize,
    reported: &dyn Fn(&str, &str) -> bool,
    collector: &mut FailureCollector<'_>,
) {
    const STEPS: usize = 4;
    // A failing hook before a scenario leaves no step with the reason.
    let hook = input.with("HOOK-ERROR in ").next().map(|(_, line)| line.trim());
    for line in until(input.lines, start + 1, |line| !line.starts_with("  ")) {
        let Some((place, name)) = line.trim().split_once("  ") else { continue };
        let Some((file, number)) = place.rsplit_once(':').filter(|(file, _)| !reported(name, file)) else {
            continue;
        };
        let begins = format!("# {place}");
        let begin = input.with(&begins).find(|(at, line)| *at < start && line.ends_with(&begins));
        let steps = begin.map_or(&[][..], |(at, _)| until(input.lines, at + 1, str::is_empty));
        let block: Vec<&str> = steps.iter().copied().filter(|line| indentation(line) > STEPS).collect();
        let margin = block.first().map_or(0, |line| indentation(line));
        let block: Vec<&str> =
            block.iter().map(|line| line.get(margin..).unwrap_or_else(|| line.trim_start())).collect();
        let mut block: Vec<&str> =
            block.iter().map(|line| line.strip_prefix("ASSERT FAILED: ").unwrap_or(line)).collect();
        if block.is_empty() {
            block.extend(hook);
        }
        let draft =
            RawFailure::test("behave", name, &block).with_test_file(file).at(file, number.parse().ok());
        collector.push(draft.with_heading(line.trim()));
    }
}
