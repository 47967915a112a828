//! Failures of a step in each of its checks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use unstuck_core::event::{CheckFinished, Conclusion, Observation, VerdictReached};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::Decision;
use unstuck_core::evidence::ValidatorOutcome;
use unstuck_core::evidence::test_name;
use unstuck_core::evidence::{Failure, TestName};
use unstuck_core::id::{Iteration, Seq, Stage, StepId};
use unstuck_core::judge::gate;
use unstuck_core::{Event, Fact};

/// Failures over iterations.
#[derive(Clone, Debug, Default, Serialize)]
pub struct History {
    /// The check runs, in order. The baseline comes first if there is one.
    pub columns: Vec<Column>,
    /// The failures. The ones that survived longest come first.
    pub rows: Vec<Survivor>,
}

/// A check run and what it says about the failures as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Column {
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
pub struct Survivor {
    /// Its identity.
    pub fingerprint: String,
    /// Name of the failure.
    pub name: String,
    /// Message of the tool, from the last check that reported the failure.
    pub message: String,
    /// A mark for each column.
    pub marks: Vec<Mark>,
}

/// Result of a check for one failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
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

impl Mark {
    /// Says whether it failed at least once.
    pub fn is_there(self) -> bool {
        matches!(self, Self::Failing | Self::New | Self::Flaky)
    }
}

impl Survivor {
    /// Returns in how many looks it was there.
    pub fn survived(&self) -> usize {
        self.marks.iter().filter(|mark| mark.is_there()).count()
    }
}

impl History {
    pub(super) fn of(step: &StepId, events: &[Event]) -> Self {
        let mut looks = Looks::default();
        for event in events {
            match &event.fact {
                Fact::Observed(Observation::CheckFinished(e))
                    if e.step == *step && !(e.commands.is_empty() && e.validators.is_empty()) =>
                {
                    looks.checked(e, event.seq);
                }
                Fact::Concluded(Conclusion::VerdictReached(e)) if e.step == *step => {
                    looks.judged(e, event.seq);
                }
                Fact::Concluded(Conclusion::StageRaised(e)) if e.step == *step => {
                    if let Some(look) = looks.0.get_mut(&e.iteration) {
                        look.raised_to = Some(e.to);
                    }
                }
                _ => {}
            }
        }
        looks.history()
    }
}

/// Results of the checks by iteration.
#[derive(Default)]
struct Looks(BTreeMap<Iteration, Look>);

#[derive(Default)]
struct Look {
    event: Seq,
    conclusive: bool,
    raised_to: Option<Stage>,
    seen: BTreeMap<String, Seen>,
    /// Tests that no longer run.
    gone: BTreeSet<TestName>,
    /// Everything that the controller may call what is in `seen`.
    known: BTreeSet<String>,
}

struct Seen {
    name: String,
    test: Option<TestName>,
    message: String,
    flaky: bool,
}

impl Looks {
    fn checked(&mut self, check: &CheckFinished, event: Seq) {
        let can_be_relied_on =
            |command: &CommandResult| command.is_conclusive() && command.failures_left_out == 0;
        let conclusive = check.commands.iter().all(can_be_relied_on);
        // Validators are asked after a check, and tell more of the same iteration.
        let before = self.0.remove(&check.iteration).filter(|_| check.commands.is_empty());
        let mut look = before.unwrap_or_else(|| Look { conclusive, ..Look::default() });
        look.event = event;
        for command in &check.commands {
            command.flaky.iter().for_each(|failure| look.add(failure, true));
            command.failures.iter().for_each(|failure| look.add(failure, false));
            look.gone.extend(command.listed.gone.iter().cloned());
        }
        for result in &check.validators {
            look.conclusive &= !matches!(result.outcome, ValidatorOutcome::CouldNotRun(_));
            result.failures.iter().for_each(|failure| look.add(failure, false));
        }
        self.0.insert(check.iteration, look);
    }

    /// Adds what only the verdict names: what a judge says, a change out of scope, tests that are gone.
    fn judged(&mut self, verdict: &VerdictReached, event: Seq) {
        let says_all = match verdict.decision {
            Decision::Complete => true,
            Decision::Incomplete => !verdict.fingerprints.is_empty(),
            _ => false,
        };
        let alone = || Look { event, conclusive: says_all, ..Look::default() };
        let look = self.0.entry(verdict.iteration).or_insert_with(alone);
        let message = verdict.reasons.join("\n");
        for fingerprint in verdict.fingerprints.iter().filter(|it| !look.known.contains(*it)) {
            let (name, message) = (fingerprint.clone(), message.clone());
            let seen = Seen { name, test: None, message, flaky: false };
            look.seen.insert(fingerprint.clone(), seen);
        }
    }

