//! Drops objects that are kept of a repository and that newer packs hold as well.
//!
//! Each time git packs a repository again it writes all objects once more and deletes the old packs. Without this, each of
//! these would stay as a complete copy of the repository.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use unstuck_files::Read;

use unstuck_files::safe_dir::{FOLDER, SafeDir};

/// The largest index of a pack that is read: about three million objects.
const INDEX_BYTES_MAX: u64 = 96 * 1024 * 1024;

/// Drops from `kept`, the kept objects of a repository, all that its present packs hold, and the oldest of the packs that it no
/// longer has, beyond `bytes_max` or the size of its present packs. The newest of them stays.
pub(super) fn drop_from(kept: &SafeDir, objects: &SafeDir, bytes_max: u64) -> io::Result<()> {
    let (Some(own), Some(now)) = (open_folder(kept, b"pack")?, open_folder(objects, b"pack")?) else {
        return Ok(());
    };
    let now: BTreeSet<Vec<u8>> = now.names()?.into_iter().collect();
    let mut packs: BTreeMap<Vec<u8>, KeptPack> = BTreeMap::new();
    for name in own.names()? {
        let Some((stem, end)) = split_name(&name) else { continue };
        let pack = packs.entry(stem.to_vec()).or_default();
        if end == b"pack" {
            let stamp = own.metadata(&name)?.stamp;
            (pack.bytes, pack.modified) = (stamp.size, stamp.modified);
            pack.is_current = now.contains(&name);
        }
        pack.files.push(name);
    }
    let (current, old): (Vec<_>, Vec<_>) = packs.into_iter().partition(|(_, pack)| pack.is_current);
    if old.is_empty() && current.is_empty() {
        return Ok(());
    }
    let mut known = Vec::new();
    for (stem, _) in &current {
        known.extend(ObjectNames::read(&own, stem));
    }
    let is_known = |name: &[u8]| known.iter().any(|names| names.has(name));
    let mut stale = Vec::new();
    for (stem, pack) in old {
        match ObjectNames::read(&own, &stem) {
            Some(names) if names.all().all(is_known) => pack.remove(&own)?,
            _ => stale.push(pack),
        }
    }
    let bytes_now: u64 = current.iter().map(|(_, pack)| pack.bytes).sum();
    let mut left = bytes_max.max(bytes_now);
    stale.sort_by_key(|pack| std::cmp::Reverse(pack.modified));
    for (at, pack) in stale.iter().enumerate() {
        let fits = pack.bytes <= left;
        left = left.saturating_sub(pack.bytes);
        if at > 0 && !fits {
            pack.remove(&own)?;
        }
    }
    for two in kept.names()?.into_iter().filter(|name| name.len() == 2) {
        let Some(folder) = open_folder(kept, &two)? else { continue };
        let of_now = open_folder(objects, &two)?;
        for rest in folder.names()? {
            let is_there = match &of_now {
                Some(of_now) => !Read::from_io(of_now.metadata(&rest)).is_absent(),
                None => false,
            };
            let name = decode_hex(&[&two[..], &rest].concat());
            if !is_there && name.is_some_and(|name| is_known(&name)) {
                folder.remove_file(&rest)?;
            }
        }
    }
    Ok(())
}

/// Opens a folder; `None` if there is none.
fn open_folder(folder: &SafeDir, name: &[u8]) -> io::Result<Option<SafeDir>> {
    match Read::from_io(folder.metadata(name)) {
        Read::Found(seen) if seen.is(FOLDER) => folder.open(name).map(Some),
        Read::Found(_) | Read::Absent => Ok(None),
        Read::Unreadable(why) => Err(io::Error::other(why)),
    }
}

/// The files of a pack.
#[derive(Default)]
struct KeptPack {
    files: Vec<Vec<u8>>,
    bytes: u64,
    modified: i64,
    /// Whether the repository has it now.
    is_current: bool,
}

impl KeptPack {
    /// Removes it, the index last: without one a pack is none.
    fn remove(&self, from: &SafeDir) -> io::Result<()> {
        let (index, others): (Vec<_>, Vec<_>) = self.files.iter().partition(|name| name.ends_with(b".idx"));
        others.into_iter().chain(index).try_for_each(|name| from.remove_file(name))
    }
}

fn split_name(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let at = memchr::memrchr(b'.', name)?;
    name.starts_with(b"pack-").then(|| (&name[..at], &name[at + 1..]))
}

/// Returns the bytes of a name in hexadecimal digits.
fn decode_hex(name: &[u8]) -> Option<Vec<u8>> {
    let digits = std::str::from_utf8(name).ok()?; // no read
    let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok(); // no read
    (0..digits.len()).step_by(2).map(byte).collect()
}

/// The names of the objects in a pack, ordered.
struct ObjectNames {
    bytes: Vec<u8>,
    length: usize,
}

impl ObjectNames {
    /// Reads them from the index, version 2; `None` if it is none, or too large.
    fn read(packs: &SafeDir, stem: &[u8]) -> Option<Self> {
        const HEAD: usize = 8 + 1024;
        let index = packs.read_small(&[stem, b".idx"].concat(), INDEX_BYTES_MAX);
        let mut bytes = index.ok()?; // what is not known stays
        // A pack is called after 20 or 32 bytes, as its objects are.
        let length = stem.len().saturating_sub(b"pack-".len()) / 2;
        let count = bytes.get(HEAD - 4..HEAD).and_then(|bytes| bytes.try_into().ok()).map(u32::from_be_bytes); // no read
        let end = count.map(|count| HEAD + count as usize * length);
        let end = end.filter(|end| matches!(length, 20 | 32) && *end <= bytes.len())?;
        if !bytes.starts_with(b"\xfftOc\0\0\0\x02") {
            return None;
        }
        bytes.truncate(end);
        bytes.drain(..HEAD);
        Some(Self { bytes, length })
    }

    fn all(&self) -> impl Iterator<Item = &[u8]> {
        self.bytes.chunks_exact(self.length)
    }

    fn has(&self, name: &[u8]) -> bool {
        let at = |nth: usize| &self.bytes[nth * self.length..][..self.length];
        let (mut low, mut high) = (0, self.bytes.len() / self.length);
        while low < high {
            let middle = low.midpoint(high);
            match at(middle).cmp(name) {
                std::cmp::Ordering::Equal => return true,
                std::cmp::Ordering::Less => low = middle + 1,
                std::cmp::Ordering::Greater => high = middle,
            }
        }
        false
    }
}
