//! CTest.

use std::cell::LazyCell;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::super::parts::FailureMessage;
use super::{FailureCollector, FormatInput, RawFailure, is_decimal, is_number, until};

static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+\d+ - (?P<name>\S.*) \((?P<status>[^()]+)\)(?:\s.*)?$").expect("well formed")
});

/// Returns the name of a test and its result: ` 3/12 Test  #3: adds .....***Failed    0.01 sec`.
fn result(line: &str) -> Option<(&str, &str)> {
    let told = line.trim_start().trim_start_matches(|c: char| c.is_ascii_digit() || c == '/').trim_start();
    let (number, told) = told.strip_prefix("Test ")?.trim_start().strip_prefix('#')?.split_once(": ")?;
    let (name, told) = told.split_once(" ..")?;
    let told = told.trim_start_matches('.');
    // The pattern that a test searched for may precede the time.
    let mut ends =
        told.match_indices(" sec").filter_map(|(at, _)| told[..at].rsplit_once(char::is_whitespace));
    let (status, _) = ends.find(|(_, time)| is_decimal(time)).filter(|_| is_number(number))?;
    Some((name, status.trim()))
}

/// Reads the list at the end; the output of each test is below its result.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let begins = |line: &str| line.starts_with("Test project ");
    let ends = |line: &str| line.starts_with("Total Test time ");
    for run in input.own.runs(b"T", begins, ends) {
        read_run(input, run, collector);
    }
}

fn read_run(input: &FormatInput<'_>, run: Range<usize>, collector: &mut FailureCollector<'_>) {
    let lines = &input.lines[..run.end];
    let list = input
        .own
        .part(run.clone())
        .starting(b"T")
        .rfind(|(_, line)| line.starts_with("The following tests FAILED:"));
    let Some(list) = list.map(|(at, _)| run.start + at) else { return };
    let mut results: BTreeMap<&str, (&str, &[&str])> = BTreeMap::new();
    for (at, line) in input.marked_within(run.start..list) {
        let failed = result(line).filter(|(_, status)| status.contains("***") || status.contains("Failed"));
        let Some((name, _)) = failed else { continue };
        let block = until(lines, at + 1, |line| {
            result(line).is_some()
                || line.trim_start().starts_with("Start ")
                || line.starts_with("test ")
                || line.contains("% tests passed")
        });
        // A single test of another runner, which CTest started only for it.
        if block.iter().any(|line| line.ends_with("Running 1 test from 1 test suite.")) {
            collector.add_printed(block);
        }
        results.insert(name, (line, block));
    }
    let missing = LazyCell::new(|| {
        let mut said = input.own.part(run.start..list).starting(b"C").map(|(_, line)| line);
        said.find(|line| line.starts_with("Could not find executable")).unwrap_or_default()
    });
    for listed in lines[list + 1..].iter().map_while(|line| LISTED.captures(line)) {
        let (name, status) = (&listed["name"], &listed["status"]);
        let (line, block) = results.get(name).copied().unwrap_or((&listed[0], &[]));
        let draft = draft(name, status, block);
        let shown = if status == "Not Run" { *missing } else { "" };
        let message = format!("{}\n{shown}\n{}\n{}", line.trim(), draft.message, listed[0].trim());
        collector.push(draft.message(&message));
    }
}

/// Begins the failure of a test with this result and output.
pub(super) fn draft(name: &str, status: &str, block: &[&str]) -> RawFailure {
    let draft = RawFailure::test("ctest", name, block);
    // A failed assertion in the output says more than the exit of the process; other output is noise.
    let asserted = !FailureMessage::parse(block).kind.is_empty();
    if asserted {
        return draft;
    }
    RawFailure { about: String::new(), values: String::new(), ..draft }.kind(status)
}
