//! Verifies the whole log of a run: chain, payloads, mirror, snapshots, decisions.

use std::collections::BTreeMap;
use std::io;

use unstuck_core::event::Outcome;
use unstuck_core::id::{Blob, Digest, Seq};
use unstuck_core::{Event, Fact, Observation};
use unstuck_files::error::with_causes;
use unstuck_replay::DeterminismReport;
use unstuck_store::blobs::BlobStore;
use unstuck_store::event_store::ReadError;
use unstuck_store::recovery::OpenError;
use unstuck_workspace::snapshot;

use crate::access::{check_store, kept_snapshots, note, read_only_environment};
use crate::error::{AppError, Result};
use crate::launch_errors::into_app_error;
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;

/// A log that was verified.
pub struct VerifyReport {
    /// The decisions made again.
    pub recheck: DeterminismReport,
    /// The store was checked, and not only `events.jsonl`.
    pub is_store_checked: bool,
    /// Intact payloads.
    pub payloads: usize,
    /// Payloads that an export left out.
    pub payloads_missing: usize,
    /// The snapshots.
    pub snapshots: CheckedSnapshots,
}

/// The snapshots of a run.
#[derive(Debug, Default)]
pub struct CheckedSnapshots {
    /// How many are here.
    pub snapshots: usize,
    /// How many are not, and need not be: an export leaves them out.
    pub missing: usize,
    /// How many objects were read.
    pub objects: u64,
    /// The first that is damaged or lost.
    pub damaged: Option<AppError>,
}

/// Verifies a run. A damaged store is written again if `rebuild_store` asks for it.
///
/// # Errors
///
/// The log is damaged, or was never started.
pub fn verify(project: &ProjectRuns, found: &RunHandle, rebuild_store: bool) -> Result<VerifyReport> {
    // The supervisor of a live run has the store open, so only the mirror is checked.
    let is_store_checked = !found.is_live() || rebuild_store;
    if is_store_checked {
        repair_store(project, found, rebuild_store)?;
    }
    let log = found.log()?;
    let events = log.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
    let blobs = log.blobs();
    let imported = found.runs.imported_up_to(&found.entry.run);
    let (mut payloads, mut payloads_missing) = (0, 0);
    let checked = events.map(|event| {
        let event = event.map_err(Failed::Log)?;
        for blob in payloads_of(&event) {
            match check_payload(&*blobs, &blob) {
                Ok(()) => payloads += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound && event.seq <= imported => {
                    payloads_missing += 1;
                }
                Err(source) => return Err(Failed::Payload { at: event.seq, blob, source }),
            }
        }
        Ok(event)
    });
    let recheck =
        unstuck_replay::recheck(checked, None).map_err(|failed: Failed| failed.into_app_error(found))?;
    if recheck.events == 0 && !found.is_live() {
        return Err(found.no_first_event());
    }
    let snapshots = check_snapshots(project, found, imported)?;
    Ok(VerifyReport { recheck, is_store_checked, payloads, payloads_missing, snapshots })
}

/// Reads all that the snapshots of a run refer to.
fn check_snapshots(project: &ProjectRuns, found: &RunHandle, imported: Seq) -> Result<CheckedSnapshots> {
    let events = found.known_events()?;
    let mut ids: BTreeMap<Digest, Seq> = BTreeMap::new();
    for seen in unstuck_replay::snapshots::list(&events) {
        ids.entry(seen.snapshot.id).or_insert(seen.seq);
    }
    if ids.is_empty() {
        return Ok(CheckedSnapshots::default());
    }
    let hint = format!(
        "the log itself is whole: unstuck show {}; undo, diff and checkout need the snapshots: restore the folder from a backup if there is one",
        found.short()
    );
    let damaged = |what: String| Some(AppError::damaged(what).hint(hint.clone()));
    let snapshots = match kept_snapshots(project.runs(), &found.started(&events)?) {
        Ok(snapshots) => snapshots,
        Err(_) if ids.values().all(|seq| *seq <= imported) => {
            return Ok(CheckedSnapshots { missing: ids.len(), ..CheckedSnapshots::default() });
        }
        Err(why) => {
            return Ok(CheckedSnapshots {
                damaged: damaged(format!("the snapshots cannot be read: {why}")),
                ..CheckedSnapshots::default()
            });
        }
    };
    let mut kept = CheckedSnapshots::default();
    let mut here = Vec::new();
    for (id, seq) in ids {
        match snapshots.check(&[id], 0) {
            Ok(_) => here.push(id),
            Err(snapshot::SnapshotError::Missing { .. }) if seq <= imported => kept.missing += 1,
            Err(error) => {
                let why = with_causes(&error);
                kept.damaged = damaged(format!("the snapshot of event {seq} is damaged or lost: {why}"));
                return Ok(kept);
            }
        }
    }
    kept.snapshots = here.len();
    match snapshots.check(&here, u64::MAX) {
        Ok(objects) => kept.objects = objects,
        Err(error) => {
            kept.damaged = damaged(format!("the snapshots are damaged: {}", with_causes(&error)));
        }
    }
    Ok(kept)
}

