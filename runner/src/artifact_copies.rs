//! How artifacts are copied beside the loop: a worker may leave more of them than can be copied at once, and whoever stops the
//! run does not wait for that.

use unstuck_core::event::{Exit, Outcome};
use unstuck_files::private_dir::PrivateDir;
use unstuck_process::blocking_task::blocking;
use unstuck_process::{StopRequest, StopSignal};
use unstuck_workspace::artifacts::{ArtifactError, IsStopped};

/// What came of it.
pub(crate) enum Copied {
    /// They are where they belong, with these warnings.
    Done(Vec<String>),
    /// They cannot be, for this reason.
    Refused(String),
    /// Somebody stopped the run.
    Stopped,
}

/// Copies what `copy` says, if `way` is where it is said to be, and not where a link leads.
pub(crate) async fn run<C>(context: PrivateDir, way: PrivateDir, stop: StopSignal, copy: C) -> Copied
where
    C: FnOnce(&PrivateDir, IsStopped<'_>) -> Result<Vec<String>, ArtifactError> + Send + 'static,
{
    blocking(move || {
        if let Err(error) = way.check_way() {
            return Copied::Refused(error.to_string());
        }
        match copy(&context, &|| *stop.borrow() != StopRequest::Run) {
            Ok(warnings) => Copied::Done(warnings),
            Err(ArtifactError::Stopped { .. }) => Copied::Stopped,
            Err(error) => Copied::Refused(error.to_string()),
        }
    })
    .await
}

impl Copied {
    /// Tells it with the end of what made the artifacts. What was stopped before they were copied has not ended.
    pub(crate) fn note(self, outcome: &mut Outcome) {
        match self {
            Self::Done(warnings) => outcome.notes.extend(warnings),
            Self::Refused(why) => outcome.fatal = Some(why),
            Self::Stopped => outcome.exit = Exit::Stopped,
        }
    }
}
