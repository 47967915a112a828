//! What a check shows less of than before the work began: tools that named their tests, reports that were written, and
//! tests that failed and that nobody names.
//!
//! Numbers stay the same where a test is swapped for another. So who named the tests has to go on with that, and
//! of who never did it is told which tests are meant, and the files are asked for their names.

use crate::evidence::{CommandResult, Failure, Listed, TestName, knows, test_name};

/// Tools that name a test that failed only where they name those that passed as well.
const NAME_ALL: [&str; 5] = ["cargo-test", "junit", "pytest", "tap", "unittest"];
/// Tools that stop to name what passed by themselves: Gradle does not run what has not changed, and the others name the
/// tests of a file only where there is no second one.
const NAME_AT_TIMES: [&str; 3] = ["gradle", "jest", "vitest"];

/// Returns the tools that named their tests before the work began and do so no more.
pub fn silent<'a>(base: &'a CommandResult, now: &CommandResult) -> Vec<&'a str> {
    let tools = base.listed.naming.iter().map(|it| it.tool.as_str());
    let is_meant = |tool: &&str| {
        !NAME_AT_TIMES.contains(tool) && named_all(base, tool) && !names_still(&now.listed, tool)
    };
    let silent: Vec<&str> = tools.filter(is_meant).collect();
    // Where somebody else names the tests, nothing is missing.
    let is_of_silent = |it: &&Failure| silent.contains(&it.tool.as_str());
    if now.listed.naming.iter().any(|it| it.passed > 0) && !unnamed(base, now).iter().any(is_of_silent) {
        return Vec::new();
    }
    silent
}

/// Says whether a tool named its tests. A test may print what looks like the names of others: those are few of all.
fn named_all(base: &CommandResult, tool: &str) -> bool {
    let counted = base.tests.map_or(0, |tests| tests.passed);
    match base.listed.names(tool) {
        Some(0) => counted == 0 && NAME_ALL.contains(&tool),
        Some(passed) => passed.saturating_mul(2) >= counted,
        None => false,
    }
}

fn names_still(listed: &Listed, tool: &str) -> bool {
    listed.names(tool).is_some_and(|passed| passed > 0 || NAME_ALL.contains(&tool))
}

/// Returns the tests that failed before the work began, fail no more, and are not named.
pub fn unnamed<'a>(base: &'a CommandResult, now: &CommandResult) -> Vec<&'a Failure> {
    let failing = now.set();
    // What fails at times was seen.
    let is_seen = |it: &Failure| failing.contains(&it.fingerprint) || knows(&now.flaky, it);
    let is_meant = |it: &&Failure| !is_seen(it) && test_name(it).is_some_and(|name| !is_named(&name, now));
    base.failures.iter().filter(is_meant).collect()
}

/// Says whether a test is named as one that was run. A report and an output name it in different ways.
fn is_named(test: &TestName, now: &CommandResult) -> bool {
    let ran = &now.listed.ran;
    let is_it =
        |it: &TestName| it.tool == test.tool || it.word().is_some_and(|word| test.word() == Some(word));
    ran.iter().any(is_it) || (!ran.is_empty() && !now.reports.is_empty())
}
