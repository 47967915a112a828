//! bats on a terminal: `✗ name` and the place below, indented.

use super::super::draft::Found;
use super::{Sheet, tap, until, without_time};

/// Reads every test that failed.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (at, line) in sheet.marked() {
        let Some(name) = line.strip_prefix(" ✗ ") else { continue };
        let block = until(sheet.lines, at + 1, |line| !line.starts_with("   "));
        let block: Vec<&str> = block.iter().map(|line| line.trim_start()).collect();
        if block.first().is_some_and(|line| line.starts_with('(')) {
            let draft = tap::of_bats(without_time(name), &block);
            found.push(draft.headed(name));
        }
    }
}
