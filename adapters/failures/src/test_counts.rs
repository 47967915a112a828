//! Counts the tests in an output: from the summary of its tool, else from the lines of TAP.
//!
//! A deleted or skipped test is not a fixed test. Few tools print names of passing tests, but nearly all print counts.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::evidence::Tests;

use super::clean_output::CleanOutput;
use super::counters::{self, Counter, Meaning};
use super::format::{go_test, nextest, tap, without_time};

/// A pattern for the summary line of a tool, with groups for its numbers.
///
/// `total` includes the failed ones. A tool may print several summaries, one for each part of its work; they are added
/// up. A number that occurs several times in a line has several groups: `total`, `total2`.
///
/// Only tools that also count when all tests pass have a pattern: Gradle prints a number only if something failed.
struct SummaryPattern {
    line: Regex,
    kind: Kind,
}

/// The subject of a summary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// Tests.
    Tests,
    /// Tests of another line that did not pass.
    Correction,
    /// Tests; the last line includes all tests of the lines above it.
    Latest,
    /// Test programs, of which only some are shown, such as the failed ones: their own counts are not added up.
    Programs,
}

/// The summaries of tools, as their lines begin.
static SUMMARIES: LazyLock<Vec<SummaryPattern>> = LazyLock::new(|| {
    let patterns = [
        // libtest, one for each program.
        r"^test result: \w+\. (?<passed>\d+) passed; (?<failed>\d+) failed; (?<skipped>\d+) ignored",
        // googletest, one for each program.
        r"^\[  PASSED  \] (?<passed>\d+) tests?\.",
        r"^\[  FAILED  \] (?<failed>\d+) tests?, listed below",
        // unittest.
        r"^Ran (?<total>\d+) tests? in ",
        // mocha. A deeper indented line is printed by a test of jest.
        r"^ {0,3}(?<passed>\d+) passing",
        r"^ {0,3}(?<failed>\d+) failing",
        r"^ {0,3}(?<skipped>\d+) pending",
        // node --test, in both its forms; tape, QUnit.
        r"^(?:# |ℹ )pass +(?<passed>\d+)$",
        r"^(?:# |ℹ )fail +(?<failed>\d+)$",
        r"^(?:# |ℹ )(?:skip(?:ped)?|todo) +(?<skipped>\d+)$",
        // nextest.
        r"^\s*Summary \[.*\] +\d+(?:/\d+)? tests? run: (?<passed>\d+) passed(?:.*?, (?<failed>\d+) failed)?(?:.*?, (?<skipped>\d+) skipped)?",
        // pytest.
        r"^=*\s*(?:(?<failed>\d+) failed)?(?:, )?(?:(?<passed>\d+) passed)?(?:(?:, )?(?<skipped>\d+) skipped)?(?:(?:, )?(?<skipped2>\d+) deselected)?(?:(?:, )?(?<skipped3>\d+) xfailed)?(?:(?:, )?\d+ (?:xpassed|warnings?))*(?:(?:, )?(?<errors>\d+) errors?)?(?:(?:, )?\d+ [a-z][a-z ]*?)* in [\d.:]+m?s\b",
        // pytest-sugar.
        r"^ {5,}(?<passed>\d+) passed$",
        r"^ {5,}(?<failed>\d+) (?:failed|error)$",
        r"^ {5,}(?<skipped>\d+) (?:skipped|xfailed|deselected)$",
        // jest, vitest.
        r"^Tests:\s+(?:(?<failed>\d+) failed, )?(?:(?<skipped>\d+) skipped, )?(?:\d+ todo, )?(?:(?<passed>\d+) passed, )?\d+ total",
        r"^\s*Tests\s+(?:(?<failed>\d+) failed)?(?: \| )?(?:(?<passed>\d+) passed)?(?: \| )?(?:(?<skipped>\d+) skipped)?.*\(\d+\)",
        // deno test.
        r"^(?:ok|FAILED) \| (?<passed>\d+) passed(?: \([^)]*\))? \| (?<failed>\d+) failed(?: \([^)]*\))?(?: \| (?<skipped>\d+) ignored)?",
        // Maven Surefire: a line without a time counts an entire module.
        r"^(?:\[\w+\] +)?Tests run: (?<total>\d+), Failures: (?<failed>\d+), Errors: (?<errors>\d+), Skipped: (?<off>\d+)(?:, [A-Z]\w*: \d+)*\s*$",
        // PHPUnit.
        r"^OK \((?<passed>\d+) tests?, ",
        r"^Tests: (?<total>\d+), Assertions: \d+(?:, Errors: (?<errors>\d+))?(?:, Failures: (?<failed>\d+))?(?:, Skipped: (?<off>\d+))?",
        // RSpec.
        r"^(?<total>\d+) examples?, (?<failed>\d+) failures?(?:, (?<off>\d+) pending)?",
        // minitest; test-unit.
        r"^(?<total>\d+) (?:runs|tests), \d+ assertions, (?<failed>\d+) failures, (?<errors>\d+) errors(?:, (?<off>\d+) (?:skips|pendings))?(?:, (?<off2>\d+) omissions)?",
        // ExUnit; bats on a terminal.
        r"^(?:(?<total2>\d+) doctests?, )?(?:(?<total3>\d+) propert(?:y|ies), )?(?<total>\d+) tests?, (?<failed>\d+) failures?(?:, (?<off>\d+) excluded)?(?:, \d+ invalid)?(?:, (?<off2>\d+) skipped)?",
        // dotnet test: for one assembly; for all, as a sentence; for all, as lines.
        r"^\s*(?:Passed|Failed|Skipped)!\s+- Failed:\s+(?<failed>\d+), Passed:\s+(?<passed>\d+), Skipped:\s+(?<skipped>\d+), Total:",
        r"^\s*Test summary: total: \d+, failed: (?<failed>\d+), succeeded: (?<passed>\d+), skipped: (?<skipped>\d+)",
        r"^\s+(?:Passed|succeeded): (?<passed>\d+)$",
        r"^\s+(?:Failed|failed): (?<failed>\d+)$",
        r"^\s+(?:Skipped|skipped): (?<skipped>\d+)$",
        // ava.
        r"^  (?<passed>\d+) tests? passed$",
        r"^  (?<failed>\d+) tests? failed$",
        r"^  (?<skipped>\d+) (?:tests? skipped|tests? todo|known failures?)$",
        // Playwright.
        r"^  (?<passed>\d+) (?:passed(?: \([^)]*\))?|flaky)$",
        r"^  (?<failed>\d+) (?:failed|interrupted)$",
        r"^  (?<skipped>\d+) (?:skipped|did not run)$",
        // bun.
        r"^ +(?<passed>\d+) pass$",
        r"^ +(?<failed>\d+) fail$",
        r"^ +(?<skipped>\d+) (?:skip|todo)$",
        // Pest and artisan test.
        r"^  Tests: +(?:(?<failed>\d+) failed)?(?:(?:, )?\d+ (?:deprecated|warnings?|risky|incomplete|notices?|todos?))*(?:(?:, )?(?<skipped>\d+) skipped)?(?:(?:, )?(?<passed>\d+) passed)? \(\d+ assertions?\)$",
        // ScalaTest.
        r"^(?:\[info\] )?Tests: succeeded (?<passed>\d+), failed (?<failed>\d+), canceled (?<skipped>\d+), ignored (?<skipped2>\d+), pending (?<skipped3>\d+)",
        // dart test.
        r"^(?:\d+:)?\d\d:\d\d \+(?<passed>\d+)(?: ~(?<skipped>\d+))?(?: -(?<failed>\d+))?: (?:All tests passed!|Some tests failed\.)\s*$",
        // terraform test.
        r"^(?:Success|Failure)! (?<passed>\d+) passed, (?<failed>\d+) failed(?:, (?<skipped>\d+) skipped)?\.$",
        // Karma, for all browsers.
        r"^TOTAL: (?:(?<failed>\d+) FAILED, )?(?<passed>\d+) SUCCESS$",
        // Foundry, one for each suite.
        r"^Suite result: \w+\. (?<passed>\d+) passed; (?<failed>\d+) failed; (?<skipped>\d+) skipped",
        // tasty.
        r"^(?<failed>\d+) out of (?<total>\d+) tests? failed \([\d.]+s\)$",
        r"^All (?<passed>\d+) tests? passed \([\d.]+s\)$",
        // EUnit.
        r"^  Failed: (?<failed>\d+)\.  Skipped: (?<skipped>\d+)\.  Passed: (?<passed>\d+)\.$",
        r"^  All (?<passed>\d+) tests? passed\.$",
        // Pester.
        r"^Tests Passed: (?<passed>\d+), Failed: (?<failed>\d+), Skipped: (?<skipped>\d+)",
        // clojure.test: the line below counts the failed assertions; Kaocha.
        r"^Ran (?<passed>\d+) tests? containing \d+ assertions?\.$",
        r"^(?<total>\d+) tests?, \d+ assertions?, (?:(?<errors>\d+) errors?, )?(?<failed>\d+) failures?\.$",
        // Swift Testing, which prints no number of failed tests.
        r"^\S{1,2} Test run with (?<total>\d+) tests? .*?(?:passed|failed) after ",
        // jasmine.
        r"^(?<total>\d+) specs?, (?<failed>\d+) failures?(?:, (?<off>\d+) pending specs?)?",
    ];
    let corrections = [
        // unittest, after the line that counts all.
        r"^FAILED \((?:failures=(?<failed>\d+))?(?:, )?(?:errors=(?<errors>\d+))?(?:, )?(?:skipped=(?<skipped>\d+))?(?:, )?(?:expected failures=(?<skipped2>\d+))?(?:, )?(?:unexpected successes=(?<failed2>\d+))?\)",
        // clojure.test, after the line that counts all.
        r"^(?<failed>\d+) failures?, (?<errors>\d+) errors?\.$",
        r"^OK \((?:skipped=(?<skipped>\d+))?(?:, )?(?:expected failures=(?<skipped2>\d+))?\)",
    ];
    let latest = [
        // testthat, for expectations, while it runs and at its end.
        r"^\[ FAIL (?<failed>\d+) \| WARN \d+ \| SKIP (?<skipped>\d+) \| PASS (?<passed>\d+) \]$",
        // XCTest, for a suite and for the suites around it.
        r"^\s*Executed (?<total>\d+) tests?, with (?:(?<off>\d+) tests? skipped and )?(?<failed>\d+) failures?",
    ];
    let programs = [
        // ctest; from version 4 on, it omits the number of failed tests if it is 0.
        r"^\d+% tests passed(?:, (?<failed>\d+) tests? failed)? out of (?<total>\d+)",
        // Bazel; cabal.
        r"^Executed \d+ out of (?<total>\d+) tests?: (?:.*?(?<failed>\d+) fails?\b)?",
        r"^\d+ of (?<total>\d+) test suites? \(",
        // sbt, for all frameworks except those that count themselves.
        r"^\[\w+\] (?:Passed|Failed|Error): Total \d+, Failed (?<failed>\d+), Errors (?<errors>\d+), Passed (?<passed>\d+)(?:, (?:Ignored|Skipped|Canceled) (?<skipped>\d+))?",
    ];
    let summary = |kind| {
        move |pattern: &&str| SummaryPattern { line: Regex::new(pattern).expect("a pattern of ours"), kind }
    };
    let tests = patterns.iter().map(summary(Kind::Tests));
    let more = corrections.iter().map(summary(Kind::Correction));
    let last = latest.iter().map(summary(Kind::Latest));
    tests.chain(more).chain(last).chain(programs.iter().map(summary(Kind::Programs))).collect()
});

