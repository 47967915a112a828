//! Runs a process and ends everything that it started; takes secrets out of its output.
//!
//! # Map
//!
//! - [`spec`]: what is run and within which bounds, and who hears what it prints. [`mod@run`]: runs it.
//! - Starting: `spawn`, `child`, [`inherited`] (which variables a process gets), [`shell`].
//! - What it started: `group` (finds and ends it), `lineage`, `procfs`, and [`guard`], which does so after a crash.
//! - What it prints: `output`, `lines`, `silence` (how long it may say nothing), `probe` (a command that is asked about it).
//! - Secrets: [`redact`] with `escapes` and `normal`.
//! - Beside it: [`blocking`] (work that blocks), [`exhausted`] (what the machine lacks), [`suspension`] (how long the machine
//!   slept), [`notify`] (tells a command of the user how a run ended).
//!
//! Outside of [`run()`], a command is started by `probe`, [`guard`], the only starter of git (`unstuck_workspace::git`), and by the
//! command line for a version or a run in the background.
//!
//! Start with `spec.rs`, then `run.rs`. Not here: which command is run, and what its output means.

pub mod blocking;
pub mod exhausted;
pub mod guard;
pub mod inherited;
pub mod notify;
pub mod redact;
pub mod run;
pub mod shell;
pub mod spec;
pub mod suspension;

mod child;
mod escapes;
mod group;
#[cfg(target_os = "linux")]
mod lineage;
mod lines;
mod normal;
mod output;
mod probe;
#[cfg(target_os = "linux")]
mod procfs;
mod silence;
mod spawn;

pub use group::{count_leftovers, end_leftovers};
pub use lines::Lines;
pub use probe::Says;
pub use run::{LINGER, run};
pub use silence::Patience;
pub use spec::{Audience, Enough, MARK, Pipe, Spec, Stop, StopSignal, never};
