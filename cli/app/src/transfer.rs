//! Logs on the move: exported, and read in.

use std::io::{self, Read, Write};

use unstuck_core::event::Observation;
use unstuck_core::id::{RunId, Seq};
use unstuck_core::{Event, Fact};
use unstuck_files::error::with_causes;
use unstuck_runner::snapshots;
use unstuck_store::event_store::{EventStore as _, ReadError};
use unstuck_store::recovery::PUT_BACK;
use unstuck_store::store::{RunEntry, Store as _};
use unstuck_store::transfer;

pub use unstuck_store::recovery::OpenError;

use crate::error::{AppError, Result};
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;
use crate::{access, run_handle, run_revision};

/// A log that can be exported.
pub struct LogExport<'a> {
    found: &'a RunHandle,
    is_salvaged: bool,
    /// The last event of the export.
    pub last: Seq,
    /// A sentence about the events missing after it.
    pub lost: Option<String>,
}

impl<'a> LogExport<'a> {
    /// Reads the whole log. With `salvage`, a damaged log is exported up to the damage.
    ///
    /// # Errors
    ///
    /// The log is damaged, or holds no intact event.
    pub fn new(project: &ProjectRuns, found: &'a RunHandle, salvage: bool) -> Result<Self> {
        drop(access::reconcile_log(project, found));
        // A live run has whole lines.
        if salvage && !found.is_live() {
            return Self::salvage(found);
        }
        let (good, error) = found.valid_events()?;
        if let Some(error) = error {
            return Err(found.unreadable(&error));
        }
        Ok(Self { found, is_salvaged: false, last: run_revision::last_of(&good), lost: None })
    }

    fn salvage(found: &'a RunHandle) -> Result<Self> {
        let merged = found.runs.salvage(&found.entry.run, &mut io::sink());
        let merged =
            merged.map_err(|error| found.open_error(&error))?.map_err(|error| found.unreadable(&error))?;
        if merged.last() == Seq(0) {
            let none = format!("nothing of run {} can be kept: no event of it is whole", found.short());
            return Err(AppError::damaged(none).hint(PUT_BACK));
        }
        let lost = merged.lost().map(|lost| {
            // Reading the lines tells what is wrong with the first that is not good.
            with_causes(&found.valid_events().ok().and_then(|(_, error)| error).unwrap_or(lost))
        });
        Ok(Self { found, is_salvaged: true, last: merged.last(), lost })
    }

    /// Writes the lines.
    ///
    /// # Errors
    ///
    /// The log cannot be read; the inner error: `out` cannot be written.
    pub fn write(&self, out: &mut dyn Write) -> Result<io::Result<()>> {
        if !self.is_salvaged {
            return Ok(transfer::export(&self.found.log()?, self.last, out));
        }
        let written = self.found.runs.salvage(&self.found.entry.run, out);
        let written = written.map_err(|error| self.found.open_error(&error))?;
        Ok(written.map(drop).map_err(|error| match error {
            ReadError::Io { source, .. } => source,
            other => io::Error::other(other),
        }))
    }
}

/// A run that was read in.
pub struct ImportedRun {
    /// Its last event before; 0 for a new run.
    pub before: Seq,
    /// Its last event.
    pub last: Seq,
    /// It has ended.
    pub has_ended: bool,
    /// Snapshots of it are here.
    pub has_snapshots: bool,
}

/// Reads exported lines into a run of the same name.
///
/// # Errors
///
/// A line is not good, or nothing is new.
pub fn import(
    project: &ProjectRuns,
    run: &RunId,
    mut lines: impl Read,
    refused: impl Fn(&OpenError) -> AppError,
) -> Result<ImportedRun> {
    let runs = project.runs();
    let (log, before) = match runs.import(run, &mut lines) {
        Err(OpenError::Exists { .. }) => runs.extend(run, &mut lines),
        log => log.map(|log| (log, Seq(0))),
    }
    .map_err(|error| refused(&error))?;
    let last = log.head().seq;
    if before == last {
        return Err(AppError::usage(format!("run {run} is here already")).hint(format!("unstuck show {run}")));
    }
    let first = log.read(Seq(1)).and_then(|mut events| events.next().transpose());
    let first = first.map_err(|error| AppError::store(&error).hint_if(error.hint()))?;
    if let Some(Event { at, fact: Fact::Observed(Observation::RunStarted(started)), .. }) = first {
        let (workflow, workspace) = (started.workflow.name.clone(), started.workspace.clone());
        runs.note_started(&RunEntry { run: run.clone(), started_at: at, workflow, workspace, trouble: None });
    }
    Ok(ImportedRun {
        before,
        last,
        has_ended: run_handle::end_of(runs, run).is_some(),
        has_snapshots: snapshots::has_any_of(runs.state(), run),
    })
}
