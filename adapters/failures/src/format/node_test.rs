//! node --test with the reporter for people.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use memchr::memmem;

use super::failure_lists::{self, ToolRun};
use super::{
    FailureCollector, FormatInput, MaskingStyle, OnTest, RawFailure, TestOutcome, exception, indentation,
    until, without_time,
};

const TOOL: &str = "node-test";

/// Reads the list at the end of each run; the tree above it shows the parents of each test.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_list = |line: &str| matches!(line, "✖ failing tests:" | "Failed tests:");
    let lists: Vec<usize> = input.marked().filter(|(_, line)| is_list(line)).map(|(at, _)| at).collect();
    for run in failure_lists::runs(&lists, input.lines.len(), |run| are_all(input, run)) {
        read_run(input, &run, collector);
    }
}

/// Checks whether the tree after a list contains as many tests and suites as are counted above the list at its end.
fn are_all(input: &FormatInput<'_>, Range { start, end }: Range<usize>) -> bool {
    /// Number of lines with counts above a list.
    const COUNTS: usize = 10;
    let counts = input.lines[start..end].iter().rev().take(COUNTS);
    let counts = counts.filter_map(|line| line.strip_prefix("ℹ tests ").or(line.strip_prefix("ℹ suites ")));
    let count: u64 = counts.filter_map(|count| count.parse::<u32>().ok()).map(u64::from).sum();
    let ended = |at: &usize| !input.begins[*at].is_ascii() && is_point(input.lines[*at]);
    let ended = (start + 1..end).filter(|at| ended(at) && !is_of_list(input.lines, *at)).count();
    count > 0 && u64::try_from(ended) == Ok(count)
}

/// Checks whether a line is an item of the list, and not of the tree: the line above contains its place.
fn is_of_list(lines: &[&str], at: usize) -> bool {
    at > 0 && lines[at - 1].starts_with("test at ")
}

fn read_run(
    input: &FormatInput<'_>,
    ToolRun { above, list }: &ToolRun,
    collector: &mut FailureCollector<'_>,
) {
    let lines = input.lines;
    let mut names = names(input, above.clone());
    let (start, end) = (list.start, list.end);
    let items = input.own.part(start + 1..end).starting(&["✖".as_bytes()[0]]);
    let items: Vec<(usize, &str)> = items.map(|(at, line)| (start + 1 + at, line)).collect();
    // The tree of another run may follow the list. Versions before 20 print no places.
    let are_placed = end < lines.len() || items.iter().any(|(at, _)| is_of_list(lines, *at));
    for (at, line) in items.into_iter().filter(|(at, _)| !are_placed || is_of_list(lines, *at)) {
        let named = line.strip_prefix("✖ ").filter(|name| !is_excused(name));
        let Some(name) = named.map(without_time) else { continue };
        let block = until(&lines[..end], at + 1, |line| {
            is_point(line) && !line.starts_with(' ') || line.starts_with("test at ") || line.starts_with("▶ ")
        });
        // Parents are not in the list, but a file that failed as a whole is.
        let full = names.get_mut(name).and_then(VecDeque::pop_front);
        let first = block.iter().map(|line| line.trim()).find(|line| !line.is_empty()).unwrap_or_default();
        if super::super::words::is_parent(first.trim_matches('\'')) {
            continue;
        }
        let draft = RawFailure::test(TOOL, full.as_deref().unwrap_or(name), block);
        let draft = match place(lines[at - 1]) {
            Some((file, line)) => draft.at(file, line).with_test_file(file),
            None => draft,
        };
        collector.push(file_of_its_own(draft, name, &lines[above.clone()]).with_heading(name));
    }
}

/// Checks whether a test may fail, by the text after its name and time: `(1.2ms) # TODO for a reason`.
fn is_excused(name: &str) -> bool {
    name.contains("ms) # TODO")
}

/// Reads `test at a.js:1:2`.
fn place(line: &str) -> Option<(&str, Option<u32>)> {
    let mut parts = line.strip_prefix("test at ")?.rsplitn(3, ':').skip(1);
    let number = parts.next()?.parse().ok();
    Some((parts.next()?, number))
}

/// Returns the file of the function that a runner called, from a node --test or mocha stack trace; empty if none.
pub(super) fn caller_file<'b>(block: &[&'b str]) -> &'b str {
    let file = |line: &&'b str| {
        let (function, place) = line.trim_start().strip_prefix("at ")?.split_once(" (")?;
        let mut parts = place.strip_suffix(')')?.rsplitn(3, ':').skip(2);
        let file = parts.next().filter(|_| function.contains("Context."))?;
        (!file.starts_with("node:")).then(|| file.strip_prefix("file://").unwrap_or(file))
    };
    block.iter().rev().find_map(file).unwrap_or_default()
}

