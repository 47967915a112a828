//! Runs a process and ends everything that it started; takes secrets out of its output.
//!
//! # Map
//!
//! - [`spec`]: what is run and within which bounds, and who hears what it prints. [`mod@run`]: runs it.
//! - Starting: `spawn`, `child`, [`inherited`] (which variables a process gets), [`shell_quote`].
//! - What it started: `group` (finds and ends it), `rlimit_mark`, `procfs`, and [`reaper`], which does so after a crash.
//! - What it prints: `output`, `lines`, `idle_timeout` (how long it may say nothing), `stall_probe` (a command that is asked about it).
//! - Secrets: [`redact`] with `ansi` and `normal`.
//! - Other: [`mod@first_output`] (asks a program for its version), [`blocking_task`] (runs blocking work), [`exhausted`] (missing resources of the machine), [`suspend_clock`] (time that
//!   the machine was suspended), [`notify`] (runs a command of the user when a run ends).
//!
//! Outside of [`run()`], a command is started by `stall_probe`, [`mod@first_output`], [`reaper`], the only starter of git
//! (`unstuck_workspace::git`), and by `unstuck_app::background` for a run in the background.
//!
//! Start with `spec.rs`, then `run.rs`. Not here: which command is run, and what its output means.

pub mod blocking_task;
pub mod exhausted;
pub mod first_output;
pub mod inherited;
pub mod notify;
pub mod reaper;
pub mod redact;
pub mod run;
pub mod shell_quote;
pub mod spec;
pub mod suspend_clock;

mod ansi;
mod child;
mod group;
mod idle_timeout;
mod lines;
mod normal;
mod output;
#[cfg(target_os = "linux")]
mod procfs;
#[cfg(target_os = "linux")]
mod rlimit_mark;
mod spawn;
mod stall_probe;

pub use group::{count_leftovers, end_leftovers};
pub use idle_timeout::IdlePolicy;
pub use lines::Lines;
pub use run::{LINGER, run};
pub use spec::{EndReason, MARK, OutputListener, Pipe, ProcessSpec, StopRequest, StopSignal, never};
pub use stall_probe::ProbeResult;
