//! Robot Framework: `Adds One   | FAIL |`, and the message below; dotted, `FAIL: Suite.Adds One`.

use super::{FailureCollector, FormatInput, RawFailure, scan_back, until};

const FAILED: &str = "| FAIL |";

/// Reads the failed tests; a suite has its numbers below.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let suites = suites(input);
    for (at, line) in input.marked() {
        let Some(name) = line.trim_end().strip_suffix(FAILED).and_then(|head| name(head, &lines[..at]))
        else {
            continue;
        };
        let block = until(lines, at + 1, is_rule);
        let end = lines.get(at + 1 + block.len());
        // A test may print these words; the tool's own line is as wide as its rules.
        let is_set = line.trim_end() == FAILED || end.is_some_and(|rule| is_as_wide(line, rule));
        // If a test prints something, its result is on a separate line after that.
        let has_passed = block.last().is_some_and(|line| line.trim() == "| PASS |");
        if is_set && !has_passed && !block.iter().any(|line| is_sum(line)) {
            let above = suites.partition_point(|(begin, _)| *begin < at);
            let suite = above.checked_sub(1).map_or("", |suite| suites[suite].1);
            collector.push(RawFailure::test("robot", name, block).with_test_file(suite).with_heading(name));
        }
    }
    let is_dotted = input.starting(b"R").any(|(_, line)| line.starts_with("Running suite '"));
    for (at, line) in input.starting(b"F").filter(|_| is_dotted) {
        let Some(name) = line.strip_prefix("FAIL: ").filter(|_| at > 0 && is_rule(lines[at - 1])) else {
            continue;
        };
        let block = until(lines, at + 1, is_rule);
        let name = without_suites(name.trim());
        collector.push(RawFailure::test("robot", name, block).with_heading(name));
    }
}

/// Returns the start and the name of each suite that contains tests; empty for a single suite, which adds nothing.
fn suites<'a>(input: &FormatInput<'a>) -> Vec<(usize, &'a str)> {
    let lines = input.lines;
    let is_double = |at: usize| lines.get(at).is_some_and(|line| line.starts_with("===="));
    let rules = input.starting(b"=").map(|(at, _)| at);
    // The name of a suite is between two rules. The first suite within another follows its rules directly.
    let heads = rules.filter(|at| is_double(*at) && is_double(at + 2) && !is_double(at + 4));
    let named = heads.map(|at| (at, lines[at + 1].split(" :: ").next().unwrap_or_default().trim()));
    let found: Vec<_> = named.filter(|(_, name)| !name.is_empty() && !name.ends_with(" |")).collect();
    if found.len() > 1 { found } else { Vec::new() }
}

/// Returns the name of a test from the text before its status. If the test printed something, the name is above that.
fn name<'a>(head: &'a str, above: &[&'a str]) -> Option<&'a str> {
    let head = if head.is_empty() {
        let below = scan_back(above).position(|line| is_rule(line))?;
        above.get(above.len() - below)?
    } else {
        head
    };
    let name = head.split(" :: ").next().unwrap_or(head).trim();
    (!name.is_empty()).then_some(name)
}

/// Returns a test name without suites: `Suite.Sub Suite.Adds One`. A dot before a space or digit is not a separator.
fn without_suites(name: &str) -> &str {
    let mut dots = name.match_indices('.').rev().map(|(at, _)| &name[at + 1..]);
    let begins =
        |rest: &&str| rest.starts_with(|c: char| !c.is_whitespace() && !c.is_ascii_digit() && c != '.');
    dots.find(begins).unwrap_or(name)
}

fn is_rule(line: &str) -> bool {
    line.starts_with("----") || line.starts_with("====")
}

/// Checks whether a line ends in the column of a rule; some characters are two columns wide.
fn is_as_wide(line: &str, rule: &str) -> bool {
    let [least, wide] = [line, rule].map(|line| line.trim_end().chars().count());
    let two = line.chars().filter(|c| !c.is_ascii()).count();
    (least..=least + two).contains(&wide)
}

fn is_sum(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_digit()) && line.contains(" passed, ") && line.contains(" failed")
}
