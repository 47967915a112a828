//! The log of a run: store, mirror, blobs, lease and checkpoint, tied together.
//!
//! The one who works on a run has a [`RunLog`]; everybody else reads the mirror through a [`ReadLog`],
//! which never touches the store and so works while the run is live. What opening may find is in
//! [`opening`].

use std::fs::{self, File};
use std::io::{self, Write};
use std::iter;
use std::mem;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_files::durable;
use unstuck_files::platform;
use unstuck_files::read::{Read, is_absence};
use unstuck_files::safe_open::{self, FileError};

use crate::before::Before;
use crate::beginning;
use crate::blobs::{BlobStore, FolderBlobs, MemoryBlobs};
use crate::chain::{self, Head};
use crate::checkpoint::Checkpoint;
use crate::engine::Engine;
use crate::envelope::Record;
use crate::event_store::{AppendError, EventStore, Events, Expected, ReadError, Records};
use crate::lease::{Lease, Liveness};
use crate::lines::line_error;
use crate::memory::MemoryStore;
use crate::merged::{self, Merged};
use crate::mirror::{self, MirrorReader, Tail};
use crate::opening::{self, Finding, NO_EVENT, OpenError, Opening, Reconciler};
use crate::run_folder::{FORMAT_VERSION, Format, RunFolder};
use crate::sled_store::SledStore;
use crate::state_dir::Project;
use crate::unmirrored::{self, Beyond};
use crate::wire::EventType;

/// The log of a run, with the right to append to it until it is dropped.
pub struct RunLog {
    store: Box<dyn EventStore>,
    blobs: Arc<dyn BlobStore>,
    /// `None` for a run in memory.
    folder: Option<RunFolder>,
}

impl RunLog {
    /// Creates the log of a new run, or creates it again where an earlier creation was cut short.
    ///
    /// # Errors
    ///
    /// The run has a log already, or may have one that cannot be read.
    pub fn create(folder: &RunFolder) -> Result<Self, OpenError> {
        let failed = OpenError::io(folder);
        Self::check_free(folder)?;
        durable::create_folder(folder.path()).map_err(&failed)?;
        let (lease, _) = Lease::acquire_run(folder).map_err(|error| OpenError::from_lease(folder, error))?;
        // Another process may have begun the run until the lease was ours.
        Self::check_free(folder)?;
        remove_unfinished(folder).map_err(&failed)?;
        let engine = Engine::open(&folder.store()).map_err(|error| OpenError::from_engine(folder, error))?;
        File::create_new(folder.mirror()).map_err(&failed)?;
        // Last, so that a run without it and without an event is one whose creation was cut short.
        Format::write(folder).map_err(&failed)?;
        let blobs = Arc::new(FolderBlobs::new(folder.blobs()));
        Self::assemble(folder, Arc::new(engine), blobs, lease, Head::default()).map_err(failed)
    }

    /// Returns whether there is a run, or may be one: anything but a missing folder and an unfinished creation.
    pub fn has_begun(folder: &RunFolder) -> bool {
        !matches!(beginning::is_free(folder), Read::Found(true))
    }

    fn check_free(folder: &RunFolder) -> Result<(), OpenError> {
        match Self::has_begun(folder) {
            true => Err(OpenError::Exists { path: folder.path().to_owned() }),
            false => Ok(()),
        }
    }

    /// Makes a log that is gone with the process.
    pub fn in_memory() -> Self {
        let blobs: Arc<dyn BlobStore> = Arc::new(MemoryBlobs::default());
        Self::of(Box::new(MemoryStore::new(blobs.clone())), blobs)
    }

    /// Makes a log of a store and a place of blobs that are nobody's folder.
    pub fn of(store: Box<dyn EventStore>, blobs: Arc<dyn BlobStore>) -> Self {
        Self { store, blobs, folder: None }
    }

    /// Opens the log of a run to go on with it, and says what was found and mended.
    pub fn open_for_writing(folder: &RunFolder) -> Result<(Self, Opening), OpenError> {
        let (Opened { lease, engine, blobs, head }, findings) = Opened::mended(folder)?;
        let log = Self::assemble(folder, Arc::new(engine), blobs, lease, head);
        Ok((log.map_err(OpenError::io(folder))?, Opening { findings }))
    }

