//! mocha, and tools with the same output: cypress and jasmine.

use std::cell::LazyCell;
use std::ops::Range;

use super::failure_lists::{self, ToolRun};
use super::{
    FailureCollector, FormatInput, OnTest, RawFailure, TestOutcome, indentation, node_test, numbered_items,
    until, without_time,
};

const TOOL: &str = "mocha";

/// Reads the results of the tests from the tree above `2 passing`.
pub(crate) fn outcomes(lines: &[&str], tell: &mut OnTest<'_>) {
    let is_end = |line: &&str| line.starts_with("  ") && count_of(line, " passing").is_some();
    let Some(end) = lines.iter().rposition(is_end) else { return };
    let mut suites: Vec<(usize, &str)> = Vec::new();
    for line in &lines[..end] {
        let (depth, entry) = (indentation(line), line.trim());
        // The output of a test is not indented.
        if depth < 2 || entry.is_empty() {
            continue;
        }
        suites.retain(|(at, _)| *at < depth);
        match parse_outcome(entry) {
            // A failed hook disappears from the tree when it is fixed.
            Some((title, _)) if title.contains(" hook") && title.starts_with('"') => {}
            Some((title, outcome)) => {
                let path: Vec<&str> = suites.iter().map(|(_, suite)| *suite).chain([title]).collect();
                tell(TOOL, &path.join(" > "), outcome);
            }
            None => suites.push((depth, entry)),
        }
    }
}

/// Returns the test in an entry of the tree, and its result.
fn parse_outcome(entry: &str) -> Option<(&str, TestOutcome)> {
    const MARKS: [(&str, TestOutcome); 4] = [
        ("✔ ", TestOutcome::Passed),
        ("✓ ", TestOutcome::Passed),
        ("√ ", TestOutcome::Passed),
        ("- ", TestOutcome::Skipped),
    ];
    let marked = MARKS.iter().find_map(|(mark, outcome)| Some((entry.strip_prefix(mark)?, *outcome)));
    let numbered = || {
        let (number, title) = entry.split_once(") ")?;
        number.parse::<u32>().is_ok().then_some((title, TestOutcome::Failed))
    };
    let (title, outcome) = marked.or_else(numbered)?;
    Some((without_time(title), outcome))
}

/// Returns the number at the start of a line that ends with this word; a duration may follow the word.
fn count_of(line: &str, word: &str) -> Option<usize> {
    line.trim().split(" (").next()?.strip_suffix(word)?.parse().ok()
}

/// Reads the numbered list after `2 failing`, or jasmine's after `Failures:`.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    // If the output contains a JSON or XML report of mocha, a list in this form was printed by a test.
    let is_of_report =
        |line: &str| line.contains("\"fullTitle\"") || line.contains("<testsuite name=\"Mocha Tests\"");
    if input.marked().any(|(_, line)| is_of_report(line)) {
        return;
    }
    let is_list = |line: &str| line.starts_with("  ") && count_of(line, " failing").is_some();
    let lists: Vec<usize> = input.marked().filter(|(_, line)| is_list(line)).map(|(at, _)| at).collect();
    let tree = |part: Range<usize>| Some(part.start + whole_tree(&lines[part.start..=part.end])?);
    let is_whole = |part: Range<usize>| {
        collector.package_of(lines[part.start]) != collector.package_of(lines[part.end])
            || tree(part).is_some()
    };
    for ToolRun { list, .. } in failure_lists::runs(&lists, lines.len(), is_whole) {
        let count = count_of(lines[list.start], " failing").unwrap_or_default();
        let next = Some(list.clone()).filter(|list| list.end < lines.len()).and_then(tree);
        let all = &lines[..next.unwrap_or(list.end)];
        let items = numbered_items::items(all, list.start + 1, |line| line.starts_with("npm "));
        for item in items.into_iter().take(count) {
            let (name, body) = titles(item.head, item.body, indentation(lines[item.at]));
            push(&name, body, collector);
        }
    }
    let jasmine = LazyCell::new(|| input.has(" specs, ") || input.has(" spec, "));
    let list = input.marked().rfind(|(_, line)| line.trim_end() == "Failures:");
    if let Some((start, _)) = list.filter(|_| *jasmine) {
        for item in numbered_items::items(lines, start + 1, |line| {
            line.contains(" specs, ") || line.contains(" spec, ")
        }) {
            let body: Vec<&str> = item
                .body
                .iter()
                .map(|line| line.trim())
                .filter(|line| !matches!(*line, "Message:" | "Stack:" | ""))
                .collect();
            push(item.head, &body, collector);
        }
    }
    let mut suites = input.starting(b"S").filter_map(|(at, line)| Some((at, suite(line)?))).peekable();
    if suites.peek().is_some() && *jasmine {
        suites.for_each(|(at, name)| push_suite(name, &lines[at + 1..], collector));
    }
}

