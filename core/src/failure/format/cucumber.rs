//! Cucumber for JavaScript: a numbered list of scenarios, each with its steps.

use super::super::draft::{Draft, Found};
use super::{Sheet, numbered, until};

/// Reads the list; an item is headed `Scenario: name # file:line`, and the step that failed is marked.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let Some((start, _)) = sheet.with("Failures:").filter(|(_, line)| *line == "Failures:").last() else {
        return;
    };
    for item in numbered::items(sheet.lines, start + 1, |line| line == "Warnings:" || counts(line)) {
        let Some((name, place)) = item.head.strip_prefix("Scenario: ").and_then(|it| it.rsplit_once(" # "))
        else {
            continue;
        };
        let (file, number) = place.rsplit_once(':').unwrap_or((place, ""));
        let steps = item.body.iter().position(|line| step(line).is_some()).unwrap_or_default();
        let (head, below) =
            item.body[steps..].split_first().map_or(("", &[][..]), |(head, rest)| (*head, rest));
        let block = until(below, 0, |line| line.trim_start().starts_with("- ") && line.contains(" # "));
        let said = step(head).unwrap_or_default();
        let draft = Draft::test("cucumber", name, block).within(file);
        let draft = if draft.about.is_empty() { draft.about(said) } else { draft };
        // A hook is not the step that it stands before.
        let kind = match ["Before", "After"].iter().find(|hook| said.starts_with(*hook)) {
            Some(hook) => format!("{hook} {}", draft.kind),
            None => draft.kind.clone(),
        };
        let message = format!("{}\n{}\n{}", item.head, head.trim(), draft.message);
        found.push(draft.kind(kind.trim()).at(file, number.parse().ok()).message(&message));
    }
}

/// Returns what a step says that did not pass, without the place of its code.
fn step(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let step = ["✖ ", "? ", "✘ "].iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(step.rsplit_once(" # ").map_or(step, |(step, _)| step))
}

/// Says whether a line counts scenarios: `4 scenarios (2 failed, 2 passed)`.
fn counts(line: &str) -> bool {
    let counted = line.split_once(" scenario").map(|(count, _)| count);
    counted.is_some_and(|count| count.parse::<u32>().is_ok())
}
