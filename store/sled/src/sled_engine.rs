//! sled as the engine of a store: one database in the folder of each run.

use std::fs;
use std::io::{self, Write};

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_files::read::{Read, is_absence};
use unstuck_store::engine::{Engine, PutPayloads, Repairer};
use unstuck_store::event_store::{EventStore, ReadError};
use unstuck_store::lease::FileLease;
use unstuck_store::record_table::TableStream;
use unstuck_store::recovery::{OpenError, RecoveryReport, SalvageReport};
use unstuck_store::run_dir::RunDir;
use unstuck_store::run_log::{ReadLog, RunLog};

use crate::database::Database;
use crate::sled_table::SledTable;
use crate::{first_event, open, open_error};

/// Keeps the records of a run in the folder `store` of its folder.
#[derive(Clone, Copy, Debug, Default)]
pub struct SledEngine;

impl Engine for SledEngine {
    fn stream(&self, folder: &RunDir, lease: FileLease) -> Result<Box<dyn EventStore>, OpenError> {
        let database = Database::open(&folder.store());
        let database = database.map_err(|error| open_error::from_engine(folder, error))?;
        TableStream::open(SledTable::new(database), folder, lease)
    }

    fn first_event(&self, folder: &RunDir) -> Read<Event> {
        first_event::read(folder)
    }

    fn remove(&self, folder: &RunDir) -> io::Result<()> {
        match fs::remove_dir_all(folder.store()) {
            Err(error) if !is_absence(&error) => Err(error),
            _ => Ok(()),
        }
    }

    fn open(&self, folder: &RunDir) -> Result<ReadLog, OpenError> {
        open::open_for_reading(folder)
    }

    fn claim(&self, folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
        open::open_for_writing(folder)
    }

    fn is_unfinished(&self, folder: &RunDir) -> Read<bool> {
        first_event::is_unfinished(folder)
    }

    fn unreadable(&self, folder: &RunDir, error: ReadError) -> OpenError {
        open_error::from_read(folder, error)
    }

    fn repairer(&self) -> Option<&dyn Repairer> {
        Some(self)
    }
}

impl Repairer for SledEngine {
    fn rebuild_store(&self, folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
        open::rebuild_store(folder)
    }

    fn rebuild_mirror(&self, folder: &RunDir) -> Result<RecoveryReport, OpenError> {
        open::rebuild_mirror(folder)
    }

    fn salvage(
        &self,
        folder: &RunDir,
        out: &mut dyn Write,
    ) -> Result<Result<SalvageReport, ReadError>, OpenError> {
        open::check_there(folder)?;
        Ok(open::salvage(folder, out))
    }

    fn import(
        &self,
        folder: &RunDir,
        lines: &mut dyn io::Read,
        payloads: PutPayloads<'_>,
    ) -> Result<RunLog, OpenError> {
        open::create_from(folder, lines, payloads)
    }

    fn extend(&self, folder: &RunDir, lines: &mut dyn io::Read) -> Result<(RunLog, Seq), OpenError> {
        open::extend_from(folder, lines)
    }
}
