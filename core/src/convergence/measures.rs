//! The six measures of progress. One that beats its best value so far is an improvement.
//!
//! None of them can improve forever: counts fall to 0, and numbers and passing tests are capped.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::evidence::{
    CommandResult, DecisionSource, Failure, NumberLine, ValidatorOutcome, ValidatorResult,
};
use crate::id::Digest;

/// Maximum improvements of one line, and of the number of passing tests, so that a creeping number ends.
const GAINS_MAX: u32 = 20;
/// Failures and lines whose best value is remembered.
const REMEMBERED_MAX: usize = 10_000;

/// The best value so far of each measure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Best {
    early: Option<u64>,
    /// By the source of the decision: findings of a judge and failures of commands do not compare.
    failures: BTreeMap<String, u64>,
    /// Whether there are more failures now than at best.
    pub(super) is_worse: bool,
    /// The lines that remain and the line, by fingerprint and file.
    remaining: BTreeMap<String, (u32, u32)>,
    numbers: BTreeMap<Digest, NumberBest>,
    passed: Option<u64>,
    passed_gains: u32,
    open_boxes: Option<u32>,
    has_ticked: bool,
}

/// A line with numbers: what it was last, and the shortest distance from each number to each of its bounds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
struct NumberBest {
    last: Vec<i64>,
    /// By position and bound.
    distances: BTreeMap<String, u64>,
    gains: u32,
}

/// The measures of one iteration. `None` if a value is not known.
#[derive(Clone, Debug, Default)]
pub struct Measures<'a> {
    /// The source of the failures that are counted.
    pub source: Option<DecisionSource>,
    /// The number of failures that keep tests from running: see [`Failure::is_early`].
    pub early: Option<u64>,
    /// The number of failures, by their places.
    pub failures: Option<u64>,
    /// The failures of commands that came to their end.
    pub places: Vec<&'a Failure>,
    /// The lines with numbers of commands that came to their end.
    pub numbers: Vec<&'a NumberLine>,
    /// The number of tests that passed.
    pub passed: Option<u64>,
    /// The number of open check boxes in the workspace.
    pub open_boxes: Option<u32>,
}

impl<'a> Measures<'a> {
    /// Takes the measures from what commands and validators showed. Counts are known if all of them came to their end and
    /// it is known what failed.
    pub fn new(
        commands: &'a [CommandResult],
        validators: &'a [ValidatorResult],
        open_boxes: Option<u32>,
    ) -> Self {
        let source =
            if validators.is_empty() { DecisionSource::ExitCode } else { DecisionSource::Validators };
        let known =
            |run: &ValidatorResult| !run.unparsed && !matches!(run.outcome, ValidatorOutcome::CouldNotRun(_));
        let is_known = commands.iter().all(CommandResult::is_conclusive) && validators.iter().all(known);
        let has_any = !commands.is_empty() || !validators.is_empty();
        let finished = || commands.iter().filter(|result| result.has_finished());
        let of_validators = || validators.iter().filter(|run| !run.passed()).flat_map(|run| &run.failures);
        let of_lines = validators.iter().flat_map(|result| &result.numbers);
        let counted = |count: u64| (is_known && has_any).then_some(count);
        let early = of_validators().filter(|failure| failure.is_early()).count() as u64;
        let places = of_validators().map(|failure| u64::from(failure.places.max(1))).sum::<u64>();
        let passed = commands.iter().filter_map(|result| result.tests).map(|tests| tests.passed).sum();
        Self {
            source: Some(source),
            early: counted(early + commands.iter().map(CommandResult::blocking_count).sum::<u64>()),
            failures: counted(places + commands.iter().map(CommandResult::failed_places).sum::<u64>()),
            places: finished().flat_map(|result| &result.failures).chain(of_validators()).collect(),
            numbers: finished().flat_map(|result| &result.numbers).chain(of_lines).collect(),
            passed: counted(passed).filter(|_| commands.iter().any(|result| result.tests.is_some())),
            open_boxes,
        }
    }
}

impl Best {
    /// Takes in the measures of an iteration, all of them, and says whether one of them improved. `is_new` says whether the
    /// iteration shows something new.
    pub(super) fn improve(&mut self, now: &Measures<'_>, is_new: bool) -> bool {
        let improved = [
            self.later_phase(now.early),
            self.fewer_failures(now),
            self.later_place(&now.places),
            self.closer_number(&now.numbers),
            self.more_passed(now.passed, is_new),
            self.fewer_open_boxes(now.open_boxes),
        ];
        improved.contains(&true)
    }

