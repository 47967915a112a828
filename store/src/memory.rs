//! A store that is gone with the process: for tests, for trials, and as the yardstick of the others.
//!
//! It keeps the same records as any other backend, so hashes and refusals are the same.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use unstuck_core::event::Event;
use unstuck_core::id::{Epoch, Seq};

use crate::blobs::{BlobStore, MemoryBlobs};
use crate::chain::{self, ChainReader};
use crate::event_store::{AppendError, EventStore, Events, ExpectedVersion, Head, ReadError, Records};

/// A stream in memory. Clones are the same stream under the same lease.
#[derive(Clone)]
pub struct MemoryStore {
    shared: Arc<Mutex<Shared>>,
    blobs: Arc<dyn BlobStore>,
    epoch: Epoch,
}

struct Shared {
    records: Vec<Arc<[u8]>>,
    head: Head,
    epoch: Epoch,
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new(Arc::new(MemoryBlobs::default()))
    }
}

impl MemoryStore {
    /// Makes an empty stream whose large payloads go to `blobs`.
    pub fn new(blobs: Arc<dyn BlobStore>) -> Self {
        let shared = Shared { records: Vec::new(), head: Head::default(), epoch: Epoch(1) };
        Self { shared: Arc::new(Mutex::new(shared)), blobs, epoch: Epoch(1) }
    }

    /// Takes the right to append away from every other handle and returns a handle that has it.
    #[must_use]
    pub fn take_over(&self) -> Self {
        let mut shared = self.lock();
        shared.epoch = shared.epoch.next();
        let epoch = shared.epoch;
        drop(shared);
        Self { epoch, ..self.clone() }
    }

    /// Changes a byte of an event, for tests of readers.
    #[cfg(feature = "testing")]
    pub fn damage(&self, seq: Seq) {
        let at = usize::try_from(seq.0 - 1).expect("a small number");
        let record = &mut self.lock().records[at];
        let mut bytes = record.to_vec();
        *bytes.last_mut().expect("a record has bytes") ^= 1;
        *record = Arc::from(bytes);
    }

    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reader(&self, from: Seq) -> Result<ChainReader<Raw>, ReadError> {
        let shared = self.lock();
        ChainReader::open(from, shared.head.seq, |first| {
            let skipped = usize::try_from(first.0 - 1).unwrap_or(usize::MAX);
            let records: Vec<_> = shared.records.iter().skip(skipped).cloned().collect();
            Ok(Raw { next: first, records: records.into_iter() })
        })
    }
}

/// The records as they were when a reader began.
struct Raw {
    next: Seq,
    records: std::vec::IntoIter<Arc<[u8]>>,
}

impl Iterator for Raw {
    type Item = Result<(Seq, Arc<[u8]>), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        let seq = self.next;
        self.next = seq.next();
        Some(Ok((seq, record)))
    }
}

impl EventStore for MemoryStore {
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError> {
        if batch.is_empty() {
            return Ok(self.head());
        }
        let prepared = chain::prepare(batch, &*self.blobs)?;
        let mut shared = self.lock();
        if shared.epoch != self.epoch {
            return Err(AppendError::Fenced { ours: self.epoch, theirs: shared.epoch });
        }
        let mut head = shared.head;
        let sealed = chain::seal(prepared, expected, &mut head, self.epoch)?;
        shared.records.extend(sealed.iter().map(|record| Arc::from(record.to_bytes())));
        shared.head = head;
        Ok(head)
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        Ok(self.reader(from)?.into_events(&*self.blobs))
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        Ok(self.reader(from)?.into_records())
    }

    fn head(&self) -> Head {
        self.lock().head
    }
}
