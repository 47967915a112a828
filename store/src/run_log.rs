//! The log of a run: one handle to append to it, and one to read it.
//!
//! A supervisor has a [`RunLog`]. Everybody else has a [`ReadLog`], which reads `events.jsonl`, never opens the engine, and so
//! works while the run is live. A [store](crate::store) makes both.

use std::io;
use std::iter;
use std::mem;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::event::Event;
use unstuck_core::id::{RunId, Seq};
use unstuck_files::error::with_causes;
use unstuck_files::safe_open::FileError;

use crate::blob_errors::{FirstBlobError, TrackedBlobs};
use crate::blobs::{BlobStore, DirBlobs, MemoryBlobs};
use crate::chain;
use crate::checkpoint::Checkpoint;
use crate::event_store::{AppendError, EventStore, Events, ExpectedVersion, Head, ReadError, Records};
use crate::json_line;
use crate::lease::{FileLease, Liveness};
use crate::line_reader::line_error;
use crate::memory::MemoryStore;
use crate::mirror::{self, MirrorReader, MirrorWriter, Tail};
use crate::record::{Header, Record};
use crate::recovery::OpenError;
use crate::run_dir::RunDir;
use crate::run_index;
use crate::wire::EventType;

/// The log of a run, with the right to append to it until it is dropped.
pub struct RunLog {
    store: Box<dyn EventStore>,
    blobs: Arc<dyn BlobStore>,
    /// `None` for a run in memory.
    folder: Option<LogFolder>,
}

/// The folder of a log, with its mirror.
struct LogFolder {
    dir: RunDir,
    mirror: Mutex<LiveMirror>,
    /// If a payload cannot be stored, no event is either.
    blob_error: FirstBlobError,
}

/// A mirror that follows a store.
struct LiveMirror {
    writer: MirrorWriter,
    /// The last event that has a line.
    last: Seq,
    lines: Vec<u8>,
    /// Why a line was not written. Nothing is appended after that.
    failure: Option<String>,
}

impl LiveMirror {
    /// Writes the lines of all durable events up to `end` at least, unless another append has written them. A batch is written
    /// at once.
    ///
    /// Without its line an event would be hidden from every reader of a live run, so an error counts as one of the append.
    fn follow(&mut self, store: &dyn EventStore, blobs: &dyn BlobStore, end: Seq) -> io::Result<()> {
        /// Bytes after which lines are written although others follow.
        const WRITE_BYTES: usize = 1 << 20;
        if self.last >= end {
            return Ok(());
        }
        let mut last = self.last;
        self.lines.clear();
        for record in store.records(self.last.next()).map_err(io::Error::other)? {
            let record = record.map_err(io::Error::other)?;
            json_line::push_stored(&mut self.lines, &record.as_ref(), blobs).map_err(io::Error::other)?;
            last = record.header.seq;
            if record.header.more == 0 && self.lines.len() > WRITE_BYTES {
                self.write(last)?;
            }
        }
        self.write(last)
    }

    fn write(&mut self, last: Seq) -> io::Result<()> {
        self.writer.write(&self.lines)?;
        self.lines.clear();
        self.last = last;
        Ok(())
    }
}

impl RunLog {
    /// Makes a log that is gone with the process.
    pub fn in_memory() -> Self {
        let blobs: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
        Self::new(Box::new(MemoryStore::new(blobs.clone())), blobs)
    }

    /// Makes a log of a store and a place of blobs without a folder.
    pub fn new(store: Box<dyn EventStore>, blobs: Arc<dyn BlobStore>) -> Self {
        Self { store, blobs, folder: None }
    }

    /// Makes a log whose mirror, checkpoint and artifacts are in a folder. The mirror ends where the store ends.
    ///
    /// # Errors
    ///
    /// The mirror cannot be opened.
    pub fn in_folder(store: Box<dyn EventStore>, dir: RunDir) -> io::Result<Self> {
        let end = store.head().seq;
        Self::after_mirror(store, dir, end)
    }

