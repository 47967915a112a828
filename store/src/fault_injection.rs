//! A store, or a place of blobs, of which the n-th operation fails: for tests of what is built on it, and of
//! backends. Only with the feature `testing`.
//!
//! Fail the operation n = 1, 2, 3, ... until a whole script passes untouched, and look each time at what is
//! left when the store is opened again. The conformance suite does so with every backend.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::event::Event;
use unstuck_core::id::{Blob, Seq};

use crate::blobs::{BlobStore, BlobWriter};
use crate::event_store::{AppendError, EventStore, Events, ExpectedVersion, Head, ReadError, Records};

/// How an operation fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FaultTiming {
    /// It is not done.
    Before,
    /// It is done, but the caller gets an error.
    After,
}

/// Which operation fails. Clones count together, so that a store and its blobs can share one.
#[derive(Clone, Debug)]
pub struct Fault {
    nth: u64,
    when: FaultTiming,
    counted: Arc<AtomicU64>,
}

impl Fault {
    /// Lets operation `nth` fail, counted from 1.
    pub fn at(nth: u64, when: FaultTiming) -> Self {
        Self { nth, when, counted: Arc::default() }
    }

    /// Returns whether the operation was reached.
    pub fn was_hit(&self) -> bool {
        self.counted.load(Ordering::SeqCst) >= self.nth
    }

    /// Does an operation, or lets it fail.
    fn pass<T, E>(
        &self,
        failure: impl Fn(io::Error) -> E,
        operation: impl FnOnce() -> Result<T, E>,
    ) -> Result<T, E> {
        if self.counted.fetch_add(1, Ordering::SeqCst) + 1 != self.nth {
            return operation();
        }
        if self.when == FaultTiming::After {
            operation()?;
        }
        Err(failure(io::Error::other(format!("operation {} fails, as it was told to", self.nth))))
    }
}

/// A store or a place of blobs that fails once. As every other, a store takes no more events after that.
pub struct FaultyStore<S> {
    inner: S,
    fault: Fault,
    /// Why nothing more is appended.
    poisoned: Mutex<Option<String>>,
}

impl<S> FaultyStore<S> {
    /// Lets an operation of `inner` fail.
    pub fn new(inner: S, fault: Fault) -> Self {
        Self { inner, fault, poisoned: Mutex::default() }
    }

    /// Returns what it was made of, to be closed and opened again.
    pub fn into_inner(self) -> S {
        self.inner
    }
}

impl<S: EventStore> EventStore for FaultyStore<S> {
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError> {
        let mut poisoned = self.poisoned.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(why) = &*poisoned {
            return Err(AppendError::Poisoned { why: why.clone() });
        }
        let failure = |source| AppendError::NotDurable { what: "the store".to_owned(), source };
        let result = self.fault.pass(failure, || self.inner.append(batch, expected));
        if let Err(AppendError::NotDurable { source, .. }) = &result {
            *poisoned = Some(source.to_string());
        }
        result
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        let events = self.fault.pass(unreadable, || self.inner.read(from))?;
        Ok(Box::new(each(&self.fault, events)))
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        let records = self.fault.pass(unreadable, || self.inner.records(from))?;
        Ok(Box::new(each(&self.fault, records)))
    }

    fn head(&self) -> Head {
        self.inner.head()
    }
}

fn unreadable(source: io::Error) -> ReadError {
    ReadError::Io { what: "the store".to_owned(), source }
}

/// Counts each item as an operation. After an error it ends.
fn each<'a, T: 'a>(
    fault: &'a Fault,
    mut items: Box<dyn Iterator<Item = Result<T, ReadError>> + Send + 'a>,
) -> impl Iterator<Item = Result<T, ReadError>> + Send + 'a {
    let mut ended = false;
    std::iter::from_fn(move || {
        let item = if ended { None } else { fault.pass(unreadable, || items.next().transpose()).transpose() };
        ended = !matches!(item, Some(Ok(_)));
        item
    })
}

impl<B: BlobStore> BlobStore for FaultyStore<B> {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        let inner = self.fault.pass(itself, || self.inner.writer())?;
        Ok(Box::new(FaultyWriter { inner, fault: self.fault.clone() }))
    }

    fn open(&self, blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        let inner = self.fault.pass(itself, || self.inner.open(blob))?;
        Ok(Box::new(FaultyReader { inner, fault: self.fault.clone() }))
    }

    fn file(&self, blob: &Blob) -> Option<PathBuf> {
        self.inner.file(blob)
    }
}

fn itself(error: io::Error) -> io::Error {
    error
}

struct FaultyWriter {
    inner: Box<dyn BlobWriter>,
    fault: Fault,
}

impl Write for FaultyWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.fault.pass(itself, || self.inner.write(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        self.fault.pass(itself, || self.inner.flush())
    }
}

impl BlobWriter for FaultyWriter {
    fn finish(self: Box<Self>) -> io::Result<Blob> {
        let Self { inner, fault } = *self;
        fault.pass(itself, || inner.finish())
    }
}

struct FaultyReader {
    inner: Box<dyn Read + Send>,
    fault: Fault,
}

impl Read for FaultyReader {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.fault.pass(itself, || self.inner.read(buffer))
    }
}
