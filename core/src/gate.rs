//! What the commands of a check mean: each has a gate, and all of them must let through.
//!
//! A command with the gate *pass* has to exit with 0. One with *no new failures* must show no failure that the
//! baseline did not have, whatever else fails. An inconclusive run, one that was cut short or of which
//! nothing could be read, goes through no gate; nor do fewer tests than the baseline had.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::event::Exit;
use crate::failure::{Confidence, Failure, FailureSet, Fingerprint, Tests, UNPARSED};
use crate::id::{Blob, Millis};
use crate::workflow::{CheckCommand, Gate};

/// What one command of a check showed.
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
    /// What failed each time; at most [`CommandResult::FAILURES_MAX`].
    pub failures: Vec<Failure>,
    /// Failures beyond that.
    pub failures_left_out: u64,
    /// What failed at one time and not at another.
    pub flaky: Vec<Failure>,
    /// How far the failures can be relied on.
    pub confidence: Confidence,
    /// How many tests there were, where it says so.
    pub tests: Option<Tests>,
    /// How often it was run.
    pub observations: u32,
}

impl CommandResult {
    /// Most bytes of what a command printed that an event holds.
    pub const TAIL_MAX: usize = 4 * 1024;
    /// Most failures that an event holds of one command.
    pub const FAILURES_MAX: usize = 1000;

    /// Returns the failures as a set.
    pub fn set(&self) -> FailureSet {
        FailureSet::new(self.failures.iter().map(|failure| failure.fingerprint.clone()))
    }

    /// Returns all that failed at least once, and at how many places.
    fn places(&self) -> BTreeMap<&Fingerprint, u32> {
        self.failures.iter().chain(&self.flaky).map(|it| (&it.fingerprint, it.places)).collect()
    }

    /// Says whether it exited with 0 and no report of it names a failure.
    pub fn passed(&self) -> bool {
        self.exit == Exit::Code(0) && self.failures.is_empty()
    }

    /// Says whether it came to its end, and it is known what failed.
    pub fn is_conclusive(&self) -> bool {
        match self.exit {
            Exit::Code(0) => true,
            // A shell says with such a code that a signal ended its command, in the middle of its work.
            Exit::Code(129..160) => false,
            Exit::Code(_) => self.confidence > Confidence::Low,
            _ => false,
        }
    }
}

/// What the gates of a check let through, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Findings {
    /// For people and for the next prompt; empty if all is well.
    pub(crate) reasons: Vec<String>,
    /// For the controller.
    pub(crate) fingerprints: Vec<String>,
}

/// How many failures a reason names.
const NAMED_MAX: usize = 8;
/// How many characters of a line that nothing recognised a reason quotes.
const LINE_MAX: usize = 120;

/// Compares what the commands of a check showed with what their gates ask. `baseline` has the results of
/// the same commands before the first iteration, if they were asked for.
pub(crate) fn findings(
    commands: &[CheckCommand],
    results: &[CommandResult],
    baseline: Option<&[CommandResult]>,
) -> Findings {
    let mut findings = Findings::default();
    for (at, command) in commands.iter().enumerate() {
        let base = baseline.and_then(|baseline| baseline.get(at));
        match results.get(at) {
            Some(result) => findings.add(command.gate, result, base),
            None => findings.note(format!("`{}` was not run", command.run), "check:not_run".to_owned()),
        }
    }
    findings
}

/// Says why a baseline cannot be compared with, if a gate needs that.
pub(crate) fn no_baseline(commands: &[CheckCommand], results: &[CommandResult]) -> Option<String> {
    let pairs = commands.iter().zip(results);
    let mut useless =
        pairs.filter(|(command, it)| command.gate == Gate::NoNewFailures && !it.is_conclusive());
    useless.next().map(|(command, it)| {
        let why = match it.exit {
            Exit::Code(_) => "it fails, and nothing in its output says what",
            _ => "it did not come to its end",
        };
        format!("`{}` has no baseline to compare with: {why}; use it with --check, or mend it", command.run)
    })
}

