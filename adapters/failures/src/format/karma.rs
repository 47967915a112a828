//! Karma: `Chrome 120.0 (Linux) does this FAILED`, and below it, further in, what it says.

use super::super::raw_failure::{FailureCollector, RawFailure};
use super::{FormatInput, until};

/// So many browsers are known.
const BROWSERS: usize = 16;

/// Reads every line that begins with the name of a browser: the one of which it is told how many tests were run.
pub(crate) fn read(sheet: &FormatInput<'_>, found: &mut FailureCollector<'_>) {
    let mut browsers: Vec<&str> = Vec::new();
    for (_, line) in sheet.marked() {
        let browser = line.split_once("): Executed ").map_or("", |(browser, _)| browser);
        if !browser.is_empty() && browsers.len() < BROWSERS && !browsers.contains(&browser) {
            browsers.push(browser);
        }
    }
    for (at, line) in sheet.lines.iter().enumerate() {
        let Some(line) = line.trim_end().strip_suffix(" FAILED") else { continue };
        let named = browsers.iter().find_map(|browser| Some((browser, line.strip_prefix(browser)?)));
        let Some((browser, name)) =
            named.and_then(|(browser, rest)| Some((browser, rest.strip_prefix(") ")?)))
        else {
            continue;
        };
        let block = until(sheet.lines, at + 1, |line| !line.starts_with(['\t', ' ']));
        // Its version and the system are no part of it.
        let family = browser.split(|c: char| c.is_ascii_digit() || c == '(').next().unwrap_or_default();
        found.push(RawFailure::test("karma", name, block).within(family.trim()).headed(line));
    }
}
