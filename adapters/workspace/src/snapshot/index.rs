//! A cache of file contents at the last snapshot of a workspace, so that the next one reads only changed files.
//!
//! The cache has a checksum: if it is torn, of another version or missing, all files are read again. An entry is used
//! only if all metadata of the file are the same, and if the file was unchanged for a moment before it was read. A
//! clock has ticks, and two changes within one tick look the same. The time that counts is `ctime`, which no program
//! can set.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};
use unstuck_core::id::Digest;
use unstuck_files::Read;
use unstuck_files::safe_dir::{ChangeStamp, FileMeta};
use unstuck_files::safe_open;

use super::object::path_order;
use super::pack::TEMPORARY_PREFIX;

const MAGIC: &[u8; 8] = b"USINDEX1";
const FIXED_SIZE: usize = 4 + 4 + 5 * 8 + 32;

/// The content of a file when it was last read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CachedContent {
    pub(super) path: Vec<u8>,
    /// The type only; permissions are read every time.
    pub(super) kind: u32,
    pub(super) stamp: ChangeStamp,
    pub(super) id: Digest,
}

/// All known entries, ordered by path, and the snapshot that they come from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Index {
    pub(super) root: Digest,
    pub(super) known: Vec<CachedContent>,
}

impl Index {
    /// Reads the index; an empty one if there is none that can be believed.
    pub(super) fn read(path: &Path) -> Self {
        let bytes = Read::from_io(safe_open::read_large(path)).ok();
        bytes.and_then(|bytes| decode(&bytes)).unwrap_or_default() // a cache: without it all files are read
    }

    /// Writes the index. It may be lost with the power; then the next snapshot takes longer.
    pub(super) fn write(&self, path: &Path) -> io::Result<()> {
        let temporary = path.with_file_name(format!("{TEMPORARY_PREFIX}index"));
        let mut file = safe_open::create(&temporary)?;
        file.write_all(&encode(self))?;
        fs::rename(&temporary, path)
    }

    /// Reads which snapshot an index comes from, and nothing else; `None` if there is no index, or a damaged one.
    ///
    /// # Errors
    ///
    /// It cannot be read: a snapshot that nothing else names may depend on it.
    pub(super) fn root(path: &Path) -> io::Result<Option<Digest>> {
        let index = match Read::from_io(fs::read(path)) {
            Read::Found(bytes) => decode(&bytes),
            Read::Absent => None,
            Read::Unreadable(why) => return Err(io::Error::other(why)),
        };
        Ok(index
            .filter(|index| !index.known.is_empty() || index.root != Digest::default())
            .map(|index| index.root))
    }

    /// Returns what is known of a file, if nothing about it has changed. To be asked in the order of paths.
    pub(super) fn cursor(&self) -> impl FnMut(&[u8], FileMeta) -> Option<Digest> {
        let mut rest = self.known.as_slice();
        move |path, seen| {
            let passed = rest.iter().take_while(|known| path_order(&known.path, path).is_lt()).count();
            rest = &rest[passed..];
            let known = rest.first().filter(|known| known.path == path)?;
            (seen.is(known.kind) && known.stamp == seen.stamp).then_some(known.id)
        }
    }
}

/// Returns the time now, as stamps have it.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(); // no read
    i64::try_from(since.as_nanos()).unwrap_or(i64::MAX)
}

/// Returns whether another change of a file that was read at `read_at` would show in its metadata.
pub(super) fn is_settled(stamp: &ChangeStamp, read_at: i64) -> bool {
    /// Longer than a tick of any kernel.
    const TICK: i64 = 100_000_000;
    /// Some file systems count whole or even pairs of seconds.
    const COARSE_TICK: i64 = 2_100_000_000;
    const SECOND: i64 = 1_000_000_000;
    let tick = if stamp.changed % SECOND == 0 { COARSE_TICK } else { TICK };
    stamp.changed.saturating_add(tick) < read_at
}

