//! Results of a check's commands: each command has a gate, and the results must pass all gates.
//!
//! With the gate *pass* a command must exit with 0. With *no new failures* it must show no failure that the baseline
//! did not have, whatever else fails. An inconclusive run, one that was cut short or could not be parsed, passes no
//! gate. Nor does a run with fewer tests than the baseline, or without a named test of the baseline.

use std::collections::BTreeSet;

use crate::event::Exit;
use crate::evidence::{CommandResult, Confidence, Failure, TestName, Tests, UNPARSED, test_name, timeout};
use crate::judge::reason::{Flaky, Problem, Reason, Shortfall};
use crate::judge::vanished_tests;
use crate::plural::first;
use crate::text::plain::quoted;
use crate::workflow::{Baseline, CheckCommand, Gate};

/// Result of comparing a check with its gates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Reasons for display and for the next prompt; empty if all gates pass.
    pub reasons: Vec<Reason>,
    /// Fingerprints for the controller.
    pub fingerprints: Vec<String>,
    /// Warnings.
    pub problems: Vec<Problem>,
}

/// Results of a command before the work.
#[derive(Clone, Copy, Debug)]
pub struct Prior<'a> {
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
) -> Findings {
    let mut findings = Findings::default();
    for (at, command) in commands.iter().enumerate() {
        let base = baseline.and_then(|baseline| baseline.get(at));
        match results.get(at) {
            Some(result) => findings.add(command.gate, result, Prior { base, mode }),
            None => findings.note(Reason::NotRun(command.run.clone())),
        }
    }
    if findings.reasons.is_empty() {
        findings
            .problems
            .extend(results.iter().filter(|it| it.tests.is_some_and(|tests| tests.ran() == 0)).map(untested));
    }
    findings
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
        let unnamed = if asks(command) { vanished_tests::unnamed(base, result) } else { Vec::new() };
        unnamed.into_iter().filter_map(test_name).collect()
    });
    unnamed.collect()
}

/// Returns a warning about a test command that ran no tests.
fn untested(result: &CommandResult) -> Problem {
    Problem::NoTests { run: result.run.clone(), skipped: result.tests.map_or(0, |tests| tests.skipped) }
}

