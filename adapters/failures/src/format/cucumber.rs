//! Cucumber: a numbered list of scenarios with steps (JavaScript), or a JSON report (all languages and behave).

use serde_json::Value;

use super::{FailureCollector, FormatInput, RawFailure, list, number, numbered_items, text, until};

/// Reads the list; an item is headed `Scenario: name # file:line`, and the step that failed is marked.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let Some((start, _)) = input.with("Failures:").filter(|(_, line)| *line == "Failures:").last() else {
        return;
    };
    for item in numbered_items::items(input.lines, start + 1, |line| line == "Warnings:" || counts(line)) {
        let Some((name, place)) =
            item.head.strip_prefix("Scenario: ").and_then(|rest| rest.rsplit_once(" # "))
        else {
            continue;
        };
        let (file, number) = place.rsplit_once(':').unwrap_or((place, ""));
        let steps = item.body.iter().position(|line| step(line).is_some()).unwrap_or_default();
        let (head, below) =
            item.body[steps..].split_first().map_or(("", &[][..]), |(head, rest)| (*head, rest));
        let block = until(below, 0, |line| line.trim_start().starts_with("- ") && line.contains(" # "));
        let draft = scenario(name, step(head).unwrap_or_default(), block).with_test_file(file);
        let message = format!("{}\n{}\n{}", item.head, head.trim(), draft.message);
        collector.push(draft.at(file, number.parse().ok()).message(&message));
    }
}

/// Creates a draft of a scenario from its failed step and the message of that step.
fn scenario(name: &str, step: &str, block: &[&str]) -> RawFailure {
    let draft = RawFailure::test("cucumber", name, block);
    let draft = if draft.about.is_empty() { draft.about(step) } else { draft };
    // A failed hook is not the step that follows it.
    match ["Before", "After"].iter().find(|hook| step.starts_with(*hook)) {
        Some(hook) => {
            let kind = format!("{hook} {}", draft.kind);
            draft.kind(kind.trim())
        }
        None => draft,
    }
}

/// Reads a document of the report, a list of features. A failure in the background steps counts for the next scenario.
pub(super) fn report(document: &Value, collector: &mut FailureCollector<'_>) {
    let mut pending = Vec::new();
    let before = collector.len();
    for feature in list(document) {
        let mut background = None;
        for element in list(&feature["elements"]) {
            let all = [&element["before"], &element["steps"], &element["after"]].into_iter().flat_map(list);
            let ended = |words: &[&str]| all.clone().find(|step| has_ended(&step["result"], words));
            let failed = ended(&["failed", "error", "undefined", "ambiguous"]);
            if element["type"] == "background" {
                background = failed;
            } else if let Some(step) = background.take().or(failed) {
                collector.push(of_report(feature, element, step));
            } else {
                pending.extend(ended(&["pending"]).map(|step| of_report(feature, element, step)));
            }
        }
    }
    // A pending step fails only in strict mode.
    if collector.len() == before {
        pending.into_iter().for_each(|draft| collector.push(draft));
    }
}

/// Creates a draft of a scenario with a failed step.
fn of_report(feature: &Value, element: &Value, step: &Value) -> RawFailure {
    // behave writes each place as `file:line`, and the message as a list of lines.
    let (file, line) = match text(&element["location"]).rsplit_once(':') {
        Some((file, line)) => (file, line.parse().ok()),
        None => (text(&feature["uri"]), number(&element["line"])),
    };
    let tool = if element["location"].is_string() { "behave" } else { "cucumber" };
    let error = &step["result"]["error_message"];
    let said = match list(error) {
        [] => text(error).lines().collect(),
        lines => lines.iter().map(text).collect::<Vec<_>>(),
    };
    let block: Vec<&str> =
        said.iter().map(|line| line.strip_prefix("ASSERT FAILED: ").unwrap_or(line)).collect();
    let named = format!("{} {}", text(&step["keyword"]).trim(), text(&step["name"]));
    let draft = scenario(text(&element["name"]), named.trim(), &block);
    let message = format!("{named}\n{}", draft.message);
    RawFailure { tool, ..draft }.with_test_file(file).at(file, line).message(message.trim())
}

/// Checks whether a step has one of these results.
fn has_ended(result: &Value, words: &[&str]) -> bool {
    words.iter().any(|word| word.eq_ignore_ascii_case(text(&result["status"])))
}

/// Returns the message of a step that did not pass, without the place of its code.
fn step(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let step = ["✖ ", "? ", "✘ "].iter().find_map(|mark| line.strip_prefix(mark))?;
    Some(step.rsplit_once(" # ").map_or(step, |(step, _)| step))
}

/// Checks whether a line counts scenarios: `4 scenarios (2 failed, 2 passed)`.
fn counts(line: &str) -> bool {
    let counted = line.split_once(" scenario").map(|(count, _)| count);
    counted.is_some_and(|count| count.parse::<u32>().is_ok())
}
