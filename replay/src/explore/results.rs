//! Results of exploring a step: its possible ends, its cost in the worst case, and how much was searched.

use serde::Serialize;
use unstuck_core::id::{Millis, Stage, StepId};

use super::outcome::IterationOutcome;

/// Possible ends of a step, and its cost in the worst case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct StepExploration {
    /// The step.
    pub step: StepId,
    /// The most that can happen.
    pub worst: StepWorstCase,
    /// The stages in which a worker works in some history.
    pub stages: Vec<Stage>,
    /// Stages up to `max_stage` in which no worker ever works.
    pub unreached_stages: Vec<Stage>,
    /// The ends that can be reached, each with a shortest history that leads there.
    pub ends: Vec<ReachableEnd>,
    /// How much was looked at.
    pub search: SearchStats,
}

/// The most that can happen in a step, if everything fails as late and as often as it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct StepWorstCase {
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
pub struct ReachableEnd {
    /// How the run ends if this is its deciding step.
    pub outcome: &'static str,
    /// Why.
    pub why: String,
    /// A shortest history that leads there, of those that were played; an outcome for each iteration.
    pub history: Vec<IterationOutcome>,
    /// The history is only a start: it returns to an earlier state, so it can repeat up to the iteration limit.
    pub goes_on: bool,
}

/// How much was looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct SearchStats {
    /// Iterations that were played.
    pub iterations_played: u64,
    /// States that differ in more than names.
    pub states: u64,
    /// Every history of up to so many iterations was looked at.
    pub complete_to: u32,
    /// Some longer histories were not looked at.
    pub is_cut: bool,
}
