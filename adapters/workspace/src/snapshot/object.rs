//! Objects of the store: contents and trees in git's format, with SHA-256 names. Does no I/O.

use std::cmp::Ordering;

use sha2::{Digest as _, Sha256};
use unstuck_core::id::Digest;

pub(super) use unstuck_files::safe_dir::{FILE, FOLDER, LINK, TYPE};

/// The type of an object, with its number in git's packs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ObjectKind {
    Tree = 2,
    Blob = 3,
}

impl ObjectKind {
    pub(super) fn from_number(number: u8) -> Option<Self> {
        [Self::Tree, Self::Blob].into_iter().find(|kind| *kind as u8 == number)
    }

    fn word(self) -> &'static str {
        match self {
            Self::Tree => "tree",
            Self::Blob => "blob",
        }
    }
}

/// Returns a hash that has seen what git puts before the content.
pub(super) fn hasher(kind: ObjectKind, size: u64) -> Sha256 {
    Sha256::new().chain_update(format!("{} {size}\0", kind.word()))
}

/// Returns the name of an object.
pub(super) fn name(kind: ObjectKind, content: &[u8]) -> Digest {
    Digest(hasher(kind, content.len() as u64).chain_update(content).finalize().into())
}

/// An entry of a tree.
///
/// Git knows two sets of permissions of a file. We keep all of them, which git reads without
/// complaint, because a `.env` that only its owner may read must come back as such, and nothing must run as another user
/// that did not do so before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TreeEntry {
    pub(super) mode: u32,
    pub(super) name: Vec<u8>,
    pub(super) id: Digest,
}

impl TreeEntry {
    pub(super) fn is_folder(&self) -> bool {
        self.mode & TYPE == FOLDER
    }
}

/// Writes a tree; sorts the entries as git wants them.
pub(super) fn encode(mut items: Vec<TreeEntry>) -> Vec<u8> {
    items.sort_unstable_by(git_order);
    let mut bytes = Vec::with_capacity(items.len() * 64);
    for item in items {
        bytes.extend_from_slice(format!("{:o} ", item.mode).as_bytes());
        bytes.extend_from_slice(&item.name);
        bytes.push(0);
        bytes.extend_from_slice(&item.id.0);
    }
    bytes
}

/// Reads a tree; `None` if it is none.
pub(super) fn decode(mut bytes: &[u8]) -> Option<Vec<TreeEntry>> {
    let mut items = Vec::new();
    while !bytes.is_empty() {
        let (mode, rest) = split_at_byte(bytes, b' ')?;
        let (name, rest) = split_at_byte(rest, 0)?;
        let (id, rest) = rest.split_at_checked(32)?;
        let mode = u32::from_str_radix(std::str::from_utf8(mode).ok()?, 8).ok()?; // no read
        let inner = name.is_empty() || name.contains(&b'/') || name == b"." || name == b"..";
        if inner {
            return None;
        }
        items.push(TreeEntry { mode, name: name.to_vec(), id: Digest(id.try_into().ok()?) }); // no read
        bytes = rest;
    }
    Some(items)
}

/// Orders paths so that what is in a folder follows the folder at once.
pub(super) fn path_order(a: &[u8], b: &[u8]) -> Ordering {
    let common = a.iter().zip(b).take_while(|(a, b)| a == b).count();
    // No name holds a zero byte.
    let rank = |path: &[u8]| path.get(common).map(|&byte| if byte == b'/' { 0 } else { byte });
    rank(a).cmp(&rank(b))
}

/// Folders sort as if their name ended in a slash.
fn git_order(a: &TreeEntry, b: &TreeEntry) -> Ordering {
    let key = |item: &TreeEntry| if item.is_folder() { Some(b'/') } else { None };
    a.name.iter().copied().chain(key(a)).cmp(b.name.iter().copied().chain(key(b)))
}

fn split_at_byte(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(at, bytes)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_git() {
        // `printf hello | git hash-object --stdin` and `git mktree </dev/null` in a SHA-256 repository.
        let hello = "8aec4e4876f854f688d0ebfc8f37598f38e5fd6903cccc850ca36591175aeb60";
        let nothing = "6ef19b41225c5369f1c104d45d8d85efa9b057b53b14b4b9b939dd74decc5321";
        assert_eq!(name(ObjectKind::Tree, b"").to_string(), nothing);
        assert_eq!(name(ObjectKind::Blob, b"hello").to_string(), hello);
    }

    #[test]
    fn a_tree_reads_back_and_what_leads_elsewhere_is_none() {
        let item = |mode, name: &[u8]| TreeEntry { mode, name: name.to_vec(), id: Digest::sha256(name) };
        let items = vec![item(FILE | 0o600, b"a.b"), item(FOLDER, b"a"), item(LINK, b"\xff\n")];
        let sorted = vec![items[0].clone(), items[1].clone(), items[2].clone()];
        assert_eq!(decode(&encode(items)), Some(sorted));
        for name in [&b".."[..], b".", b"", b"a/b"] {
            assert_eq!(decode(&encode(vec![item(FILE, name)])), None, "{name:?}");
        }
        assert_eq!(decode(b"100644 a\0short"), None);
    }

    #[test]
    fn folder_is_followed_directly_by_its_content() {
        let mut paths = [&b"a.b"[..], b"a/b", b"a", b"b", b"a/b/c", b"a/b.c", b"a\x01"];
        paths.sort_unstable_by(|a, b| path_order(a, b));
        assert_eq!(paths, [&b"a"[..], b"a/b", b"a/b/c", b"a/b.c", b"a\x01", b"a.b", b"b"]);
    }
}