impl Findings {
    fn add(&mut self, gate: Gate, result: &CommandResult, base: Option<&CommandResult>) {
        if let Some(reason) = timeout(&format!("`{}`", result.run), &result.exit, result.duration) {
            return self.note(reason, TIMEOUT.to_owned());
        }
        if let Exit::Signal(signal) = result.exit {
            self.fingerprints.push(format!("signal:{signal}"));
        }
        match gate {
            Gate::Pass if result.passed() => self.tests_removed(result, base),
            Gate::Pass => self.failed(result, &result.failures, "fails", base),
            Gate::NoNewFailures if !result.is_conclusive() => {
                self.failed(result, &result.failures, "is inconclusive, which passes no gate", base);
            }
            Gate::NoNewFailures => {
                let known = base.map(CommandResult::places).unwrap_or_default();
                let is_new =
                    |it: &&Failure| known.get(&it.fingerprint).is_none_or(|places| it.places > *places);
                let new: Vec<Failure> = result.failures.iter().filter(is_new).cloned().collect();
                if new.is_empty() && result.failures_left_out == 0 {
                    self.tests_removed(result, base);
                } else {
                    self.failed(result, &new, "shows new failures", base);
                }
            }
        }
    }

    fn failed(
        &mut self,
        result: &CommandResult,
        failures: &[Failure],
        how: &str,
        base: Option<&CommandResult>,
    ) {
        let names: Vec<String> = failures.iter().take(NAMED_MAX).map(name).collect();
        let more = failures.len().saturating_sub(NAMED_MAX);
        let more = if more > 0 { format!(", and {more} more") } else { String::new() };
        let known = base.map(CommandResult::set).unwrap_or_default();
        let old = failures.iter().filter(|it| known.contains(&it.fingerprint)).count();
        let old = (old > 0).then(|| format!("{old} of them failed before the work began"));
        let exit = match &result.exit {
            Exit::Code(code) => Some(format!("exit code {code}")),
            Exit::Signal(signal) => Some(format!("it was ended by signal {signal}")),
            _ => None,
        };
        let said = result.tail.lines().map(str::trim).rfind(|line| !line.is_empty());
        let nothing_is_known = failures.iter().all(|failure| failure.kind == UNPARSED);
        let names = match said {
            _ if !nothing_is_known => names,
            Some(line) => vec![line.chars().take(LINE_MAX).collect()],
            None => Vec::new(),
        };
        let named = if names.is_empty() { String::new() } else { format!(": {}{more}", names.join(", ")) };
        let details: Vec<String> = exit.into_iter().chain(old).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        self.reasons.push(format!("`{}` {how}{named}{details}", result.run));
        self.fingerprints.extend(identities(result, failures));
    }

    /// Whoever deletes or skips a failing test has not mended it.
    fn tests_removed(&mut self, result: &CommandResult, base: Option<&CommandResult>) {
        let Some(before) = base.and_then(|base| base.tests).map(Tests::ran) else { return };
        let now = result.tests.map_or(0, Tests::ran);
        if now < before {
            let reason = format!(
                "tests_removed: `{}` ran {now} of the {before} tests that ran before the work began; put the others back",
                result.run
            );
            self.note(reason, format!("tests_removed:{}", result.run));
        }
    }

    fn note(&mut self, reason: String, fingerprint: String) {
        self.reasons.push(reason);
        self.fingerprints.push(fingerprint);
    }
}

/// What the controller knows a check by that did not come to its end.
pub(crate) const TIMEOUT: &str = "timeout";

/// Says that something did not come to its end, if that is how it ended.
pub(crate) fn timeout(what: &str, exit: &Exit, after: Millis) -> Option<String> {
    let how = match exit {
        Exit::TimedOut => "had not ended",
        Exit::Idle => "did nothing any more",
        _ => return None,
    };
    Some(format!("timeout: {what} {how} after {} s and was ended", after.0 / 1000))
}

/// Returns what the controller knows failures by. Of output that nothing recognised every value counts, since
/// the value may be all that moves; a command that says nothing gives no signal.
pub(crate) fn identities(result: &CommandResult, failures: &[Failure]) -> Vec<String> {
    if result.confidence > Confidence::Low {
        return failures.iter().map(|it| it.fingerprint.to_string()).collect();
    }
    if result.tail.trim().is_empty() {
        return Vec::new();
    }
    failures.iter().map(|it| it.exact.to_string()).collect()
}

/// Returns how a failure is called in a sentence.
pub fn name(failure: &Failure) -> String {
    match (&failure.test, &failure.location) {
        (Some(test), _) => test.clone(),
        (None, Some(place)) if failure.kind.is_empty() => place.to_string(),
        (None, Some(place)) => format!("{} at {place}", failure.kind),
        (None, None) => failure
            .message
            .lines()
            .map(str::trim)
            .rfind(|it| !it.is_empty())
            .map_or_else(|| failure.kind.clone(), |line| line.chars().take(120).collect()),
    }
}