/// Words of which every summary line contains one.
#[rustfmt::skip]
const WORDS: [&str; 29] = [
    "passed", "passing", "failed", "failing", "pending", "PASSED", "FAILED", "Ran ", "OK (", "pass ",
    "fail ", " pass", " fail", " skip", "skipped", "todo", "Tests", "examples", "example,", "failure", "Failed: ",
    "Passed: ", "Skipped: ", "succeeded", "flaky", "interrupted", "did not run", "SUCCESS", "| PASS ",
];

/// Counts the tests that an output reports; `None` if it reports none.
pub fn count(stdout: &[u8], stderr: &[u8]) -> Option<Tests> {
    in_pages(&CleanOutput::both(stdout, stderr))
}

/// Counts the tests that pages report.
pub(super) fn in_pages(pages: &[CleanOutput<'_>; 2]) -> Option<Tests> {
    let lines: Vec<&str> = pages.iter().flat_map(CleanOutput::lines).collect();
    summaries(&lines).or_else(|| count_listed(&lines))
}

/// Checks whether a line counts tests.
pub(super) fn is_summary(line: &str) -> bool {
    static ANY: LazyLock<Regex> = LazyLock::new(|| {
        let words: Vec<String> = WORDS.iter().map(|word| regex::escape(word)).collect();
        Regex::new(&words.join("|")).expect("a pattern of ours")
    });
    ANY.is_match(line) && SUMMARIES.iter().any(|summary| summary.line.is_match(line))
}

fn summaries(lines: &[&str]) -> Option<Tests> {
    let (mut sum, mut programs): (Option<Tests>, Option<Tests>) = (None, None);
    let mut latest: BTreeMap<&str, Tests> = BTreeMap::new();
    let mut twice = DoubleCount::default();
    let mut noted = 0;
    each_summary(lines, &mut |at, summary, captures| {
        lines[noted..=at].iter().for_each(|line| twice.note(line));
        noted = at + 1;
        let Some(tests) = numbers(captures) else { return };
        match summary.kind {
            Kind::Programs => programs = Some(programs.unwrap_or_default().plus(tests)),
            Kind::Tests => sum = Some(sum.unwrap_or_default().plus(twice.taken_from(tests))),
            Kind::Latest => {
                latest.insert(summary.line.as_str(), tests);
            }
            Kind::Correction => {
                let Some(before) = sum else { return };
                // One test may fail several times, in parts of it.
                let failed = tests.failed.min(before.passed);
                let passed = (before.passed - failed).saturating_sub(tests.skipped);
                sum = Some(Tests { passed, ..before }.plus(Tests { failed, ..tests }));
            }
        }
    });
    let all = sum.into_iter().chain(latest.into_values()).reduce(Tests::plus);
    programs.or(all)
}

/// Calls back with each summary line, its pattern and the captures.
fn each_summary<'l>(
    lines: &[&'l str],
    take: &mut dyn FnMut(usize, &'static SummaryPattern, &regex::Captures<'l>),
) {
    let mut is_shown = false;
    for (at, line) in lines.iter().enumerate() {
        is_shown = if is_shown { !nextest::is_own(line) } else { nextest::begins_output(line) };
        if is_shown || !WORDS.iter().any(|word| line.contains(word)) {
            continue;
        }
        if is_alone(lines, at) {
            continue;
        }
        let parse = |pattern: &'static SummaryPattern| {
            let captures = pattern.line.captures(line)?;
            numbers(&captures).is_some().then_some((pattern, captures))
        };
        if let Some((summary, captures)) = SUMMARIES.iter().find_map(parse) {
            take(at, summary, &captures);
        }
    }
}

