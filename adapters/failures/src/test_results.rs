//! Results of the tests that an output names one by one.
//!
//! Numbers alone do not distinguish a fixed test from one that was replaced by another. If an output names passed
//! tests, each test that failed or passed before must be among them. Names that look like tests but are not, such as a
//! file that could not be loaded or a fixture, are left out: they disappear when the problem is fixed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use regex::{Captures, Regex};
use serde_json::Value;
use unstuck_core::evidence::{LISTED_MAX, RecordedTestNames, ReporterNaming, TestName, last_component};

use super::clean_output::CleanOutput;
use super::ending::{OnTest, TestOutcome};
use super::format::{go_test, jest, junit, mocha, nextest, node_test, pytest, tap, test_json, without_time};
use super::normalize::Normalizer;
use super::output::ToolOutput;
use super::package::{Packages, StreamPackages};
use super::test_lines;

/// Parts of a test name that may change with each run: a temporary path, a time, a date, a random value, or Rust's
/// suffix of a test. A number with few digits is the name of a case.
static VARIES: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = r"/tmp/\S+|\b[0-9]+(?:\.[0-9]+)? ?(?:ns|µs|us|ms|s|min)\b|[0-9A-Fa-f-]{6,}|[0-9]{4,}| - (?:should panic|compile(?: fail)?)$";
    Regex::new(pattern).expect("a pattern of ours")
});

/// The results of the tests that an output names.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TestResults {
    outcomes: BTreeMap<TestName, BTreeSet<TestOutcome>>,
    /// The Go packages that report that they have no tests, or ran none.
    empty: BTreeSet<String>,
}

/// Reads the results of the tests that an output names, in its text and in its reports.
pub fn list(output: &ToolOutput<'_>) -> TestResults {
    in_pages(output, &CleanOutput::from_output(output))
}

/// Reads the results of the tests that the reports and pages of an output name.
pub(super) fn in_pages(output: &ToolOutput<'_>, pages: &[CleanOutput<'_>; 2]) -> TestResults {
    let normalizer = Normalizer::new(output.cwd);
    let mut listing = TestResults::default();
    let reports: Vec<CleanOutput<'_>> =
        output.reports.iter().map(|report| CleanOutput::new(report.bytes)).collect();
    let cut = pages.each_ref().map(CleanOutput::cut);
    let streams: Vec<StreamPackages<'_>> =
        pages.iter().zip(&cut).map(|(page, cut)| page.stream(cut.own())).collect();
    let packages = Packages::find(&streams, &normalizer);
    for page in &reports {
        listing.take(page.text(), &page.lines(), "", &normalizer);
    }
    for stream in &streams {
        for (lines, package) in packages.parts(stream) {
            listing.take(stream.between(lines), lines, package, &normalizer);
        }
    }
    listing
}

impl TestResults {
    /// Adds the results of the tests that lines name. `package` is empty if they belong to none.
    fn take(&mut self, text: &str, lines: &[&str], package: &str, normalizer: &Normalizer) {
        read(text, lines, &mut |tool, name, outcome| {
            let bare = normalizer.name(name.trim());
            if !is_no_test(&bare) {
                let name = if package.is_empty() { bare } else { format!("{package} > {bare}") };
                let name = TestName { tool: tool.to_owned(), name };
                self.outcomes.entry(name).or_default().insert(outcome);
            }
        });
        self.empty.extend(go_test::packages_without_tests(lines).map(str::to_owned));
    }

    /// Returns the failed tests, and the current results of the tests that failed `before`.
    ///
    /// A missing test counts as run if a passed test replaced it. The replacement has the same last component, and is
    /// not among the tests `known` before.
    pub fn compare_failed(&self, before: &[TestName], known: &Self) -> RecordedTestNames {
        let complete: BTreeSet<&str> =
            self.that(TestOutcome::Passed).map(|(name, _)| name.tool.as_str()).collect();
        let mut listed = RecordedTestNames {
            failed: self.that(TestOutcome::Failed).map(|(name, _)| name.clone()).take(LISTED_MAX).collect(),
            naming: self.naming(),
            ..RecordedTestNames::default()
        };
        let mut missing = Vec::new();
        for name in before {
            match self.outcomes.get(name) {
                Some(_) if self.has_run(name) => listed.ran.push(name.clone()),
                Some(_) => listed.gone.push(name.clone()),
                None if complete.contains(name.tool.as_str()) => missing.push(name),
                None => self.mark_gone_with_package(name, &mut listed),
            }
        }
        if !missing.is_empty() {
            self.replace_missing(&missing, known, &mut listed);
        }
        listed
    }

    /// Replaces each missing test by a new test that passed, if one fits.
    fn replace_missing(&self, missing: &[&TestName], known: &Self, listed: &mut RecordedTestNames) {
        fn key(name: &TestName) -> (&str, &str) {
            (&name.tool, last_component(name))
        }
        let passed = self.that(TestOutcome::Passed);
        let passed = passed.filter(|(_, outcomes)| {
            outcomes.iter().all(|outcome| matches!(outcome, TestOutcome::Passed | TestOutcome::Unknown))
        });
        let mut free =
            ReplacementTests::new(passed.filter(|(name, _)| known.is_new(name)).map(|(name, _)| key(name)));
        for name in missing {
            let list = if free.take(&key(name)) { &mut listed.ran } else { &mut listed.gone };
            list.push((*name).clone());
        }
    }

    /// Returns the current results of the tests that `failed` before, and of the tests that passed before.
    pub fn compare(&self, failed: &[TestName], before: &Self) -> RecordedTestNames {
        let mut listed = self.compare_failed(failed, before);
        listed.gone.extend(self.missing_tests(before));
        listed
    }