/// Checks whether an entire file failed: the runner only knows that its process failed.
pub(super) fn is_file(name: &str, reason: &str) -> bool {
    let ends = [".js", ".mjs", ".cjs", ".ts", ".mts", ".jsx", ".tsx"];
    ends.iter().any(|end| name.ends_with(end)) && reason.contains("test failed")
}

/// Checks whether a line reports the result of a test.
fn is_point(line: &str) -> bool {
    let entry = line.trim_start();
    ["✔ ", "✖ ", "﹣ ", "ok ", "not ok "].iter().any(|mark| entry.starts_with(mark))
}

/// Completes the failure of a file that could not be run with the reason, which precedes its point.
pub(super) fn file_of_its_own(draft: RawFailure, name: &str, lines: &[&str]) -> RawFailure {
    /// Maximum distance of the reason above the point, in lines.
    const LINES: usize = 2000;
    if !is_file(name, &draft.about) {
        return draft;
    }
    let draft = RawFailure { test: None, ..draft }.at(name, None);
    let near = &lines[lines.len().saturating_sub(LINES)..];
    // Lines above another point belong to that point.
    let named = memmem::Finder::new(name);
    let is_own = |line: &&str| named.find(line.as_bytes()).is_some() && is_point(line);
    let own = near.iter().rposition(is_own).unwrap_or(near.len());
    let above = near[..own].iter().rposition(|line| is_point(line)).map_or(0, |at| at + 1);
    let told: Vec<&str> =
        near[above..own].iter().map(|line| line.trim_start_matches("# ").trim_start()).collect();
    let raised = |line: &&str| exception(line).is_some_and(|(kind, _)| kind.ends_with("Error"));
    let Some(at) = told.iter().rposition(raised) else { return draft };
    let why = RawFailure::process(TOOL, "", until(&told, at, str::is_empty));
    let message = format!("{}\n{}", draft.message, why.message);
    RawFailure {
        kind: why.kind,
        about: why.about,
        values: why.values,
        style: MaskingStyle::Diagnostic,
        ..draft
    }
    .message(&message)
}

/// Returns the full names of the failed tests by their last parts, from a tree that shows depth by indentation.
fn names<'a>(input: &FormatInput<'a>, tree: Range<usize>) -> BTreeMap<&'a str, VecDeque<String>> {
    let mut parents: Vec<&str> = Vec::new();
    let mut names: BTreeMap<&str, VecDeque<String>> = BTreeMap::new();
    for at in tree.filter(|at| !input.begins[*at].is_ascii() && !is_of_list(input.lines, *at)) {
        let line = input.lines[at];
        let depth = indentation(line) / 2;
        let entry = line.trim_ascii_start();
        if let Some(name) = entry.strip_prefix("▶ ") {
            parents.truncate(depth);
            parents.push(without_time(name));
        } else if let Some(name) = entry.strip_prefix("✖ ").map(without_time) {
            let mut path = parents[..depth.min(parents.len())].to_vec();
            path.push(name);
            names.entry(name).or_default().push_back(path.join(" > "));
        }
    }
    names
}

/// Reports the results of the tests in the tree, which the counts follow.
pub(crate) fn outcomes(lines: &[&str], tell: &mut OnTest<'_>) {
    let Some(end) = lines.iter().position(|line| line.starts_with("ℹ tests ")) else { return };
    let marks = [("✔ ", TestOutcome::Passed), ("✖ ", TestOutcome::Failed), ("﹣ ", TestOutcome::Skipped)];
    let mut parents: Vec<&str> = Vec::new();
    for line in &lines[..end] {
        let depth = indentation(line) / 2;
        let entry = line.trim_ascii_start();
        if let Some(name) = entry.strip_prefix("▶ ") {
            parents.truncate(depth);
            parents.push(without_time(name));
            continue;
        }
        let found = marks.iter().find_map(|(mark, outcome)| Some((entry.strip_prefix(mark)?, *outcome)));
        let Some((name, outcome)) = found else { continue };
        let excused = [" # SKIP", " # TODO"].iter().find_map(|mark| name.split_once(mark));
        let (name, outcome) = excused.map_or((name, outcome), |(name, _)| (name, TestOutcome::Skipped));
        let path = parents.iter().take(depth).copied().chain([without_time(name)]);
        tell(TOOL, &path.collect::<Vec<_>>().join(" > "), outcome);
    }
}
