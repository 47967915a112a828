//! The part of a store that keeps the records of runs.
//!
//! [`Runs`](crate::runs::Runs) adds what is the same for every engine: the folder of a run with its lease, its mirror, its
//! blobs and its checkpoint, and the list of runs. So a database needs three functions: [`stream`](Engine::stream),
//! [`first_event`](Engine::first_event) and [`remove`](Engine::remove). `docs/stores.md` has a complete example.

use std::fs::{self, File};
use std::io::{self, Write};
use std::sync::Arc;

use unstuck_core::event::Event;
use unstuck_core::id::Seq;
use unstuck_files::durable;
use unstuck_files::read::{Read, is_absence};

use crate::blobs::{BlobStore, DirBlobs};
use crate::checkpoint::Checkpoint;
use crate::event_store::{EventStore, Head, ReadError};
use crate::lease::{AcquireError, FileLease};
use crate::mirror::{self, Tail};
use crate::recovery::{OpenError, RecoveryReport, Repair, SalvageReport};
use crate::run_dir::{FormatFile, RunDir};
use crate::run_log::{NoTail, ReadLog, RunLog};
use crate::run_start;

/// Keeps the records of runs.
pub trait Engine: Send + Sync {
    /// Opens the stream of a run to append to it. A run without records has an empty stream.
    ///
    /// # Errors
    ///
    /// The engine cannot be used.
    fn stream(&self, folder: &RunDir, lease: FileLease) -> Result<Box<dyn EventStore>, OpenError>;

    /// Reads the first event of a run, also while another process appends to it.
    fn first_event(&self, folder: &RunDir) -> Read<Event>;

    /// Removes the records of a run, if there are any. Nothing else uses them.
    ///
    /// # Errors
    ///
    /// They cannot be removed.
    fn remove(&self, folder: &RunDir) -> io::Result<()>;

    /// Creates the log of a new run, or creates it again where an earlier creation was cut short.
    ///
    /// # Errors
    ///
    /// The run has a log already, or may have one that cannot be read.
    fn create(&self, folder: &RunDir) -> Result<RunLog, OpenError> {
        let failed = OpenError::io(folder);
        check_free(self, folder)?;
        durable::create_folder(folder.path()).map_err(&failed)?;
        let (lease, _) = acquire(folder)?;
        // Another process may have begun the run until the lease was ours.
        check_free(self, folder)?;
        remove_unfinished(self, folder).map_err(&failed)?;
        let stream = self.stream(folder, lease)?;
        File::create_new(folder.mirror()).map_err(&failed)?;
        // Last, so that a run without it and without an event is one whose creation was cut short.
        FormatFile::write(folder).map_err(&failed)?;
        RunLog::in_folder(stream, folder.clone()).map_err(failed)
    }

    /// Opens the log of a run to read it, also while another process appends to it.
    ///
    /// # Errors
    ///
    /// There is no such run, or it cannot be read.
    fn open(&self, folder: &RunDir) -> Result<ReadLog, OpenError> {
        run_start::check_there(folder, || self.is_unfinished(folder))?;
        run_start::check_names(folder, || self.first_event(folder))?;
        ReadLog::open(folder, Arc::new(NoTail))
    }

    /// Opens the log of a run to append to it, and says what was repaired. The records are checked from the last checkpoint on,
    /// and `events.jsonl` becomes what they say.
    ///
    /// # Errors
    ///
    /// There is no such run, another process holds its lease, or a record is damaged.
    fn claim(&self, folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
        claim(self, folder)
    }

    /// Says whether the creation of a run was cut short: there is no event, and nothing was lost.
    fn is_unfinished(&self, folder: &RunDir) -> Read<bool> {
        run_start::is_unfinished(folder, || self.first_event(folder))
    }

    /// Returns the error of a log that cannot be read to its end.
    fn unreadable(&self, folder: &RunDir, error: ReadError) -> OpenError {
        OpenError::Unreadable { run: folder.run().to_string(), detail: error.to_string() }
    }

    /// Returns the means to repair logs and to read exports in; `None` if this engine cannot.
    fn repairer(&self) -> Option<&dyn Repairer> {
        None
    }
}

/// Puts payloads into the blobs of a run.
pub type PutPayloads<'a> = &'a mut dyn FnMut(&dyn BlobStore) -> io::Result<()>;

