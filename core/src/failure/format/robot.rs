//! Robot Framework: `Adds One   | FAIL |`, and the message below.

use super::super::draft::{Draft, Found};
use super::{Sheet, until};

/// Reads the tests that failed; a suite has its numbers below.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (at, line) in sheet.marked() {
        let Some(name) = line.trim_end().strip_suffix("| FAIL |") else { continue };
        let block = until(sheet.lines, at + 1, |line| line.starts_with("----") || line.starts_with("===="));
        if block.iter().any(|line| is_sum(line)) {
            continue;
        }
        let name = name.split(" :: ").next().unwrap_or(name).trim();
        let draft = Draft::test("robot", name, block);
        found.push(draft.headed(name));
    }
}

fn is_sum(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" passed, ") && line.contains(" failed")
}