/// Checks whether a line is a counter of TAP without another one next to it: a test may print one.
fn is_alone(lines: &[&str], at: usize) -> bool {
    let mut beside = [at.wrapping_sub(1), at + 1].into_iter().filter_map(|beside| lines.get(beside));
    tap::is_counter(lines[at]) && !beside.any(|beside| tap::is_counter(beside))
}

/// A counter of a summary that is not green, and not one of the failed tests that the summary counts.
pub(super) struct ExtraCounter<'l> {
    /// The line that contains it.
    pub(super) line: &'l str,
    pub(super) counter: Counter<'l>,
    /// It counts files, suites, or other groups of tests.
    pub(super) counts_groups: bool,
}

/// Returns the counters of summaries that are not green, except for failed tests.
///
/// They are in the line of a summary or in the lines around it. If no summary is recognized, they may be in any list of
/// counters that includes one for passed tests.
pub(super) fn beyond<'p>(pages: &'p [CleanOutput<'_>; 2]) -> Vec<ExtraCounter<'p>> {
    let lines: Vec<&str> = pages.iter().flat_map(CleanOutput::lines).collect();
    let mut found = Vec::new();
    let mut add = |line: &'p str, is_known: &dyn Fn(usize) -> bool| {
        let is_meant = |counter: &Counter<'_>| {
            counter.number > 0 && !is_known(counter.at) && counter.meaning() == Meaning::NotGreen
        };
        let counters = counters::of_line(line).into_iter().filter(is_meant);
        found.extend(counters.map(|counter| ExtraCounter {
            line,
            counts_groups: counter.counts_groups(line),
            counter,
        }));
    };
    let mut summaries = BTreeSet::new();
    each_summary(&lines, &mut |at, _, captures| {
        let known: Vec<usize> = captures.iter().skip(1).flatten().map(|group| group.start()).collect();
        summaries.insert(at);
        add(lines[at], &|number| known.contains(&number));
    });
    let mut last = 0;
    for at in &summaries {
        let is_near = |other: &usize| !lines[*other].trim().is_empty();
        let above = (last..*at).rev().take_while(is_near).filter(|other| !summaries.contains(other));
        let above: Vec<usize> = above.collect();
        let below = (at + 1..lines.len()).take_while(|other| is_near(other) && !summaries.contains(other));
        let near = above
            .into_iter()
            .rev()
            .chain(below.clone())
            .filter(|at| counters::are_all(lines[*at]) && !is_alone(&lines, *at));
        near.for_each(|near| add(lines[near], &|_| false));
        last = below.last().map_or(at + 1, |below| below + 1);
    }
    if summaries.is_empty() {
        let passes =
            |line: &str| counters::of_line(line).iter().any(|counter| counter.meaning() == Meaning::Pass);
        let unknown = lines.iter().filter(|line| counters::are_all(line) && passes(line));
        unknown.for_each(|line| add(line, &|_| false));
    }
    found
}

