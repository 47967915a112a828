//! Opens and rebuilds the log of a run: engine, mirror, blobs, lease and checkpoint together.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_core::id::Seq;
use unstuck_files::durable;
use unstuck_files::platform;
use unstuck_files::safe_open;
use unstuck_store::blobs::DirBlobs;
use unstuck_store::checkpoint::Checkpoint;
use unstuck_store::engine::{self, PutPayloads};
use unstuck_store::event_store::{Head, ReadError};
use unstuck_store::lease::FileLease;
use unstuck_store::record_table::TableStream;
use unstuck_store::recovery::{OpenError, RecoveryReport, Repair, SalvageReport};
use unstuck_store::run_dir::{FormatFile, RunDir};
use unstuck_store::run_log::{ReadLog, RunLog};
use unstuck_store::run_start;

use crate::database::Database;
use crate::first_event;
use crate::open_backup::OpenBackup;
use crate::open_error::{self, NO_EVENT};
use crate::reconcile::{self, Reconciler};
use crate::salvage;
use crate::sled_table::SledTable;
use crate::store_tail::SledFiles;

/// Opens the log of a run to append to it, and says what was repaired.
pub(crate) fn open_for_writing(folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
    let (OpenedLog { lease, engine, head, .. }, repairs) = OpenedLog::repair(folder)?;
    let log = assemble(folder, engine, lease, head);
    Ok((log.map_err(OpenError::io(folder))?, RecoveryReport { repairs }))
}

/// Opens the log of a run to read it, also while another process appends to it.
pub(crate) fn open_for_reading(folder: &RunDir) -> Result<ReadLog, OpenError> {
    check_there(folder)?;
    run_start::check_names(folder, || first_event::read(folder))?;
    ReadLog::open(folder, Arc::new(SledFiles))
}

/// Writes the lines of all intact events, and leaves out the rest. The caller holds the lease, or the run is not
/// running.
///
/// # Errors
///
/// A file cannot be read, a line is of a newer version, or `out` cannot be written.
pub(crate) fn salvage(folder: &RunDir, out: &mut dyn Write) -> Result<SalvageReport, ReadError> {
    salvage::write(folder, &DirBlobs::new(folder.blobs()), out)
}

/// Rebuilds the store from all intact events of the mirror and of the damaged store's files. Keeps the old files, and
/// names known losses.
///
/// # Errors
///
/// There is no event, or a file cannot be read; nothing is changed then.
pub(crate) fn rebuild_store(folder: &RunDir) -> Result<(RunLog, RecoveryReport), OpenError> {
    let failed = OpenError::io(folder);
    check_there(folder)?;
    run_start::check_names(folder, || first_event::read(folder))?;
    let (lease, _) = engine::acquire(folder)?;
    let lines = durable::temporary_beside(&folder.mirror());
    let merged = merge_into(folder, &lines)?;
    let mut repairs = Vec::new();
    let store = folder.store();
    let aside = store.exists().then(|| durable::set_aside(&store, "damaged"));
    let aside = aside.transpose().map_err(&failed)?;
    let SalvageReport { head, found, ends_in_store, .. } = merged;
    repairs.push(Repair::StoreRebuilt { aside, events: head.seq, found, ends_in_store });
    if let Some(aside) = put_lines(folder, &lines, merged.is_damaged).map_err(&failed)? {
        repairs.push(Repair::MirrorRebuilt { aside: Some(aside) });
    }
    let log = fill(folder, lease)?;
    if folder.lacks_format() {
        FormatFile::write(folder).map_err(&failed)?;
    }
    repairs.extend(lost_after_merge(&merged));
    Ok((log, RecoveryReport { repairs }))
}

