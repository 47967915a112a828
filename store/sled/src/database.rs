//! sled behind a fence: opening, scanning and writing its database so that nothing it does, a panic
//! included, gets past this file as anything but an error.
//!
//! A value is one record, or several that follow one another, and its key the sequence number of the first,
//! big-endian. Nothing else of the records is looked at here.

use std::cell::Cell;
use std::fs::{self, File};
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::sync::{Once, RwLock};
use std::thread;
use std::time::{Duration, Instant};

use unstuck_core::id::Seq;
use unstuck_files::durable;
use unstuck_files::platform;
use unstuck_files::safe_open::{self, FileError, LINE_MAX};
use unstuck_store::event_store::ReadError;
use unstuck_store::record;

use crate::flush_watchdog::FlushWatchdog;

/// Maximum bytes that sled keeps in memory. Its default is a gigabyte.
const CACHE_BYTES: u64 = 1 << 20;
/// Interval at which sled's own thread flushes. It is a fallback that nothing depends on.
const FLUSH_EVERY_MS: u64 = 500;
/// Maximum time to wait for a database that is being closed.
const CLOSING_MAX: Duration = Duration::from_secs(2);
/// Our thread that opens, the watchdog, the flusher of sled and the seven of its pool.
const THREADS: usize = 10;

/// Why the engine did not do what it was asked.
#[derive(Debug, thiserror::Error)]
pub(crate) enum EngineError {
    #[error("another process has its database open")]
    Locked,
    #[error(transparent)]
    Io(io::Error),
    #[error(transparent)]
    InFile(FileError),
    /// It panicked, or said itself that its files are damaged.
    #[error("store/db is damaged, or cannot be written (its engine says: {0})")]
    Broken(String),
    /// The other files of the store exist.
    #[error("store/db is missing, and the other files of the store are of no use without it")]
    Missing,
}

/// An open database.
pub(crate) struct Database {
    /// Taken out only when it is dropped.
    db: Option<sled::Db>,
    /// sled's data file once more: its own `flush` does not reach the platter, `fdatasync` does.
    data: File,
    /// Taken out only when it is dropped.
    watchdog: Option<FlushWatchdog>,
}

