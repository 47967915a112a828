//! Errors when a snapshot is taken, read or restored.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::id::Digest;
use unstuck_files::hint::for_io;

/// Why a snapshot operation failed.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
#[non_exhaustive]
pub enum SnapshotError {
    #[error("cannot {what} {}", path.display())]
    Io {
        what: &'static str,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
    #[error("cannot use the snapshots in {}: another process has been writing them for {waited_s} s", folder.display())]
    Busy { folder: PathBuf, waited_s: u64 },
    #[error("there is no object {id} among the snapshots in {}", folder.display())]
    Missing { id: Digest, folder: PathBuf },
    #[error("{} is damaged: {reason}", path.display())]
    Damaged { path: PathBuf, reason: String },
    #[error("{} was not made by this version: {reason}", folder.display())]
    Foreign { folder: PathBuf, reason: String },
    #[error(
        "\"{name}\" is no name for a snapshot: use letters, digits, \"-\", \"_\" and \".\", with \"/\" between parts"
    )]
    Name { name: String },
    #[error("cannot check a snapshot out to {}: it is not an empty folder", to.display())]
    NotEmpty { to: PathBuf },
}

/// The result of a snapshot operation.
pub(super) type SnapshotResult<T> = Result<T, SnapshotError>;

impl SnapshotError {
    /// Says whether there is no room on the disk.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if is_full(source))
    }

    /// Returns what to do about it, if something can be said.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Io { .. } if self.is_full() => {
                Some("free space on the disk; nothing in the workspace was changed".to_owned())
            }
            Self::Io { source, .. } => Some(format!("{}, then try again", for_io(source))),
            Self::Name { .. } => None,
            Self::Busy { folder, .. } => {
                Some(format!("find out who holds it: fuser {}", folder.join(LOCK).display()))
            }
            Self::Missing { .. } => Some(
                "an imported run has none, since exports hold no snapshots; else it was forgotten, or the folder was emptied. What was recorded: unstuck show".to_owned(),
            ),
            Self::Damaged { path, .. } => Some(format!(
                "move {} away to go on without the snapshots in it, or restore it from a backup",
                path.display()
            )),
            Self::Foreign { folder, .. } => {
                Some(format!("move {} away, or use the version that made it", folder.display()))
            }
            Self::NotEmpty { .. } => Some("name a folder that is not there yet".to_owned()),
        }
    }
}

/// Says what was being done to what when the system refused.
pub(super) fn io(what: &'static str, path: &Path) -> impl FnOnce(io::Error) -> SnapshotError {
    let path = path.to_owned();
    move |source| SnapshotError::Io { what, path, source }
}

/// Says whether the disk, or what the user may have of it, is full.
pub(super) fn is_full(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

/// Name of the file whose lock a writer holds.
pub(super) const LOCK: &str = "unstuck.lock";
