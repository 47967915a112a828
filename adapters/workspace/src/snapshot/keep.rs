//! Keeps snapshots under names, and removes the others.

use std::fs;
use std::io;
use std::path::Path;

use unstuck_core::id::Digest;
use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir;

use super::error::{SnapshotError, SnapshotResult, io as refused};
use super::index::Index;
use super::pack;
use super::snapshots::{INDEX, OBJECTS, Snapshots, WITHIN};
use super::store::ObjectStore;

impl Snapshots {
    /// Keeps a snapshot under a name like `<run>/<sequence number>`.
    ///
    /// # Errors
    ///
    /// The name has other characters than letters, digits, `-`, `_`, `.` and `/`; the snapshot is gone.
    pub fn keep(&self, name: &str, snapshot: &Snapshot) -> SnapshotResult<()> {
        check_name(name)?;
        let _lock = self.store.lock()?;
        self.store.tree(&snapshot.id)?;
        self.store.set_ref(name, &snapshot.id)
    }

    /// Forgets the snapshot in `folder` with this name, or all whose names start with it and a slash, and
    /// [frees](Self::free) the objects that no other snapshot needs. Returns how many were forgotten. The workspace
    /// does not have to exist.
    ///
    /// # Errors
    ///
    /// The name is invalid, or the store cannot be read or written.
    pub fn forget(folder: &Path, prefix: &str) -> SnapshotResult<usize> {
        let forgotten = Self::forget_names(folder, prefix)?;
        Self::free(folder, false)?;
        Ok(forgotten)
    }

    /// Returns about how many bytes a quiet [`Self::free`] would free if these names, and all below them, were
    /// forgotten.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub fn would_free(folder: &Path, prefixes: &[&str]) -> SnapshotResult<u64> {
        if !folder_exists(folder)? {
            return Ok(0);
        }
        let store = ObjectStore::open(folder)?;
        let is_meant = |name: &str| {
            let rest = prefixes.iter().filter_map(|prefix| name.strip_prefix(prefix));
            rest.into_iter().any(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let kept = store.refs()?.into_iter().filter(|(name, _)| !is_meant(name));
        let kept: Vec<Digest> = kept.map(|(_, id)| id).collect();
        let mut bytes = store.size_without(&kept)?;
        if kept.is_empty() {
            for own in store.own_folders()? {
                bytes += size_alone(&own).map_err(refused("look at", &own))?;
            }
        }
        Ok(bytes)
    }

    /// Forgets the names only, which needs no room on the disk.
    ///
    /// # Errors
    ///
    /// As [`Self::forget`].
    pub fn forget_names(folder: &Path, prefix: &str) -> SnapshotResult<usize> {
        check_name(prefix)?;
        if !folder_exists(folder)? {
            return Ok(0);
        }
        let store = ObjectStore::open(folder)?;
        let _lock = store.lock()?;
        let is_meant = |name: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut forgotten = store.refs()?;
        forgotten.retain(|(name, _)| is_meant(name));
        for (name, _) in &forgotten {
            store.remove_ref(name)?;
        }
        Ok(forgotten.len())
    }

    /// Removes objects in `folder` that no named snapshot has. The last snapshot of a workspace may be about to get a
    /// name, so it stays unless `is_quiet`, which means that no process takes snapshots now. On a full disk, removes as
    /// much as is possible without free space.
    ///
    /// # Errors
    ///
    /// The store cannot be read or written, or there is no room to rewrite a pack.
    pub fn free(folder: &Path, is_quiet: bool) -> SnapshotResult<()> {
        if !folder_exists(folder)? {
            return Ok(());
        }
        let store = ObjectStore::open(folder)?;
        let _lock = store.lock()?;
        let (kept, owns) = (store.refs()?, store.own_folders()?);
        if kept.is_empty() && is_quiet {
            // They name files of workspaces that have no other data here.
            for own in &owns {
                remove_folder(own)?;
            }
            return store.sweep(&[]);
        }
        if kept.is_empty() {
            let objects = owns.iter().flat_map(|own| [own.join(OBJECTS), own.join(WITHIN)]);
            for objects in objects {
                remove_folder(&objects)?;
            }
        }
        let mut roots: Vec<Digest> = kept.iter().map(|(_, id)| *id).collect();
        for index in owns.iter().filter(|_| !is_quiet).map(|own| own.join(INDEX)) {
            let latest = Index::root(&index).map_err(refused("read", &index))?;
            roots.extend(latest.filter(|id| store.has(id)));
        }
        store.sweep(&roots)
    }

    /// Reads snapshots with all that they refer to, each object once and up to so many bytes, and makes sure that each is what its
    /// name says. Returns how many objects were read.
    ///
    /// # Errors
    ///
    /// An object is damaged, or missing.
    pub fn check(&self, snapshots: &[Digest], bytes_max: u64) -> SnapshotResult<u64> {
        self.store.check(snapshots, bytes_max)
    }
}

/// Returns how large the files in a folder are that have no second name elsewhere: removing the others frees nothing.
///
/// # Errors
///
/// The folder cannot be read.
pub fn size_alone(folder: &Path) -> io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        bytes += match metadata.is_dir() {
            true => size_alone(&entry.path())?,
            false if safe_dir::has_another_name(&metadata) => 0,
            false => metadata.len(),
        };
    }
    Ok(bytes)
}

fn folder_exists(folder: &Path) -> SnapshotResult<bool> {
    folder.try_exists().map_err(refused("look at", folder))
}

/// Removes a folder with all in it, if there is one.
fn remove_folder(folder: &Path) -> SnapshotResult<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(refused("remove", folder)),
    }
}

fn check_name(name: &str) -> SnapshotResult<()> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with(".lock")
            && !part.ends_with('.')
            && !part.contains("..")
            && !part.starts_with(pack::TEMPORARY_PREFIX)
            && part.chars().all(is_plain)
    };
    if name.split('/').all(is_part) { Ok(()) } else { Err(SnapshotError::Name { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_snapshots_are_plain() {
        for (name, expected) in [
            ("3f2a/12", true),
            ("run.v2/step_1-a/7", true),
            ("", false),
            ("a//b", false),
            ("/a", false),
            ("../a", false),
            ("a/..", false),
            ("a/.b", false),
            ("-a", false),
            ("a.lock", false),
            ("a b", false),
            ("ä", false),
            ("tmp_1", false),
        ] {
            assert_eq!(check_name(name).is_ok(), expected, "{name:?}");
        }
    }
}