    /// Makes the same of a mirror that ends with event `mirrored`, and completes it.
    ///
    /// # Errors
    ///
    /// The mirror cannot be opened or written, or a record cannot be read.
    pub(crate) fn after_mirror(store: Box<dyn EventStore>, dir: RunDir, mirrored: Seq) -> io::Result<Self> {
        run_index::note_opened(&dir);
        let writer = MirrorWriter::open(&dir.mirror())?;
        let mut mirror = LiveMirror { writer, last: mirrored, lines: Vec::new(), failure: None };
        mirror.follow(&*store, &DirBlobs::new(dir.blobs()), store.head().seq)?;
        let mirror = Mutex::new(mirror);
        let blob_error = FirstBlobError::default();
        let blobs = TrackedBlobs::over(Arc::new(DirBlobs::new(dir.blobs())), blob_error.clone());
        Ok(Self { store, blobs: Arc::new(blobs), folder: Some(LogFolder { dir, mirror, blob_error }) })
    }

    fn dir(&self) -> Option<&RunDir> {
        self.folder.as_ref().map(|folder| &folder.dir)
    }

    /// Returns where large payloads go.
    pub fn blobs(&self) -> &Arc<dyn BlobStore> {
        &self.blobs
    }

    /// Returns the run; `None` for a run in memory.
    pub fn run(&self) -> Option<&RunId> {
        self.dir().map(RunDir::run)
    }

    /// Returns the folder for the artifacts of the run; `None` for a run in memory.
    pub fn artifacts(&self) -> Option<PathBuf> {
        self.dir().map(RunDir::artifacts)
    }

    /// Returns the last event that came from an export; 0 for a run that was recorded here.
    pub fn imported_up_to(&self) -> Seq {
        self.dir().map_or(Seq(0), RunDir::imported_up_to)
    }

    /// Returns the note on the workspace that a dead supervisor left, if there is one.
    pub fn orphan_note(&self) -> Option<Checkpoint> {
        Checkpoint::load(&self.dir()?.orphan_note())
    }

    /// Saves the fold of all events up to `at`, a head that an append returned.
    pub fn save_checkpoint(&self, at: Head, reducer_version: u32, state: Vec<u8>) -> io::Result<()> {
        match self.dir() {
            None => Ok(()),
            Some(folder) => {
                Checkpoint { seq: at.seq, hash: at.hash, reducer_version, state }.save(&folder.checkpoint())
            }
        }
    }

    /// Returns the last saved fold, if it is one of this log and of this reducer.
    pub fn checkpoint(&self, reducer_version: u32) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::load(&self.dir()?.checkpoint())?;
        let record = self.store.records(checkpoint.seq).ok()?.next()?.ok()?;
        let fits = record.header.hash == checkpoint.hash && checkpoint.reducer_version == reducer_version;
        fits.then_some(checkpoint)
    }

    /// Checks every record, every payload and the mirror, from the first event on. Returns the last event.
    pub fn verify(&self) -> Result<Head, ReadError> {
        for event in self.store.read(Seq(1))? {
            event?;
        }
        let head = self.store.head();
        if let Some(folder) = self.dir() {
            let mut lines = mirror::rebuild(&folder.mirror())?;
            for line in lines.by_ref() {
                line?;
            }
            let mirrored = lines.complete_head();
            if mirrored != head {
                let detail =
                    format!("the store ends at event {}, events.jsonl at {}", head.seq, mirrored.seq);
                return Err(ReadError::Corrupt { at: head.seq.min(mirrored.seq).next(), detail });
            }
        }
        Ok(head)
    }
}

impl EventStore for RunLog {
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError> {
        let Some(LogFolder { dir, mirror, blob_error }) = &self.folder else {
            return self.store.append(batch, expected);
        };
        let not_durable =
            |what: &str, source| AppendError::NotDurable { what: what.to_owned(), source }.within(dir.path());
        if let Some(source) = blob_error.first().filter(|_| !batch.is_empty()) {
            return Err(not_durable("a payload", source));
        }
        let mirror = || mirror.lock().unwrap_or_else(PoisonError::into_inner);
        let check = |mirror: &LiveMirror| match &mirror.failure {
            Some(why) => Err(AppendError::Poisoned { why: why.clone() }),
            None => Ok(()),
        };
        check(&mirror())?;
        let appended = self.store.append(batch, expected).map_err(|error| error.within(dir.path()));
        let mut mirror = mirror();
        // Another append may have failed meanwhile. Its lines would be missing before these.
        check(&mirror)?;
        let followed = appended.and_then(|head| {
            let followed = mirror.follow(&*self.store, &*self.blobs, head.seq);
            followed.map(|()| head).map_err(|source| not_durable("events.jsonl", source))
        });
        if let Err(error @ AppendError::NotDurable { .. }) = &followed {
            mirror.failure = Some(with_causes(error));
        }
        followed
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        self.store.read(from)
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.store.records(from)
    }

