//! What the commands of a check mean: each has a gate, and all of them must let through.
//!
//! A command with the gate *pass* has to exit with 0. One with *no new failures* must show no failure that the
//! baseline did not have, whatever else fails. An inconclusive run, one that was cut short or of which
//! nothing could be read, goes through no gate; nor do fewer tests than the baseline had, nor
//! tests without one of the baseline, where they have names.

use std::collections::BTreeSet;

use crate::event::Exit;
use crate::evidence::{
    CommandResult, Confidence, Failure, TIMEOUT, TestName, Tests, UNPARSED, test_name, timeout,
};
use crate::judge::vanished_tests;
use crate::plural::{count, first};
use crate::text::plain::quoted;
use crate::workflow::{Baseline, CheckCommand, Gate};

/// What the gates of a check let through, and what not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// For people and for the next prompt; empty if all is well.
    pub reasons: Vec<String>,
    /// For the controller.
    pub fingerprints: Vec<String>,
    /// What could not be looked at.
    pub problems: Vec<String>,
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
            None => findings.note(format!("`{}` was not run", command.run), "check:not_run".to_owned()),
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
fn untested(result: &CommandResult) -> String {
    let skipped = result.tests.map_or(0, |tests| tests.skipped);
    let but = if skipped > 0 { format!(", and skipped {skipped}") } else { String::new() };
    format!("no_tests: `{}` ran no test{but}: that it passes says little", result.run)
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
            return self.note(reason, TIMEOUT.to_owned());
        }
        if let Exit::Signal(signal) = result.exit {
            self.fingerprints.push(format!("signal:{signal}"));
        }
        let base = prior.base;
        match gate {
            Gate::Pass if result.belies_itself() => self.belied(result),
            Gate::Pass if result.passed() => self.let_through(gate, result, prior),
            Gate::Pass => self.failed(result, &result.failures, "fails", base),
            Gate::NoNewFailures if !result.is_conclusive() => {
                self.failed(result, &result.failures, "is inconclusive, which passes no gate", base);
            }
            Gate::NoNewFailures if !result.has_result() && base.is_some_and(CommandResult::has_result) => {
                let how = "is inconclusive, which passes no gate: it shows no test, no finding and no count";
                self.failed(result, &result.failures, how, base);
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
                    self.failed(result, &new, "shows new failures", base);
                }
            }
        }
    }

    /// What is not in a baseline that was cut may have failed before, and may be new: one for the other could pass for
    /// none. Only the numbers can be compared, and they let nothing through.
    fn beyond_the_baseline(&mut self, result: &CommandResult, new: &[Failure], base: &CommandResult) {
        let (before, now) = (base.failed_places(), result.failed_places());
        if now > before {
            let how = format!("shows more failures, {now}, than the {before} before the work began");
            return self.failed(result, if new.is_empty() { &result.failures } else { new }, &how, None);
        }
        let unknown = result.failures_left_out.saturating_add(u64::try_from(new.len()).unwrap_or(u64::MAX));
        self.reasons.push(format!(
            "`{}` is inconclusive, which passes no gate: it showed {before} failures before the work began, more than are \
             kept, so of {unknown} of the {now} that it shows now nobody knows whether they are new; narrow the check, such \
             as to a part of the tests, or mend them",
            result.run
        ));
        self.fingerprints.extend(identities(result, new));
        if new.is_empty() {
            self.fingerprints.push(format!("left_out:{}", result.run));
        }
    }

    fn failed(
        &mut self,
        result: &CommandResult,
        failures: &[Failure],
        how: &str,
        base: Option<&CommandResult>,
    ) {
        // Which of those that were left out are meant is known only where all are.
        let left_out = if failures.len() == result.failures.len() { result.failures_left_out } else { 0 };
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
            _ if !nothing_is_known => first(failures.iter().map(name), NAMED_MAX, left_out),
            Some(line) => quoted(line).chars().take(LINE_MAX).collect(),
            None => String::new(),
        };
        let named = if names.is_empty() { String::new() } else { format!(": {names}") };
        let details: Vec<String> = exit.into_iter().chain(old).collect();
        let details = if details.is_empty() { String::new() } else { format!(" ({})", details.join(", ")) };
        self.reasons.push(format!("`{}` {how}{named}{details}", result.run));
        self.fingerprints.extend(identities(result, failures));
    }

    /// What is not known is not known to be old.
    fn unread(&mut self, result: &CommandResult) {
        let failed = result.tests.map_or(0, |tests| tests.failed);
        let reason = format!(
            "`{}` is inconclusive, which passes no gate: it counts {}, and {} of them could not be \
             read from its output; let it name them, or write a report",
            result.run,
            count(failed, "failed test"),
            result.unread()
        );
        self.note(reason, format!("unread:{}:{failed}", result.run));
    }

    /// An exit code is easily lost, or set. But what a command prints may also be about another run, so the reason says
    /// how to get out of that.
    fn belied(&mut self, result: &CommandResult) {
        let failed = result.told_itself();
        let names = first(result.failures.iter().map(name), NAMED_MAX, 0);
        let named = if names.is_empty() { String::new() } else { format!(": {names}") };
        let is_counted = result.tests.is_some_and(|tests| tests.failed > 0);
        self.reasons.push(format!(
            "`{}` exits with 0, but {} {} itself{named}; mend what failed, or let it exit with what \
             it found (a pipe or `;` loses that); if that is the output of another run, keep it out of this one's",
            result.run,
            if is_counted { "counts" } else { "tells of" },
            count(failed, if is_counted { "failed test" } else { "failure" }),
        ));
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
            let flaky = come_and_go(result, "was steady", &flaky);
            self.problems.push(format!("flaky: {flaky}"));
        }
    }

    /// Whoever lets a failing test pass at times has not mended it.
    fn half_mended(&mut self, result: &CommandResult, halves: &[&Failure]) {
        let reason = come_and_go(result, "failed each time", halves);
        self.reasons.push(format!("{reason}; mend it so that it passes each time"));
        let halves: Vec<Failure> = halves.iter().copied().cloned().collect();
        self.fingerprints.extend(identities(result, &halves));
    }

    /// Whoever deletes or skips a failing test has not mended it.
    fn tests_removed(&mut self, result: &CommandResult, base: &CommandResult) {
        let run = &result.run;
        let before = base.tests.map_or(0, Tests::ran);
        let now = result.tests.map(Tests::ran);
        let gone = &result.listed.gone;
        if let Some(now) = now.filter(|now| *now < before) {
            let names = first(gone.iter().map(|it| &it.name), NAMED_MAX, 0);
            let named = if names.is_empty() { String::new() } else { format!(", and not {names}") };
            let reason = format!(
                "tests_removed: `{run}` ran {now} of the {before} tests that ran before the work began{named}; put the others back"
            );
            self.note(reason, format!("tests_removed:{run}"));
        } else if !gone.is_empty() {
            self.tests_gone(result, base);
        } else if now.is_none() && before > 0 && !result.listed.has_run_all(&base.listed.failed) {
            // Nobody knows that they are gone. But so it looks when a check was made to do nothing.
            let reason = format!(
                "tests_unseen: `{run}` does not say any more how many tests it ran ({before} before); let it say so (no `-q`, \
                 no quiet reporter), have it write a report (`--report`), or begin again with `--baseline off`"
            );
            self.note(reason, format!("tests_unseen:{run}"));
        } else if let Some(lacks) = lacks(result, base) {
            let reason = format!(
                "tests_unseen: `{run}` {lacks}, as it did before the work began, so nobody knows which tests it ran; let it do \
                 so again, or begin again with `--baseline off`"
            );
            self.note(reason, format!("tests_unseen:{run}"));
        } else {
            match skips_more(result, base) {
                Some(reason) => self.note(reason, format!("tests_removed:{run}")),
                None => self.unseen(result, base),
            }
        }
    }

    /// Names the tests that are not run any more. One that passed and would fail now is as easily removed as one that failed.
    fn tests_gone(&mut self, result: &CommandResult, base: &CommandResult) {
        let (run, gone) = (&result.run, &result.listed.gone);
        let unloaded = base.unloaded();
        let tests: BTreeSet<TestName> = base.test_names().collect();
        let has_failed =
            |it: &&TestName| base.listed.failed.contains(it) || unloaded.contains(it) || tests.contains(it);
        let failed = gone.iter().filter(has_failed).count();
        let was_looked_up = |it: &TestName| tests.contains(it) && !base.listed.failed.contains(it);
        let back = match gone.iter().all(was_looked_up) {
            true => ", and no file has such a name any more; put back what was removed or renamed",
            false => "; put back what was removed, renamed or skipped",
        };
        let (ended, then) = match failed {
            0 => ("passed", "; where that was asked for, a new run takes it as it is"),
            failed if failed == gone.len() => ("failed", ", and mend it"),
            _ => ("passed or failed", ", and mend what fails"),
        };
        let reason = format!(
            "tests_removed: `{run}` does not run {} that {ended} before the work began: {}{back}{then}",
            if gone.len() == 1 { "a test" } else { "tests" },
            first(gone.iter().map(|it| &it.name), NAMED_MAX, 0),
        );
        self.note(reason, format!("tests_removed:{run}"));
    }

    /// Where a test is not named, one that was removed looks like one that was mended.
    fn unseen(&mut self, result: &CommandResult, base: &CommandResult) {
        let run = &result.run;
        let unnamed = vanished_tests::unnamed(base, result);
        let named = named(&unnamed);
        let problem = match base.tests {
            None if unnamed.is_empty() => {
                let came_to_none = result.listed.ran.is_empty() && result.tests.is_some() && !base.passed();
                came_to_none.then(|| {
                    format!("`{run}` came to no test before the work began, so it is not known whether some were removed")
                })
            }
            _ if unnamed.is_empty() => None,
            None => Some(format!(
                "`{run}` says neither how many tests it ran nor which, so it is not known whether those that failed before \
                 the work began were mended or removed: {named}; let it name them (such as with -v), or write a report"
            )),
            Some(_) if base.tail.contains("stopping after ") => Some(format!(
                "`{run}` stopped at its first failures before the work began, so it is not known how many tests there were; \
                 leave that option out, or let it name the tests (such as with -v)"
            )),
            Some(_) => Some(format!(
                "`{run}` does not name the tests that pass, so it is not known whether those that failed before the work began \
                 were mended or swapped for others: {named}; let it name them (such as with -v), or write a report (--report)"
            )),
        };
        self.problems.extend(problem.map(|problem| format!("tests_unseen: {problem}")));
    }

    fn note(&mut self, reason: String, fingerprint: String) {
        self.reasons.push(reason);
        self.fingerprints.push(fingerprint);
    }
}

/// Says that more tests are skipped than before the work began, where those that failed are not named: to skip a failing test
/// does not mend it.
fn skips_more(result: &CommandResult, base: &CommandResult) -> Option<String> {
    let (before, now) = (base.tests?.skipped, result.tests?.skipped);
    let unnamed = vanished_tests::unnamed(base, result);
    (now > before && !unnamed.is_empty()).then(|| {
        format!(
            "tests_removed: `{}` skips {}, {before} before the work began, and does not name those that it runs, so those that \
             failed may be skipped and not mended: {}; take the skips back, or let it name the tests (such as with -v)",
            result.run,
            count(now, "test"),
            named(&unnamed)
        )
    })
}

/// Says that what was otherwise before the work began fails at times.
fn come_and_go(result: &CommandResult, was: &str, failures: &[&Failure]) -> String {
    format!(
        "`{}` passes at one time and fails at another (run {}) in what {was} before the work began: {}",
        result.run,
        count(u64::from(result.observations), "time"),
        named(failures),
    )
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
