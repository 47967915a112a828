//! A store with its records in redb: one database for each run, in the folder of the run.

use std::fs;
use std::io;
use std::path::PathBuf;

use redb::{Database, ReadOnlyTable, ReadableDatabase as _, ReadableTable as _, TableDefinition};
use unstuck_core::Event;
use unstuck_core::id::Seq;
use unstuck_files::read::Read;
use unstuck_store::chain::RawRecords;
use unstuck_store::lease::FileLease;
use unstuck_store::record::Record;
use unstuck_store::{
    AppendError, Engine, EventStore, OpenError, ReadError, RecordTable, RunDir, TableStream,
};

/// Each record under its number.
pub const RECORDS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("records");

/// redb as the engine of a store.
#[derive(Clone, Copy, Debug)]
pub struct RedbEngine;

impl Engine for RedbEngine {
    fn stream(&self, folder: &RunDir, lease: FileLease) -> Result<Box<dyn EventStore>, OpenError> {
        let database = Database::create(file(folder)).map_err(io::Error::other);
        TableStream::open(RedbTable(database.map_err(OpenError::io(folder))?), folder, lease)
    }

    fn first_event(&self, folder: &RunDir) -> Read<Event> {
        match file(folder).try_exists() {
            Ok(true) => {}
            Ok(false) => return Read::Absent,
            Err(error) => return Read::Unreadable(error.to_string()),
        }
        match Database::open(file(folder)) {
            Ok(database) => TableStream::first_event(&RedbTable(database), folder),
            // Its writer has it, and is about to write the first event.
            Err(redb::DatabaseError::DatabaseAlreadyOpen) => Read::Absent,
            Err(error) => Read::Unreadable(error.to_string()),
        }
    }

    fn remove(&self, folder: &RunDir) -> io::Result<()> {
        if file(folder).exists() { fs::remove_file(file(folder)) } else { Ok(()) }
    }
}

/// Returns the database of a run.
pub fn file(folder: &RunDir) -> PathBuf {
    folder.path().join("records.redb")
}

/// The records of one run.
struct RedbTable(Database);

impl RedbTable {
    /// Returns the records as of now; `None` if there was no append yet.
    fn records(&self) -> Result<Option<ReadOnlyTable<u64, &'static [u8]>>, ReadError> {
        match self.0.begin_read().map_err(failed)?.open_table(RECORDS) {
            Err(redb::TableError::TableDoesNotExist(_)) => Ok(None),
            table => table.map(Some).map_err(failed),
        }
    }
}

impl RecordTable for RedbTable {
    type Bytes = Vec<u8>;

    fn append(&self, records: &[Record]) -> Result<(), AppendError> {
        let write = || -> Result<(), redb::Error> {
            let write = self.0.begin_write()?;
            let mut table = write.open_table(RECORDS)?;
            for record in records {
                table.insert(record.header.seq.0, record.to_bytes().as_slice())?;
            }
            drop(table);
            Ok(write.commit()?)
        };
        write().map_err(|error| AppendError::EngineFailed { detail: error.to_string() })
    }

    fn scan(&self, from: Seq) -> Result<impl RawRecords<Vec<u8>>, ReadError> {
        let range = self.records()?.map(|table| table.range(from.0..)).transpose().map_err(failed)?;
        Ok(range.into_iter().flatten().map(|entry| {
            let (seq, bytes) = entry.map_err(failed)?;
            Ok((Seq(seq.value()), bytes.value().to_vec()))
        }))
    }

    fn last(&self) -> Result<Option<Vec<u8>>, ReadError> {
        let Some(table) = self.records()? else { return Ok(None) };
        Ok(table.last().map_err(failed)?.map(|(_, bytes)| bytes.value().to_vec()))
    }
}

fn failed(error: impl std::error::Error) -> ReadError {
    ReadError::EngineFailed { at: None, detail: error.to_string() }
}
