//! The files that a run leaves about its loops.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::Event;
use unstuck_core::event::{RunStarted, StepEnd};
use unstuck_core::id::{RunId, Seq, StepId};
use unstuck_core::workflow::Step;
use unstuck_files::error::with_causes;
use unstuck_files::private_dir::PrivateDir;
use unstuck_runner::open::FinishedRun;
use unstuck_store::Runs;
use unstuck_store::store::Store as _;
use unstuck_workspace::context_dir::CONVERGENCE;

/// The page for a person among the files of a diagnosis.
pub const PAGE: &str = "diagnosis.md";

/// Writes what the diagnosis of a step rests on, and perhaps the page itself.
pub fn write(
    events: &[Event],
    step: &StepId,
    short: &str,
    folder: &PrivateDir,
    with_page: bool,
) -> io::Result<()> {
    let files = unstuck_replay::diagnosis(events, step, short).unwrap_or_default();
    let mut wanted = files.iter().filter(|(name, _)| with_page || **name != PAGE);
    wanted.try_for_each(|(name, text)| folder.put(name, text.as_bytes()))
}

/// Writes the pages about the loops of a run, and returns the diagnosis of one that is stuck. All of it can be made
/// again from the log.
pub fn write_for_run(ended: &FinishedRun, kept: Option<(&Runs, &RunId)>, short: &str) -> Option<PathBuf> {
    let (runs, run) = kept?;
    let started = ended.state.started()?;
    let mut events: Option<Vec<Event>> = None;
    let mut diagnosis = None;
    for (step, at) in ended.state.steps() {
        let is_stuck = matches!(at.phase.end(), Some(StepEnd::Stuck(_)));
        let has_views =
            started.workflow_file.is_some() && step.convergence.is_some() && at.feedback.decision.is_some();
        let to = views_of(started, step, &runs.artifacts(run));
        // The page of a step that was stuck once would say so for ever.
        let with_page = is_stuck || to.path().join(PAGE).is_file();
        if !with_page && !has_views {
            continue;
        }
        if events.is_none() {
            events = Some(events_of(runs, run)?);
        }
        let events = events.as_deref().unwrap_or_default();
        match write(events, &step.id, short, &to, with_page) {
            Ok(()) if is_stuck && diagnosis.is_none() => diagnosis = Some(to.path().join(PAGE)),
            Ok(()) => {}
            Err(error) => tracing::warn!(
                error = with_causes(&error),
                "the diagnosis was not written; unstuck diagnose prints it"
            ),
        }
    }
    diagnosis
}

/// Returns the folder for the views of a step's loop: of a run with a file it is in its workspace.
fn views_of(started: &RunStarted, step: &Step, artifacts: &Path) -> PrivateDir {
    if started.workflow_file.is_none() {
        return PrivateDir::at(&artifacts.join("diagnosis")).join(step.id.as_str());
    }
    let workspace = Path::new(&started.workspace);
    let context = PrivateDir::in_workspace(workspace, &workspace.join(&started.workflow.context_dir));
    context.join(step.id.as_str()).join(CONVERGENCE)
}

/// Reads all events of a run.
pub(crate) fn events_of(runs: &Runs, run: &RunId) -> Option<Vec<Event>> {
    runs.open(run).ok()?.read(Seq(1)).ok()?.collect::<Result<_, _>>().ok()
}