    /// Fewer failures keep tests from running: it compiles now, or one more module can be loaded.
    /// Failures of different phases do not compare, so the fewest of them are counted afresh.
    fn later_phase(&mut self, early: Option<u64>) -> bool {
        let improved = early.zip(self.early).is_some_and(|(now, best)| now < best);
        self.early = early.into_iter().chain(self.early).min();
        if improved {
            self.failures.clear();
        }
        improved
    }

    /// Fewer failures than ever in this phase, by their places.
    /// An iteration that falls back into an earlier phase does not count.
    fn fewer_failures(&mut self, measured: &Measures<'_>) -> bool {
        self.is_worse = false;
        let is_of_phase = measured.early <= self.early;
        let Some(now) = measured.failures.filter(|count| *count > 0 && is_of_phase) else { return false };
        let source = measured.source.map_or_else(String::new, |source| source.as_str().to_owned());
        let best = self.failures.entry(source).or_insert(now);
        self.is_worse = now > *best;
        let improved = now < *best;
        *best = now.min(*best);
        improved
    }

    /// The same failure at a later line, and fewer lines of the file remain after it.
    /// So lines that are added above it, or removed below it, do not count.
    fn later_place(&mut self, failures: &[&Failure]) -> bool {
        let mut improved = false;
        for failure in failures {
            let Some(location) = &failure.location else { continue };
            let (Some(now), Some(line)) = (failure.remaining, location.line) else { continue };
            let key = format!("{} {}", failure.fingerprint.as_str(), location.file);
            let best = self.remaining.get(&key).copied();
            let is_later = best.is_some_and(|(remaining, before)| now < remaining && line > before);
            improved |= is_later;
            if is_later || best.is_none() && self.remaining.len() < REMEMBERED_MAX {
                self.remaining.insert(key, (now, line));
            }
        }
        improved
    }

    /// In a line of which one number changes, it is closer than ever to the bound that the line names.
    /// A line improves 20 times at most.
    fn closer_number(&mut self, lines: &[&NumberLine]) -> bool {
        let mut improved = false;
        for line in lines {
            if self.numbers.len() >= REMEMBERED_MAX && !self.numbers.contains_key(&line.frame) {
                continue;
            }
            improved |= self.numbers.entry(line.frame).or_default().improve(line);
        }
        improved
    }

    /// More tests pass than ever while other ones fail, 20 times at most.
    /// New tests that pass are no progress while the same failures are shown.
    fn more_passed(&mut self, passed: Option<u64>, is_new: bool) -> bool {
        let is_more = self.passed.is_some_and(|most| passed > Some(most));
        self.passed = self.passed.max(passed);
        let improved = is_more && is_new && self.passed_gains < GAINS_MAX;
        self.passed_gains += u32::from(improved);
        improved
    }

    /// Fewer check boxes of Markdown files are open than ever.
    /// A plan that is written during the run counts from when it has boxes; a second plan after a finished one does not.
    fn fewer_open_boxes(&mut self, open: Option<u32>) -> bool {
        let Some(now) = open else { return false };
        let improved = self.open_boxes.is_some_and(|best| now < best);
        if improved || !self.has_ticked && matches!(self.open_boxes, None | Some(0)) {
            self.open_boxes = open;
        }
        self.has_ticked |= improved;
        improved
    }
}