impl Database {
    /// Opens or creates the database in `folder`.
    pub(crate) fn open(folder: &Path) -> Result<Self, EngineError> {
        let file = folder.join("db");
        durable::create_folder(folder).map_err(|error| EngineError::InFile(FileError::at(folder)(error)))?;
        are_regular(folder).map_err(EngineError::InFile)?;
        let is_new = !file.try_exists().map_err(EngineError::Io)?;
        threads_can_be_started().map_err(EngineError::Io)?;
        let db = open_when_free(folder).map_err(|error| match error {
            EngineError::Broken(_) if is_new => EngineError::Missing,
            other => other,
        })?;
        let data = platform::open_to_sync(&file).map_err(EngineError::Io);
        let watch = || FlushWatchdog::start(flush_starter(db.clone())).map_err(EngineError::Io);
        let (data, watchdog) = match data.and_then(|data| Ok((data, watch()?))) {
            Ok(made) => made,
            Err(error) => {
                close(db);
                return Err(error);
            }
        };
        let engine = Self { db: Some(db), data, watchdog: Some(watchdog) };
        if is_new {
            engine.data.sync_all().and_then(|()| platform::sync_folder(folder)).map_err(EngineError::Io)?;
        }
        Ok(engine)
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

    /// Stores `values` as a whole or not at all; durable after [`flush`](Self::flush) and [`sync`](Self::sync).
    pub(crate) fn insert<'a>(
        &self,
        values: impl ExactSizeIterator<Item = (Seq, &'a [u8])>,
    ) -> Result<(), EngineError> {
        fenced(|| {
            if values.len() == 1 {
                for (first, bytes) in values {
                    self.db().insert(first.0.to_be_bytes(), bytes)?;
                }
                return Ok(());
            }
            let mut batch = sled::Batch::default();
            for (first, bytes) in values {
                batch.insert(&first.0.to_be_bytes(), bytes);
            }
            self.db().apply_batch(batch)
        })?
        .map_err(EngineError::from)
    }

    /// Removes the records after `last`.
    pub(crate) fn truncate(&self, last: Seq) -> Result<(), EngineError> {
        let cut = self.value_with(last)?.and_then(|value| {
            let (first, bytes) = (value.next, value.bytes.clone());
            let length = value.take_while(|(seq, _)| *seq <= last).map(|(_, record)| record.len()).sum();
            (length < bytes.len()).then(|| (first, bytes.subslice(0, length)))
        });
        fenced(|| {
            let mut batch = sled::Batch::default();
            for key in self.db().range(last.next().0.to_be_bytes()..).keys() {
                batch.remove(key?);
            }
            if let Some((first, value)) = cut {
                batch.insert(&first.0.to_be_bytes(), value);
            }
            self.db().apply_batch(batch)
        })?
        .map_err(EngineError::from)
    }

    /// Hands everything that was inserted to the operating system.
    pub(crate) fn flush(&self) -> Result<(), EngineError> {
        let watchdog = self.watchdog.as_ref().expect("taken out only when dropped");
        watchdog.guard(|| fenced(|| self.db().flush()))?.map(|_| ()).map_err(EngineError::from)
    }

    /// Makes everything that was flushed survive a loss of power.
    pub(crate) fn sync(&self) -> io::Result<()> {
        self.data.sync_data()
    }

    /// Returns the place of the last record, without a look at what is before it.
    pub(crate) fn last(&self) -> Result<Option<Seq>, EngineError> {
        let entry = fenced(|| self.db().last())??;
        let Some(value) = entry.map(BatchValue::from_entry).transpose()? else { return Ok(None) };
        let first = value.next;
        Ok(Some(value.last().map_or(first, |(seq, _)| seq)))
    }

    /// Returns the bytes of a record.
    pub(crate) fn get(&self, seq: Seq) -> Result<Option<Vec<u8>>, EngineError> {
        let record = self.value_with(seq)?.and_then(|mut value| value.find(|(at, _)| *at == seq));
        Ok(record.map(|(_, bytes)| bytes.to_vec()))
    }

    /// Returns the value that holds a record, if one exists.
    fn value_with(&self, seq: Seq) -> Result<Option<BatchValue>, EngineError> {
        let entry = fenced(|| self.db().range(..=seq.0.to_be_bytes()).next_back().transpose())??;
        entry.map(BatchValue::from_entry).transpose()
    }

    /// Reads the records from `from` on.
    pub(crate) fn scan(&self, from: Seq) -> Result<Scan<'_>, EngineError> {
        // The first record wanted may lie within a value that begins before it.
        let begins = self.value_with(from)?.map_or(from, |value| value.next);
        let values = fenced(|| self.db().range(begins.0.to_be_bytes()..))?;
        Ok(Scan { values, from, value: None, _open: self })
    }
}

/// Makes sure that nothing in the folder of the database, or in one below it, is what the engine would wait for.
fn are_regular(folder: &Path) -> Result<(), FileError> {
    let failed = FileError::at(folder);
    for entry in fs::read_dir(folder).map_err(&failed)? {
        let entry = entry.map_err(&failed)?;
        let path = entry.path();
        if entry.file_type().map_err(&failed)?.is_dir() {
            are_regular(&path)?;
            continue;
        }
        let opened = safe_open::open(&path).and_then(|file| file.metadata());
        match opened {
            // A database that is just being closed removes files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // sled reads its few settings as a whole.
            Ok(seen) if path.ends_with("conf") && seen.len() > LINE_MAX => {
                return Err(FileError::at(&path)(safe_open::too_long("the file")));
            }
            opened => opened.map(drop).map_err(FileError::at(&path))?,
        }
    }
    Ok(())
}

impl Database {
    fn db(&self) -> &sled::Db {
        self.db.as_ref().expect("taken out only when dropped")
    }
}

impl Drop for Database {
    fn drop(&mut self) {
        // sled also flushes when it is closed, but the watchdog does not watch that flush.
        if let Err(error) = self.flush() {
            tracing::debug!("the last flush failed: {error}");
        }
        self.watchdog = None; // It holds the database open.
        if let Some(db) = self.db.take() {
            close(db);
        }
        // The next process must not find the database locked.
        let since = Instant::now();
        while self.data.try_lock().is_err() && since.elapsed() < CLOSING_MAX {
            thread::sleep(Duration::from_millis(1));
        }
    }
}

