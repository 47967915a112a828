//! Automake's `make check`: a line per test, and a summary; with `VERBOSE=1`, the logs of failed tests between them.

use std::collections::BTreeMap;

use super::{FailureCollector, FormatInput, RawFailure, blocks, leading_number};

const TOOL: &str = "automake";

/// The results that fail a suite, and the kind of failure for each; empty if the result alone says everything.
const RESULTS: [(&str, &str); 3] = [("FAIL", ""), ("ERROR", "ERROR"), ("XPASS", "XPASS")];

/// The file from which the output of failed tests is shown.
const LOG: &str = "test-suite.log";

/// A test with one of these results.
struct ListedResult<'a> {
    line: &'a str,
    /// Index in [`RESULTS`].
    result: usize,
    /// The script, with the description of the test in it if TAP reports one.
    name: &'a str,
}

/// Reads the list above each summary. A test is skipped if another reader found failures in its log.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let tells_within = collector.reported_lines();
    let ends: Vec<usize> = input.marked().map(|(at, _)| at).collect();
    for (nth, end) in ends.iter().copied().enumerate() {
        let suite = &input.lines[nth.checked_sub(1).map_or(0, |before| ends[before] + 1)..end];
        let below = &input.lines[end..ends.get(nth + 1).copied().unwrap_or(input.lines.len())];
        // The logs are above the summary, or another command printed them below it.
        let (listed, shown) = match log_at(suite).filter(|_| !ends_with_results(suite)) {
            Some(at) => suite.split_at(at),
            None if nth + 1 == ends.len() => (suite, below),
            None => (suite, log_at(below).map_or(&[][..], |at| &below[at..])),
        };
        let results = failed_results(listed, below);
        let mut logs = logs(shown);
        logs.values_mut().for_each(|log| {
            log.is_told = tells_within(log.lines) || log.lines.iter().any(|line| input.is_hidden(line));
        });
        for result in &results {
            if let Some(log) = result.log(&logs).and_then(|name| logs.get_mut(name)) {
                log.results += 1;
            }
        }
        for result in results {
            let log = result.log(&logs).and_then(|name| logs.get(name));
            if log.is_some_and(|log| log.is_told) {
                continue;
            }
            // If a log has several results, it is unknown which part of it belongs to which result.
            let lines = log.filter(|log| log.results == 1).map_or(&[][..], |log| log.lines);
            let draft = RawFailure::test(TOOL, &without_number(result.name), lines);
            let (_, kind) = RESULTS[result.result];
            let draft = if kind.is_empty() { draft } else { draft.kind(kind) };
            let last = lines.last().copied().unwrap_or(result.line);
            collector.push(draft.with_line(result.line).with_last_line(last).with_heading(result.line));
        }
    }
}

/// The output of a test.
struct Log<'s, 'a> {
    lines: &'s [&'a str],
    /// A reader found failures in it.
    is_told: bool,
    /// Number of results that refer to it.
    results: usize,
}

impl ListedResult<'_> {
    /// Returns the name of its log, which has no extension.
    fn log(&self, logs: &BTreeMap<&str, Log<'_, '_>>) -> Option<&str> {
        let script = self.name.split(' ').next()?;
        let bare = || script.rsplit_once('.').map(|(bare, _)| bare);
        Some(script).filter(|name| logs.contains_key(name)).or_else(bare)
    }
}

/// Checks whether the list is directly above the rule of the summary. Any logs above it then belong to another suite.
fn ends_with_results(suite: &[&str]) -> bool {
    suite.iter().rev().find(|line| !is_rule(line)).is_some_and(|last| split_result(last).is_some())
}

/// Returns where the logs begin: an indented title between two rules.
fn log_at(suite: &[&str]) -> Option<usize> {
    let is_title = |title: &[&str]| {
        is_rule(title[0]) && title[1].starts_with(' ') && title[1].ends_with(LOG) && is_rule(title[2])
    };
    suite.windows(3).rposition(is_title)
}

/// Returns as many results of each kind as the summary below counts: the last ones, since other output is above.
fn failed_results<'a>(listed: &[&'a str], summary: &[&str]) -> Vec<ListedResult<'a>> {
    const SUMMARY_LINES: usize = 10;
    let counts = &summary[..summary.len().min(SUMMARY_LINES)];
    // A result that the summary does not count is not a result, unless the summary is cut off.
    let uncounted = if counts.iter().any(|line| line.starts_with("# TOTAL:")) { 0 } else { usize::MAX };
    let mut left = RESULTS.map(|(word, _)| {
        let count =
            |line: &&str| line.strip_prefix("# ")?.strip_prefix(word)?.strip_prefix(':')?.trim().parse().ok();
        counts.iter().find_map(count).unwrap_or(uncounted)
    });
    let mut results: Vec<ListedResult<'a>> = Vec::new();
    let own = (0..listed.len()).rev().filter(|at| !is_head(listed, *at));
    for result in own.filter_map(|at| result(listed[at])) {
        if left[result.result] > 0 {
            left[result.result] -= 1;
            results.push(result);
        }
    }
    results.reverse();
    results
}

/// Splits `PASS: name`.
fn split_result(line: &str) -> Option<(&str, &str)> {
    const PASSING: [&str; 3] = ["PASS", "SKIP", "XFAIL"];
    let (word, name) = line.split_once(": ").map(|(word, name)| (word, name.trim()))?;
    let is_known = PASSING.contains(&word) || RESULTS.iter().any(|(result, _)| *result == word);
    (is_known && !name.is_empty()).then_some((word, name))
}

/// Splits `FAIL: name`.
fn result(line: &str) -> Option<ListedResult<'_>> {
    let (word, name) = split_result(line)?;
    let result = RESULTS.iter().position(|(name, _)| *name == word)?;
    Some(ListedResult { line, result, name })
}

/// Removes the number from `a.test 2 - reads`, since an inserted test changes it.
fn without_number(name: &str) -> String {
    let parts = name.split_once(' ').and_then(|(script, point)| Some((script, leading_number(point)?.1)));
    match parts.and_then(|(script, told)| Some((script, told.strip_prefix(" - ")?))) {
        Some((script, told)) => format!("{script} - {told}"),
        None => name.to_owned(),
    }
}

/// Checks whether a line is a rule from end to end.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'=')
}

/// Checks whether a log begins with a line: a rule of the same length is below it.
fn is_head(lines: &[&str], at: usize) -> bool {
    let is_below = |rule: &&str| is_rule(rule) && rule.len() == lines[at].chars().count();
    split_result(lines[at]).is_some() && lines.get(at + 1).is_some_and(is_below)
}

/// Returns the output of each test by name: the lines below `FAIL: name` and a rule, up to the next such head.
fn logs<'s, 'a>(lines: &'s [&'a str]) -> BTreeMap<&'a str, Log<'s, 'a>> {
    let heads = (0..lines.len()).filter(|at| is_head(lines, *at));
    let logs = blocks(heads, lines.len()).filter_map(|(head, end)| {
        let (word, name) = split_result(lines[head])?;
        let log = &lines[head + 2..end];
        // This line ends the log, whatever is shown below.
        let last = format!("{word} {name}");
        let told = log.iter().position(|line| line.starts_with(&last) && line.contains(" (exit status: "));
        let told = &log[..told.unwrap_or(log.len())];
        let is_said = |line: &&str| !line.is_empty() && !is_rule(line);
        let said = told.iter().rposition(is_said).map_or(0, |last| last + 1);
        Some((name, Log { lines: &told[..said], is_told: false, results: 0 }))
    });
    logs.collect()
}