    /// Opens the log of a run to look at it. Works while somebody else writes it.
    pub fn open_for_reading(folder: &RunFolder) -> Result<ReadLog, OpenError> {
        check_there(folder)?;
        check_names(folder)?;
        let path = folder.mirror();
        if !path.exists() {
            return Err(OpenError::NoMirror { run: folder.run().to_string(), path });
        }
        Ok(ReadLog::of(folder))
    }

    /// Opens the log of a run of which perhaps nothing but a damaged store is left, to [salvage](ReadLog::salvage) what is whole.
    pub fn open_to_salvage(folder: &RunFolder) -> Result<ReadLog, OpenError> {
        check_there(folder).map(|()| ReadLog::of(folder))
    }

    /// Writes the store anew from all that is whole of the mirror and of the damaged store's own files. What was there is kept
    /// aside, and what is known to be lost is named.
    ///
    /// # Errors
    ///
    /// There is no event, or a file cannot be read; nothing is changed then.
    pub fn rebuild_store(folder: &RunFolder) -> Result<(Self, Opening), OpenError> {
        let failed = OpenError::io(folder);
        check_there(folder)?;
        check_names(folder)?;
        let (lease, _) = Lease::acquire_run(folder).map_err(|error| OpenError::from_lease(folder, error))?;
        let lines = durable::temporary_beside(&folder.mirror());
        let merged = merge_into(folder, &lines)?;
        let mut findings = Vec::new();
        let store = folder.store();
        let aside = store.exists().then(|| durable::set_aside(&store, "damaged"));
        let aside = aside.transpose().map_err(&failed)?;
        let Merged { head, found, ends_in_store, .. } = merged;
        findings.push(Finding::StoreRebuilt { aside, events: head.seq, found, ends_in_store });
        if let Some(aside) = put_lines(folder, &lines, merged.is_damaged).map_err(&failed)? {
            findings.push(Finding::MirrorRebuilt { aside: Some(aside) });
        }
        let log = Self::fill(folder, lease)?;
        if folder.lacks_format() {
            Format::write(folder).map_err(&failed)?;
        }
        findings.extend(Finding::behind(&merged));
        Ok((log, Opening { findings }))
    }

    /// Writes the mirror anew from the store, for a run whose mirror is damaged. The old mirror is kept aside.
    pub fn rebuild_mirror(folder: &RunFolder) -> Result<Opening, OpenError> {
        check_there(folder)?;
        let _lease = Lease::acquire_run(folder).map_err(|error| OpenError::from_lease(folder, error))?;
        let engine = Engine::open(&folder.store()).map_err(|error| OpenError::from_engine(folder, error))?;
        let blobs = FolderBlobs::new(folder.blobs());
        let mut reconciler =
            Reconciler { folder, engine: &engine, blobs: &blobs, findings: Vec::new(), aside: None };
        reconciler.rewrite_mirror()?;
        Ok(Opening { findings: reconciler.findings })
    }

    /// Makes the store of a run that has a mirror and nothing else.
    fn fill(folder: &RunFolder, lease: Lease) -> Result<Self, OpenError> {
        let failed = OpenError::io(folder);
        let engine = Engine::open(&folder.store()).map_err(|error| OpenError::from_engine(folder, error))?;
        let blobs = Arc::new(FolderBlobs::new(folder.blobs()));
        let reconciler =
            Reconciler { folder, engine: &engine, blobs: &blobs, findings: Vec::new(), aside: None };
        let head = reconciler.fill()?;
        lease.raise_above(head.epoch).map_err(&failed)?;
        Self::assemble(folder, Arc::new(engine), blobs, lease, head).map_err(failed)
    }

