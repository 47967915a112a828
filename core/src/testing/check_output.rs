//! The output of a scripted check: lines of TAP (`ok 1 - name`, `not ok 1 - name`). A last line
//! `3 passed` counts tests without naming those that passed. Anything else that exits with another code than 0 is one failure.

use std::collections::BTreeMap;

use crate::event::Exit;
use crate::evidence::{
    CommandResult, Confidence, Failure, FailureSource, Fingerprint, RecordedTestNames, ReporterNaming,
    TestName, Tests, UNPARSED,
};
use crate::id::Millis;

const TOOL: &str = "tap";

/// Returns what a command of a check showed that ended so and printed this.
pub fn command_result(run: &str, exit: &Exit, said: &str) -> CommandResult {
    let tests = endings(said);
    let counted = parse_count(said);
    let mut failures: Vec<Failure> = Vec::new();
    for name in tests.iter().filter(|(_, passed)| !**passed).map(|(name, _)| *name) {
        failures.push(failure(TOOL, Some(name), "failed", name));
    }
    let is_read = *exit == Exit::Code(0) || !failures.is_empty();
    if !is_read && matches!(exit, Exit::Code(_)) {
        failures.push(failure("", None, UNPARSED, said.trim()));
    }
    let failed = u64::try_from(tests.values().filter(|passed| !**passed).count()).unwrap_or(u64::MAX);
    let passed = u64::try_from(tests.len()).unwrap_or(u64::MAX) - failed;
    CommandResult {
        run: run.to_owned(),
        exit: exit.clone(),
        duration: Millis(0),
        stdout: None,
        stderr: None,
        reports: Vec::new(),
        tail: said.to_owned(),
        tool: if tests.is_empty() { String::new() } else { TOOL.to_owned() },
        failures,
        failures_left_out: 0,
        flaky: Vec::new(),
        confidence: if is_read { Confidence::High } else { Confidence::Low },
        tests: match counted {
            Some(passed) => Some(Tests { passed, failed, skipped: 0 }),
            None => (!tests.is_empty()).then_some(Tests { passed, failed, skipped: 0 }),
        },
        listed: if counted.is_some() {
            RecordedTestNames::default()
        } else {
            RecordedTestNames {
                failed: tests
                    .iter()
                    .filter(|(_, passed)| !**passed)
                    .map(|(name, _)| test_name(name))
                    .collect(),
                naming: if tests.is_empty() {
                    Vec::new()
                } else {
                    vec![ReporterNaming { tool: TOOL.to_owned(), passed }]
                },
                ..RecordedTestNames::default()
            }
        },
        observations: 1,
        numbers: Vec::new(),
    }
}

/// Adds to what a check named what became of the tests that it named before the work began.
pub(super) fn compare(now: &mut CommandResult, base: &CommandResult) {
    let (after, before) = (endings(&now.tail), endings(&base.tail));
    let names_passed = after.values().any(|passed| *passed);
    let mut listed = RecordedTestNames { ran: Vec::new(), gone: Vec::new(), ..now.listed.clone() };
    for (name, passed) in before {
        match (after.contains_key(name), passed) {
            (true, false) => listed.ran.push(test_name(name)),
            (false, _) if names_passed => listed.gone.push(test_name(name)),
            _ => {}
        }
    }
    now.listed = listed;
}

/// Returns the tests that a text names, and whether each passed.
fn endings(said: &str) -> BTreeMap<&str, bool> {
    let read = |line| {
        let (line, passed) = match str::strip_prefix(line, "not ") {
            Some(rest) => (rest, false),
            None => (line, true),
        };
        let (_, name) = line.strip_prefix("ok ")?.split_once(" - ")?;
        Some((name, passed))
    };
    said.lines().filter_map(read).collect()
}

/// Returns how many tests the last line says have passed.
fn parse_count(said: &str) -> Option<u64> {
    said.lines().last()?.strip_suffix(" passed")?.parse().ok()
}

fn test_name(name: &str) -> TestName {
    TestName { tool: TOOL.to_owned(), name: name.to_owned() }
}

fn failure(tool: &str, test: Option<&str>, kind: &str, message: &str) -> Failure {
    let fingerprint = Fingerprint::from_parts(&[tool, test.unwrap_or(message), kind]);
    Failure {
        exact: fingerprint.clone(),
        fingerprint,
        tool: tool.to_owned(),
        test: test.map(str::to_owned),
        location: None,
        kind: kind.to_owned(),
        message: message.to_owned(),
        source: FailureSource::Text,
        places: 1,
        remaining: None,
    }
}
