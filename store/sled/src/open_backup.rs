//! Store and mirror as they were before they were opened, to restore them if the opening fails.
//!
//! The engine writes to its files while it opens them, and overwrites data that it cannot read: a damaged database has
//! less data afterwards. The mirror is completed before, and may be repaired after.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use unstuck_files::durable;
use unstuck_files::safe_open::{self, FileError};

use unstuck_store::mirror::Tail;
use unstuck_store::run_dir::RunDir;

/// Maximum bytes of a store that are copied: some 100,000 events, in less than a tenth of a second.
const COPY_MAX: u64 = 64 << 20;

/// Data to restore.
pub(crate) struct OpenBackup {
    store: PathBuf,
    was_there: bool,
    /// A copy of the store; `None` if there was none, no room for one, or the store is too large.
    copy: Option<PathBuf>,
    mirror: PathBuf,
    /// `None` where there was no mirror.
    lines: Option<MirrorTail>,
}

/// The end of a mirror.
struct MirrorTail {
    /// Length of its complete lines, in bytes.
    whole: u64,
    /// Bytes after them.
    rest: Vec<u8>,
}

impl OpenBackup {
    /// Makes a backup of what there is.
    pub(crate) fn create(folder: &RunDir) -> Result<Self, FileError> {
        Self::create_up_to(folder, COPY_MAX)
    }

    fn create_up_to(folder: &RunDir, most: u64) -> Result<Self, FileError> {
        let (store, copy, mirror) = (folder.store(), folder.store_before(), folder.mirror());
        // Copy of a process that died while it opened the log. It was not synced, so it may be incomplete.
        remove_if_there(fs::remove_dir_all(&copy)).map_err(FileError::at(&copy))?;
        let lines = MirrorTail::read(&mirror).map_err(FileError::at(&mirror))?;
        // An error here must not look like a missing store, which `restore` would remove.
        let was_there = match fs::metadata(&store) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            seen => seen.map_err(FileError::at(&store))?.is_dir(),
        };
        let mut backup = Self { store, was_there, copy: None, mirror, lines };
        if was_there && size_of(&backup.store)? <= most {
            let copied = copy_folder(&backup.store, &copy);
            backup.copy = Some(copy);
            if let Err(error) = copied {
                backup.discard_copy().map_err(FileError::at(&backup.store))?;
                return if is_out_of_room(&error.source) { Ok(backup) } else { Err(error) };
            }
        }
        Ok(backup)
    }

    /// Makes store and mirror what they were, and says whether it did: without a copy of the store, what the mirror got from
    /// it may be nowhere else by now. `aside` is where the mirror was moved to, if it was. The database is closed.
    pub(crate) fn restore(mut self, aside: Option<&Path>) -> Result<bool, FileError> {
        match &self.copy {
            None if self.was_there => return Ok(false),
            Some(copy) => restore_folder(&self.store, copy).inspect_err(|_| {
                // A copy under its own name is removed by the next opening.
                let _best_effort = durable::set_aside(copy, "kept");
            })?,
            None if self.store.is_dir() => {
                fs::remove_dir_all(&self.store).map_err(FileError::at(&self.store))?;
            }
            None => {}
        }
        let mirror = match (aside, &self.lines) {
            (Some(aside), _) => fs::rename(aside, &self.mirror),
            (None, Some(lines)) => lines.restore(&self.mirror),
            (None, None) => remove_if_there(fs::remove_file(&self.mirror)),
        };
        mirror.map_err(FileError::at(&self.mirror))?;
        self.discard_copy().map_err(FileError::at(&self.store)).map(|()| true)
    }

    /// Removes the copy: the log is open.
    pub(crate) fn discard(mut self) -> io::Result<()> {
        self.discard_copy()
    }

    fn discard_copy(&mut self) -> io::Result<()> {
        self.copy.take().map_or(Ok(()), |copy| remove_if_there(fs::remove_dir_all(copy)))
    }
}

fn is_out_of_room(error: &io::Error) -> bool {
    use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
    matches!(error.kind(), StorageFull | QuotaExceeded | FileTooLarge)
}

