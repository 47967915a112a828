//! Modes, stamps and paths of files: what the code of every system shares.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};

/// Mask of the file type in a mode, with the numbers of git and Unix.
pub const TYPE: u32 = 0o170_000;
/// A folder.
pub const FOLDER: u32 = 0o040_000;
/// A file, with its permissions.
pub const FILE: u32 = 0o100_000;
/// A symbolic link.
pub const LINK: u32 = 0o120_000;

/// Attributes of a file or folder, by their names.
pub type Xattrs = BTreeMap<Vec<u8>, Vec<u8>>;

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

/// Returns the range from a position to the end of a file as content, if its holes are unknown.
pub(super) fn all_content(mut file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    file.seek(SeekFrom::Start(from))?;
    Ok((from < size).then_some((from, size)))
}

/// Returns the names that a path goes through.
pub(super) fn steps(path: &[u8]) -> impl Iterator<Item = &[u8]> {
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
