//! Copies of artifacts, made in a separate thread: a worker can leave many of them, and a stop of the run must not
//! wait.

use unstuck_core::event::{Exit, Outcome};
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::blocking_task::blocking;
use unstuck_process::{StopReceiver, StopRequest};
use unstuck_workspace::artifacts::{ArtifactError, IsStopped};

/// Result of a copy.
pub(crate) enum CopyResult {
    /// The copies are in place, with these warnings.
    Done(Vec<String>),
    /// The copies cannot be made, for this reason.
    Refused(String),
    /// The run was stopped.
    Stopped,
}

/// Runs `copy`, unless a link has replaced the directory `way`.
pub(crate) async fn run<C>(context: PrivateDir, way: PrivateDir, stop: StopReceiver, copy: C) -> CopyResult
where
    C: FnOnce(&PrivateDir, IsStopped<'_>) -> Result<Vec<String>, ArtifactError> + Send + 'static,
{
    blocking(move || {
        if let Err(error) = way.check_way() {
            return CopyResult::Refused(error.to_string());
        }
        match copy(&context, &|| *stop.borrow() != StopRequest::Run) {
            Ok(warnings) => CopyResult::Done(warnings),
            Err(ArtifactError::Stopped { .. }) => CopyResult::Stopped,
            Err(error) => CopyResult::Refused(error.to_string()),
        }
    })
    .await
}

impl CopyResult {
    /// Adds the result to the outcome of the process that made the artifacts. If the copy was stopped, the process
    /// counts as stopped.
    pub(crate) fn note(self, outcome: &mut Outcome) {
        match self {
            Self::Done(warnings) => outcome.notes.extend(warnings),
            Self::Refused(why) => outcome.fatal = Some(why),
            Self::Stopped => outcome.exit = Exit::Stopped,
        }
    }
}
