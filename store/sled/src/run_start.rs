//! How a run began: its first event, wherever that is intact, and whether its creation was cut short.
//!
//! Neither the index nor `events.jsonl` is synced, so a loss of power can take both. The store has the event then, and its
//! files are searched without the engine, which only one process may open.

use std::fs;
use std::io;
use std::path::PathBuf;

use memchr::memmem;
use unstuck_core::event::{Event, Fact, Observation, RunStarted};
use unstuck_core::id::{RunId, Seq, Timestamp};
use unstuck_files::read::{Read, is_absence};
use unstuck_files::safe_open;
use unstuck_store::blobs::DirBlobs;
use unstuck_store::chain;
use unstuck_store::event_store::Head;
use unstuck_store::json_line::{FromLine as _, LineBuffers, LineError};
use unstuck_store::lease::FileLease;
use unstuck_store::record::MAGIC;
use unstuck_store::run_dir::{FORMAT_VERSION, FormatFile, RunDir};

use crate::store_tail::{self, TailRecords};

/// The first event of a run.
#[derive(Debug)]
pub(crate) struct RunStart {
    /// The moment of the event.
    pub(crate) at: Timestamp,
    /// Its content.
    pub(crate) started: Box<RunStarted>,
}

/// Reads the first event of a run from `events.jsonl` or, where that has none, from the files of the store.
///
/// Absent means that neither has a trace of an event.
pub(crate) fn read(folder: &RunDir) -> Read<RunStart> {
    first_event(folder).and_then(from_event)
}

fn first_event(folder: &RunDir) -> Read<Event> {
    let in_mirror = match first_mirrored(folder) {
        Read::Absent => None,
        Read::Unreadable(why) => Some(why),
        found => return found,
    };
    match (first_stored(folder), in_mirror) {
        (found @ Read::Found(_), _) => found,
        (_, Some(why)) => Read::Unreadable(why),
        (Read::Unreadable(why), None) => Read::Unreadable(why),
        (Read::Absent, None) => Read::Absent,
    }
}

/// Returns the run that the first event or the lease names, where that is another one than the folder's.
pub(crate) fn other_run(folder: &RunDir) -> Option<(&'static str, RunId)> {
    let in_log = read(folder).ok().map(|first| ("its first event", first.started.run));
    let in_lease = FileLease::holder(&folder.lease()).and_then(|holder| holder.run);
    let named = in_log.into_iter().chain(in_lease.map(|run| ("its lease", run)));
    named.into_iter().find(|(_, run)| run != folder.run())
}

/// Returns whether a run may be created in a folder: it is missing, or an earlier creation was cut short.
pub(crate) fn is_free(folder: &RunDir) -> Read<bool> {
    match Read::from_io(fs::symlink_metadata(folder.path())) {
        Read::Absent => Read::Found(true),
        Read::Unreadable(why) => Read::Unreadable(why),
        Read::Found(_) => is_unfinished(folder),
    }
}

/// Returns whether the creation of a run was cut short: its log has no trace of an event, and nothing was lost.
///
/// `format` is written last, so a run that has it and lacks another file of its log has lost that file.
pub(crate) fn is_unfinished(folder: &RunDir) -> Read<bool> {
    let has = |path: PathBuf| match Read::from_io(fs::symlink_metadata(&path)) {
        Read::Unreadable(why) => Err(format!("{}: {why}", path.display())),
        read => Ok(!read.is_absent()),
    };
    let check = || -> Result<bool, String> {
        if !has(folder.path().to_owned())? {
            return Ok(false);
        }
        let is_complete = has(folder.data_file())? && has(folder.mirror())?;
        if has(folder.checkpoint())? || has(folder.format())? && !is_complete {
            return Ok(false);
        }
        if let Some(newer) = FormatFile::read(folder).map_err(|error| error.to_string())?
            && newer.format > FORMAT_VERSION
        {
            return Ok(false);
        }
        Ok(first_event(folder).into_result()?.is_none())
    };
    check().map_or_else(Read::Unreadable, Read::Found)
}

fn from_event(event: Event) -> Read<RunStart> {
    match event.fact {
        Fact::Observed(Observation::RunStarted(started)) => Read::Found(RunStart { at: event.at, started }),
        _ => Read::Unreadable("its first event is not the start of a run".to_owned()),
    }
}

fn first_mirrored(folder: &RunDir) -> Read<Event> {
    let line = match safe_open::first_line(&folder.mirror()) {
        Err(error) if is_absence(&error) => return Read::Absent,
        Err(error) => return Read::Unreadable(format!("events.jsonl: {error}")),
        Ok(line) if line.trim_ascii().is_empty() => return Read::Absent,
        Ok(line) => line,
    };
    match Event::from_line(line.trim_ascii_end(), &mut LineBuffers::default()) {
        Ok((_, event)) => Read::Found(event),
        Err(LineError::Newer(why)) => Read::Unreadable(format!("written by a newer version: {why}")),
        Err(LineError::Damaged(why)) => Read::Unreadable(format!("line 1 of events.jsonl is damaged: {why}")),
    }
}

fn first_stored(folder: &RunDir) -> Read<Event> {
    let tail = match TailRecords::read(folder, Seq(0), Head::default()) {
        Err(error) if is_absence(&error.source) => return Read::Absent,
        Err(error) => return Read::Unreadable(format!("{error}: {}", error.source)),
        Ok(tail) => tail,
    };
    let Some(first) = tail.continuing_chain(Head::default()).into_iter().next() else {
        return match has_mark(folder) {
            Ok(false) => Read::Absent,
            Ok(true) => Read::Unreadable("no file of the store has its first event intact".to_owned()),
            Err(error) => Read::Unreadable(error.to_string()),
        };
    };
    match chain::decode(&first.as_ref(), &DirBlobs::new(folder.blobs())) {
        Ok(event) => Read::Found(event),
        Err(error) => Read::Unreadable(error.to_string()),
    }
}

/// Returns whether the files of the store have the mark of a record, of whatever version and however damaged.
fn has_mark(folder: &RunDir) -> io::Result<bool> {
    let mark = memmem::Finder::new(&MAGIC);
    for path in store_tail::files(folder)? {
        let bytes = match safe_open::read_large(&path) {
            Err(error) if is_absence(&error) => continue,
            bytes => bytes?,
        };
        if mark.find(&bytes).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
