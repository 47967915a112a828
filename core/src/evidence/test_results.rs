//! The results of tests: counts, and names of tests.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// Most names that are kept.
pub const LISTED_MAX: usize = 1000;

/// A test of Go: after its package, before its subtests.
static GO_TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\.)((?:Test|Example|Fuzz|Benchmark)\w*)(?:/|$)").expect("a pattern of ours")
});

/// The numbers of tests in the summary of a tool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// Passed tests.
    pub passed: u64,
    /// Failed tests.
    pub failed: u64,
    /// Tests that were not run.
    pub skipped: u64,
}

impl Tests {
    /// Returns the number of tests that ran.
    pub fn total(self) -> u64 {
        self.passed.saturating_add(self.failed)
    }

    /// Adds two counts.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            passed: self.passed.saturating_add(other.passed),
            failed: self.failed.saturating_add(other.failed),
            skipped: self.skipped.saturating_add(other.skipped),
        }
    }
}

/// The name of a test in an output.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestName {
    /// The tool that printed it.
    pub tool: String,
    /// The name.
    pub name: String,
}

/// The tests that an output names, compared with the baseline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RecordedTestNames {
    /// Those that failed.
    pub failed: Vec<TestName>,
    /// Tests that failed in the baseline and ran now.
    pub ran: Vec<TestName>,
    /// Tests of the baseline that did not run now: reported as skipped, or not named by a tool that names passed tests. Also
    /// a failed test that no tool names now and no file contains.
    pub gone: Vec<TestName>,
    /// The tools that name tests.
    pub naming: Vec<ReporterNaming>,
}

/// A tool that names tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReporterNaming {
    /// The tool.
    pub tool: String,
    /// The number of passed tests that it names.
    pub passed: u64,
}

impl RecordedTestNames {
    /// Returns whether all tests that failed in the baseline ran now; false if no test is named.
    pub fn has_run_all(&self, failed: &[TestName]) -> bool {
        !failed.is_empty() && failed.iter().all(|name| self.ran.contains(name))
    }

    /// Merges the results of another run of the same command. A test that is not in `failed` (the failures of the baseline) is
    /// gone only if it is gone in both: one run may have stopped at its first failure.
    #[must_use]
    pub fn merge(&self, other: &Self, failed: &[TestName]) -> Self {
        let union = |one: &[TestName], two: &[TestName]| -> Vec<TestName> {
            one.iter().chain(two).collect::<BTreeSet<_>>().into_iter().take(LISTED_MAX).cloned().collect()
        };
        let ran = union(&self.ran, &other.ran);
        let mut gone = union(&self.gone, &other.gone);
        let in_both = |name: &TestName| self.gone.contains(name) && other.gone.contains(name);
        gone.retain(|name| !ran.contains(name) && (failed.contains(name) || in_both(name)));
        let mut naming = self.naming.clone();
        naming.extend(other.naming.iter().filter(|reporter| self.names(&reporter.tool).is_none()).cloned());
        Self { failed: union(&self.failed, &other.failed), ran, gone, naming }
    }

    /// Returns the number of passed tests that a tool names; `None` if it names no tests.
    pub fn names(&self, tool: &str) -> Option<u64> {
        self.naming.iter().find(|reporter| reporter.tool == tool).map(|reporter| reporter.passed)
    }
}

impl TestName {
    /// Returns the part of the name that its source file contains: the last identifier, or a title of several words.
    /// `None` if the name does not show it.
    pub fn word(&self) -> Option<&str> {
        // A package, then the test, then its subtests.
        let of_go = || self.name.rsplit_once('/').map_or(&*self.name, |(_, last)| last);
        let name = match self.tool.as_str() {
            "go-test" => GO_TEST
                .captures(&self.name)
                .and_then(|parts| parts.get(1))
                .map_or_else(of_go, |name| name.as_str()),
            _ => last_component(self).trim(),
        };
        if name.contains(char::is_whitespace) {
            return Some(name);
        }
        let name = name.rsplit('#').next().unwrap_or(name);
        let is_identifier = !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        is_identifier.then_some(name)
    }
}

/// Returns the name of a test without its file, module, group and parameters.
pub fn last_component(test: &TestName) -> &str {
    // The name follows the binary.
    let behind_binary = || test.name.split_once(' ').filter(|_| test.tool == "cargo-nextest");
    let name = behind_binary().map_or(&*test.name, |(_, name)| name);
    let bare = [("[", "]"), ("(", ")")].iter().fold(name.trim_end(), |name, (open, close)| {
        let parameters = name.find(open).filter(|at| *at > 0 && name.ends_with(close));
        parameters.map_or(name, |at| name[..at].trim_end())
    });
    let parts = ["::", " > ", " › "].iter();
    let inner = parts.fold(bare, |name, mark| name.rsplit(mark).next().unwrap_or(name));
    // A dot at the end of a sentence or in a number separates nothing.
    let begins_name = |at: &usize| inner[at + 1..].starts_with(|c: char| c.is_alphabetic() || c == '_');
    let dot = inner.rmatch_indices('.').map(|(at, _)| at).find(begins_name);
    dot.map_or(inner, |at| &inner[at + 1..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_has_of_a_test_the_last_part_of_its_name() {
        for (tool, name, word) in [
            ("pytest", "test_calc.py::T::test_sub[1-2]", Some("test_sub")),
            ("unittest", "tests.test_calc.T.test_sub", Some("test_sub")),
            ("unittest", "test_sub (tests.test_calc.T)", Some("test_sub")),
            ("cargo-test", "mod::tests::adds", Some("adds")),
            ("cargo-test", "a > mod::tests::adds", Some("adds")),
            ("go-test", "example.org/m/p.TestSub/case", Some("TestSub")),
            ("go-test", "TestSub/a.b", Some("TestSub")),
            ("minitest", "T#test_b", Some("test_b")),
            ("junit", "shop.CalcTest.adds()", Some("adds")),
            ("phpunit", "CalcTest::testAdd", Some("testAdd")),
            ("jest", "calc.test.js › sum › adds up to 2.5", Some("adds up to 2.5")),
            ("tap", "adds two numbers", Some("adds two numbers")),
            ("bazel", "//a/b:test", None),
            ("xctest", "-[A testB]", None),
            ("tap", "", None),
        ] {
            let name = TestName { tool: tool.to_owned(), name: name.to_owned() };
            assert_eq!(name.word(), word, "{name:?}");
        }
    }
}
