//! The places in a workspace where another file system is mounted.
//!
//! A walk does not go there: a mount has files of another place, and may be gone or replaced when files are restored. The
//! system has a list of all mounts, so a bind mount of the same device is on it, too, and so is one on a
//! file. Where there is no list, a folder on another device than the workspace counts.

use std::collections::BTreeSet;
use std::path::Path;

use unstuck_files::safe_dir::{self, FileMeta, SafeDir};

/// Where something is mounted in a workspace.
#[derive(Debug)]
pub(super) enum Mounts {
    /// The paths, from the root of the workspace.
    Listed(BTreeSet<Vec<u8>>),
    /// All that is known is the device of the workspace.
    Device(u64),
}

impl Mounts {
    /// Finds the mounts in a workspace, whose own folder is `root`.
    pub(super) fn find(workspace: &Path, root: &SafeDir) -> Self {
        let list = if cfg!(target_os = "linux") { std::fs::read("/proc/self/mountinfo").ok() } else { None }; // without it, devices tell
        match list {
            Some(list) => Self::Listed(parse_mounts(&list, &safe_dir::as_bytes(workspace))),
            None => Self::Device(root.metadata(b".").map_or(0, |seen| seen.stamp.device)),
        }
    }

    /// Says whether something is mounted at a path.
    pub(super) fn has(&self, path: &[u8], seen: &FileMeta) -> bool {
        match self {
            Self::Listed(paths) => paths.contains(path),
            Self::Device(device) => {
                safe_dir::is_folder(seen.mode) && *device != 0 && seen.stamp.device != *device
            }
        }
    }
}

/// Returns the paths below a folder in a list of mounts, as Linux prints it: the fifth field is the path, in which some
/// characters are octal numbers.
fn parse_mounts(list: &[u8], folder: &[u8]) -> BTreeSet<Vec<u8>> {
    let paths = list.split(|&byte| byte == b'\n').filter_map(|line| line.split(|&byte| byte == b' ').nth(4));
    let below = paths.map(unescape).filter_map(|path| {
        let rest = path.strip_prefix(folder)?;
        // The root of all ends with a slash, other folders do not.
        let rest = if folder.ends_with(b"/") { Some(rest) } else { rest.strip_prefix(b"/") };
        rest.filter(|rest| !rest.is_empty()).map(<[u8]>::to_vec)
    });
    below.collect()
}

fn unescape(field: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(field.len());
    let mut at = 0;
    while at < field.len() {
        let digits = field.get(at + 1..at + 4).filter(|_| field[at] == b'\\');
        let number = digits.and_then(|digits| u8::from_str_radix(str::from_utf8(digits).ok()?, 8).ok()); // no read
        bytes.push(number.unwrap_or(field[at]));
        at += if number.is_some() { 4 } else { 1 };
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_below_the_workspace_are_found_and_no_others() {
        let list = b"22 1 8:1 / / rw - ext4 /dev/a rw\n\
            23 22 8:1 /x /w/data rw shared:1 - ext4 /dev/a rw\n\
            24 22 0:5 / /w/a\\040b/c\\134d rw - tmpfs none rw\n\
            25 22 0:6 / /w rw - tmpfs none rw\n\
            26 22 0:7 / /wide rw - tmpfs none rw\nbroken\n";
        for (folder, expected) in [
            ("/w", vec!["a b/c\\d", "data"]),
            ("/w/data", vec![]),
            ("/wide", vec![]),
            ("/", vec!["w", "w/a b/c\\d", "w/data", "wide"]),
        ] {
            let expected: BTreeSet<Vec<u8>> =
                expected.into_iter().map(|path| path.as_bytes().to_vec()).collect();
            assert_eq!(parse_mounts(list, folder.as_bytes()), expected, "{folder}");
        }
    }
}
