//! The program to run, its limits, and the receiver of its output.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;
use unstuck_core::client;
use unstuck_core::workflow::Workflow;

use crate::idle_timeout::IdlePolicy;

/// The environment variable that marks a process and its descendants. Marks of nested runs are separated by
/// spaces.
pub const MARK: &str = "UNSTUCK_PROCESS_MARK";

/// Returns the mark as the environment holds it: whitespace and control characters are replaced.
pub(crate) fn clean_mark(mark: &str) -> String {
    mark.chars().map(|char| if char.is_whitespace() || char.is_control() { '_' } else { char }).collect()
}

/// A program to run, and its limits.
#[derive(Clone, Debug)]
pub struct ProcessSpec {
    /// The program and its arguments; the program is looked up in `PATH`.
    pub argv: Vec<OsString>,
    /// Its working folder.
    pub cwd: PathBuf,
    /// Changes to the inherited environment: set, or removed with `None`.
    pub env: Vec<(OsString, Option<OsString>)>,
    /// Standard input, which is closed after the last byte.
    pub stdin: Vec<u8>,
    /// The time limit, on a monotonic clock.
    pub limit: Duration,
    /// Maximum bytes of both outputs together; later bytes are read and dropped.
    pub output_max: u64,
    /// Rules for ending it while it is silent.
    pub patience: IdlePolicy,
    /// Signals to end it, before TERM.
    pub asks: Vec<client::StopSignal>,
    /// Time between these signals, and between TERM and KILL.
    pub grace: Duration,
    /// Mark of its processes: run id and step. Spaces are replaced.
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
    /// End: the signals of its client, then TERM, then KILL after the grace period.
    Stop,
    /// End immediately: KILL.
    StopNow,
}

/// Channel that stops running processes. If its sender is dropped, they are never stopped.
pub type StopReceiver = watch::Receiver<StopRequest>;

/// Returns a signal that never stops a process.
pub fn never() -> StopReceiver {
    watch::channel(StopRequest::Run).1
}

/// Receives the output of a process while it runs. A closure that takes lines implements it.
pub trait OutputListener: Send {
    /// Takes a line of either output: no secrets, no control characters, at most
    /// [`DisplayLines::CHARS_MAX`](crate::DisplayLines::CHARS_MAX) characters.
    fn line(&mut self, pipe: Pipe, line: &str);

    /// Takes a piece of standard output without its secrets.
    fn output(&mut self, _piece: &[u8]) {}

    /// Returns whether it assembles the answer from standard output itself, so that the answer may be cut anywhere.
    fn reads_output(&self) -> bool {
        false
    }

    /// Returns whether the last piece was more than a report of waiting.
    fn has_moved(&mut self) -> bool {
        true
    }

    /// Returns the time to call [`Self::woken`], with or without output.
    fn wake_at(&self) -> Option<Instant> {
        None
    }

    /// Runs at that time.
    fn woken(&mut self) {}

    /// Returns a reason to end the process early.
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
    /// It reported its end, and may take some time to exit.
    Reported,
    /// It retries an operation that cannot succeed.
    Hopeless,
}

impl<F: FnMut(&str) + Send> OutputListener for F {
    fn line(&mut self, _pipe: Pipe, line: &str) {
        self(line);
    }
}
