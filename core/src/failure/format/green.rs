//! green, a runner of Python's unittest.

use super::super::draft::{Draft, Found};
use super::{Sheet, until};

/// Reads the block below each `Failure in NAME`: a traceback without its first line.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    let begins = |line: &str| {
        let name = line.strip_prefix("Failure in ").or_else(|| line.strip_prefix("Error in "))?;
        (!name.is_empty() && !name.contains(' ')).then(|| name.to_owned())
    };
    for (at, line) in sheet.marked() {
        let Some(name) = begins(line) else { continue };
        if !lines.get(at + 1).is_some_and(|line| line.starts_with("  File \"")) {
            continue;
        }
        let told = until(lines, at + 1, |line| {
            begins(line).is_some() || line.starts_with("Captured std") || line.starts_with("Ran ")
        });
        found.printed(told);
        let block: Vec<&str> = ["Traceback (most recent call last):"].iter().chain(told).copied().collect();
        let draft = Draft::test("green", &name, &block);
        found.push(draft.headed(line));
    }
}
