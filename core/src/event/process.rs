//! End and output of a process.

use serde::{Deserialize, Serialize};

use super::run_outcome::RunOutcome;
use crate::call_report::{CallEnd, CallReport};
use crate::cost::Spend;
use crate::id::{Blob, Millis, RunId, Timestamp};

/// End and output of a process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// Wall time.
    pub duration: Millis,
    /// Answer: the end of its standard output, with invalid UTF-8 replaced; at most [`Outcome::ANSWER_MAX`] bytes.
    pub answer: String,
    /// End of its standard error, for display and for the class of a failure; at most [`Outcome::TAIL_MAX`] bytes.
    pub stderr_tail: String,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// Number of processes that it left behind, which were stopped.
    pub processes_ended: u32,
    /// Number of secret values removed from its output and files.
    pub redactions: u32,
    /// Notes for display: missing outputs, cut texts.
    pub notes: Vec<String>,
    /// A failure around the process that ends the step: an artifact that cannot be copied, a wrong branch.
    pub fatal: Option<String>,
    /// Report of its client; `None` for a command.
    pub reading: Option<Box<CallReport>>,
    /// Time when a limit resets, as its output named it at the time of recording.
    pub resets_at: Option<Timestamp>,
}

impl Outcome {
    /// Maximum length of an answer in an event, in bytes.
    pub const ANSWER_MAX: usize = 256 * 1024;
    /// Maximum length of standard error in an event, in bytes.
    pub const TAIL_MAX: usize = 4 * 1024;

    /// Returns the outcome of a process without output and duration.
    pub fn from_exit(exit: Exit) -> Self {
        Self {
            exit,
            duration: Millis(0),
            answer: String::new(),
            stderr_tail: String::new(),
            stdout: None,
            stderr: None,
            processes_ended: 0,
            redactions: 0,
            notes: Vec::new(),
            fatal: None,
            reading: None,
            resets_at: None,
        }
    }

    /// Returns when the service limit that this process reached ends; the outcome was recorded at `at`.
    pub(crate) fn limit_end(&self, at: Timestamp) -> Option<Timestamp> {
        let failed = self.reading.as_deref().filter(|reading| reading.end == CallEnd::Failed);
        self.resets_at.max(failed.and_then(|reading| Some(at.after(reading.retry_after?))))
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// It exited with this code.
    Code(i32),
    /// A signal ended it.
    Signal(i32),
    /// Unstuck stopped it: its time limit was reached.
    TimedOut,
    /// Unstuck stopped it: the run is stopping.
    Stopped,
    /// It could not be started, for this reason.
    CouldNotStart(String),
    /// It was a child run with this end. If the run is blocked, the answer is what it needs from a person.
    Child(ChildEnd),
    /// Unstuck stopped it: no output, no processor time and no change of a file during its idle time.
    Idle,
    /// Unstuck stopped it: it waited for an answer to this question, which a run cannot give.
    Asks(String),
    /// Unstuck stopped it: it had written its verdict or reported its end, and then did nothing.
    Settled,
    /// Unstuck stopped it: its client kept retrying a call that cannot succeed.
    Hopeless,
    /// Unstuck stopped it: it printed more than allowed.
    Flooded,
    /// Unstuck stopped it: its probe reported this, `stalled` (the required number of times in a row) or `terminal`.
    Probed(String),
}

impl Exit {
    /// Returns whether nothing ran: the program is missing or not executable, as a shell reports it.
    pub fn could_not_run(&self) -> bool {
        matches!(self, Self::CouldNotStart(_) | Self::Code(126 | 127))
    }

    /// Returns its exit code, if it ended on its own.
    pub fn code(&self) -> Option<i32> {
        if let Self::Code(code) = self { Some(*code) } else { None }
    }

    /// Returns whether Unstuck stopped it because it was idle or its probe said so.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Idle | Self::Probed(_))
    }

    /// Returns whether Unstuck stopped it because the run is stopping.
    pub fn is_stopped(&self) -> bool {
        let interrupted = |child: &ChildEnd| matches!(child.end, RunOutcome::Interrupted(_));
        matches!(self, Self::Stopped) || matches!(self, Self::Child(child) if interrupted(child))
    }
}

/// End of a child run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The child run.
    pub run: RunId,
    /// Its end.
    pub end: RunOutcome,
    /// Lifetime spending of the child run.
    #[serde(default)]
    pub spent: Spend,
}
