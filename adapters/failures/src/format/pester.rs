//! Pester (PowerShell): `[-] does this 12ms (10ms|2ms)`, and below it why.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, indentation, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ *\[-\] (?P<name>\S.*?) [\d.,]+m?s(?: \([^()]*\))?$").expect("well formed")
});

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?P<file>[^\s,]+\.ps1):(?P<line>\d+)$").expect("well formed"));

/// Reads the more indented lines below each failed test.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let depth = indentation(line);
        let block = until(input.lines, at + 1, |line| indentation(line) <= depth || line.contains("[-] "));
        let told = until(block, 0, |line| line.trim_start().starts_with("at "));
        let place = block.iter().find_map(|line| PLACE.captures(line));
        let draft = RawFailure::test("pester", &failed["name"], told).with_heading(line.trim());
        collector.push(match place {
            Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
            None => draft,
        });
    }
}