/// Writes the mirror again from the store, for a run whose mirror is damaged. The old mirror is kept aside.
pub(crate) fn rebuild_mirror(folder: &RunDir) -> Result<RecoveryReport, OpenError> {
    check_there(folder)?;
    let _lease = engine::acquire(folder)?;
    let engine = Database::open(&folder.store()).map_err(|error| open_error::from_engine(folder, error))?;
    let blobs = DirBlobs::new(folder.blobs());
    let mut reconciler =
        Reconciler { folder, engine: &engine, blobs: &blobs, repairs: Vec::new(), aside: None };
    reconciler.rewrite_mirror()?;
    Ok(RecoveryReport { repairs: reconciler.repairs })
}

/// Makes the store of a run that has a mirror and nothing else.
fn fill(folder: &RunDir, lease: FileLease) -> Result<RunLog, OpenError> {
    let failed = OpenError::io(folder);
    let engine = Database::open(&folder.store()).map_err(|error| open_error::from_engine(folder, error))?;
    let blobs = Arc::new(DirBlobs::new(folder.blobs()));
    let reconciler = Reconciler { folder, engine: &engine, blobs: &blobs, repairs: Vec::new(), aside: None };
    let head = reconciler.fill()?;
    assemble(folder, engine, lease, head).map_err(failed)
}

/// Creates a run from the events in `lines`, each checked. Until all of it is written it has a name that no
/// command takes for a run.
pub(crate) fn create_from(
    folder: &RunDir,
    lines: &mut dyn io::Read,
    payloads: PutPayloads<'_>,
) -> Result<RunLog, OpenError> {
    let failed = OpenError::io(folder);
    // The remains of a run whose log is gone stay.
    if run_start::has_begun(folder, || first_event::is_unfinished(folder)) && !is_gone(folder) {
        return Err(OpenError::Exists { path: folder.path().to_owned() });
    }
    let parent = folder.path().parent().unwrap_or(Path::new(""));
    durable::create_folder(parent).map_err(&failed)?;
    let made = folder.under(durable::temporary_beside(folder.path()));
    let filled = fill_from(&made, lines, payloads).and_then(|()| put_in_place(&made, folder));
    let _moved_where_all_is_well = fs::remove_dir_all(made.path());
    filled?;
    open_for_writing(folder).map(|(log, _)| log)
}

/// Writes a complete log of `lines` to a folder that nothing else uses.
fn fill_from(made: &RunDir, lines: &mut dyn io::Read, payloads: PutPayloads<'_>) -> Result<(), OpenError> {
    let failed = OpenError::io(made);
    durable::create_folder(made.path()).map_err(&failed)?;
    let (lease, _) = engine::acquire(made)?;
    payloads(&DirBlobs::new(made.blobs())).map_err(&failed)?;
    let mut mirror = File::create_new(made.mirror()).map_err(&failed)?;
    io::copy(lines, &mut mirror).and_then(|_| mirror.sync_all()).map_err(&failed)?;
    let log = fill(made, lease)?;
    // A log that this version cannot read to its end is not let in.
    log.verify().map_err(|error| open_error::from_read(made, error))?;
    drop(log);
    FormatFile::write(made).map_err(&failed)
}

/// Moves a complete log to its place, where remains of one that is gone may be.
fn put_in_place(made: &RunDir, folder: &RunDir) -> Result<(), OpenError> {
    let failed = OpenError::io(folder);
    if fs::symlink_metadata(folder.path()).is_err() {
        fs::rename(made.path(), folder.path()).map_err(&failed)?;
    } else {
        let (_lease, _) = engine::acquire(folder)?;
        set_remains_aside(folder).map_err(&failed)?;
        if fs::symlink_metadata(made.blobs()).is_ok() {
            move_files(&made.blobs(), &folder.blobs()).map_err(&failed)?;
        }
        FormatFile::write(folder).map_err(&failed)?;
        // The mirror last: a store without one is completed when it is opened.
        fs::rename(made.store(), folder.store()).map_err(&failed)?;
        fs::rename(made.mirror(), folder.mirror()).map_err(&failed)?;
    }
    folder.path().parent().map_or(Ok(()), platform::sync_folder).map_err(failed)
}

