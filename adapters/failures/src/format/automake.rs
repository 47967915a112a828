//! Automake's `make check`: a line for each test, and a summary; where asked to (`VERBOSE=1`), between them what each of the
//! failed tests printed.

use std::collections::BTreeMap;

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::super::words::leading_number;
use super::{FormatInput, blocks};

const TOOL: &str = "automake";

/// The results that fail a suite, and what a failure with each is called: nothing where it says no more than that.
const RESULTS: [(&str, &str); 3] = [("FAIL", ""), ("ERROR", "ERROR"), ("XPASS", "XPASS")];

/// The file that what the failed tests printed is shown from.
const LOG: &str = "test-suite.log";

/// A test with one of these results.
struct Listed<'a> {
    line: &'a str,
    /// Which of [`RESULTS`].
    result: usize,
    /// The script, with the result of the tests in it that TAP tells of.
    name: &'a str,
}

/// Reads the list above each summary. A test whose log tells of failures in a form of its own stands for those.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    let tells_within = found.tells_within();
    let ends: Vec<usize> = sheet.marked().map(|(at, _)| at).collect();
    for (nth, end) in ends.iter().copied().enumerate() {
        let suite = &sheet.lines[nth.checked_sub(1).map_or(0, |before| ends[before] + 1)..end];
        let below = &sheet.lines[end..ends.get(nth + 1).copied().unwrap_or(sheet.lines.len())];
        // The logs stand above the summary, or somebody shows them below it.
        let (listed, shown) = match log_at(suite).filter(|_| !ends_with_results(suite)) {
            Some(at) => suite.split_at(at),
            None if nth + 1 == ends.len() => (suite, below),
            None => (suite, log_at(below).map_or(&[][..], |at| &below[at..])),
        };
        let results = failed(listed, below);
        let mut logs = logs(shown);
        logs.values_mut().for_each(|log| {
            log.is_told = tells_within(log.lines) || log.lines.iter().any(|line| sheet.is_hidden(line));
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
            // What one of several results of a log says of it is not known.
            let lines = log.filter(|log| log.results == 1).map_or(&[][..], |log| log.lines);
            let draft = RawFailure::test(TOOL, &without_number(result.name), lines);
            let (_, kind) = RESULTS[result.result];
            let draft = if kind.is_empty() { draft } else { draft.kind(kind) };
            let last = lines.last().copied().unwrap_or(result.line);
            found.push(draft.told_by(result.line).up_to(last).headed(result.line));
        }
    }
}

/// What a test printed.
struct Log<'s, 'a> {
    lines: &'s [&'a str],
    /// A reader found failures in it.
    is_told: bool,
    /// How many results are of it.
    results: usize,
}

impl Listed<'_> {
    /// Returns the name of its log, which has no ending.
    fn log(&self, logs: &BTreeMap<&str, Log<'_, '_>>) -> Option<&str> {
        let script = self.name.split(' ').next()?;
        let bare = || script.rsplit_once('.').map(|(bare, _)| bare);
        Some(script).filter(|name| logs.contains_key(name)).or_else(bare)
    }
}

/// Says whether the list stands directly above the rule of the summary: then the logs of another suite are above that.
fn ends_with_results(suite: &[&str]) -> bool {
    suite.iter().rev().find(|line| !is_rule(line)).is_some_and(|last| ended(last).is_some())
}

/// Returns where the logs begin: a title that is set in, between two rules.
fn log_at(suite: &[&str]) -> Option<usize> {
    let is_title = |title: &[&str]| {
        is_rule(title[0]) && title[1].starts_with(' ') && title[1].ends_with(LOG) && is_rule(title[2])
    };
    suite.windows(3).rposition(is_title)
}

/// Returns the results in a list, of each kind as many as the summary below counts: the last ones, since what else is printed
/// stands above.
fn failed<'a>(listed: &[&'a str], summary: &[&str]) -> Vec<Listed<'a>> {
    const SUMMARY_LINES: usize = 10;
    let counts = &summary[..summary.len().min(SUMMARY_LINES)];
    // What is not counted there is none, unless the summary is cut off.
    let uncounted = if counts.iter().any(|line| line.starts_with("# TOTAL:")) { 0 } else { usize::MAX };
    let mut left = RESULTS.map(|(word, _)| {
        let count =
            |line: &&str| line.strip_prefix("# ")?.strip_prefix(word)?.strip_prefix(':')?.trim().parse().ok();
        counts.iter().find_map(count).unwrap_or(uncounted)
    });
    let mut results: Vec<Listed<'a>> = Vec::new();
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

/// Takes `PASS: name` apart.
fn ended(line: &str) -> Option<(&str, &str)> {
    const PASSING: [&str; 3] = ["PASS", "SKIP", "XFAIL"];
    let (word, name) = line.split_once(": ").map(|(word, name)| (word, name.trim()))?;
    let is_known = PASSING.contains(&word) || RESULTS.iter().any(|(it, _)| *it == word);
    (is_known && !name.is_empty()).then_some((word, name))
}

/// Takes `FAIL: name` apart.
fn result(line: &str) -> Option<Listed<'_>> {
    let (word, name) = ended(line)?;
    let result = RESULTS.iter().position(|(it, _)| *it == word)?;
    Some(Listed { line, result, name })
}

/// Takes the number out of `a.test 2 - reads`: one that is put in before moves it.
fn without_number(name: &str) -> String {
    let parts = name.split_once(' ').and_then(|(script, point)| Some((script, leading_number(point)?.1)));
    match parts.and_then(|(script, told)| Some((script, told.strip_prefix(" - ")?))) {
        Some((script, told)) => format!("{script} - {told}"),
        None => name.to_owned(),
    }
}

/// Says whether a line is drawn from end to end.
fn is_rule(line: &str) -> bool {
    line.len() >= 3 && line.bytes().all(|byte| byte == b'=')
}

/// Says whether a log begins with a line: a rule of the same length stands below it.
fn is_head(lines: &[&str], at: usize) -> bool {
    let is_below = |rule: &&str| is_rule(rule) && rule.len() == lines[at].chars().count();
    ended(lines[at]).is_some() && lines.get(at + 1).is_some_and(is_below)
}

/// Returns what each test printed, by its name: below `FAIL: name` and a rule, up to the next of these.
fn logs<'s, 'a>(lines: &'s [&'a str]) -> BTreeMap<&'a str, Log<'s, 'a>> {
    let heads = (0..lines.len()).filter(|at| is_head(lines, *at));
    let logs = blocks(heads, lines.len()).filter_map(|(head, end)| {
        let (word, name) = ended(lines[head])?;
        let log = &lines[head + 2..end];
        // By this line it ends, whatever is shown below.
        let last = format!("{word} {name}");
        let told = log.iter().position(|line| line.starts_with(&last) && line.contains(" (exit status: "));
        let told = &log[..told.unwrap_or(log.len())];
        let is_said = |line: &&str| !line.is_empty() && !is_rule(line);
        let said = told.iter().rposition(is_said).map_or(0, |last| last + 1);
        Some((name, Log { lines: &told[..said], is_told: false, results: 0 }))
    });
    logs.collect()
}
