//! Linters that print one problem per line and its place as text: `a.ts: line 1, col 8 - message (rule)`.
//!
//! deno lint and eslint do so with their compact formats; jshint has a comma before the message.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>\S.*?): line (?P<line>\d+), col (?P<column>\d+)(?:(?:, (?P<level>\w+))? - (?:(?P<mark>Error|Warning) - )?|, )(?P<what>.+?)(?: \((?P<rule>[\w@][\w@/-]*)\))?$").expect("well formed")
});

/// Reads every problem; warnings count only if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    collector.push_errors(input.marked().filter_map(|(_, line)| problem(line)).collect());
}

fn problem(line: &str) -> Option<RawFailure> {
    let problem = PROBLEM.captures(line.trim_end())?;
    let rule = problem.name("rule").map_or("", |rule| rule.as_str());
    let level = problem.name("level").or(problem.name("mark"));
    let warns = level.is_some_and(|level| level.as_str() == "Warning");
    let draft =
        RawFailure::diagnostic("lint", &problem["file"], problem["line"].parse().ok(), &problem["what"]);
    Some(draft.kind(rule).with_column(problem["column"].parse().ok(), "").warning(warns).message(line.trim()))
}