/// Adds to a run what `lines` hold beyond its last event. Returns that event, too.
pub(crate) fn extend_from(folder: &RunDir, lines: &mut dyn io::Read) -> Result<(RunLog, Seq), OpenError> {
    let failed = OpenError::io(folder);
    let (OpenedLog { lease, engine, blobs, head }, _) = OpenedLog::repair(folder)?;
    let reconciler = Reconciler { folder, engine: &engine, blobs: &blobs, repairs: Vec::new(), aside: None };
    let copy = durable::temporary_beside(&folder.mirror());
    let end = File::create_new(&copy)
        .and_then(|mut file| io::copy(lines, &mut file))
        .map_err(&failed)
        .and_then(|_| reconciler.extend(head, &copy));
    let _moved_where_all_is_well = fs::remove_file(&copy);
    let end = end?;
    let log = assemble(folder, engine, lease, end).map_err(failed)?;
    Ok((log, head.seq))
}

/// Returns the log that ends with `head`. Its records were checked.
fn assemble(folder: &RunDir, database: Database, lease: FileLease, head: Head) -> io::Result<RunLog> {
    let stream = TableStream::after(head, SledTable::new(database), folder, lease)?;
    RunLog::in_folder(stream, folder.clone())
}

/// The parts of a log, once store and mirror are the same.
struct OpenedLog {
    lease: FileLease,
    engine: Database,
    blobs: Arc<DirBlobs>,
    head: Head,
}

impl OpenedLog {
    /// Takes the lease, and brings store and mirror together. Where that is refused both are what they were, but of a store
    /// that is too large to be kept meanwhile.
    fn repair(folder: &RunDir) -> Result<(Self, Vec<Repair>), OpenError> {
        check_there(folder)?;
        run_start::check_names(folder, || first_event::read(folder))?;
        let (lease, taken) = engine::acquire(folder)?;
        let failed = OpenError::io(folder);
        let store = folder.store();
        safe_open::check_folder(&store).map_err(&failed)?;
        let unfinished = Database::set_unfinished_snapshots_aside(&store).map_err(&failed)?;
        let backup = OpenBackup::create(folder).map_err(open_error::in_file(folder))?;
        let mut aside = None;
        let opened = Self::reconcile(folder, &mut aside);
        let (engine, blobs, head, repaired) = match opened {
            Ok(opened) => opened,
            Err(error) if open_error::is_of_damage(&error) => {
                let is_restored = backup.restore(aside.as_deref()).map_err(open_error::in_file(folder))?;
                return Err(open_error::revalidate(error, folder, is_restored));
            }
            // The files may belong to another process; new files in their place would not be locked.
            Err(error) => {
                let _best_effort = backup.discard();
                return Err(error);
            }
        };
        backup.discard().map_err(&failed)?;
        let healed = unfinished.into_iter().map(|aside| Repair::Healed { aside });
        let mut repairs: Vec<_> = taken.into_iter().chain(healed).chain(repaired).collect();
        if folder.lacks_format() {
            FormatFile::write(folder).map_err(&failed)?;
            repairs.push(Repair::FormatWritten);
        }
        for repair in &repairs {
            tracing::info!(run = %folder.run(), "{repair}");
        }
        Ok((Self { lease, engine, blobs, head }, repairs))
    }

