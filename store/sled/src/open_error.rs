//! Why a log cannot be opened, with what is left of it.

use std::io;

use unstuck_core::id::Seq;
use unstuck_files::safe_open::FileError;
use unstuck_store::blobs::DirBlobs;
use unstuck_store::event_store::ReadError;
use unstuck_store::recovery::{OpenError, Repair, SalvageState};
use unstuck_store::run_dir::RunDir;

use crate::database::EngineError;
use crate::salvage;

/// The message about a log that had events.
pub(crate) const NO_EVENT: &str = "neither events.jsonl nor a file of the store holds a whole event";

pub(crate) fn in_file(folder: &RunDir) -> impl Fn(FileError) -> OpenError {
    |FileError { path, source }| OpenError::Io { run: folder.run().to_string(), path, source }
}

/// Returns the error of a log that cannot be read to its end.
pub(crate) fn from_read(folder: &RunDir, error: ReadError) -> OpenError {
    match error {
        ReadError::Corrupt { at, detail } => corrupt(folder, at, detail),
        ReadError::Newer { detail, .. } => OpenError::NewerVersion { run: folder.run().to_string(), detail },
        ReadError::BlobMissing { at, blob, source } => {
            let detail = format!("its payload, blob {}, cannot be read: {source}", blob.digest);
            corrupt(folder, at, detail)
        }
        ReadError::Behind { after, .. } => corrupt(folder, after.next(), error.to_string()),
        ReadError::EngineFailed { at: Some(at), detail } => corrupt(folder, at, detail),
        ReadError::EngineFailed { at: None, detail } => damaged(folder, detail),
        ReadError::Io { source, .. } => OpenError::io(folder)(source),
        other => OpenError::Unreadable { run: folder.run().to_string(), detail: other.to_string() },
    }
}

pub(crate) fn corrupt(folder: &RunDir, at: Seq, detail: String) -> OpenError {
    let (run, rest) = (folder.run().to_string(), rest_of(folder));
    OpenError::Corrupt { run, at, detail, rest, is_as_before: true }
}

/// Says whether the files were read, and refused for what is in them.
pub(crate) fn is_of_damage(error: &OpenError) -> bool {
    matches!(error, OpenError::Corrupt { .. } | OpenError::Damaged { .. } | OpenError::NewerVersion { .. })
}

/// Returns the error with the events that a rebuild of the store would restore now.
pub(crate) fn revalidate(mut error: OpenError, folder: &RunDir, is_restored: bool) -> OpenError {
    if let OpenError::Corrupt { rest, is_as_before, .. } | OpenError::Damaged { rest, is_as_before, .. } =
        &mut error
    {
        (*rest, *is_as_before) = (rest_of(folder), is_restored);
    }
    error
}

fn damaged(folder: &RunDir, detail: String) -> OpenError {
    let (run, rest) = (folder.run().to_string(), rest_of(folder));
    OpenError::Damaged { run, detail, rest, is_as_before: true }
}

pub(crate) fn from_engine(folder: &RunDir, error: EngineError) -> OpenError {
    match error {
        EngineError::Locked => OpenError::Locked { run: folder.run().to_string(), holder: None },
        EngineError::Io(source) => in_file(folder)(FileError { path: folder.data_file(), source }),
        EngineError::InFile(error) => in_file(folder)(error),
        broken => damaged(folder, broken.to_string()),
    }
}

/// Returns which events of a log are intact. No process may write the log.
fn rest_of(folder: &RunDir) -> SalvageState {
    match salvage::write(folder, &DirBlobs::new(folder.blobs()), &mut io::sink()) {
        Ok(merged) if merged.head.seq == Seq(0) => SalvageState::Empty,
        Ok(merged) if merged.lost().is_some() => SalvageState::Truncated,
        Ok(_) => SalvageState::Complete,
        Err(error) => SalvageState::Unreadable(error.hint().unwrap_or_default()),
    }
}

/// Names the events after `after` up to `known`, if there are any.
pub(crate) fn lost_range(after: Seq, known: Seq, why: &str) -> Option<Repair> {
    let dropped = Repair::TailDropped { after, known: Some(known), aside: None, why: why.to_owned() };
    (after < known).then_some(dropped)
}
