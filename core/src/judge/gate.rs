//! Results of a check's commands: each command has a gate, and the results must pass all gates.
//!
//! With the gate *pass* a command must exit with 0. With *no new failures* it must show no failure that the baseline
//! did not have, whatever else fails. An inconclusive run, one that was cut short or could not be parsed, passes no
//! gate. Nor does a run with fewer tests than the baseline, or without a named test of the baseline.

use std::collections::BTreeSet;

use crate::event::Exit;
use crate::evidence::{
    CommandResult, Confidence, Failure, TestName, Tests, UNPARSED, has_failure, test_name, timeout,
};
use crate::judge::missing_tests;
use crate::judge::reason::{Flaky, Reason, Shortfall, VerdictWarning};
use crate::plural::first;
use crate::text::plain::escape_controls;
use crate::workflow::{Baseline, CheckCommand, Gate};

/// Result of comparing a check with its gates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GateReport {
    /// Reasons for display and for the next prompt; empty if all gates pass.
    pub reasons: Vec<Reason>,
    /// Fingerprints for the controller.
    pub fingerprints: Vec<String>,
    /// Warnings.
    pub problems: Vec<VerdictWarning>,
}

/// Results of a command before the work.
#[derive(Clone, Copy, Debug)]
pub struct BaselineResult<'a> {
    /// Results of the baseline; `None` if it did not run.
    pub base: Option<&'a CommandResult>,
    /// Purpose of the baseline.
    pub mode: Baseline,
}

/// Maximum failures that a reason names.
const NAMED_MAX: usize = 8;
/// Maximum characters that a reason quotes from an unrecognized line.
const LINE_MAX: usize = 120;

/// Compares the results of a check's commands with their gates. `baseline` has the results of the same commands before
/// the first iteration, if they ran, and `mode` is its purpose.
pub fn findings(
    commands: &[CheckCommand],
    results: &[CommandResult],
    baseline: Option<&[CommandResult]>,
    mode: Baseline,
) -> GateReport {
    let mut findings = GateReport::default();
    for (at, command) in commands.iter().enumerate() {
        let base = baseline.and_then(|baseline| baseline.get(at));
        match results.get(at) {
            Some(result) => findings.add(command.gate, result, BaselineResult { base, mode }),
            None => findings.add_reason(Reason::NotRun(command.run.clone())),
        }
    }
    if findings.reasons.is_empty() {
        let is_empty = |result: &&CommandResult| result.tests.is_some_and(|tests| tests.total() == 0);
        findings.problems.extend(results.iter().filter(is_empty).map(untested));
    }
    findings
}

/// Returns whether a command that fails is run again, to see whether it is flaky: only if it has failures that decide, and
/// neither the baseline nor the last check had one of these.
pub fn is_worth_repeating(
    gate: Gate,
    base: Option<&CommandResult>,
    last: Option<&CommandResult>,
    result: &CommandResult,
) -> bool {
    let had = |earlier: Option<&CommandResult>, failure: &Failure| {
        earlier.is_some_and(|earlier| has_failure(&earlier.failures, failure))
    };
    if result.failures.is_empty() {
        return [base, last].iter().flatten().all(|earlier| earlier.passed());
    }
    let deciding = result.failures.iter().filter(|failure| gate == Gate::Pass || !had(base, failure));
    let known: Vec<bool> = deciding.map(|failure| had(base, failure) || had(last, failure)).collect();
    !known.is_empty() && !known.contains(&true)
}

/// Returns, for each command of a passing check, the tests that failed before the work and that the command does not
/// name: only the files can show whether they were fixed or removed.
pub fn to_look_up(
    commands: &[CheckCommand],
    results: &[CommandResult],
    baseline: &[CommandResult],
    mode: Baseline,
) -> Vec<Vec<TestName>> {
    if !findings(commands, results, Some(baseline), mode).reasons.is_empty() {
        return Vec::new();
    }
    let asks = |command: &CheckCommand| command.gate == Gate::NoNewFailures || mode != Baseline::Report;
    let all = commands.iter().zip(results).zip(baseline);
    let unnamed = all.map(|((command, result), base)| {
        let unnamed = if asks(command) { missing_tests::unlisted_tests(base, result) } else { Vec::new() };
        unnamed.into_iter().filter_map(test_name).collect()
    });
    unnamed.collect()
}

/// Returns a warning about a test command that ran no tests.
fn untested(result: &CommandResult) -> VerdictWarning {
    let skipped = result.tests.map_or(0, |tests| tests.skipped);
    VerdictWarning::NoTests { run: result.run.clone(), skipped }
}

