//! The log and the snapshots of a run, opened for a use case.

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use unstuck_core::Event;
use unstuck_core::event::RunStarted;
use unstuck_core::id::Seq;
use unstuck_files::error::with_causes;
use unstuck_process::ProcessSpec;
use unstuck_process::redact::Redactor;
use unstuck_runner::RunListener;
use unstuck_runner::open::RunEnvironment;
use unstuck_runner::workspace_link::recreate_folder_command;
use unstuck_store::Runs;
use unstuck_store::event_store::EventStore as _;
use unstuck_store::recovery::{OpenError, RecoveryReport};
use unstuck_store::run_log::RunLog;
use unstuck_store::store::Store as _;
use unstuck_workspace::branch::ProtectedBranches;
use unstuck_workspace::snapshot::Snapshots;

use crate::error::Result;
use crate::launch_errors::{into_app_error, snapshot_error};
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;

/// A watcher that shows nothing.
struct Silent;

impl RunListener for Silent {
    fn on_events(&self, _: &[Event], _: &unstuck_core::RunState) {}
    fn line(&self, _: &unstuck_core::id::StepId, _: &str) {}
    fn child(self: Arc<Self>, _: &unstuck_core::id::StepId, _: Option<&str>) -> Arc<dyn RunListener> {
        self
    }
}

/// Returns a site for use cases that run no worker.
pub fn read_only_environment(runs: &Runs) -> RunEnvironment {
    let (_, nobody_interrupts) = watch::channel(None);
    RunEnvironment {
        store: Arc::new(runs.clone()),
        state_dir: Some(runs.state().clone()),
        listener: Arc::new(Silent),
        redactor: Redactor::from_environment(std::env::vars_os(), &[]),
        interrupts: nobody_interrupts,
        branch: None,
        branch_lock: None,
        protected_branches: ProtectedBranches::default(),
        allow_protected_branch: false,
        reuse_baseline: false,
        verbose: false,
        grace: ProcessSpec::GRACE,
        parent: None,
        parent_mark: None,
    }
}

/// Brings store and mirror of a run together if it is not live, so that a command acts on all of its events. Returns
/// the open log: until it is dropped, no other process can continue the run.
///
/// Damage that cannot be repaired is reported when the events are read, or when the log is [opened](open_log).
pub fn reconcile_log(project: &ProjectRuns, found: &RunHandle) -> Option<Arc<RunLog>> {
    if found.is_live() {
        return None;
    }
    let mended = read_only_environment(project.runs()).repair(&found.entry.run).inspect_err(|error| {
        tracing::info!(error = with_causes(error), "store and events.jsonl were not brought together");
    });
    let (log, opening) = mended.ok()?;
    note(found, &opening);
    if matches!(found.valid_events(), Ok((_, Some(_)))) {
        drop(log);
        let _said_by_whoever_reads = check_store(found);
        return None;
    }
    Some(log)
}

/// Returns the log that [`reconcile_log`] has opened; where it has not, what keeps it from being opened.
pub fn open_log(project: &ProjectRuns, found: &RunHandle, log: Option<Arc<RunLog>>) -> Result<Arc<RunLog>> {
    if let Some(log) = log {
        return Ok(log);
    }
    let (log, opening) = read_only_environment(project.runs())
        .repair(&found.entry.run)
        .map_err(|error| into_app_error(&error, found.short(), Some(project.runs())))?;
    note(found, &opening);
    Ok(log)
}

/// Opens the snapshots of the workspace of a run.
pub fn snapshots(runs: &Runs, started: &RunStarted) -> Result<Snapshots> {
    let workspace = Path::new(&started.workspace);
    unstuck_runner::snapshots::open(runs.state(), workspace, started).map_err(|error| {
        // The content is kept with the log, but its folder must exist; it may be empty.
        let is_gone = !workspace.exists();
        let hint = is_gone.then(|| format!("{}    then the same again", recreate_folder_command(workspace)));
        snapshot_error(&error).hint_if(hint)
    })
}

/// Opens the snapshots of a run to read what was recorded, wherever its workspace is by now.
pub fn recorded_snapshots(runs: &Runs, started: &RunStarted) -> Result<Snapshots> {
    match Path::new(&started.workspace).is_dir() {
        true => snapshots(runs, started),
        // Which folder is named makes no difference to what was recorded.
        false => unstuck_runner::snapshots::open(runs.state(), runs.path(), started)
            .map_err(|error| snapshot_error(&error)),
    }
}

/// Opens the snapshots of the workspace of a run, if any are kept here.
///
/// # Errors
///
/// Why there are none.
pub fn kept_snapshots(runs: &Runs, started: &RunStarted) -> std::result::Result<Snapshots, String> {
    // Where there are none, opening them would make the folder for them.
    match unstuck_runner::snapshots::folder(runs.state()).exists() {
        true => recorded_snapshots(runs, started).map_err(|error| error.to_string()),
        false => Err("no snapshots of this run are kept here".to_owned()),
    }
}

/// Checks the store and brings it and its mirror together. A damaged mirror of an
/// intact store is written again.
///
/// # Errors
///
/// The store is damaged, or the run is live.
pub fn check_store(found: &RunHandle) -> std::result::Result<(), OpenError> {
    let (log, opening) = found.runs.claim(&found.entry.run)?;
    note(found, &opening);
    let Err(error) = log.verify() else { return Ok(()) };
    let store_is_whole = log.read(Seq(1)).is_ok_and(|mut events| events.all(|event| event.is_ok()));
    drop(log);
    if !store_is_whole {
        return Err(found.runs.unreadable(&found.entry.run, error));
    }
    note(found, &found.runs.rebuild_mirror(&found.entry.run)?);
    Ok(())
}

/// Checks the store and all that it holds as a resume would, without notes.
///
/// # Errors
///
/// The run cannot be opened, or something of it is damaged or lost.
pub fn examine(found: &RunHandle) -> std::result::Result<(), OpenError> {
    let (log, _) = found.runs.claim(&found.entry.run)?;
    log.verify().map(drop).map_err(|error| found.runs.unreadable(&found.entry.run, error))
}

/// Tells the person what was found when a log was opened.
pub(crate) fn note(found: &RunHandle, opening: &RecoveryReport) {
    opening.repairs.iter().for_each(|finding| found.note(&finding.to_string()));
}
