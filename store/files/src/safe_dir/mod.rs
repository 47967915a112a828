//! Reaches files and folders step by step from an open folder, so that no link is ever followed: a
//! worker may put one in place of any folder, at any time.
//!
//! Paths below a folder are bytes with slashes, on every system. What is not here: which of them are of
//! interest, and what is done with their content.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};

use crate::Read;

#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

pub use platform::is_reached_without_links;
pub use platform::{
    SafeDir, as_bytes, as_path, attributes, has_another_name, is_awaited, let_owner_read, look_at,
    next_content, open_file, own_output, own_output_paths, set_attribute, set_permissions, share_content,
};

/// Mask of the file type in a mode, with the numbers of git and Unix.
pub const TYPE: u32 = 0o170_000;
/// A folder.
pub const FOLDER: u32 = 0o040_000;
/// A file, with its permissions.
pub const FILE: u32 = 0o100_000;
/// A symbolic link.
pub const LINK: u32 = 0o120_000;

/// Attributes of a file or folder, by their names.
pub type Attributes = BTreeMap<Vec<u8>, Vec<u8>>;

/// The attribute with the access list. Where there is one, the bits of the group in the mode are the most that anybody on the
/// list has.
pub const ACCESS_LIST: &[u8] = b"system.posix_acl_access";

/// The kind of the error where a path leads out of the folder, or through a link, which may. (The one
/// that Linux answers to such a path where it does the walk itself.)
pub const LEADS_OUT: io::ErrorKind = io::ErrorKind::CrossesDevices;

/// Returns the error of that kind.
pub fn leads_out() -> io::Error {
    io::Error::new(LEADS_OUT, "it leads out of the workspace, or through a link")
}

/// Metadata of a file that the system returns without reading its content.
///
/// The time of the last change of the file's node (`ctime`) cannot be restored by `touch -r`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ChangeStamp {
    /// Number of the device.
    pub device: u64,
    /// Number of the file on it.
    pub node: u64,
    /// In bytes.
    pub size: u64,
    /// Last change of the content, in nanoseconds since 1970.
    pub modified: i64,
    /// Last change of the content or the attributes, in nanoseconds since 1970.
    pub changed: i64,
}

/// Mode and stamp.
#[derive(Clone, Copy, Debug)]
pub struct FileMeta {
    /// File type, and the nine permission bits of a file or directory. Bits that grant the rights of another user are
    /// dropped: a restored file belongs to the user who restores it.
    pub mode: u32,
    /// Size, identity and times.
    pub stamp: ChangeStamp,
}

impl FileMeta {
    /// Returns whether it is of that type.
    pub fn is(&self, kind: u32) -> bool {
        self.mode & TYPE == kind
    }
}

impl SafeDir {
    /// Opens the folder `path` below this one, and creates what is missing of it.
    pub fn make_below(&self, path: &[u8]) -> io::Result<Self> {
        self.make_below_as(path, &|_| None)
    }

    /// The same; what is created gets the permissions that are known of its path, and its owner all.
    pub fn make_below_as(&self, path: &[u8], permissions: &dyn Fn(&[u8]) -> Option<u32>) -> io::Result<Self> {
        let (mut at, mut below) = (self.try_clone()?, Vec::new());
        for name in steps(path) {
            below = join(&below, name);
            at = match at.open(name) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    at.make(name)?;
                    at.own_like(&at, name)?;
                    let made = at.open(name)?;
                    permissions(&below).map_or(Ok(()), |bits| made.set_permissions(bits | 0o700))?;
                    made
                }
                opened => opened?,
            };
        }
        Ok(at)
    }

    /// Reads a regular file of at most `size_max` bytes. A link or a folder with its name is no such file.
    pub fn read_small(&self, name: &[u8], size_max: u64) -> Read<Vec<u8>> {
        let seen = Read::from_io(self.look(name));
        seen.and_then(|seen| if seen.is(FILE) { Read::from_io(self.open_file(name)) } else { Read::Absent })
            .and_then(|file| read_small(file, size_max))
    }
}

/// Reads a file if it is a regular one, and of at most `size_max` bytes.
pub fn read_small(mut file: File, size_max: u64) -> Read<Vec<u8>> {
    Read::from_io(look_at(&file)).and_then(|seen| {
        if !seen.is(FILE) {
            return Read::Absent;
        }
        if seen.stamp.size > size_max {
            return Read::Unreadable(format!("it is larger than {size_max} bytes"));
        }
        let mut content = Vec::new();
        Read::from_io((&mut file).take(size_max).read_to_end(&mut content).map(|_| content))
    })
}

/// Returns the range from a position to the end of a file as content, if its holes are unknown.
fn all_content(mut file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    file.seek(SeekFrom::Start(from))?;
    Ok((from < size).then_some((from, size)))
}

/// Returns the names that a path goes through.
fn steps(path: &[u8]) -> impl Iterator<Item = &[u8]> {
    path.split(|&byte| byte == b'/').filter(|name| !name.is_empty())
}

/// Splits a path into its folder and its name.
pub fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match memchr::memrchr(b'/', path) {
        Some(at) => (&path[..at], &path[at + 1..]),
        None => (&[], path),
    }
}

/// Returns the path of something in a folder.
pub fn join(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}

/// Says whether `path` is `folder` or below it.
pub fn is_within(path: &[u8], folder: &[u8]) -> bool {
    folder.is_empty()
        || path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
}

/// Says whether a mode is of something whose content is kept.
pub fn has_content(mode: u32) -> bool {
    matches!(mode & TYPE, FILE | LINK)
}

/// Says whether a mode is of a folder.
pub fn is_folder(mode: u32) -> bool {
    mode & TYPE == FOLDER
}

#[cfg(all(test, unix))]
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
        let root = SafeDir::root(place.path()).unwrap();
        assert!(root.open_below(b"a/b").is_ok());
        let cases = [
            (&b"link"[..], LEADS_OUT),
            (b"link/b", LEADS_OUT),
            (b"a/link", LEADS_OUT),
            (b"absent", io::ErrorKind::NotFound),
            (b"a/file", io::ErrorKind::NotADirectory),
            (b"a/file/b", io::ErrorKind::NotADirectory),
        ];
        for (path, expected) in cases {
            for opened in [root.open_below(path), root.step_below(path), root.make_below(path)] {
                match opened {
                    Err(error) => assert_eq!(error.kind(), expected, "{}", path.escape_ascii()),
                    Ok(_) => assert_eq!(path, b"absent"),
                }
            }
        }
        let folder = root.open(b"a").unwrap();
        let found = Read::Found(b"text".to_vec());
        for (name, size_max, expected) in [
            (&b"file"[..], 4, found),
            (b"file", 3, Read::Unreadable("it is larger than 3 bytes".to_owned())),
            (b"link", 9, Read::Absent),
            (b"absent", 9, Read::Absent),
            (b"file/below", 9, Read::Absent),
        ] {
            assert_eq!(folder.read_small(name, size_max), expected, "{}", name.escape_ascii());
        }
        assert_eq!(folder.read_link(b"link").unwrap(), b"file");
    }
}
