//! What a loop can come to: all short histories, played against the real core.
//!
//! Each step is explored by itself. An iteration comes to one of a few [`Letter`]s; histories that lead to
//! the same state but for names are one. What is searched is bounded by a count, not by a clock, so that
//! the same workflow always gives the same answer.

mod contradictions;
mod letter;
mod play;

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use serde_json::Value;
use unstuck_core::event::StepEnd;
use unstuck_core::id::{Millis, Stage, StepId};
use unstuck_core::workflow::{Baseline, CheckBy, Step, Workflow};

pub use contradictions::{Contradiction, contradictions};
pub use letter::Letter;
use play::{Begun, Node, Player, Set, at};

use crate::describe::stall;

/// So many iterations are played in search of every short history.
const SHORT_MAX: u64 = 2_500;
/// So many are played along histories that repeat one or two letters, which go the furthest.
const STEADY_MAX: u64 = 1_500;
/// More stages than that are not listed.
const LISTED_MAX: usize = 20;
/// A loop that goes on for so long goes on to its bound.
const DEPTH_MAX: u32 = 60;
/// Retries of a worker, or of a check, that are played in one iteration.
const RETRIES_MAX: u32 = 10;

/// What a step can come to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explored {
    /// The step.
    pub step: StepId,
    /// The most that can happen.
    pub worst: Worst,
    /// The stages in which a worker works in some history.
    pub stages: Vec<Stage>,
    /// Stages up to `max_stage` in which no worker ever works.
    pub unreached_stages: Vec<Stage>,
    /// The ends that can be reached, each with a shortest history that leads there.
    pub ends: Vec<End>,
    /// How much was looked at.
    pub search: Search,
}

/// The most that can happen in a step, if everything fails as late and as often as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Worst {
    /// Iterations.
    pub iterations: u32,
    /// Starts of a worker, retries counted.
    pub worker_calls: u64,
    /// Starts of a check, retries and the baseline counted.
    pub checks: u64,
    /// Starts of commands of a check, observations and the baseline on both sides counted.
    pub command_runs: u64,
    /// Time on the clock, without waiting for limited services; never beyond the bound of the run.
    pub wall_time_ms: Millis,
    /// The bound of the run ends the step before its iterations do.
    pub out_of_time: bool,
}

/// An end that can be reached.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct End {
    /// How the run ends if this is its deciding step.
    pub outcome: &'static str,
    /// Why.
    pub why: String,
    /// A shortest history that leads there; a letter for each iteration.
    pub history: Vec<Letter>,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Search {
    /// Iterations that were played.
    pub iterations_played: u64,
    /// States that differ in more than names.
    pub states: u64,
    /// Every history of up to so many iterations was looked at.
    pub complete_to: u32,
    /// Some longer histories were not looked at.
    pub is_cut: bool,
}

/// Explores each step that a worker or a child run does.
pub fn explore(workflow: &Workflow) -> Vec<Explored> {
    workflow.steps.iter().map(|step| Explorer::new(step).explore(step, workflow.timeout)).collect()
}

struct Explorer {
    player: Player,
    letters: Vec<Letter>,
    bound: u32,
    ends: BTreeMap<(&'static str, String), Vec<Letter>>,
    stages: BTreeSet<Stage>,
    longest: u32,
    played: u64,
}

impl Explorer {
    fn new(step: &Step) -> Self {
        let bound = step.max_iterations.min(DEPTH_MAX);
        let max_retries = step.max_retries.min(RETRIES_MAX);
        Self {
            player: Player::new(&Step { max_iterations: bound, max_retries, ..step.clone() }),
            letters: Letter::of_step(step),
            bound,
            ends: BTreeMap::new(),
            stages: BTreeSet::from([Stage(1)]),
            longest: 1,
            played: 0,
        }
    }