impl NumberBest {
    fn improve(&mut self, line: &NumberLine) -> bool {
        let before = std::mem::replace(&mut self.last, line.numbers.iter().map(|now| now.value).collect());
        let mut changed = (0..line.numbers.len())
            .filter(|&at| before.get(at).is_some_and(|value| *value != line.numbers[at].value));
        let (Some(at), None) = (changed.next(), changed.next()) else { return false };
        let number = line.numbers[at];
        let (Some(bound), Some(now)) = (number.bound, number.distance()) else { return false };
        let key = format!("{at} {bound}");
        let best = self.distances.get(&key).copied().unwrap_or_else(|| before[at].abs_diff(bound));
        self.distances.insert(key, now.min(best));
        let improved = now < best && self.gains < GAINS_MAX;
        self.gains += u32::from(improved);
        improved
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::{FailureSubject, Location, Number};

    /// Checks which of these values, one after the other, improve a measure.
    #[track_caller]
    fn check<V: std::fmt::Debug>(values: &[(V, bool)], mut measure: impl FnMut(&mut Best, &V) -> bool) {
        let mut best = Best::default();
        for (at, (value, improves)) in values.iter().enumerate() {
            assert_eq!(measure(&mut best, value), *improves, "{at}: {value:?}");
        }
    }

    #[test]
    fn a_later_phase_has_fewer_failures_that_keep_tests_from_running() {
        let table = [
            (Some(9), false),
            (Some(8), true),
            (None, false),
            (Some(9), false),
            (Some(0), true),
            (Some(0), false),
        ];
        check(&table, |best, early| best.later_phase(*early));
    }

    #[test]
    fn fewer_failures_count_within_a_phase() {
        let table = [
            ((0, 5), false),
            ((0, 6), false),
            ((0, 4), true),
            ((0, 0), false),
            // Back in an earlier phase: one syntax error is not better than four red tests.
            ((1, 1), false),
            ((0, 3), true),
        ];
        check(&table, |best, (early, failures)| {
            best.later_phase(Some(*early));
            best.fewer_failures(&Measures {
                early: Some(*early),
                failures: Some(*failures),
                ..Measures::default()
            })
        });
        let after_compiling = [((1, 1), false), ((0, 8), false), ((0, 7), true)];
        check(&after_compiling, |best, (early, failures)| {
            best.later_phase(Some(*early));
            best.fewer_failures(&Measures {
                early: Some(*early),
                failures: Some(*failures),
                ..Measures::default()
            })
        });
    }

    #[test]
    fn a_later_place_has_fewer_lines_after_it() {
        // Fingerprint, file, line, and lines after it.
        let table = [
            (("a", "a.py", 1, Some(9)), false),
            (("a", "a.py", 3, Some(7)), true),
            (("a", "a.py", 3, Some(8)), false),
            // A line was removed below it.
            (("a", "a.py", 3, Some(6)), false),
            // Lines were added above it.
            (("a", "a.py", 9, Some(7)), false),
            (("a", "a.py", 4, None), false),
            (("a", "b.py", 9, Some(1)), false),
            (("b", "a.py", 9, Some(1)), false),
            (("a", "a.py", 10, Some(0)), true),
        ];
        check(&table, |best, (name, file, line, remaining)| {
            let mut failure = Failure::synthetic("t", name, FailureSubject::Whole, "");
            failure.location = Some(Location { file: (*file).to_owned(), line: Some(*line) });
            best.later_place(&[&Failure { remaining: *remaining, ..failure }])
        });
    }

    #[test]
    fn a_closer_number_is_the_only_one_of_its_line_that_changes() {
        let number = |value| Number { value, bound: Some(100) };
        let line = |values: &[i64]| NumberLine {
            frame: Digest::sha256(b"#"),
            numbers: values.iter().map(|value| number(*value)).collect(),
        };
        let table = [
            (vec![10, 1], false),
            (vec![20, 1], true),
            (vec![20, 1], false),
            (vec![15, 1], false),
            (vec![20, 1], false),
            (vec![30, 2], false),
            (vec![110, 2], true),
            (vec![120, 2], false),
        ];
        check(&table, |best, values| best.closer_number(&[&line(values)]));
        let creeps: Vec<(Vec<i64>, bool)> = (0..30).map(|at| (vec![at, 1], (1..21).contains(&at))).collect();
        check(&creeps, |best, values| best.closer_number(&[&line(values)]));
        let unbound =
            NumberLine { frame: Digest::sha256(b"#"), numbers: vec![Number { value: 1, bound: None }] };
        check(&[(1, false), (2, false)], |best, value| {
            let numbers = vec![Number { value: *value, bound: None }];
            best.closer_number(&[&NumberLine { numbers, ..unbound.clone() }])
        });
    }

    #[test]
    fn more_passed_tests_count_while_something_new_fails() {
        let table = [
            ((None, true), false),
            ((Some(3), true), false),
            ((Some(4), true), true),
            ((Some(5), false), false),
            ((Some(5), true), false),
            ((Some(6), true), true),
        ];
        check(&table, |best, (passed, is_new)| best.more_passed(*passed, *is_new));
        let grows: Vec<(u64, bool)> = (0..30).map(|passed| (passed, (1..21).contains(&passed))).collect();
        check(&grows, |best, passed| best.more_passed(Some(*passed), true));
    }

    #[test]
    fn fewer_boxes_are_open() {
        let table = [
            (None, false),
            (Some(0), false),
            // A plan is written during the run.
            (Some(4), false),
            (Some(3), true),
            (Some(5), false),
            (Some(3), false),
            (Some(0), true),
            // The next plan.
            (Some(2), false),
            (Some(1), false),
            (Some(0), false),
        ];
        check(&table, |best, open| best.fewer_open_boxes(*open));
    }
}
