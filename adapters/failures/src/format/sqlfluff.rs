//! sqlfluff: `== [file] FAIL`, and below it `L:   1 | P:  10 | CP01 | message`.

use super::{FailureCollector, FormatInput, RawFailure, scan};

/// Reads the problems below each file.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, head) in input.marked() {
        let Some(file) = head.strip_prefix("== [").and_then(|rest| rest.strip_suffix("] FAIL")) else {
            continue;
        };
        let below =
            scan(&input.lines[at + 1..]).take_while(|line| line.starts_with("L:") || line.starts_with(' '));
        let lines: Vec<&str> = below.copied().collect();
        for (at, line) in lines.iter().enumerate().filter(|(_, line)| line.starts_with("L:")) {
            // A long message continues below, as does the name of the rule.
            let more = scan(&lines[at + 1..]).take_while(|line| line.starts_with(' '));
            let more = more.map(|line| line.trim_start_matches([' ', '|']));
            if let Some(draft) = problem(file, line, more) {
                collector.push(draft);
            }
        }
    }
}

fn problem<'a>(file: &str, line: &'a str, more: impl Iterator<Item = &'a str>) -> Option<RawFailure> {
    let mut parts = line.splitn(4, '|').map(str::trim);
    let mut number = |name: &str| Some(parts.next()?.strip_prefix(name)?.trim().parse().ok());
    let (number, column) = (number("L:")?, number("P:")?);
    let (rule, what) = (parts.next()?, parts.next()?);
    let message = std::iter::once(what).chain(more).collect::<Vec<_>>().join(" ");
    let message = message
        .rsplit_once(" [")
        .filter(|_| message.ends_with(']'))
        .map_or(message.as_str(), |parts| parts.0);
    Some(
        RawFailure::diagnostic("diagnostics", file, number, message)
            .kind(rule)
            .with_column(column, "")
            .message(line),
    )
}
