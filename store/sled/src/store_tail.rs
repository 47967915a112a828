//! Events in the files of a store that the mirror lacks.
//!
//! The mirror is not synced, so a power loss can cut it. A reader takes no lock and cannot use the engine, and the
//! engine of a damaged store does not open. But the files of the store hold the records as they are, each with the
//! previous hash. Records that continue the chain of the mirror, up to the end of a batch, are found there whatever
//! else the files hold. Records after a gap reveal how many events existed.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::iter;
use std::ops::Range;
use std::panic;
use std::path::{Path, PathBuf};
use std::thread;

use memchr::memmem;
use unstuck_core::id::{Digest, Seq};
use unstuck_files::safe_open::{self, FileError};

use unstuck_store::event_store::Head;
use unstuck_store::record::{self, Header, MAGIC, RECORD_MAX, Record, RecordRef};
use unstuck_store::run_dir::RunDir;
use unstuck_store::run_log::{StoreTail, TailSource};

/// Bytes of a file to read at a time.
const CHUNK: usize = 1 << 20;
/// Maximum records to keep; after that, only the last number is known.
pub(crate) const RECORDS_MAX: usize = 10_000;

/// Minimum size of a part of a file that gets its own thread.
const PART_MIN: u64 = 8 << 20;
/// Maximum threads that read a file.
const PARTS_MAX: u64 = 8;

/// Maximum records of an incomplete batch at the end of the mirror.
const BATCH_START_MAX: u64 = 1_000;

/// The files of the engine.
pub(crate) struct SledFiles;

impl TailSource for SledFiles {
    fn read_after(&self, folder: &RunDir, last: Option<&Header>) -> Result<StoreTail, FileError> {
        read_after(folder, last)
    }
}

/// Returns what the files of the store have after `last`, the last record of the mirror.
pub(crate) fn read_after(folder: &RunDir, last: Option<&Header>) -> Result<StoreTail, FileError> {
    let head = last.map(Head::at).unwrap_or_default();
    let is_open_batch = last.is_some_and(|last| last.more > 0);
    let from = if is_open_batch { Seq(head.seq.0.saturating_sub(BATCH_START_MAX)) } else { head.seq };
    let tail = TailRecords::read(folder, from, head)?;
    let batch_start = if is_open_batch { tail.batch_start(head) } else { Some(Vec::new()) };
    let mut records = tail.continuing_chain(head);
    let end = records.last().map_or(head.seq, |last| last.header.seq);
    let known = if tail.last > end { tail.last } else { Seq(0) };
    // An incomplete batch at the very end was never acknowledged.
    let whole = records.iter().rposition(|record| record.header.more == 0).map_or(0, |last| last + 1);
    records.truncate(whole);
    Ok(StoreTail { batch_start, records, known })
}

/// Whole records of the files.
#[derive(Default)]
pub(crate) struct TailRecords {
    /// By their place; there may be several of which only one is in the chain.
    pub(crate) records: BTreeMap<Seq, Vec<Record>>,
    /// They are after this one.
    pub(crate) from: Seq,
    /// The place of the last one, whether it was kept or not.
    pub(crate) last: Seq,
}

impl TailRecords {
    /// Finds the records after `seq`. Those after the mirror's end that are of an earlier lease were given up before it.
    pub(crate) fn read(folder: &RunDir, seq: Seq, end: Head) -> Result<Self, FileError> {
        let mut tail = Self { from: seq, ..Self::default() };
        let is_kept = |record: &Record| record.header.seq <= end.seq || record.header.epoch >= end.epoch;
        safe_open::check_folder(&folder.store()).map_err(FileError::at(folder.path()))?;
        for path in files(folder).map_err(FileError::at(&folder.store()))? {
            match tail.read_file(&path, &|bytes| parse_record(bytes, seq).filter(is_kept)) {
                // The store does not exist yet, or the engine has removed the file.
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                read => read.map_err(FileError::at(&path))?,
            }
        }
        Ok(tail)
    }

