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
pub struct Trouble(Arc<Mutex<Option<io::Error>>>);

impl Trouble {
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
pub struct WatchedBlobs {
    inner: Arc<dyn BlobStore>,
    trouble: Trouble,
}

impl WatchedBlobs {
    /// Watches over `inner`.
    pub fn over(inner: Arc<dyn BlobStore>, trouble: Trouble) -> Self {
        Self { inner, trouble }
    }
}

impl BlobStore for WatchedBlobs {
    fn writer(&self) -> io::Result<Box<dyn BlobWriter>> {
        let writer = self.trouble.note(self.inner.writer())?;
        Ok(Box::new(Watched { writer, trouble: self.trouble.clone() }))
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

struct Watched {
    writer: Box<dyn BlobWriter>,
    trouble: Trouble,
}

impl Write for Watched {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.writer.write(bytes);
        self.trouble.note(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.writer.flush();
        self.trouble.note(result)
    }
}

impl BlobWriter for Watched {
    fn finish(self: Box<Self>) -> io::Result<Blob> {
        self.trouble.note(self.writer.finish())
    }
}
