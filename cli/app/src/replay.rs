//! A recorded run, decided again.

use unstuck_core::id::{Blob, Seq};
use unstuck_replay::{
    Batches, DeterminismReport, EventBatch, OverrideError, PolicyOverride, ReadAgain, WhatIf,
};
use unstuck_store::blobs::BlobStore;
use unstuck_store::event_store::ReadError;
use unstuck_store::store::Store as _;

use crate::error::{AppError, Result};
use crate::run_handle::RunHandle;
use crate::{run_revision, what_if_keys};

/// Decides a run again, up to an event.
///
/// # Errors
///
/// The log cannot be read, or there is no such event.
pub fn recheck(found: &RunHandle, to: Option<Seq>) -> Result<DeterminismReport> {
    let events = found.log()?.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
    let recheck = unstuck_replay::recheck(events, to).map_err(|error| found.unreadable(&error))?;
    match to.filter(|to| Seq(recheck.events) < *to) {
        Some(to) => Err(run_revision::no_event(found.short(), Seq(recheck.events), to)),
        None => Ok(recheck),
    }
}

/// Returns the batches of a run in their order.
///
/// # Errors
///
/// The log cannot be read.
pub fn batches(found: &RunHandle) -> Result<impl Iterator<Item = Result<EventBatch>>> {
    let events = found.log()?.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
    Ok(Batches::new(events).map(|batch| batch.map_err(|error| found.unreadable(&error))))
}

/// Decides a run again as if its workflow had been another. With `read_again`, the recorded outputs of check commands are read
/// by this version.
///
/// # Errors
///
/// A workflow file has no such key or value, or the log cannot be read.
pub fn what_if(found: &RunHandle, changes: &[String], read_again: bool) -> Result<WhatIf> {
    let parsed = in_file(found, changes)?;
    let events = found.log()?.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
    let events = events.map(|event| event.map_err(Failed::Read));
    let blobs = found.runs.blobs(&found.entry.run);
    let kept = |blob: &Blob, max| blobs.end(blob, max);
    let read_again = read_again.then(|| ReadAgain::new(&found.entry.workspace, &kept));
    unstuck_replay::what_if(events, &parsed, read_again).map_err(|failed| match failed {
        Failed::Change(error) => AppError::usage(error),
        Failed::Read(error) => found.unreadable(&error),
    })
}

/// Either error of a what-if.
enum Failed {
    Change(OverrideError),
    Read(ReadError),
}

impl From<OverrideError> for Failed {
    fn from(error: OverrideError) -> Self {
        Self::Change(error)
    }
}

/// Reads the changes as a workflow file would have them.
fn in_file(found: &RunHandle, changes: &[String]) -> Result<Vec<PolicyOverride>> {
    let parsed: std::result::Result<Vec<PolicyOverride>, OverrideError> =
        changes.iter().map(|change| change.parse()).collect();
    let parsed = parsed.map_err(AppError::usage)?;
    let first = found.log()?.read(Seq(1)).and_then(|mut events| events.next().transpose());
    let first = first.map_err(|error| found.unreadable(&error))?;
    let workflow = &found.started(first.as_slice())?.workflow;
    parsed.iter().map(|parsed| what_if_keys::in_file(parsed, workflow).map_err(AppError::usage)).collect()
}