impl MirrorTail {
    fn read(mirror: &Path) -> io::Result<Option<Self>> {
        let whole = Tail::read(mirror)?.whole;
        match safe_open::open(mirror) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            file => Ok(Some(Self { whole, rest: safe_open::rest_of(file?, whole)? })),
        }
    }

    fn restore(&self, mirror: &Path) -> io::Result<()> {
        let mut file = safe_open::open_with(fs::OpenOptions::new().append(true), mirror)?;
        file.set_len(self.whole)?;
        file.write_all(&self.rest)
    }
}

/// Makes a folder hold what its copy does. The folder itself stays: it may be a link to one.
fn restore_folder(folder: &Path, copy: &Path) -> Result<(), FileError> {
    for entry in fs::read_dir(folder).map_err(FileError::at(folder))? {
        let path = entry.map_err(FileError::at(folder))?.path();
        let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
        removed.map_err(FileError::at(&path))?;
    }
    copy_folder(copy, folder)
}

fn remove_if_there(removed: io::Result<()>) -> io::Result<()> {
    removed.or_else(|error| if error.kind() == io::ErrorKind::NotFound { Ok(()) } else { Err(error) })
}

/// Returns how many bytes the files of a folder and of those below it hold.
fn size_of(folder: &Path) -> Result<u64, FileError> {
    let mut size = 0;
    for entry in fs::read_dir(folder).map_err(FileError::at(folder))? {
        let entry = entry.map_err(FileError::at(folder))?;
        match entry.metadata() {
            // A database that is just being closed removes files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            seen if seen.as_ref().is_ok_and(fs::Metadata::is_dir) => size += size_of(&entry.path())?,
            seen => size += seen.map_err(FileError::at(&entry.path()))?.len(),
        }
    }
    Ok(size)
}

/// Copies the files of a folder and of those below it.
fn copy_folder(from: &Path, to: &Path) -> Result<(), FileError> {
    durable::create_last_folder(to).map_err(FileError::at(to))?;
    for entry in fs::read_dir(from).map_err(FileError::at(from))? {
        let entry = entry.map_err(FileError::at(from))?;
        let (path, copy) = (entry.path(), to.join(entry.file_name()));
        if entry.file_type().map_err(FileError::at(&path))?.is_dir() {
            copy_folder(&path, &copy)?;
            continue;
        }
        match safe_open::open(&path) {
            // A database that is just being closed removes files.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            file => file
                .and_then(|mut file| io::copy(&mut file, &mut File::create_new(&copy)?).map(drop))
                .map_err(FileError::at(&path))?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn store_and_mirror_are_restored_unless_the_store_is_too_large() {
        let check = |most: u64, lines: Option<&str>, is_restored: bool| {
            let keep = tempfile::tempdir().unwrap();
            let folder = RunDir::new(keep.path(), "0123456789ab".into());
            let inner = folder.store().join("blobs");
            fs::create_dir_all(&inner).unwrap();
            fs::write(folder.data_file(), "records").unwrap();
            fs::write(inner.join("1"), "page").unwrap();
            lines.into_iter().for_each(|lines| fs::write(folder.mirror(), lines).unwrap());
            let backup = OpenBackup::create_up_to(&folder, most).unwrap();
            fs::write(folder.data_file(), "other").unwrap();
            fs::write(folder.store().join("snap.1"), "new").unwrap();
            fs::remove_file(inner.join("1")).unwrap();
            fs::write(folder.mirror(), "more lines\n").unwrap();
            assert_eq!(backup.restore(None).unwrap(), is_restored);
            let read = |path: PathBuf| fs::read_to_string(path).ok();
            let db = if is_restored { "records" } else { "other" };
            assert_eq!(read(folder.data_file()).as_deref(), Some(db));
            assert_eq!(inner.join("1").exists(), is_restored);
            assert_eq!(folder.store().join("snap.1").exists(), !is_restored);
            let mirror = if is_restored { lines } else { Some("more lines\n") };
            assert_eq!(read(folder.mirror()).as_deref(), mirror);
            assert!(!folder.store_before().exists());
        };
        check(11, None, true);
        check(11, Some(""), true);
        check(11, Some("torn"), true);
        check(10, Some("torn"), false);
    }
}
