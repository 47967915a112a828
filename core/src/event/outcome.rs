//! How a process ended and what it left.

use serde::{Deserialize, Serialize};

use super::end::RunOutcome;
use crate::call_report::{CallEnd, Reading};
use crate::cost::Spent;
use crate::id::{Blob, Millis, RunId, Timestamp};

/// How a process ended and what it left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// How it ended.
    pub exit: Exit,
    /// Wall time.
    pub duration: Millis,
    /// Its answer: the end of its standard output, invalid UTF-8 replaced; at most [`Outcome::ANSWER_MAX`] bytes.
    pub answer: String,
    /// The end of its standard error, for people and for the class of a failure; at most [`Outcome::TAIL_MAX`] bytes.
    pub stderr_tail: String,
    /// All of its standard output.
    pub stdout: Option<Blob>,
    /// All of its standard error.
    pub stderr: Option<Blob>,
    /// Processes it left behind, which were ended.
    pub processes_ended: u32,
    /// How many secret values were taken out of what it printed and wrote.
    pub redactions: u32,
    /// What a person should know: missing outputs, cut texts.
    pub notes: Vec<String>,
    /// A failure around the process that ends the step: an artifact that cannot be copied, a wrong branch.
    pub fatal: Option<String>,
    /// What its client told; `None` for a command.
    pub reading: Option<Box<Reading>>,
    /// The moment at which a limit ends, as its output names it when that is recorded.
    pub resets_at: Option<Timestamp>,
}

impl Outcome {
    /// Most bytes of an answer that an event holds.
    pub const ANSWER_MAX: usize = 256 * 1024;
    /// Most bytes of standard error that an event holds.
    pub const TAIL_MAX: usize = 4 * 1024;

    /// Returns the outcome of a process that left nothing, not even time.
    pub fn of(exit: Exit) -> Self {
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

    /// Returns the moment before which the service is limited that this met, as it was recorded at `at`.
    pub(crate) fn named_limit(&self, at: Timestamp) -> Option<Timestamp> {
        let failed = self.reading.as_deref().filter(|reading| reading.end == CallEnd::Failed);
        self.resets_at.max(failed.and_then(|reading| Some(at.after(reading.retry_after?))))
    }
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    /// With this code.
    Code(i32),
    /// By this signal.
    Signal(i32),
    /// Ended by us: its time was up.
    TimedOut,
    /// Ended by us: the run is stopping.
    Stopped,
    /// It could not be started, for this reason.
    CouldNotStart(String),
    /// It was a child run, which ended so. The answer is what it needs of a person, where it is blocked.
    Child(ChildEnd),
    /// Ended by us: for its idle time it did nothing: no output, no processor time, no change of a file.
    Idle,
    /// Ended by us: it had asked this and waited for an answer that nobody can give.
    Asks(String),
    /// Ended by us: it had written its verdict, or told its end, and then did nothing more.
    Settled,
    /// Ended by us: its client tried again and again what cannot succeed.
    Hopeless,
    /// Ended by us: it printed more than it may.
    Flooded,
    /// Ended by us: its probe had said this of it, `stalled` (so often in a row as it has to) or `terminal`.
    Probed(String),
}

impl Exit {
    /// Says whether nothing was run: there is no such program, or it is none, as a shell reports it.
    pub fn could_not_run(&self) -> bool {
        matches!(self, Self::CouldNotStart(_) | Self::Code(126 | 127))
    }

    /// Returns the code that it exited with, where it ended by itself.
    pub fn code(&self) -> Option<i32> {
        if let Self::Code(code) = self { Some(*code) } else { None }
    }

    /// Says whether we ended it since it did nothing any more, or since its probe said so.
    pub fn is_idle(&self) -> bool {
        matches!(self, Self::Idle | Self::Probed(_))
    }

    /// Says whether we ended it since the run is stopping.
    pub fn is_stopped(&self) -> bool {
        let interrupted = |child: &ChildEnd| matches!(child.end, RunOutcome::Interrupted(_));
        matches!(self, Self::Stopped) || matches!(self, Self::Child(child) if interrupted(child))
    }
}

/// How a child run ended, and which one it was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    /// The child run.
    pub run: RunId,
    /// Its end.
    pub end: RunOutcome,
    /// What it has spent in its life.
    #[serde(default)]
    pub spent: Spent,
}
