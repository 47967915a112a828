//! cargo test: the output of libtest, and cargo's message about a test binary that died.

use std::cell::LazyCell;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;

use super::libtest_lines::{overflowed_thread, panicked_thread};
use super::{FailureCollector, FormatInput, LineIndex, RawFailure, nextest, scan_back, until};

const TOOL: &str = "cargo-test";

/// The beginning of the line that ends the list of failed tests of a binary.
const FAILED: &str = "test result: FAILED";

/// The beginning of cargo's message about the target that failed.
pub(super) const RERUN: [&str; 2] = ["error: test failed", "error: doctest failed"];

/// Reads the list of failures of each binary; the blocks before it say why.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let mut blocks: BTreeMap<&str, &[&str]> = BTreeMap::new();
    let (mut file, mut overflowed) = ("", None);
    let ends: Vec<usize> =
        input.marked().filter(|(_, line)| line.starts_with(FAILED)).map(|(at, _)| at).collect();
    let mut targets = targets(input, &ends).into_iter();
    // If nextest does not capture the output of a test, the test process prints a list itself.
    let of_nextest: LazyCell<BTreeSet<&str>, _> =
        LazyCell::new(|| [input.own, input.beside].into_iter().flat_map(nextest::failed_names).collect());
    let beside = LazyCell::new(|| panics(input.beside));
    for (at, line) in lines.iter().enumerate() {
        match input.firsts[at] {
            b'-' => {
                let name = line.strip_prefix("---- ").and_then(|name| name.strip_suffix(" ----"));
                if let Some(name) = name.and_then(|name| name.rsplit_once(" std")).map(|(name, _)| name) {
                    let block = until(lines, at + 1, |line| line.starts_with("---- ") || line == "failures:");
                    collector.add_printed(block);
                    blocks.entry(name).or_insert(block);
                }
            }
            b't' => {
                overflowed = overflowed_thread(line).or(overflowed);
                // Output that was not captured is between the lines of the tests.
                if let Some(name) = panicked_thread(line) {
                    blocks.entry(name).or_insert(panic(lines, at));
                }
                if line.starts_with(FAILED) {
                    let target = targets.next().unwrap_or_default();
                    let listed = failures_in_list(&lines[..at], &blocks, &beside);
                    if target.is_empty() && matches!(listed[..], [(name, _)] if of_nextest.contains(name)) {
                        continue;
                    }
                    for (name, block) in listed {
                        // The line of a doc test is not part of the name, because it moves.
                        let name = name.split(" (line ").next().unwrap_or(name);
                        // A thread of the test, or code whose panic the test caught, may have panicked before.
                        let own = block
                            .iter()
                            .rposition(|line| panicked_thread(line) == Some(name))
                            .unwrap_or_default();
                        collector.push(RawFailure::test(TOOL, name, &block[own..]).with_test_file(target));
                    }
                    blocks.clear();
                } else if line.starts_with("test result: ") {
                    blocks.clear();
                }
            }
            b' ' if matches!(input.begins[at], b'R' | b'p') => {
                let trimmed = line.trim_ascii_start();
                if let Some(running) = trimmed.strip_prefix("Running ") {
                    overflowed = None;
                    file = running.trim_start_matches("unittests ").split(" (").next().unwrap_or_default();
                } else if trimmed.starts_with("process didn't exit successfully: ") {
                    match overflowed.take() {
                        Some((name, line)) => {
                            collector.push(
                                RawFailure::test(TOOL, name, &[line]).kind("stack overflow").at(file, None),
                            );
                        }
                        None => push_death(trimmed, file, collector),
                    }
                }
            }
            b'e' if RERUN.iter().any(|begin| line.starts_with(begin)) => collector.set_tool(TOOL),
            _ => {}
        }
    }
}

/// Returns the lines of a panic.
fn panic<'s, 'a>(lines: &'s [&'a str], at: usize) -> &'s [&'a str] {
    until(lines, at, |line| {
        line.is_empty() || line.starts_with("test ") || line.starts_with("note: run with")
    })
}

/// Returns the panics of a stream, by thread. Without capture they are on standard error, unlike the names.
fn panics(own: LineIndex<'_>) -> BTreeMap<&str, &[&str]> {
    let mut found = BTreeMap::new();
    for (at, line) in own.starting(b"t") {
        if let Some(name) = panicked_thread(line) {
            found.entry(name).or_insert(panic(own.lines, at));
        }
    }
    found
}

