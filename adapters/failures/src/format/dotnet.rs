//! dotnet test: `Failed Name [12 ms]` and the message below.

use super::{FailureCollector, FormatInput, RawFailure, until, without_time};

/// Reads every test that failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
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
        let class = class(&lines[at + 1..], name).unwrap_or_default();
        let draft = RawFailure::test("dotnet", name, &told).with_test_file(class);
        collector.push(draft.with_heading(name));
    }
}

/// Returns the class of a test for which MSTest and NUnit print only the method; the stack names the class.
fn class<'a>(below: &[&'a str], name: &str) -> Option<&'a str> {
    let method =
        name.split(['(', ' ']).next().filter(|method| !method.contains('.') && !method.is_empty())?;
    let own = until(below, 0, |line| line.starts_with("  Failed ") || line.starts_with("  Passed "));
    own.iter().find_map(|line| {
        let (called, _) = line.trim_start().strip_prefix("at ")?.split_once('(')?;
        called.strip_suffix(method)?.strip_suffix('.')
    })
}
