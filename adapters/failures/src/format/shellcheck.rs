//! shellcheck with its text output: `In a.sh line 2:`, the source, and the pointers below it.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static POINTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ *\^-*\^?-* +(?P<code>SC\d+)(?: \((?P<level>\w+)\))?: (?P<what>.*)$").expect("well formed")
});

/// Reads every finding: whatever it weighs, it fails the check.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut place = ("", None);
    for line in input.lines {
        if let Some(rest) = line.strip_prefix("In ").and_then(|rest| rest.strip_suffix(':')) {
            if let Some((file, number)) = rest.rsplit_once(" line ") {
                place = (file, number.parse().ok());
            }
            continue;
        }
        if place.0.is_empty() || !line.trim_start().starts_with('^') {
            continue;
        }
        let Some(pointed) = POINTED.captures(line) else { continue };
        let column = line.find('^').and_then(|at| u32::try_from(at + 1).ok());
        let draft = RawFailure::diagnostic("diagnostics", place.0, place.1, &pointed["what"]);
        let draft = draft.kind(&pointed["code"]).with_column(column, "").message(line.trim());
        collector.push(draft.warning(pointed.name("level").is_some_and(|level| level.as_str() != "error")));
    }
}