    fn history(self) -> History {
        let mut rows: BTreeMap<&str, Survivor> = BTreeMap::new();
        for (fingerprint, seen) in self.0.values().flat_map(|look| &look.seen) {
            let row = rows.entry(fingerprint).or_insert_with(|| Survivor {
                fingerprint: fingerprint.clone(),
                name: String::new(),
                message: String::new(),
                marks: self.marks(fingerprint, seen.test.as_ref()),
            });
            // The report shows the newest name and message.
            (row.name, row.message) = (seen.name.clone(), seen.message.clone());
        }
        let mut rows: Vec<Survivor> = rows.into_values().collect();
        let last = |row: &Survivor| row.marks.iter().rposition(|mark| mark.is_there());
        rows.sort_by(|a, b| {
            let (a_key, b_key) = ((a.survived(), last(a)), (b.survived(), last(b)));
            b_key.cmp(&a_key).then_with(|| a.name.cmp(&b.name))
        });
        let column = |(iteration, look): (&Iteration, &Look)| Column {
            iteration: *iteration,
            event: look.event,
            conclusive: look.conclusive,
            raised_to: look.raised_to,
        };
        History { columns: self.0.iter().map(column).collect(), rows }
    }

    fn marks(&self, fingerprint: &str, test: Option<&TestName>) -> Vec<Mark> {
        // In the first look nothing is new: there is nothing to compare with.
        let mut is_known = true;
        let mut was_there = false;
        let mark = |look: &Look| {
            let mark = match look.seen.get(fingerprint) {
                Some(seen) if seen.flaky => Mark::Flaky,
                Some(_) if is_known || was_there => Mark::Failing,
                Some(_) => Mark::New,
                None if look.conclusive && test.is_none_or(|test| !look.gone.contains(test)) => Mark::Absent,
                None => Mark::Unknown,
            };
            (is_known, was_there) = (false, was_there || mark.is_there());
            mark
        };
        self.0.values().map(mark).collect()
    }
}

impl Look {
    fn add(&mut self, failure: &Failure, flaky: bool) {
        let fingerprint = failure.fingerprint.to_string();
        self.known.extend([fingerprint.clone(), failure.exact.to_string()]);
        let test = test_name(failure);
        let seen = Seen { name: gate::name(failure), test, message: failure.message.clone(), flaky };
        self.seen.insert(fingerprint, seen);
    }
}

#[cfg(test)]
mod tests {
    use unstuck_core::testing::{Act, Script, World, step};
    use unstuck_core::workflow::{Baseline, CheckBy, CheckCommand, Gate, Workflow};

    use super::*;

    /// Plays a step whose checks show these failures one after the other, the baseline first where there is
    /// one, and returns a line for each failure: its name and a sign for each look.
    fn played(baseline: Baseline, looks: &[&str]) -> Vec<String> {
        let iterations = looks.len() - usize::from(baseline != Baseline::Off);
        let command = CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
        let mut looped =
            step("a").checked(CheckBy::Commands(vec![command]), u32::try_from(iterations).unwrap());
        if let Some(check) = &mut looped.check {
            check.baseline = baseline;
        }
        let checks = BTreeMap::from([(StepId::from("a"), looks.iter().map(|look| act(look)).collect())]);
        let mut world =
            World::start(Workflow::of_steps(vec![looped]), Script { checks, ..Script::default() });
        world.play();
        let history = History::of(&StepId::from("a"), &world.history.events);
        assert_eq!(history.columns.len(), looks.len(), "every look has a column");
        history.rows.iter().map(|row| format!("{} {}", row.name, signs(&row.marks))).collect()
    }

    fn act(look: &str) -> Act {
        match look {
            "hangs" => Act::Hangs,
            "gone" => Act::Exits(0, tests(&[], 1)),
            "" => Act::Exits(0, tests(&[], 3)),
            failing => Act::Exits(1, tests(&failing.split(' ').collect::<Vec<_>>(), 3)),
        }
    }

    /// Prints so many tests as TAP, of which these fail.
    fn tests(failing: &[&str], all: usize) -> String {
        let passing = ["a", "b", "c"].into_iter().filter(|name| !failing.contains(name));
        let ended = failing.iter().map(|name| ("not ok", *name)).chain(passing.map(|name| ("ok", name)));
        let lines = (1..).zip(ended.take(all)).map(|(at, (how, name))| format!("{how} {at} - {name}\n"));
        format!("1..{all}\n{}", lines.collect::<String>())
    }

    fn signs(marks: &[Mark]) -> String {
        let sign = |mark: &Mark| match mark {
            Mark::Failing => 'x',
            Mark::New => '+',
            Mark::Flaky => '~',
            Mark::Absent => '.',
            Mark::Unknown => '?',
        };
        marks.iter().map(sign).collect()
    }

    #[test]
    fn every_failure_has_a_mark_for_every_look() {
        for (baseline, looks, want) in [
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
            assert_eq!(played(baseline, looks), want, "{looks:?}");
        }
    }
}
