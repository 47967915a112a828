//! Logs by the folder of their run: tests damage the files in it.

#![allow(dead_code, reason = "no test uses all of it")]

use std::io::{Read, Write};
use std::path::Path;

use unstuck_core::id::Seq;
use unstuck_store::event_store::ReadError;
use unstuck_store::recovery::SalvageReport;
use unstuck_store::recovery::{OpenError, RecoveryReport};
use unstuck_store::run_dir::RunDir;
use unstuck_store::run_log::{ReadLog, RunLog};
use unstuck_store::store::Store as _;

/// Names the folder of a run of the store at `base`.
pub fn folder(base: &Path, run: &str) -> RunDir {
    RunDir::new(&base.join("runs"), run.into())
}

/// Returns the store that a folder of a run belongs to.
pub fn store(folder: &RunDir) -> unstuck_store::Runs {
    unstuck_store_sled::at(
        folder.path().ancestors().nth(2).expect("a store, the folder of its runs and that of one"),
    )
}

pub fn create(folder: &RunDir) -> Result<RunLog, OpenError> {
    store(folder).create(folder.run())
}

pub fn open_for_writing(folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
    store(folder).claim(folder.run())
}

pub fn open_for_reading(folder: &RunDir) -> Result<ReadLog, OpenError> {
    store(folder).open(folder.run())
}

pub fn rebuild_store(folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
    store(folder).rebuild_store(folder.run())
}

pub fn rebuild_mirror(folder: &RunDir) -> Result<RecoveryReport, OpenError> {
    store(folder).rebuild_mirror(folder.run())
}

pub fn import(lines: &mut dyn Read, folder: &RunDir) -> Result<RunLog, OpenError> {
    store(folder).import(folder.run(), lines)
}

pub fn extend(lines: &mut dyn Read, folder: &RunDir) -> Result<(RunLog, Seq), OpenError> {
    store(folder).extend(folder.run(), lines)
}

pub fn salvage(folder: &RunDir, out: &mut dyn Write) -> Result<SalvageReport, ReadError> {
    store(folder).salvage(folder.run(), out).expect("there is a log")
}
