//! The store of a run on this machine: one sled database, one mirror, group commit.
//!
//! An append is: check the lease, insert, `flush`, `fdatasync`, write the mirror, answer. Opening, healing
//! and the comparison with the mirror are [`run_log`](crate::run_log)'s.

use std::path::Path;
use std::sync::Arc;

use unstuck_core::event::Event;
use unstuck_core::id::Seq;

use crate::blobs::BlobStore;
use crate::chain::{self, Checked, Head, Json, Sealed};
use crate::engine::{Engine, EngineError, Scan};
use crate::event_store::{AppendError, EventStore, Events, Expected, ReadError, Records};
use crate::failpoint::{Boundary, Failpoint};
use crate::group::{Commit, Group};
use crate::lease::Lease;
use crate::line;
use crate::mirror::MirrorWriter;

/// A stream in a sled database.
pub(crate) struct SledStore {
    engine: Arc<Engine>,
    blobs: Arc<dyn BlobStore>,
    group: Group<Committer>,
}

impl SledStore {
    /// Continues the stream that ends with `head`, in an engine whose content has been checked.
    pub(crate) fn new(
        engine: Arc<Engine>,
        blobs: Arc<dyn BlobStore>,
        mirror: &Path,
        lease: Lease,
        head: Head,
    ) -> std::io::Result<Self> {
        let epoch = lease.epoch();
        let committer = Committer {
            engine: engine.clone(),
            mirror: MirrorWriter::open(mirror)?,
            lease,
            lines: Vec::new(),
            failpoint: Failpoint::from_environment(),
        };
        Ok(Self { engine, blobs, group: Group::new(committer, head, epoch) })
    }

    fn checked(&self, from: Seq) -> Result<Checked<Scan>, ReadError> {
        scan(&self.engine, from, self.head().seq)
    }
}

/// Reads and checks the records from `from` to `until`.
pub(crate) fn scan(engine: &Engine, from: Seq, until: Seq) -> Result<Checked<Scan>, ReadError> {
    Checked::open(from, until, |first| {
        engine.scan(first).map_err(|source| ReadError::Io { what: "the store".to_owned(), source })
    })
}

impl EventStore for SledStore {
    fn append(&self, batch: &[Event], expected: Expected) -> Result<Head, AppendError> {
        if batch.is_empty() {
            return Ok(self.head());
        }
        let prepared = chain::prepare(batch, &*self.blobs, Json::Wanted)?;
        self.group.append(prepared, expected)
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        let mut checked = self.checked(from)?;
        Ok(Box::new(std::iter::from_fn(move || {
            checked.next_with(|record| chain::decode(record, &*self.blobs))
        })))
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        let mut checked = self.checked(from)?;
        Ok(Box::new(std::iter::from_fn(move || checked.next_with(|record| Ok(record.to_record())))))
    }

    fn head(&self) -> Head {
        self.group.head()
    }
}

struct Committer {
    engine: Arc<Engine>,
    mirror: MirrorWriter,
    lease: Lease,
    lines: Vec<u8>,
    failpoint: Failpoint,
}

impl Commit for Committer {
    fn commit(&mut self, records: &[Sealed]) -> Result<(), AppendError> {
        self.failpoint.pass(Boundary::Before);
        DEBUG.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed); DEBUG.1.fetch_add(records.len(), std::sync::atomic::Ordering::Relaxed);
        self.lease.check()?;
        let stored: Vec<_> =
            records.iter().map(|sealed| (sealed.record.header.seq, sealed.record.to_bytes())).collect();
        self.engine.insert(stored.iter().map(|(seq, bytes)| (*seq, bytes.as_slice())))?;
        self.failpoint.pass(Boundary::Torn);
        self.engine.flush()?;
        self.engine.sync().map_err(|source| AppendError::NotDurable { what: "the store", source })?;

        self.lines.clear();
        for sealed in records {
            line::push(&mut self.lines, &sealed.record.header, &sealed.json);
        }
        // Without its line an event would be hidden from every reader of a live run, so this counts too.
        let mirrored = self.mirror.write(&self.lines);
        mirrored.map_err(|source| AppendError::NotDurable { what: "the mirror of the log", source })?;
        self.failpoint.pass(Boundary::After);
        Ok(())
    }
}

impl From<EngineError> for AppendError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Io(source) => Self::NotDurable { what: "the store", source },
            other => Self::EngineFailed { detail: other.to_string() },
        }
    }
}

static DEBUG: (std::sync::atomic::AtomicUsize, std::sync::atomic::AtomicUsize) = (std::sync::atomic::AtomicUsize::new(0), std::sync::atomic::AtomicUsize::new(0));
impl Drop for Committer { fn drop(&mut self) { let (a, b) = (DEBUG.0.swap(0, std::sync::atomic::Ordering::Relaxed), DEBUG.1.swap(0, std::sync::atomic::Ordering::Relaxed)); eprintln!("DEBUG {b} records in {a} commits {}", b as f64 / a as f64); } }
