//! How many tests there were, and how those ended that have names.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

/// So many tests that failed are kept.
pub const LISTED_MAX: usize = 1000;

/// A test of Go behind its package, before its cases.
static GO_TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\.)((?:Test|Example|Fuzz|Benchmark)\w*)(?:/|$)").expect("a pattern of ours")
});

/// How many tests a command tells of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    /// Those that passed.
    pub passed: u64,
    /// Those that failed.
    pub failed: u64,
    /// Those that were not run.
    pub skipped: u64,
}

impl Tests {
    /// Returns how many were run.
    pub fn ran(self) -> u64 {
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

/// A test as an output names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct TestName {
    /// The tool that names it.
    pub tool: String,
    /// The name.
    pub name: String,
}

/// What the names of an output say of tests that failed, here or before, and of those that passed and are gone.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    /// Those that failed.
    pub failed: Vec<TestName>,
    /// Of those that failed before the work began, the ones that were run.
    pub ran: Vec<TestName>,
    /// Of all that ended before the work began, the ones that were not run: they are named as skipped, or they are
    /// not named by a tool that names what passed. Also a test that failed and that nobody names any more, where no file
    /// has its name either.
    pub gone: Vec<TestName>,
    /// The tools that name tests at all.
    pub naming: Vec<Naming>,
}

/// A tool that names tests.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naming {
    /// The tool.
    pub tool: String,
    /// How many tests that passed it names.
    pub passed: u64,
}

impl Listed {
    /// Says whether all of those that failed before the work began were run. Who names none does not show that.
    pub fn has_run_all(&self, failed: &[TestName]) -> bool {
        !failed.is_empty() && failed.iter().all(|name| self.ran.contains(name))
    }

    /// Puts another observation of the same command beside this one. A test that passed before the work began, and is none of
    /// those that `failed` then, is gone only if none of them has run it: one may have stopped at its first failure.
    #[must_use]
    pub fn and(&self, other: &Self, failed: &[TestName]) -> Self {
        let union = |one: &[TestName], two: &[TestName]| -> Vec<TestName> {
            one.iter().chain(two).collect::<BTreeSet<_>>().into_iter().take(LISTED_MAX).cloned().collect()
        };
        let ran = union(&self.ran, &other.ran);
        let mut gone = union(&self.gone, &other.gone);
        let in_both = |name: &TestName| self.gone.contains(name) && other.gone.contains(name);
        gone.retain(|name| !ran.contains(name) && (failed.contains(name) || in_both(name)));
        let mut naming = self.naming.clone();
        naming.extend(other.naming.iter().filter(|it| self.names(&it.tool).is_none()).cloned());
        Self { failed: union(&self.failed, &other.failed), ran, gone, naming }
    }

    /// Returns how many tests that passed a tool names; `None` where it names none at all.
    pub fn names(&self, tool: &str) -> Option<u64> {
        self.naming.iter().find(|it| it.tool == tool).map(|it| it.passed)
    }
}

impl TestName {
    /// Returns what a file that has the test holds of its name: the last identifier, of a title of several words all of them.
    /// `None` where the name does not say which of its parts that is.
    pub fn word(&self) -> Option<&str> {
        // Behind a package comes the test, and behind that its cases.
        let of_go = || self.name.rsplit_once('/').map_or(&*self.name, |(_, last)| last);
        let name = match self.tool.as_str() {
            "go-test" => {
                GO_TEST.captures(&self.name).and_then(|it| it.get(1)).map_or_else(of_go, |it| it.as_str())
            }
            _ => last_component(self).trim(),
        };
        if name.contains(char::is_whitespace) {
            return Some(name);
        }
        let name = name.rsplit('#').next().unwrap_or(name);
        let is_identifier = !name.is_empty()
            && name.chars().all(|it| it.is_alphanumeric() || it == '_')
            && !name.starts_with(|it: char| it.is_ascii_digit());
        is_identifier.then_some(name)
    }
}

/// Returns what a test is called whatever file, module or group it is in, and with whatever parameters it is run.
pub fn last_component(test: &TestName) -> &str {
    // The binary stands before the name.
    let behind_binary = || test.name.split_once(' ').filter(|_| test.tool == "cargo-nextest");
    let name = behind_binary().map_or(&*test.name, |(_, name)| name);
    let bare = [("[", "]"), ("(", ")")].iter().fold(name.trim_end(), |name, (open, close)| {
        let parameters = name.find(open).filter(|at| *at > 0 && name.ends_with(close));
        parameters.map_or(name, |at| name[..at].trim_end())
    });
    let parts = ["::", " > ", " › "].iter();
    let inner = parts.fold(bare, |name, mark| name.rsplit(mark).next().unwrap_or(name));
    // Neither the end of a sentence nor a number has components.
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
