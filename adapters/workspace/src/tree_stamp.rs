//! A stamp of all files of a folder, by size and times, including ignored files and files elsewhere that links lead to.
//!
//! A snapshot leaves out ignored files, but a command can read them. The stamp opens no files, so it costs much less
//! than running a command again.

use std::collections::BTreeSet;
use std::fs::Metadata;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use unstuck_core::id::Digest;

/// Maximum number of files. A larger folder has no stamp, so it never counts as unchanged.
const FILES_MAX: usize = 50_000;

/// Returns a digest of the files below a folder. It changes when one of them, or a file elsewhere that a link leads to,
/// is written, added, removed or renamed. Skips the folders in `without`. Returns `None` if there are too many files,
/// or if one cannot be examined.
pub fn stamp(root: &Path, without: &[PathBuf]) -> Option<Digest> {
    let mut hasher = Sha256::new();
    let mut folders = vec![root.to_owned()];
    // Folders by their own paths, so that no link is followed in circles.
    let mut elsewhere: BTreeSet<PathBuf> = BTreeSet::new();
    let own = root.canonicalize().ok()?;
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        let mut names: Vec<PathBuf> =
            std::fs::read_dir(&folder).ok()?.map(|entry| Some(entry.ok()?.path())).collect::<Option<_>>()?;
        names.sort();
        for path in names.into_iter().filter(|path| !without.contains(path)) {
            files += 1;
            let metadata = std::fs::symlink_metadata(&path).ok()?;
            if files > FILES_MAX {
                return None;
            }
            hasher.update(path.as_os_str().as_encoded_bytes());
            hasher.update([0]);
            if metadata.is_dir() {
                folders.push(path);
                continue;
            }
            hasher.update(metadata_bytes(&metadata));
            // A link that leads nowhere says so itself.
            let target = metadata.is_symlink().then(|| path.metadata().ok()).flatten();
            match target {
                Some(target) if target.is_dir() => {
                    let place = path.canonicalize().ok()?;
                    if !place.starts_with(&own) && elsewhere.insert(place) {
                        folders.push(path);
                    }
                }
                Some(target) => hasher.update(metadata_bytes(&target)),
                None => {}
            }
        }
    }
    Some(Digest(hasher.finalize().into()))
}

/// Nothing that writes a file can leave its change time as it was.
#[cfg(unix)]
fn metadata_bytes(metadata: &Metadata) -> Vec<u8> {
    use std::os::unix::fs::MetadataExt as _;
    let parts = [
        metadata.ino() as i64,
        metadata.size() as i64,
        i64::from(metadata.mode()),
        metadata.mtime(),
        metadata.mtime_nsec(),
        metadata.ctime(),
        metadata.ctime_nsec(),
    ];
    parts.iter().flat_map(|part| part.to_le_bytes()).collect()
}

#[cfg(not(unix))]
fn metadata_bytes(metadata: &Metadata) -> Vec<u8> {
    let modified = metadata.modified().ok().and_then(|time| time.duration_since(std::time::UNIX_EPOCH).ok());
    let nanoseconds = modified.map_or(0, |since| since.as_nanos());
    [u128::from(metadata.len()), nanoseconds].iter().flat_map(|part| part.to_le_bytes()).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[cfg(unix)]
    #[test]
    fn linked_files_elsewhere_change_the_stamp() {
        use std::os::unix::fs::symlink;
        let (folder, other) =
            (tempfile::tempdir().expect("a folder"), tempfile::tempdir().expect("a folder"));
        let (root, data) = (folder.path(), other.path());
        fs::create_dir(data.join("deep")).expect("ours");
        for (name, target) in [
            ("data", data.to_owned()),
            ("again", data.to_owned()),
            ("file", data.join("f")),
            ("self", root.to_owned()),
        ] {
            symlink(target, root.join(name)).expect("ours");
        }
        symlink(data, data.join("deep/circle")).expect("ours");
        let now = || stamp(root, &[]).expect("few files");
        let mut last = now();
        for (name, text) in [("f", "1"), ("deep/g", "1"), ("f", "2"), ("deep/g", "2")] {
            std::thread::sleep(std::time::Duration::from_millis(20)); // The clock of a file system is coarse.
            fs::write(data.join(name), text).expect("ours");
            assert_ne!(last, now(), "{name} {text}");
            last = now();
        }
        assert_eq!(last, now());
    }

    #[test]
    fn each_change_of_a_file_changes_the_stamp_and_nothing_else_does() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let root = folder.path();
        fs::create_dir_all(root.join("target/deep")).expect("ours");
        fs::create_dir(root.join("context")).expect("ours");
        fs::write(root.join("target/deep/a"), "1").expect("ours");
        let without = [root.join("context")];
        let now = || stamp(root, &without).expect("few files");
        let mut last = now();
        assert_eq!(last, now());
        fs::write(root.join("context/log"), "x").expect("ours");
        assert_eq!(last, now(), "what is left out");
        let change = |what| match what {
            "written" => fs::write(root.join("target/deep/a"), "2"),
            "added" => fs::write(root.join("target/b"), ""),
            "renamed" => fs::rename(root.join("target/b"), root.join("target/c")),
            _ => fs::remove_file(root.join("target/c")),
        };
        for what in ["written", "added", "renamed", "removed"] {
            std::thread::sleep(std::time::Duration::from_millis(20)); // The clock of a file system is coarse.
            change(what).expect("ours");
            assert_ne!(last, now(), "{what}");
            last = now();
        }
    }
}
