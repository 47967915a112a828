//! Information that a check shows no longer since the work: names of tests, reports, and failed tests without a name.
//!
//! Numbers stay the same if a test is replaced by another one. So a tool that named its tests must continue to name
//! them. For a tool that never did, the tests in question are returned, and their names are searched for in the files.

use crate::evidence::{CommandResult, Failure, RecordedTestNames, TestName, has_failure, test_name};

/// Tools that name failed tests only if they also name passed ones.
const NAME_ALL: [&str; 5] = ["cargo-test", "junit", "pytest", "tap", "unittest"];
/// Tools that may stop naming passed tests: Gradle does not run unchanged tests, and the others name the tests of a
/// file only if there is no second file.
const NAME_AT_TIMES: [&str; 3] = ["gradle", "jest", "vitest"];

/// Returns the tools that named their tests before the work and no longer do.
pub fn reporters_gone_quiet<'a>(base: &'a CommandResult, now: &CommandResult) -> Vec<&'a str> {
    let tools = base.listed.naming.iter().map(|reporter| reporter.tool.as_str());
    let is_meant = |tool: &&str| {
        !NAME_AT_TIMES.contains(tool) && lists_all_tests(base, tool) && !still_lists(&now.listed, tool)
    };
    let silent: Vec<&str> = tools.filter(is_meant).collect();
    // If another tool names the tests, nothing is missing.
    let is_of_silent = |failure: &&Failure| silent.contains(&failure.tool.as_str());
    let names_passed = now.listed.naming.iter().any(|reporter| reporter.passed > 0);
    if names_passed && !unlisted_tests(base, now).iter().any(is_of_silent) {
        return Vec::new();
    }
    silent
}

/// Returns whether a tool named its tests. A test may print lines that look like names of others, but only a few.
fn lists_all_tests(base: &CommandResult, tool: &str) -> bool {
    let counted = base.tests.map_or(0, |tests| tests.passed);
    match base.listed.names(tool) {
        Some(0) => counted == 0 && NAME_ALL.contains(&tool),
        Some(passed) => passed.saturating_mul(2) >= counted,
        None => false,
    }
}

fn still_lists(listed: &RecordedTestNames, tool: &str) -> bool {
    listed.names(tool).is_some_and(|passed| passed > 0 || NAME_ALL.contains(&tool))
}

/// Returns the failures of tests that failed before the work, no longer fail, and are not named.
pub fn unlisted_tests<'a>(base: &'a CommandResult, now: &CommandResult) -> Vec<&'a Failure> {
    let failing = now.set();
    // A flaky test ran.
    let is_seen =
        |failure: &Failure| failing.contains(&failure.fingerprint) || has_failure(&now.flaky, failure);
    let is_meant = |failure: &&Failure| {
        !is_seen(failure) && test_name(failure).is_some_and(|name| !is_named(&name, now))
    };
    base.failures.iter().filter(is_meant).collect()
}

/// Returns whether a test is named as run. A report and an output name it in different ways.
fn is_named(test: &TestName, now: &CommandResult) -> bool {
    let ran = &now.listed.ran;
    let is_it = |other: &TestName| {
        other.tool == test.tool || other.word().is_some_and(|word| test.word() == Some(word))
    };
    ran.iter().any(is_it) || (!ran.is_empty() && !now.reports.is_empty())
}
