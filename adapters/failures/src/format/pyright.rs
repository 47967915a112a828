//! pyright: a file, and its errors indented below; the rule ends the last line of each.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+) - (?P<level>error|warning): (?P<what>.*)$")
        .expect("well formed")
});

static RULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\s*\((?P<rule>report\w+)\)\s*$").expect("well formed"));

/// Reads every error; the warnings only where there is nothing else.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    // It counts errors and warnings before the rest.
    if !input.marked().any(|(_, line)| line.contains(" error")) {
        return;
    }
    // Other tools set a dash before names, which are not set in.
    let levels = [" - error: ", " - warning: "].into_iter().flat_map(|level| input.with(level));
    let mut indented: Vec<usize> =
        levels.filter(|(_, line)| line.starts_with(char::is_whitespace)).map(|(at, _)| at).collect();
    indented.sort_unstable();
    indented.dedup();
    collector.push_errors(indented.into_iter().filter_map(|at| problem(lines, at)).collect());
}

fn problem(lines: &[&str], at: usize) -> Option<RawFailure> {
    let line = lines[at];
    let head = HEAD.captures(line)?;
    let more = until(lines, at + 1, |next| !next.starts_with("  ") || HEAD.is_match(next));
    let told = |line: &str| RULE.captures(line).map(|captures| captures["rule"].to_owned());
    let rule = std::iter::once(&line).chain(more).find_map(|line| told(line)).unwrap_or_default();
    let what = RULE.replace(&head["what"], "");
    let block = std::iter::once(line).chain(more.iter().copied()).map(str::trim).collect::<Vec<_>>();
    let draft =
        RawFailure::diagnostic("pyright", &head["file"], head["line"].parse().ok(), &what).kind(&rule);
    let draft = draft.with_column(head["column"].parse().ok(), "").warning(&head["level"] == "warning");
    Some(draft.message(&block.join("\n")))
}
