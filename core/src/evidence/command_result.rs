//! The result of a command of a check.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Confidence, Failure, FailureSet, FailureSource, Fingerprint, NumberLine, RecordedTestNames, TestName,
    Tests, UNPARSED, is_file_name, is_test_file,
};
use crate::duration::format_elapsed;
use crate::event::Exit;
use crate::id::{Blob, Millis};
use crate::plural::count;
use crate::text::plain::escape_controls;

/// Maximum characters of a line that a reason quotes.
const LINE_MAX: usize = 120;

/// The result of one command of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    /// The command line.
    pub run: String,
    /// How it ended; for several runs, the last one.
    pub exit: Exit,
    /// Wall time of all runs together.
    pub duration: Millis,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// Machine-readable reports that it wrote.
    pub reports: Vec<Blob>,
    /// The end of what it printed; at most [`CommandResult::TAIL_MAX`] bytes.
    pub tail: String,
    /// Tool that its output was recognized as; empty for none.
    pub tool: String,
    /// The failures of every run; at most [`FAILURES_MAX`](crate::evidence::FAILURES_MAX).
    pub failures: Vec<Failure>,
    /// Number of failures beyond that limit.
    pub failures_left_out: u64,
    /// The failures of some runs only.
    pub flaky: Vec<Failure>,
    /// Reliability of the failures.
    pub confidence: Confidence,
    /// Number of tests, if it reports them.
    pub tests: Option<Tests>,
    /// Results of the tests that failed, now or before the work, and tests that are gone, if it names them.
    #[serde(default)]
    pub listed: RecordedTestNames,
    /// Number of runs.
    pub observations: u32,
    /// Output lines with numbers that can approach a limit, in the order of their frames.
    #[serde(default)]
    pub numbers: Vec<NumberLine>,
}

impl CommandResult {
    /// Maximum length of a command's output in an event, in bytes.
    pub const TAIL_MAX: usize = 4 * 1024;

    /// Returns the failures as a set.
    pub fn set(&self) -> FailureSet {
        FailureSet::new(self.failures.iter().map(|failure| failure.fingerprint.clone()))
    }

    /// Returns everything that failed at least once, with the number of places.
    pub(crate) fn places(&self) -> BTreeMap<&Fingerprint, u32> {
        let all = self.failures.iter().chain(&self.flaky);
        all.map(|failure| (&failure.fingerprint, failure.places)).collect()
    }

    /// Returns the number of places with a failure.
    pub fn failed_places(&self) -> u64 {
        let places = self.failures.iter().map(|failure| u64::from(failure.places.max(1)));
        places.fold(self.failures_left_out, u64::saturating_add)
    }

    /// Returns the number of failures that kept tests from running.
    pub fn blocking_count(&self) -> u64 {
        u64::try_from(self.failures.iter().filter(|failure| failure.is_early()).count()).unwrap_or(u64::MAX)
    }

    /// Returns whether it exited with 0, and neither its reports nor its summary name a failure.
    pub fn passed(&self) -> bool {
        self.exit == Exit::Code(0) && self.failures.is_empty()
    }

    /// Returns the number of failed tests in its summary beyond the failures that were parsed: these are unidentified.
    pub(crate) fn unread(&self) -> u64 {
        let flaky = self.flaky.iter().map(|failure| u64::from(failure.places.max(1)));
        let read = flaky.fold(self.failed_places(), u64::saturating_add);
        self.tests.map_or(0, |tests| tests.failed.saturating_sub(read))
    }

    /// Returns whether it reports failures although it exited with 0.
    pub fn passes_despite_failures(&self) -> bool {
        self.exit == Exit::Code(0) && self.self_reported_failures() > 0
    }

    /// Returns the number of failures in its output: counted by its summary, or parsed from the text.
    pub fn self_reported_failures(&self) -> u64 {
        let read = self.failures.iter().filter(|failure| failure.source == FailureSource::Text).count();
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        self.tests.map_or(0, |tests| tests.failed).max(read)
    }

