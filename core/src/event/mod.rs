//! Events of a run.
//!
//! An event is an [`Observation`] (a result from outside, or from a person) or a [`Conclusion`] (a decision of the
//! core). Every batch of the log is one observation followed by its conclusions, so an observation is also the command
//! that a replay gives to `decide` again.

use serde::{Deserialize, Serialize};

use crate::id::{Seq, Timestamp};

mod conclusion;
mod observation;
mod process;
mod run_outcome;

pub use conclusion::{
    CheckRequested, Conclusion, FallbackTaken, Inquiry, PendingClaim, Purpose, RunEnded, RunStopping,
    StageRaised, StepEnded, TurnKind, VerdictReached, WaitReason, WaitRequested, WorkRequested,
};
pub use observation::{
    AnswerGiven, AttemptLost, Call, CheckFinished, CheckStarted, ForkPoint, LogRepaired, MachineSuspended,
    Observation, Parent, RegistryText, RunInterrupted, RunResumed, RunStarted, SnapshotMoment, SnapshotTaken,
    WorkerFinished, WorkerProgressed, WorkerStarted, WorkflowChange,
};
pub use process::{ChildEnd, Exit, Outcome};
pub use run_outcome::{ErrorClass, ProcessFailure, RunOutcome, StallCause, StepEnd};

pub use crate::evidence::{Bytes, DecisionFile, DecisionSource};

/// One immutable fact of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Event {
    /// Position in the stream of the run.
    pub seq: Seq,
    /// Time of recording.
    pub at: Timestamp,
    /// The fact.
    pub fact: Fact,
}

/// Content of an event.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(
    clippy::large_enum_variant,
    reason = "half of all facts are observations; a box for each costs more"
)]
pub enum Fact {
    /// A result from outside, or from a person.
    Observed(Observation),
    /// A decision of the core.
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
