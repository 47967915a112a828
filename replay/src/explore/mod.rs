//! Possible ends of a loop: plays all short histories against the real core, and longer ones that lead to an end.
//!
//! Each step is explored separately. An iteration has one of a few results, see [`IterationOutcome`]. Histories that
//! lead to the same state except for names count as one. The search is limited by a count, not by a clock, so the same
//! workflow always gives the same answer. Every reported end was played, except the iteration limit of a very long
//! loop: there, the played history returns to an earlier state and can repeat forever.

mod contradictions;
mod outcome;
mod results;
mod simulate;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use unstuck_core::event::{StallCause, StepEnd};
use unstuck_core::id::{Digest, Millis, Stage};
use unstuck_core::workflow::{Baseline, CheckMethod, ConvergencePolicy, Step, Workflow};

pub use contradictions::{ConflictingSettings, contradictions};
pub use outcome::IterationOutcome;
pub use results::{ReachableEnd, SearchStats, StepExploration, StepWorstCase};
use simulate::{FailureIds, SimState, StepSimulator, at};

use crate::describe::stall;

/// Maximum iterations to play in search of every short history.
const SHORT_MAX: u64 = 2_500;
/// Maximum iterations to play along histories that repeat one or two outcomes, which get the furthest.
const STEADY_MAX: u64 = 1_500;
/// Maximum stages to list.
const LISTED_MAX: usize = 20;
/// Maximum length of a history that repeats one or two outcomes.
const DEPTH_MAX: u32 = 60;
/// Maximum iterations to play on the way to the last stage.
const CLIMB_MAX: u32 = 1_000;
/// Maximum retries of a worker, or of a check, to play in one iteration.
const RETRIES_MAX: u32 = 10;

/// Explores each step that a worker or a child run does.
pub fn explore(workflow: &Workflow) -> Vec<StepExploration> {
    workflow.steps.iter().map(|step| Explorer::new(step).explore(step, workflow.timeout)).collect()
}

struct Explorer {
    simulator: StepSimulator,
    outcomes: Vec<IterationOutcome>,
    bound: u32,
    ends: BTreeMap<(&'static str, String), Witness>,
    stages: BTreeSet<Stage>,
    longest: u32,
    played: u64,
}

/// A history that leads to an end.
#[derive(Clone, Default)]
struct Witness {
    history: Vec<IterationOutcome>,
    goes_on: bool,
}

impl Explorer {
    fn new(step: &Step) -> Self {
        let max_retries = step.max_retries.min(RETRIES_MAX);
        Self {
            simulator: StepSimulator::new(&Step { max_retries, ..step.clone() }),
            outcomes: IterationOutcome::for_step(step),
            bound: step.max_iterations,
            ends: BTreeMap::new(),
            stages: BTreeSet::from([Stage(1)]),
            longest: 1,
            played: 0,
        }
    }

    fn explore(mut self, step: &Step, run_timeout: Millis) -> StepExploration {
        let root = self.simulator.begin();
        let (states, complete_to) = self.short_histories(&root);
        let is_cut = complete_to < self.bound;
        if is_cut {
            self.stalls(step, &root);
            self.steady_histories(step, &root);
        }
        let most = step.convergence.as_ref().map_or(1, |policy| policy.max_stage.0);
        let search = SearchStats { iterations_played: self.played, states, complete_to, is_cut };
        // A cut search may have missed the longest history, so the bound of the loop counts.
        let iterations =
            if is_cut || self.longest == self.bound { step.max_iterations } else { self.longest };
        let worst = self.worst(step, &root, iterations, run_timeout);
        let unreached = (1..=most).map(Stage).filter(|stage| !self.stages.contains(stage));
        let unreached_stages = unreached.take(LISTED_MAX).collect();
        if worst.out_of_time {
            let why = "the time of the run is over before its iterations are".to_owned();
            self.ends.insert(("OUT OF TIME", why), Witness::default());
        }
        let ends = self.ends.into_iter().map(|((outcome, why), Witness { history, goes_on })| ReachableEnd {
            outcome,
            why,
            history,
            goes_on,
        });
        StepExploration {
            step: step.id.clone(),
            worst,
            stages: self.stages.iter().copied().collect(),
            unreached_stages,
            ends: ends.collect(),
            search,
        }
    }

