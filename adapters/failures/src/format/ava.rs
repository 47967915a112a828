//! ava.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

const TOOL: &str = "ava";

/// Reads the blocks after the line `─` of each run, for the tests that the list before it marks.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // The rule and the marks begin with the same byte.
    let drawn: Vec<(usize, &str)> = input.beginning(&[DRAWN]).collect();
    let rules = drawn.iter().filter(|(_, line)| line.trim_ascii() == RULE);
    let rules: Vec<usize> = rules.map(|(at, _)| *at).collect();
    let within = |from: usize, to: usize| {
        let at = |of: usize| drawn.partition_point(|(at, _)| *at < of);
        &drawn[at(from)..at(to)]
    };
    let (mut start, mut next) = (0, 0);
    while let Some(&rule) = rules.get(next) {
        let end = rules.get(next + 1).copied();
        let below = rule + 1..end.unwrap_or(input.lines.len());
        // If the list continues below this line, a test printed the line.
        if end.is_some() && within(below.start, below.end).iter().any(|(_, line)| is_listed(line)) {
            next += 1;
            continue;
        }
        read_run(input, start..rule, within(start, rule), &input.lines[below.clone()], collector);
        start = below.end + 1;
        next += 2;
    }
}

/// Reads the list of one run, in which failed tests have a mark, and the blocks below it.
fn read_run(
    input: &FormatInput<'_>,
    list: Range<usize>,
    drawn: &[(usize, &str)],
    lines: &[&str],
    collector: &mut FailureCollector<'_>,
) {
    static SOURCE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*\d+:(?: |$)").expect("well formed"));
    let marked: BTreeSet<&str> = drawn.iter().filter_map(|(_, line)| failed_name(line)).collect();
    let mut at = 0;
    while at < lines.len() {
        let Some(name) = title(lines[at], &marked) else {
            at += 1;
            continue;
        };
        let len = lines[at + 1..].iter().position(|line| title(line, &marked).is_some());
        let end = at + 1 + len.unwrap_or(lines.len() - at - 1);
        // The place comes first, with some source around it, cut at the width of the terminal.
        let place = lines[at + 1..end].iter().map(|line| line.trim()).find(|line| !line.is_empty());
        let place = place.filter(|line| !line.contains(' ')).and_then(|line| line.rsplit_once(':'));
        let is_place =
            |line: &str| place.is_some_and(|(file, number)| line.trim() == format!("{file}:{number}"));
        let block: Vec<&str> = lines[at + 1..end]
            .iter()
            .copied()
            .filter(|line| !SOURCE.is_match(line) && !is_place(line))
            .map(|line| line.strip_prefix("  ").unwrap_or(line))
            .collect();
        let draft = RawFailure::test(TOOL, name, &block);
        let draft = place.map_or(draft.clone(), |(file, number)| draft.at(file, number.parse().ok()));
        collector.push(draft.with_heading(name));
        at = end;
    }
    let mut told = read_uncaught(input, list.clone(), collector);
    files(drawn, &mut told, collector);
    for (_, line) in input.marked_within(list).filter(|(_, line)| line.contains(" uncaught exception")) {
        collector.push(RawFailure::process(TOOL, "uncaught", &[line]));
    }
}

/// Checks whether a line belongs to the list of tests: `  ✔ name`, `  ✘ [fail]: name`.
fn is_listed(line: &str) -> bool {
    line.strip_prefix("  ").is_some_and(|line| line.starts_with("✔ ") || failed_name(line).is_some())
}

/// Reads the failures of entire files: the process ended before its tests did, or the file contains no tests. `told`
/// contains the files that already have a reason.
fn files(drawn: &[(usize, &str)], told: &mut BTreeSet<String>, collector: &mut FailureCollector<'_>) {
    static SAID: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^  [✘✖] (?:Exiting due to (?P<call>process\.exit)\(\) when running (?P<file1>.+)|(?P<file2>.+) exited (?:with a non-zero (?P<code>exit code: \d+)|due to (?P<signal>SIG\w+))|(?P<none>No tests found) in (?P<file3>.+?)(?:, make sure .*)?)$").expect("well formed")
    });
    let marked = drawn.iter().map(|(_, line)| *line).filter(|line| is_marked(line));
    for (line, said) in marked.filter_map(|line| Some((line, SAID.captures(line)?))) {
        let text =
            |names: &[&str]| names.iter().find_map(|name| said.name(name)).map_or("", |group| group.as_str());
        let file = text(&["file1", "file2", "file3"]);
        if told.insert(file.to_owned()) {
            let kind = text(&["call", "code", "signal", "none"]).replace(':', "").to_lowercase();
            collector.push(
                RawFailure::process(TOOL, &kind, &[]).at(file, None).message(line.trim()).with_line(line),
            );
        }
    }
}

/// Reads uncaught errors with the file of each, usually a file that cannot be loaded. Returns the files.
fn read_uncaught(
    input: &FormatInput<'_>,
    list: Range<usize>,
    collector: &mut FailureCollector<'_>,
) -> BTreeSet<String> {
    let lines = &input.lines[..list.end];
    let mut files = BTreeSet::new();
    let file = |line: &str| {
        let line = line.strip_prefix("  ")?;
        ["Uncaught exception in ", "Unhandled rejection in "]
            .iter()
            .find_map(|head| Some(line.strip_prefix(head)?.to_owned()))
    };
    for (at, line) in input.marked_within(list) {
        let Some(file) = file(line) else { continue };
        let block = until(lines, at + 1, is_marked);
        let source = |line: &&str| {
            line.trim_start().split_once(':').is_some_and(|(number, _)| number.parse::<u32>().is_ok())
        };
        let place = format!("{file}:");
        let said = |line: &str| !line.is_empty() && !line.starts_with(&place) && !line.starts_with('›');
        let block: Vec<&str> = block
            .iter()
            .copied()
            .filter(|line| !source(line))
            .map(str::trim)
            .filter(|line| said(line))
            .collect();
        collector.push(RawFailure::process(TOOL, "uncaught", &block).at(&file, None));
        files.insert(file);
    }
    files
}

/// The mark of a failed test. The kind of failure follows it in brackets: `[fail]`, `[unexpected pass]`.
const MARKS: [&str; 2] = ["✘ ", "✖ "];

/// The rule above and below the blocks.
const RULE: &str = "─";

/// The first byte of these marks and rules.
const DRAWN: u8 = RULE.as_bytes()[0];

fn is_marked(line: &str) -> bool {
    MARKS.iter().any(|mark| line.trim_start().starts_with(mark))
}

/// Returns the name after the mark of a failed test.
fn failed_name(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let (_, name) =
        MARKS.iter().find_map(|mark| line.strip_prefix(mark)?.strip_prefix('['))?.split_once("]: ")?;
    Some(name)
}

/// Returns the name in a line that is the title of a marked test; in the mark, a short reason may follow the name.
fn title<'a>(line: &'a str, marked: &BTreeSet<&str>) -> Option<&'a str> {
    let name = line.strip_prefix("  ").filter(|name| !name.starts_with(' ') && !name.is_empty())?;
    let next = marked.range(name..).next()?;
    next.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(' ')).then_some(name)
}
