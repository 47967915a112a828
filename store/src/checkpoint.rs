//! A saved fold with its position: a cache of the store, never the source of truth.
//!
//! It lets a resume fold only the tail, and lets an opening verify only the tail of the chain. Whatever
//! does not match (a flipped bit, another reducer, another chain) makes it as if it were not there.

use std::io;
use std::path::Path;

use unstuck_core::id::{Digest, Seq};

use unstuck_files::durable;
use unstuck_files::safe_open;

/// A saved fold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The last event that was folded.
    pub seq: Seq,
    /// Hash of that event's record.
    pub hash: Digest,
    /// Version of the code that folded.
    pub reducer_version: u32,
    /// The state, in whatever form its owner chose.
    pub state: Vec<u8>,
}

const MAGIC: [u8; 8] = *b"UNSTCKP1";
const HEADER_LEN: usize = 8 + 8 + 32 + 4;

impl Checkpoint {
    /// Returns the checkpoint at `path`; `None` if there is none or it is damaged.
    pub fn load(path: &Path) -> Option<Self> {
        let bytes = safe_open::read(path).ok()?;
        let (content, checksum) = bytes.split_at_checked(bytes.len().checked_sub(32)?)?;
        if Digest::sha256(content).0 != checksum {
            return None;
        }
        let (header, state) = content.split_at_checked(HEADER_LEN)?;
        let rest = header.strip_prefix(&MAGIC)?;
        Some(Self {
            seq: Seq(u64::from_le_bytes(rest[..8].try_into().ok()?)),
            hash: Digest(rest[8..40].try_into().ok()?),
            reducer_version: u32::from_le_bytes(rest[40..44].try_into().ok()?),
            state: state.to_vec(),
        })
    }

    /// Replaces the checkpoint at `path` in one step.
    ///
    /// # Errors
    ///
    /// As the system says.
    pub fn save(&self, path: &Path) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEADER_LEN + self.state.len() + 32);
        bytes.extend_from_slice(&MAGIC);
        bytes.extend_from_slice(&self.seq.0.to_le_bytes());
        bytes.extend_from_slice(&self.hash.0);
        bytes.extend_from_slice(&self.reducer_version.to_le_bytes());
        bytes.extend_from_slice(&self.state);
        let checksum = Digest::sha256(&bytes);
        bytes.extend_from_slice(&checksum.0);
        durable::replace(path, &bytes)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn it_reads_back_and_any_damage_makes_it_absent() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        assert_eq!(Checkpoint::load(&path), None);
        let one =
            Checkpoint { seq: Seq(9), hash: Digest::sha256(b"x"), reducer_version: 3, state: vec![1, 2, 3] };
        one.save(&path).unwrap();
        one.save(&path).unwrap();
        assert_eq!(Checkpoint::load(&path), Some(one));
        let good = fs::read(&path).unwrap();
        for at in 0..good.len() {
            let mut flipped = good.clone();
            flipped[at] ^= 4;
            fs::write(&path, &flipped).unwrap();
            assert_eq!(Checkpoint::load(&path), None, "byte {at}");
            fs::write(&path, &good[..at]).unwrap();
            assert_eq!(Checkpoint::load(&path), None, "cut at {at}");
        }
    }
}
