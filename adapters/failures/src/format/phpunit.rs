//! PHPUnit, also with `--testdox`, and Pest in its list.

use super::{FailureCollector, FormatInput, LineIndex, RawFailure, numbered_items, scan};

/// Reads the numbered lists of errors and failures. Warnings and risky tests are in separate lists and fail nothing.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (lines, before) = (input.lines, collector.len());
    // Tests may print such lists, too. PHPUnit's own are below the line with the total time.
    let is_time = |line: &str| line.starts_with("Time: ") && line.contains("Memory: ");
    let took = |lines: LineIndex<'_>| lines.starting(b"T").rfind(|(_, line)| is_time(line)).map(|(at, _)| at);
    let own = match (took(input.own), took(input.beside)) {
        (None, Some(_)) => return,
        (own, _) => own.unwrap_or_default(),
    };
    for (at, line) in input.marked().skip_while(|(at, _)| *at < own) {
        let counted = line.starts_with("There was ") || line.starts_with("There were ");
        if !counted
            || !["failure", "error"].iter().any(|word| line.trim_end_matches([':', 's']).ends_with(word))
        {
            continue;
        }
        let ends = |line: &str| {
            line == "--" || line.starts_with("There w") || matches!(line, "FAILURES!" | "ERRORS!")
        };
        for item in numbered_items::items(lines, at + 1, ends) {
            let block: Vec<&str> = item.body.iter().copied().take_while(|line| !is_place(line)).collect();
            let name = item.head.split(" with data set ").next().unwrap_or_default();
            let data = item.head[name.len()..].split(" with data (").next().unwrap_or_default();
            let data = data.split(" (").next().unwrap_or_default();
            let draft = RawFailure::test("phpunit", &format!("{name}{data}"), &block);
            collector.push(with_place(draft, item.body).with_heading(item.head));
        }
    }
    if collector.len() == before {
        testdox(lines, collector);
    }
}

/// Reads testdox: a class after an empty line, its tests below it, and messages of failed tests after a bar.
fn testdox(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let mut class = "";
    for (at, line) in lines.iter().enumerate() {
        let begins = at == 0 || lines[at - 1].trim().is_empty();
        if begins && !line.is_empty() && !line.starts_with(' ') {
            class = line.split_once(" (").map_or(line, |(_, name)| name.trim_end_matches(')'));
        }
        // In verbose form, the duration follows the name.
        let Some(name) = line.strip_prefix(" ✘ ").and_then(|rest| rest.split("  ").next()) else {
            continue;
        };
        let told: Vec<&str> = scan(&lines[at + 1..]).map_while(|line| behind_bar(line)).collect();
        let said = told.iter().copied().skip_while(|line| line.is_empty());
        let block: Vec<&str> = said.take_while(|line| !is_place(line)).collect();
        collector.push(with_place(RawFailure::test("phpunit", &format!("{class}::{name}"), &block), &told));
    }
}

fn behind_bar(line: &str) -> Option<&str> {
    let rest = line.trim_start().strip_prefix(['│', '┐', '├', '┴', '┊', '╵', '╷'])?;
    Some(rest.strip_prefix(' ').unwrap_or(rest).trim_end())
}

/// Sets the place of a failure: the last place in its message.
fn with_place(draft: RawFailure, told: &[&str]) -> RawFailure {
    let place = told.iter().rev().find(|line| is_place(line)).and_then(|line| line.rsplit_once(':'));
    match place {
        Some((file, number)) => draft.at(file, number.parse().ok()),
        None => draft,
    }
}

/// The stack of PHPUnit has only a path and a line.
fn is_place(line: &str) -> bool {
    line.rsplit_once(".php:").is_some_and(|(path, number)| {
        !path.contains(' ') && !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
    })
}
