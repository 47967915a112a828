//! Reaches files and folders step by step from an open folder, so that no link is ever followed: a
//! worker may put one in place of any folder, at any time.

use std::fs::File;
use std::io::{self, Read as _};
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Dir, Mode, OFlags, Stat, fstat, openat, statat};

use super::object::{FILE, FOLDER, LINK, TYPE};

/// What the system says of a file without its content being read.
///
/// The time of the last change of the file's node (`ctime`) cannot be put back by `touch -r`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stamp {
    pub(super) device: u64,
    pub(super) node: u64,
    pub(super) size: u64,
    /// Nanoseconds since 1970; so is `changed`.
    pub(super) modified: i64,
    pub(super) changed: i64,
}

/// Mode and stamp.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// What it is, and the nine bits of permissions. Bits that give somebody else's rights are not
    /// kept: what is put back belongs to whoever puts it back.
    pub(super) mode: u32,
    pub(super) stamp: Stamp,
}

impl Seen {
    pub(super) fn is(&self, kind: u32) -> bool {
        self.mode & TYPE == kind
    }
}

#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
fn seen(stat: &Stat) -> Seen {
    let time = |seconds: i64, nanos: i64| seconds.wrapping_mul(1_000_000_000).wrapping_add(nanos);
    let stamp = Stamp {
        device: stat.st_dev as u64,
        node: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    };
    let mode = stat.st_mode as u32;
    let permissions = if mode & TYPE == FILE { mode & 0o777 } else { 0 };
    Seen { mode: mode & TYPE | permissions, stamp }
}

/// Opens the folder at `path`, which may be reached through links but is none.
pub(super) fn root(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, FOLDER_FLAGS, Mode::empty())?)
}

const FOLDER_FLAGS: OFlags =
    OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Opens a folder in a folder.
pub(super) fn open(at: impl AsFd, name: &[u8]) -> io::Result<OwnedFd> {
    Ok(openat(at, name, FOLDER_FLAGS, Mode::empty())?)
}

/// Opens the folder that `path` names below `root`; an empty path names `root` itself.
pub(super) fn open_below(root: impl AsFd, path: &[u8]) -> io::Result<OwnedFd> {
    let mut folder = open(root, b".")?;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        folder = open(&folder, name)?;
    }
    Ok(folder)
}

/// Opens a file for reading, without waiting for whoever may be at the other end of it.
pub(super) fn open_file(at: impl AsFd, name: &[u8]) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    Ok(File::from(openat(at, name, flags, Mode::empty())?))
}

/// Looks at something in a folder.
pub(super) fn look(at: impl AsFd, name: &[u8]) -> io::Result<Seen> {
    Ok(seen(&statat(at, name, AtFlags::SYMLINK_NOFOLLOW)?))
}

/// Looks at an open file.
pub(super) fn look_at(file: impl AsFd) -> io::Result<Seen> {
    Ok(seen(&fstat(file)?))
}

/// Returns the names in a folder, in no order.
pub(super) fn names(folder: impl AsFd) -> io::Result<Vec<Vec<u8>>> {
    let mut names = Vec::new();
    for entry in Dir::read_from(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if name != b"." && name != b".." {
            names.push(name.to_vec());
        }
    }
    Ok(names)
}

/// Returns where a link leads.
pub(super) fn read_link(at: impl AsFd, name: &[u8]) -> io::Result<Vec<u8>> {
    Ok(rustix::fs::readlinkat(at, name, Vec::new())?.into_bytes())
}

/// Returns the content of a regular file of at most `size_max` bytes; `None` if there is none such.
pub(super) fn read_small(at: impl AsFd, name: &[u8], size_max: u64) -> Option<Vec<u8>> {
    let file = open_file(at, name).ok()?;
    let seen = look_at(&file).ok()?;
    if !seen.is(FILE) || seen.stamp.size > size_max {
        return None;
    }
    let mut content = Vec::new();
    file.take(size_max).read_to_end(&mut content).ok()?;
    Some(content)
}

/// Splits a path into its folder and its name.
pub(super) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Returns the path of something in a folder.
pub(super) fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Says whether `path` is `folder` or below it.
pub(super) fn is_within(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Says whether a mode is of something whose content is kept.
pub(super) fn has_content(mode: u32) -> bool {
    matches!(mode & TYPE, FILE | LINK)
}

/// Says whether a mode is of a folder.
pub(super) fn is_folder(mode: u32) -> bool {
    mode & TYPE == FOLDER
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn no_link_is_followed() {
        let place = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(place.path().join("a/b")).unwrap();
        std::fs::write(place.path().join("a/file"), "text").unwrap();
        symlink("a", place.path().join("link")).unwrap();
        symlink("file", place.path().join("a/link")).unwrap();
        let root = root(place.path()).unwrap();
        assert!(open_below(&root, b"a/b").is_ok());
        for path in [&b"link"[..], b"link/b", b"a/link", b"absent", b"a/file"] {
            assert!(open_below(&root, path).is_err(), "{}", path.escape_ascii());
        }
        let folder = open(&root, b"a").unwrap();
        assert_eq!(read_small(&folder, b"file", 4), Some(b"text".to_vec()));
        assert_eq!(read_small(&folder, b"file", 3), None);
        assert_eq!(read_small(&folder, b"link", 9), None);
        assert_eq!(read_link(&folder, b"link").unwrap(), b"file");
    }
}
