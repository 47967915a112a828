//! knip: a kind of issue with how many there are, and below it a line for each.

use super::{FailureCollector, FormatInput, RawFailure, scan};

/// How the kinds of issues begin that knip fails for.
const KINDS: [&str; 5] = ["Unused ", "Unlisted ", "Unresolved ", "Duplicate ", "Referenced optional "];

/// Reads the number of lines below each kind that its headline states.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, head) in input.marked() {
        let Some((kind, count)) = heading(head) else { continue };
        let issues = scan(&input.lines[at + 1..]).take(count).take_while(|line| heading(line).is_none());
        for line in issues.filter(|line| !line.trim().is_empty()) {
            let (name, place) = split(line);
            let mut parts = place.split(':');
            let file = parts.next().unwrap_or_default();
            let mut number = || parts.next()?.parse().ok();
            let (row, column) = (number(), number());
            for name in name.split(", ") {
                let told = if name.is_empty() { kind.to_owned() } else { format!("{kind}: {name}") };
                let draft =
                    RawFailure::diagnostic("knip", file, row, &told).kind(kind).with_column(column, "");
                collector.push(draft.message(&told).with_line(line).with_last_line(line));
            }
        }
    }
}

/// Reads `Unused exports (2)`.
fn heading(line: &str) -> Option<(&str, usize)> {
    let (kind, count) = line.strip_suffix(')')?.rsplit_once(" (")?;
    let is_known = KINDS.iter().any(|begin| kind.starts_with(begin)) && kind.split(' ').count() <= 4;
    Some((kind, count.parse().ok()?)).filter(|_| is_known)
}

/// Splits a line into the subject and its place: `default    variable  src/lib.ts:5:16`; a file alone is both. The
/// compact reporter has the opposite order: `src/lib.ts: default, used`.
fn split(line: &str) -> (&str, &str) {
    if let Some((file, name)) = line.split_once(": ") {
        return (if name == file { "" } else { name }, file);
    }
    let line = line.trim();
    match (line.split_once("  "), line.rsplit_once("  ")) {
        (Some((name, _)), Some((_, place))) => (name, place),
        _ => ("", line),
    }
}