    /// Creates a run from the events in `lines`, each checked. Until all of it is written it has a name that no
    /// command takes for a run.
    pub(crate) fn create_from(folder: &RunFolder, lines: &mut dyn io::Read) -> Result<Self, OpenError> {
        let failed = OpenError::io(folder);
        // What is left of a run whose log is gone stays.
        if Self::has_begun(folder) && !is_gone(folder) {
            return Err(OpenError::Exists { path: folder.path().to_owned() });
        }
        let parent = folder.path().parent().unwrap_or(Path::new(""));
        durable::create_folder(parent).map_err(&failed)?;
        let made = folder.under(durable::temporary_beside(folder.path()));
        let filled = Self::fill_from(&made, lines).and_then(|()| Self::put_in_place(&made, folder));
        let _moved_where_all_is_well = fs::remove_dir_all(made.path());
        filled?;
        Self::open_for_writing(folder).map(|(log, _)| log)
    }

    /// Writes a complete log of `lines` to a folder that nothing else uses.
    fn fill_from(made: &RunFolder, lines: &mut dyn io::Read) -> Result<(), OpenError> {
        let failed = OpenError::io(made);
        durable::create_folder(made.path()).map_err(&failed)?;
        let (lease, _) = Lease::acquire_run(made).map_err(|error| OpenError::from_lease(made, error))?;
        let mut mirror = File::create_new(made.mirror()).map_err(&failed)?;
        io::copy(lines, &mut mirror).and_then(|_| mirror.sync_all()).map_err(&failed)?;
        let log = Self::fill(made, lease)?;
        // A log that this version cannot read to its end is not let in.
        log.verify().map_err(|error| OpenError::from_read(made, error))?;
        drop(log);
        Format::write(made).map_err(&failed)
    }

    /// Moves a complete log to its place, where remains of one that is gone may be.
    fn put_in_place(made: &RunFolder, folder: &RunFolder) -> Result<(), OpenError> {
        let failed = OpenError::io(folder);
        if fs::symlink_metadata(folder.path()).is_err() {
            fs::rename(made.path(), folder.path()).map_err(&failed)?;
        } else {
            let (_lease, _) =
                Lease::acquire_run(folder).map_err(|error| OpenError::from_lease(folder, error))?;
            set_remains_aside(folder).map_err(&failed)?;
            if fs::symlink_metadata(made.blobs()).is_ok() {
                move_files(&made.blobs(), &folder.blobs()).map_err(&failed)?;
            }
            Format::write(folder).map_err(&failed)?;
            // The mirror last: a store without one is completed when it is opened.
            fs::rename(made.store(), folder.store()).map_err(&failed)?;
            fs::rename(made.mirror(), folder.mirror()).map_err(&failed)?;
        }
        folder.path().parent().map_or(Ok(()), platform::sync_folder).map_err(failed)
    }

    /// Adds to a run what `lines` hold beyond its last event. Returns that event, too.
    pub(crate) fn extend_from(
        folder: &RunFolder,
        lines: &mut dyn io::Read,
    ) -> Result<(Self, Seq), OpenError> {
        let failed = OpenError::io(folder);
        let (Opened { lease, engine, blobs, head }, _) = Opened::mended(folder)?;
        let reconciler =
            Reconciler { folder, engine: &engine, blobs: &blobs, findings: Vec::new(), aside: None };
        let copy = durable::temporary_beside(&folder.mirror());
        let end = File::create_new(&copy)
            .and_then(|mut file| io::copy(lines, &mut file))
            .map_err(&failed)
            .and_then(|_| reconciler.extend(head, &copy));
        let _moved_where_all_is_well = fs::remove_file(&copy);
        let end = end?;
        lease.raise_above(end.epoch).map_err(&failed)?;
        let log = Self::assemble(folder, Arc::new(engine), blobs, lease, end).map_err(failed)?;
        Ok((log, head.seq))
    }

    /// Removes a run and everything that belongs to it. `lease` is that of the run, so that nobody works on it.
    pub fn delete(folder: &RunFolder, lease: Lease) -> Result<(), OpenError> {
        let failed = OpenError::io(folder);
        // Under another name first: a removal that is cut short leaves no half of a run, but what
        // `Project::remove_unfinished` removes.
        let gone = durable::temporary_beside(folder.path());
        fs::rename(folder.path(), &gone).map_err(&failed)?;
        drop(lease);
        fs::remove_dir_all(&gone).map_err(failed)
    }