/// Why a run did not verify.
enum Failed {
    Log(ReadError),
    Payload { at: Seq, blob: Blob, source: io::Error },
}

impl Failed {
    fn into_app_error(self, found: &RunHandle) -> AppError {
        match self {
            Self::Log(error) => found.unreadable(&error),
            Self::Payload { at, blob, source } => AppError::damaged(format!(
                "a payload of event {at} is damaged or lost: blob {} of {} bytes: {source}",
                blob.digest, blob.size
            ))
            .hint(format!("the events themselves are whole: unstuck show {}", found.short())),
        }
    }
}

/// Checks the store and repairs it; a damaged store only with `rebuild`.
fn repair_store(project: &ProjectRuns, found: &RunHandle, rebuild: bool) -> Result<()> {
    let site = read_only_environment(project.runs());
    if let Ok((_, opening)) = site.repair(&found.entry.run) {
        note(found, &opening);
    }
    match check_store(found) {
        Err(OpenError::Corrupt { .. } | OpenError::Damaged { .. }) if rebuild => {
            let rebuilt = found
                .runs
                .rebuild_store(&found.entry.run)
                .map_err(unstuck_runner::open::LifecycleError::from);
            let opening = rebuilt
                .and_then(|(log, opening)| site.record_repairs(log, &opening).map(|_| opening))
                .map_err(|error| into_app_error(&error, found.short(), Some(project.runs())))?;
            note(found, &opening);
            Ok(())
        }
        checked => checked.map_err(|error| found.open_error(&error)),
    }
}

/// Returns the large payloads that the event names; an empty one is not stored.
pub(crate) fn payloads_of(event: &Event) -> Vec<Blob> {
    let Fact::Observed(observation) = &event.fact else { return Vec::new() };
    let outputs = |outcome: &Outcome| outcome.stdout.into_iter().chain(outcome.stderr).collect::<Vec<_>>();
    // Every variant is named, so that a new one is thought of here.
    let named: Vec<Blob> = match observation {
        Observation::WorkerStarted(event) => event.moved_aside.into_iter().chain([event.prompt]).collect(),
        Observation::CheckStarted(event) => event.moved_aside.into_iter().chain([event.prompt]).collect(),
        Observation::WorkerFinished(event) => outputs(&event.outcome),
        Observation::CheckFinished(event) => {
            let commands = event.commands.iter().flat_map(|command| {
                command.stdout.into_iter().chain(command.stderr).chain(command.reports.iter().copied())
            });
            let validators = event
                .validators
                .iter()
                .flat_map(|validator| validator.stdout.into_iter().chain(validator.stderr));
            outputs(&event.outcome).into_iter().chain(commands).chain(validators).collect()
        }
        Observation::RunStarted(_)
        | Observation::RunResumed(_)
        | Observation::RunInterrupted(_)
        | Observation::AnswerGiven(_)
        | Observation::DeadlinePassed
        | Observation::WorkerProgressed(_)
        | Observation::WorkerLost(_)
        | Observation::CheckLost(_)
        | Observation::LogRepaired(_)
        | Observation::SnapshotTaken(_)
        | Observation::Kicked
        | Observation::Suspended(_) => Vec::new(),
    };
    named.into_iter().filter(|blob| blob.size > 0).collect()
}

/// Returns the first missing payload of a run. A payload that an import left out does not count.
pub fn missing_payload(found: &RunHandle) -> Option<String> {
    let (events, _) = found.valid_events().ok()?;
    let (blobs, imported) = (found.log().ok()?.blobs(), found.runs.imported_up_to(&found.entry.run));
    let events = events.iter().filter(|event| event.seq > imported);
    let mut payloads = events.flat_map(|event| payloads_of(event).into_iter().map(|blob| (event.seq, blob)));
    payloads.find_map(|(at, blob)| {
        let error = blobs.open(&blob).err()?;
        Some(format!("a payload of event {at} cannot be read: blob {}: {error}", blob.digest))
    })
}

/// Reads a payload to its end, which is where a wrong content shows.
fn check_payload(blobs: &dyn BlobStore, blob: &Blob) -> io::Result<()> {
    io::copy(&mut blobs.open(blob)?, &mut io::sink()).map(|_| ())
}
