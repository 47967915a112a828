//! Playwright.

use std::collections::{BTreeMap, BTreeSet};

use super::{FailureCollector, FormatInput, RawFailure, numbered_items, until, without_time};

/// Length of a head with its rule; a longer head has no rule.
const HEAD_CHARS: usize = 98;

/// Reads the numbered list of each run; an item is headed `[project] › file:line:col › suite › test ───`.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // Other tools have these marks, too.
    if !input
        .with(" › ")
        .any(|(_, line)| split_place(line.trim_start()).is_some_and(|(place, _)| is_position(place)))
    {
        return;
    }
    let begins = |line: &str| line.contains(" using ") && line.trim_end().ends_with(['r', 's']);
    let mut start = 0;
    for (at, _) in input.starting(b"R").filter(|(_, line)| line.starts_with("Running ") && begins(line)) {
        run(&input.lines[start..at], collector);
        start = at;
    }
    run(&input.lines[start..], collector);
}

/// Reads the list of one run. A test may print text in the same form, so the list at the end decides.
fn run(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let mut tests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for line in lines.iter().filter(|line| line.contains(" › ")) {
        if let Some((place, test)) = split_place(line.trim_start()) {
            tests.entry(place).or_default().push(without_time(test.trim_end_matches(['─', ' '])));
        }
    }
    let end = lines.windows(2).rposition(|two| is_count(two[0], " failed") && list_entry(two[1]).is_some());
    let end = end.or_else(|| lines.iter().position(|line| is_count(line, " failed")));
    let end = end.unwrap_or(lines.len());
    let last: Vec<&str> = lines[end..].iter().filter_map(|line| list_entry(line)).collect();
    // Without a list at the end, Playwright fills its heads with a rule, unlike the output of a test.
    let is_ruled = |line: &str| line.ends_with('─') || line.chars().count() >= HEAD_CHARS;
    let is_ruled_head = |line: &&str| line.ends_with('─') && split_place(line.trim_start()).is_some();
    let are_ruled = lines[..end].iter().any(is_ruled_head);
    let is_head = |line: &str| match line.split_once(") ") {
        Some((_, head)) if !last.is_empty() => {
            let head = head.trim_matches(['─', ' ']);
            last.iter().any(|test| head == *test || is_step(head, test))
        }
        _ => !are_ruled || is_ruled(line.trim_end()),
    };
    let flaky = flaky_tests(lines);
    for item in numbered_items::items_that(&lines[..end], 0, |_| false, is_head) {
        let head = item.head.trim_end_matches(['─', ' ']);
        let Some((place, name)) = split_place(head) else { continue };
        if flaky.contains(head) {
            continue;
        }
        // A failed step is not part of the test's name, which the list at the end contains.
        let mut listed = tests.get(place).into_iter().flatten();
        let name = listed.find(|test| is_step(name, test)).copied().unwrap_or(name);
        // The same test in another browser is another test.
        let project = &head[..head.find(place).unwrap_or_default()];
        collector.push(draft(project, place, name, item.body).with_heading(head));
    }
}

/// Creates a draft of a test in a project, `[chromium] › `, with the text of its failure.
fn draft(project: &str, place: &str, name: &str, body: &[&str]) -> RawFailure {
    let mut parts = place.split(':');
    let file = parts.next().unwrap_or_default();
    // The directory with the files of a run says nothing about a failure.
    let is_said = |line: &&str| !line.trim_start().starts_with("Error Context: ");
    let body: Vec<&str> = first_try(body).iter().copied().filter(is_said).collect();
    let draft = RawFailure::test("playwright", &format!("{project}{file} › {name}"), &body);
    // An error contains the place where the test waited, if that is known.
    let late = body.iter().map(|line| line.trim()).find(|line| line.starts_with("Test timeout of "));
    let draft = match late.filter(|_| draft.kind.is_empty()) {
        Some(late) => draft.kind("timeout").about(late),
        None => draft,
    };
    draft.at(file, parts.next().and_then(|line| line.parse().ok()))
}

/// Returns the name of a case in a report: its suite is a file, and the suite's host is the project.
pub(super) fn name_of_case(project: &str, file: &str, name: &str) -> String {
    format!("{}{file} › {name}", of_project(project))
}

/// Reads a case of a report: the head in the form of the list, and the text below it.
pub(super) fn of_report(project: &str, file: &str, name: &str, body: &str) -> RawFailure {
    let mut lines = body.lines().skip_while(|line| line.trim().is_empty()).peekable();
    let place = lines.peek().and_then(|line| split_place(line.trim())).map(|(place, _)| place);
    let place = place.filter(|place| place.starts_with(file));
    let body: Vec<&str> = lines.skip(usize::from(place.is_some())).collect();
    draft(&of_project(project), place.unwrap_or(file), name, &body)
}

fn of_project(project: &str) -> String {
    if project.is_empty() { String::new() } else { format!("[{project}] › ") }
}

/// Cuts a body before the result of a retry, or before the list continues.
fn first_try<'s, 'a>(body: &'s [&'a str]) -> &'s [&'a str] {
    until(body, 0, |line| {
        line.starts_with("    Retry #") && line.ends_with('─')
            || !line.is_empty() && !line.starts_with([' ', '\t'])
    })
}

/// Checks whether a line counts tests, as in `  2 failed`.
fn is_count(line: &str, what: &str) -> bool {
    line.trim_end().strip_suffix(what).is_some_and(|count| count.trim().parse::<u32>().is_ok())
}

/// Returns the head of a test in a line of the list at the end, below a count.
fn list_entry(line: &str) -> Option<&str> {
    let head = line.strip_prefix("    ").filter(|line| !line.starts_with(' '))?.trim_end_matches(['─', ' ']);
    let (place, _) = split_place(head)?;
    is_position(place).then_some(head)
}

/// Checks whether a place is `file:line:column`.
fn is_position(place: &str) -> bool {
    place.rsplitn(3, ':').take(2).all(|number| number.parse::<u32>().is_ok())
}

/// Returns the heads of tests that passed when they were retried, if other tests failed. Without other failures, they
/// are the reason that a run fails that is configured to fail on flaky tests.
fn flaky_tests<'a>(lines: &[&'a str]) -> BTreeSet<&'a str> {
    let at = lines.iter().rposition(|line| line.starts_with(' ') && is_count(line, " flaky"));
    let Some(at) = at.filter(|_| lines.iter().any(|line| is_count(line, " failed"))) else {
        return BTreeSet::new();
    };
    let heads = until(lines, at + 1, |line| !line.starts_with("    "));
    heads.iter().map(|line| line.trim_matches(['─', ' '])).collect()
}

/// Returns a name without the place in it, which moves: `[project] › file › suite › test`.
pub(crate) fn without_place(name: &str) -> String {
    let parts = name.split(" › ").map(|part| match part.rsplitn(3, ':').collect::<Vec<_>>()[..] {
        [column, line, file] if [column, line].iter().all(|number| number.parse::<u32>().is_ok()) => file,
        _ => part,
    });
    parts.collect::<Vec<_>>().join(" › ")
}

/// Splits `[project] › file:line:col › suite › test` into the place and the name.
fn split_place(head: &str) -> Option<(&str, &str)> {
    let (first, rest) = head.split_once(" › ")?;
    // Without projects, the place comes first.
    if first.starts_with('[') { rest.split_once(" › ") } else { Some((first, rest)) }
}

/// Checks whether a name is a step of a test.
fn is_step(name: &str, test: &str) -> bool {
    name.strip_prefix(test).is_some_and(|step| step.starts_with(" › "))
}