    /// Returns the tests that passed `before` and did not run. The rules for a replacement are less strict than for a
    /// failed test: a name may contain a date or a random value.
    ///
    /// Only a tool that names passed tests can show this. Gradle is excluded, since it does not rerun unchanged tests.
    fn missing_tests(&self, before: &Self) -> Vec<TestName> {
        let tools = self.that(TestOutcome::Passed).map(|(name, _)| &*name.tool);
        let complete: BTreeSet<&str> = tools.filter(|tool| *tool != "gradle").collect();
        let key = |name: &TestName| (name.tool.clone(), without_variable_parts(last_component(name)));
        let new = self.that(TestOutcome::Passed).map(|(name, _)| name).filter(|name| before.is_new(name));
        let mut free = ReplacementTests::new(new.map(key));
        let passed =
            before.that(TestOutcome::Passed).filter(|(_, outcomes)| !outcomes.contains(&TestOutcome::Failed));
        let missing =
            passed.map(|(name, _)| name).filter(|name| complete.contains(&*name.tool) && !self.has_run(name));
        let gone = missing.filter(|name| !free.take(&key(name)));
        gone.take(LISTED_MAX).cloned().collect()
    }

    /// Counts the passed tests of each tool that names them.
    fn naming(&self) -> Vec<ReporterNaming> {
        let mut tools: BTreeMap<&str, u64> = BTreeMap::new();
        for (name, outcomes) in &self.outcomes {
            *tools.entry(&name.tool).or_default() += u64::from(outcomes.contains(&TestOutcome::Passed));
        }
        tools.into_iter().map(|(tool, passed)| ReporterNaming { tool: tool.to_owned(), passed }).collect()
    }

    /// Checks whether it names a passed test, so that others may be missing.
    pub fn has_passed(&self) -> bool {
        self.that(TestOutcome::Passed).next().is_some()
    }

    /// Checks whether it does not name a test.
    fn is_new(&self, name: &TestName) -> bool {
        !self.outcomes.contains_key(name)
    }

    /// Returns the tests with this outcome.
    fn that(&self, outcome: TestOutcome) -> impl Iterator<Item = (&TestName, &BTreeSet<TestOutcome>)> {
        self.outcomes.iter().filter(move |(_, outcomes)| outcomes.contains(&outcome))
    }

    fn has_run(&self, name: &TestName) -> bool {
        let outcomes = self.outcomes.get(name);
        outcomes.is_some_and(|outcomes| outcomes.iter().any(|outcome| *outcome != TestOutcome::Skipped))
    }

    /// Marks a failed Go test as gone if its package no longer has tests.
    fn mark_gone_with_package(&self, name: &TestName, listed: &mut RecordedTestNames) {
        if name.tool == "go-test" && self.empty.iter().any(|package| go_test::is_in(&name.name, package)) {
            listed.gone.push(name.clone());
        }
    }
}

/// Number of unused tests that can replace a missing one, by the key that both share.
struct ReplacementTests<K>(BTreeMap<K, usize>);

impl<K: Ord> ReplacementTests<K> {
    fn new(keys: impl Iterator<Item = K>) -> Self {
        let mut free = BTreeMap::new();
        keys.for_each(|key| *free.entry(key).or_default() += 1);
        Self(free)
    }

    /// Takes one of them, and returns whether one was left.
    fn take(&mut self, key: &K) -> bool {
        let left = self.0.get_mut(key).filter(|left| **left > 0);
        left.map(|left| *left -= 1).is_some()
    }
}

/// Checks whether a name is not a test: a file, or a step around the tests.
fn is_no_test(name: &str) -> bool {
    const AROUND: [&str; 10] = [
        "setUpClass",
        "tearDownClass",
        "setUpModule",
        "tearDownModule",
        "setup_file",
        "teardown_file",
        "setup_suite",
        "teardown_suite",
        "initializationError",
        "executionError",
    ];
    let is_file = [".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx", ".py"];
    name.is_empty()
        || name.contains("_FailedTest")
        || AROUND.iter().any(|part| name.starts_with(part) || name.ends_with(part))
        || is_file.iter().any(|end| name.ends_with(end))
}

/// Returns a name without the parts that may change with each run.
fn without_variable_parts(name: &str) -> String {
    let kept = |found: &Captures<'_>| {
        let found = &found[0];
        let is_word = !found.starts_with([' ', '/']) && !found.contains(|c: char| c.is_ascii_digit());
        if is_word { found.to_owned() } else { String::new() }
    };
    VARIES.replace_all(name, kept).into_owned()
}

/// A pattern for lines that report one test, with the groups `name` and `outcome`; an unreadable result has no `outcome`.
struct Line {
    tool: &'static str,
    /// Text of which every such line contains one.
    marks: &'static [&'static str],
    pattern: Regex,
}

