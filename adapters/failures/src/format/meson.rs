//! meson test: `1/5 suite:name FAIL 0.02s exit status 3`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, nextest};

static ENDED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*\d+/\d+ (?P<name>\S.*?) +(?P<status>FAIL|ERROR|TIMEOUT|UNEXPECTEDPASS|INTERRUPT) +[\d.]+ ?s(?: +(?P<how>\S.*))?$")
        .expect("well formed")
});

/// Reads every test that did not pass; the list at the end repeats them.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut told = BTreeSet::new();
    for line in input.lines {
        let Some(ended) = may_be_result(line).then(|| ENDED.captures(line)).flatten() else { continue };
        if !told.insert(ended["name"].to_owned()) {
            continue;
        }
        let status = ended["status"].to_ascii_lowercase();
        let how = ended.name("how").map_or("", |how| how.as_str());
        let draft =
            RawFailure::test("meson", &ended["name"], &[]).kind(&status).about(how).message(line.trim());
        collector.push(nextest::process_kind(draft, &ended["status"], how));
    }
}

/// Tells most lines apart without the pattern.
fn may_be_result(line: &str) -> bool {
    line.trim_start().starts_with(|c: char| c.is_ascii_digit())
}