    fn head(&self) -> Head {
        self.store.head()
    }
}

/// Records that an engine has beyond the mirror of a run, read without opening the engine.
pub trait TailSource: Send + Sync {
    /// Returns the records after `last`, the last record of the mirror.
    ///
    /// # Errors
    ///
    /// A file of the engine cannot be read.
    fn read_after(&self, folder: &RunDir, last: Option<&Header>) -> Result<StoreTail, FileError>;
}

/// An engine that cannot be read without being opened: an interrupted run is read up to the end of its mirror.
pub(crate) struct NoTail;

impl TailSource for NoTail {
    fn read_after(&self, _: &RunDir, _: Option<&Header>) -> Result<StoreTail, FileError> {
        Ok(StoreTail::default())
    }
}

/// Records that the mirror does not have.
#[derive(Debug, Default)]
pub struct StoreTail {
    /// The part of an unfinished last batch that the mirror has; `None` if the engine does not have all of it.
    pub batch_start: Option<Vec<Record>>,
    /// The records that follow the mirror, up to the end of a batch.
    pub records: Vec<Record>,
    /// The last event of which there is a record behind a gap; 0 if there is none.
    pub known: Seq,
}

/// The end of a log as far as it is known without its engine.
struct LogEnd {
    /// The last event of the mirror.
    mirrored: Seq,
    /// Records of an interrupted run beyond the last whole batch of its mirror.
    unmirrored: Vec<Record>,
    /// The last event that is known to have been there.
    known: Seq,
}

impl LogEnd {
    /// Returns the last event that can be read.
    fn last(&self) -> Seq {
        self.unmirrored.last().map_or(self.mirrored, |last| last.header.seq)
    }

    /// Says whether there were events after `after`.
    fn missing_after(&self, after: Seq) -> Option<ReadError> {
        let known = self.known.max(self.last());
        (after < known).then_some(ReadError::Behind { after, known })
    }
}

/// The log of a run, to look at: its mirror and its blobs.
#[derive(Clone)]
pub struct ReadLog {
    folder: RunDir,
    blobs: Arc<DirBlobs>,
    engine: Arc<dyn TailSource>,
}

impl ReadLog {
    /// Reads the log in a folder, with what an engine has beyond its mirror.
    ///
    /// # Errors
    ///
    /// The mirror is missing.
    pub fn open(folder: &RunDir, engine: Arc<dyn TailSource>) -> Result<Self, OpenError> {
        let path = folder.mirror();
        if !path.exists() {
            return Err(OpenError::NoMirror { run: folder.run().to_string(), path });
        }
        Ok(Self { folder: folder.clone(), blobs: Arc::new(DirBlobs::new(folder.blobs())), engine })
    }