/// Closes a database. A damaged one, or one on a full disk, panics at that.
fn close(db: sled::Db) {
    if let Err(error) = fenced(move || drop(db)) {
        tracing::warn!("the store engine failed while closing: {error}");
    }
}

/// Finds out whether the system gives us the threads that sled needs. Where it does not, sled panics, or waits
/// for ever for a thread that never runs.
fn threads_can_be_started() -> io::Result<()> {
    let gate = RwLock::new(());
    let closed = gate.write();
    thread::scope(|scope| {
        let wait = || drop(gate.read());
        let started: io::Result<Vec<_>> =
            (0..THREADS).map(|_| thread::Builder::new().spawn_scoped(scope, wait)).collect();
        drop(closed);
        started.map(drop)
    })
}

/// Opens the database, and waits a short time for one that is being closed: threads of sled's pool may hold it for some
/// milliseconds longer than its owner. The lease ensures that no other process uses it.
fn open_when_free(folder: &Path) -> Result<sled::Db, EngineError> {
    let since = Instant::now();
    loop {
        let path = folder.to_owned();
        let opened = on_own_thread("open", move || {
            sled::Config::new()
                .path(path)
                .cache_capacity(CACHE_BYTES)
                .flush_every_ms(Some(FLUSH_EVERY_MS))
                .open()
        })?;
        match opened.map_err(EngineError::from) {
            Err(EngineError::Locked) if since.elapsed() < CLOSING_MAX => {
                thread::sleep(Duration::from_millis(5))
            }
            opened => return opened,
        }
    }
}

fn parse_key(key: &[u8]) -> Result<Seq, EngineError> {
    let key = key.try_into().map_err(|_| EngineError::Broken("a key is not a sequence number".to_owned()))?;
    Ok(Seq(u64::from_be_bytes(key)))
}

/// Records of a database, in order.
///
/// On the thread that reads them. Where another one scanned ahead, it allocated what this one freed, and the allocator gave
/// memory back to the system and asked for it again all the time, for as long as the scan itself takes.
pub(crate) struct Scan<'a> {
    values: sled::Iter,
    from: Seq,
    value: Option<BatchValue>,
    /// The database is not closed meanwhile.
    _open: &'a Database,
}

/// A value, of which the records are taken one after another, each with its place.
struct BatchValue {
    bytes: sled::IVec,
    at: usize,
    next: Seq,
}

impl BatchValue {
    fn from_entry((key, bytes): (sled::IVec, sled::IVec)) -> Result<Self, EngineError> {
        Ok(Self { bytes, at: 0, next: parse_key(&key)? })
    }
}

impl Iterator for BatchValue {
    type Item = (Seq, sled::IVec);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.bytes.get(self.at..).filter(|rest| !rest.is_empty())?;
        // Where a length is wrong the rest is one record, which then has a wrong hash.
        let length = record::first_length(rest).unwrap_or(rest.len());
        let record = if length == self.bytes.len() {
            self.bytes.clone()
        } else {
            self.bytes.subslice(self.at, length)
        };
        let seq = self.next;
        (self.at, self.next) = (self.at + length, seq.next());
        Some((seq, record))
    }
}

impl Iterator for Scan<'_> {
    type Item = Result<(Seq, sled::IVec), ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut records = self.value.iter_mut().flatten();
            if let Some(record) = records.find(|(seq, _)| *seq >= self.from) {
                return Some(Ok(record));
            }
            let read = fenced(|| self.values.next()).and_then(|entry| Ok(entry.transpose()?));
            match read.and_then(|entry| entry.map(BatchValue::from_entry).transpose()) {
                Ok(Some(value)) => self.value = Some(value),
                Ok(None) => return None,
                Err(error) => return Some(Err(error.into())),
            }
        }
    }
}

impl From<sled::Error> for EngineError {
    fn from(error: sled::Error) -> Self {
        match error {
            sled::Error::Io(source) if source.to_string().contains("could not acquire lock") => Self::Locked,
            sled::Error::Io(source) => Self::Io(original_error(source)),
            sled::Error::Corruption { .. } => Self::Broken("a checksum does not fit".to_owned()),
            other => Self::Broken(other.to_string()),
        }
    }
}

/// Returns the system error that sled copied: the copy has only its debug text, `Os { code: 28, ...`.
fn original_error(copied: io::Error) -> io::Error {
    let text = copied.to_string();
    let code = text.split_once("Os { code: ").and_then(|(_, rest)| rest.split_once(','));
    code.and_then(|(code, _)| code.parse().ok()).map_or(copied, io::Error::from_raw_os_error)
}

