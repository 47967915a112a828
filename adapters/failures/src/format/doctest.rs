//! doctest of Python: the place and the name of the documented object, the example, and its result.

use super::{FailureCollector, FormatInput, RawFailure, python_place, until};

/// Reads every example; its source distinguishes it from others with the same name.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, _) in input.marked().filter(|(_, line)| *line == "Failed example:") {
        let Some((file, line, name)) = at.checked_sub(1).and_then(|above| head(input.lines[above])) else {
            continue;
        };
        let ends = |line: &str| line.starts_with("**********") || line.starts_with("----------");
        let block = until(input.lines, at + 1, ends);
        let source = until(block, 0, |line| !line.starts_with(' ')).join("\n");
        let result = &block[block.iter().position(|line| !line.starts_with(' ')).unwrap_or(block.len())..];
        let draft = RawFailure::test("doctest", name, result).with_test_file(file).at(file, line);
        let kind = if draft.kind.is_empty() { "doctest".to_owned() } else { draft.kind.clone() };
        let message = format!("{}\n{source}\n{}", input.lines[at - 1], draft.message);
        collector.push(draft.kind(&kind).about(source.trim()).message(&message));
    }
}

fn head(line: &str) -> Option<(&str, Option<u32>, &str)> {
    let (file, number, rest) = python_place(line)?;
    Some((file, number, rest.strip_prefix(", in ")?))
}
