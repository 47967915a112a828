//! minitest and test-unit.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, exception, numbered_items, until};

const TOOL: &str = "minitest";

/// Reads the numbered list. An item begins with `Failure:` or `Error:`, to which test-unit adds the test. minitest
/// prints its list after the total time; a list above that line was printed by a test.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (begins, ends) = (|line: &str| line.starts_with("Run options: "), is_finished);
    for run in input.own.runs(b"RF", begins, ends) {
        let counted = input.marked_within(run.clone()).rfind(|(_, line)| counts(line));
        if let Some((end, _)) = counted {
            read_run(&input.lines[run.start..end], collector);
        }
    }
}

fn counts(line: &str) -> bool {
    line.contains(" assertions, ") && (line.contains(" runs, ") || line.contains(" tests, "))
}

fn is_finished(line: &str) -> bool {
    line.starts_with("Finished in ")
}

fn read_run(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let before = collector.len();
    let finished = lines.iter().rposition(|line| is_finished(line)).unwrap_or_default();
    for start in [finished, 0] {
        if collector.len() == before {
            list(lines, start, collector);
        }
    }
    if collector.len() == before {
        inline(lines, collector);
        test_unit(lines, collector);
    }
}

fn list(lines: &[&str], start: usize, collector: &mut FailureCollector<'_>) {
    for item in numbered_items::items(lines, start, |line| start == 0 && is_finished(line)) {
        if item.head.starts_with("Skipped") || of_test_unit(item.head, item.body, collector) {
            continue;
        }
        let (mut head, mut body) = (item.head, item.body);
        while let Some(at) = second_failure(body) {
            push_failure(head, &body[..at], collector);
            (head, body) = (body[at], &body[at + 1..]);
        }
        push_failure(head, body, collector);
    }
}

/// Returns the position of a second failure of the same test, without a number: its teardown failed, too.
fn second_failure(body: &[&str]) -> Option<usize> {
    let name =
        |title: &str| split_place(title.trim_end_matches(':')).map_or(title.len(), |(name, ..)| name.len());
    let title = body.first()?;
    let name = title[..name(title)].trim_end_matches(':');
    let is_same = |title: &&str| title.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', ' ']));
    (2..body.len()).find(|at| {
        matches!(body[*at], "Failure:" | "Error:")
            && body[at - 1].is_empty()
            && body.get(at + 1).is_some_and(is_same)
    })
}

/// Reads the failures of test-unit, each between two rules.
fn test_unit(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let is_rule = |line: &str| line.starts_with("====");
    for at in (1..lines.len()).filter(|at| is_rule(lines[at - 1])) {
        of_test_unit(lines[at], until(lines, at + 1, is_rule), collector);
    }
}

/// Reads a failure of test-unit: `Failure: test_adds(CartTest)`, the place, the source text around it, and the message.
///
/// A custom message precedes the place; a one-line message follows the name. Returns whether the block is a failure.
fn of_test_unit(head: &str, block: &[&str], collector: &mut FailureCollector<'_>) -> bool {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<how>Failure|Error): (?:(?P<test>test.*?)\((?P<class>[^()]+)\)(?:: (?P<told>\S.*)|:?)|(?P<suite>[A-Z]\w*(?:::\w+)*): (?P<said>[A-Z]\S*: .*))$")
            .expect("well formed")
    });
    static PLACE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<file>\S[^:]*):(?P<line>\d+):in [`'](?:[^']*\.)?(?P<function>\w*)")
            .expect("well formed")
    });
    static SOURCE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*(?:=>)?\s*\d+: ").expect("well formed"));
    let Some(head) = HEAD.captures(head) else { return false };
    let place = block.iter().find_map(|line| PLACE.captures(line));
    let function = place.as_ref().and_then(|place| place.name("function")).map_or("", |name| name.as_str());
    // A failure around all tests of a class has only the name of the class.
    let name = match head.name("suite") {
        Some(class) if ["startup", "shutdown"].contains(&function) => {
            format!("{}#{function}", class.as_str())
        }
        Some(class) => class.as_str().to_owned(),
        None => format!("{}#{}", &head["class"], &head["test"]),
    };
    let place =
        place.as_ref().map_or(String::new(), |place| format!(" [{}:{}]:", &place["file"], &place["line"]));
    let title = format!("{name}{place}");
    let told = until(block, 0, |line| line == "diff:").iter().copied();
    let told = head.name("told").or(head.name("said")).map(|told| told.as_str()).into_iter().chain(told);
    let told = told.filter(|line| !SOURCE.is_match(line) && !PLACE.is_match(line)).map(str::trim);
    let body: Vec<&str> = std::iter::once(title.as_str()).chain(told).collect();
    push_failure(&head["how"], &body, collector);
    true
}

/// Reads the immediate failures of Rails, without numbers, each followed by the command that reruns the test.
fn inline(lines: &[&str], collector: &mut FailureCollector<'_>) {
    for (at, head) in lines.iter().enumerate().filter(|(_, line)| matches!(**line, "Failure:" | "Error:")) {
        let again = |line: &str| line.starts_with("bin/rails test ") || line.starts_with("rails test ");
        push_failure(head, until(lines, at + 1, again), collector);
    }
}

/// Reads the lines below a head.
fn push_failure(head: &str, body: &[&str], collector: &mut FailureCollector<'_>) {
    let Some((title, body)) = body.split_first() else { return };
    // `Class#test [file:line]:`, or `Class#test:` and an exception below.
    let title = title.trim_end_matches(':');
    let (name, file, number) = split_place(title).unwrap_or((title, "", ""));
    let body: Vec<&str> = body.iter().copied().take_while(|line| !is_frame(line)).collect();
    let mut draft = RawFailure::test(TOOL, name, &body);
    if head.starts_with("Failure") && draft.kind.is_empty() {
        draft = draft.kind("Failure");
    }
    if let Some((kind, _)) = body.first().and_then(|line| exception(line)) {
        draft = draft.kind(kind).about(body[0]);
    }
    collector
        .push(if file.is_empty() { draft } else { draft.at(file, number.parse().ok()) }.with_heading(title));
}

/// Splits `name [file:line]`; the name may have brackets, too.
fn split_place(title: &str) -> Option<(&str, &str, &str)> {
    let (name, place) = title.strip_suffix(']')?.rsplit_once(" [")?;
    let (file, number) = place.rsplit_once(':')?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then_some((name, file, number))
}

/// Frames of a Ruby stack: `    lib/a.rb:12:in 'add'`.
fn is_frame(line: &str) -> bool {
    line.starts_with("    ") && line.contains(":in ")
}
