//! busted.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads `Failure → spec/a_spec.lua @ 12`, the name on the next line, and the lines after it.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let head =
        |line: &str| {
            let rest = ["Failure → ", "Failure -> ", "Error → ", "Error -> "]
                .iter()
                .find_map(|mark| line.strip_prefix(mark))?;
            Some(rest.split_once(" @ ").map_or((rest.to_owned(), String::new()), |(file, number)| {
                (file.to_owned(), number.to_owned())
            }))
        };
    for (at, line) in input.marked() {
        let Some((file, number)) = head(line) else { continue };
        let name = lines.get(at + 1).copied().unwrap_or_default();
        // With --shuffle, the first line is the seed.
        let is_shuffled = lines.get(at + 2).is_some_and(|line| line.starts_with("Random seed: "));
        let start = at + 2 + usize::from(is_shuffled);
        let block = until(lines, start, |line| head(line).is_some() || line.starts_with("stack traceback:"));
        let mut block: Vec<String> = block.iter().map(|line| (*line).to_owned()).collect();
        if let Some(first) = block.first_mut() {
            // The message repeats the place.
            *first = first
                .split_once(": ")
                .filter(|(place, _)| place.contains(".lua:"))
                .map_or(first.clone(), |(_, told)| told.to_owned());
        }
        let block: Vec<&str> = block.iter().map(String::as_str).collect();
        let kind = if line.starts_with("Error") { "Error" } else { "Failure" };
        let draft = RawFailure::test("busted", name, &block).kind(kind).at(&file, number.trim().parse().ok());
        collector.push(draft.with_heading(name));
    }
}