static LINES: LazyLock<Vec<Line>> = LazyLock::new(|| {
    #[rustfmt::skip]
    let lines: [(&str, &[&str], &str); 9] = [
        // Output that was not captured may precede or follow.
        ("cargo-test", &["test "], r"^.*?test (?<name>\S+(?: - .*?)?) \.\.\. ?(?:(?<ending>ok|FAILED|ignored)(?: <[\d.]+s>|, .*)?$)?"),
        ("cargo-nextest", &["s] "], r"^\s+(?:TRY \d+ )?(?<ending>[A-Z]{3,})(?: \+ LEAK)? +\[ *>? *[\d.]+s\](?: \([ \d/─]+\))? +(?<name>\S+ .+)$"),
        ("pytest", &["::"], r"^(?<name>[^\s:]+\.py::.+?) (?<ending>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS)(?: \(.*\))?\s*(?:\[ *\d+%\])?$"),
        ("pytest", &["::"], r"^\[gw\d+\] \[ *\d+%\] (?<ending>PASSED|FAILED|ERROR|SKIPPED|XFAIL|XPASS) (?<name>\S+\.py::.+?)\s*$"),
        ("pytest", &["::"], r"^(?<name>[^\s:]+\.py::[^\s\[]+(?:\[.*?\])?) "),
        ("vitest", &[" ✓ ", " × ", " ↓ "], r"^ (?<ending>✓|×|↓) (?<name>[^\s|]+ > .+?)(?: \(retry x\d+\))?(?: \d+ms)?(?: \d+ MB heap used)?$"),
        ("gtest", &["[       OK ]", "[  FAILED  ]", "[  SKIPPED ]"], r"^.*?\[ +(?<ending>OK|FAILED|SKIPPED) +\] (?<name>[^\s,]+\.[^\s,]+)(?:, where .*?)? \(\d+ ms\)$"),
        ("gradle", &[" > "], r"^(?<name>\S.* > .+) (?<ending>PASSED|FAILED|SKIPPED)$"),
        ("unittest", &[" ... "], r"^(?<name>\w+ \([\w.<>]+\)) \.\.\. (?:(?<ending>ok|FAIL|ERROR|skipped|expected failure|unexpected success)\b.*$)?"),
    ];
    let line = |(tool, marks, pattern): (&'static str, &'static [&'static str], &str)| Line {
        tool,
        marks,
        pattern: Regex::new(pattern).expect("a pattern of ours"),
    };
    lines.into_iter().map(line).collect()
});

fn parse_outcome(word: &str) -> TestOutcome {
    match word {
        "ok" | "OK" | "PASS" | "PASSED" | "LEAK" | "FLAKY" | "XPASS" | "✓" | "pass" => TestOutcome::Passed,
        "ignored" | "SKIP" | "SKIPPED" | "XFAIL" | "skipped" | "expected failure" | "skip" | "↓" => {
            TestOutcome::Skipped
        }
        _ if nextest::is_under_way(word) => TestOutcome::Unknown,
        _ => TestOutcome::Failed,
    }
}

fn read(text: &str, lines: &[&str], tell: &mut OnTest<'_>) {
    if text.contains("<testcase") {
        junit::outcomes(text, tell);
        return;
    }
    if ["\"assertionResults\"", "\"fullTitle\"", "\"full_description\"", "\"expectedStatus\""]
        .iter()
        .any(|mark| text.contains(mark))
    {
        test_json::outcomes(text, tell);
    }
    let mut before = "";
    for line in lines {
        if let Some((tool, name, outcome)) = parse_line(line) {
            tell(tool, &name, outcome);
        } else if let Some((name, outcome)) = parse_description(before, line) {
            tell("unittest", name, outcome);
        } else if line.starts_with('{') {
            read_json(line, tell);
        }
        before = line;
    }
    go_test::outcomes(lines, tell);
    tap::outcomes(lines, tell);
    node_test::outcomes(lines, tell);
    jest::outcomes(lines, tell);
    mocha::outcomes(lines, tell);
    pytest::outcomes(lines, tell);
    test_lines::outcomes(text, lines, tell);
}

/// Reads a line that reports the result of a test.
fn parse_line(line: &str) -> Option<(&'static str, String, TestOutcome)> {
    let may_be = |rule: &&Line| rule.marks.iter().any(|mark| line.contains(mark));
    let found = LINES.iter().filter(may_be).find_map(|rule| Some((rule.tool, rule.pattern.captures(line)?)));
    let (tool, found) = found?;
    // The line of a doc test is not part of the name, because it moves.
    static AT_LINE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" \(line \d+\)").expect("well formed"));
    let name = without_time(&found["name"]);
    let name = if tool == "cargo-test" { AT_LINE.replace(name, "") } else { name.into() };
    Some((
        tool,
        name.into_owned(),
        found.name("ending").map_or(TestOutcome::Unknown, |group| parse_outcome(group.as_str())),
    ))
}

/// Reads the result of a unittest test that has a description on the line below its name.
fn parse_description<'l>(before: &'l str, line: &str) -> Option<(&'l str, TestOutcome)> {
    static NAME: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\w+ \([\w.<>]+\)$").expect("well formed"));
    let (_, word) = line.rsplit_once(" ... ")?;
    let word = if word.starts_with("skipped ") { "skipped" } else { word };
    NAME.is_match(before).then(|| (before, parse_outcome(word)))
}

