//! xo, tsd and others with `eslint-formatter-pretty`: the first problem's place as a headline, marked problems below.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, numbered};

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^  (?P<mark>[✖×⚠‼])\s+(?P<line>\d+):(?P<column>\d+)\s\s+(?P<what>\S.*?)(?:\s\s+(?P<rule>[\w@][\w@/-]*))?\s*$")
        .expect("well formed")
});

/// Reads the errors; the warnings only when there is nothing else that failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (mut drafts, mut head, mut read) = (Vec::new(), None::<(&str, &str)>, 0);
    for (at, line) in input.marked() {
        let named = input.lines[read..at].iter().rev().find_map(|line| Some((*line, file(line)?)));
        head = named.or(head);
        read = at;
        let (Some((_, file)), Some(problem)) = (head, PROBLEM.captures(line)) else { continue };
        let text = |name: &str| problem.name(name).map_or("", |group| group.as_str());
        let draft = RawFailure::diagnostic("eslint", file, text("line").parse().ok(), text("what"));
        let first = named.map_or(line, |(head, _)| head);
        let draft = draft
            .kind(text("rule"))
            .with_column(text("column").parse().ok(), "")
            .with_line(first)
            .with_last_line(line);
        drafts.push(draft.warning(matches!(text("mark"), "⚠" | "‼")).message(line.trim()));
    }
    collector.push_errors(drafts);
}

/// Returns the file of a headline, `  src/a.js:3:5`.
fn file(line: &str) -> Option<&str> {
    let (place, _) = numbered(line.strip_prefix("  ")?.trim_end())?;
    let (file, _) = numbered(place)?;
    file.starts_with(|c: char| !c.is_whitespace()).then_some(file)
}
