//! Runs a process, ends its descendants, and redacts secrets in its output.
//!
//! # Map
//!
//! - [`spec`]: the program to run, its limits, and the receiver of its output. [`mod@run`]: runs it.
//! - Starting: `program`, `spawn`, `child`, [`inherited`] (which variables a process gets), [`shell_quote`].
//! - Descendants: `group` (finds and ends them), `rlimit_mark`, `procfs`, and [`reaper`], which ends them after a
//!   crash.
//! - Output: `output`, `lines`, `idle_timeout` (how long a process may be silent), `stall_probe` (a command that
//!   reports stalls).
//! - Secrets: [`redact`] with `ansi` and `normal`.
//! - Other: [`mod@first_output`] (version of a program), [`blocking_task`] (runs blocking work), [`exhausted`]
//!   (resources that ran out), [`suspend_clock`] (suspended time), [`notify`] (notify command of the user).
//!
//! Outside of [`run()`], a program is started by `stall_probe`, [`mod@first_output`], [`reaper`], the only starter of git
//! (`unstuck_workspace::git`), the search for the program of a check (`unstuck_evidence::validators`), and
//! `unstuck_app::background` for a run in the background.
//!
//! Start with `spec.rs`, then `run.rs`. The choice of the command and the meaning of its output are not here.

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
mod program;
#[cfg(target_os = "linux")]
mod rlimit_mark;
mod spawn;
mod stall_probe;

pub use group::{count_leftovers, end_leftovers};
pub use idle_timeout::IdlePolicy;
pub use lines::DisplayLines;
pub use run::{LINGER, run};
pub use spec::{EndReason, MARK, OutputListener, Pipe, ProcessSpec, StopReceiver, StopRequest, never};
pub use stall_probe::ProbeResult;
