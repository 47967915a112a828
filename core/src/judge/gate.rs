//! What the commands of a check mean: each has a gate, and all of them must let through.
//!
//! A command with the gate *pass* has to exit with 0. One with *no new failures* must show no failure that the
//! baseline did not have, whatever else fails. An inconclusive run, one that was cut short or of which
//! nothing could be read, goes through no gate; nor do fewer tests than the baseline had, nor
//! tests without one of the baseline, where they have names.

use std::collections::BTreeSet;

use crate::event::Exit;
use crate::evidence::{CommandResult, Confidence, Failure, TestName, Tests, UNPARSED, test_name, timeout};
use crate::judge::reason::{Flaky, Problem, Reason, Shortfall};
use crate::judge::vanished_tests;
use crate::plural::first;
use crate::text::plain::quoted;
use crate::workflow::{Baseline, CheckCommand, Gate};

/// What the gates of a check let through, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// For people and for the next prompt; empty if all is well.
    pub reasons: Vec<Reason>,
    /// For the controller.
    pub fingerprints: Vec<String>,
    /// What could not be looked at.
    pub problems: Vec<Problem>,
}

/// What a command showed before the work began.
#[derive(Clone, Copy, Debug)]
pub struct Prior<'a> {
    /// Nothing, if nobody looked.
    pub base: Option<&'a CommandResult>,
    /// What the check asks of it.
    pub mode: Baseline,
}

/// How many failures a reason names.
const NAMED_MAX: usize = 8;
/// How many characters of a line that nothing recognised a reason quotes.
const LINE_MAX: usize = 120;

/// Compares what the commands of a check showed with what their gates ask. `baseline` has the results of
/// the same commands before the first iteration, if they were asked for, and `mode` says what for.
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

/// Returns for each command of a check that lets through the tests that failed before the work began and that it does not
/// name: whether they were mended or removed, only the files may show.
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

/// Says that a command of tests shows nothing.
fn untested(result: &CommandResult) -> Problem {
    Problem::NoTests { run: result.run.clone(), skipped: result.tests.map_or(0, |tests| tests.skipped) }
}

/// Says why a baseline cannot be compared with, if a gate needs that. What fails without a word can pass later, which is
/// all that a gate *pass* asks of it; of what was cut short nobody knows which tests there were.
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

/// Says what to do about a command that ended so before its end.
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
    /// Adds what the gate of one command finds in what it showed.
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
                    // What it printed so before, it may print of something else.
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

    /// What is not in a baseline that was cut may have failed before, and may be new: one for the other could pass for
    /// none. Only the numbers can be compared, and they let nothing through.
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
        // Which of those that were left out are meant is known only where all are.
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

    /// What is not known is not known to be old.
    fn unread(&mut self, result: &CommandResult) {
        let failed = result.tests.map_or(0, |tests| tests.failed);
        self.note(Reason::Unread { run: result.run.clone(), failed, unread: result.unread() });
    }

    /// An exit code is easily lost, or set. But what a command prints may also be about another run, so the reason says
    /// how to get out of that.
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

    /// Puts what a gate lets through beside what was there before the work began.
    fn let_through(&mut self, gate: Gate, result: &CommandResult, prior: Prior<'_>) {
        let Some(base) = prior.base else { return };
        // What is only to be shown asks for nothing.
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

    /// Whoever lets a failing test pass at times has not mended it.
    fn half_mended(&mut self, result: &CommandResult, halves: &[&Failure]) {
        self.reasons.push(Reason::HalfMended(come_and_go(result, "failed each time", halves)));
        let halves: Vec<Failure> = halves.iter().copied().cloned().collect();
        self.fingerprints.extend(identities(result, &halves));
    }

    /// Whoever deletes or skips a failing test has not mended it.
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
            // Nobody knows that they are gone. But so it looks when a check was made to do nothing.
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

    /// Names the tests that are not run any more. One that passed and would fail now is as easily removed as one that failed.
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

    /// Where a test is not named, one that was removed looks like one that was mended.
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

/// Says that more tests are skipped than before the work began, where those that failed are not named: to skip a failing test
/// does not mend it.
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

/// Says that what was otherwise before the work began fails at times.
fn come_and_go(result: &CommandResult, was: &'static str, failures: &[&Failure]) -> Flaky {
    Flaky { run: result.run.clone(), runs: result.observations, was, names: named(failures) }
}

/// Names failures in a sentence, as many as there is room for.
fn named(failures: &[&Failure]) -> String {
    first(failures.iter().copied().map(name), NAMED_MAX, 0)
}

/// Says what a command shows no more of the tests.
fn lacks(result: &CommandResult, base: &CommandResult) -> Option<&'static str> {
    if !base.reports.is_empty() && result.reports.is_empty() {
        return Some("writes no report any more");
    }
    (!vanished_tests::silent(base, result).is_empty()).then_some("does not name its tests any more")
}

/// Returns what the controller knows failures by. Of output that nothing recognised every value counts, since
/// the value may be all that moves; a command that says nothing gives no signal.
pub fn identities(result: &CommandResult, failures: &[Failure]) -> Vec<String> {
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
