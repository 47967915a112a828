//! eslint and stylelint with the reporter for people: a file, and its problems indented below.

use std::sync::LazyLock;

use regex::Regex;

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::super::words::indentation;
use super::FormatInput;

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<mark>error|warning|✖|⚠|×)\s+(?P<what>.+?)(?:\s\s+(?P<rule>[\w@][\w@/-]*(?:\([\w@/-]+\))?))?\s*$").expect("well formed")
});

/// Reads the errors; warnings count only if nothing else failed.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    let mut named = None;
    let mut warnings = Vec::new();
    let before = found.len();
    for (at, (first, begin)) in sheet.firsts.iter().zip(sheet.begins).enumerate() {
        // The first letter shows whether a line names a file, or may be the indented line of a problem.
        if matches!(first, b'!'..=b'~') {
            named = Some(at);
            continue;
        }
        if !begin.is_ascii_digit() && begin.is_ascii() {
            continue;
        }
        let line = sheet.lines[at];
        if line.starts_with(|c: char| !c.is_whitespace()) {
            named = Some(at);
            continue;
        }
        let Some(file) = named.map(|at| sheet.lines[at]) else { continue };
        if !line.trim_start().trim_start_matches(char::is_numeric).starts_with(':') {
            continue;
        }
        let Some(problem) = PROBLEM.captures(line) else { continue };
        let rule = problem.name("rule").map_or("", |rule| rule.as_str());
        let column = line[..problem.name("what").map_or(0, |what| what.start())].chars().count();
        let more = wrapped(column, &sheet.lines[at + 1..]);
        let what = [&problem["what"]].iter().chain(&more).copied().collect::<Vec<_>>().join(" ");
        let message = [line.trim()].iter().chain(&more).copied().collect::<Vec<_>>().join(" ");
        let draft = RawFailure::diagnostic("eslint", file.trim_end(), problem["line"].parse().ok(), &what)
            .kind(rule)
            .shown_at(problem["column"].parse().ok(), "")
            .told_by(file)
            .up_to(more.last().copied().unwrap_or(line))
            .message(&message);
        match &problem["mark"] {
            "warning" | "⚠" => warnings.push(draft.warning(true)),
            _ => found.push(draft),
        }
    }
    if found.len() == before {
        warnings.into_iter().for_each(|draft| found.push(draft));
    }
}

/// Returns the continuation of a message in the same column: stylelint wraps it in a narrow terminal.
fn wrapped<'a>(column: usize, below: &[&'a str]) -> Vec<&'a str> {
    let is_more = |line: &&&str| indentation(line) == column && !line.trim().is_empty();
    below.iter().take_while(is_more).map(|line| line.trim()).collect()
}
