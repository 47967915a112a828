//! dotnet test: `Failed Name [12 ms]` and the message below.

use super::super::draft::{Draft, Found};
use super::{Sheet, until, without_time};

/// Reads every test that failed.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    for (at, line) in lines.iter().enumerate() {
        let Some(rest) = line.strip_prefix("  Failed ").or(line.strip_prefix("Failed   ")) else { continue };
        let name = without_time(rest);
        let block = until(lines, at + 1, |line| {
            line.starts_with("  Failed ")
                || line.starts_with("  Passed ")
                || line.trim_start().starts_with("Stack Trace:")
                || line.starts_with("Failed!")
        });
        let Some(start) = block.iter().position(|line| line.trim() == "Error Message:") else { continue };
        let told: Vec<&str> = block[start + 1..].iter().map(|line| line.trim()).collect();
        let draft = Draft::test("dotnet", name, &told);
        found.push(draft.headed(name));
    }
}
