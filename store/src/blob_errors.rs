//! Remembers that a payload could not be stored, so that no event follows it.
//!
//! The output of a worker is stored while it works. If the disk fails, the worker is not to blame, and must not be
//! judged by half of its output. So the log takes no more events, which stops the run, and a resume tries the same
//! again.

use std::io::{self, Read, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::id::Blob;

use crate::blobs::{BlobStore, BlobWriter};

/// The first payload that could not be stored, if there was one.
#[derive(Clone, Default)]
pub struct FirstBlobError(Arc<Mutex<Option<io::Error>>>);

impl FirstBlobError {
    /// Returns why a payload could not be stored.
    pub fn first(&self) -> Option<io::Error> {
        let first = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        first.as_ref().map(copy)
    }

    fn note<T>(&self, result: io::Result<T>) -> io::Result<T> {
        // An interrupted write is tried again.
        if let Some(error) = result.as_ref().err().filter(|error| error.kind() != io::ErrorKind::Interrupted)
        {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| copy(error));
        }
        result
    }
}

fn copy(error: &io::Error) -> io::Error {
    match error.raw_os_error() {
        Some(code) => io::Error::from_raw_os_error(code),
        None => io::Error::new(error.kind(), error.to_string()),
    }
}

/// Blobs whose failures are remembered.
pub struct TrackedBlobs {
    inner: Arc<dyn BlobStore>,
    first_error: FirstBlobError,
}

impl TrackedBlobs {
    /// Watches over `inner`.
    pub fn over(inner: Arc<dyn BlobStore>, first_error: FirstBlobError) -> Self {
        Self { inner, first_error }
    }
}

impl BlobStore for TrackedBlobs {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        let writer = self.first_error.note(self.inner.writer())?;
        Ok(Box::new(TrackedWriter { writer, first_error: self.first_error.clone() }))
    }

    fn open(&self, blob: &Blob) -> io::Result<Box<dyn Read + Send>> {
        self.inner.open(blob)
    }

    fn file(&self, blob: &Blob) -> Option<PathBuf> {
        self.inner.file(blob)
    }

    fn put_for_caller(&self, content: &[u8]) -> io::Result<Blob> {
        self.inner.put(content)
    }
}

struct TrackedWriter {
    writer: Box<dyn BlobWriter>,
    first_error: FirstBlobError,
}

impl Write for TrackedWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.writer.write(bytes);
        self.first_error.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.writer.flush();
        self.first_error.note(result)
    }
}

impl BlobWriter for TrackedWriter {
    fn finish(self: Box<Self>) -> io::Result<Blob> {
        self.first_error.note(self.writer.finish())
    }
}
