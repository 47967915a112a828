//! The result of a command of a check.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::{
    Confidence, Failure, FailureSet, Fingerprint, Listed, NumberLine, Source, TestName, Tests, UNPARSED,
    is_test_file, names_its_file,
};
use crate::duration::measured;
use crate::event::Exit;
use crate::id::{Blob, Millis};
use crate::plural::count;
use crate::text::plain::quoted;

/// Maximum characters of a line that a reason quotes.
const LINE_MAX: usize = 120;

/// The result of one command of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    /// The command line.
    pub run: String,
    /// How it ended; the last time, if it was run more than once.
    pub exit: Exit,
    /// Wall time, of all times together.
    pub duration: Millis,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// The machine reports that it wrote.
    pub reports: Vec<Blob>,
    /// The end of what it printed; at most [`CommandResult::TAIL_MAX`] bytes.
    pub tail: String,
    /// The tool that its output was recognised as; empty for none.
    pub tool: String,
    /// The failures of every run; at most [`FAILURES_MAX`](crate::evidence::FAILURES_MAX).
    pub failures: Vec<Failure>,
    /// Failures beyond that.
    pub failures_left_out: u64,
    /// The failures of some runs only.
    pub flaky: Vec<Failure>,
    /// How far the failures can be relied on.
    pub confidence: Confidence,
    /// How many tests there were, where it says so.
    pub tests: Option<Tests>,
    /// How those tests ended that failed, now or before the work began, and which are gone, where it names them.
    #[serde(default)]
    pub listed: Listed,
    /// How often it was run.
    pub observations: u32,
    /// Lines of its output with numbers that can come closer to a bound, in the order of their frames.
    #[serde(default)]
    pub numbers: Vec<NumberLine>,
}

impl CommandResult {
    /// Most bytes of what a command printed that an event holds.
    pub const TAIL_MAX: usize = 4 * 1024;

    /// Returns the failures as a set.
    pub fn set(&self) -> FailureSet {
        FailureSet::new(self.failures.iter().map(|failure| failure.fingerprint.clone()))
    }

    /// Returns all that failed at least once, and at how many places.
    pub(crate) fn places(&self) -> BTreeMap<&Fingerprint, u32> {
        self.failures.iter().chain(&self.flaky).map(|it| (&it.fingerprint, it.places)).collect()
    }

    /// Returns at how many places something failed.
    pub fn failed_places(&self) -> u64 {
        let places = self.failures.iter().map(|it| u64::from(it.places.max(1)));
        places.fold(self.failures_left_out, u64::saturating_add)
    }

    /// Returns how many of its failures kept tests from being run.
    pub fn early(&self) -> u64 {
        u64::try_from(self.failures.iter().filter(|it| it.is_early()).count()).unwrap_or(u64::MAX)
    }

    /// Says whether it exited with 0, and neither a report of it nor its own summary tells of a failure that has a name.
    pub fn passed(&self) -> bool {
        self.exit == Exit::Code(0) && self.failures.is_empty()
    }

    /// Returns how many failed tests its own summary counts beyond the failures that were read: nobody knows what they are.
    pub(crate) fn unread(&self) -> u64 {
        let flaky = self.flaky.iter().map(|it| u64::from(it.places.max(1)));
        let read = flaky.fold(self.failed_places(), u64::saturating_add);
        self.tests.map_or(0, |tests| tests.failed.saturating_sub(read))
    }

    /// Says whether it tells itself of failures although it exited with 0.
    pub fn belies_itself(&self) -> bool {
        self.exit == Exit::Code(0) && self.told_itself() > 0
    }

    /// Returns how many failures its own output tells of: those that its summary counts, or that were read from it.
    pub fn told_itself(&self) -> u64 {
        let read = self.failures.iter().filter(|it| it.source == Source::Text).count();
        let read = u64::try_from(read).unwrap_or(u64::MAX);
        self.tests.map_or(0, |tests| tests.failed).max(read)
    }

