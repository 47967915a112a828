//! How a run began: its first event, wherever that is intact, and whether its creation was cut short.
//!
//! Neither the index nor `events.jsonl` is synced, so a loss of power can take both. The engine has the event then.

use std::fs;
use std::path::Path;

use crate::json_line::{FromLine as _, LineBuffers, LineError};
use crate::lease::FileLease;
use crate::recovery::OpenError;
use crate::run_dir::{FORMAT_VERSION, FormatFile, RunDir};
use unstuck_core::event::{Event, Fact, Observation, RunStarted};
use unstuck_core::id::Timestamp;
use unstuck_files::read::{Read, is_absence};
use unstuck_files::safe_open;

/// The first event of a run.
#[derive(Debug)]
pub struct RunStart {
    /// The moment of the event.
    pub at: Timestamp,
    /// Its content.
    pub started: Box<RunStarted>,
}

/// Reads the first event of a run from `events.jsonl` or, where that has none, from the store. Absent means that neither has a
/// trace of an event.
pub fn read(folder: &RunDir, stored: impl FnOnce() -> Read<Event>) -> Read<RunStart> {
    first_event(folder, stored).and_then(from_event)
}

fn first_event(folder: &RunDir, stored: impl FnOnce() -> Read<Event>) -> Read<Event> {
    let in_mirror = match first_mirrored(folder) {
        Read::Absent => None,
        Read::Unreadable(why) => Some(why),
        found => return found,
    };
    match (stored(), in_mirror) {
        (found @ Read::Found(_), _) => found,
        (_, Some(why)) => Read::Unreadable(why),
        (Read::Unreadable(why), None) => Read::Unreadable(why),
        (Read::Absent, None) => Read::Absent,
    }
}

/// Says whether there is a run, or may be one: anything but a missing folder and an unfinished creation.
pub fn has_begun(folder: &RunDir, is_unfinished: impl FnOnce() -> Read<bool>) -> bool {
    match Read::from_io(fs::symlink_metadata(folder.path())) {
        Read::Absent => false,
        Read::Unreadable(_) => true,
        Read::Found(_) => !matches!(is_unfinished(), Read::Found(true)),
    }
}

/// Checks that there is a log, and that this program reads it. Where the file that says so is lost, the records do.
///
/// # Errors
///
/// There is none, or it is from a newer program.
pub fn check_there(folder: &RunDir, is_unfinished: impl FnOnce() -> Read<bool>) -> Result<(), OpenError> {
    let run = || folder.run().to_string();
    let path = folder.path().to_owned();
    let format = FormatFile::read(folder);
    match format.map_err(|source| OpenError::Io { run: run(), path: folder.format(), source })? {
        Some(newer) if newer.format > FORMAT_VERSION => {
            let detail = format!(
                "written by {} in format {}; this program reads up to {FORMAT_VERSION}",
                newer.program, newer.format
            );
            Err(OpenError::NewerVersion { run: run(), detail })
        }
        None if !has_begun(folder, is_unfinished) => Err(if fs::symlink_metadata(folder.path()).is_ok() {
            OpenError::Unfinished { run: run(), path }
        } else {
            OpenError::NotFound { path }
        }),
        _ => Ok(()),
    }
}

/// Checks that the folder, the first event and the lease name the same run.
///
/// # Errors
///
/// They do not.
pub fn check_names(folder: &RunDir, stored: impl FnOnce() -> Read<Event>) -> Result<(), OpenError> {
    let in_log = read(folder, stored).ok().map(|first| ("its first event", first.started.run));
    let in_lease = FileLease::holder(&folder.lease()).and_then(|holder| holder.run);
    let named = in_log.into_iter().chain(in_lease.map(|run| ("its lease", run)));
    match named.into_iter().find(|(_, run)| run != folder.run()) {
        None => Ok(()),
        Some((what, named)) => {
            let (run, path) = (folder.run().to_string(), folder.path().to_owned());
            Err(OpenError::OtherRun { run, path, what, named })
        }
    }
}

/// Returns whether the creation of a run was cut short: its log has no trace of an event, and nothing was lost.
///
/// `format` is written last, so a run that has it and lacks another file of its log has lost that file.
pub fn is_unfinished(folder: &RunDir, stored: impl FnOnce() -> Read<Event>) -> Read<bool> {
    let check = move || -> Result<bool, String> {
        if !has(folder.path())? {
            return Ok(false);
        }
        if has(&folder.checkpoint())? || has(&folder.format())? && !has(&folder.mirror())? {
            return Ok(false);
        }
        if let Some(newer) = FormatFile::read(folder).map_err(|error| error.to_string())?
            && newer.format > FORMAT_VERSION
        {
            return Ok(false);
        }
        Ok(first_event(folder, stored).into_result()?.is_none())
    };
    check().map_or_else(Read::Unreadable, Read::Found)
}

/// Says whether there is a file or folder.
///
/// # Errors
///
/// A sentence, where the system cannot tell.
pub fn has(path: &Path) -> Result<bool, String> {
    match Read::from_io(fs::symlink_metadata(path)) {
        Read::Unreadable(why) => Err(format!("{}: {why}", path.display())),
        read => Ok(!read.is_absent()),
    }
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