fn encode(index: &Index) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(index.known.len() * (FIXED_SIZE + 40));
    bytes.extend(MAGIC);
    bytes.extend(index.root.0);
    for CachedContent { path, kind, stamp, id } in &index.known {
        bytes.extend((path.len() as u32).to_le_bytes());
        bytes.extend(kind.to_le_bytes());
        for number in [stamp.device, stamp.node, stamp.size] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(stamp.modified.to_le_bytes());
        bytes.extend(stamp.changed.to_le_bytes());
        bytes.extend(id.0);
        bytes.extend_from_slice(path);
    }
    let checksum = Sha256::digest(&bytes);
    bytes.extend(checksum);
    bytes
}

fn decode(bytes: &[u8]) -> Option<Index> {
    let (body, checksum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
    if Sha256::digest(body).as_slice() != checksum {
        return None;
    }
    let mut rest = FieldReader(body.strip_prefix(MAGIC)?);
    let root = Digest(rest.take()?);
    let mut known = Vec::new();
    while !rest.0.is_empty() {
        let size = u32::from_le_bytes(rest.take()?) as usize;
        let kind = u32::from_le_bytes(rest.take()?);
        let stamp = ChangeStamp {
            device: u64::from_le_bytes(rest.take()?),
            node: u64::from_le_bytes(rest.take()?),
            size: u64::from_le_bytes(rest.take()?),
            modified: i64::from_le_bytes(rest.take()?),
            changed: i64::from_le_bytes(rest.take()?),
        };
        let id = Digest(rest.take()?);
        let (path, after) = rest.0.split_at_checked(size)?;
        rest.0 = after;
        known.push(CachedContent { path: path.to_vec(), kind, stamp, id });
    }
    Some(Index { root, known })
}

struct FieldReader<'a>(&'a [u8]);

impl FieldReader<'_> {
    fn take<const SIZE: usize>(&mut self) -> Option<[u8; SIZE]> {
        let (field, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*field)
    }
}

#[cfg(test)]
mod tests {
    use super::super::object::{FILE, LINK};
    use super::*;

    fn known(path: &str, size: u64) -> CachedContent {
        let stamp = ChangeStamp { device: 1, node: 2, size, modified: -3, changed: 4 };
        CachedContent { path: path.into(), kind: FILE, stamp, id: Digest::sha256(path.as_bytes()) }
    }

    #[test]
    fn an_index_reads_back_and_a_damaged_one_is_empty() {
        let index = Index { root: Digest::sha256(b"root"), known: vec![known("a", 1), known("a/b\n", 2)] };
        let bytes = encode(&index);
        assert_eq!(decode(&bytes), Some(index));
        for at in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert_eq!(decode(&damaged), None, "byte {at}");
            assert_eq!(decode(&bytes[..at]), None, "cut at {at}");
        }
    }

    #[test]
    fn only_a_file_that_looks_the_same_is_believed() {
        let index = Index { root: Digest::default(), known: vec![known("a", 1), known("b", 2)] };
        let same = known("b", 2).stamp;
        for (path, mode, stamp, expected) in [
            ("b", FILE | 0o644, same, true),
            ("b", FILE | 0o600, same, true),
            ("b", LINK, same, false),
            ("b", FILE, ChangeStamp { changed: 5, ..same }, false),
            ("b", FILE, ChangeStamp { node: 5, ..same }, false),
            ("ab", FILE, same, false),
            ("c", FILE, same, false),
        ] {
            let found = index.cursor()(path.as_bytes(), FileMeta { mode, stamp });
            assert_eq!(found.is_some(), expected, "{path} {mode:o} {stamp:?}");
        }
    }

    #[test]
    fn a_file_that_was_changed_a_moment_ago_is_read_again() {
        const SECOND: i64 = 1_000_000_000;
        for (changed, read_at, expected) in [
            (5 * SECOND + 1, 5 * SECOND + 2, false),
            (5 * SECOND + 1, 5 * SECOND + 100_000_002, true),
            (5 * SECOND, 6 * SECOND, false),
            (5 * SECOND, 8 * SECOND, true),
            (9 * SECOND + 1, 5 * SECOND, false),
        ] {
            let stamp = ChangeStamp { changed, ..ChangeStamp::default() };
            assert_eq!(is_settled(&stamp, read_at), expected, "{changed} {read_at}");
        }
    }
}
