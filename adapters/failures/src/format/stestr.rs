//! stestr and other parallel runners of subunit: `{worker} name [0.01s] ... FAILED`, and the test's message below.

use super::{FailureCollector, FormatInput, RawFailure, exception, python_place, until, without_time};

/// Reads every such line; the list at the end repeats them.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(name) = result_line(line).and_then(|told| told.strip_suffix(" ... FAILED")) else {
            continue;
        };
        let block =
            until(input.lines, at + 1, |line| result_line(line).is_some() || line.starts_with("======"));
        collector.add_printed(block);
        // The exception follows the frames, each with its source less indented.
        let said: Vec<&str> = block.iter().map(|line| line.trim()).collect();
        let raised = said.iter().rposition(|line| exception(line).is_some());
        let said_last = until(&said, raised.unwrap_or_default(), str::is_empty);
        let draft = RawFailure::test("stestr", without_time(name), said_last);
        let place = said
            .iter()
            .rev()
            .filter_map(|line| python_place(line))
            .find(|(file, ..)| !file.contains("/lib/"));
        let draft = place.map_or(draft.clone(), |(file, line, _)| draft.at(file, line));
        collector.push(draft.with_heading(line));
    }
}

/// Returns the result line of a test, without the number of the worker.
fn result_line(line: &str) -> Option<&str> {
    let (worker, told) = line.strip_prefix('{')?.split_once("} ")?;
    (worker.parse::<u32>().is_ok() && told.contains(" ... ")).then_some(told)
}
