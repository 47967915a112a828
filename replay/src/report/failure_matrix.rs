//! Failures of a step in each of its checks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use unstuck_core::event::{CheckFinished, Conclusion, Observation, VerdictReached};
use unstuck_core::evidence::{CommandResult, Decision, Failure, TestName, ValidatorOutcome, test_name};
use unstuck_core::id::{Iteration, Seq, Stage, StepId};
use unstuck_core::judge::gate;
use unstuck_core::{Event, Fact};

/// Failures over iterations.
#[derive(Clone, Debug, Default, Serialize)]
pub struct FailureMatrix {
    /// The check runs, in order. The baseline comes first if there is one.
    pub columns: Vec<MatrixColumn>,
    /// The failures. The ones that survived longest come first.
    pub rows: Vec<MatrixRow>,
}

/// A check run and what it says about the failures as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatrixColumn {
    /// The iteration; 0 is the baseline.
    pub iteration: Iteration,
    /// The event of the check run or of its verdict.
    pub event: Seq,
    /// Whether what is not named did not fail: all came to its end and could be read.
    pub conclusive: bool,
    /// The stage from here on, where it was raised.
    pub raised_to: Option<Stage>,
}

/// A failure, and when it was there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MatrixRow {
    /// Its identity.
    pub fingerprint: String,
    /// Name of the failure.
    pub name: String,
    /// Message of the tool, from the last check that reported the failure.
    pub message: String,
    /// A mark for each column.
    pub marks: Vec<CellState>,
}

/// Result of a check for one failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CellState {
    /// It fails.
    Failing,
    /// It fails, and did not in any look before.
    New,
    /// It fails at one time and not at another.
    Flaky,
    /// It does not fail.
    Absent,
    /// Unknown: the check was inconclusive, or the test no longer runs.
    Unknown,
}

impl CellState {
    /// Says whether it failed at least once.
    pub fn is_there(self) -> bool {
        matches!(self, Self::Failing | Self::New | Self::Flaky)
    }
}

impl MatrixRow {
    /// Returns in how many runs it was there.
    pub fn survived(&self) -> usize {
        self.marks.iter().filter(|mark| mark.is_there()).count()
    }
}

impl FailureMatrix {
    pub(super) fn from_events(step: &StepId, events: &[Event]) -> Self {
        let mut runs = CheckRuns::default();
        for event in events {
            match &event.fact {
                Fact::Observed(Observation::CheckFinished(e))
                    if e.step == *step && !(e.commands.is_empty() && e.validators.is_empty()) =>
                {
                    runs.add_check(e, event.seq);
                }
                Fact::Concluded(Conclusion::VerdictReached(e)) if e.step == *step => {
                    runs.add_verdict(e, event.seq);
                }
                Fact::Concluded(Conclusion::StageRaised(e)) if e.step == *step => {
                    if let Some(run) = runs.0.get_mut(&e.iteration) {
                        run.raised_to = Some(e.to);
                    }
                }
                _ => {}
            }
        }
        runs.into_matrix()
    }
}

/// Results of the checks by iteration.
#[derive(Default)]
struct CheckRuns(BTreeMap<Iteration, CheckRun>);

#[derive(Default)]
struct CheckRun {
    event: Seq,
    conclusive: bool,
    raised_to: Option<Stage>,
    seen: BTreeMap<String, ObservedFailure>,
    /// Tests that no longer run.
    gone: BTreeSet<TestName>,
    /// Everything that the controller may call what is in `seen`.
    known: BTreeSet<String>,
}

struct ObservedFailure {
    name: String,
    test: Option<TestName>,
    message: String,
    flaky: bool,
}

impl CheckRuns {
    fn add_check(&mut self, check: &CheckFinished, event: Seq) {
        let can_be_relied_on =
            |command: &CommandResult| command.is_conclusive() && command.failures_left_out == 0;
        let conclusive = check.commands.iter().all(can_be_relied_on);
        // Validators are asked after a check, and tell more of the same iteration.
        let before = self.0.remove(&check.iteration).filter(|_| check.commands.is_empty());
        let mut run = before.unwrap_or_else(|| CheckRun { conclusive, ..CheckRun::default() });
        run.event = event;
        for command in &check.commands {
            command.flaky.iter().for_each(|failure| run.add(failure, true));
            command.failures.iter().for_each(|failure| run.add(failure, false));
            run.gone.extend(command.listed.gone.iter().cloned());
        }
        for result in &check.validators {
            run.conclusive &= !matches!(result.outcome, ValidatorOutcome::CouldNotRun(_));
            result.failures.iter().for_each(|failure| run.add(failure, false));
        }
        self.0.insert(check.iteration, run);
    }

    /// Adds what only the verdict names: what a judge says, a change out of scope, tests that are gone.
    fn add_verdict(&mut self, verdict: &VerdictReached, event: Seq) {
        let says_all = match verdict.decision {
            Decision::Complete => true,
            Decision::Incomplete => !verdict.fingerprints.is_empty(),
            _ => false,
        };
        let alone = || CheckRun { event, conclusive: says_all, ..CheckRun::default() };
        let run = self.0.entry(verdict.iteration).or_insert_with(alone);
        let message = verdict.reasons.join("\n");
        for fingerprint in verdict.fingerprints.iter().filter(|fingerprint| !run.known.contains(*fingerprint))
        {
            let (name, message) = (fingerprint.clone(), message.clone());
            let seen = ObservedFailure { name, test: None, message, flaky: false };
            run.seen.insert(fingerprint.clone(), seen);
        }
    }