/// Describes why a baseline cannot be compared with, if a gate needs that. A command that fails without a message can
/// pass later, which is enough for the gate *pass*. If a run was cut short, its set of tests is unknown.
pub fn no_baseline(commands: &[CheckCommand], results: &[CommandResult], mode: Baseline) -> Option<String> {
    let why = |(command, result): (&CheckCommand, &CommandResult)| {
        let compares = command.gate == Gate::NoNewFailures;
        let cut = result.cut_short().filter(|_| compares || mode == Baseline::Gate);
        let why = match cut {
            Some(how) if compares => format!("it {how}; {}", way_out(&result.exit)),
            Some(how) => format!(
                "it {how}; {}, or begin again with `--baseline off` (in a file `baseline: off`), which compares with nothing",
                way_out(&result.exit)
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
fn way_out(exit: &Exit) -> &'static str {
    match exit {
        Exit::TimedOut => {
            "give it more time (a check has a quarter of `--max-time`, in a file its `timeout`)"
        }
        Exit::Idle | Exit::Probed(_) => "let it show that it is alive (in a file there is `idle_timeout`)",
        _ => "mend it",
    }
}

impl Findings {
    /// Adds the findings of one command's gate.
    pub fn add(&mut self, gate: Gate, result: &CommandResult, prior: Prior<'_>) {
        if let Some(reason) = timeout(&format!("`{}`", result.run), &result.exit, result.duration) {
            return self.note(Reason::Timeout(reason));
        }
        if let Exit::Signal(signal) = result.exit {
            self.fingerprints.push(format!("signal:{signal}"));
        }
        let base = prior.base;
        match gate {
            Gate::Pass if result.belies_itself() => self.belied(result),
            Gate::Pass if result.passed() => self.let_through(gate, result, prior),
            Gate::Pass => self.failed(result, &result.failures, Shortfall::Fails, base),
            Gate::NoNewFailures if !result.is_conclusive() => {
                self.failed(result, &result.failures, Shortfall::Inconclusive, base);
            }
            Gate::NoNewFailures if !result.has_result() && base.is_some_and(CommandResult::has_result) => {
                self.failed(result, &result.failures, Shortfall::ShowsNothing, base);
            }
            Gate::NoNewFailures => {
                let known = base.map(CommandResult::places).unwrap_or_default();
                let is_new =
                    |it: &&Failure| known.get(&it.fingerprint).is_none_or(|places| it.places > *places);
                let new: Vec<Failure> = result.failures.iter().filter(is_new).cloned().collect();
                if let Some(base) = base.filter(|base| base.failures_left_out > 0)
                    && (!new.is_empty() || result.failures_left_out > 0)
                {
                    self.beyond_the_baseline(result, &new, base);
                } else if new.is_empty() && result.failures_left_out == 0 {
                    // The same line in the baseline may be about something else.
                    if result.belies_itself() && base.is_some_and(|base| !base.belies_itself()) {
                        return self.belied(result);
                    }
                    if result.nameless().is_some() || result.unread() > base.map_or(0, CommandResult::unread)
                    {
                        return self.unread(result);
                    }
                    self.let_through(gate, result, prior);
                } else {
                    self.failed(result, &new, Shortfall::New, base);
                }
            }
        }
    }

    /// Compares only the numbers, and never passes. A failure beyond a cut baseline may be old or new, and one could
    /// replace the other.
    fn beyond_the_baseline(&mut self, result: &CommandResult, new: &[Failure], base: &CommandResult) {
        let (before, now) = (base.failed_places(), result.failed_places());
        if now > before {
            let how = Shortfall::More { now, before };
            return self.failed(result, if new.is_empty() { &result.failures } else { new }, how, None);
        }
        let unknown = result.failures_left_out.saturating_add(u64::try_from(new.len()).unwrap_or(u64::MAX));
        self.reasons.push(Reason::BeyondBaseline { run: result.run.clone(), before, now, unknown });
        self.fingerprints.extend(identities(result, new));
        if new.is_empty() {
            self.fingerprints.push(format!("left_out:{}", result.run));
        }
    }

    fn failed(
        &mut self,
        result: &CommandResult,
        failures: &[Failure],
        how: Shortfall,
        base: Option<&CommandResult>,
    ) {
        // Only the complete list says which failures were left out.
        let left_out = if failures.len() == result.failures.len() { result.failures_left_out } else { 0 };
        let known = base.map(CommandResult::set).unwrap_or_default();
        let old = failures.iter().filter(|it| known.contains(&it.fingerprint)).count();
        let said = result.tail.lines().map(str::trim).rfind(|line| !line.is_empty());
        let nothing_is_known = failures.iter().all(|failure| failure.kind == UNPARSED);
        let names = match said {
            _ if !nothing_is_known => first(failures.iter().map(name), NAMED_MAX, left_out),
            Some(line) => quoted(line).chars().take(LINE_MAX).collect(),
            None => String::new(),
        };
        let (run, exit) = (result.run.clone(), result.exit.clone());
        self.reasons.push(Reason::Failed { run, how, names, exit, old });
        self.fingerprints.extend(identities(result, failures));
    }

    /// Adds failures that were not parsed: they may be new.
    fn unread(&mut self, result: &CommandResult) {
        let failed = result.tests.map_or(0, |tests| tests.failed);
        self.note(Reason::Unread { run: result.run.clone(), failed, unread: result.unread() });
    }

    /// Adds failures in the output that contradict the exit code. An exit code is easily lost, or set. But the output
    /// may also be about another run, so the reason says how to get out of that.
    fn belied(&mut self, result: &CommandResult) {
        let failed = result.told_itself();
        let names = first(result.failures.iter().map(name), NAMED_MAX, 0);
        let counted = result.tests.is_some_and(|tests| tests.failed > 0);
        self.reasons.push(Reason::ExitBelied { run: result.run.clone(), failed, counted, names });
        if result.failures.is_empty() {
            return self.fingerprints.push(format!("belied:{}:{failed}", result.run));
        }
        self.fingerprints.extend(identities(result, &result.failures));
    }

    /// Compares a passing result with the results before the work.
    fn let_through(&mut self, gate: Gate, result: &CommandResult, prior: Prior<'_>) {
        let Some(base) = prior.base else { return };
        // A baseline that is only shown adds no requirement.
        let is_only_shown = gate == Gate::Pass && prior.mode == Baseline::Report;
        let halves = result.half_mended(base);
        if gate == Gate::Pass && !is_only_shown && !halves.is_empty() {
            return self.half_mended(result, &halves);
        }
        if !is_only_shown {
            self.tests_removed(result, base);
        }
        let flaky = result.newly_flaky(base);
        if !flaky.is_empty() {
            self.problems.push(Problem::Flaky(come_and_go(result, "was steady", &flaky)));
        }
    }

    /// Adds tests that sometimes pass: a flaky test is not a fixed test.
    fn half_mended(&mut self, result: &CommandResult, halves: &[&Failure]) {
        self.reasons.push(Reason::HalfMended(come_and_go(result, "failed each time", halves)));
        let halves: Vec<Failure> = halves.iter().copied().cloned().collect();
        self.fingerprints.extend(identities(result, &halves));
    }

    /// Adds tests that were removed or skipped: neither fixes a failing test.
    fn tests_removed(&mut self, result: &CommandResult, base: &CommandResult) {
        let run = result.run.clone();
        let before = base.tests.map_or(0, Tests::ran);
        let now = result.tests.map(Tests::ran);
        let gone = &result.listed.gone;
        if let Some(now) = now.filter(|now| *now < before) {
            let gone = first(gone.iter().map(|it| &it.name), NAMED_MAX, 0);
            self.note(Reason::FewerTests { run, now, before, gone });
        } else if !gone.is_empty() {
            self.tests_gone(result, base);
        } else if now.is_none() && before > 0 && !result.listed.has_run_all(&base.listed.failed) {
            // They may still exist, but a check that was made to do nothing looks like this.
            self.note(Reason::Uncounted { run, before });
        } else if let Some(lacks) = lacks(result, base) {
            self.note(Reason::Unnamed { run, lacks });
        } else {
            match skips_more(result, base) {
                Some(reason) => self.note(reason),
                None => self.unseen(result, base),
            }
        }
    }

    /// Names the tests that no longer run. Removing a test can hide a new failure as well as an old one.
    fn tests_gone(&mut self, result: &CommandResult, base: &CommandResult) {
        let gone = &result.listed.gone;
        let unloaded = base.unloaded();
        let tests: BTreeSet<TestName> = base.test_names().collect();
        let has_failed =
            |it: &&TestName| base.listed.failed.contains(it) || unloaded.contains(it) || tests.contains(it);
        let failed = gone.iter().filter(has_failed).count();
        let was_looked_up = |it: &TestName| tests.contains(it) && !base.listed.failed.contains(it);
        self.note(Reason::TestsGone {
            run: result.run.clone(),
            gone: gone.len(),
            failed,
            looked_up: gone.iter().all(was_looked_up),
            names: first(gone.iter().map(|it| &it.name), NAMED_MAX, 0),
        });
    }

    /// Adds a warning about failed tests without names: a removed test looks like a fixed one.
    fn unseen(&mut self, result: &CommandResult, base: &CommandResult) {
        let run = result.run.clone();
        let unnamed = vanished_tests::unnamed(base, result);
        let named = named(&unnamed);
        let problem = match base.tests {
            None if unnamed.is_empty() => {
                let came_to_none = result.listed.ran.is_empty() && result.tests.is_some() && !base.passed();
                came_to_none.then_some(Problem::NoTestsBefore(run))
            }
            _ if unnamed.is_empty() => None,
            None => Some(Problem::UncountedAndUnnamed(run, named)),
            Some(_) if base.tail.contains("stopping after ") => Some(Problem::StoppedBefore(run)),
            Some(_) => Some(Problem::PassedUnnamed(run, named)),
        };
        self.problems.extend(problem);
    }

    fn note(&mut self, reason: Reason) {
        self.fingerprints.extend(reason.fingerprint());
        self.reasons.push(reason);
    }
}

/// Describes an increase of skipped tests since before the work, if the failed ones are not named: skipping a failing
/// test does not fix it.
fn skips_more(result: &CommandResult, base: &CommandResult) -> Option<Reason> {
    let (before, now) = (base.tests?.skipped, result.tests?.skipped);
    let unnamed = vanished_tests::unnamed(base, result);
    let run = result.run.clone();
    (now > before && !unnamed.is_empty()).then(|| Reason::MoreSkipped {
        run,
        now,
        before,
        names: named(&unnamed),
    })
}

/// Describes failures that are flaky now and were not before the work.
fn come_and_go(result: &CommandResult, was: &'static str, failures: &[&Failure]) -> Flaky {
    Flaky { run: result.run.clone(), runs: result.observations, was, names: named(failures) }
}

/// Names failures in a sentence, up to the maximum.
fn named(failures: &[&Failure]) -> String {
    first(failures.iter().copied().map(name), NAMED_MAX, 0)
}

/// Describes which information about the tests a command no longer shows.
fn lacks(result: &CommandResult, base: &CommandResult) -> Option<&'static str> {
    if !base.reports.is_empty() && result.reports.is_empty() {
        return Some("writes no report any more");
    }
    (!vanished_tests::silent(base, result).is_empty()).then_some("does not name its tests any more")
}

/// Returns the fingerprints of failures for the controller. In unrecognized output every value counts, because a value
/// may be the only thing that changes; a command without output gives no signal.
pub fn identities(result: &CommandResult, failures: &[Failure]) -> Vec<String> {
    if result.confidence > Confidence::Low {
        return failures.iter().map(|it| it.fingerprint.to_string()).collect();
    }
    if result.tail.trim().is_empty() {
        return Vec::new();
    }
    failures.iter().map(|it| it.exact.to_string()).collect()
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
            .rfind(|it| !it.is_empty())
            .map_or_else(|| failure.kind.clone(), |line| line.chars().take(120).collect()),
    }
}
