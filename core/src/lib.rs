//! Decides: the pure core of Unstuck.
//!
//! A run is a stream of [events](event). [`RunState::evolve`] folds them; [`RunState::decide`]
//! answers a command with the events to append; [`RunState::pending_effects`] and
//! [`RunState::next_deadline`] say what the world still owes. A live run, a resume, a replay and a
//! property test call these four and nothing else. Nothing here reads a clock, a file, the
//! environment or a random number.
//!
//! Suggested reading order: [`workflow`], [`event`], [`state`], `evolve`, [`decide`],
//! [`convergence`], [`verdict`], [`gate`].

pub mod completion;
pub mod duration;
pub mod id;
pub mod workflow;

pub mod event;
pub mod evidence;

pub mod beside;
mod claim;
pub mod client;
pub mod clip;
pub mod closer;
pub mod command_line;
pub mod convergence;
pub mod decide;
pub mod declaration;
pub mod diffstat;
pub mod echo;
pub mod effect;
pub mod error;
mod evolve;
pub mod rest;
pub mod state;

mod findings;
pub mod gate;
pub mod interpolate;
pub mod iteration_summary;
mod json_text;
pub mod moment;
pub mod money;
pub mod nearest;
pub mod plural;
pub mod prompt;
pub mod question;
pub mod reading;
pub mod scope;
pub mod snapshot;
pub mod spending;
pub mod template;
pub mod text;
pub mod unseen;
pub mod verdict;
pub mod view;
pub mod weather;

#[cfg(feature = "testing")]
pub mod testing;

pub use decide::{Command, Rejection};
pub use effect::{Due, Effect};
pub use event::{Conclusion, Event, Fact, Observation};
pub use state::RunState;
