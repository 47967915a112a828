//! Gradle: `Class > method() FAILED`, and the exception below.

use super::super::draft::{Draft, Found};
use super::{Sheet, until};

/// Reads every test that failed.
pub(crate) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (at, line) in sheet.marked() {
        let Some(name) = line.strip_suffix(" FAILED").filter(|name| !name.starts_with(' ')) else { continue };
        if !name.contains(" > ") {
            continue;
        }
        let block = until(sheet.lines, at + 1, |line| !line.starts_with("    "));
        let block: Vec<&str> = block.iter().map(|line| line.trim_start()).collect();
        let draft = Draft::test("gradle", name, &block);
        found.push(draft.headed(name));
    }
}