    /// Returns the test files with a failure before any of their tests ran: files that cannot be loaded or compiled.
    pub fn unloadable_test_files(&self) -> Vec<TestName> {
        let file = |failure: &Failure| {
            let file = &failure.location.as_ref()?.file;
            let is_whole = failure.test.as_ref().is_none_or(|test| is_file_name(test, file));
            (is_whole && is_test_file(file))
                .then(|| TestName { tool: failure.tool.clone(), name: file.clone() })
        };
        let names = self.failures.iter().filter_map(file);
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns whether tests failed in it without a count or report of its tests: a removed test may go unnoticed.
    pub fn may_hide_removed_tests(&self) -> bool {
        let names_tests = self.failures.iter().any(|failure| failure.test.is_some());
        self.tests.is_none() && self.reports.is_empty() && names_tests
    }

    /// Returns the failed tests, by their fingerprints.
    pub fn failed_tests(&self) -> FailureSet {
        let tests = self.failures.iter().filter(|failure| failure.test.is_some());
        FailureSet::new(tests.map(|failure| failure.fingerprint.clone()))
    }

    /// Returns the names of the failed tests.
    pub fn test_names(&self) -> impl Iterator<Item = TestName> {
        self.failures.iter().filter_map(test_name)
    }

    /// Returns whether it ran to its end, whatever the result.
    pub fn has_finished(&self) -> bool {
        matches!(self.exit, Exit::Code(code) if !matches!(code, 126 | 127)) && self.cut_short().is_none()
    }

    /// Returns whether it ran to its end, and its failures are known.
    pub fn is_conclusive(&self) -> bool {
        match self.exit {
            Exit::Code(0) => true,
            Exit::Code(126 | 127) => false,
            Exit::Code(_) => self.cut_short().is_none() && self.confidence > Confidence::Low,
            _ => false,
        }
    }

    /// Describes how it ended, if its failures are unknown: it was cut short, or failed with output that no parser
    /// recognizes.
    pub fn inconclusive(&self) -> Option<String> {
        self.cut_short().or_else(|| match self.exit {
            Exit::Code(code) if !self.is_conclusive() => {
                Some(format!("fails with exit code {code}, and nothing in its output says what"))
            }
            _ => None,
        })
    }

    /// Returns whether it has a result: it exited with 0, or it shows a test, a finding or a count. A command that
    /// could not do its work, such as without a network, shows none of them, whatever it printed.
    pub fn has_result(&self) -> bool {
        let is_finding = |failure: &Failure| {
            let is_sure = self.confidence == Confidence::High && failure.kind != UNPARSED;
            failure.test.is_some() || is_sure && failure.location.is_some()
        };
        self.exit == Exit::Code(0) || self.tests.is_some() || self.failures.iter().any(is_finding)
    }

    /// Describes a failure without a result, quoting the end of the output.
    pub(crate) fn without_result(&self) -> Option<String> {
        let Exit::Code(code) = self.exit else { return None };
        let said = self.tail.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let said: String = escape_controls(said).chars().take(LINE_MAX).collect();
        (!self.has_result()).then(|| {
            format!("fails with exit code {code} and shows no test, no finding and no count: {said}")
        })
    }

    /// Describes how many failed tests it counts, if it names none: one can take the place of another then.
    pub(crate) fn nameless(&self) -> Option<String> {
        let is_nameless = self.failures.is_empty() && self.unread() > 0;
        is_nameless.then(|| format!("counts {}, and names none", count(self.unread(), "failed test")))
    }

    /// Describes how it was cut short; `None` if it ran to its end.
    pub(crate) fn cut_short(&self) -> Option<String> {
        match self.exit {
            Exit::Signal(signal) => Some(format!("was ended by signal {signal}")),
            // A shell reports with such a code that a signal ended its command; some tools exit with the number of
            // failed tests.
            Exit::Code(code @ 129..160)
                if self.tests.map(|tests| tests.failed) != u64::try_from(code).ok() =>
            {
                Some(format!("was ended by signal {}", code - 128))
            }
            _ => stop_text(&self.exit, self.duration),
        }
    }

    /// Returns failures that always occurred before the work, as `base` shows, and sometimes occur now: a pass in
    /// between proves little. A failure seen only once may always have been flaky, and one without a name cannot be
    /// identified.
    pub fn flaky_since_fix(&self, base: &Self) -> Vec<&Failure> {
        if base.observations < 2 {
            return Vec::new();
        }
        let was_red = |test: &&Failure| has_failure(&base.failures, test) && !has_failure(&base.flaky, test);
        self.flaky.iter().filter(|failure| failure.kind != UNPARSED).filter(was_red).collect()
    }

    /// Returns failures that sometimes occur now, and did not before the work, as `base` shows: they never or always
    /// occurred.
    pub(crate) fn newly_flaky(&self, base: &Self) -> Vec<&Failure> {
        let was_flaky = |test: &&Failure| {
            has_failure(&base.flaky, test) || (base.observations < 2 && has_failure(&base.failures, test))
        };
        self.flaky.iter().filter(|failure| !was_flaky(failure)).collect()
    }
}

/// Returns whether a failure is among others; a test is the same whatever its message.
pub fn has_failure(failures: &[Failure], failure: &Failure) -> bool {
    let is_same = |known: &Failure| {
        known.fingerprint == failure.fingerprint
            || (failure.test.is_some() && known.tool == failure.tool && known.test == failure.test)
    };
    failures.iter().any(is_same)
}

/// Fingerprint, for the controller, of a check that was cut short.
pub const TIMEOUT: &str = "timeout";

/// Describes the timeout of a process; `None` if it ended otherwise.
pub fn timeout(what: &str, exit: &Exit, after: Millis) -> Option<String> {
    stop_text(exit, after).map(|how| format!("timeout: {what} {how}"))
}

/// Describes how Unstuck stopped a process; `None` if it ended otherwise.
fn stop_text(exit: &Exit, after: Millis) -> Option<String> {
    let how = match exit {
        Exit::TimedOut => "had not ended",
        Exit::Idle | Exit::Probed(_) => "did nothing any more",
        _ => return None,
    };
    Some(format!("{how} after {} and was ended", format_elapsed(after)))
}

/// Returns the test of a failure; `None` for a file that could not be loaded.
pub fn test_name(failure: &Failure) -> Option<TestName> {
    let name = failure.test.clone()?;
    let is_file = failure.location.as_ref().is_some_and(|location| is_file_name(&name, &location.file));
    (!is_file).then(|| TestName { tool: failure.tool.clone(), name })
}