/// Describes why a baseline cannot be compared with, if a gate needs that. A command that fails without a message can
/// pass later, which is enough for the gate *pass*. If a run was cut short, its set of tests is unknown.
pub fn no_baseline(commands: &[CheckCommand], results: &[CommandResult], mode: Baseline) -> Option<String> {
    let why = |(command, result): (&CheckCommand, &CommandResult)| {
        let compares = command.gate == Gate::NoNewFailures;
        let cut = result.cut_short().filter(|_| compares || mode == Baseline::Gate);
        let why = match cut {
            Some(how) if compares => format!("it {how}; {}", cut_short_advice(&result.exit)),
            Some(how) => format!(
                "it {how}; {}, or begin again with `--baseline off` (in a file `baseline: off`), which compares with nothing",
                cut_short_advice(&result.exit)
            ),
            None if compares => match result.inconclusive().or_else(|| result.nameless()) {
                Some(how) => format!("it {how}; use it with --check, or mend it"),
                None => format!(
                    "it {}; run it by hand and repair what keeps it from its work, or use it with --check",
                    result.without_result()?
                ),
            },
            None => return None,
        };
        Some(format!("`{}` has no baseline to compare with: {why}", command.run))
    };
    commands.iter().zip(results).find_map(why)
}

/// Returns what to do about a command that was cut short in this way.
fn cut_short_advice(exit: &Exit) -> &'static str {
    match exit {
        Exit::TimedOut => {
            "give it more time (a check has a quarter of `--max-time`, in a file its `timeout`)"
        }
        Exit::Idle | Exit::Probed(_) => "let it show that it is alive (in a file there is `idle_timeout`)",
        _ => "mend it",
    }
}

impl GateReport {
    /// Adds the findings of one command's gate.
    pub fn add(&mut self, gate: Gate, result: &CommandResult, prior: BaselineResult<'_>) {
        if let Some(reason) = timeout(&format!("`{}`", result.run), &result.exit, result.duration) {
            return self.add_reason(Reason::Timeout(reason));
        }
        if let Exit::Signal(signal) = result.exit {
            self.fingerprints.push(format!("signal:{signal}"));
        }
        let base = prior.base;
        match gate {
            Gate::Pass if result.passes_despite_failures() => self.add_hidden_failures(result),
            Gate::Pass if result.passed() => self.check_removed_tests(gate, result, prior),
            Gate::Pass => self.add_failed(result, &result.failures, Shortfall::Fails, base),
            Gate::NoNewFailures if !result.is_conclusive() => {
                self.add_failed(result, &result.failures, Shortfall::Inconclusive, base);
            }
            Gate::NoNewFailures if !result.has_result() && base.is_some_and(CommandResult::has_result) => {
                self.add_failed(result, &result.failures, Shortfall::ShowsNothing, base);
            }
            Gate::NoNewFailures => {
                let known = base.map(CommandResult::places).unwrap_or_default();
                let is_new = |failure: &&Failure| {
                    known.get(&failure.fingerprint).is_none_or(|places| failure.places > *places)
                };
                let new: Vec<Failure> = result.failures.iter().filter(is_new).cloned().collect();
                if let Some(base) = base.filter(|base| base.failures_left_out > 0)
                    && (!new.is_empty() || result.failures_left_out > 0)
                {
                    self.add_uncomparable(result, &new, base);
                } else if new.is_empty() && result.failures_left_out == 0 {
                    // The same line in the baseline may be about something else.
                    if result.passes_despite_failures()
                        && base.is_some_and(|base| !base.passes_despite_failures())
                    {
                        return self.add_hidden_failures(result);
                    }
                    if result.nameless().is_some() || result.unread() > base.map_or(0, CommandResult::unread)
                    {
                        return self.add_unreadable(result);
                    }
                    self.check_removed_tests(gate, result, prior);
                } else {
                    self.add_failed(result, &new, Shortfall::New, base);
                }
            }
        }
    }

    /// Compares only the numbers, and never passes. A failure beyond a cut baseline may be old or new, and one could
    /// replace the other.
    fn add_uncomparable(&mut self, result: &CommandResult, new: &[Failure], base: &CommandResult) {
        let (before, now) = (base.failed_places(), result.failed_places());
        if now > before {
            let how = Shortfall::More { now, before };
            return self.add_failed(result, if new.is_empty() { &result.failures } else { new }, how, None);
        }
        let unknown = result.failures_left_out.saturating_add(u64::try_from(new.len()).unwrap_or(u64::MAX));
        self.reasons.push(Reason::BeyondBaseline { run: result.run.clone(), before, now, unknown });
        self.fingerprints.extend(identities(result, new));
        if new.is_empty() {
            self.fingerprints.push(format!("left_out:{}", result.run));
        }
    }

