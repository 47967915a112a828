//! Makes files and names survive a loss of power: the few places where `fsync`, `rename` and the like are called.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::platform::{owner_only, sync_folder};
use crate::safe_open;

/// Creates `folder` and its missing parents, and makes the new names durable. Only the owner has access: outputs of
/// workers and contents of workspaces are private.
pub fn create_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    if let Some(parent) = parent(folder) {
        create_folder(parent)?;
    }
    create_last_folder(folder)
}

/// Creates `folder`, for its owner only, in an existing directory, and makes its name durable.
pub fn create_last_folder(folder: &Path) -> io::Result<()> {
    match owner_only(&mut fs::DirBuilder::new()).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && folder.is_dir() => Ok(()),
        // Report the type of the existing file instead of its existence.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            safe_open::check_folder(folder).and(Err(error))
        }
        Err(error) => Err(error),
        Ok(()) => parent(folder).map_or(Ok(()), sync_folder),
    }
}

fn parent(folder: &Path) -> Option<&Path> {
    folder.parent().filter(|parent| !parent.as_os_str().is_empty())
}

/// Replaces `path` by `bytes` in one step: a reader, now or after a crash, finds the old content or the new one. A
/// crash may leave a file in the same directory that [`is_unfinished`].
///
/// # Errors
///
/// As the system says; `path` is as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let temporary = temporary_beside(path);
    let written = File::create_new(&temporary).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    if let Err(error) = written.and_then(|()| fs::rename(&temporary, path)) {
        let _best_effort = fs::remove_file(&temporary);
        return Err(error);
    }
    path.parent().map_or(Ok(()), sync_folder)
}

/// Returns a name in the folder of `path` that nothing else uses.
pub fn temporary_beside(path: &Path) -> PathBuf {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    let name = || {
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        path.with_file_name(format!("{TEMPORARY_PREFIX}{}-{count}", std::process::id()))
    };
    // One that crashed may have had the number of this process, as the first of each container has.
    std::iter::repeat_with(name).find(|name| fs::symlink_metadata(name).is_err()).expect("numbers do not end")
}

/// Says whether a name is one that nothing keeps: of a file, or a folder, that was never finished.
pub fn is_unfinished(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}

const TEMPORARY_PREFIX: &str = ".tmp-";

/// Moves `path` to the first free name `<name>.<word>-<n>` in the same directory and returns that name.
pub fn set_aside(path: &Path, word: &str) -> io::Result<PathBuf> {
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let aside = (1..)
        .map(|n| path.with_file_name(format!("{name}.{word}-{n}")))
        .find(|aside| fs::symlink_metadata(aside).is_err())
        .unwrap_or_else(|| temporary_beside(path));
    fs::rename(path, &aside)?;
    path.parent().map_or(Ok(()), sync_folder)?;
    Ok(aside)
}