/// Reads a line of the JSON of `go test` or of libtest.
fn read_json(line: &str, tell: &mut OnTest<'_>) {
    if !line.contains("\"Test\":") && !line.contains("\"event\":") {
        return;
    }
    let Ok(event) = serde_json::from_str::<Value>(line) else { return };
    let text = |key: &str| event.get(key).and_then(Value::as_str);
    let (action, package, test) = (text("Action"), text("Package"), text("Test"));
    if let (Some(action @ ("pass" | "fail" | "skip")), Some(package), Some(test)) = (action, package, test) {
        tell("go-test", &format!("{package}.{test}"), parse_outcome(action));
    }
    let (kind, how, name) = (text("type"), text("event"), text("name"));
    if let (Some("test"), Some(how @ ("ok" | "failed" | "ignored")), Some(name)) = (kind, how, name) {
        // The number of a retry follows the name.
        tell("cargo-test", name.split('#').next().unwrap_or_default(), parse_outcome(how));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lists the failed tests of `before`, and checks their results in each of `after`.
    fn check(before: &str, failed: &[&str], after: &[(&str, &str)]) {
        let read = |text: &str| {
            let report = super::super::MachineReport { format: "", bytes: text.as_bytes() };
            let output = ToolOutput { stdout: text.as_bytes(), cwd: "/w", ..ToolOutput::default() };
            match text.starts_with('<') {
                true => list(&ToolOutput { stdout: b"", reports: vec![report], ..output }),
                false => list(&output),
            }
        };
        let names = |names: &[TestName]| names.iter().map(|test| test.name.clone()).collect::<Vec<_>>();
        let known = read(before);
        let first = known.compare_failed(&[], &TestResults::default()).failed;
        assert_eq!(names(&first), failed, "{before}");
        for (text, want) in after {
            let listed = read(text).compare_failed(&first, &known);
            let got = match (listed.ran.is_empty(), listed.gone.is_empty()) {
                (true, true) => "unseen",
                (false, true) => "ran",
                (_, false) => "gone",
            };
            assert_eq!(got, *want, "{text}");
        }
    }

    #[test]
    fn failed_test_must_run_if_tests_are_named() {
        check(
            "test a ... ok\ntest b ... FAILED\ntest src/l.rs - f (line 3) ... FAILED",
            &["b", "src/l.rs - f"],
            &[
                ("test a ... ok\ntest b ... ok\ntest src/l.rs - f (line 9) ... ok", "ran"),
                ("test b ... said\nok\nwordtest src/l.rs - f (line 9) ... ok", "ran"),
                ("test b ... FAILED\ntest src/l.rs - f (line 9) ... FAILED", "ran"),
                ("test a ... ok\ntest b ... ok\ntest c ... ok", "gone"),
                ("test b ... ignored\ntest src/l.rs - f (line 9) ... ok", "gone"),
                ("test b ... ignored, later\ntest src/l.rs - f (line 9) ... ok", "gone"),
                ("test b - should panic ... ok\ntest src/l.rs - f (line 9) ... ok", "gone"),
                ("running 2 tests\n..\n", "unseen"),
                ("error: could not compile `a`", "unseen"),
            ],
        );
        check(
            "        FAIL [   0.005s] (1/2) app::it b\n        PASS [   0.004s] (2/2) app::it a",
            &["app::it b"],
            &[
                ("        PASS [   0.005s] (1/2) app::it b", "ran"),
                ("        PASS [   0.005s] (1/2) other b", "ran"),
                ("        PASS [   0.005s] (1/2) other c", "gone"),
                (" TERMINATING [>  2.000s] (───) app::it b\n        PASS [   0.005s] (1/2) app::it a", "ran"),
                (
                    "        SLOW [>  1.000s] (───) app::more b\n        PASS [   1.005s] (1/2) app::more b",
                    "ran",
                ),
                ("  TRY 1 FAIL [   0.005s] (───) app::it b\n  TRY 2 PASS [   0.005s] (2/2) app::it b", "ran"),
                ("     Summary [   0.005s] 2 tests run: 2 passed, 0 skipped", "unseen"),
            ],
        );
        // A try that is not the last one has no number.
        check(
            "  TRY 1 FAIL [   0.005s] (───) app::it b\n  TRY 2 FAIL [   0.005s] (1/2) app::it b\n        PASS [   0.004s] (2/2) app::it a",
            &["app::it b"],
            &[("        PASS [   0.005s] (1/2) app::it b", "ran")],
        );
        check(
            "=== RUN   TestB\n=== RUN   TestB/x_1\n--- FAIL: TestNope (0.00s)\n--- FAIL: TestB (0.00s)\n    --- FAIL: TestB/x_1 (0.00s)\nFAIL\nFAIL\tm/p\t0.1s",
            &["m/p.TestB", "m/p.TestB/x_1"],
            &[
                ("--- PASS: TestB (0.00s)\n    --- PASS: TestB/x_1 (0.00s)\nok  \tm/p\t0.1s", "ran"),
                ("--- PASS: TestB (0.00s)\nok  \tm/p\t0.1s", "gone"),
                ("--- SKIP: TestB (0.00s)\n    --- SKIP: TestB/x_1 (0.00s)\nok  \tm/p\t0.1s", "gone"),
                // Moved to another package.
                ("--- PASS: TestB (0.00s)\n    --- PASS: TestB/x_1 (0.00s)\nok  \tm/q\t0.1s", "ran"),
                ("ok  \tm/p\t0.1s", "unseen"),
            ],
        );
        check(
            "FAIL ./calc.test.js\n  ✓ top\n  group\n    ✕ adds (4 ms)\n    ○ skipped later\n\n  ● group › adds\n\n    boom\n\nTests:       1 failed, 1 skipped, 1 passed, 3 total",
            &["calc.test.js › group › adds"],
            &[
                (
                    "PASS ./calc.test.js\n  ✓ top\n  group\n    ✓ adds (2 ms)\n\nTests:       2 passed, 2 total",
                    "ran",
                ),
                (
                    "PASS ./calc.test.js\n  ✓ top\n  sums\n    ✓ adds (2 ms)\n\nTests:       2 passed, 2 total",
                    "ran",
                ),
                (
                    "PASS ./calc.test.js\n  ✓ top\n  group\n    ○ skipped adds\n\nTests:       1 skipped, 1 passed, 2 total",
                    "gone",
                ),
                (
                    "PASS ./calc.test.js\n  ✓ module loads (1 ms)\n  ✓ top\n\nTests:       2 passed, 2 total",
                    "gone",
                ),
                ("PASS ./calc.test.js\nPASS ./more.test.js\n\nTests:       2 passed, 2 total", "unseen"),
            ],
        );
        check(
            " × calc.test.js > group > adds 7ms\n   → expected -1 to be 3\n ✓ calc.test.js > top 0ms\n\n FAIL  calc.test.js > group > adds\nAssertionError: expected -1 to be 3\n\n      Tests  1 failed | 1 passed (2)",
            &["calc.test.js > group > adds"],
            &[
                (" ✓ calc.test.js > group > adds 1ms\n ✓ calc.test.js > top 0ms", "ran"),
                (" ↓ calc.test.js > group > adds\n ✓ calc.test.js > top 0ms", "gone"),
                (" ✓ calc.test.js > loads 1ms\n ✓ calc.test.js > top 0ms", "gone"),
                (" ✓ calc.test.js (2 tests) 3ms", "unseen"),
            ],
        );
        check(
            "\n  Calc\n    add\n      ✔ sums (5ms)\n      1) adds\n    - later\n    2) \"after each\" hook for \"later\"\n\n\n  1 passing (10ms)\n  1 pending\n  2 failing\n\n  1) Calc\n       add\n         adds:\n     Error: boom\n",
            &["Calc > add > adds"],
            &[
                ("  Calc\n    add\n      ✔ sums\nprinted\n      ✔ adds (3ms)\n\n  2 passing (9ms)", "ran"),
                ("  Sums\n    ✔ adds\n\n  1 passing (9ms)", "ran"),
                ("  Calc\n    add\n      ✔ sums\n      - adds\n\n  1 passing (9ms)\n  1 pending", "gone"),
                ("  Calc\n    add\n      ✔ sums\n    ✔ loads\n\n  2 passing (9ms)", "gone"),
                ("  ․․\n\n  2 passing (9ms)", "unseen"),
            ],
        );
        check(
            "PASSED t/test_a.py::test_a[x - y]\nXFAIL t/test_a.py::test_x - known\nFAILED t/test_a.py::test_b - assert 1 == 2",
            &["t/test_a.py::test_b"],
            &[
                ("PASSED t/test_a.py::test_a[x - y]\nPASSED t/test_a.py::test_b", "ran"),
                ("PASSED t/test_a.py::test_a[x - y]\nXFAIL t/test_a.py::test_b - known", "gone"),
                ("PASSED t/test_a.py::test_a[x - y]\nPASSED t/test_a.py::test_c", "gone"),
                ("2 passed in 0.01s", "unseen"),
            ],
        );
        check("FAILED t/test_a.py::test_b - assert 1 == 2", &[], &[]);
        let jest = |status: &str, title: &str| {
            format!(
                r#"{{"numTotalTests":2,"testResults":[{{"name":"a.test.js","assertionResults":[{{"ancestorTitles":["g"],"title":"top","status":"passed"}},{{"ancestorTitles":["g"],"title":"{title}","status":"{status}"}}]}}]}}"#
            )
        };
        check(
            &jest("failed", "adds"),
            &["a.test.js › g › adds"],
            &[
                (&jest("passed", "adds"), "ran"),
                (&jest("pending", "adds"), "gone"),
                (&jest("passed", "loads"), "gone"),
            ],
        );
        let mocha = |passes: &str, failures: &str| {
            let test = |title: &str| format!("{{\"fullTitle\": \"{title}\"}}");
            format!("{{\n  \"passes\": [{}],\n  \"failures\": [{failures}]\n}}", test(passes))
        };
        let failures = r#"{"fullTitle": "Calc adds"}, {"fullTitle": "Calc \"before all\" hook"}"#;
        check(
            &mocha("Calc sums", failures),
            &["Calc adds"],
            &[(&mocha("Calc adds", ""), "ran"), (&mocha("Calc loads", ""), "gone")],
        );
        check(
            r#"{"Action":"fail","Package":"p","Test":"TestB","Elapsed":0}"#,
            &["p.TestB"],
            &[
                (r#"{"Action":"pass","Package":"p","Test":"TestB","Elapsed":0}"#, "ran"),
                (r#"{"Action":"skip","Package":"p","Test":"TestB","Elapsed":0}"#, "gone"),
                (r#"{"Action":"pass","Package":"p","Test":"TestC","Elapsed":0}"#, "gone"),
            ],
        );
        check(
            r#"{ "type": "test", "event": "failed", "name": "a::b$c#2" }"#,
            &["a::b$c"],
            &[
                (r#"{ "type": "test", "event": "ok", "name": "a::b$c" }"#, "ran"),
                (r#"{ "type": "test", "event": "ignored", "name": "a::b$c" }"#, "gone"),
            ],
        );
    }

    #[test]
    fn replacement_of_a_test_has_the_same_name() {
        check(
            "test adds ... FAILED\ntest m::adds ... ok",
            &["adds"],
            &[
                ("test m::adds ... ok\ntest calc::tests::adds ... ok", "ran"),
                ("test m::adds ... ok", "gone"),
                ("test m::adds ... ok\ntest calc::tests::adds ... ignored", "gone"),
                ("test m::adds ... ok\ntest calc::tests::adds ... FAILED", "gone"),
                ("test m::adds ... ok\ntest calc::tests::adds_all ... ok", "gone"),
            ],
        );
        // Each replaces only one.
        check(
            "test a::adds ... FAILED\ntest b::adds ... FAILED",
            &["a::adds", "b::adds"],
            &[
                ("test c::adds ... ok\ntest d::adds ... ok", "ran"),
                ("test c::adds ... ok", "gone"),
                ("test a::adds ... ok\ntest d::adds ... ok", "ran"),
                ("test a::adds ... ok", "gone"),
            ],
        );
        check(
            "t.py::T::test_a FAILED [ 50%]\nt.py::test_b PASSED [100%]",
            &["t.py::T::test_a"],
            &[
                ("t.py::test_a[1.5-2] PASSED [ 50%]\nt.py::test_b PASSED [100%]", "ran"),
                ("tests/u.py::test_a PASSED [ 50%]\nt.py::test_b PASSED [100%]", "ran"),
                ("t.py::test_a[1-2] XFAIL [ 50%]\nt.py::test_b PASSED [100%]", "gone"),
            ],
        );
        check(
            "test_b (t.A.test_b) ... FAIL",
            &["test_b (t.A.test_b)"],
            &[("test_b (u.B.test_b) ... ok", "ran"), ("test_c (u.B.test_c) ... ok", "gone")],
        );
        check(
            "▶ s\n  ✖ adds it (0.2ms)\n✖ s (1ms)\nℹ tests 2",
            &["s", "s > adds it"],
            &[("▶ s\n  ▶ t\n    ✔ adds it (0.2ms)\n  ✔ t (1ms)\n✔ s (1ms)\nℹ tests 3", "ran")],
        );
        check(
            "▶ s\n  ✖ reads v1.2 (0.2ms)\n✖ s (1ms)\nℹ tests 2",
            &["s", "s > reads v1.2"],
            &[("▶ s\n  ✔ writes v3.2 (0.2ms)\n✔ s (1ms)\nℹ tests 2", "gone")],
        );
    }

    #[test]
    fn a_test_that_passed_vanishes_where_what_passes_has_names() {
        let check = |before: &str, after: &str, want: &[&str]| {
            let [before, after] = [before, after].map(|text| {
                list(&ToolOutput { stdout: text.as_bytes(), cwd: "/w", ..ToolOutput::default() })
            });
            let names: Vec<String> = after.missing_tests(&before).into_iter().map(|test| test.name).collect();
            assert_eq!(names, want);
        };
        let cargo = "test a::x ... ok\ntest b ... ok\ntest c ... FAILED\ntest d ... ignored";
        check(cargo, "test b ... ok\ntest c ... ok\ntest e ... ok", &["a::x"]);
        check(cargo, "test a::x ... ignored\ntest b ... ok", &["a::x"]);
        // Moved, failing, or run with its output on its line.
        check(cargo, "test m::x ... ok\ntest b ... FAILED", &[]);
        check(cargo, "test a::x ... it says\nok\ntest b ... ok", &[]);
        // An output without names proves nothing.
        check(cargo, "running 3 tests\n...\n", &[]);
        check(cargo, "error: could not compile `a`", &[]);
        check(cargo, "test c ... FAILED", &[]);
        // Each replaces only one.
        check("test m::x ... ok\ntest n::x ... ok", "test o::x ... ok\ntest b ... ok", &["n::x"]);
        // A name with another varying part is the same test, but another case is not.
        for (before, after) in [
            ("took 900ms", "took 1.1s"),
            ("reads /tmp/abXd", "reads /tmp/qWer"),
            ("user 3f2a9cde", "user a9c04b1e"),
            ("a - should panic", "a"),
        ] {
            let of = |name| format!("TAP version 13\nok 1 - {name}\nok 2 - b\n1..2");
            check(&of(before), &of(after), &[]);
        }
        check("test t::case_2 ... ok\ntest b ... ok", "test t::case_3 ... ok\ntest b ... ok", &["t::case_2"]);
        check("test faded ... ok\ntest b ... ok", "test facade ... ok\ntest b ... ok", &["faded"]);
        check(
            "t.py::test_a[a b] PASSED [ 50%]\nt.py::test_b PASSED [100%]",
            "t.py::test_a[a b] called a b\nPASSED\nt.py::test_b PASSED",
            &[],
        );
        check(
            " ✓ a.ts > b 0ms\n ✓ a.ts > c 0ms",
            " ✓ a.ts > b 0ms 20 MB heap used\n ✓ a.ts > c 1ms 19 MB heap used",
            &[],
        );
        check(
            "t.py::test_at[2026-11-24] PASSED [ 50%]\nt.py::test_b PASSED [100%]",
            "t.py::test_at[2026-11-25] PASSED [ 50%]\nt.py::test_b PASSED [100%]",
            &[],
        );
        check(
            "=== RUN   TestA\n--- PASS: TestA (0.00s)\n=== RUN   TestB\n--- PASS: TestB (0.00s)\nPASS\nok  \tm/p\t0.1s",
            "=== RUN   TestA\nprinted--- PASS: TestA (0.00s)\n=== RUN   TestC\n--- PASS: TestC (0.00s)\nPASS\nok  \tm/p\t0.1s",
            &["m/p.TestB"],
        );
        check(
            "[       OK ] A.a (0 ms)\n[       OK ] A.b (0 ms)",
            "printed[       OK ] A.a (0 ms)\n[       OK ] A.c (0 ms)",
            &["A.b"],
        );
        // Unchanged tests do not run again.
        check("T > a() PASSED\nU > b() PASSED", "T > a() PASSED", &[]);
    }

    #[test]
    fn a_test_that_one_observation_ran_is_not_gone() {
        let names = |all: &[&str]| -> Vec<TestName> {
            all.iter().map(|name| TestName { tool: "t".to_owned(), name: (*name).to_owned() }).collect()
        };
        let of = |gone, ran| RecordedTestNames {
            gone: names(gone),
            ran: names(ran),
            ..RecordedTestNames::default()
        };
        // `f` is one of the tests that failed before the work began.
        for (one, two, gone) in [
            (of(&["a", "f"], &[]), of(&[], &[]), &["f"][..]),
            (of(&["a", "f"], &[]), of(&["a"], &["f"]), &["a"]),
            (of(&["a"], &[]), of(&["b"], &[]), &[]),
        ] {
            assert_eq!(one.merge(&two, &names(&["f"])).gone, names(gone));
        }
    }

    #[test]
    fn a_package_without_tests_has_none_that_failed() {
        check(
            "--- FAIL: TestB (0.00s)\nFAIL\nFAIL\tm/p\t0.1s\nok  \tm\t0.1s",
            &["m/p.TestB"],
            &[
                ("?   \tm/p\t[no test files]\nok  \tm\t0.1s", "gone"),
                ("ok  \tm/p\t0.002s [no tests to run]\nok  \tm\t0.1s", "gone"),
                ("ok  \tm/p\t0.002s\n?   \tm\t[no test files]", "unseen"),
                ("\tm/p\t\tcoverage: 0.0% of statements", "unseen"),
            ],
        );
    }

    #[test]
    fn so_it_has_in_other_languages() {
        check(
            "t.py::test_b[x y] FAILED  [ 50%]\nt.py::test_a PASSED  [100%]\nFAILED t.py::test_b[x y] - assert 0\nu.py ERROR",
            &["t.py::test_b[x y]"],
            &[
                ("t.py::test_b[x y] PASSED [ 50%]", "ran"),
                ("[gw0] [ 50%] PASSED t.py::test_b[x y] ", "ran"),
                ("t.py::test_b[x y] XPASS [ 50%]", "ran"),
                ("t.py::test_b[x y] XFAIL (why) [ 50%]", "gone"),
                ("t.py::test_b[x y] SKIPPED (why) [ 50%]", "gone"),
                ("t.py::test_c PASSED [ 50%]", "gone"),
                ("t.py ..   [100%]\n2 passed in 0.1s", "unseen"),
            ],
        );
        check(
            "test_b (t.A.test_b) ... FAIL\ntest_d (t.A.test_d)\nIt does. ... FAIL\nsetUpClass (t.A) ... ERROR\nx (unittest.loader._FailedTest.x) ... ERROR",
            &["test_b (t.A.test_b)", "test_d (t.A.test_d)"],
            &[
                ("test_b (t.A.test_b) ... ok\ntest_d (t.A.test_d)\nIt does. ... ok", "ran"),
                ("test_b (t.A.test_b) ... a line\nok\ntest_d (t.A.test_d) ... ok", "ran"),
                ("test_b (t.A.test_b) ... expected failure\ntest_d (t.A.test_d) ... ok", "gone"),
                ("test_b (t.A.test_b) ... ok\ntest_d (t.A.test_d)\nIt does. ... skipped 'later'", "gone"),
                ("test_zzz (t.A.test_zzz) ... ok", "gone"),
                ("..\nRan 2 tests in 0.1s\n\nOK", "unseen"),
            ],
        );
        check(
            "TAP version 13\n# Subtest: s\n    not ok 1 - b\n    1..1\nok 2 - a.js\nnot ok 3 - /w/c.test.js\nnot ok 4 - d # TODO\n1..4",
            &["s > b"],
            &[
                ("TAP version 13\n# Subtest: s\n    ok 1 - b\n    1..1\nok 1 - s\n1..1", "ran"),
                ("TAP version 13\n# Subtest: s\n    ok 1 - b # SKIP no\n    1..1\nok 1 - s\n1..1", "gone"),
                ("TAP version 13\nok 1 - c\n1..1", "gone"),
                ("fine", "unseen"),
            ],
        );
        // A finding of a linter is not a test. Check and cmocka append the reason of a failure to the name.
        check("1..2\nnot ok 1 a.lua:2:9: unused variable 'w'\nok 2 b.lua", &[], &[]);
        check(
            "not ok 1 - t.c:core:test_push: Assertion '2 == 1' failed: 2 == 2\nnot ok 2 - test_fx Could not run test: Test setup failed\n1..2",
            &["t.c:core:test_push", "test_fx"],
            &[
                ("ok 1 - t.c:core:test_push: Passed\nok 2 - test_fx\n1..2", "ran"),
                ("ok 1 - t.c:core:test_pop: Passed\nok 2 - test_fx\n1..2", "gone"),
            ],
        );
        check("1..1\nnot ok 1 boom\n  ---\n    operator: fail\n  ...", &[], &[]);
        check("not ok 1 - it may be anything", &[], &[]);
        check(
            " ✓ a\n ✗ b [12]\n   (in test file b.bats, line 2)\n\n2 tests, 1 failure",
            &["b"],
            &[
                (" ✓ a\n ✓ b [9]\n\n2 tests, 0 failures", "ran"),
                (" ✓ a\n ✓ c\n\n2 tests, 0 failures", "gone"),
                (" ✓ a\n - b (skipped)\n\n2 tests, 0 failures, 1 skipped", "gone"),
            ],
        );
        check(
            "▶ s\n  ✔ a (0.3ms)\n  ✖ b (0.2ms)\n✖ s (1ms)\nℹ tests 2\n✖ failing tests:\n✖ b (0.2ms)",
            &["s", "s > b"],
            &[
                ("▶ s\n  ✔ a (0.3ms)\n  ✔ b (0.2ms)\n✔ s (1ms)\nℹ tests 2", "ran"),
                ("▶ s\n  ✔ a (0.3ms)\n  ﹣ b (0.2ms) # SKIP\n✔ s (1ms)\nℹ tests 2", "gone"),
                ("▶ s\n  ✔ a (0.3ms)\n✔ s (1ms)\nℹ tests 2", "gone"),
            ],
        );
        check(
            "[ RUN      ] A.b\n[  FAILED  ] A.b (0 ms)\n[  FAILED  ] A.b\n 1 FAILED TEST",
            &["A.b"],
            &[
                ("[       OK ] A.b (0 ms)", "ran"),
                ("[  SKIPPED ] A.b (0 ms)", "gone"),
                ("[       OK ] A.c (0 ms)", "gone"),
            ],
        );
        check(
            "T > b() FAILED\n    java.lang.E at T.java:1\n",
            &["T > b()"],
            &[("T > b() PASSED", "ran"), ("T > c() PASSED", "gone"), ("BUILD SUCCESSFUL in 1s", "unseen")],
        );
    }

    #[test]
    fn failed_test_must_run_for_tools_that_list_each_test() {
        // The output of each tool, the name of a failed test, and the text that turns its failure into a pass.
        for (text, failed, mended) in [
            (
                "Ran 2 tests for test/L.t.sol:L\n[FAIL: 7 != 8] test_Book() (gas: 12345)\n[PASS] test_Open() (gas: 5432)\nSuite result: FAILED. 1 passed; 1 failed; 0 skipped; finished in 1ms",
                "test/L.t.sol:L > test_Book()",
                ("[FAIL: 7 != 8]", "[PASS]"),
            ),
            (
                "\n   FAIL  Tests\\Unit\\LTest\n  ✓ it opens empty          0.01s  \n  ⨯ it books an amount      0.01s  \n",
                "Tests/Unit/LTest > it books an amount",
                ("⨯", "✓"),
            ),
            (
                "[info] LSpec:\n[info] - should open (12 milliseconds)\n[info] - should book *** FAILED *** (3 milliseconds)\n[info]   7 did not equal 8 (L.scala:12)\n[info] Tests: succeeded 1, failed 1, canceled 0, ignored 0, pending 0",
                "LSpec > should book",
                (" *** FAILED ***", ""),
            ),
            (
                "shop.LSuite:\n  + opens empty 0.001s\n==> X shop.LSuite.books  0.045s munit.ComparisonFailException: L.scala:12\n",
                "shop.LSuite > books",
                ("==> X shop.LSuite.books", "  + books"),
            ),
            (
                "00:00 +0: loading test/l_test.dart\n00:00 +0: test/l_test.dart: l opens\n00:00 +1: test/l_test.dart: l books\n00:00 +1 -1: test/l_test.dart: l books [E]\n  Expected: <8>\n00:00 +1 -1: Some tests failed.",
                "test/l_test.dart: l books",
                (" [E]", ""),
            ),
            (
                "✔ Test opens() passed after 0.001 seconds.\n✘ Test \"books it\" recorded an issue at L.swift:12:9: no\n✘ Test \"books it\" failed after 0.001 seconds with 1 issue.\n✘ Test run with 2 tests in 1 suite failed after 0.002 seconds with 1 issue.",
                "\"books it\"",
                ("\"books it\" failed", "\"books it\" passed"),
            ),
            (
                "Test Case '-[A testA]' passed (0.001 seconds)\nTest Case '-[A testB]' failed (0.001 seconds)",
                "-[A testB]",
                ("failed", "passed"),
            ),
            (
                "shop\n  opens empty:     OK (0.01s)\n  books an amount: FAIL\n    T.hs:7:\n\n1 out of 2 tests failed (0.01s)",
                "books an amount",
                ("FAIL", "OK"),
            ),
            (
                "======================== EUnit ========================\nl_tests: open_test...ok\nl_tests: book_test...[0.003 s] *failed*\n",
                "l_tests: book_test",
                ("*failed*", "ok"),
            ),
            (
                "  [+] opens empty 3ms (2ms|1ms)\n  [-] books an amount 12ms (10ms|2ms)\n[+] /w/L.Tests.ps1 210ms\nTests Passed: 1, Failed: 1, Skipped: 0 NotRun: 0",
                "books an amount",
                ("[-]", "[+]"),
            ),
            ("PHPUnit 10.5\n\nCart\n ✔ Holds\n ✘ Adds up [0.12 ms]\n   │\n", "Adds up", ("✘", "✔")),
            (
                "Starting test execution, please wait...\n  Passed Shop.CartTest.Holds [2 ms]\n  Failed Shop.CartTest.Total [12 ms]\n",
                "Shop.CartTest.Total",
                ("Failed", "Passed"),
            ),
            (
                "  ✓  1 [chromium] › a.spec.ts:2:3 › sum › adds (6ms)\n  ✘  2 [chromium] › a.spec.ts:9:3 › sum › takes (6ms)\n",
                "[chromium] › a.spec.ts › sum › takes",
                ("✘  2 [chromium] › a.spec.ts:9:3", "✓  2 [chromium] › a.spec.ts:12:3"),
            ),
            (
                "bun test v1.1\n\na.test.ts:\n(pass) sum > adds [0.12ms]\n(fail) sum > takes [0.12ms]\n",
                "a.test.ts > sum > takes",
                ("(fail)", "(pass)"),
            ),
            (
                "running 2 tests from ./a_test.ts\nadds ... ok (1ms)\ntakes ... FAILED (2ms)\n\nFAILED | 1 passed | 1 failed (3ms)",
                "./a_test.ts > takes",
                ("takes ... FAILED", "takes ... ok"),
            ),
            ("A#test_a = 0.00 s = .\nA#test_b = 0.00 s = F\n", "A#test_b", ("= F", "= .")),
            (
                "1/2 Test #1: unit.parse .......   Passed    0.01 sec\n2/2 Test #2: unit.store .......***Failed    0.01 sec\n50% tests passed, 1 tests failed out of 2",
                "unit.store",
                ("***Failed", "   Passed"),
            ),
            (
                "//a:test PASSED in 0.1s\n//b:test FAILED in 0.1s\n\nExecuted 2 out of 2 tests: 1 test passes and 1 fails locally.",
                "//b:test",
                ("FAILED", "PASSED"),
            ),
        ] {
            let (from, to) = mended;
            let last = failed.rsplit(' ').next().unwrap_or_default();
            let gone: String =
                text.lines().filter(|line| !line.contains(last)).map(|line| format!("{line}\n")).collect();
            let failed = failed.replace("Tests/Unit/", "Tests\\Unit\\");
            check(text, &[&*failed], &[(&text.replace(from, to), "ran"), (&gone, "gone")]);
        }
        // A file for which vitest shows no tests is not a test, however many it contains.
        check(" ✓ a.test.ts (2 tests) 3ms\n ✓ b.test.ts (1 test) 3ms\n\n Tests  3 passed (3)", &[], &[]);
        assert!(
            !list(&ToolOutput {
                stdout: " ✓ a.test.ts (2 tests) 3ms\n".as_bytes(), ..ToolOutput::default()
            })
            .has_passed()
        );
    }

    #[test]
    fn test_name_includes_its_package() {
        let tap = "TAP version 13\n";
        let of = |package: &str, said: &str| {
            format!("\n> {package}@1.0.0 test\n> tap\n\n{tap}{said} 1 - adds\nok 2 - b\n1..2\n")
        };
        check(
            &(of("a", "ok") + &of("b", "not ok")),
            &["b > adds"],
            &[
                (&(of("a", "ok") + &of("b", "ok")), "ran"),
                (&(of("a", "ok") + "\n> b@1.0.0 test\n> tap\n\nTAP version 13\nok 1 - b\n1..1\n"), "gone"),
            ],
        );
    }

    #[test]
    fn so_it_has_in_a_report() {
        let report =
            |cases: &str| format!("<testsuites><testsuite name=\"pytest\">{cases}</testsuite></testsuites>");
        let case =
            |name: &str, said: &str| format!("<testcase classname=\"t\" name=\"{name}\">{said}</testcase>");
        let failed = case("test_b", "<failure message=\"x\">x</failure>");
        let whole = case("", "<error message=\"collection failure\">x</error>");
        check(
            &report(&format!("{failed}{whole}")),
            &["t.py::test_b"],
            &[
                (&report("<testcase classname=\"t\" name=\"test_b\"/>"), "ran"),
                (&report(&case("test_b", "<skipped type=\"pytest.xfail\"/>")), "gone"),
                (&report(&case("test_c", "")), "gone"),
                (&report(""), "unseen"),
            ],
        );
        // A finding of a linter is not a test.
        for found in [
            "<testcase name=\"org.ruff.F401\" classname=\"/w/a\" line=\"1\" column=\"8\"><failure message=\"`os` imported\">line 1, col 8, `os` imported</failure></testcase>",
            "<testcase name=\"a.lua:1\" classname=\"a.lua\"><failure type=\"W211\" message=\"a.lua:2:9: unused variable\"/></testcase>",
            "<testcase name=\"src/q.cc\"><failure>3: Line ends in whitespace. [whitespace/end_of_line] [4]</failure></testcase>",
            "<testcase name=\"govet\" classname=\"a.go:3:2\"><failure message=\"a.go:3:2: unreachable code\" type=\"\">x</failure></testcase>",
        ] {
            check(&format!("<testsuite name=\"x\">{found}</testsuite>"), &[], &[]);
        }
        let test =
            "<testcase name=\"adds\" classname=\"calc\"><failure message=\"calc: got -1\"/></testcase>";
        check(&format!("<testsuite name=\"x\">{test}</testsuite>"), &["calc.adds"], &[]);
        let ctest = |why: &str| {
            format!(
                "<testsuite name=\"(empty)\"><testcase name=\"b\" classname=\"b\" status=\"notrun\"><skipped message=\"{why}\"/></testcase></testsuite>"
            )
        };
        check(&ctest("Unable to find executable"), &["b"], &[(&ctest("SKIP_RETURN_CODE=77"), "gone")]);
    }
}
