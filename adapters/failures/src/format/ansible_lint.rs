//! ansible-lint: `rule[part]: message` above its place.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style};

static SAID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<rule>[a-z][a-z\d-]*(?:\[[^\]]+\])?): (?P<what>\S.*)$").expect("well formed")
});

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>[^\s:]+):(?P<line>\d+)(?::(?P<column>\d+))?(?: (?P<item>\S.*))?$")
        .expect("well formed")
});

/// Reads every message that has a place on the next line.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for lines in input.lines.windows(2) {
        let Some(said) = SAID.captures(lines[0]) else { continue };
        let Some(place) = PLACE.captures(lines[1]).filter(|place| gcc_style::is_path(&place["file"])) else {
            continue;
        };
        let number = |name: &str| place.name(name).and_then(|number| number.as_str().parse().ok());
        let item = place.name("item").map_or("", |item| item.as_str());
        let what = said["what"].trim_end_matches(" (warning)");
        let draft =
            RawFailure::diagnostic("ansible-lint", &place["file"], number("line"), what).kind(&said["rule"]);
        let draft = draft.about(format!("{what} {item}").trim()).with_column(number("column"), "");
        collector.push(draft.message(&lines.join("\n")));
    }
}