/// Repairs damaged logs, and reads exports in.
pub trait Repairer {
    /// Rebuilds the store of a run from all intact events. Keeps the old files.
    ///
    /// # Errors
    ///
    /// There is no event, or a file cannot be read; nothing is changed then.
    fn rebuild_store(&self, folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError>;

    /// Writes `events.jsonl` of a run again from the store. The old file is kept aside.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    fn rebuild_mirror(&self, folder: &RunDir) -> Result<RecoveryReport, OpenError>;

    /// Writes the lines of all intact events of a log, even if other parts are damaged.
    ///
    /// # Errors
    ///
    /// There is no log; a file cannot be read, a line is of a newer version, or `out` cannot be written.
    fn salvage(
        &self,
        folder: &RunDir,
        out: &mut dyn Write,
    ) -> Result<Result<SalvageReport, ReadError>, OpenError>;

    /// Creates a run from exported lines, if all of them are good. A last batch that is cut short is left out. `payloads` puts
    /// the payloads that the events name into the blobs, before the run exists.
    ///
    /// # Errors
    ///
    /// A line is not good, or the run is here already.
    fn import(
        &self,
        folder: &RunDir,
        lines: &mut dyn io::Read,
        payloads: PutPayloads<'_>,
    ) -> Result<RunLog, OpenError>;

    /// Adds to a run the events of exported lines after its last one. Returns what was its last event until then.
    ///
    /// # Errors
    ///
    /// An event that is here is another one than in the lines, or a line is not good; nothing is changed then.
    fn extend(&self, folder: &RunDir, lines: &mut dyn io::Read) -> Result<(RunLog, Seq), OpenError>;
}

/// Takes the lease of a run. Also returns the holder it was taken from, if that one never gave it back.
///
/// # Errors
///
/// Another process holds it.
pub fn acquire(folder: &RunDir) -> Result<(FileLease, Option<Repair>), OpenError> {
    let taken = FileLease::acquire_run(folder);
    taken.map(|(lease, from)| (lease, from.map(|from| Repair::LeaseTakenOver { from }))).map_err(|error| {
        match error {
            AcquireError::Held { holder } => OpenError::Locked { run: folder.run().to_string(), holder },
            AcquireError::Io { source, .. } => OpenError::io(folder)(source),
        }
    })
}

fn check_free(engine: &(impl Engine + ?Sized), folder: &RunDir) -> Result<(), OpenError> {
    match run_start::has_begun(folder, || engine.is_unfinished(folder)) {
        true => Err(OpenError::Exists { path: folder.path().to_owned() }),
        false => Ok(()),
    }
}

/// Removes the files of a log whose creation was cut short: `format` first, so that it stays unfinished until all are gone.
fn remove_unfinished(engine: &(impl Engine + ?Sized), folder: &RunDir) -> io::Result<()> {
    let gone = |removed: io::Result<()>| match removed {
        Err(error) if !is_absence(&error) => Err(error),
        _ => Ok(()),
    };
    gone(fs::remove_file(folder.format()))?;
    gone(engine.remove(folder))?;
    gone(fs::remove_file(folder.mirror()))
}

fn claim(engine: &(impl Engine + ?Sized), folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
    let failed = OpenError::io(folder);
    run_start::check_there(folder, || engine.is_unfinished(folder))?;
    run_start::check_names(folder, || engine.first_event(folder))?;
    let (lease, taken) = acquire(folder)?;
    DirBlobs::new(folder.blobs()).remove_unfinished().map_err(&failed)?;
    let stream = engine.stream(folder, lease)?;
    let unreadable = |error| engine.unreadable(folder, error);
    check_mirror(folder, stream.head().seq)?;
    check_records(&*stream, Checkpoint::load(&folder.checkpoint())).map_err(unreadable)?;
    let mut repairs: Vec<Repair> = taken.into_iter().collect();
    let (mirrored, repaired) = cut_mirror(folder, &*stream).map_err(&failed)?;
    repairs.extend(repaired);
    if folder.lacks_format() {
        FormatFile::write(folder).map_err(&failed)?;
        repairs.push(Repair::FormatWritten);
    }
    for repair in &repairs {
        tracing::info!(run = %folder.run(), "{repair}");
    }
    let log = RunLog::after_mirror(stream, folder.clone(), mirrored).map_err(failed)?;
    Ok((log, RecoveryReport { repairs }))
}

/// Reads every record after the checkpoint, which checks hashes and links.
fn check_records(stream: &dyn EventStore, checkpoint: Option<Checkpoint>) -> Result<(), ReadError> {
    let anchor = checkpoint
        .filter(|saved| has_record(stream, Head { seq: saved.seq, hash: saved.hash, ..Head::default() }));
    stream.records(anchor.map_or(Seq(0), |saved| saved.seq).next())?.try_for_each(|record| record.map(drop))
}

/// Says whether the stream goes through a record.
fn has_record(stream: &dyn EventStore, at: Head) -> bool {
    let record = stream.records(at.seq).ok().and_then(|mut records| records.next()?.ok());
    record.is_some_and(|record| record.header.seq == at.seq && record.header.hash == at.hash)
}

/// Leaves in `events.jsonl` whole lines that the stream goes through. A file that says something else is kept aside. Returns the
/// last event that has a line, and what has to be done about the others.
fn cut_mirror(folder: &RunDir, stream: &dyn EventStore) -> io::Result<(Seq, Option<Repair>)> {
    let (path, head) = (folder.mirror(), stream.head().seq);
    let tail = Tail::read(&path)?;
    let mirrored = match &tail.last {
        None => Some(Head::default()),
        Some(last) => last.as_ref().ok().map(Head::at),
    };
    if let Some(Head { seq, .. }) = mirrored.filter(|at| at.seq == Seq(0) || has_record(stream, *at)) {
        mirror::cut(&path, tail.whole)?;
        let completed = Repair::MirrorCompleted { from: seq.next(), to: head };
        return Ok((seq, (seq < head).then_some(completed)));
    }
    let aside = durable::set_aside(&path, "damaged")?;
    Ok((Seq(0), Some(Repair::MirrorRebuilt { aside: Some(aside) })))
}

/// Refuses a stream that lacks events which `events.jsonl` or a checkpoint has: the database was lost, or is an older copy.
fn check_mirror(folder: &RunDir, head: Seq) -> Result<(), OpenError> {
    let tail = Tail::read(&folder.mirror()).map_err(OpenError::io(folder))?;
    let mirrored = tail.last.and_then(Result::ok).map_or(Seq(0), |last| last.seq);
    let saved = Checkpoint::load(&folder.checkpoint()).map_or(Seq(0), |checkpoint| checkpoint.seq);
    let known = mirrored.max(saved);
    if known <= head {
        return Ok(());
    }
    let detail = format!(
        "its store ends at event {head}, and event {known} was recorded; restore the store from a backup"
    );
    Err(OpenError::Unreadable { run: folder.run().to_string(), detail })
}
