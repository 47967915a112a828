//! GoogleTest, and cmocka, which prints the same format.

use std::cell::LazyCell;
use std::collections::BTreeMap;

use super::{FailureCollector, FormatInput, RawFailure, scan, scan_back, until, without_time};

/// Reads the block between `[ RUN ]` and `[ FAILED ]` of each test; a test that never ended crashed the process.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let mut running: Option<(usize, &str)> = None;
    // Brief mode prints only failures, without a line where they begin; it ends where such a line occurs.
    let (mut since, mut none_up_to) = (0, 0);
    let last = LazyCell::new(|| ends(input));
    let tells_begins =
        input.starting(b"[").any(|(_, line)| line.starts_with("[----------] ") || is_begin(line));
    for (at, line) in input.starting(b"[") {
        if let Some(name) = line.strip_prefix("[ RUN      ] ").filter(|_| tells_begins) {
            running = Some((at, name.trim()));
        } else if let Some(name) = suite(line) {
            let block = around_tests(&lines[..at], name);
            collector.push(RawFailure::test("gtest", name, block).kind("setup").with_heading(line));
        } else if let Some(rest) = line.strip_prefix("[  FAILED  ] ") {
            let name = name(rest);
            let start = match running {
                Some((start, of)) if of == name => start + 1,
                // A test may print such a line itself; then there is no failure above it.
                None if lines[none_up_to.max(since)..at].iter().any(|line| line.ends_with(": Failure")) => {
                    since
                }
                None => {
                    none_up_to = at;
                    continue;
                }
                Some(_) => continue,
            };
            push(name, &lines[start..at], line, collector);
            running = None;
            since = at + 1;
        } else if let Some(name) =
            line.strip_prefix("[  ERROR   ] ").filter(|name| could_not_begin(lines, at, name))
        {
            let message = format!("{}\n{line}", lines[at - 1]);
            collector.push(RawFailure::test("gtest", name, &[]).kind("setup").message(&message));
            running = running.filter(|(_, of)| *of != name.trim());
        } else if let Some(rest) = line.strip_prefix("[       OK ] ").or(line.strip_prefix("[  SKIPPED ] ")) {
            // A test may print such a line itself.
            if running.is_some_and(|(_, name)| name == without_time(rest)) {
                running = None;
            }
            since = at + 1;
        } else if line.starts_with("[=====") || line.starts_with("[-----") {
            since = at + 1;
            // Another process begins: the running test started it, or did not end.
            let is_over = |name: &str| is_begin(line) && last.get(name).is_none_or(|end| *end < at);
            if let Some((start, name)) = running.take_if(|(_, name)| is_over(name)) {
                push_crash(name, &lines[start..], collector);
            }
        }
    }
    if let Some((at, name)) = running {
        push_crash(name, &lines[at..], collector);
    }
}

/// Adds a test that begins with the first of these lines and crashed the process.
fn push_crash(name: &str, lines: &[&str], collector: &mut FailureCollector<'_>) {
    let block = until(lines, 1, |line| line.starts_with("[=====") || line.starts_with("make"));
    let message = format!("{}\n{}", lines[0], block.join("\n"));
    collector.push(RawFailure::test("gtest", name, &[]).kind("crash").message(&message));
}

/// Checks whether a process begins with a line.
fn is_begin(line: &str) -> bool {
    line.starts_with("[==========] Running ")
}

/// Returns the last line in which each test ends.
fn ends<'a>(input: &FormatInput<'a>) -> BTreeMap<&'a str, usize> {
    const ENDS: [&str; 3] = ["[       OK ] ", "[  FAILED  ] ", "[  SKIPPED ] "];
    let ended = |line: &'a str| ENDS.iter().find_map(|end| line.strip_prefix(end)).map(name);
    input.starting(b"[").filter_map(|(at, line)| Some((ended(line)?, at))).collect()
}

/// Removes the parameters and the duration after the name of a test.
fn name(ended: &str) -> &str {
    without_time(ended.split(", where ").next().unwrap_or(ended))
}

/// Returns the suite that the list at the end names as failed without any of its tests.
fn suite(line: &str) -> Option<&str> {
    let (name, what) = line.strip_prefix("[  FAILED  ] ")?.split_once(": ")?;
    (what.starts_with("SetUpTest") && what.contains(" or TearDownTest")).then_some(name)
}

/// Returns the output before the first test of a suite if something failed there, else the output after the last test.
fn around_tests<'s, 'a>(lines: &'s [&'a str], suite: &str) -> &'s [&'a str] {
    let is_head = |line: &&str| {
        let named = line.strip_prefix("[----------] ").and_then(|rest| rest.split_once(" from "));
        named.is_some_and(|(_, rest)| rest.split([' ', ',']).next() == Some(suite))
    };
    let mut heads = scan(lines).enumerate().filter(|(_, line)| is_head(line)).map(|(at, _)| at);
    let (start, end) = (heads.next().unwrap_or(lines.len()), heads.next().unwrap_or(lines.len()));
    let is_own = |line: &str| line.starts_with('[');
    let before = until(lines, start + 1, is_own);
    let last = scan_back(&lines[..end]).position(|line| is_own(line)).map_or(end, |up| end - 1 - up);
    let fails = before.iter().any(|line| line.ends_with(": Failure"));
    if fails { before } else { until(lines, last + 1, is_own) }
}

/// Checks whether cmocka could not start a test, which the line above says.
fn could_not_begin(lines: &[&str], at: usize, name: &str) -> bool {
    !name.starts_with("--- ") && at > 0 && lines[at - 1].starts_with("Could not run ")
}

fn push(name: &str, block: &[&str], line: &str, collector: &mut FailureCollector<'_>) {
    // cmocka may print the reason on the other stream, without the name of the test.
    let elsewhere = block.iter().any(|line| line.starts_with("[  ERROR   ] "));
    let draft = RawFailure::test("gtest", name, if elsewhere { &[] } else { block });
    let told = if elsewhere { block.join("\n") } else { draft.message.clone() };
    collector.push(draft.message(&format!("{told}\n{line}")));
}