    /// Looks at every history, the shortest first. Returns how many states there were, and up to which
    /// length no history was left out.
    fn short_histories(&mut self, root: &SimState) -> (u64, u32) {
        let (mut layer, mut states) = (vec![root.clone()], 1);
        for length in 0..self.bound {
            let (mut next, mut keys) = (Vec::new(), BTreeSet::new());
            for sim in &layer {
                if self.played >= SHORT_MAX {
                    return (states, length);
                }
                for outcome in self.outcomes.clone() {
                    let after = self.play(sim, outcome);
                    next.extend(after.filter(|after| keys.insert(key(after))));
                }
            }
            states += u64::try_from(next.len()).unwrap_or(u64::MAX);
            layer = next;
            if layer.is_empty() {
                break;
            }
        }
        (states, self.bound)
    }

    /// Plays histories that lead to each way of being stuck. They reach the last stage as early as possible, and apply
    /// each rule from there.
    fn stalls(&mut self, step: &Step, root: &SimState) {
        let Some(policy) = &step.convergence else { return };
        let last_but_one = Stage(policy.max_stage.0.saturating_sub(1).max(1));
        let mut sim = Some(root.clone());
        for at in 0..CLIMB_MAX {
            let Some(before) = sim.take_if(|sim| at_stage(sim) < last_but_one) else { break };
            sim = self
                .play(&before, if at == 0 { IterationOutcome::Other } else { IterationOutcome::Persists });
        }
        let Some(climbed) = sim.filter(|sim| at_stage(sim) == last_but_one) else { return };
        for way in ways_to_stall(policy.stall_threshold) {
            let mut sim = Some(climbed.clone());
            for outcome in way {
                let fits = self.outcomes.contains(&outcome);
                let Some(before) = sim.filter(|_| fits) else { break };
                sim = self.play(&before, outcome);
            }
        }
    }

    /// Plays histories that repeat one or two outcomes.
    fn steady_histories(&mut self, step: &Step, root: &SimState) {
        let most = self.played + STEADY_MAX;
        for first in self.outcomes.clone() {
            for second in self.outcomes.clone() {
                let (mut sim, mut seen) = (Some(root.clone()), BTreeSet::new());
                let outcomes =
                    [IterationOutcome::Other].into_iter().chain([first, second].into_iter().cycle());
                for (length, outcome) in (0..DEPTH_MAX).zip(outcomes) {
                    let Some(before) = sim.filter(|_| self.played < most) else { break };
                    sim = self.play(&before, outcome);
                    let Some(after) = sim.as_ref().filter(|_| length % 2 == 0) else { continue };
                    if !seen.insert(standing(after)) {
                        self.goes_on(step, after);
                        break;
                    }
                }
            }
        }
    }

    /// Records that a history can repeat up to the iteration limit.
    fn goes_on(&mut self, step: &Step, sim: &SimState) {
        let once = Step { max_iterations: 1, convergence: None, completion: None, ..step.clone() };
        let mut simulator = StepSimulator::new(&once);
        let root = simulator.begin();
        let Some((last, _)) = simulator.play(&root, IterationOutcome::Other) else { return };
        let Some(outcome) = last.state.outcome() else { return };
        let why = at(&last.state).phase.end().map_or_else(String::new, because);
        let reached = || Witness { history: sim.history.clone(), goes_on: true };
        self.ends.entry((outcome.as_str(), why)).or_insert_with(reached);
    }

