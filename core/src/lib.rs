//! Decides what a run does next. Pure: no clock, no file, no environment, no random number.
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
//! - Outages and backoff: [`weather`], [`rest`]. Costs and budgets: [`money`], [`spending`].
//! - Prompts: [`prompt`], `findings`, [`template`], [`interpolate`].
//! - Effects: [`effect`].
//! - `testing` (a feature): strategies and a scripted world, to test a policy.
//!
//! Not here: reading the output of tools (`unstuck-failures`), of clients (`unstuck-workers`) and of validators
//! (`unstuck-evidence`), storage (`unstuck-store`), and the loop that performs effects (`unstuck-runner`).

pub mod completion;
pub mod duration;
pub mod id;
pub mod workflow;

pub mod event;
pub mod evidence;

pub mod beside;
pub mod client;
pub mod clip;
mod command_line;
pub mod convergence;
pub mod decide;
pub mod diffstat;
pub mod echo;
pub mod effect;
mod evolve;
pub mod rest;
pub mod state;

mod findings;
pub mod interpolate;
mod json_text;
pub mod judge;
pub mod moment;
pub mod money;
pub mod plural;
pub mod prompt;
pub mod question;
pub mod reading;
pub mod snapshot;
pub mod spending;
pub mod template;
pub mod text;
pub mod view;
pub mod weather;

#[cfg(feature = "testing")]
pub mod testing;

pub use decide::{Command, Rejection};
pub use effect::{Due, Effect};
pub use event::{Conclusion, Event, Fact, Observation};
pub use state::RunState;