    fn explore(mut self, step: &Step, run_timeout: Millis) -> Explored {
        let root = self.player.begin();
        let (states, complete_to) = self.short_histories(&root);
        self.steady_histories(&root);
        let is_cut = complete_to < self.bound;
        let most = step.convergence.as_ref().map_or(1, |policy| policy.max_stage.0);
        let search = Search { iterations_played: self.played, states, complete_to, is_cut };
        // A cut search may have missed the longest history, so the bound of the loop counts.
        let iterations =
            if is_cut || self.longest == self.bound { step.max_iterations } else { self.longest };
        let worst = self.worst(step, &root, iterations, run_timeout);
        let unreached = (1..=most).map(Stage).filter(|stage| !self.stages.contains(stage));
        let unreached_stages = unreached.take(LISTED_MAX).collect();
        if worst.out_of_time {
            let why = "the time of the run is over before its iterations are".to_owned();
            self.ends.insert(("OUT OF TIME", why), Vec::new());
        }
        let ends = self.ends.into_iter().map(|((outcome, why), history)| End { outcome, why, history });
        Explored {
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
    fn short_histories(&mut self, root: &Node) -> (u64, u32) {
        let (mut layer, mut states) = (vec![root.clone()], 1);
        for length in 0..self.bound {
            let (mut next, mut keys) = (Vec::new(), BTreeSet::new());
            for node in &layer {
                if self.played >= SHORT_MAX {
                    return (states, length);
                }
                for letter in self.letters.clone() {
                    let after = self.play(node, letter);
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

    /// Looks at histories that say one or two things over and over.
    fn steady_histories(&mut self, root: &Node) {
        let most = self.played + STEADY_MAX;
        for first in self.letters.clone() {
            for second in self.letters.clone() {
                let mut node = Some(root.clone());
                for letter in [Letter::Other].into_iter().chain([first, second].into_iter().cycle()) {
                    let Some(before) = node.filter(|_| self.played < most) else { break };
                    node = self.play(&before, letter);
                }
            }
        }
    }

    /// Plays one letter; `None` where that ended the run, or cannot be played.
    fn play(&mut self, before: &Node, letter: Letter) -> Option<Node> {
        let stage = at(&before.state).convergence.stage();
        let (after, begun) = self.player.play(before, letter)?;
        self.played += 1;
        let step = at(&after.state);
        self.longest = self.longest.max(step.iteration.0);
        if begun.workers > 0 {
            self.stages.insert(stage);
        }
        let Some(outcome) = after.state.outcome() else { return Some(after) };
        let why = step.phase.end().map_or_else(String::new, because);
        let known = self.ends.entry((outcome.as_str(), why)).or_insert_with(|| after.history.clone());
        if after.history.len() < known.len() {
            known.clone_from(&after.history);
        }
        None
    }

    fn worst(&mut self, step: &Step, root: &Node, iterations: u32, run_timeout: Millis) -> Worst {
        let mut tries = |letter| self.player.play(root, letter).map_or(Begun::default(), |(_, begun)| begun);
        let rounds = u64::from(iterations);
        // One retry is like the other, so those beyond what is played are counted only.
        let unplayed = u64::from(step.max_retries.saturating_sub(RETRIES_MAX));
        let with_retries =
            |begun: u64| if begun > u64::from(RETRIES_MAX) { begun + unplayed } else { begun.max(1) };
        let workers = with_retries(tries(Letter::WorkerFails).workers);
        let (mut checks, mut command_runs, mut check_time) = (0, 0, Millis(0));
        if let Some(check) = step.check.as_ref().filter(|check| check.by != CheckBy::Claim) {
            let baselines = u64::from(check.baseline != Baseline::Off);
            checks = rounds
                .saturating_mul(with_retries(tries(Letter::CheckCannotRun).checks))
                .saturating_add(baselines);
            if let CheckBy::Commands(commands) = &check.by {
                let each = u64::try_from(commands.len())
                    .unwrap_or(u64::MAX)
                    .saturating_mul(check.observations.into());
                // What fails on a clean checkout is run in the workspace too.
                command_runs = each.saturating_mul(checks.saturating_add(baselines));
            }
            check_time = Millis(check.timeout.0.saturating_mul(checks.saturating_add(baselines)));
        }
        let worker_calls = rounds.saturating_mul(workers);
        let time = Millis(step.timeout.at_most(run_timeout).0.saturating_mul(worker_calls)).plus(check_time);
        Worst {
            iterations,
            worker_calls,
            checks,
            command_runs,
            wall_time_ms: time.at_most(run_timeout),
            out_of_time: time > run_timeout,
        }
    }
}

/// Returns why a step has ended, without what differs from one history to the other.
fn because(end: &StepEnd) -> String {
    match end {
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

/// Returns what decides how a history goes on, without names, sizes and times. Two histories with the same
/// key are one.
///
/// A set that is neither the newest, nor the one before, nor a beginning of one of them cannot come back, so what
/// is older than the last such set is no part of a cycle.
fn key(node: &Node) -> String {
    let step = at(&node.state);
    let convergence = serde_json::to_value(&step.convergence).expect("a state can be saved");
    let mut ages: Vec<u64> = convergence["streaks"]
        .as_object()
        .into_iter()
        .flat_map(|it| it.values())
        .filter_map(Value::as_u64)
        .collect();
    ages.sort_unstable();
    let counters = ["stage", "count", "without_reason", "unchanged", "growing", "diverging"];
    let counters: Vec<&Value> = counters.iter().map(|name| &convergence[*name]).collect();
    let counted = convergence["recent"].as_array().map_or(0, Vec::len).min(node.sets.len());
    let recent: Vec<(bool, usize)> =
        node.sets[node.sets.len() - counted..].iter().rev().map_while(|set| place(node, set)).collect();
    let (now, before) = (node.sets.last().map(Vec::len), node.before().and_then(|set| place(node, set)));
    let common = node.before().zip(node.sets.last()).map(|(a, b)| shared(a, b));
    // A failure that is met so often ends the step.
    let mut met: Vec<u32> = step.occurrences.values().copied().collect();
    met.sort_unstable();
    format!(
        "{counters:?} {ages:?} {recent:?} {now:?} {before:?} {common:?} {:?} {} {} {met:?}",
        step.changed, step.iteration, step.parse_failures
    )
}

/// Says of which set, the newest or the one before, a set is a beginning, and how much of it.
fn place(node: &Node, set: &Set) -> Option<(bool, usize)> {
    let begins = |whole: Option<&Set>| whole.is_some_and(|whole| whole.starts_with(set));
    let is_newest = begins(node.sets.last());
    (is_newest || begins(node.before())).then_some((is_newest, set.len()))
}

fn shared(a: &Set, b: &Set) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a == b).count()
}

#[cfg(test)]
mod tests;