    /// Opens the database, and makes it and the mirror the same. `aside` becomes where the mirror was moved to, if it was.
    fn reconcile(
        folder: &RunDir,
        aside: &mut Option<PathBuf>,
    ) -> Result<(Database, Arc<DirBlobs>, Head, Vec<Repair>), OpenError> {
        let failed = OpenError::io(folder);
        let blobs = Arc::new(DirBlobs::new(folder.blobs()));
        blobs.remove_unfinished().map_err(&failed)?;

        let completed = reconcile::complete_mirror(folder, &blobs, aside)?;
        let repairs = completed.repairs(aside.as_deref());
        let engine =
            Database::open(&folder.store()).map_err(|error| open_error::from_engine(folder, error))?;
        let mut reconciler =
            Reconciler { folder, engine: &engine, blobs: &blobs, repairs, aside: aside.take() };
        let head = reconciler.reconcile(Checkpoint::load(&folder.checkpoint()).as_ref(), completed.known);
        *aside = reconciler.aside;
        let repairs = reconciler.repairs;
        head.map(|head| (engine, blobs, head, repairs))
    }
}

/// Writes the intact events of a log to the new file `lines`.
fn merge_into(folder: &RunDir, lines: &Path) -> Result<SalvageReport, OpenError> {
    let failed = OpenError::io(folder);
    let mut file = File::create_new(lines).map_err(&failed)?;
    let merged = salvage::write(folder, &DirBlobs::new(folder.blobs()), &mut file)
        .map_err(|error| open_error::from_read(folder, error))
        .and_then(|merged| match merged.head.seq {
            Seq(0) => Err(open_error::corrupt(folder, Seq(1), NO_EVENT.to_owned())),
            _ => file.sync_all().map_err(&failed).map(|()| merged),
        });
    if merged.is_err() {
        let _best_effort = fs::remove_file(lines);
    }
    merged
}

/// Replaces the lines of the mirror. Keeps damaged ones, and returns their path.
fn put_lines(folder: &RunDir, lines: &Path, is_damaged: bool) -> io::Result<Option<PathBuf>> {
    let mirror = folder.mirror();
    let aside = if is_damaged { Some(durable::set_aside(&mirror, "damaged")?) } else { None };
    fs::rename(lines, &mirror)?;
    Ok(aside)
}

/// Names what is known to be lost behind what was merged, if there is something.
fn lost_after_merge(merged: &SalvageReport) -> Option<Repair> {
    let why = "neither events.jsonl nor a file of the store has them whole";
    let after = merged.head.seq;
    let unknown = || {
        let why = "a line of events.jsonl behind it is damaged".to_owned();
        Repair::TailDropped { after, known: None, aside: None, why }
    };
    open_error::lost_range(after, merged.known, why).or_else(|| (merged.behind > 0).then(unknown))
}

/// Checks that there is a log, and that this program reads it.
pub(crate) fn check_there(folder: &RunDir) -> Result<(), OpenError> {
    run_start::check_there(folder, || first_event::is_unfinished(folder))?;
    if folder.has_lines() || folder.data_file().exists() {
        return Ok(());
    }
    Err(OpenError::Gone {
        run: folder.run().to_string(),
        path: folder.path().to_owned(),
        left: left_in(folder),
    })
}

/// Says whether all events of a run are gone.
fn is_gone(folder: &RunDir) -> bool {
    let has_none = |merged: SalvageReport| merged.head.seq == Seq(0);
    match check_there(folder) {
        Ok(()) => salvage(folder, &mut io::sink()).is_ok_and(has_none),
        Err(error) => matches!(error, OpenError::Gone { .. } | OpenError::NotFound { .. }),
    }
}

/// Moves what is left of a log that is gone out of the way of one that is read in. Returns what was where, and where it is.
fn set_remains_aside(folder: &RunDir) -> io::Result<Vec<(PathBuf, PathBuf)>> {
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

/// Names what is left of a run whose log is gone.
fn left_in(folder: &RunDir) -> String {
    let entries = fs::read_dir(folder.path()).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    let saved = Checkpoint::load(&folder.checkpoint());
    let saved = saved.map_or_else(String::new, |checkpoint| format!(" (of event {})", checkpoint.seq));
    names.iter_mut().filter(|name| *name == "checkpoint").for_each(|name| name.push_str(&saved));
    names.join(", ")
}
