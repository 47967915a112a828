//! `unstuck verify`: the whole log of a run: chain, payloads, mirror, decisions.

use std::collections::BTreeMap;
use std::io;

use unstuck_core::event::{Outcome, RunOutcome};
use unstuck_core::id::{Blob, Digest, Seq};
use unstuck_core::{Event, Fact, Observation};
use unstuck_files::error::with_causes;
use unstuck_store::blobs::BlobStore;
use unstuck_store::event_store::{EventStore as _, ReadError};
use unstuck_store::opening::{OpenError, Opening};
use unstuck_store::store::Store as _;
use unstuck_workspace::snapshot;

use crate::args::Global;
use crate::commands::replay;
use crate::error::{Error, Result};
use crate::explained::explained;
use crate::project::{Found, Project, RunArg};
use crate::{driving, exit, text};

/// Arguments of `unstuck verify`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
    /// Write a damaged store anew from events.jsonl, if that is whole, and from what can be read of the store's own file; the
    /// old store is kept aside.
    #[arg(long)]
    rebuild_store: bool,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Checks the log.
pub fn verify(global: &Global, args: &Args) -> Result {
    let project = Project::open(global)?;
    let found = project.find(&args.run)?;
    // A live run is checked by its mirror; one that nobody works on by its store as well.
    let stored = !found.is_live() || args.rebuild_store;
    if stored {
        mend_store(&project, &found, args.rebuild_store)?;
    }
    let log = found.log()?;
    let events = log.read(Seq(1)).map_err(|error| found.unreadable(&error))?;
    let blobs = log.blobs();
    let imported = found.runs.imported_up_to(&found.entry.run);
    let (mut payloads, mut missing) = (0, 0);
    let checked = events.map(|event| {
        let event = event.map_err(Failed::Log)?;
        for blob in payloads_of(&event) {
            match check_payload(&*blobs, &blob) {
                Ok(()) => payloads += 1,
                Err(error) if error.kind() == io::ErrorKind::NotFound && event.seq <= imported => {
                    missing += 1
                }
                Err(source) => return Err(Failed::Payload { at: event.seq, blob, source }),
            }
        }
        Ok(event)
    });
    let recheck =
        unstuck_replay::recheck(checked, None).map_err(|failed: Failed| failed.explained(&found))?;
    if recheck.events == 0 && !found.is_live() {
        return Err(found.never_started());
    }
    let kept = check_snapshots(&project, &found, imported)?;
    if args.json {
        crate::print_json(&serde_json::json!({
            "run": found.entry.run, "events": recheck.events, "payloads": payloads, "payloads_missing": missing,
            "snapshots": kept.snapshots, "snapshots_missing": kept.missing, "snapshot_objects": kept.objects,
            "snapshots_damaged": kept.damaged.as_ref().map(Error::message),
            "decisions": recheck.decisions, "store_checked": stored,
            "anomalies": recheck.state.anomalies(),
            "outcome": recheck.state.outcome().map(RunOutcome::as_str),
            "first_difference": recheck.first_difference,
        }));
    } else {
        let what =
            if stored { "store and events.jsonl agree" } else { "events.jsonl is whole (the run is live)" };
        let payloads = text::count(payloads, "payload");
        println!(
            "run {}: {} events, the chain is unbroken; {what}; {payloads} whole",
            found.short(),
            recheck.events
        );
        if missing > 0 {
            let missing = text::count(missing, "payload");
            println!(
                "{missing} not there: prompts, outputs and reports, which an export leaves out; no decision rests on them, but \
                 `replay --read-again` does"
            );
        }
        kept.print();
        replay::print_comparison(&recheck, found.short());
    }
    if let Some(error) = kept.damaged {
        return Err(error);
    }
    Ok(if recheck.first_difference.is_none() { exit::OK } else { exit::DIFFERENT })
}

/// What was found of the snapshots of a run.
#[derive(Default)]
struct Kept {
    /// How many are here.
    snapshots: usize,
    /// How many are not, and need not be: an export leaves them out.
    missing: usize,
    /// How many objects were read.
    objects: u64,
    damaged: Option<Error>,
}

impl Kept {
    fn print(&self) {
        if self.snapshots > 0 && self.damaged.is_none() {
            let (count, objects) = (text::count(self.snapshots, "snapshot"), self.objects);
            println!("{count} of the workspace, all of their {objects} objects whole");
        }
        if self.missing > 0 {
            let missing = text::count(self.missing, "snapshot");
            println!(
                "{missing} not there, which an export leaves out: no diff, undo and checkout can use them"
            );
        }
    }
}

