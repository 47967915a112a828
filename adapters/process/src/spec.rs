//! The program to run, its limits, and the receiver of its output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use unstuck_core::client;
use unstuck_core::workflow::Workflow;

use crate::idle_timeout::IdlePolicy;

/// The environment variable that marks a process and all that come from it. Marks of runs within
/// runs are listed with spaces between them.
pub const MARK: &str = "UNSTUCK_PROCESS_MARK";

/// A program to run, and its limits.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// The program and its arguments; the program is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Changes to the inherited environment: set, or removed with `None`.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Standard input, which is closed after it.
    pub stdin: Vec<u8>,
    /// The time limit, on a monotonic clock.
    pub limit: Duration,
    /// Most bytes it may print, on both outputs together; what comes after them is read and dropped.
    pub output_max: u64,
    /// How long it may be silent.
    pub patience: IdlePolicy,
    /// The signals that ask it to end, before TERM.
    pub asks: Vec<client::StopSignal>,
    /// Time between these signals, and between TERM and KILL.
    pub grace: Duration,
    /// Identifies it among all processes: run id and step. Spaces are replaced.
    pub mark: String,
}

impl ProcessSpec {
    /// Default time between TERM and KILL.
    pub const GRACE: Duration = Duration::from_millis(Workflow::GRACE.0);
}

/// A request to a running process.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum StopRequest {
    /// Continue.
    #[default]
    Run,
    /// End: as its client wants to be asked, then TERM, and KILL after the grace.
    Stop,
    /// End at once: KILL.
    StopNow,
}

/// Tells running processes to stop. If its sender is dropped, they are never told.
pub type StopSignal = watch::Receiver<StopRequest>;

/// Returns a signal that never comes.
pub fn never() -> StopSignal {
    watch::channel(StopRequest::Run).1
}

/// Hears what a process prints while it runs. A closure that takes lines is one.
pub trait OutputListener: Send {
    /// Takes a line of either output: no secrets, no control characters, at most [`Lines::CHARS_MAX`](crate::Lines::CHARS_MAX) characters.
    fn line(&mut self, of: Pipe, line: &str);

    /// Takes a piece of standard output without its secrets.
    fn output(&mut self, _piece: &[u8]) {}

    /// Returns whether it assembles the answer from standard output itself, so that the answer may be cut anywhere.
    fn reads_output(&self) -> bool {
        false
    }

    /// Says whether the last piece was more than a sign that it waits.
    fn has_moved(&mut self) -> bool {
        true
    }

    /// Says when [`Self::woken`] is to be called, if it is, whether anything is printed or not.
    fn wake_at(&self) -> Option<Instant> {
        None
    }

    /// Is called at that moment.
    fn woken(&mut self) {}

    /// Returns the reason to end the process early, if there is one.
    fn enough(&self) -> Option<EndReason> {
        None
    }
}

/// One of the two outputs of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pipe {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// A reason to end a process early.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndReason {
    /// It has told its end, and may take a moment to leave.
    Told,
    /// It tries again and again what cannot succeed.
    Hopeless,
}

impl<F: FnMut(&str) + Send> OutputListener for F {
    fn line(&mut self, _of: Pipe, line: &str) {
        self(line);
    }
}
