//! Service messages of TeamCity: `##teamcity[testFailed name='adds' message='...']`.
//!
//! PHPUnit writes them with `--teamcity`, and many other runners can.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

/// PHPUnit's message about a risky test, which is not a failure.
const RISKY: &str = "This test did not perform any assertions";

/// Reads every failed test, with its suites.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut suites: Vec<String> = Vec::new();
    for (_, line) in input.starting(b"#").filter(|(_, line)| line.starts_with("##teamcity[")) {
        let field = |name: &str| field(line, name).unwrap_or_default();
        if line.starts_with("##teamcity[testSuiteStarted ") {
            suites.push(field("name"));
        } else if line.starts_with("##teamcity[testSuiteFinished ") {
            suites.pop();
        } else if line.starts_with("##teamcity[testFailed ") {
            push_failure(&full_name(&suites, &field("name")), &field, collector);
        }
    }
}

fn push_failure(name: &str, field: &dyn Fn(&str) -> String, collector: &mut FailureCollector<'_>) {
    static PLACE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?P<file>[^\s:]+\.\w+):(?P<line>\d+)").expect("well formed"));
    let (message, details) = (field("message"), field("details"));
    if message.starts_with(RISKY) {
        return;
    }
    let told = format!("{message}\n{details}");
    let lines: Vec<&str> = message.lines().collect();
    let mut draft = RawFailure::test("teamcity", name, &lines).message(told.trim());
    if draft.kind.is_empty() {
        draft.kind = field("type");
    }
    if let Some(place) = PLACE.captures(&details) {
        draft = draft.at(&place["file"], place["line"].parse().ok());
    }
    collector.push(draft);
}

/// Joins the names. Suites that are directories, or only group the data of one test, are left out.
fn full_name(suites: &[String], name: &str) -> String {
    let is_one = |suite: &&String| {
        !suite.is_empty() && !suite.contains(['/', '\\']) && !name.starts_with(suite.as_str())
    };
    let suites = suites.iter().filter(is_one).map(String::as_str);
    suites.chain([name]).collect::<Vec<_>>().join("::")
}

/// Returns the value of a field, without the bars that escape special characters.
fn field(line: &str, name: &str) -> Option<String> {
    let begin = format!(" {name}='");
    let start = line.find(&begin)? + begin.len();
    let mut value = String::new();
    let mut rest = line[start..].chars();
    while let Some(c) = rest.next() {
        match c {
            '\'' => return Some(value),
            '|' => match rest.next()? {
                'n' => value.push('\n'),
                'r' => {}
                sign => value.push(sign),
            },
            c => value.push(c),
        }
    }
    None
}
