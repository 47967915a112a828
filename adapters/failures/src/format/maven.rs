//! Maven: the results of tests from Surefire, and the errors of javac.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\[(?:ERROR|WARNING)\] +)?(?P<name>\S.*?)\s+(?:--\s+)?Time elapsed: [\d.,]+ s(?:ec)?\s+<<< (?:FAILURE|ERROR)!$").expect("well formed")
});

static SUITE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\[\w+\] +)?Tests run: .*<<< (?:FAILURE|ERROR)!(?: --? in (?P<class>\S+))?")
        .expect("well formed")
});

static JAVAC: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[ERROR\] (?P<file>\S.*?\.(?:java|kt|scala|groovy)):\[(?P<line>\d+)(?:,\d+)?\] (?:error: )?(?P<what>.*)$").expect("well formed")
});

/// Reads tests, or the errors of the compiler, or the reason why a goal failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let before = collector.len();
    let mut class = "";
    for (at, line) in input.marked() {
        let is_suite = line.contains("Tests run: ");
        if let Some(suite) = is_suite.then(|| SUITE.captures(line)).flatten() {
            class = suite.name("class").map_or("", |class| class.as_str());
        } else if let Some(head) = HEAD.captures(line) {
            let name = head.name("name").map_or("", |name| name.as_str());
            let block = until(lines, at + 1, |line| {
                line.trim().is_empty() || line.starts_with("[INFO]") || line.starts_with("[ERROR]")
            });
            // Older versions write `method(class)`.
            let full = match name.strip_suffix(')').and_then(|name| name.rsplit_once('(')) {
                Some((method, class)) if class.contains('.') && !class.contains(' ') => {
                    format!("{class}.{method}")
                }
                _ if name.starts_with(class) => name.to_owned(),
                _ => format!("{class}.{name}"),
            };
            let draft = RawFailure::test("surefire", &full, block);
            collector.push(draft.with_heading(name));
        }
    }
    for (at, line) in input.starting(b"[").filter(|(_, line)| line.starts_with("[ERROR] ")) {
        // Most of them have no position in brackets.
        if line.contains(":[")
            && let Some(error) = JAVAC.captures(line)
        {
            read_error(&error, &lines[at + 1..], line, collector);
        }
    }
    if collector.len() == before {
        goal(lines, collector);
    }
}

/// Reads an error of the compiler; its details are indented on the lines below.
fn read_error(error: &regex::Captures<'_>, below: &[&str], line: &str, collector: &mut FailureCollector<'_>) {
    let below: Vec<&str> = below
        .iter()
        .filter_map(|line| line.strip_prefix("[ERROR] ").or(Some(*line)))
        .take_while(|line| line.starts_with("  "))
        .map(str::trim)
        .collect();
    let about = format!("{} {}", &error["what"], below.join(" "));
    let message = format!("{line}\n{}", below.join("\n"));
    collector.push(
        RawFailure::diagnostic("javac", &error["file"], error["line"].parse().ok(), about.trim())
            .message(&message),
    );
}

/// Reads a goal that failed for a reason other than tests or sources.
fn goal(lines: &[&str], collector: &mut FailureCollector<'_>) {
    let failed = lines.iter().find(|line| line.starts_with("[ERROR] Failed to execute goal "));
    let Some(told) = failed.and_then(|line| line.strip_prefix("[ERROR] Failed to execute goal ")) else {
        return;
    };
    if !told.contains("There are test failures") && !told.contains("Compilation failure") {
        collector.push(
            RawFailure::diagnostic("maven", "", None, told.split(" -> [Help").next().unwrap_or(told))
                .kind("goal"),
        );
    }
}
