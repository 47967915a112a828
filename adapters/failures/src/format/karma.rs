//! Karma: `Chrome 120.0 (Linux) does this FAILED`, and the message below, more indented.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Maximum number of known browsers.
const BROWSERS: usize = 16;

/// Reads every line that begins with a browser's name. The lines that count executed tests name the browsers.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut browsers: Vec<&str> = Vec::new();
    for (_, line) in input.marked() {
        let browser = line.split_once("): Executed ").map_or("", |(browser, _)| browser);
        if !browser.is_empty() && browsers.len() < BROWSERS && !browsers.contains(&browser) {
            browsers.push(browser);
        }
    }
    for (at, line) in input.lines.iter().enumerate() {
        let Some(line) = line.trim_end().strip_suffix(" FAILED") else { continue };
        let named = browsers.iter().find_map(|browser| Some((browser, line.strip_prefix(browser)?)));
        let Some((browser, name)) =
            named.and_then(|(browser, rest)| Some((browser, rest.strip_prefix(") ")?)))
        else {
            continue;
        };
        let block = until(input.lines, at + 1, |line| !line.starts_with(['\t', ' ']));
        // The version and the system are not part of the name.
        let family = browser.split(|c: char| c.is_ascii_digit() || c == '(').next().unwrap_or_default();
        collector
            .push(RawFailure::test("karma", name, block).with_test_file(family.trim()).with_heading(line));
    }
}