    /// Plays one outcome; `None` where that ended the run, or cannot be played.
    fn play(&mut self, before: &SimState, outcome: IterationOutcome) -> Option<SimState> {
        let stage = at_stage(before);
        let (after, started) = self.simulator.play(before, outcome)?;
        self.played += 1;
        let step = at(&after.state);
        self.longest = self.longest.max(step.iteration().0);
        if started.workers > 0 {
            self.stages.insert(stage);
        }
        let Some(outcome) = after.state.outcome() else { return Some(after) };
        let why = step.phase.end().map_or_else(String::new, because);
        let reached = || Witness { history: after.history.clone(), goes_on: false };
        let known = self.ends.entry((outcome.as_str(), why)).or_insert_with(reached);
        if after.history.len() < known.history.len() {
            *known = reached();
        }
        None
    }

    /// Returns whether an agent is called to diagnose the cause once, at the end.
    fn may_diagnose(&self, step: &Step) -> bool {
        let asks = |policy: &ConvergencePolicy| policy.diagnose_with.is_some() && policy.fail_on_max_stage;
        step.convergence.as_ref().is_some_and(asks)
            && (self.bound > DEPTH_MAX || self.ends.keys().any(|(outcome, _)| *outcome == "STUCK"))
    }

    fn worst(&mut self, step: &Step, root: &SimState, iterations: u32, run_timeout: Millis) -> StepWorstCase {
        let mut tries =
            |outcome| self.simulator.play(root, outcome).map(|(_, started)| started).unwrap_or_default();
        let rounds = u64::from(iterations);
        // One retry is like the other, so those beyond what is played are counted only.
        let unplayed = u64::from(step.max_retries.saturating_sub(RETRIES_MAX));
        let with_retries =
            |started: u64| if started > u64::from(RETRIES_MAX) { started + unplayed } else { started.max(1) };
        let workers = with_retries(tries(IterationOutcome::WorkerFails).workers);
        let (mut checks, mut command_runs, mut check_time) = (0, 0, Millis(0));
        if let Some(check) = step.check.as_ref().filter(|check| check.by != CheckMethod::Claim) {
            let baselines = u64::from(check.baseline != Baseline::Off);
            checks = rounds
                .saturating_mul(with_retries(tries(IterationOutcome::CheckCannotRun).checks))
                .saturating_add(baselines);
            if let CheckMethod::Commands(commands) = &check.by {
                let each = u64::try_from(commands.len())
                    .unwrap_or(u64::MAX)
                    .saturating_mul(check.observations.into());
                // Commands that fail on a clean checkout also run in the workspace.
                command_runs = each.saturating_mul(checks.saturating_add(baselines));
            }
            check_time = Millis(check.timeout.0.saturating_mul(checks.saturating_add(baselines)));
        }
        let worker_calls = rounds.saturating_mul(workers).saturating_add(u64::from(self.may_diagnose(step)));
        let time = Millis(step.timeout.at_most(run_timeout).0.saturating_mul(worker_calls)).plus(check_time);
        StepWorstCase {
            iterations,
            worker_calls,
            checks,
            command_runs,
            wall_time_ms: time.at_most(run_timeout),
            out_of_time: time > run_timeout,
        }
    }
}

/// Returns the ways to stall that do not improve anything before.
fn ways_to_stall(threshold: u32) -> [Vec<IterationOutcome>; 5] {
    // More cannot be played.
    let times = usize::try_from(threshold.clamp(1, CLIMB_MAX)).unwrap_or(1);
    let way = |before: &[IterationOutcome], outcome, times| {
        before.iter().copied().chain(std::iter::repeat_n(outcome, times)).collect::<Vec<_>>()
    };
    [
        way(&[], IterationOutcome::Unchanged, times),
        way(&[IterationOutcome::Other], IterationOutcome::Persists, times),
        way(&[IterationOutcome::Other, IterationOutcome::Other], IterationOutcome::Reverts, times),
        way(&[], IterationOutcome::Other, 3 * times),
        [way(&[], IterationOutcome::Other, 3 * times - 1), vec![IterationOutcome::More]].concat(),
    ]
}

/// Returns the stage that a history has led to.
fn at_stage(sim: &SimState) -> Stage {
    at(&sim.state).convergence.stage()
}

/// Returns why a step has ended, without what differs from one history to the other.
fn because(end: &StepEnd) -> String {
    match end {
        StepEnd::Stuck(StallCause::Cycle(_)) => "it goes in a circle".to_owned(),
        StepEnd::Stuck(cause) => stall(*cause),
        StepEnd::Undecidable(_) => "no readable verdict, again and again".to_owned(),
        StepEnd::WorkerFailed(_) => "the worker failed".to_owned(),
        StepEnd::CheckFailed(_) => "the check exited with a code that is no verdict".to_owned(),
        StepEnd::CheckCouldNotRun(_) => "the check could not run".to_owned(),
        StepEnd::NoBaseline(_) => "there is no baseline to compare with".to_owned(),
        StepEnd::Blocked(_) => "a person must act".to_owned(),
        other => crate::describe::sentence_of_end(other),
    }
}

/// Returns the part of a state that decides how a history continues, without names, sizes and times. Histories with the
/// same key count as one.
fn key(sim: &SimState) -> String {
    format!("{} {}", standing(sim), at(&sim.state).iteration())
}

/// Returns the part of a state that decides how a history continues while the iteration limit is far away.
fn standing(sim: &SimState) -> String {
    /// Cycles are not told apart.
    const PERIOD_MAX: u64 = 2;
    let step = at(&sim.state);
    let convergence = serde_json::to_value(&step.convergence).expect("a state can be saved");
    let counters = ["raised", "not_new", "not_better", "unchanged", "names_failures"];
    let counters: Vec<&Value> = counters.iter().map(|name| &convergence[*name]).collect();
    let age = |of: &Value| {
        convergence["age"].as_u64().zip(of.as_u64()).map(|(now, then)| PERIOD_MAX.min(now - then))
    };
    let shown = convergence["shown"].as_object().into_iter().flat_map(|map| map.iter());
    let known: BTreeMap<&str, Option<u64>> = shown.map(|(key, of)| (key.as_str(), age(of))).collect();
    // Sets that can come back are the newest, the one before, and beginnings of them.
    let age_of = |key: &Digest| known.get(key.to_string().as_str()).copied().flatten();
    let back: BTreeSet<_> =
        sim.keys.iter().filter_map(|(set, key)| Some((place(sim, set)?, age_of(key)))).collect();
    let period = convergence["period"].as_u64().map(|period| period.min(PERIOD_MAX));
    let is_young = convergence["age"] == 0;
    let best = &convergence["best"]["failures"];
    let (now, before) = (sim.sets.last().map(Vec::len), sim.before().and_then(|set| place(sim, set)));
    let common = sim.before().zip(sim.sets.last()).map(|(a, b)| shared(a, b));
    // A failure that is met so often ends the step.
    let mut met: Vec<u32> = step.verdicts.occurrences.values().copied().collect();
    met.sort_unstable();
    format!(
        "{counters:?} {period:?} {is_young} {best} {back:?} {now:?} {before:?} {common:?} {:?} {} {met:?}",
        step.workspace.changed, step.verdicts.parse_failures
    )
}

/// Says of which set, the newest or the one before, a set is a beginning, and how much of it.
fn place(sim: &SimState, set: &FailureIds) -> Option<(bool, usize)> {
    let begins = |whole: Option<&FailureIds>| whole.is_some_and(|whole| whole.starts_with(set));
    let is_newest = begins(sim.sets.last());
    (is_newest || begins(sim.before())).then_some((is_newest, set.len()))
}

fn shared(a: &FailureIds, b: &FailureIds) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests;