    fn into_matrix(self) -> FailureMatrix {
        let mut rows: BTreeMap<&str, MatrixRow> = BTreeMap::new();
        for (fingerprint, seen) in self.0.values().flat_map(|run| &run.seen) {
            let row = rows.entry(fingerprint).or_insert_with(|| MatrixRow {
                fingerprint: fingerprint.clone(),
                name: String::new(),
                message: String::new(),
                marks: self.marks(fingerprint, seen.test.as_ref()),
            });
            // The report shows the newest name and message.
            (row.name, row.message) = (seen.name.clone(), seen.message.clone());
        }
        let mut rows: Vec<MatrixRow> = rows.into_values().collect();
        let last = |row: &MatrixRow| row.marks.iter().rposition(|mark| mark.is_there());
        rows.sort_by(|a, b| {
            let (a_key, b_key) = ((a.survived(), last(a)), (b.survived(), last(b)));
            b_key.cmp(&a_key).then_with(|| a.name.cmp(&b.name))
        });
        let column = |(iteration, run): (&Iteration, &CheckRun)| MatrixColumn {
            iteration: *iteration,
            event: run.event,
            conclusive: run.conclusive,
            raised_to: run.raised_to,
        };
        FailureMatrix { columns: self.0.iter().map(column).collect(), rows }
    }

    fn marks(&self, fingerprint: &str, test: Option<&TestName>) -> Vec<CellState> {
        // In the first look nothing is new: there is nothing to compare with.
        let mut is_known = true;
        let mut was_there = false;
        let mark = |run: &CheckRun| {
            let mark = match run.seen.get(fingerprint) {
                Some(seen) if seen.flaky => CellState::Flaky,
                Some(_) if is_known || was_there => CellState::Failing,
                Some(_) => CellState::New,
                None if run.conclusive && test.is_none_or(|test| !run.gone.contains(test)) => {
                    CellState::Absent
                }
                None => CellState::Unknown,
            };
            (is_known, was_there) = (false, was_there || mark.is_there());
            mark
        };
        self.0.values().map(mark).collect()
    }
}

impl CheckRun {
    fn add(&mut self, failure: &Failure, flaky: bool) {
        let fingerprint = failure.fingerprint.to_string();
        self.known.extend([fingerprint.clone(), failure.exact.to_string()]);
        let test = test_name(failure);
        let seen =
            ObservedFailure { name: gate::name(failure), test, message: failure.message.clone(), flaky };
        self.seen.insert(fingerprint, seen);
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::testing::{Behavior, Script, World, step};
    use unstuck_core::workflow::{Baseline, CheckCommand, CheckMethod, Gate, Workflow};

    use super::*;

    /// Plays a step whose checks show these failures one after the other, the baseline first where there is
    /// one, and returns a line for each failure: its name and a sign for each run.
    fn played(baseline: Baseline, runs: &[&str]) -> Vec<String> {
        let iterations = runs.len() - usize::from(baseline != Baseline::Off);
        let command = CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
        let mut looped =
            step("a").with_check(CheckMethod::Commands(vec![command]), u32::try_from(iterations).unwrap());
        if let Some(check) = &mut looped.check {
            check.baseline = baseline;
        }
        let checks = BTreeMap::from([(StepId::from("a"), runs.iter().map(|run| act(run)).collect())]);
        let mut world =
            World::start(Workflow::of_steps(vec![looped]), Script { checks, ..Script::default() });
        world.play();
        let matrix = FailureMatrix::from_events(&StepId::from("a"), &world.history.events);
        assert_eq!(matrix.columns.len(), runs.len(), "every check run has a column");
        matrix.rows.iter().map(|row| format!("{} {}", row.name, signs(&row.marks))).collect()
    }

    fn act(look: &str) -> Behavior {
        match look {
            "hangs" => Behavior::Hangs,
            "gone" => Behavior::Exits(0, tests(&[], 1)),
            "" => Behavior::Exits(0, tests(&[], 3)),
            failing => Behavior::Exits(1, tests(&failing.split(' ').collect::<Vec<_>>(), 3)),
        }
    }

    /// Prints so many tests as TAP, of which these fail.
    fn tests(failing: &[&str], all: usize) -> String {
        let passing = ["a", "b", "c"].into_iter().filter(|name| !failing.contains(name));
        let ended = failing.iter().map(|name| ("not ok", *name)).chain(passing.map(|name| ("ok", name)));
        let lines = (1..).zip(ended.take(all)).map(|(at, (how, name))| format!("{how} {at} - {name}\n"));
        format!("1..{all}\n{}", lines.collect::<String>())
    }

    fn signs(marks: &[CellState]) -> String {
        let sign = |mark: &CellState| match mark {
            CellState::Failing => 'x',
            CellState::New => '+',
            CellState::Flaky => '~',
            CellState::Absent => '.',
            CellState::Unknown => '?',
        };
        marks.iter().map(sign).collect()
    }

    #[test]
    fn every_failure_has_a_mark_for_every_look() {
        for (baseline, runs, want) in [
            (Baseline::Off, &["a"][..], &["a x"][..]),
            (Baseline::Off, &[""], &[]),
            // It comes, goes, and is not new when it comes again; who survived longest is first.
            (Baseline::Gate, &["a b", "a c", "a", "a c", ""], &["a xxxx.", "c .+.x.", "b x...."]),
            // Failures that still exist come before the ones that are gone. Then the name decides.
            (Baseline::Gate, &["c", "b", "a d"], &["a ..+", "d ..+", "b .+.", "c x.?"]),
            // If a check times out, its failures are unknown. The timeout counts as a separate failure.
            (Baseline::Gate, &["a", "hangs", "a"], &["a x?x", "timeout .+."]),
            // Failures that only the verdict names are included.
            (Baseline::Gate, &["a", "gone"], &["tests_removed:check .+", "a x."]),
        ] {
            assert_eq!(played(baseline, runs), want, "{runs:?}");
        }
    }
}
