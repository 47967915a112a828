//! Strategies and a scripted world, so that you can property-test a policy of your own.
//!
//! [`workflows`] generates workflows, [`histories`] plays one against a scripted world and gives
//! every event of it, [`events`] gives events that may be impossible where they stand, and [`scripts_of`] what the workers
//! and checks of a workflow of yours may do. All of them need the feature `proptest`:
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
//! use unstuck_core::id::StepId;
//! use unstuck_core::testing::{ScriptedWorld, script_worker, scripts_of, step};
//! use unstuck_core::workflow::{CheckMethod, OnFailure, Step, WorkerKind, Workflow};
//!
//! let check = CheckMethod::Exit(script_worker(WorkerKind::Custom, "cargo test"));
//! let fix = Step { on_failure: OnFailure::Retry, max_retries: 2, ..step("fix").with_check(check, 5) };
//! let policy = Workflow::of_steps(vec![fix]);
//! proptest!(|(script in scripts_of(vec![StepId::from("fix")]))| {
//!     let mut world = ScriptedWorld::start(policy.clone(), script);
//!     world.play();
//!     // It ends, and within its bound.
//!     prop_assert!(world.state.outcome().is_some());
//!     let (_, fix) = world.state.step(&StepId::from("fix")).expect("it is in the policy");
//!     prop_assert!(fix.iteration().0 <= 5);
//! });
//! # }
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

mod check_output;
#[cfg(feature = "proptest")]
pub mod parts;
#[cfg(feature = "proptest")]
mod strategies;
mod world;

pub use check_output::command_result;
#[cfg(feature = "proptest")]
pub use strategies::{events, histories, scripts, scripts_of, workflows};
pub use world::{
    Behavior, PlayedRun, Script, ScriptedWorld, finished_event, run_started, script_worker, snapshot,
    started_event, step,
};

use crate::{Event, RunState};

/// Folds events from the beginning.
pub fn fold(events: &[Event]) -> RunState {
    RunState::of(events)
}