    /// Adds what `parse` makes of the places of a file where one begins, in parts as there are processors.
    fn read_file(
        &mut self,
        path: &Path,
        parse: &(impl Fn(&[u8]) -> Option<Record> + Sync),
    ) -> io::Result<()> {
        let size = safe_open::open(path)?.metadata()?.len();
        let parts = match (size / PART_MIN).min(PARTS_MAX) {
            0 | 1 => 1,
            most => thread::available_parallelism().map_or(1, |count| most.min(count.get() as u64)),
        };
        let ends = |part| if part == parts { u64::MAX } else { size / parts * part };
        let parts = thread::scope(|scope| {
            let begin = |part| {
                let read = move || Self::read_part(path, ends(part)..ends(part + 1), parse);
                let thread = thread::Builder::new().name("unstuck-records".to_owned());
                thread.spawn_scoped(scope, read).map_err(|_| read())
            };
            let others: Vec<_> = (1..parts).map(begin).collect();
            let ended = others.into_iter().map(|other| match other {
                Ok(thread) => thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic)),
                Err(read_here) => read_here,
            });
            iter::once(Self::read_part(path, 0..ends(1), parse)).chain(ended).collect::<io::Result<Vec<_>>>()
        })?;
        for part in parts {
            self.last = self.last.max(part.last);
            part.records.into_values().flatten().for_each(|record| self.add(record));
        }
        Ok(())
    }

    /// Finds what begins in a part of a file.
    fn read_part(
        path: &Path,
        part: Range<u64>,
        parse: &impl Fn(&[u8]) -> Option<Record>,
    ) -> io::Result<Self> {
        let (mut tail, mut bytes, mut begin) = (Self::default(), Vec::new(), part.start);
        let mut file = safe_open::open(path)?;
        file.seek(SeekFrom::Start(begin))?;
        let magic = memmem::Finder::new(&MAGIC);
        loop {
            let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)?;
            // A record near the end is read again with the next chunk.
            let looked = if read == 0 { bytes.len() } else { bytes.len().saturating_sub(RECORD_MAX) };
            let is_looked_at = |at: &usize| *at < looked && begin + (*at as u64) < part.end;
            for at in magic.find_iter(&bytes).take_while(is_looked_at) {
                parse(&bytes[at..]).into_iter().for_each(|record| tail.add(record));
            }
            begin += looked as u64;
            if read == 0 || begin >= part.end {
                return Ok(tail);
            }
            bytes.drain(..looked);
        }
    }

    fn add(&mut self, record: Record) {
        self.last = self.last.max(record.header.seq);
        let alike = self.records.entry(record.header.seq).or_default();
        if !alike.contains(&record) {
            alike.push(record);
        }
        if self.records.len() > RECORDS_MAX {
            self.records.pop_last();
        }
    }

    /// Returns the records of a batch up to this one.
    fn batch_start(&self, mut head: Head) -> Option<Vec<Record>> {
        let mut batch = Vec::new();
        while head.seq > Seq(0) {
            let record = self.at(head.seq, head.hash)?;
            if record.header.more == 0 {
                break;
            }
            batch.push(record.clone());
            head = Head { seq: Seq(head.seq.0 - 1), hash: record.header.prev, ..head };
        }
        batch.reverse();
        Some(batch)
    }

    fn at(&self, seq: Seq, hash: Digest) -> Option<&Record> {
        self.records.get(&seq)?.iter().find(|record| record.header.hash == hash)
    }

    /// Returns the records that lead from `head` to the one with this number and hash, if all of them exist.
    pub(crate) fn between(&self, head: Head, mut seq: Seq, mut hash: Digest) -> Option<Vec<Record>> {
        let mut records = Vec::new();
        while seq > head.seq {
            let record = self.at(seq, hash)?;
            records.push(record.clone());
            (seq, hash) = (Seq(seq.0 - 1), record.header.prev);
        }
        records.reverse();
        (hash == head.hash).then_some(records)
    }

    /// Returns the records that continue a chain.
    pub(crate) fn continuing_chain(&self, mut head: Head) -> Vec<Record> {
        let mut chain = Vec::new();
        // Where a batch was given up and another one took its place, that one is of a later lease.
        let next = |head: Head| {
            let follows = |record: &&Record| record.header.prev == head.hash;
            let records = self.records.get(&head.seq.next())?.iter().filter(follows);
            records.max_by_key(|record| record.header.epoch)
        };
        while let Some(record) = next(head) {
            head = Head::at(&record.header);
            chain.push(record.clone());
        }
        chain
    }
}

/// Returns the files of the store that hold records: the database file, and the files of its large pages.
pub(crate) fn files(folder: &RunDir) -> io::Result<Vec<PathBuf>> {
    let pages = match fs::read_dir(folder.store().join("blobs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
    };
    Ok([folder.data_file()].into_iter().chain(pages).collect())
}

/// Reads the record that bytes begin with, if it is one after `seq`.
fn parse_record(bytes: &[u8], seq: Seq) -> Option<Record> {
    let is_later = record::first_seq(bytes)? > seq;
    let len = record::first_length(bytes).filter(|len| is_later && *len <= RECORD_MAX)?;
    Some(RecordRef::verify(&bytes[..len]).ok()?.to_record())
}

#[cfg(test)]
mod tests {
    use unstuck_core::id::{Epoch, Timestamp};

    use super::*;
    use unstuck_store::record::Codec;
    use unstuck_store::wire::{EventType, SchemaVersion};

    fn numbered(seq: u64) -> Record {
        let mut header = Header {
            codec: Codec::Bincode,
            kind: EventType::AnswerGiven,
            schema: SchemaVersion(1),
            epoch: Epoch(1),
            seq: Seq(seq),
            at: Timestamp(0),
            more: 0,
            length: 0,
            prev: Digest::default(),
            hash: Digest::default(),
        };
        header.seal(b"payload");
        Record { header, payload: b"payload".to_vec() }
    }

    #[test]
    fn each_record_is_found_in_one_part_wherever_a_file_is_parted() {
        let bytes: Vec<u8> =
            (1..=3).flat_map(|seq| [numbered(seq).to_bytes(), vec![b'U'; 3]].concat()).collect();
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("db");
        fs::write(&path, &bytes).expect("the folder is ours");
        let places = |part| {
            let part = TailRecords::read_part(&path, part, &|bytes| parse_record(bytes, Seq(0)))
                .expect("it can be read");
            part.records.into_keys().map(|seq| seq.0).collect::<Vec<_>>()
        };
        for at in 0..=bytes.len() as u64 + 1 {
            assert_eq!([places(0..at), places(at..u64::MAX)].concat(), [1, 2, 3], "parted at {at}");
        }
    }
}