    /// Returns the events from `from` on, as of now, each checked. Good events come before an error. An error at the
    /// end reports events that are known to be missing. For an interrupted run, events that only its store has follow
    /// the events in the mirror.
    pub fn read(&self, from: Seq) -> Result<Events<'static>, ReadError> {
        let events = mirror::read(&self.folder.mirror(), from)?;
        // The engine is asked behind the end of the mirror: until then the mirror may be completed.
        let log = self.clone();
        let events = events.chain(iter::once_with(move || log.unmirrored_events(from)).flatten());
        let mut has_failed = false;
        Ok(Box::new(events.take_while(move |event| !mem::replace(&mut has_failed, event.is_err()))))
    }

    /// Returns the events from `from` on that only the store has, and an error where others are known to be missing.
    fn unmirrored_events(&self, from: Seq) -> Vec<Result<Event, ReadError>> {
        let end = match self.end() {
            Ok(end) => end,
            Err(error) => return vec![Err(error)],
        };
        let wanted = end.unmirrored.iter().filter(|record| record.header.seq >= from);
        let events = wanted.map(|record| chain::decode(&record.as_ref(), self.blobs.as_ref()));
        events.chain(end.missing_after(end.last()).map(Err)).collect()
    }

    /// Returns the records that follow the last whole batch of the mirror and that only the store has.
    pub fn unmirrored(&self) -> Result<Vec<Record>, ReadError> {
        self.end().map(|end| end.unmirrored)
    }

    /// Returns an error if events are known that the mirror lacks, or if its end cannot be read.
    ///
    /// It takes no lock. To act on the events, claim the run first, which brings store and mirror together.
    pub fn missing_events(&self) -> Option<ReadError> {
        self.end().map_or_else(Some, |end| end.missing_after(end.mirrored))
    }

    /// Looks at the end of the log without a lease.
    fn end(&self) -> Result<LogEnd, ReadError> {
        let holder = FileLease::holder(&self.folder.lease());
        self.end_of(holder.is_none_or(|holder| holder.liveness() == Liveness::Gone))
    }

    /// Looks at the end of the log. The supervisor of a run that is not interrupted writes it at this moment.
    fn end_of(&self, is_interrupted: bool) -> Result<LogEnd, ReadError> {
        // The checkpoint first: the mirror of a live run is ahead of any checkpoint that was saved before.
        let saved = Checkpoint::load(&self.folder.checkpoint()).map_or(Seq(0), |checkpoint| checkpoint.seq);
        let tail = Tail::read(&self.folder.mirror()).map_err(ReadError::io(&self.folder.mirror()))?;
        let last = tail.last.transpose().map_err(|error| {
            let lines = mirror::count_lines(&self.folder.mirror()).unwrap_or(1);
            let before = Head { seq: Seq(lines.saturating_sub(1)), ..Head::default() };
            line_error(error, before, &self.folder.mirror())
        })?;
        let mirrored = last.as_ref().map_or(Seq(0), |last| last.seq);
        if !is_interrupted {
            return Ok(LogEnd { mirrored, unmirrored: Vec::new(), known: saved });
        }
        let StoreTail { batch_start, records, known } = match &last {
            Some(last) if last.kind == EventType::RunEnded => StoreTail::default(),
            last => self
                .engine
                .read_after(&self.folder, last.as_ref())
                .map_err(|FileError { path, source }| ReadError::io(&path)(source))?,
        };
        let known = records.last().map_or(known, |last| last.header.seq.max(known));
        // The rest of a batch alone is none; a claim adds it to the lines.
        let unmirrored = batch_start.map_or_else(Vec::new, |start| [start, records].concat());
        // A batch is written at once, and so is a line: there was more of what is cut.
        let due = last.as_ref().map_or(Seq(0), |last| Seq(last.seq.0 + u64::from(last.more)));
        let torn = if tail.unfinished > 0 { mirrored.next() } else { Seq(0) };
        let known = known.max(saved).max(due).max(torn);
        Ok(LogEnd { mirrored, unmirrored, known })
    }

    /// Follows the log from its first event.
    pub fn follow(&self) -> Result<MirrorReader, ReadError> {
        MirrorReader::open(&self.folder.mirror())
    }

    /// Returns the blobs of the run.
    pub fn blobs(&self) -> Arc<dyn BlobStore> {
        self.blobs.clone()
    }

    /// Returns the path of `events.jsonl`.
    pub fn lines(&self) -> PathBuf {
        self.folder.mirror()
    }

    /// Returns the last event that came from an export; 0 for a run that was recorded here.
    pub fn imported_up_to(&self) -> Seq {
        self.folder.imported_up_to()
    }

    /// Returns the note on the workspace that a dead supervisor left, if there is one.
    pub fn orphan_note(&self) -> Option<Checkpoint> {
        Checkpoint::load(&self.folder.orphan_note())
    }

    /// Saves that note. It is a checkpoint of the log with the note as its state.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn save_orphan_note(&self, note: &Checkpoint) -> io::Result<()> {
        note.save(&self.folder.orphan_note())
    }
}
