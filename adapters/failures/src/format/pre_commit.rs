//! pre-commit: failed hooks, each with the output of its tool below its name.

use super::{FailureCollector, FormatInput, RawFailure, gcc_style, until};

/// Reads the failed hooks whose tools name no place and no test. If no reader understands the output of any hook, none
/// is read, since its form says more.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (tells_within, mut hooks, mut is_known) = (collector.reported_lines(), Vec::new(), false);
    for (at, line) in input.marked() {
        let Some(id) = line.strip_prefix("- hook id: ") else { continue };
        if at == 0 || parse_outcome(input.lines[at - 1]) != Some("Failed") {
            continue;
        }
        let block = until(input.lines, at + 1, |line| parse_outcome(line).is_some());
        let (facts, told) = block.split_at(block.iter().take_while(|line| line.starts_with("- ")).count());
        let changes = facts.contains(&"- files were modified by this hook");
        let is_silent = told.iter().all(|line| line.trim().is_empty() && !input.is_hidden(line));
        let is_read = |line: &&str| input.is_hidden(line) || gcc_style::parse(line).is_some();
        let names_places = tells_within(told) || told.iter().any(is_read);
        is_known |= changes || is_silent || names_places;
        if changes || !names_places {
            let said = if changes { "files were modified" } else { "" };
            let message = format!("{}\n{}", input.lines[at - 1], block.join("\n"));
            let draft = RawFailure::process("pre-commit", id, &[]).about(said).with_line(line);
            hooks.push(draft.message(message.trim_end()));
        }
    }
    hooks.into_iter().filter(|_| is_known).for_each(|hook| collector.push(hook));
}

/// Reads the result of a hook: `name....Passed`, `name...(no files to check)Skipped`.
fn parse_outcome(line: &str) -> Option<&'static str> {
    let end = ["Passed", "Failed", "Skipped"].into_iter().find(|end| line.trim_end().ends_with(end))?;
    line.contains("...").then_some(end)
}
