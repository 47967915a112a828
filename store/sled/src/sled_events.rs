//! The store of a run on this machine: one sled database, one mirror, group commit.
//!
//! An append is: check the lease, insert, `flush`, `fdatasync`, write the mirror, answer. Opening, healing
//! and the comparison with the mirror are [`run_log`](unstuck_store::run_log)'s.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_store::blob_errors::{FirstBlobError, TrackedBlobs};
use unstuck_store::blobs::BlobStore;
use unstuck_store::chain::{self, ChainReader, SealedRecord, WantJson};
use unstuck_store::event_store::{AppendError, EventStore, Events, ExpectedVersion, ReadError, Records};
use unstuck_store::group_commit::{Commit, GroupCommit};
use unstuck_store::json_line;
use unstuck_store::lease::FileLease;
use unstuck_store::mirror::MirrorWriter;
use unstuck_store::record::{Head, RECORD_MAX};
use unstuck_store::run_dir::RunDir;

use crate::engine::{Engine, EngineError, Scan};
use crate::failpoint::{Boundary, Failpoint};

/// A stream in a sled database.
pub(crate) struct SledEvents {
    folder: PathBuf,
    engine: Arc<Engine>,
    blobs: Arc<dyn BlobStore>,
    first_error: FirstBlobError,
    group: GroupCommit<Committer>,
}

impl SledEvents {
    /// Continues the stream that ends with `head`, in an engine whose content has been checked.
    pub(crate) fn new(
        engine: Arc<Engine>,
        blobs: Arc<dyn BlobStore>,
        folder: &RunDir,
        lease: FileLease,
        head: Head,
    ) -> io::Result<Self> {
        let epoch = lease.epoch();
        let committer = Committer {
            engine: engine.clone(),
            mirror: MirrorWriter::open(&folder.mirror())?,
            lease,
            lines: Vec::new(),
            failpoint: Failpoint::from_environment(),
        };
        let first_error = FirstBlobError::default();
        let blobs = Arc::new(TrackedBlobs::over(blobs, first_error.clone()));
        let (folder, group) = (folder.path().to_owned(), GroupCommit::new(committer, head, epoch));
        Ok(Self { folder, engine, blobs, first_error, group })
    }

    /// Returns where payloads go: if one cannot be stored, no event is either.
    pub(crate) fn blobs(&self) -> &Arc<dyn BlobStore> {
        &self.blobs
    }

    fn reader(&self, from: Seq) -> Result<ChainReader<Scan<'_>>, ReadError> {
        scan(&self.engine, from, self.head().seq)
    }
}

/// Reads and checks the records from `from` to `until`.
pub(crate) fn scan(engine: &Engine, from: Seq, until: Seq) -> Result<ChainReader<Scan<'_>>, ReadError> {
    ChainReader::open(from, until, |first| Ok(engine.scan(first)?))
}

impl EventStore for SledEvents {
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError> {
        if batch.is_empty() {
            return Ok(self.head());
        }
        if let Some(source) = self.first_error.first() {
            return Err(not_durable("a payload", source).within(&self.folder));
        }
        chain::prepare(batch, &*self.blobs, WantJson::Wanted)
            .and_then(|prepared| self.group.append(prepared, expected))
            .map_err(|error| error.within(&self.folder))
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        Ok(self.reader(from)?.into_events(&*self.blobs))
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        Ok(self.reader(from)?.into_records())
    }

    fn head(&self) -> Head {
        self.group.head()
    }
}

struct Committer {
    engine: Arc<Engine>,
    mirror: MirrorWriter,
    lease: FileLease,
    lines: Vec<u8>,
    failpoint: Failpoint,
}

impl Commit for Committer {
    fn commit(&mut self, records: &[SealedRecord]) -> Result<(), AppendError> {
        self.failpoint.pass(Boundary::Before);
        self.lease.check()?;
        let values = values(records);
        self.engine.insert(values.iter().map(|(seq, bytes)| (*seq, bytes.as_slice())))?;
        self.failpoint.pass(Boundary::Torn);
        self.engine.flush()?;
        self.engine.sync().map_err(|source| not_durable("the store", source))?;

        self.lines.clear();
        for sealed in records {
            json_line::push(&mut self.lines, &sealed.record.header, &sealed.json);
        }
        // Without its line an event would be hidden from every reader of a live run, so this counts too.
        let mirrored = self.mirror.write(&self.lines);
        mirrored.map_err(|source| not_durable("events.jsonl", source))?;
        self.failpoint.pass(Boundary::After);
        Ok(())
    }
}

/// Returns what goes under which key: as many records together as a value may hold.
///
/// A key costs sled about 15 us; and a batch of several keys is written to its file twice, each time by way of
/// its pool, where all of seven threads wake up for it.
fn values(records: &[SealedRecord]) -> Vec<(Seq, Vec<u8>)> {
    let mut values: Vec<(Seq, Vec<u8>)> = Vec::with_capacity(1);
    for sealed in records {
        let (seq, bytes) = (sealed.record.header.seq, sealed.record.to_bytes());
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