impl From<EngineError> for ReadError {
    fn from(error: EngineError) -> Self {
        match error {
            EngineError::Io(source) => Self::Io { what: "store/db".to_owned(), source },
            EngineError::InFile(FileError { path, source }) => Self::io(&path)(source),
            other => Self::EngineFailed { at: None, detail: other.to_string() },
        }
    }
}

/// Returns what starts a flush without waiting for it. That ends with the flush that it helps.
fn flush_starter(db: sled::Db) -> impl Fn() + Send + 'static {
    move || {
        let db = db.clone();
        let helper = thread::Builder::new().name("unstuck-flush".to_owned());
        if let Err(error) = helper.spawn(move || drop(fenced(move || db.flush()))) {
            tracing::debug!("no thread to wake a flush with: {error}");
        }
    }
}

/// Runs something of sled's; a panic becomes an error.
pub(crate) fn fenced<T>(run: impl FnOnce() -> T) -> Result<T, EngineError> {
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

/// Runs a function of sled on a new thread with its own stack.
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

#[cfg(test)]
mod tests {
    use unstuck_core::event::{Event, Observation};
    use unstuck_core::id::{Epoch, Timestamp};

    use super::*;
    use unstuck_store::blobs::MemoryBlobs;
    use unstuck_store::chain;
    use unstuck_store::event_store::ExpectedVersion;
    use unstuck_store::event_store::Head;
    use unstuck_store::record::Record;

    fn records(count: u64) -> Vec<Vec<u8>> {
        let facts = (1..=count).map(|seq| Event {
            seq: Seq(seq),
            at: Timestamp(seq),
            fact: Observation::DeadlinePassed.into(),
        });
        let prepared = chain::prepare(&facts.collect::<Vec<_>>(), &MemoryBlobs::default()).unwrap();
        let sealed = chain::seal(prepared, ExpectedVersion::Any, &mut Head::default(), Epoch(1)).unwrap();
        sealed.iter().map(Record::to_bytes).collect()
    }

    #[test]
    fn an_error_of_the_system_reads_the_same_however_often_sled_copies_it() {
        let mut error = sled::Error::Io(io::Error::from_raw_os_error(28));
        for _ in 0..3 {
            let EngineError::Io(source) = EngineError::from(error.clone()) else { panic!("{error}") };
            assert_eq!(source.to_string(), io::Error::from_raw_os_error(28).to_string());
            error = error.clone();
        }
        let other = io::Error::other("it is odd");
        let EngineError::Io(source) = EngineError::from(sled::Error::Io(other)) else { panic!("an error") };
        assert_eq!(source.to_string(), "it is odd");
    }

    #[test]
    fn records_that_share_a_value_are_read_and_cut_one_by_one() {
        let folder = tempfile::tempdir().unwrap();
        let engine = Database::open(&folder.path().join("store")).unwrap();
        assert_eq!((engine.last().unwrap(), engine.get(Seq(1)).unwrap()), (None, None));
        let all = records(9);
        let value = |from: usize, to: usize| all[from - 1..to].concat();
        let values = [(Seq(1), value(1, 1)), (Seq(2), value(2, 5)), (Seq(6), value(6, 9))];
        engine.insert(values.iter().map(|(seq, bytes)| (*seq, bytes.as_slice()))).unwrap();
        for kept in (0..=9).rev() {
            engine.truncate(Seq(kept as u64)).unwrap();
            assert_eq!(engine.last().unwrap(), (kept > 0).then_some(Seq(kept as u64)));
            for from in 1..=9 {
                let expected = all.get(from - 1).filter(|_| from <= kept);
                assert_eq!(engine.get(Seq(from as u64)).unwrap().as_ref(), expected, "{from} of {kept}");
                let scanned: Vec<_> = engine.scan(Seq(from as u64)).unwrap().map(Result::unwrap).collect();
                let seqs: Vec<_> = scanned.iter().map(|(seq, _)| seq.0 as usize).collect();
                assert_eq!(seqs, (from..=kept).collect::<Vec<_>>());
                assert!(scanned.iter().all(|(seq, bytes)| bytes == all[seq.0 as usize - 1].as_slice()));
            }
        }
    }
}
