//! sled behind a fence: opening, scanning and writing its database so that nothing it does, a panic
//! included, gets past this file as anything but an error.
//!
//! What the bytes under its keys mean is not looked at here. Keys are sequence numbers, big-endian.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::Once;
use std::sync::mpsc::{self, Receiver};
use std::thread::{self, JoinHandle};

use unstuck_core::id::Seq;

use crate::durable;
use crate::event_store::ReadError;

/// What sled may keep in memory. Its default is a gigabyte.
const CACHE_BYTES: u64 = 8 << 20;
/// How often sled's own thread flushes: a second net, nothing rests on it.
const FLUSH_EVERY_MS: u64 = 500;
/// How many records travel from the thread that scans to the one that reads.
const SCAN_BATCH: usize = 256;
const SCAN_BATCHES_AHEAD: usize = 4;

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("another process has its database open")]
    Locked,
    #[error(transparent)]
    Io(io::Error),
    /// It panicked, or said itself that its files are damaged.
    #[error("{0}")]
    Broken(String),
}

/// An open database.
pub(crate) struct Engine {
    /// Taken out only when it is dropped.
    db: Option<sled::Db>,
    /// sled's data file once more: its own `flush` does not reach the platter, `fdatasync` does.
    data: File,
}

impl Engine {
    /// Opens or creates the database in `folder`.
    pub(crate) fn open(folder: &Path) -> Result<Self, EngineError> {
        let is_new = !folder.join("db").exists();
        durable::create_folder(folder).map_err(EngineError::Io)?;
        let path = folder.to_owned();
        let db = on_own_thread("open", move || {
            sled::Config::new()
                .path(path)
                .cache_capacity(CACHE_BYTES)
                .flush_every_ms(Some(FLUSH_EVERY_MS))
                .open()
        })??;
        let data = File::open(folder.join("db")).map_err(EngineError::Io)?;
        if is_new {
            data.sync_all().and_then(|()| durable::sync_folder(folder)).map_err(EngineError::Io)?;
        }
        Ok(Self { db: Some(db), data })
    }

    /// Moves away what makes sled refuse to open: a snapshot that it had not finished when its process died.
    pub(crate) fn set_unfinished_snapshots_aside(folder: &Path) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            entries => entries?,
        };
        let mut moved = Vec::new();
        for entry in entries {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            if name.starts_with("snap.") && name.ends_with(".generating") {
                // Out of the folder: sled reads every file in it whose name begins with "snap.".
                let beside = folder.with_file_name(&name);
                fs::rename(entry.path(), &beside)?;
                moved.push(durable::set_aside(&beside, "unfinished")?);
            }
        }
        Ok(moved)
    }

    /// Stores `records` as a whole or not at all; durable after [`flush`](Self::flush) and [`sync`](Self::sync).
    pub(crate) fn insert<'a>(
        &self,
        records: impl ExactSizeIterator<Item = (Seq, &'a [u8])>,
    ) -> Result<(), EngineError> {
        fenced(|| {
            if records.len() == 1 {
                for (seq, bytes) in records {
                    self.db().insert(seq.0.to_be_bytes(), bytes)?;
                }
                return Ok(());
            }
            let mut batch = sled::Batch::default();
            for (seq, bytes) in records {
                batch.insert(&seq.0.to_be_bytes(), bytes);
            }
            self.db().apply_batch(batch)
        })?
        .map_err(EngineError::from)
    }

    /// Removes the records from `from` on.
    pub(crate) fn truncate(&self, from: Seq) -> Result<(), EngineError> {
        fenced(|| {
            let mut batch = sled::Batch::default();
            for key in self.db().range(from.0.to_be_bytes()..).keys() {
                batch.remove(key?);
            }
            self.db().apply_batch(batch)
        })?
        .map_err(EngineError::from)
    }

    /// Hands everything that was inserted to the operating system.
    pub(crate) fn flush(&self) -> Result<(), EngineError> {
        fenced(|| self.db().flush())?.map(|_| ()).map_err(EngineError::from)
    }

    /// Makes everything that was flushed survive a loss of power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.data.sync_data()
    }

    /// Returns the last key, without a look at what is before it.
    pub(crate) fn last(&self) -> Result<Option<Seq>, EngineError> {
        let last = fenced(|| self.db().last())??;
        last.map(|(key, _)| parse_key(&key)).transpose()
    }

    /// Returns the bytes under a key.
    pub(crate) fn get(&self, seq: Seq) -> Result<Option<Vec<u8>>, EngineError> {
        Ok(fenced(|| self.db().get(seq.0.to_be_bytes()))??.map(|bytes| bytes.to_vec()))
    }

    /// Reads the records from `from` on, on a thread of its own.
    pub(crate) fn scan(&self, from: Seq) -> io::Result<Scan> {
        let (send, receive) = mpsc::sync_channel(SCAN_BATCHES_AHEAD);
        let db = self.db().clone();
        let thread = thread::Builder::new().name("unstuck-scan".to_owned()).spawn(move || {
            let scanned = fenced(|| scan_into(&db, from, &send)).and_then(|result| result);
            if let Err(error) = scanned {
                let _receiver_may_be_gone = send.send(Err(error));
            }
        })?;
        Ok(Scan { receive: Some(receive), thread: Some(thread), batch: Vec::new().into_iter() })
    }
}

