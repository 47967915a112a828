//! Check, a test framework for C: below its summary, `file:line:F:case:test:iteration: message`.

use super::{FailureCollector, FormatInput, RawFailure, scan};

/// Reads every failed test below a summary; a test may print similar lines above it.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_summary = |(_, line): &(usize, &str)| line.starts_with(|c: char| c.is_ascii_digit());
    for (summary, _) in input.marked().filter(is_summary) {
        let below = scan(&input.lines[summary + 1..]).take_while(|line| split_result(line).is_some());
        below.filter_map(|line| draft(line)).for_each(|draft| collector.push(draft));
    }
}

/// Reads the description of a point of TAP: `file:case:test: message`.
pub(super) fn point(description: &str) -> Option<RawFailure> {
    let (place, message) = description.split_once(": ")?;
    let [file, case, test]: [&str; 3] = place.split(':').collect::<Vec<_>>().try_into().ok()?;
    let is_source = [".c", ".cc", ".cpp", ".cxx"].iter().any(|extension| file.ends_with(extension));
    let draft = is_source.then(|| RawFailure::test("check", &format!("{case}:{test}"), &[message]))?;
    Some(draft.at(file, None).message(description))
}

/// Splits a line into file, line, result (`S`: before the test began), case, test, iteration and message.
fn split_result(line: &str) -> Option<[&str; 7]> {
    let parts: Vec<&str> = line.splitn(7, ':').collect();
    let parts: [&str; 7] = parts.try_into().ok()?;
    (matches!(parts[2], "P" | "F" | "E" | "S") && parts[5].parse::<u32>().is_ok()).then_some(parts)
}

fn draft(line: &str) -> Option<RawFailure> {
    let [file, number, outcome, case, test, iteration, message] = split_result(line)?;
    if outcome == "P" {
        return None;
    }
    // A test that runs once has no iteration but the first.
    let iteration = Some(iteration)
        .filter(|number| *number != "0")
        .map_or_else(String::new, |number| format!(":{number}"));
    let draft = RawFailure::test("check", &format!("{case}:{test}{iteration}"), &[message.trim()]);
    let kind = match outcome {
        "S" => "setup",
        "E" if draft.kind.is_empty() => "error",
        _ => &draft.kind.clone(),
    };
    Some(draft.kind(kind).at(file, number.parse().ok()).message(line))
}
