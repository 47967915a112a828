//! ScalaTest, also in sbt: `- does this *** FAILED ***` below suite and scope, and the message below, more indented.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, indentation, until};

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\((?P<file>[\w.$/-]+\.scala):(?P<line>\d+)\)$").expect("well formed"));

/// Reads every test that is marked, and every suite that was aborted.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    // With sbt, a line without its mark was printed by a test.
    let is_sbt = input.marked().any(|(_, line)| line.starts_with("[info] "));
    let own = input.marked().filter(|(_, line)| !is_sbt || bare(line).len() < line.len());
    let marked: BTreeSet<usize> = own.map(|(at, _)| at).collect();
    let lines: Vec<&str> = input.lines.iter().map(|line| bare(line)).collect();
    let (mut suite, mut scopes) = ("", Vec::<&str>::new());
    for (at, line) in lines.iter().enumerate() {
        // The names of suites and scopes are above their tests.
        if let Some(name) = line.strip_suffix(':').filter(|name| is_suite(name)) {
            (suite, scopes) = (name, Vec::new());
        } else if is_scope(&lines, at, line.len() < input.lines[at].len()) {
            scopes.retain(|scope| indentation(scope) < indentation(line));
            scopes.push(line);
        }
        if !marked.contains(&at) {
            continue;
        }
        let depth = indentation(line);
        let within = scopes.iter().filter(|scope| indentation(scope) <= depth).map(|scope| scope.trim());
        if let Some(name) = failed_name(line) {
            let names: Vec<&str> = [suite].into_iter().chain(within).chain([name]).collect();
            collector.push(test(names.join(" ").trim(), &lines[at + 1..], depth));
        } else if let Some((before, _)) = line.split_once(" *** ABORTED ***") {
            let name = before.rsplit(": ").next().unwrap_or(before);
            collector.push(test(name, &lines[at + 1..], depth));
        }
    }
}

/// Removes the prefix of sbt from a line.
fn bare(line: &str) -> &str {
    ["[info] ", "[error] "].iter().find_map(|head| line.strip_prefix(head)).unwrap_or(line)
}

/// Checks whether this is the name of a class.
fn is_suite(name: &str) -> bool {
    name.starts_with(char::is_alphabetic) && name.chars().all(|c| c.is_alphanumeric() || "_.$".contains(c))
}

/// Checks whether a line is the scope of the tests below it, which have the same indentation. Without the mark of sbt,
/// a test may have printed it, unless it is more indented than the suite.
fn is_scope(lines: &[&str], at: usize, is_marked: bool) -> bool {
    let depth = indentation(lines[at]);
    let is_test = |line: &str| line.trim_start().starts_with("- ");
    let below = lines.get(at + 1).is_some_and(|below| is_test(below) && indentation(below) == depth);
    below && !lines[at].trim().is_empty() && !is_test(lines[at]) && (is_marked || depth > 0)
}

fn failed_name(line: &str) -> Option<&str> {
    let (name, time) = line.trim_start().strip_prefix("- ")?.split_once(" *** FAILED ***")?;
    (time.is_empty() || time.starts_with(" (")).then_some(name)
}

/// Creates a failure from the more indented lines below a test.
fn test(name: &str, below: &[&str], depth: usize) -> RawFailure {
    let block = until(below, 0, |line| indentation(line) < depth + 2 || line.trim_start().starts_with("- "));
    let place = block.iter().find_map(|line| PLACE.captures(line));
    let draft = RawFailure::test("scalatest", name, block);
    match place {
        Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
        None => draft,
    }
}
