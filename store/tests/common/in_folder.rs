//! Logs by the folder of their run: tests damage the files in it.

#![allow(dead_code, reason = "no test uses all of it")]

use std::io::{Read, Write};
use std::path::Path;

use unstuck_core::id::Seq;
use unstuck_store::event_store::ReadError;
use unstuck_store::opening::{OpenError, Opening};
use unstuck_store::run_folder::RunFolder;
use unstuck_store::run_log::{ReadLog, RunLog};
use unstuck_store::store::Store as _;
use unstuck_store_sled::{Merged, SledStore};

/// Names the folder of a run of the store at `base`.
pub fn folder(base: &Path, run: &str) -> RunFolder {
    RunFolder::new(&base.join("runs"), run.into())
}

/// Returns the store that a folder of a run belongs to.
pub fn store(folder: &RunFolder) -> SledStore {
    SledStore::at(folder.path().ancestors().nth(2).expect("a store, the folder of its runs and that of one"))
}

pub fn create(folder: &RunFolder) -> Result<RunLog, OpenError> {
    store(folder).create(folder.run())
}

pub fn open_for_writing(folder: &RunFolder) -> Result<(RunLog, Opening), OpenError> {
    store(folder).claim(folder.run())
}

pub fn open_for_reading(folder: &RunFolder) -> Result<ReadLog, OpenError> {
    store(folder).open(folder.run())
}

pub fn rebuild_store(folder: &RunFolder) -> Result<(RunLog, Opening), OpenError> {
    store(folder).rebuild_store(folder.run())
}

pub fn rebuild_mirror(folder: &RunFolder) -> Result<Opening, OpenError> {
    store(folder).rebuild_mirror(folder.run())
}

pub fn import(lines: &mut dyn Read, folder: &RunFolder) -> Result<RunLog, OpenError> {
    store(folder).import(folder.run(), lines)
}

pub fn extend(lines: &mut dyn Read, folder: &RunFolder) -> Result<(RunLog, Seq), OpenError> {
    store(folder).extend(folder.run(), lines)
}

pub fn salvage(folder: &RunFolder, out: &mut dyn Write) -> Result<Merged, ReadError> {
    store(folder).salvage(folder.run(), out).expect("there is a log")
}
