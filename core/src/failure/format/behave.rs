//! behave: scenarios that failed.

use super::super::draft::{Draft, Found};
use super::super::reason::indentation;
use super::{Sheet, until};

/// Reads the list at the end; what a step said stands below it, further in than the steps.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    const STEPS: usize = 4;
    let Some((start, _)) = sheet.marked().rfind(|(_, line)| line.trim_end() == "Failing scenarios:") else {
        return;
    };
    for line in until(sheet.lines, start + 1, |line| !line.starts_with("  ")) {
        let Some((place, name)) = line.trim().split_once("  ") else { continue };
        let Some((file, number)) = place.rsplit_once(':') else { continue };
        let begins = format!("# {place}");
        let begin = sheet.with(&begins).find(|(at, line)| *at < start && line.ends_with(&begins));
        let steps = begin.map_or(&[][..], |(at, _)| until(sheet.lines, at + 1, str::is_empty));
        let block: Vec<&str> =
            steps.iter().copied().filter(|line| indentation(line) > STEPS).map(str::trim).collect();
        let block: Vec<&str> =
            block.iter().map(|line| line.strip_prefix("ASSERT FAILED: ").unwrap_or(line)).collect();
        let draft = Draft::test("behave", name, &block).within(file).at(file, number.parse().ok());
        let message = format!("{}\n{}", line.trim(), draft.message);
        found.push(draft.message(&message));
    }
}
