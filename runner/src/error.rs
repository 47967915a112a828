//! Errors that end a run.

use std::path::PathBuf;

use unstuck_core::event::Exit;
use unstuck_core::id::StepId;
use unstuck_core::{Observation, Rejection};
use unstuck_store::event_store::AppendError;

/// Why a run cannot continue. The recorded events are safe, and a resume continues from there.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RunnerError {
    /// The event store does not take events.
    #[error("the event store does not take events")]
    Store(#[from] AppendError),
    /// The state does not admit a command.
    #[error("{0}")]
    Rejected(#[from] Rejection),
    /// The machine lacks what an effect needs. The attempt is in flight in the log, so it is made again.
    #[error("step {step} cannot go on: {why}")]
    Exhausted {
        /// The step.
        step: StepId,
        /// The error of the system.
        why: String,
    },
    /// The machine does not let an effect begin.
    #[error("cannot prepare step {step} in {}", place.display())]
    Prepare {
        /// The step that could not start.
        step: StepId,
        /// The folder of the run, in which its prompt and what was in its way are kept.
        place: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
}

/// Returns the step of an effect that could not be begun, or not be brought to its end, for no fault of its worker.
pub(crate) fn unstarted_step(ended: &Observation) -> Option<&StepId> {
    let (step, outcome) = match ended {
        Observation::WorkerFinished(work) => (&work.step, &work.outcome),
        Observation::CheckFinished(check) => (&check.step, &check.outcome),
        _ => return None,
    };
    (outcome.fatal.is_some() || matches!(outcome.exit, Exit::CouldNotStart(_))).then_some(step)
}
