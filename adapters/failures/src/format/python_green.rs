//! green and zope.testrunner, runners of Python's unittest: `Failure in NAME`, and a traceback below.

use super::{FailureCollector, FormatInput, RawFailure, unittest, until};

/// Reads the block below each such line, and the failed setup of a zope.testrunner layer.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    for (at, line) in input.marked() {
        let (tool, name, told) = if let Some(name) = of_green(line) {
            if !lines.get(at + 1).is_some_and(|line| line.starts_with(FRAME)) {
                continue;
            }
            let ends = |line: &str| {
                of_green(line).is_some() || line.starts_with("Captured std") || line.starts_with("Ran ")
            };
            ("green", name.to_owned(), until(lines, at + 1, ends))
        } else if let Some(title) = of_zope(line) {
            // The output of a test follows other output directly; a failure follows an empty line.
            let is_apart = at.checked_sub(1).is_none_or(|above| lines[above].trim().is_empty());
            if !is_apart || lines.get(at + 1) != Some(&TRACEBACK) {
                continue;
            }
            (ZOPE, unittest::name(title).0, block_of_zope(lines, at + 2))
        } else if let Some((layer, TRACEBACK)) =
            line.strip_prefix("  Set up ").and_then(|told| told.split_once(' '))
        {
            (ZOPE, layer.to_owned(), block_of_zope(lines, at + 1))
        } else {
            continue;
        };
        collector.add_printed(told);
        let stage = unittest::stage_of(&told.iter().copied().filter(|_| tool == ZOPE).collect::<Vec<_>>());
        let block: Vec<&str> = [TRACEBACK].iter().chain(told).copied().collect();
        let draft = RawFailure::test(tool, &name, &block);
        let kind = stage.map_or_else(|| draft.kind.clone(), |stage| format!("{stage} {}", draft.kind));
        collector.push(draft.kind(&kind).with_heading(line));
    }
}

const ZOPE: &str = "zope.testrunner";
const FRAME: &str = "  File \"";
const TRACEBACK: &str = "Traceback (most recent call last):";

fn of_either(line: &str) -> Option<&str> {
    line.strip_prefix("Failure in ").or_else(|| line.strip_prefix("Error in "))
}

fn of_green(line: &str) -> Option<&str> {
    of_either(line).filter(|name| !name.is_empty() && !name.contains(' '))
}

fn of_zope(line: &str) -> Option<&str> {
    of_either(line)?.strip_prefix("test ")
}

/// Returns the lines up to two empty lines, the next failure or the count.
fn block_of_zope<'s, 'a>(lines: &'s [&'a str], start: usize) -> &'s [&'a str] {
    let mut is_below_blank = false;
    let ends = |line: &&str| {
        let two = line.is_empty() && is_below_blank;
        is_below_blank = line.is_empty();
        two || of_zope(line).is_some() || line.starts_with("  Ran ") || line.starts_with("Total: ")
    };
    let rest = &lines[start.min(lines.len())..];
    &rest[..rest.iter().position(ends).unwrap_or(rest.len())]
}
