//! What happened: the events of a run.
//!
//! An event is an [`Observation`] (the world, or a person, answered) or a [`Conclusion`] (the core
//! decided). Every batch of the log is one observation followed by what was concluded from it, so
//! an observation is also the command that a replay gives to `decide` again.

use serde::{Deserialize, Serialize};

use crate::id::{Seq, Timestamp};

mod concluded;
mod end;
mod observed;
mod outcome;

pub use concluded::{
    CheckRequested, Claimed, Conclusion, FallbackTaken, Inquiry, Next, Purpose, RunEnded, RunStopping,
    StageRaised, StepEnded, VerdictReached, WaitReason, WaitRequested, WorkRequested,
};
pub use end::{ErrorClass, Failure, RunOutcome, StallCause, StepEnd};
pub use observed::{
    AnswerGiven, Call, CheckFinished, CheckStarted, LogRepaired, Lost, Observation, Parent, RegistryText,
    RunInterrupted, RunResumed, RunStarted, SnapshotMoment, SnapshotTaken, Suspended, WorkerFinished,
    WorkerProgressed, WorkerStarted,
};
pub use outcome::{ChildEnd, Exit, Outcome};

pub use crate::evidence::{Bytes, DecisionFile, DecisionSource};

/// One immutable fact of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Its place in the stream of the run.
    pub seq: Seq,
    /// When it was recorded.
    pub at: Timestamp,
    /// What happened.
    pub fact: Fact,
}

/// What an event states.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "half of all facts are observations; a box for each costs more"
)]
pub enum Fact {
    /// The world, or a person, answered.
    Observed(Observation),
    /// The core decided.
    Concluded(Conclusion),
}

impl From<Observation> for Fact {
    fn from(observation: Observation) -> Self {
        Self::Observed(observation)
    }
}

impl From<Conclusion> for Fact {
    fn from(conclusion: Conclusion) -> Self {
        Self::Concluded(conclusion)
    }
}
