//! Strategies and a scripted world, so that you can property-test a policy of your own.
//!
//! [`workflows`] generates workflows, [`histories`] plays one against a scripted world and gives
//! every event of it, [`events`] gives events that may be impossible where they stand.
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
//!         prop_assert!(at.iteration <= state.max_iterations(step, at));
//!     }
//! });
//! # }
//! ```

#[cfg(feature = "proptest")]
mod strategies;
mod world;

#[cfg(feature = "proptest")]
pub use strategies::{events, histories, scripts, workflows};
pub use world::{
    Act, History, Script, World, command_result, finished, run_started, script_worker, snapshot, started,
    step,
};

use crate::{Event, RunState};

/// Folds events from the beginning.
pub fn fold(events: &[Event]) -> RunState {
    RunState::of(events)
}
