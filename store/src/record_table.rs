//! A stream whose records are in a table: what most databases can do.
//!
//! [`TableStream`] adds the hash chain, the lease, group commit and large payloads. See [`chain`] for what a
//! record is.

use std::io;
use std::sync::Arc;

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_files::read::Read;

use crate::blobs::DirBlobs;
use crate::chain::{self, ChainReader, RawRecords};
use crate::event_store::{AppendError, EventStore, Events, ExpectedVersion, Head, ReadError, Records};
use crate::group_commit::{Commit, GroupCommit};
use crate::lease::FileLease;
use crate::record::{Record, RecordError, RecordRef};
use crate::recovery::OpenError;
use crate::run_dir::RunDir;

/// The records of one run, each under its number.
pub trait RecordTable: Send + Sync + 'static {
    /// A record as it was stored.
    type Bytes: AsRef<[u8]>;

    /// Adds records, all or none, and returns when they are durable. They follow the last one.
    ///
    /// # Errors
    ///
    /// They are not durable. Nothing more is appended then.
    fn append(&self, records: &[Record]) -> Result<(), AppendError>;

    /// Returns the records from `from` on, as of now, in the order of their numbers.
    ///
    /// # Errors
    ///
    /// The table cannot be read.
    fn scan(&self, from: Seq) -> Result<impl RawRecords<Self::Bytes>, ReadError>;

    /// Returns the last record; `None` if there is none.
    ///
    /// # Errors
    ///
    /// The table cannot be read.
    fn last(&self) -> Result<Option<Self::Bytes>, ReadError>;
}

/// The stream of a table.
pub struct TableStream<T> {
    table: Arc<T>,
    blobs: DirBlobs,
    group: GroupCommit<TableWriter<T>>,
}

impl<T: RecordTable> TableStream<T> {
    /// Continues a table after its last record.
    ///
    /// # Errors
    ///
    /// The last record cannot be read, or the lease cannot be written.
    pub fn open(table: T, folder: &RunDir, lease: FileLease) -> Result<Box<dyn EventStore>, OpenError> {
        let unreadable = |detail: String| OpenError::Unreadable { run: folder.run().to_string(), detail };
        let last = table.last().map_err(|error| unreadable(error.to_string()))?;
        let last = last.as_ref().map(|bytes| RecordRef::verify(bytes.as_ref())).transpose();
        let last = last.map_err(|error| unreadable(format!("its last event is damaged: {error}")))?;
        let head = last.map_or_else(Head::default, |record| Head::at(&record.header));
        Self::after(head, table, folder, lease).map_err(OpenError::io(folder))
    }

    /// Continues a table after `head`, its last record.
    ///
    /// # Errors
    ///
    /// The lease cannot be written.
    pub fn after(head: Head, table: T, folder: &RunDir, lease: FileLease) -> io::Result<Box<dyn EventStore>> {
        let (table, blobs) = (Arc::new(table), DirBlobs::new(folder.blobs()));
        let group = GroupCommit::new(TableWriter(Arc::clone(&table)), head, Some(lease))?;
        Ok(Box::new(Self { table, blobs, group }))
    }

    /// Reads the first event of a table.
    pub fn first_event(table: &T, folder: &RunDir) -> Read<Event> {
        let first = || -> Result<Option<Event>, ReadError> {
            let Some((_, bytes)) = table.scan(Seq(1))?.next().transpose()? else { return Ok(None) };
            let damaged = |error: RecordError| ReadError::Corrupt { at: Seq(1), detail: error.to_string() };
            let record = RecordRef::verify(bytes.as_ref()).map_err(damaged)?;
            chain::decode(&record, &DirBlobs::new(folder.blobs())).map(Some)
        };
        match first() {
            Ok(first) => first.map_or(Read::Absent, Read::Found),
            Err(error) => Read::Unreadable(error.to_string()),
        }
    }

    fn reader(&self, from: Seq) -> Result<ChainReader<impl RawRecords<T::Bytes>>, ReadError> {
        ChainReader::open(from, self.head().seq, |first| self.table.scan(first))
    }
}

impl<T: RecordTable> EventStore for TableStream<T> {
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError> {
        self.group.append(chain::prepare(batch, &self.blobs)?, expected)
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        Ok(self.reader(from)?.into_events(&self.blobs))
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        Ok(self.reader(from)?.into_records())
    }

    fn head(&self) -> Head {
        self.group.head()
    }
}

struct TableWriter<T>(Arc<T>);

impl<T: RecordTable> Commit for TableWriter<T> {
    fn commit(&mut self, records: &[Record]) -> Result<(), AppendError> {
        self.0.append(records)
    }
}
