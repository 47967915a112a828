//! eslint and stylelint with the reporter for people: a file, and its problems indented below.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, indentation};

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<line>\d+):(?P<column>\d+)\s+(?P<mark>error|warning|✖|⚠|×)\s+(?P<what>.+?)(?:\s\s+(?P<rule>[\w@][\w@/-]*(?:\([\w@/-]+\))?))?\s*$").expect("well formed")
});

/// Reads the errors; warnings count only if nothing else failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut named = None;
    let mut warnings = Vec::new();
    let before = collector.len();
    for (at, (first, begin)) in input.firsts.iter().zip(input.begins).enumerate() {
        // The first letter shows whether a line names a file, or may be the indented line of a problem.
        if matches!(first, b'!'..=b'~') {
            named = Some(at);
            continue;
        }
        if !begin.is_ascii_digit() && begin.is_ascii() {
            continue;
        }
        let line = input.lines[at];
        if line.starts_with(|c: char| !c.is_whitespace()) {
            named = Some(at);
            continue;
        }
        let Some(file) = named.map(|at| input.lines[at]) else { continue };
        if !line.trim_start().trim_start_matches(char::is_numeric).starts_with(':') {
            continue;
        }
        let Some(problem) = PROBLEM.captures(line) else { continue };
        let rule = problem.name("rule").map_or("", |rule| rule.as_str());
        let column = line[..problem.name("what").map_or(0, |what| what.start())].chars().count();
        let more = continuation(column, &input.lines[at + 1..]);
        let what = [&problem["what"]].iter().chain(&more).copied().collect::<Vec<_>>().join(" ");
        let message = [line.trim()].iter().chain(&more).copied().collect::<Vec<_>>().join(" ");
        let draft = RawFailure::diagnostic("eslint", file.trim_end(), problem["line"].parse().ok(), &what)
            .kind(rule)
            .with_column(problem["column"].parse().ok(), "")
            .with_line(file)
            .with_last_line(more.last().copied().unwrap_or(line))
            .message(&message);
        match &problem["mark"] {
            "warning" | "⚠" => warnings.push(draft.warning(true)),
            _ => collector.push(draft),
        }
    }
    if collector.len() == before {
        warnings.into_iter().for_each(|draft| collector.push(draft));
    }
}

/// Returns the continuation of a message in the same column: stylelint wraps it in a narrow terminal.
fn continuation<'a>(column: usize, below: &[&'a str]) -> Vec<&'a str> {
    let is_more = |line: &&&str| indentation(line) == column && !line.trim().is_empty();
    below.iter().take_while(is_more).map(|line| line.trim()).collect()
}
