//! trial of Twisted: a block below a double line and `[FAIL]` or `[ERROR]`, then an empty line and the test names.

use super::unittest::stage_of;
use super::{FailureCollector, FormatInput, RawFailure, until};

const TOOL: &str = "trial";

/// Reads the blocks between the double lines.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_rule = |line: &str, of: char| line.len() >= 60 && line.chars().all(|c| c == of);
    let ends = |line: &str| is_rule(line, '=') || is_rule(line, '-');
    for (at, rule) in input.starting(b"=") {
        let Some(head) = input.lines.get(at + 1).filter(|_| is_rule(rule, '=')) else { continue };
        let Some(kind) = KINDS.iter().find_map(|(mark, kind)| (mark == head).then_some(*kind)) else {
            continue;
        };
        let block = until(input.lines, at + 2, ends);
        collector.add_printed(block);
        let Some(blank) = block.iter().rposition(|line| line.is_empty()) else { continue };
        let (said, names) = (&block[..blank], &block[blank + 1..]);
        let Some(kind) = kind else { continue };
        let said: Vec<&str> = said.iter().map(|line| bare(line)).collect();
        for name in names {
            let draft = RawFailure::test(TOOL, name, &said);
            let kind = if kind.is_empty() { draft.kind.clone() } else { kind.to_owned() };
            let kind = stage_of(&said).map_or(kind.clone(), |stage| format!("{stage} {kind}"));
            let head = said.last().copied().unwrap_or(head);
            collector.push(draft.kind(&kind).with_line(name).with_heading(head));
        }
    }
}

/// The line below the double line, and the kind of a failure that is not named further below; `None` for other results.
const KINDS: [(&str, Option<&str>); 5] = [
    ("[FAIL]", Some("")),
    ("[ERROR]", Some("")),
    ("[SUCCESS!?!]", Some("unexpected success")),
    ("[SKIPPED]", None),
    ("[TODO]", None),
];

/// Built-in exceptions include the name of their module.
fn bare(line: &str) -> &str {
    let line = line.strip_prefix("Failure: ").unwrap_or(line);
    line.strip_prefix("builtins.").unwrap_or(line)
}