impl Engine {
    fn db(&self) -> &sled::Db {
        self.db.as_ref().expect("taken out only when dropped")
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        // Closing flushes, and a damaged database panics at that too.
        let db = self.db.take();
        if let Err(error) = fenced(move || drop(db)) {
            tracing::warn!("the store engine failed while closing: {error}");
        }
    }
}

type Batch = Vec<(Seq, sled::IVec)>;

fn scan_into(
    db: &sled::Db,
    from: Seq,
    send: &mpsc::SyncSender<Result<Batch, EngineError>>,
) -> Result<(), EngineError> {
    let mut batch = Batch::with_capacity(SCAN_BATCH);
    for entry in db.range(from.0.to_be_bytes()..) {
        let (key, value) = entry?;
        batch.push((parse_key(&key)?, value));
        if batch.len() == SCAN_BATCH {
            let full = std::mem::replace(&mut batch, Batch::with_capacity(SCAN_BATCH));
            if send.send(Ok(full)).is_err() {
                return Ok(()); // Nobody reads on.
            }
        }
    }
    let _receiver_may_be_gone = send.send(Ok(batch));
    Ok(())
}

fn parse_key(key: &[u8]) -> Result<Seq, EngineError> {
    let key = key.try_into().map_err(|_| EngineError::Broken("a key is not a sequence number".to_owned()))?;
    Ok(Seq(u64::from_be_bytes(key)))
}

/// Records on their way from a scan.
pub(crate) struct Scan {
    receive: Option<Receiver<Result<Batch, EngineError>>>,
    thread: Option<JoinHandle<()>>,
    batch: std::vec::IntoIter<(Seq, sled::IVec)>,
}

impl Iterator for Scan {
    type Item = Result<(Seq, sled::IVec), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.batch.next() {
                return Some(Ok(record));
            }
            match self.receive.as_ref()?.recv() {
                Ok(Ok(batch)) => self.batch = batch.into_iter(),
                Ok(Err(error)) => return Some(Err(error.into())),
                Err(_) => return None,
            }
        }
    }
}

impl Drop for Scan {
    fn drop(&mut self) {
        // The thread holds the database open, so it is waited for: closing the log must close it.
        self.receive = None;
        if let Some(thread) = self.thread.take() {
            let _panics_are_fenced = thread.join();
        }
    }
}

impl From<sled::Error> for EngineError {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(source) if source.to_string().contains("could not acquire lock") => Self::Locked,
            sled::Error::Io(source) => Self::Io(source),
            other => Self::Broken(other.to_string()),
        }
    }
}

impl From<EngineError> for ReadError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Io(source) => Self::Io { what: "the store".to_owned(), source },
            other => Self::EngineFailed { detail: other.to_string() },
        }
    }
}

/// Runs something of sled's; a panic becomes an error.
fn fenced<T>(run: impl FnOnce() -> T) -> Result<T, EngineError> {
    keep_fenced_panics_quiet();
    let outer = FENCED.replace(true);
    // After a panic the database is not used again: the store is poisoned, or the reading has ended.
    let result = panic::catch_unwind(AssertUnwindSafe(run));
    FENCED.set(outer);
    result.map_err(|panic| EngineError::Broken(panic_text(&*panic)))
}

thread_local! {
    static FENCED: Cell<bool> = const { Cell::new(false) };
}

/// A panic that becomes an error is not a second message on the terminal; every other one is as before.
fn keep_fenced_panics_quiet() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if FENCED.try_with(Cell::get).unwrap_or(false) {
                tracing::debug!("the store engine panicked: {info}");
            } else {
                before(info);
            }
        }));
    });
}

/// Runs something of sled's on a thread of its own, stack and all.
pub(crate) fn on_own_thread<T: Send + 'static>(
    name: &str,
    run: impl FnOnce() -> T + Send + 'static,
) -> Result<T, EngineError> {
    let thread = thread::Builder::new()
        .name(format!("unstuck-{name}"))
        .spawn(move || fenced(run))
        .map_err(EngineError::Io)?;
    thread.join().unwrap_or_else(|panic| Err(EngineError::Broken(panic_text(&*panic))))
}

fn panic_text(panic: &(dyn std::any::Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("for an unknown reason");
    format!("it panicked: {}", text.lines().next().unwrap_or_default())
}
