//! Psalm: `ERROR: Rule - a.php:3:5 - message (see https://psalm.dev/004)`, or its parts on three lines.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>\S.*?):(?P<line>\d+):(?P<column>\d+)(?: - (?P<what>.*))?$").expect("well formed")
});

/// Reads every error; psalm does not fail because of its other messages.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let one = line.strip_prefix("ERROR: ").and_then(|said| said.split_once(" - "));
        let above = |lines: usize| at.checked_sub(lines).map_or("", |above| input.lines[above]);
        let three = || Some((above(2).strip_prefix("ERROR: ")?, above(1).strip_prefix("at ")?));
        let Some((rule, place)) = one.or_else(three) else { continue };
        let Some(place) = PLACE.captures(place) else { continue };
        let what = place.name("what").map_or(line, |what| what.as_str());
        let what = what.rsplit_once(" (see https://psalm.dev/").map_or(what, |(what, _)| what);
        let draft = RawFailure::diagnostic("psalm", &place["file"], place["line"].parse().ok(), what);
        let draft = draft.kind(rule).with_column(place["column"].parse().ok(), "");
        collector.push(draft.message(&format!("{rule}: {what}")));
    }
}
