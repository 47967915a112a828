//! bats on a terminal: `✗ name` and the place below, indented.

use super::{FailureCollector, FormatInput, tap, until, without_time};

/// Reads every test that failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_timed = is_timed(input.lines);
    for (at, line) in input.marked() {
        let Some(name) = line.strip_prefix(" ✗ ") else { continue };
        let name = name.rsplit_once(" [").filter(|_| is_timed).map_or(name, |(name, _)| name);
        let block = until(input.lines, at + 1, |line| !line.starts_with("   "));
        let block: Vec<&str> = block.iter().map(|line| line.trim_start()).collect();
        if block.first().is_some_and(|line| line.starts_with('(')) {
            let draft = tap::of_bats(without_time(name), &block);
            collector.push(draft.with_heading(name));
        }
    }
}

/// Checks whether each test has a duration in milliseconds after its name: `✓ accepts a plan [12]`, with `--timing`.
fn is_timed(lines: &[&str]) -> bool {
    let mut ended = lines.iter().filter(|line| line.starts_with(" ✗ ") || line.starts_with(" ✓ ")).peekable();
    let time =
        |line: &str| line.strip_suffix(']').and_then(|line| line.rsplit_once(" [")?.1.parse::<u32>().ok());
    ended.peek().is_some() && ended.all(|line| time(line.trim_end()).is_some())
}
