//! zig test: `1/5 a.test.name...`, then the output of the test and its result.

use super::{FailureCollector, FormatInput, RawFailure, until};

/// Reads every test that failed, panicked or leaked.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.lines.iter().enumerate() {
        let Some((name, rest)) = test(line) else { continue };
        let below = until(input.lines, at + 1, |line| test(line).is_some() || ends(line));
        let block: Vec<&str> = std::iter::once(rest).chain(below.iter().copied()).collect();
        let Some(kind) = block.iter().find_map(|line| kind(line)) else { continue };
        collector.add_printed(below);
        let said: Vec<&str> = block.iter().copied().take_while(|line| !is_frame(line)).collect();
        let place = block.iter().find(|line| is_frame(line) && line.contains(" in test."));
        let mut place = place.map_or("", |line| line).split(':');
        let file = place.next().unwrap_or_default();
        // The message of an assertion precedes its end of the test, and perhaps the test's name.
        let about = said.iter().find(|line| line.contains(" panic: ")).and_then(|line| line.split_once(": "));
        let draft = RawFailure::test("zig", name, &said).kind(kind).about(about.map_or("", |(_, what)| what));
        collector.push(draft.at(file, place.next().and_then(|line| line.parse().ok())).with_heading(name));
    }
}

/// Splits the head of a test into its name and the rest.
fn test(line: &str) -> Option<(&str, &str)> {
    let (count, rest) = line.split_once(' ')?;
    let (number, all) = count.split_once('/')?;
    let are_numbers = [number, all].iter().all(|number| number.parse::<u32>().is_ok());
    rest.split_once("...").filter(|_| are_numbers)
}

fn ends(line: &str) -> bool {
    line.starts_with("error: the following ")
        || line.contains(" passed; ")
        || line.ends_with(" tests passed.")
}

fn kind(line: &str) -> Option<&str> {
    let failed = line.strip_prefix("FAIL (").and_then(|rest| rest.strip_suffix(')'));
    let panicked = || (line.starts_with("thread ") && line.contains(" panic: ")).then_some("panic");
    let leaked = || (line.contains("(err): ") && line.contains("leaked")).then_some("leak");
    failed.or_else(panicked).or_else(leaked)
}

/// Checks whether a line belongs to a stack: `a.zig:3:26: 0x1252d12 in f (a.zig)`.
fn is_frame(line: &str) -> bool {
    line.split_once(": 0x").is_some_and(|(_, frame)| frame.contains(" in "))
}
