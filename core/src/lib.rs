//! Decides what a run does next. Pure: no clock, no file, no environment, no random number.
//!
//! So a property about any policy is five lines:
//!
//! ```
//! # #[cfg(feature = "proptest")] {
//! use proptest::prelude::*;
//! use unstuck_core::testing::{fold, loops, steps};
//! proptest!(|(run in steps().prop_flat_map(loops))| {
//!     prop_assert!(fold(&run.events).outcome().is_some(), "it never ends");
//! });
//! # }
//! ```
//!
//! A run is a stream of [events](event). [`RunState::evolve`] folds them into a state. [`RunState::decide`] answers a command
//! with the events to append. [`RunState::pending_effects`] and [`RunState::next_deadline`] return what to do next. A live run,
//! a resume, a replay and a property test call these four functions and nothing else.
//!
//! # Map, in reading order
//!
//! - Data: [`id`], [`workflow`] with [`completion`] and [`client`], [`evidence`] (the types that observations carry), [`event`].
//! - State: [`state`], folded by `evolve`. [`convergence`] counts iterations without progress.
//! - Whether a step is complete: [`judge`]. What follows from that: [`decide`].
//! - Outages and backoff: [`outage`], [`backoff`]. Costs and budgets: [`cost`], [`budget`].
//! - Prompts: [`prompt`], `check_feedback`, [`prompt_layout`], [`interpolate`].
//! - Effects: [`effect`].
//! - `testing` (a feature): generators, given-when-then and a scripted world, to test a policy.
//!
//! Not here: reading the output of tools (`unstuck-failures`), of clients (`unstuck-workers`) and of validators
//! (`unstuck-evidence`), storage (`unstuck-store`), and the loop that performs effects (`unstuck-runner`).

#![cfg_attr(docsrs, feature(doc_cfg))]

pub mod completion;
pub mod duration;
pub mod id;
pub mod workflow;

pub mod event;
pub mod evidence;

pub mod backoff;
pub mod client;
pub mod concurrent_steps;
pub mod convergence;
pub mod decide;
pub mod diffstat;
pub mod effect;
mod evolve;
pub mod prompt_echo;
mod shell_command;
pub mod state;
pub mod truncate;

pub mod budget;
pub mod call_report;
mod check_feedback;
pub mod convergence_files;
pub mod cost;
pub mod interactive_prompt;
pub mod interpolate;
mod json_text;
pub mod judge;
pub mod outage;
pub mod plural;
pub mod prompt;
pub mod prompt_layout;
pub mod snapshot;
pub mod text;
pub mod timestamp;

#[cfg(feature = "testing")]
pub mod testing;

pub use decide::{Command, Rejection};
pub use effect::{Effect, Turn, TurnId};
pub use event::{Conclusion, Event, Fact, Observation};
pub use state::RunState;