    fn assemble(
        folder: &RunFolder,
        engine: Arc<Engine>,
        blobs: Arc<FolderBlobs>,
        lease: Lease,
        head: Head,
    ) -> io::Result<Self> {
        Project::note_opened(folder);
        let store = SledStore::new(engine, blobs, folder, lease, head)?;
        let blobs = Arc::clone(store.blobs());
        Ok(Self { store: Box::new(store), blobs, folder: Some(folder.clone()) })
    }

    /// Returns where large payloads go.
    pub fn blobs(&self) -> &Arc<dyn BlobStore> {
        &self.blobs
    }

    /// Returns the folder of the run; `None` for a run in memory.
    pub fn folder(&self) -> Option<&RunFolder> {
        self.folder.as_ref()
    }

    /// Saves the fold of all events up to `at`, a head that an append returned.
    pub fn save_checkpoint(&self, at: Head, reducer_version: u32, state: Vec<u8>) -> io::Result<()> {
        match &self.folder {
            None => Ok(()),
            Some(folder) => {
                Checkpoint { seq: at.seq, hash: at.hash, reducer_version, state }.save(&folder.checkpoint())
            }
        }
    }

    /// Returns the last saved fold, if it is one of this log and of this reducer.
    pub fn checkpoint(&self, reducer_version: u32) -> Option<Checkpoint> {
        let checkpoint = Checkpoint::load(&self.folder.as_ref()?.checkpoint())?;
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
        if let Some(folder) = &self.folder {
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

/// What a log is put together from, once store and mirror are the same.
struct Opened {
    lease: Lease,
    engine: Engine,
    blobs: Arc<FolderBlobs>,
    head: Head,
}

impl Opened {
    /// Takes the lease, and brings store and mirror together. Where that is refused both are what they were, but of a store
    /// that is too large to be kept meanwhile.
    fn mended(folder: &RunFolder) -> Result<(Self, Vec<Finding>), OpenError> {
        check_there(folder)?;
        check_names(folder)?;
        let (lease, from) =
            Lease::acquire_run(folder).map_err(|error| OpenError::from_lease(folder, error))?;
        let failed = OpenError::io(folder);
        let store = folder.store();
        safe_open::check_folder(&store).map_err(&failed)?;
        let unfinished = Engine::set_unfinished_snapshots_aside(&store).map_err(&failed)?;
        let before = Before::remember(folder).map_err(OpenError::in_file(folder))?;
        let mut aside = None;
        let opened = Self::brought_together(folder, &mut aside);
        let (engine, blobs, head, mended) = match opened {
            Ok(opened) => opened,
            Err(error) if error.is_of_damage() => {
                let is_put_back = before.put_back(aside.as_deref()).map_err(OpenError::in_file(folder))?;
                return Err(error.looked_at_again(folder, is_put_back));
            }
            // Perhaps the files are somebody else's: another one in their place would not be locked.
            Err(error) => {
                let _best_effort = before.forget();
                return Err(error);
            }
        };
        before.forget().map_err(&failed)?;
        let taken = from.map(|from| Finding::LeaseTakenOver { from }).into_iter();
        let healed = unfinished.into_iter().map(|aside| Finding::Healed { aside });
        let mut findings: Vec<_> = taken.chain(healed).chain(mended).collect();
        if folder.lacks_format() {
            Format::write(folder).map_err(&failed)?;
            findings.push(Finding::FormatWritten);
        }
        for finding in &findings {
            tracing::info!(run = %folder.run(), "{finding}");
        }
        lease.raise_above(head.epoch).map_err(failed)?;
        Ok((Self { lease, engine, blobs, head }, findings))
    }

    /// Opens the database, and makes it and the mirror the same. `aside` becomes where the mirror was moved to, if it was.
    fn brought_together(
        folder: &RunFolder,
        aside: &mut Option<PathBuf>,
    ) -> Result<(Engine, Arc<FolderBlobs>, Head, Vec<Finding>), OpenError> {
        let failed = OpenError::io(folder);
        let blobs = Arc::new(FolderBlobs::new(folder.blobs()));
        blobs.remove_unfinished().map_err(&failed)?;

        let completed = opening::complete_mirror(folder, &blobs, aside)?;
        let findings = completed.findings(aside.as_deref());
        let engine = Engine::open(&folder.store()).map_err(|error| OpenError::from_engine(folder, error))?;
        let mut reconciler =
            Reconciler { folder, engine: &engine, blobs: &blobs, findings, aside: aside.take() };
        let head = reconciler.reconcile(Checkpoint::load(&folder.checkpoint()).as_ref(), completed.known);
        *aside = reconciler.aside;
        let findings = reconciler.findings;
        head.map(|head| (engine, blobs, head, findings))
    }
}

/// Writes what is whole of a log to the new file `lines`.
fn merge_into(folder: &RunFolder, lines: &Path) -> Result<Merged, OpenError> {
    let failed = OpenError::io(folder);
    let mut file = File::create_new(lines).map_err(&failed)?;
    let merged = merged::write(folder, &FolderBlobs::new(folder.blobs()), &mut file)
        .map_err(|error| OpenError::from_read(folder, error))
        .and_then(|merged| match merged.head.seq {
            Seq(0) => Err(OpenError::corrupt(folder, Seq(1), NO_EVENT.to_owned())),
            _ => file.sync_all().map_err(&failed).map(|()| merged),
        });
    if merged.is_err() {
        let _best_effort = fs::remove_file(lines);
    }
    merged
}

/// Puts new lines in the place of those of the mirror. Those that are damaged are kept; returns where.
fn put_lines(folder: &RunFolder, lines: &Path, is_damaged: bool) -> io::Result<Option<PathBuf>> {
    let mirror = folder.mirror();
    let aside = if is_damaged { Some(durable::set_aside(&mirror, "damaged")?) } else { None };
    fs::rename(lines, &mirror)?;
    Ok(aside)
}

impl EventStore for RunLog {
    fn append(&self, batch: &[Event], expected: Expected) -> Result<Head, AppendError> {
        self.store.append(batch, expected)
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

/// What is known of the end of a log without its engine.
struct End {
    /// The last event of the mirror.
    mirrored: Seq,
    /// What the store of an interrupted run has beyond its last whole batch.
    unmirrored: Vec<Record>,
    /// The last event that is known to have been there.
    known: Seq,
}

impl End {
    /// Returns the last event that can be read.
    fn last(&self) -> Seq {
        self.unmirrored.last().map_or(self.mirrored, |last| last.header.seq)
    }

    /// Says whether there were events after `after`.
    fn behind(&self, after: Seq) -> Option<ReadError> {
        let known = self.known.max(self.last());
        (after < known).then_some(ReadError::Behind { after, known })
    }
}

/// What is whole of a log whose store is damaged: lines, and records in the store's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rest {
    /// All events that are known.
    Whole,
    /// The first ones.
    Shortened,
    /// No event.
    Nothing,
    /// Nobody can tell before this is done.
    Unread(String),
}

impl Rest {
    /// Looks at what there is. Nobody writes it at this moment.
    pub(crate) fn of(folder: &RunFolder) -> Self {
        match merged::write(folder, &FolderBlobs::new(folder.blobs()), &mut io::sink()) {
            Ok(merged) if merged.head.seq == Seq(0) => Self::Nothing,
            Ok(merged) if merged.lost().is_some() => Self::Shortened,
            Ok(_) => Self::Whole,
            Err(error) => Self::Unread(error.hint().unwrap_or_default()),
        }
    }
}

/// The log of a run, to look at: its mirror and its blobs.
#[derive(Clone)]
pub struct ReadLog {
    folder: RunFolder,
    blobs: Arc<FolderBlobs>,
}

impl ReadLog {
    fn of(folder: &RunFolder) -> Self {
        Self { folder: folder.clone(), blobs: Arc::new(FolderBlobs::new(folder.blobs())) }
    }

    /// Writes the lines of all that is whole, whatever else the log holds. Nobody writes it at this moment.
    ///
    /// # Errors
    ///
    /// A file cannot be read, a line is of a newer version, or `out` cannot be written.
    pub fn salvage(&self, out: &mut dyn Write) -> Result<Merged, ReadError> {
        merged::write(&self.folder, &self.blobs, out)
    }

    /// Returns the events from `from` on, as of now, each checked. What is good comes before an error, and there is
    /// one where events are known to be missing at the end. Those of an interrupted run that only its store has follow those
    /// of the mirror.
    pub fn read(&self, from: Seq) -> Result<Events<'static>, ReadError> {
        let events = mirror::read(&self.folder.mirror(), from)?;
        // What the mirror lacks is asked for behind its end: until then it may be completed.
        let log = self.clone();
        let events = events.chain(iter::once_with(move || log.beyond(from)).flatten());
        let mut has_failed = false;
        Ok(Box::new(events.take_while(move |event| !mem::replace(&mut has_failed, event.is_err()))))
    }

    /// Returns the events from `from` on that only the store has, and an error where others are known to be missing.
    fn beyond(&self, from: Seq) -> Vec<Result<Event, ReadError>> {
        let end = match self.end() {
            Ok(end) => end,
            Err(error) => return vec![Err(error)],
        };
        let wanted = end.unmirrored.iter().filter(|it| it.header.seq >= from);
        let events = wanted.map(|record| chain::decode(&record.as_ref(), self.blobs.as_ref()));
        events.chain(end.behind(end.last()).map(Err)).collect()
    }

    /// Returns the records that follow the last whole batch of the mirror and that only the store has.
    pub(crate) fn unmirrored(&self) -> Result<Vec<Record>, ReadError> {
        self.end().map(|end| end.unmirrored)
    }

    /// Says whether anything tells of events that the mirror lacks, or that its end cannot be read.
    ///
    /// It takes no lock. Whoever acts on the events opens the log for writing first, which brings store and mirror together.
    pub fn behind(&self) -> Option<ReadError> {
        self.end().map_or_else(Some, |end| end.behind(end.mirrored))
    }

    /// Looks at the end of the log as somebody who looks on.
    fn end(&self) -> Result<End, ReadError> {
        let holder = Lease::holder(&self.folder.lease());
        self.end_of(holder.is_none_or(|holder| holder.liveness() == Liveness::Gone))
    }

    /// Looks at the end of the log. The supervisor of a run that is not interrupted writes it at this moment.
    fn end_of(&self, is_interrupted: bool) -> Result<End, ReadError> {
        // The checkpoint first: the mirror of a live run is ahead of any checkpoint that was saved before.
        let saved = Checkpoint::load(&self.folder.checkpoint()).map_or(Seq(0), |it| it.seq);
        let tail = Tail::read(&self.folder.mirror()).map_err(ReadError::io(&self.folder.mirror()))?;
        let last = tail.last.transpose().map_err(|error| {
            let lines = mirror::count_lines(&self.folder.mirror()).unwrap_or(1);
            let before = Head { seq: Seq(lines.saturating_sub(1)), ..Head::default() };
            line_error(error, before, &self.folder.mirror())
        })?;
        let mirrored = last.as_ref().map_or(Seq(0), |last| last.seq);
        if !is_interrupted {
            return Ok(End { mirrored, unmirrored: Vec::new(), known: saved });
        }
        let Beyond { begun, records, known } = match &last {
            Some(last) if last.kind == EventType::RunEnded => Beyond::default(),
            last => unmirrored::after(&self.folder, last.as_ref())
                .map_err(|FileError { path, source }| ReadError::io(&path)(source))?,
        };
        let known = records.last().map_or(known, |last| last.header.seq.max(known));
        // The rest of a batch alone is none; whoever opens the log adds it to the lines.
        let unmirrored = begun.map_or_else(Vec::new, |begun| [begun, records].concat());
        // A batch is written at once, and so is a line: there was more of what is cut.
        let due = last.as_ref().map_or(Seq(0), |last| Seq(last.seq.0 + u64::from(last.more)));
        let torn = if tail.unfinished > 0 { mirrored.next() } else { Seq(0) };
        let known = known.max(saved).max(due).max(torn);
        Ok(End { mirrored, unmirrored, known })
    }

    /// Follows the log from its first event.
    pub fn follow(&self) -> Result<MirrorReader, ReadError> {
        MirrorReader::open(&self.folder.mirror())
    }

    /// Returns the blobs of the run.
    pub fn blobs(&self) -> Arc<dyn BlobStore> {
        self.blobs.clone()
    }

    /// Returns the folder of the run.
    pub fn folder(&self) -> &RunFolder {
        &self.folder
    }
}

/// Checks that there is a log, and that this program reads it. Where the file that says so is lost, the records do.
fn check_there(folder: &RunFolder) -> Result<(), OpenError> {
    let run = || folder.run().to_string();
    let format = Format::read(folder);
    match format.map_err(|source| OpenError::Io { run: run(), path: folder.format(), source })? {
        Some(newer) if newer.format > FORMAT_VERSION => {
            let detail = format!(
                "written by {} in format {}; this program reads up to {FORMAT_VERSION}",
                newer.program, newer.format
            );
            return Err(OpenError::NewerVersion { run: run(), detail });
        }
        Some(_) => {}
        None if !RunLog::has_begun(folder) => {
            let there = fs::symlink_metadata(folder.path()).is_ok();
            let (run, path) = (run(), folder.path().to_owned());
            return Err(if there {
                OpenError::Unfinished { run, path }
            } else {
                OpenError::NotFound { path }
            });
        }
        None => {}
    }
    if folder.has_lines() || folder.data_file().exists() {
        return Ok(());
    }
    Err(OpenError::Gone { run: run(), path: folder.path().to_owned(), left: left_in(folder) })
}

/// Says whether there is no event of a run any more, whatever is left of it.
fn is_gone(folder: &RunFolder) -> bool {
    let has_none = |merged: Merged| merged.head.seq == Seq(0);
    match check_there(folder) {
        Ok(()) => ReadLog::of(folder).salvage(&mut io::sink()).is_ok_and(has_none),
        Err(error) => matches!(error, OpenError::Gone { .. } | OpenError::NotFound { .. }),
    }
}

/// Moves what is left of a log that is gone out of the way of one that is read in. Returns what was where, and where it is.
fn set_remains_aside(folder: &RunFolder) -> io::Result<Vec<(PathBuf, PathBuf)>> {
    let mirror = folder.mirror();
    if !folder.has_lines() && mirror.exists() {
        fs::remove_file(&mirror)?;
    }
    let remains = [mirror, folder.store()].into_iter().filter(|path| fs::symlink_metadata(path).is_ok());
    remains.map(|path| durable::set_aside(&path, "damaged").map(|aside| (path, aside))).collect()
}

/// Moves the files of a folder into another one, and replaces files of the same name.
fn move_files(from: &Path, to: &Path) -> io::Result<()> {
    durable::create_folder(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        fs::rename(entry.path(), to.join(entry.file_name()))?;
    }
    Ok(())
}

/// Removes the files of a log whose creation was cut short: `format` first, so that it stays unfinished until all are gone.
fn remove_unfinished(folder: &RunFolder) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(error) if !is_absence(&error) => Err(error),
        _ => Ok(()),
    };
    gone(fs::remove_file(folder.format()))?;
    gone(fs::remove_dir_all(folder.store()))?;
    gone(fs::remove_file(folder.mirror()))
}

/// Makes sure that the folder, the first event and the lease name the same run.
fn check_names(folder: &RunFolder) -> Result<(), OpenError> {
    match beginning::other_run(folder) {
        None => Ok(()),
        Some((what, named)) => {
            let (run, path) = (folder.run().to_string(), folder.path().to_owned());
            Err(OpenError::OtherRun { run, path, what, named })
        }
    }
}

/// Names what is left of a run whose log is gone.
fn left_in(folder: &RunFolder) -> String {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries.map(|it| it.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let saved = Checkpoint::load(&folder.checkpoint());
    let saved = saved.map_or_else(String::new, |it| format!(" (of event {})", it.seq));
    names.iter_mut().filter(|it| *it == "checkpoint").for_each(|it| it.push_str(&saved));
    names.join(", ")
}