/// Failures that the next summary counts in addition to its tests. Fixing such a failure removes no test.
#[derive(Default)]
struct DoubleCount<'a> {
    /// Tests of failed subtests. pytest counts each subtest, and counts a test in which only subtests failed as passed.
    parts: Vec<&'a str>,
    /// Number of failures after a test had ended: teardown of a fixture in pytest, a hook of mocha.
    behind: u64,
}

impl<'a> DoubleCount<'a> {
    fn note(&mut self, line: &'a str) {
        static HOOK: LazyLock<Regex> = LazyLock::new(|| {
            Regex::new(r#"^\s*\d+\) "after (?:all|each)" hook.*[^:]$"#).expect("a pattern of ours")
        });
        if line.starts_with("SUBFAILED") {
            let head = line.split(" - ").next().unwrap_or_default();
            self.parts.extend(head.split_whitespace().last());
        } else if (line.starts_with('_') && line.contains(" ERROR at teardown of "))
            || (line.contains("\" hook") && HOOK.is_match(line))
        {
            self.behind += 1;
        }
    }

    fn taken_from(&mut self, tests: Tests) -> Tests {
        let Self { parts, behind } = std::mem::take(self);
        let failed = tests.failed.saturating_sub(u64::try_from(parts.len()).unwrap_or(u64::MAX));
        let of_parts = u64::try_from(parts.into_iter().collect::<BTreeSet<_>>().len()).unwrap_or(u64::MAX);
        let moved = of_parts.min(tests.passed);
        Tests {
            passed: (tests.passed - moved).saturating_sub(behind),
            failed: failed.saturating_add(moved),
            ..tests
        }
    }
}

/// Reads the numbers of a summary; `None` if it has none.
fn numbers(captures: &regex::Captures<'_>) -> Option<Tests> {
    let part = |name: &str| captures.name(name).and_then(|group| group.as_str().parse::<u64>().ok());
    let number = |name: &str| {
        let parts = ["", "2", "3"].iter().filter_map(|which| part(&format!("{name}{which}")));
        parts.reduce(u64::saturating_add)
    };
    let (total, passed, failed) = (number("total"), number("passed"), number("failed"));
    let (errors, skipped, off) = (number("errors"), number("skipped"), number("off"));
    [total, passed, failed, errors, skipped, off].iter().any(Option::is_some).then(|| {
        let failed = failed.unwrap_or(0) + errors.unwrap_or(0);
        let off = off.unwrap_or(0);
        let of_total = total.map(|total| total.saturating_sub(failed).saturating_sub(off));
        Tests { passed: passed.or(of_total).unwrap_or(0), failed, skipped: skipped.unwrap_or(off) }
    })
}

/// Counts the tests that are listed one by one: TAP, `go test -v`, and its JSON.
fn count_listed(lines: &[&str]) -> Option<Tests> {
    let mut tests = Tests::default();
    let (mut names_all, mut go_failed) = (false, 0);
    let was_run = go_test::was_run(lines);
    for line in tap::stream(lines) {
        let line = line.trim_start();
        // Without `-v`, only failed tests are listed.
        names_all |= line.starts_with("--- PASS: ") || line.starts_with("=== RUN");
        let is_skipped =
            || line.rsplit_once('#').is_some_and(|(_, directive)| tap::is_skip_directive(directive));
        if tap::is_problem(line) {
            // An output without failures contains none of them.
            continue;
        }
        if let Some(passed) = point(line) {
            match (passed, is_skipped()) {
                (_, true) => tests.skipped += 1,
                (true, false) => tests.passed += 1,
                (false, false) => tests.failed += 1,
            }
        } else if line.starts_with("--- PASS: ") {
            tests.passed += 1;
        } else if let Some(name) = line.strip_prefix("--- FAIL: ") {
            go_failed += u64::from(was_run(without_time(name)));
        } else if line.starts_with("--- SKIP: ") {
            tests.skipped += 1;
        } else if line.starts_with('{') && line.contains("\"Test\":") {
            let acts = |word: &str| line.contains(&format!("\"Action\":\"{word}\""));
            if acts("pass") {
                tests.passed += 1;
            } else if acts("fail") {
                tests.failed += 1;
            } else if acts("skip") {
                tests.skipped += 1;
            }
        }
    }
    if names_all {
        tests.failed += go_failed;
    }
    (tests != Tests::default()).then_some(tests)
}

/// Checks whether a line of TAP reports a passed test; `None` if it reports no test.
///
/// Passed and failed tests are recognized by the same form. Otherwise a fixed test would look like a removed one. A
/// line needs a number or a dash before its description: `ok` begins other lines, too.
fn point(line: &str) -> Option<bool> {
    let (passed, rest) = match line.strip_prefix("not ok") {
        Some(rest) => (false, rest),
        None => (true, line.strip_prefix("ok")?),
    };
    let is_point = rest
        .strip_prefix(' ')
        .is_some_and(|rest| rest.starts_with("- ") || rest.starts_with(|c: char| c.is_ascii_digit()));
    is_point.then_some(passed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summaries_of_tools_say_how_many_tests_there_were() {
        for (output, want) in [
            (
                "test result: ok. 5 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\ntest result: FAILED. 2 passed; 1 failed; 0 ignored; 0 measured",
                (7, 1, 1),
            ),
            ("     Summary [   0.123s] 12 tests run: 10 passed (1 slow), 2 failed, 3 skipped", (10, 2, 3)),
            ("     Summary [   0.123s] 12 tests run: 12 passed, 0 skipped", (12, 0, 0)),
            ("==== 1 failed, 3 passed, 2 skipped in 0.12s ====", (3, 1, 2)),
            ("=========== 3 passed in 0.01s ===========", (3, 0, 0)),
            ("3 passed, 1 warning in 0.01s", (3, 0, 0)),
            ("===== 1 failed, 1 passed, 1 error in 0.10s =====", (1, 2, 0)),
            ("2 passed, 3 subtests passed in 0.19s", (2, 0, 0)),
            ("2 passed, 1 rerun in 1.02s", (2, 0, 0)),
            (
                "== 1 failed, 3 passed, 1 skipped, 2 deselected, 1 xfailed, 1 xpassed, 2 warnings, 1 error, 1 rerun in 61.0s (0:01:01) ==",
                (3, 2, 4),
            ),
            // pytest counts the parts of a test, and counts a test in which only parts failed as passed.
            (
                "SUBFAILED(a=1, b=2) t.py::T::test_many - AssertionError: -1 != 3\nSUBFAILED[x] t.py::T::test_many - boom\n== 2 failed, 2 passed in 0.18s ==",
                (1, 1, 0),
            ),
            (
                "____ ERROR at teardown of test_a ____\nE   RuntimeError: x\nERROR t.py::test_a - RuntimeError: x\n== 2 passed, 1 error in 0.12s ==",
                (1, 1, 0),
            ),
            ("Ran 2 tests in 0.001s\n\nFAILED (failures=3)", (0, 2, 0)),
            (
                "  adds\n    1) \"after all\" hook for \"works\"\n\n  2 passing (4ms)\n  1 failing\n\n  1) \"after all\" hook for \"works\":\n",
                (1, 1, 0),
            ),
            (
                "  console.log\n      2 passing (4ms)\n      1 failing\n\n      at Object.log (a.test.js:2:35)\n\nTests:       1 passed, 1 total\n",
                (1, 0, 0),
            ),
            ("Ran 5 tests in 0.001s\n\nOK", (5, 0, 0)),
            ("Ran 5 tests in 0.001s\n\nOK (skipped=1)", (4, 0, 1)),
            ("Ran 5 tests in 0.001s\n\nFAILED (failures=1, errors=1, skipped=1)", (2, 2, 1)),
            (
                "     Summary [   0.1s] 12 tests run: 12 passed, 0 skipped\ntest result: ok. 3 passed; 0 failed; 0 ignored;",
                (15, 0, 0),
            ),
            // The output of a test does not count.
            (
                "        FAIL [   0.005s] a t\n\n--- STDOUT:              a t ---\n\ntest result: FAILED. 0 passed; 1 failed; 0 ignored;\n\n--- STDERR:              a t ---\n\n------------\n     Summary [   0.1s] 3 tests run: 2 passed, 1 failed, 0 skipped\n   Doc-tests a\n\ntest result: ok. 1 passed; 0 failed; 0 ignored;",
                (3, 1, 0),
            ),
            ("== 1 failed, 3 passed in 0.1s ==\n== 2 passed in 0.1s ==", (5, 1, 0)),
            ("Tests:       1 failed, 2 skipped, 3 passed, 6 total", (3, 1, 2)),
            ("Tests:       4 passed, 4 total", (4, 0, 0)),
            ("  Tests:    1 failed, 2 todos, 1 skipped, 3 passed (7 assertions)", (3, 1, 1)),
            ("  Tests:    3 passed (7 assertions)", (3, 0, 0)),
            (
                "[info] Tests: succeeded 4, failed 1, canceled 0, ignored 2, pending 0\n[info] *** 1 TEST FAILED ***",
                (4, 1, 2),
            ),
            ("Tests: succeeded 4, failed 0, canceled 0, ignored 0, pending 1", (4, 0, 1)),
            ("[error] Failed: Total 4, Failed 1, Errors 1, Passed 2", (2, 2, 0)),
            ("[info] Passed: Total 4, Failed 0, Errors 0, Passed 4, Ignored 1", (4, 0, 1)),
            (
                "Tests: succeeded 2, failed 1, canceled 0, ignored 0, pending 0\n[error] Failed: Total 3, Failed 1, Errors 0, Passed 2",
                (2, 1, 0),
            ),
            ("00:00 +1 -1: a does [E]\n00:01 +2 ~1 -1: Some tests failed.", (2, 1, 1)),
            ("00:00 +1: a does\n00:01 +2: All tests passed!", (2, 0, 0)),
            ("Failure! 1 passed, 2 failed, 1 skipped.", (1, 2, 1)),
            (
                "Firefox 1 (Linux): Executed 4 of 4 (1 FAILED) (0 secs / 0 secs)\nTOTAL: 1 FAILED, 3 SUCCESS",
                (3, 1, 0),
            ),
            ("TOTAL: 3 SUCCESS", (3, 0, 0)),
            (
                "Suite result: FAILED. 1 passed; 1 failed; 0 skipped; finished in 1ms\nSuite result: ok. 2 passed; 0 failed; 1 skipped; finished in 1ms",
                (3, 1, 1),
            ),
            ("3 out of 5 tests failed (0.00s)", (2, 3, 0)),
            ("All 5 tests passed (0.01s)", (5, 0, 0)),
            ("  Failed: 2.  Skipped: 1.  Passed: 3.", (3, 2, 1)),
            ("  All 3 tests passed.", (3, 0, 0)),
            ("Tests Passed: 3, Failed: 1, Skipped: 2 NotRun: 0", (3, 1, 2)),
            ("Success! 3 passed, 0 failed.", (3, 0, 0)),
            ("      Tests  1 failed | 3 passed (4)", (3, 1, 0)),
            ("      Tests  3 passed (3)", (3, 0, 0)),
            ("  3 passing (12ms)\n  1 failing\n  2 pending", (3, 1, 2)),
            ("# tests 4\n# pass 3\n# fail 1\n# skipped 0\n# todo 0", (3, 1, 0)),
            ("ℹ pass 3\nℹ fail 0", (3, 0, 0)),
            // A test may print a counter alone.
            ("TAP version 13\nok 1 a\n# fail 3\nok 2 b\n1..2\n# pass 2\n# skip 1\n# fail 0", (2, 0, 1)),
            ("ok | 3 passed | 0 failed (10ms)", (3, 0, 0)),
            ("FAILED | 2 passed (3 steps) | 1 failed | 1 ignored (12ms)", (2, 1, 1)),
            (
                "[INFO] Tests run: 2, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 0.1 s\n[ERROR] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1",
                (2, 2, 1),
            ),
            ("[WARNING] Tests run: 3, Failures: 0, Errors: 0, Skipped: 0, Flakes: 1", (3, 0, 0)),
            ("OK (3 tests, 4 assertions)", (3, 0, 0)),
            ("Ran 3 tests in 0.001s\n\nOK (expected failures=1)", (2, 0, 1)),
            ("Ran 5 tests in 0.001s\n\nOK (skipped=2, expected failures=1)", (2, 0, 3)),
            (
                "Ran 5 tests in 0.001s\n\nFAILED (failures=1, expected failures=1, unexpected successes=1)",
                (2, 2, 1),
            ),
            ("2 runs, 2 assertions, 1 failures, 0 errors, 0 skips", (1, 1, 0)),
            ("2 runs, 1 assertions, 0 failures, 0 errors, 1 skips", (1, 0, 1)),
            (
                "6 tests, 6 assertions, 1 failures, 1 errors, 1 pendings, 1 omissions, 0 notifications",
                (2, 2, 2),
            ),
            ("2 tests, 1 failure", (1, 1, 0)),
            ("1 doctest, 1 property, 5 tests, 1 failure, 1 excluded, 1 skipped", (4, 1, 2)),
            (
                "Failed!  - Failed:     1, Passed:     3, Skipped:     2, Total:     6, Duration: 20 ms - a.dll (net8.0)\nPassed!  - Failed:     0, Passed:     1, Skipped:     0, Total:     1, Duration: 20 ms - b.dll (net8.0)",
                (4, 1, 2),
            ),
            (
                "Test summary: total: 4, failed: 1, succeeded: 2, skipped: 1, duration: 1.2s\nBuild failed with 1 error(s) in 2.0s",
                (2, 1, 1),
            ),
            (
                "Total tests: 3\n     Passed: 1\n     Failed: 1\n    Skipped: 1\n Total time: 0.6 Seconds",
                (1, 1, 1),
            ),
            (
                "Test run summary: Failed!\n  total: 3\n  failed: 1\n  succeeded: 2\n  skipped: 0\n  duration: 200ms",
                (2, 1, 0),
            ),
            ("  2 tests failed\n  1 test passed\n  1 test skipped\n  1 known failure", (1, 2, 2)),
            (
                "  1 failed\n    [chromium] › a.spec.ts:3:1 › b ───\n  1 flaky\n  1 skipped\n  2 did not run\n  3 passed (1.2s)",
                (4, 1, 3),
            ),
            ("3 specs, 1 failure, 1 pending spec\nFinished in 0.1 seconds", (1, 1, 1)),
            ("Tests: 4, Assertions: 3, Errors: 1, Failures: 1, Skipped: 1.", (1, 2, 1)),
            ("5 examples, 1 failure, 2 pending", (2, 1, 2)),
            ("67% tests passed, 1 tests failed out of 3", (2, 1, 0)),
            ("100% tests passed, 0 tests failed out of 3", (3, 0, 0)),
            ("100% tests passed out of 3", (3, 0, 0)),
            // ctest shows the counts of a program only if it fails.
            (
                "[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:\n67% tests passed, 1 tests failed out of 3",
                (2, 1, 0),
            ),
            (
                "2 examples, 1 failure\nExecuted 1 out of 2 tests: 1 test passes and 1 fails locally.",
                (1, 1, 0),
            ),
            ("Executed 0 out of 2 tests: 2 tests pass.", (2, 0, 0)),
            ("5 examples, 0 failures\n1 of 1 test suites (1 of 1 test cases) passed.", (1, 0, 0)),
            (
                "[==========] 3 tests from 1 test suite ran. (0 ms total)\n[  PASSED  ] 2 tests.\n[  FAILED  ] 1 test, listed below:",
                (2, 1, 0),
            ),
            ("ok - a\nnot ok - b: 1 is not 2\nok - c\n1 of 3 tests fail\n", (2, 1, 0)),
            ("ok - a\nok - b\nok - c\n0 of 3 tests fail\n", (3, 0, 0)),
            ("1..3\nok 1 - a\nnot ok 2 - b\nok 3 - c # SKIP no\n", (1, 1, 1)),
            (
                "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- FAIL: TestB (0.00s)\n    --- SKIP: TestB/x (0.00s)",
                (1, 1, 1),
            ),
            // A line that a test prints may look like the end of another test.
            ("=== RUN   TestA\n--- FAIL: TestNope (0.00s)\n--- PASS: TestA (0.00s)", (1, 0, 0)),
            ("not ok 1 bait\nTAP version 13\n1..2\nok 1 - a\nok 2 - b", (2, 0, 0)),
            (
                "{\"Action\":\"pass\",\"Package\":\"p\",\"Test\":\"TestA\"}\n{\"Action\":\"pass\",\"Package\":\"p\"}",
                (1, 0, 0),
            ),
            ("Ran 4 tests containing 9 assertions.\n2 failures, 1 errors.", (1, 3, 0)),
            ("Ran 4 tests containing 9 assertions.\n0 failures, 0 errors.", (4, 0, 0)),
            ("4 tests, 9 assertions, 1 errors, 1 failures.", (2, 2, 0)),
            ("4 tests, 9 assertions, 0 failures.", (4, 0, 0)),
            (
                "[ FAIL 0 | WARN 0 | SKIP 0 | PASS 2 ]\n[ FAIL 1 | WARN 0 | SKIP 1 | PASS 5 ]\n[ FAIL 1 | WARN 0 | SKIP 1 | PASS 5 ]",
                (5, 1, 1),
            ),
            ("✔ Test run with 3 tests in 1 suite passed after 0.002 seconds.", (3, 0, 0)),
            ("✔ Test run with 1 test passed after 0.002 seconds.", (1, 0, 0)),
            (
                "\t Executed 2 tests, with 1 failure (0 unexpected) in 0.1 (0.1) seconds\nTest Suite 'All tests' failed\n\t Executed 3 tests, with 1 test skipped and 1 failure (0 unexpected) in 0.1 (0.1) seconds",
                (1, 1, 1),
            ),
            (
                "\t Executed 0 tests, with 0 failures (0 unexpected) in 0.0 (0.0) seconds\n✔ Test run with 2 tests in 1 suite passed after 0.1 seconds.",
                (2, 0, 0),
            ),
            ("Results (1.52s):\n       3 passed\n       2 failed\n       1 skipped", (3, 2, 1)),
            ("\u{1b}[32mTests:       4 passed, 4 total\u{1b}[0m", (4, 0, 0)),
        ] {
            let (passed, failed, skipped) = want;
            let want = Some(Tests { passed, failed, skipped });
            assert_eq!(count(output.as_bytes(), b""), want, "{output}");
            assert_eq!(count(b"", output.as_bytes()), want, "on standard error: {output}");
        }
    }

    #[test]
    fn text_without_summary_counts_no_tests() {
        for output in [
            "",
            "all tests passed",
            "2 tests completed, 1 failed",
            "3 files changed",
            "1..2\nnot ok 1 a.lua:2:9: unused variable 'width'\nnot ok 2 a.lua:3:9: unused variable 'height'",
            "it took 5 s, nothing failed in it",
            "ok, done",
        ] {
            assert_eq!(count(output.as_bytes(), b""), None, "{output}");
        }
    }
}
