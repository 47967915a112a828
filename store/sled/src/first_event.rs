//! The first event of a run in the files of its database.
//!
//! The files are searched without opening the database: only one process may do that.

use std::io;

use memchr::memmem;
use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_files::read::{Read, is_absence};
use unstuck_files::safe_open;
use unstuck_store::blobs::DirBlobs;
use unstuck_store::chain;
use unstuck_store::event_store::Head;
use unstuck_store::record::MAGIC;
use unstuck_store::run_dir::RunDir;
use unstuck_store::run_start;

use crate::store_tail::{self, TailRecords};

/// Says whether the creation of a run was cut short. A run that has its `format` and lacks its database has lost it.
pub(crate) fn is_unfinished(folder: &RunDir) -> Read<bool> {
    let is_lost =
        || Ok::<_, String>(run_start::has(&folder.format())? && !run_start::has(&folder.data_file())?);
    match is_lost() {
        Ok(true) => Read::Found(false),
        Ok(false) => run_start::is_unfinished(folder, || read(folder)),
        Err(why) => Read::Unreadable(why),
    }
}

/// Reads it.
pub(crate) fn read(folder: &RunDir) -> Read<Event> {
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
