//! PHP_CodeSniffer's report: a file, a count of its problems, and below a row for each problem, wrapped to the width.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static ROW: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ *(?P<line>\d+) \| (?P<level>ERROR|WARNING) +\| (?:\[[ x]\] )?(?P<what>.*)$")
        .expect("well formed")
});

/// The rule at the end of a message, where it is asked for.
static RULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?P<what>.*\S) \((?P<rule>\w+(?:\.\w+){2,})\)$").expect("well formed"));

/// Reads every row; the warnings only where nothing is an error.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut drafts = Vec::new();
    for (at, line) in input.marked() {
        let counted = input.lines.get(at + 2).is_some_and(|line| line.starts_with("FOUND "));
        let Some(file) = line.strip_prefix("FILE: ").filter(|_| counted) else { continue };
        let rows = until(input.lines, at + 4, is_end);
        let rows = rows.chunk_by(|_, next| !ROW.is_match(next));
        drafts.extend(rows.filter_map(|row| problem(file.trim(), row)));
    }
    collector.push_errors(drafts);
}

fn is_end(line: &str) -> bool {
    line.is_empty() || line.starts_with("-----") || line.starts_with("FILE: ")
}

fn problem(file: &str, row: &[&str]) -> Option<RawFailure> {
    let (first, more) = row.split_first()?;
    let first = ROW.captures(first)?;
    let more = more.iter().filter_map(|line| line.rsplit_once("| ")).map(|(_, text)| text.trim());
    let message = [first["what"].trim()].into_iter().chain(more).collect::<Vec<_>>().join(" ");
    let ruled = RULE.captures(&message);
    let (what, rule) = ruled.as_ref().map_or((message.as_str(), ""), |groups| {
        (
            groups.name("what").map_or("", |group| group.as_str()),
            groups.name("rule").map_or("", |group| group.as_str()),
        )
    });
    let draft = RawFailure::diagnostic("phpcs", file, first["line"].parse().ok(), what).kind(rule);
    Some(draft.warning(&first["level"] == "WARNING").message(&message))
}
