//! The permissions of folders, for which the trees of git have no place.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use unstuck_files::safe_dir::{self, SafeDir};

/// The mode of a folder that is not listed.
const USUAL: u32 = 0o755;
/// The stored bits of a mode: access rights, the group of new files (set-group-ID), and who can remove files (sticky).
const BITS: u32 = 0o3777;
/// The first line of a list, possibly the only one.
const HEAD: &[u8] = b"folders\n";

/// The permissions of the folders of a snapshot, without folders that have the usual ones. `None` if they were not
/// stored.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct FolderModes(Option<BTreeMap<Vec<u8>, u32>>);

impl FolderModes {
    /// Takes paths and modes; the path of the workspace itself is empty.
    pub(super) fn new<'a>(folders: impl Iterator<Item = (&'a [u8], u32)>) -> Self {
        let bits = folders.map(|(path, mode)| (path.to_vec(), mode & BITS));
        Self(Some(bits.filter(|(_, bits)| *bits != USUAL).collect()))
    }

    pub(super) fn encode(&self) -> Vec<u8> {
        let Self(Some(unusual)) = self else { return Vec::new() };
        let lines =
            unusual.iter().map(|(path, bits)| [format!("{bits:o} ").as_bytes(), path, b"\0"].concat());
        [HEAD.to_vec()].into_iter().chain(lines).flatten().collect() // no read
    }

    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self(None));
        }
        let mut unusual = BTreeMap::new();
        for field in bytes.strip_prefix(HEAD)?.split_inclusive(|&byte| byte == 0) {
            let (bits, path) = field.strip_suffix(b"\0")?.split_at_checked(memchr::memchr(b' ', field)?)?;
            let bits = u32::from_str_radix(str::from_utf8(bits).ok()?, 8).ok()?; // no read
            unusual.insert(path[1..].to_vec(), bits & BITS);
        }
        Some(Self(Some(unusual)))
    }

    /// Returns the permissions of a folder of the snapshot.
    pub(super) fn get(&self, folder: &[u8]) -> Option<u32> {
        let unusual = self.0.as_ref()?;
        Some(unusual.get(folder).copied().unwrap_or(USUAL))
    }

    /// Returns the permissions of the folders below another one, with their paths from there.
    pub(super) fn below(&self, folder: &[u8]) -> Self {
        let all = self.0.iter().flatten(); // no read
        let below = all.filter(|(path, _)| path.len() > folder.len() && safe_dir::is_within(path, folder));
        let below = below.map(|(path, bits)| (path[folder.len() + 1..].to_vec(), *bits));
        Self(self.0.as_ref().map(|_| below.collect()))
    }

    /// Returns the folders with other permissions in another snapshot, or missing there, with the permissions there.
    pub(super) fn differing(&self, other: &Self) -> BTreeMap<Vec<u8>, u32> {
        let (Self(Some(one)), Self(Some(two))) = (self, other) else { return BTreeMap::new() };
        let paths = one.keys().chain(two.keys());
        let there = paths.filter_map(|path| Some((path.clone(), other.get(path)?)));
        there.filter(|(path, bits)| self.get(path) != Some(*bits)).collect()
    }
}

/// Gives folders permissions before something is put in them, the outer ones first: their owner may do all, others what they may
/// in the end.
pub(super) fn apply_writable(root: &SafeDir, folders: &BTreeMap<Vec<u8>, u32>) {
    const OWNER: u32 = 0o700;
    for (path, bits) in folders {
        let _tried_again_for_good = apply_one(root, path, bits | OWNER);
    }
}

/// Gives folders permissions for good, the inner ones first. Returns those that have them.
pub(super) fn apply(root: &SafeDir, folders: &BTreeMap<Vec<u8>, u32>) -> Vec<PathBuf> {
    let given = folders.iter().rev().filter(|(path, bits)| apply_one(root, path, **bits).is_ok());
    given.map(|(path, _)| safe_dir::as_path(path).into_owned()).collect()
}

fn apply_one(root: &SafeDir, path: &[u8], bits: u32) -> io::Result<()> {
    root.open_below(path)?.set_permissions(bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_reads_back_and_only_what_is_unusual_is_on_it() {
        let folders = [(&b""[..], 0o40700), (b"a", 0o40755), (b"a b/c\n", 0o40700), (b"d", 0o41777)];
        let permissions = FolderModes::new(folders.into_iter());
        assert_eq!(permissions.encode(), b"folders\n700 \x00700 a b/c\n\x001777 d\0");
        for permissions in [permissions, FolderModes::new(std::iter::empty()), FolderModes::default()] {
            assert_eq!(FolderModes::decode(&permissions.encode()), Some(permissions));
        }
        for damaged in [&b"folders\n700 a"[..], b"folders\n7x0 a\0", b"folders\nx\0", b"700 a\0"] {
            assert_eq!(FolderModes::decode(damaged), None, "{}", damaged.escape_ascii());
        }
    }

    #[test]
    fn differing_folders_have_the_modes_of_the_other_snapshot() {
        let of = |folders: &[(&str, u32)]| {
            FolderModes::new(folders.iter().map(|(path, mode)| (path.as_bytes(), *mode)))
        };
        let (one, two) =
            (of(&[("a", 0o700), ("a/b", 0o700), ("d", 0o750)]), of(&[("a", 0o700), ("c", 0o500)]));
        let expected = [("a/b", 0o755), ("c", 0o500), ("d", 0o755)];
        assert_eq!(one.differing(&two), expected.map(|(path, bits)| (path.into(), bits)).into());
        assert_eq!(one.differing(&FolderModes::default()), BTreeMap::new());
        assert_eq!(
            (one.get(b"a"), one.below(b"a").get(b"b"), one.below(b"a").get(b"c")),
            (Some(0o700), Some(0o700), Some(0o755))
        );
    }
}