/// Reads all that the snapshots of a run refer to.
fn check_snapshots(project: &Project, found: &Found, imported: Seq) -> Result<Kept> {
    let events = found.begun()?;
    let mut ids: BTreeMap<Digest, Seq> = BTreeMap::new();
    for seen in unstuck_replay::seen(&events) {
        ids.entry(seen.snapshot.id).or_insert(seen.seq);
    }
    if ids.is_empty() {
        return Ok(Kept::default());
    }
    let hint = format!(
        "the log itself is whole: unstuck show {}; undo, diff and checkout need the snapshots: restore the folder from a backup if there is one",
        found.short()
    );
    let damaged = |what: String| Some(Error::damaged(what).hint(hint.clone()));
    let snapshots = match driving::kept_snapshots(project.runs(), found.started(&events)?) {
        Ok(snapshots) => snapshots,
        Err(_) if ids.values().all(|seq| *seq <= imported) => {
            return Ok(Kept { missing: ids.len(), ..Kept::default() });
        }
        Err(why) => {
            return Ok(Kept {
                damaged: damaged(format!("the snapshots cannot be read: {why}")),
                ..Kept::default()
            });
        }
    };
    let mut kept = Kept::default();
    let mut here = Vec::new();
    for (id, seq) in ids {
        match snapshots.check(&[id], 0) {
            Ok(_) => here.push(id),
            Err(snapshot::Error::Missing { .. }) if seq <= imported => kept.missing += 1,
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

/// What verifying may find.
enum Failed {
    Log(ReadError),
    Payload { at: Seq, blob: Blob, source: io::Error },
}

impl Failed {
    fn explained(self, found: &Found) -> Error {
        match self {
            Self::Log(error) => found.unreadable(&error),
            Self::Payload { at, blob, source } => Error::damaged(format!(
                "a payload of event {at} is damaged or lost: blob {} of {} bytes: {source}",
                blob.digest, blob.size
            ))
            .hint(format!("the events themselves are whole: unstuck show {}", found.short())),
        }
    }
}

/// Checks the store, and mends what may be mended; a damaged store only where that is asked for.
fn mend_store(project: &Project, found: &Found, rebuild: bool) -> Result<()> {
    let site = driving::quiet_site(project.runs().clone());
    if let Ok((_, opening)) = site.mend(&found.entry.run) {
        note(&opening);
    }
    match check_store(found) {
        Err(OpenError::Corrupt { .. } | OpenError::Damaged { .. }) if rebuild => {
            let rebuilt =
                found.runs.rebuild_store(&found.entry.run).map_err(unstuck_runner::open::Error::from);
            let opening = rebuilt
                .and_then(|(log, opening)| site.record_repairs(log, &opening).map(|_| opening))
                .map_err(|error| explained(&error, found.short(), Some(project.runs())))?;
            note(&opening);
            Ok(())
        }
        checked => checked.map_err(|error| found.unopened(&error)),
    }
}

/// Checks the store and all that it holds as whoever goes on with the run would, and says nothing.
///
/// # Errors
///
/// The run cannot be opened, or something of it is damaged or lost.
pub fn examine(found: &Found) -> std::result::Result<(), OpenError> {
    let (log, _) = found.runs.claim(&found.entry.run)?;
    log.verify().map(drop).map_err(|error| found.runs.unreadable(&found.entry.run, error))
}

/// Returns the large payloads that the event names; an empty one is not stored.
fn payloads_of(event: &Event) -> Vec<Blob> {
    let Fact::Observed(observation) = &event.fact else { return Vec::new() };
    let outputs = |outcome: &Outcome| outcome.stdout.into_iter().chain(outcome.stderr).collect::<Vec<_>>();
    // Every variant is named, so that a new one is thought of here.
    let named: Vec<Blob> = match observation {
        Observation::WorkerStarted(event) => event.moved_aside.into_iter().chain([event.prompt]).collect(),
        Observation::CheckStarted(event) => event.moved_aside.into_iter().chain([event.prompt]).collect(),
        Observation::WorkerFinished(event) => outputs(&event.outcome),
        Observation::CheckFinished(event) => {
            let commands = event
                .commands
                .iter()
                .flat_map(|it| it.stdout.into_iter().chain(it.stderr).chain(it.reports.iter().copied()));
            let validators = event.validators.iter().flat_map(|it| it.stdout.into_iter().chain(it.stderr));
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

/// Says which payload of a run is not there first, if any. One that an import has left out is not missed.
pub fn missing_payload(found: &Found) -> Option<String> {
    let (events, _) = found.good_events().ok()?;
    let (blobs, imported) = (found.log().ok()?.blobs(), found.runs.imported_up_to(&found.entry.run));
    let events = events.iter().filter(|event| event.seq > imported);
    let mut payloads = events.flat_map(|event| payloads_of(event).into_iter().map(|blob| (event.seq, blob)));
    payloads.find_map(|(at, blob)| {
        let error = blobs.open(&blob).err()?;
        Some(format!("a payload of event {at} cannot be read: blob {}: {error}", blob.digest))
    })
}

/// Checks the store and brings it and its mirror together. A mirror that is damaged beside a whole store is
/// written anew.
///
/// # Errors
///
/// The store is damaged, or somebody works on the run.
pub fn check_store(found: &Found) -> std::result::Result<(), OpenError> {
    let (log, opening) = found.runs.claim(&found.entry.run)?;
    note(&opening);
    let Err(error) = log.verify() else { return Ok(()) };
    let store_is_whole = log.read(Seq(1)).is_ok_and(|mut events| events.all(|event| event.is_ok()));
    drop(log);
    if !store_is_whole {
        return Err(found.runs.unreadable(&found.entry.run, error));
    }
    note(&found.runs.rebuild_mirror(&found.entry.run)?);
    Ok(())
}

/// Says what was found when a log was opened.
pub fn note(opening: &Opening) {
    for finding in &opening.findings {
        eprintln!("note: {finding}");
    }
}

/// Reads a payload to its end, which is where a wrong content shows.
fn check_payload(blobs: &dyn BlobStore, blob: &Blob) -> io::Result<()> {
    io::copy(&mut blobs.open(blob)?, &mut io::sink()).map(|_| ())
}
