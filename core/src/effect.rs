//! What the world still owes a run.

use serde::{Deserialize, Serialize};

use crate::id::{Attempt, Iteration, StepId};

/// Work that the shell is to perform. Performing it twice is harmless: the log knows what was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Record `WorkerStarted`, run the worker, record `WorkerFinished`.
    RunWorker(Due),
    /// Record `CheckStarted`, run the check, record `CheckFinished`.
    RunCheck(Due),
    /// End the process that is in flight for this step; its outcome is recorded as stopped.
    Stop(StepId),
}

/// Which attempt of what is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Due {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
}