/// Returns the target of each list of failed tests, as cargo's rerun command names it: `-p app --lib`, `--test it`.
///
/// `ends` are the ends of the lists. The target follows or is on the other stream, and is empty if unknown.
pub(super) fn targets<'a>(input: &FormatInput<'a>, ends: &[usize]) -> Vec<&'a str> {
    let own = failed_targets(input.own, false);
    if own.is_empty() && !ends.is_empty() {
        // Across two streams, only the order shows which parts belong together.
        let told = [false, true].map(|may_be_glued| failed_targets(input.beside, may_be_glued));
        let told = told.into_iter().find(|told| told.len() == ends.len()).unwrap_or_default();
        return told.into_iter().map(|(_, target)| target).collect();
    }
    let behind = |(nth, end): (usize, &usize)| {
        let next = ends.get(nth + 1).copied().unwrap_or(usize::MAX);
        let told = own.get(own.partition_point(|(at, _)| at < end));
        told.filter(|(at, _)| *at < next).map_or("", |(_, target)| *target)
    };
    ends.iter().enumerate().map(behind).collect()
}

/// Returns the targets with failed tests, and the lines that name them; a binary that died left no list. A test's
/// output without a line feed may precede the name.
fn failed_targets(own: LineIndex<'_>, may_be_glued: bool) -> Vec<(usize, &str)> {
    /// Maximum distance of a cause, in lines.
    const CAUSE: usize = 4;
    let begins = |at: &usize| may_be_glued || own.firsts[*at] == b'e';
    let quoted = (0..own.lines.len()).filter(begins).map(|at| (at, own.lines[at]));
    let failed = quoted.filter(|(_, line)| line.ends_with(['`', '\''])).filter_map(|(at, line)| {
        let (said, target) = line.rsplit_once(", to rerun pass ")?;
        if !RERUN.iter().any(|begin| said == *begin || may_be_glued && said.ends_with(begin)) {
            return None;
        }
        let cause = own.lines[at + 1..].iter().take(CAUSE).take_while(|line| !line.starts_with("error: "));
        let died = cause.map(|line| line.trim_start()).any(|line| line.starts_with("process didn't exit"));
        (!died).then(|| (at, target.trim_matches(['`', '\''])))
    });
    failed.collect()
}

/// Returns the names in the list that ends here, with their blocks, in the order of the blocks: the list is sorted.
fn failures_in_list<'a, 'b>(
    lines: &'b [&'a str],
    blocks: &BTreeMap<&str, &'b [&'a str]>,
    beside: &BTreeMap<&str, &'b [&'a str]>,
) -> Vec<(&'a str, &'b [&'a str])> {
    let names = scan_back(lines).skip_while(|line| line.is_empty());
    let names = names.map_while(|line| line.strip_prefix("    ")).map(str::trim_end);
    let block = |name: &str| {
        let own = blocks.get(name).map(|block| (0, *block));
        own.or_else(|| beside.get(name).map(|block| (1, *block))).unwrap_or((2, &[][..]))
    };
    let mut named: Vec<_> = names.map(|name| (name, block(name))).collect();
    named.reverse();
    // All blocks of a stream are parts of one list of lines, so their addresses are their order.
    named.sort_by_key(|(_, (stream, block))| {
        (*stream, if block.is_empty() { 0 } else { block.as_ptr().addr() })
    });
    named.into_iter().map(|(name, (_, block))| (name, block)).collect()
}

/// Adds a binary that a signal ended, or that exited with an unusual code, if the test is unknown.
fn push_death(line: &str, file: &str, collector: &mut FailureCollector<'_>) {
    static DEATH: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"`(?P<program>[^`\s]*?)(?:-[0-9a-f]{16})?(?:\.exe)?(?: [^`]*)?` \((?:signal: \d+, (?P<signal>\w+).*|exit (?:status|code): (?P<code>\S+))\)").expect("well formed")
    });
    let Some(death) = DEATH.captures(line) else { return };
    let program = death["program"].rsplit(['/', '\\']).next().unwrap_or_default();
    // Deaths of the build script and the compiler are the compiler's errors; 101 means a list of failed tests.
    if matches!(program, "rustc" | "build-script-build" | "clippy-driver")
        || death.name("code").is_some_and(|code| code.as_str() == "101")
    {
        return;
    }
    let kind = death
        .name("signal")
        .map_or_else(|| format!("exit {}", &death["code"]), |signal| signal.as_str().to_owned());
    let draft = RawFailure::process(TOOL, &kind, &[]).about(program).message(line);
    collector.push(draft.at(file, None).about(program));
}