/// Returns the position of the tree after a list, which begins with these lines.
///
/// Returns `None` if the tree is incomplete: it contains fewer or more tests than the counts above the list at the end,
/// or its first test belongs to a suite above.
fn whole_tree(lines: &[&str]) -> Option<usize> {
    /// Maximum distance of the number of passed tests above a list, in lines.
    const COUNTS: usize = 4;
    let [list, behind @ .., below] = lines else { return None };
    let (listed, failing) = (count_of(list, " failing")?, count_of(below, " failing")?);
    let passing = behind.iter().rev().take(COUNTS).find_map(|line| count_of(line, " passing"));
    let (mut passed, mut failed, mut first) = (0, 0, None);
    for (at, line) in behind.iter().enumerate().filter(|(_, line)| line.starts_with("  ")) {
        match parse_outcome(line.trim_start()) {
            Some((_, TestOutcome::Passed)) => passed += 1,
            Some((_, TestOutcome::Failed)) => failed += 1,
            _ => continue,
        }
        // The items of the list have the numbers of the failed tests.
        if passed > 0 || failed > listed {
            first.get_or_insert(at);
        }
    }
    let first = first.unwrap_or(behind.len());
    let above = behind[..first].iter().rev().take_while(|line| !line.trim().is_empty()).count();
    let head = lines.get(1 + first - above).filter(|line| indentation(line) == 2);
    (head.is_some() && Some(passed) == passing && failed.checked_sub(listed) == Some(failing))
        .then_some(1 + first - above)
}

/// Returns the name of a jasmine suite with a failure outside of its specs, which has no number: `Suite error: Name`.
fn suite(line: &str) -> Option<&str> {
    let rest = line.strip_prefix("Suite error")?;
    (rest.is_empty() || rest.starts_with(':')).then(|| rest.trim_start_matches(':').trim())
}

fn push_suite(name: &str, below: &[&str], collector: &mut FailureCollector<'_>) {
    let body = until(below, 0, |line| !line.starts_with("  ") && !line.trim().is_empty());
    let is_said = |line: &&str| !matches!(*line, "Message:" | "Stack:" | "");
    let body: Vec<&str> = body.iter().map(|line| line.trim()).filter(is_said).collect();
    push(format!("{name} (suite)").trim(), &body, collector);
}

/// Reads the titles of the suites, each on a separate line and more indented; the last one ends with a colon.
fn titles<'s, 'a>(head: &'a str, body: &'s [&'a str], depth: usize) -> (String, &'s [&'a str]) {
    let mut path = vec![head.trim_end_matches(':')];
    if head.ends_with(':') && body.first().is_none_or(|line| indentation(line) <= depth + 3) {
        return (path.join(" "), body);
    }
    for (at, line) in body.iter().enumerate() {
        if line.trim().is_empty() || indentation(line) <= depth + 2 {
            return (path.join(" "), &body[at..]);
        }
        path.push(line.trim().trim_end_matches(':'));
        if line.trim_end().ends_with(':') {
            return (path.join(" "), &body[at + 1..]);
        }
    }
    (path.join(" "), body)
}

/// Reads a failure in mocha's TAP or XML report: the message, and the stack, which repeats it.
pub(super) fn from_report(name: &str, below: &[&str]) -> Option<RawFailure> {
    let body: Vec<&str> = below.iter().map(|line| line.strip_prefix("  ").unwrap_or(line)).collect();
    let (message, rest) = body.split_first().filter(|(message, _)| !message.is_empty())?;
    let is_again = |line: &&str| line.strip_suffix(message).is_some_and(|error| error.ends_with(": "));
    let stack = &rest[rest.iter().position(is_again)?..];
    stack.iter().any(|line| line.trim_start().starts_with("at ")).then(|| raw_failure(name, stack))
}

fn raw_failure(name: &str, body: &[&str]) -> RawFailure {
    RawFailure::test(TOOL, name, body).with_test_file(node_test::caller_file(body))
}

fn push(name: &str, body: &[&str], collector: &mut FailureCollector<'_>) {
    collector.push(raw_failure(name, body).with_heading(name));
}
