//! Python unittest.

use super::{FailureCollector, FormatInput, LineIndex, RawFailure, python_place, until};

const TOOL: &str = "unittest";

/// Reads the blocks between the double lines.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    // The stream that counts the tests lists their failures; similar text on the other one is output of a test.
    let is_count = |line: &str| line.starts_with("Ran ") && line.contains(" test");
    let counts = |lines: LineIndex<'_>| lines.starting(b"R").any(|(_, line)| is_count(line));
    if !counts(input.own) && counts(input.beside) {
        return;
    }
    let is_rule = |line: &str, of: char| line.len() >= 60 && line.chars().all(|c| c == of);
    // testtools prints the first rule at the end of its line of dots.
    let begun = input.starting(b"T").filter(|(_, line)| line.starts_with("Tests running..."));
    let dotted = begun.filter_map(|(at, _)| {
        let dots = until(lines, at + 1, |line| line.ends_with("===="));
        let line = lines.get(at + 1 + dots.len())?.trim_start_matches(['.', 'E', 'F', 's', 'x', 'u']);
        Some((at + 1 + dots.len(), line))
    });
    let ruled = input.starting(b"=").filter(|(_, line)| line.starts_with("===="));
    let mut rules: Vec<(usize, &str)> = dotted.chain(ruled).filter(|(_, line)| is_rule(line, '=')).collect();
    rules.sort_unstable();
    rules.dedup_by_key(|(at, _)| *at);
    for (at, _) in rules {
        if at + 1 >= lines.len() {
            continue;
        }
        // Unexpected passes are listed one below the other, without a block.
        let head = lines[at + 1];
        if head.starts_with(PASSED) {
            for head in until(lines, at + 1, |line| is_rule(line, '-')) {
                if let Some(title) = head.strip_prefix(PASSED) {
                    push_unexpected(title, head, collector);
                }
            }
        }
        let Some(title) = ["ERROR: ", "FAIL: "].iter().find_map(|mark| head.strip_prefix(mark)) else {
            continue;
        };
        // A description of the test may be below its name, before the rule.
        let body = at + 2 + until(lines, at + 2, |line| is_rule(line, '-')).len() + 1;
        collector.add_printed(until(lines, body, |line| is_rule(line, '=') || is_rule(line, '-')));
        let ends = |line: &str| is_rule(line, '=') || is_rule(line, '-') || line.starts_with("Stdout:");
        let block = until(lines, body, ends);
        // Each failed example is reported separately below.
        if block.iter().any(|line| line.starts_with("AssertionError: Failed doctest test for ")) {
            continue;
        }
        let (name, stage) = name(title);
        // nose2 does not name the class of a fixture.
        let name = if name == "_ErrorHolder" { fixture(block).unwrap_or(name) } else { name };
        let draft = RawFailure::test(TOOL, &name, block);
        let stage = stage.or_else(|| stage_of(block));
        let kind = stage.map_or_else(|| draft.kind.clone(), |stage| format!("{stage} {}", draft.kind));
        collector.push(draft.kind(&kind).with_heading(head));
    }
    read_unexpected(input, collector);
}

/// The beginning of the line of an unexpected pass.
const PASSED: &str = "UNEXPECTED SUCCESS: ";
const UNEXPECTED: &str = "unexpected success";

fn push_unexpected(title: &str, line: &str, collector: &mut FailureCollector<'_>) {
    let (name, stage) = name(title);
    let draft = RawFailure::test(TOOL, &name, &[]).with_line(line);
    let kind = stage.map_or_else(|| UNEXPECTED.to_owned(), |stage| format!("{stage} {UNEXPECTED}"));
    collector.push(draft.kind(&kind).with_heading(line));
}

/// Before Python 3.12, an unexpected pass has only the line of its test.
fn read_unexpected(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    if !input.marked().any(|(_, line)| line.contains("unexpected successes=")) {
        return;
    }
    for (_, line) in input.with(" ... unexpected success") {
        if let Some(title) = line.strip_suffix(" ... unexpected success") {
            collector.push(
                RawFailure::test(TOOL, &name(title).0, &[]).kind(UNEXPECTED).message(line).with_line(line),
            );
        }
    }
    let counted = |line: &str| line.starts_with("FAILED (unexpected successes=");
    if let Some((_, line)) = input.marked().find(|(_, line)| counted(line)).filter(|_| collector.is_empty()) {
        collector.push(RawFailure::process(TOOL, UNEXPECTED, &[]).message(line));
    }
}

/// Builds the full name of `test_x (tests.test_a.ATest.test_x) (i=3)`; before 3.11 the brackets contain the class.
/// testtools prints the full name before them.
pub(super) fn name(title: &str) -> (String, Option<&'static str>) {
    let Some((method, rest)) = title.split_once(" (").filter(|(method, _)| !method.contains('.')) else {
        return (title.to_owned(), None);
    };
    let (path, params) = rest.split_once(')').unwrap_or((rest, ""));
    let stage = match method {
        "setUpClass" | "setUpModule" => Some("setup"),
        "tearDownClass" | "tearDownModule" => Some("teardown"),
        _ => None,
    };
    // A module that cannot be loaded is reported as a test of the loader.
    let is_full = path.ends_with(&format!(".{method}")) || stage.is_some();
    let full = if is_full { path.to_owned() } else { format!("{path}.{method}") };
    let full = full.trim_start_matches("unittest.loader._FailedTest.").to_owned();
    (format!("{full}{}", params.trim_end()), stage)
}

/// Returns the name of the fixture that a traceback begins in, with the name of its module.
fn fixture(block: &[&str]) -> Option<String> {
    let (file, _, function) = block.iter().find_map(|line| python_place(line.trim_start()))?;
    let module = file.rsplit('/').next()?.trim_end_matches(".py");
    Some(format!("{module}.{}", function.strip_prefix(", in ")?.trim()))
}

/// Returns the fixture in which a test failed, from the first frame of its traceback.
pub(super) fn stage_of(block: &[&str]) -> Option<&'static str> {
    let frame = block.iter().find(|line| line.trim_start().starts_with("File \""))?;
    match frame.rsplit(", in ").next()?.trim() {
        "setUp" | "asyncSetUp" | "setUpClass" | "setUpModule" => Some("setup"),
        "tearDown" | "asyncTearDown" | "tearDownClass" | "tearDownModule" => Some("teardown"),
        _ => None,
    }
}
