//! dart analyze and flutter analyze: `error - a.dart:3:5 - message - rule`, `error • message • a.dart:3:5 • rule`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    let place = |n: u32| format!(r"(?P<file{n}>[^\s:][^:]*):(?P<line{n}>\d+):(?P<column{n}>\d+)");
    let pattern = format!(
        r"^ *(?P<level>error|warning|info) (?:- {} - (?P<what1>.+) - (?P<rule1>\w+)|• (?P<what2>.+?) +• {} • (?P<rule2>\w+))\s*$",
        place(1),
        place(2),
    );
    Regex::new(&pattern).expect("well formed")
});

/// Reads the errors; lower severities count only if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    collector.push_errors(input.marked().filter_map(|(_, line)| problem(line)).collect());
}

fn problem(line: &str) -> Option<RawFailure> {
    let problem = PROBLEM.captures(line)?;
    let text = |name: &str| {
        let either = [1, 2].into_iter().find_map(|n| problem.name(&format!("{name}{n}")));
        either.map_or("", |group| group.as_str())
    };
    let draft = RawFailure::diagnostic("dart-analyze", text("file"), text("line").parse().ok(), text("what"));
    let draft = draft.kind(text("rule")).with_column(text("column").parse().ok(), "");
    Some(draft.warning(&problem["level"] != "error").message(line.trim()))
}