    fn add_failed(
        &mut self,
        result: &CommandResult,
        failures: &[Failure],
        how: Shortfall,
        base: Option<&CommandResult>,
    ) {
        // Only the complete list says which failures were left out.
        let left_out = if failures.len() == result.failures.len() { result.failures_left_out } else { 0 };
        let known = base.map(CommandResult::set).unwrap_or_default();
        let old = failures.iter().filter(|failure| known.contains(&failure.fingerprint)).count();
        let said = result.tail.lines().map(str::trim).rfind(|line| !line.is_empty());
        let nothing_is_known = failures.iter().all(|failure| failure.kind == UNPARSED);
        let names = match said {
            _ if !nothing_is_known => first(failures.iter().map(name), NAMED_MAX, left_out),
            Some(line) => escape_controls(line).chars().take(LINE_MAX).collect(),
            None => String::new(),
        };
        let (run, exit) = (result.run.clone(), result.exit.clone());
        self.reasons.push(Reason::Failed { run, how, names, exit, old });
        self.fingerprints.extend(identities(result, failures));
    }

    /// Adds failures that were not parsed: they may be new.
    fn add_unreadable(&mut self, result: &CommandResult) {
        let failed = result.tests.map_or(0, |tests| tests.failed);
        self.add_reason(Reason::Unread { run: result.run.clone(), failed, unread: result.unread() });
    }

    /// Adds failures in the output that contradict the exit code. An exit code is easily lost, or set. But the output
    /// may also be about another run, so the reason says how to get out of that.
    fn add_hidden_failures(&mut self, result: &CommandResult) {
        let failed = result.self_reported_failures();
        let names = first(result.failures.iter().map(name), NAMED_MAX, 0);
        let counted = result.tests.is_some_and(|tests| tests.failed > 0);
        self.reasons.push(Reason::ExitBelied { run: result.run.clone(), failed, counted, names });
        if result.failures.is_empty() {
            return self.fingerprints.push(format!("belied:{}:{failed}", result.run));
        }
        self.fingerprints.extend(identities(result, &result.failures));
    }

    /// Compares a passing result with the results before the work.
    fn check_removed_tests(&mut self, gate: Gate, result: &CommandResult, prior: BaselineResult<'_>) {
        let Some(base) = prior.base else { return };
        // A baseline that is only shown adds no requirement.
        let is_only_shown = gate == Gate::Pass && prior.mode == Baseline::Report;
        let halves = result.flaky_since_fix(base);
        if gate == Gate::Pass && !is_only_shown && !halves.is_empty() {
            return self.add_newly_flaky(result, &halves);
        }
        if !is_only_shown {
            self.check_tests_present(result, base);
        }
        let flaky = result.newly_flaky(base);
        if !flaky.is_empty() {
            self.problems.push(VerdictWarning::Flaky(flaky_tests(result, "was steady", &flaky)));
        }
    }

    /// Adds tests that sometimes pass: a flaky test is not a fixed test.
    fn add_newly_flaky(&mut self, result: &CommandResult, halves: &[&Failure]) {
        self.reasons.push(Reason::HalfMended(flaky_tests(result, "failed each time", halves)));
        let halves: Vec<Failure> = halves.iter().copied().cloned().collect();
        self.fingerprints.extend(identities(result, &halves));
    }

    /// Adds tests that were removed or skipped, by their number and by their names: neither fixes a failing test.
    fn check_tests_present(&mut self, result: &CommandResult, base: &CommandResult) {
        let run = result.run.clone();
        let before = base.tests.map_or(0, Tests::total);
        let now = result.tests.map(Tests::total);
        let gone = &result.listed.gone;
        if let Some(now) = now.filter(|now| *now < before) {
            let gone = first(gone.iter().map(|test| &test.name), NAMED_MAX, 0);
            self.add_reason(Reason::FewerTests { run, now, before, gone });
        } else if !gone.is_empty() {
            self.add_tests_gone(result, base);
        } else if now.is_none() && before > 0 && !result.listed.has_run_all(&base.listed.failed) {
            // They may still exist, but a check that was made to do nothing looks like this.
            self.add_reason(Reason::Uncounted { run, before });
        } else if let Some(lacks) = missing_information(result, base) {
            self.add_reason(Reason::Unnamed { run, lacks });
        } else {
            match more_skipped_tests(result, base) {
                Some(reason) => self.add_reason(reason),
                None => self.add_unlisted_tests(result, base),
            }
        }
    }

