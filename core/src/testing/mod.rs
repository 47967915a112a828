//! Generators, given-when-then and a scripted world, so that you can test a policy of your own.
//!
//! - [`loops()`] generates runs of a step of yours, [`histories`] runs of any workflow, [`scripts_of`] what the workers and
//!   checks of a workflow of yours may do, and [`events`] events that may be impossible where they stand.
//! - [`given()`] tests single decisions.
//! - [`World`] plays a [`Script`].
//!
//! The generators need the feature `proptest`, the rest the feature `testing`:
//!
//! ```toml
//! [dev-dependencies]
//! proptest = "1"
//! unstuck-core = { path = "../unstuck/core", features = ["proptest"] }
//! ```
//!
//! [`parts`] has a strategy for each part of the state of a run and of its steps.
//!
//! A policy of your own, whatever its worker and its check do:
//!
//! ```
//! # #[cfg(feature = "proptest")] {
//! use proptest::prelude::*;
//! use unstuck_core::testing::{fold, loops, script_worker, step};
//! use unstuck_core::workflow::{CheckMethod, OnFailure, Step, WorkerKind};
//!
//! let check = CheckMethod::Exit(script_worker(WorkerKind::Custom, "cargo test"));
//! let fix = Step { on_failure: OnFailure::Retry, max_retries: 2, ..step("fix").with_check(check, 5) };
//! proptest!(|(run in loops(fix))| {
//!     // It ends, and within its bound.
//!     let state = fold(&run.events);
//!     prop_assert!(state.outcome().is_some());
//!     let (_, fix) = state.step(&"fix".into()).expect("it is in the policy");
//!     prop_assert!(fix.iteration().0 <= 5);
//! });
//! # }
//! ```
//!
//! A single decision:
//!
//! ```
//! use unstuck_core::event::{RunOutcome, StepEnd};
//! use unstuck_core::evidence::Decision;
//! use unstuck_core::testing::{
//!     Findings, Work, check_finished, given, run_ended, script_worker, started, step, step_ended, verdict, worker_finished,
//! };
//! use unstuck_core::workflow::{CheckMethod, WorkerKind, Workflow};
//!
//! let check = CheckMethod::Exit(script_worker(WorkerKind::Custom, "cargo test"));
//! let policy = Workflow::of_steps(vec![step("fix").with_check(check, 5)]);
//! given([started(policy), worker_finished("fix", Work::to(1))])
//!     .when(check_finished("fix", Findings::Passed))
//!     .then([
//!         verdict("fix", Decision::Complete),
//!         step_ended("fix", StepEnd::Complete),
//!         run_ended(RunOutcome::Complete),
//!     ]);
//! ```
//!
//! Any policy, generated:
//!
//! ```
//! # #[cfg(feature = "proptest")] {
//! use proptest::prelude::*;
//! use unstuck_core::testing::{fold, histories};
//!
//! proptest!(|(history in histories())| {
//!     // A property of your own: no step of any history is ever run beyond its bound.
//!     let state = fold(&history.events);
//!     for (step, at) in state.steps() {
//!         prop_assert!(at.iteration() <= state.max_iterations(step, at));
//!     }
//! });
//! # }
//! ```

/// The examples of the page.
#[cfg(all(doctest, feature = "proptest"))]
#[doc = include_str!("../../../docs/testing.md")]
mod page {}

mod check_output;
mod findings;
mod given;
#[cfg(feature = "proptest")]
mod loops;
#[cfg(feature = "proptest")]
pub mod parts;
#[cfg(feature = "proptest")]
mod strategies;
mod world;

pub use check_output::command_result;
pub use findings::{Failed, Findings, failing, validator_result};
pub use given::{
    Expected, Given, Happening, Then, check_finished, check_requested, given, run_ended, stage_raised,
    started, step_ended, verdict, work_requested, worker_finished,
};
#[cfg(feature = "proptest")]
pub use loops::loops;
#[cfg(feature = "proptest")]
pub use strategies::{events, histories, scripts, scripts_of, steps, workflows};
pub use world::{
    Behavior, PlayedRun, Script, Work, World, finished_event, run_started, script_worker, snapshot,
    started_event, step,
};

use crate::{Event, RunState};

/// Folds events from the beginning.
pub fn fold(events: &[Event]) -> RunState {
    RunState::of(events)
}
