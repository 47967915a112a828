//! Boost.Test: a place, the problem, and the quoted test name. The place of an exception is only the last checkpoint.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"^\**(?P<file>.+?)\((?P<line>\d+)\): (?:fatal )?error:? in "(?P<name>[^"]+)": (?P<what>.*)$"#,
    )
    .expect("well formed")
});
static CHECKPOINT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?P<file>.+?)\((?P<line>\d+)\): last checkpoint: ").expect("well formed"));

/// Reads the first failure of each test. If the output names the running test, only that test can fail.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let entered = input.with("): Entering test case \"");
    let cases: Vec<(usize, &str)> = entered
        .filter_map(|(at, line)| Some((at, line.split_once(" case \"")?.1.trim_end_matches('"'))))
        .collect();
    let mut told = BTreeSet::new();
    for (at, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let name = failed.name("name").map_or("", |name| name.as_str());
        let entered =
            cases.partition_point(|(case, _)| *case < at).checked_sub(1).map_or("", |last| cases[last].1);
        if !cases.is_empty() && !is_last_part(entered, name) {
            collector.add_printed(&lines[at..=at]);
            continue;
        }
        let context = until(lines, at + 1, |line| !line.starts_with("    ") && line != CONTEXT);
        let behind = at + 1 + context.len();
        let checkpoint = lines.get(behind).and_then(|line| CHECKPOINT.captures(line));
        collector.add_printed(&lines[at..behind + usize::from(checkpoint.is_some())]);
        if !told.insert(name) {
            continue;
        }
        let message = format!("{line}\n{}", context.join("\n"));
        let draft = RawFailure::test("boost-test", name, &[]).with_line(line).message(message.trim_end());
        let draft = with_reason(draft, &failed["what"]);
        let place = if &failed["file"] == NOWHERE { checkpoint.as_ref() } else { Some(&failed) };
        collector.push(match place {
            Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
            None => draft,
        });
    }
    for (at, _) in PASSES.iter().filter(|_| !told.is_empty()).flat_map(|passes| input.with(passes)) {
        collector.add_printed(&lines[at..=at]);
    }
}

/// Progress messages that follow a place.
const PASSES: [&str; 4] = ["): Entering test ", "): Leaving test ", "): Test case \"", "): Test suite \""];

/// The placeholder for the place of an exception.
const NOWHERE: &str = "unknown location";
/// The line above the context that a test printed for its failure.
const CONTEXT: &str = "Failure occurred in a following context:";

fn is_last_part(case: &str, name: &str) -> bool {
    name.strip_suffix(case).is_some_and(|outer| outer.is_empty() || outer.ends_with('/'))
}

/// Splits the message of an assertion, which is source text and then values, or the message of an exception.
fn with_reason(draft: RawFailure, what: &str) -> RawFailure {
    if let Some((stated, values)) = what.split_once(" has failed") {
        let draft = draft.kind("expectation").about(stated);
        return RawFailure { style: MaskingStyle::Diagnostic, values: values.to_owned(), ..draft };
    }
    let thrown = what.split_once(": ").filter(|(kind, _)| !kind.contains(' '));
    match thrown {
        Some((kind, said)) => RawFailure { style: MaskingStyle::Values, ..draft.kind(kind).about(said) },
        None => RawFailure { style: MaskingStyle::Diagnostic, ..draft.kind("expectation").about(what) },
    }
}