    /// Names the tests that no longer run. Removing a test can hide a new failure as well as an old one.
    fn add_tests_gone(&mut self, result: &CommandResult, base: &CommandResult) {
        let gone = &result.listed.gone;
        let unloaded = base.unloadable_test_files();
        let tests: BTreeSet<TestName> = base.test_names().collect();
        let has_failed = |test: &&TestName| {
            base.listed.failed.contains(test) || unloaded.contains(test) || tests.contains(test)
        };
        let failed = gone.iter().filter(has_failed).count();
        let was_looked_up = |test: &TestName| tests.contains(test) && !base.listed.failed.contains(test);
        self.add_reason(Reason::TestsGone {
            run: result.run.clone(),
            gone: gone.len(),
            failed,
            looked_up: gone.iter().all(was_looked_up),
            names: first(gone.iter().map(|test| &test.name), NAMED_MAX, 0),
        });
    }

    /// Adds a warning about failed tests without names: a removed test looks like a fixed one.
    fn add_unlisted_tests(&mut self, result: &CommandResult, base: &CommandResult) {
        let run = result.run.clone();
        let unnamed = missing_tests::unlisted_tests(base, result);
        let named = name_list(&unnamed);
        let problem = match base.tests {
            None if unnamed.is_empty() => {
                let came_to_none = result.listed.ran.is_empty() && result.tests.is_some() && !base.passed();
                came_to_none.then_some(VerdictWarning::NoTestsBefore(run))
            }
            _ if unnamed.is_empty() => None,
            None => Some(VerdictWarning::UncountedAndUnnamed(run, named)),
            Some(_) if base.tail.contains("stopping after ") => Some(VerdictWarning::StoppedBefore(run)),
            Some(_) => Some(VerdictWarning::PassedUnnamed(run, named)),
        };
        self.problems.extend(problem);
    }

    fn add_reason(&mut self, reason: Reason) {
        self.fingerprints.extend(reason.fingerprint());
        self.reasons.push(reason);
    }
}

/// Describes an increase of skipped tests since before the work, if the failed ones are not named: skipping a failing
/// test does not fix it.
fn more_skipped_tests(result: &CommandResult, base: &CommandResult) -> Option<Reason> {
    let (before, now) = (base.tests?.skipped, result.tests?.skipped);
    let unnamed = missing_tests::unlisted_tests(base, result);
    let run = result.run.clone();
    (now > before && !unnamed.is_empty()).then(|| Reason::MoreSkipped {
        run,
        now,
        before,
        names: name_list(&unnamed),
    })
}

/// Describes failures that are flaky now and were not before the work.
fn flaky_tests(result: &CommandResult, was: &'static str, failures: &[&Failure]) -> Flaky {
    Flaky { run: result.run.clone(), runs: result.observations, was, names: name_list(failures) }
}

/// Names failures in a sentence, up to the maximum.
fn name_list(failures: &[&Failure]) -> String {
    first(failures.iter().copied().map(name), NAMED_MAX, 0)
}

/// Describes which information about the tests a command no longer shows.
fn missing_information(result: &CommandResult, base: &CommandResult) -> Option<&'static str> {
    if !base.reports.is_empty() && result.reports.is_empty() {
        return Some("no longer writes a report");
    }
    (!missing_tests::reporters_gone_quiet(base, result).is_empty()).then_some("no longer names its tests")
}

/// Returns the fingerprints of failures for the controller. In unrecognized output every value counts, because a value
/// may be the only thing that changes; a command without output gives no signal.
pub fn identities(result: &CommandResult, failures: &[Failure]) -> Vec<String> {
    if result.confidence > Confidence::Low {
        return failures.iter().map(|failure| failure.fingerprint.to_string()).collect();
    }
    if result.tail.trim().is_empty() {
        return Vec::new();
    }
    failures.iter().map(|failure| failure.exact.to_string()).collect()
}

/// Returns the name of a failure for a sentence.
pub fn name(failure: &Failure) -> String {
    match (&failure.test, &failure.location) {
        (Some(test), _) => test.clone(),
        (None, Some(place)) if failure.kind.is_empty() => place.to_string(),
        (None, Some(place)) => format!("{} at {place}", failure.kind),
        (None, None) => failure
            .message
            .lines()
            .map(str::trim)
            .rfind(|line| !line.is_empty())
            .map_or_else(|| failure.kind.clone(), |line| line.chars().take(120).collect()),
    }
}