    /// Returns the files of tests that something failed in before any of their tests was run: what cannot be loaded or compiled.
    pub fn unloaded(&self) -> Vec<TestName> {
        let file = |it: &Failure| {
            let file = &it.location.as_ref()?.file;
            let is_whole = it.test.as_ref().is_none_or(|test| names_its_file(test, file));
            (is_whole && is_test_file(file)).then(|| TestName { tool: it.tool.clone(), name: file.clone() })
        };
        let names = self.failures.iter().filter_map(file);
        names.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Says whether tests failed in it, and it neither counts its tests nor writes a report: one that is removed may not be seen.
    pub fn hides_tests(&self) -> bool {
        self.tests.is_none() && self.reports.is_empty() && self.failures.iter().any(|it| it.test.is_some())
    }

    /// Returns the tests that failed, by which they are known again.
    pub fn failed_tests(&self) -> FailureSet {
        let tests = self.failures.iter().filter(|it| it.test.is_some());
        FailureSet::new(tests.map(|it| it.fingerprint.clone()))
    }

    /// Returns the tests that failed in it, as they are named.
    pub fn test_names(&self) -> impl Iterator<Item = TestName> {
        self.failures.iter().filter_map(test_name)
    }

    /// Says whether it came to its end, whatever it showed.
    pub fn has_finished(&self) -> bool {
        matches!(self.exit, Exit::Code(code) if !matches!(code, 126 | 127)) && self.cut_short().is_none()
    }

    /// Says whether it came to its end, and it is known what failed.
    pub fn is_conclusive(&self) -> bool {
        match self.exit {
            Exit::Code(0) => true,
            Exit::Code(126 | 127) => false,
            Exit::Code(_) => self.cut_short().is_none() && self.confidence > Confidence::Low,
            _ => false,
        }
    }

    /// Says how it ended, where it is not known what failed: it was cut short, or failed without a word that anybody
    /// recognises.
    pub fn inconclusive(&self) -> Option<String> {
        self.cut_short().or_else(|| match self.exit {
            Exit::Code(code) if !self.is_conclusive() => {
                Some(format!("fails with exit code {code}, and nothing in its output says what"))
            }
            _ => None,
        })
    }

    /// Says whether it has a result: it exited with 0, or it shows a test, a finding or a count. What could not do its work,
    /// such as without a network, shows none of them, whatever it printed.
    pub fn has_result(&self) -> bool {
        let is_finding = |it: &Failure| {
            it.test.is_some()
                || self.confidence == Confidence::High && it.location.is_some() && it.kind != UNPARSED
        };
        self.exit == Exit::Code(0) || self.tests.is_some() || self.failures.iter().any(is_finding)
    }

    /// Says that it failed without a result, and quotes the end of its output.
    pub(crate) fn without_result(&self) -> Option<String> {
        let Exit::Code(code) = self.exit else { return None };
        let said = self.tail.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or_default();
        let said: String = quoted(said).chars().take(LINE_MAX).collect();
        (!self.has_result()).then(|| {
            format!("fails with exit code {code} and shows no test, no finding and no count: {said}")
        })
    }

    /// Says how many failed tests it counts, where it names none of them: one can take the place of another then.
    pub(crate) fn nameless(&self) -> Option<String> {
        let is_nameless = self.failures.is_empty() && self.unread() > 0;
        is_nameless.then(|| format!("counts {}, and names none", count(self.unread(), "failed test")))
    }

    /// Says how it ended that did not come to its end.
    pub(crate) fn cut_short(&self) -> Option<String> {
        match self.exit {
            Exit::Signal(signal) => Some(format!("was ended by signal {signal}")),
            // A shell says with such a code that a signal ended its command, in the middle of its work; some tools
            // exit with the number of tests that failed.
            Exit::Code(code @ 129..160)
                if self.tests.map(|tests| tests.failed) != u64::try_from(code).ok() =>
            {
                Some(format!("was ended by signal {}", code - 128))
            }
            _ => ended(&self.exit, self.duration),
        }
    }

    /// Returns what failed each time before the work began, as `base` shows, and fails at times now: that it passed, too, says
    /// little. What was seen to fail only once was perhaps always so; and of what has no name nobody knows whether it is the
    /// same.
    pub fn half_mended(&self, base: &Self) -> Vec<&Failure> {
        if base.observations < 2 {
            return Vec::new();
        }
        let was_red = |it: &&Failure| knows(&base.failures, it) && !knows(&base.flaky, it);
        self.flaky.iter().filter(|it| it.kind != UNPARSED).filter(was_red).collect()
    }

    /// Returns what fails at times, and did not before the work began, as `base` shows: it was not seen to fail, or failed
    /// each time.
    pub(crate) fn newly_flaky(&self, base: &Self) -> Vec<&Failure> {
        let was_flaky =
            |it: &&Failure| knows(&base.flaky, it) || (base.observations < 2 && knows(&base.failures, it));
        self.flaky.iter().filter(|it| !was_flaky(it)).collect()
    }
}

/// Says whether a failure is among others; a test is the same whatever it says.
pub fn knows(failures: &[Failure], it: &Failure) -> bool {
    let is_it = |known: &Failure| {
        known.fingerprint == it.fingerprint
            || (it.test.is_some() && known.tool == it.tool && known.test == it.test)
    };
    failures.iter().any(is_it)
}

/// What the controller knows a check by that did not come to its end.
pub const TIMEOUT: &str = "timeout";

/// Says that something did not come to its end, if that is how it ended.
pub fn timeout(what: &str, exit: &Exit, after: Millis) -> Option<String> {
    ended(exit, after).map(|how| format!("timeout: {what} {how}"))
}

/// Says how something ended that we have ended.
fn ended(exit: &Exit, after: Millis) -> Option<String> {
    let how = match exit {
        Exit::TimedOut => "had not ended",
        Exit::Idle | Exit::Probed(_) => "did nothing any more",
        _ => return None,
    };
    Some(format!("{how} after {} and was ended", measured(after)))
}

/// Returns the test that a failure is about; none of a file that could not be loaded.
pub fn test_name(failure: &Failure) -> Option<TestName> {
    let name = failure.test.clone()?;
    let is_file = failure.location.as_ref().is_some_and(|it| names_its_file(&name, &it.file));
    (!is_file).then(|| TestName { tool: failure.tool.clone(), name })
}
