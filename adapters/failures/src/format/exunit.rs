//! ExUnit.

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, numbered_items, until};

/// Reads the numbered list; an item is headed `test name (Module)`, with the place below.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    if !input.marked().any(|(_, line)| line.contains(" failure")) {
        return;
    }
    // Lines above the first item may belong to another run without failures.
    let first = input.beginning(b"1").find(|(_, line)| line.trim_start().starts_with("1) "));
    let start = first.map_or(lines.len(), |(at, _)| at);
    for item in numbered_items::items(lines, start, |line| line.starts_with("Finished in ")) {
        let Some((name, module)) = item.head.strip_suffix(')').and_then(|head| head.rsplit_once(" (")) else {
            continue;
        };
        let body: Vec<&str> = item.body.iter().map(|line| line.trim()).collect();
        let Some((place, rest)) = body.split_first() else { continue };
        let Some((file, number)) = place.rsplit_once(':').filter(|(file, _)| file.contains(".ex")) else {
            continue;
        };
        let told: Vec<&str> = rest.iter().copied().take_while(|line| *line != "stacktrace:").collect();
        let head = told.first().copied().unwrap_or_default().trim_start_matches("** (");
        let kind = head.split([')', ' ']).next().unwrap_or_default();
        let shown: Vec<&str> = told
            .iter()
            .copied()
            .filter(|line| !line.starts_with("left:") && !line.starts_with("right:"))
            .take(4)
            .collect();
        let draft = RawFailure::test("exunit", &format!("{module} {name}"), &[]);
        // The code is source text and identifies the assertion.
        let code = told.iter().find(|line| line.starts_with("code:"));
        let (shown, style) = match code {
            Some(code) => (vec![told[0], code], MaskingStyle::Diagnostic),
            None => (shown, MaskingStyle::Values),
        };
        let draft = RawFailure { values: told.join("\n"), style, ..draft }
            .kind(kind)
            .about(&shown.join(" "))
            .at(file, number.parse().ok())
            .with_line(item.head);
        collector.push(draft.message(&format!("{}\n{}", item.head, body.join("\n"))));
    }
    modules(input, collector);
}

/// Reads failures of `setup_all`, which ExUnit prints with the number of the test before.
fn modules(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.with(": failure on setup_all callback") {
        let head = line.trim();
        let numbered =
            head.split_once(") ").filter(|(number, _)| number.bytes().all(|byte| byte.is_ascii_digit()));
        let head = numbered.map_or("", |(_, told)| told);
        let Some((module, _)) = head.split_once(": failure on ") else { continue };
        let body: Vec<&str> = until(input.lines, at + 1, |line| line.trim().is_empty())
            .iter()
            .map(|line| line.trim())
            .collect();
        let said = until(&body, 0, |line| line == "stacktrace:").join(" ");
        let (kind, about) =
            said.strip_prefix("** (").and_then(|said| said.split_once(')')).unwrap_or(("failure", &said));
        let draft = RawFailure::test("exunit", &format!("{module} setup_all"), &[]).with_line(line);
        let draft = draft.kind(kind).about(about.trim()).message(&format!("{head}\n{}", body.join("\n")));
        let mut frames = body.iter().filter_map(|line| line.split_once(": ")?.0.rsplit_once(':'));
        let place = frames.find(|(file, _)| file.contains(".ex") && !file.contains(' '));
        collector.push(match place {
            Some((file, line)) => draft.at(file, line.parse().ok()),
            None => draft,
        });
    }
}
