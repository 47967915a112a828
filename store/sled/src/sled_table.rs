//! The records of a run in a sled database.
//!
//! An append is: insert, `flush`, `fdatasync`.

use std::io;
use std::sync::{Mutex, PoisonError};

use unstuck_core::id::Seq;
use unstuck_store::chain::{ChainReader, RawRecords};
use unstuck_store::event_store::{AppendError, ReadError};
use unstuck_store::record::{RECORD_MAX, Record};
use unstuck_store::record_table::RecordTable;

use crate::database::{Database, EngineError, Scan};
use crate::failpoint::{Boundary, Failpoint};

/// A database that takes records.
pub(crate) struct SledTable {
    database: Database,
    failpoint: Mutex<Failpoint>,
}

impl SledTable {
    /// Appends to a database.
    pub(crate) fn new(database: Database) -> Self {
        Self { database, failpoint: Mutex::new(Failpoint::from_environment()) }
    }
}

/// Reads and checks the records from `from` to `until`.
pub(crate) fn scan(database: &Database, from: Seq, until: Seq) -> Result<ChainReader<Scan<'_>>, ReadError> {
    ChainReader::open(from, until, |first| Ok(database.scan(first)?))
}

impl RecordTable for SledTable {
    type Bytes = sled::IVec;

    fn append(&self, records: &[Record]) -> Result<(), AppendError> {
        let mut failpoint = self.failpoint.lock().unwrap_or_else(PoisonError::into_inner);
        failpoint.pass(Boundary::Before);
        let values = values(records);
        self.database.insert(values.iter().map(|(seq, bytes)| (*seq, bytes.as_slice())))?;
        failpoint.pass(Boundary::Torn);
        self.database.flush()?;
        self.database.sync().map_err(|source| not_durable("the store", source))?;
        failpoint.pass(Boundary::After);
        Ok(())
    }

    fn scan(&self, from: Seq) -> Result<impl RawRecords<sled::IVec>, ReadError> {
        Ok(self.database.scan(from)?)
    }

    fn last(&self) -> Result<Option<sled::IVec>, ReadError> {
        let last = self.database.last()?.map(|last| self.database.get(last)).transpose()?;
        Ok(last.flatten().map(sled::IVec::from))
    }
}

/// Returns what goes under which key: as many records together as a value may hold.
///
/// A key costs sled about 15 us; and a batch of several keys is written to its file twice, each time by way of
/// its pool, where all of seven threads wake up for it.
fn values(records: &[Record]) -> Vec<(Seq, Vec<u8>)> {
    let mut values: Vec<(Seq, Vec<u8>)> = Vec::with_capacity(1);
    for record in records {
        let (seq, bytes) = (record.header.seq, record.to_bytes());
        match values.last_mut().filter(|(_, value)| value.len() + bytes.len() <= RECORD_MAX) {
            Some((_, value)) => value.extend_from_slice(&bytes),
            None => values.push((seq, bytes)),
        }
    }
    values
}

fn not_durable(what: &str, source: io::Error) -> AppendError {
    AppendError::NotDurable { what: what.to_owned(), source }
}

impl From<EngineError> for AppendError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Io(source) => not_durable("the store", source),
            other => Self::EngineFailed { detail: other.to_string() },
        }
    }
}
