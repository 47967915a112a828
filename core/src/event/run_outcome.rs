//! How a step and a run end: closed sets.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::id::StepId;

/// How a step ends: a closed set, so that no reason hides behind another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    /// Everything that it configures holds.
    Complete,
    /// The last allowed iteration is over, and the file says to continue.
    Incomplete,
    /// A step that it depends on did not end well.
    Skipped(StepId),
    /// A person must act; holds what is needed.
    Blocked(String),
    /// The last allowed iteration is over.
    IterationsExhausted,
    /// The loop makes no progress; holds what repeats.
    Stuck(StallCause),
    /// Too many checks in a row gave no readable verdict: how many, and what was read instead.
    Undecidable(String),
    /// The worker failed.
    WorkerFailed(ProcessFailure),
    /// The check ended with an exit code that has no verdict.
    CheckFailed(ProcessFailure),
    /// The check could not run.
    CheckCouldNotRun(ProcessFailure),
    /// There is no baseline to compare with, for this reason.
    NoBaseline(String),
    /// The external job takes longer than the step may.
    WaitExpired,
    /// Something around the worker failed: an artifact, the branch.
    Fatal(String),
    /// A condition does not hold, and the worker may not fix it.
    ConditionFailed(String),
    /// One failure came back as often as the step allows.
    AttemptsExhausted(String),
}

/// Details of a failed process.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessFailure {
    /// Class, which determines whether another attempt may help.
    pub class: ErrorClass,
    /// One sentence with the exit code and the line that it is based on.
    pub message: String,
}

/// How a run ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    /// Every step is complete, or incomplete where the file allows it.
    Complete,
    /// The work is not known to be complete, and no other attempt is possible.
    NotComplete,
    /// The last allowed iteration is over.
    IterationLimit,
    /// The time of the run is over.
    TimeLimit,
    /// The money or the tokens of the run are spent.
    SpendLimit,
    /// The loop makes no progress.
    Stuck,
    /// A person must act.
    Blocked,
    /// A worker, a check or the machine failed.
    WorkerFailed,
    /// A person or the system stopped it with this signal.
    Interrupted(i32),
}

impl RunOutcome {
    /// Returns the readable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "COMPLETE",
            Self::NotComplete => "NOT COMPLETE",
            Self::IterationLimit => "OUT OF ITERATIONS",
            Self::TimeLimit => "OUT OF TIME",
            Self::SpendLimit => "OUT OF MONEY",
            Self::Stuck => "STUCK",
            Self::Blocked => "BLOCKED",
            Self::WorkerFailed => "FAILED",
            Self::Interrupted(_) => "INTERRUPTED",
        }
    }
}

/// Why a loop is stuck.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallCause {
    /// The same failure set, one iteration after the other.
    SameFailures,
    /// Failure sets that return with this period.
    Cycle(u32),
    /// One failure that stays while others come and go.
    PersistentFailure,
    /// Incomplete, without a reason, one iteration after the other.
    NoReasons,
    /// Nothing in the workspace changes, one iteration after the other.
    NoChange,
    /// A failure set that keeps all it had, and grows.
    Growing,
    /// New findings each time and none fewer, while there is more and more to find them in.
    Diverging,
}

/// The class of a failure; it decides whether and how long to wait before a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum ErrorClass {
    /// A script that failed, a process that was killed, the time limit of an attempt.
    RetryableTransient,
    /// The connection failed.
    RetryableNetwork,
    /// The service answered with a server error.
    RetryableService,
    /// A rate or usage limit was reached.
    RetryableRateLimit,
    /// A worker CLI failed without a transient cause, is not logged in, or was not found.
    NonRetryable,
    /// The lint failed.
    NonRetryableLint,
    /// The tests failed.
    NonRetryableTest,
    /// The process cannot run at all.
    Fatal,
}

impl ErrorClass {
    /// Returns the name used in events and files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
