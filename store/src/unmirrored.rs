//! What the files of a store have beyond the mirror.
//!
//! The mirror is not synced, so a loss of power can cut it. Whoever only reads takes no lock and cannot ask the engine, and
//! a damaged store has no engine to be asked; but records lie in the files of the store as they are, each with the hash of the one
//! before it. Those that continue the chain of the mirror, up to the end of a batch, are found there whatever else the
//! files have. Those behind a gap tell how many events there were.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Read as _};
use std::path::PathBuf;

use memchr::memmem;
use unstuck_core::id::{Digest, Seq};

use crate::chain::Head;
use crate::envelope::{self, Header, MAGIC, RECORD_MAX, Record, RecordRef};
use crate::regular::{self, InFile};
use crate::run_folder::RunFolder;

/// So much of a file is looked at at a time.
const CHUNK: usize = 1 << 20;
/// So many records are kept at most; of those behind them only the last number is known.
pub(crate) const RECORDS_MAX: usize = 10_000;

/// So many records of a batch may be in the mirror that has not all of it.
const BEGUN_MAX: u64 = 1_000;

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct Beyond {
    /// What the mirror has of a last batch that it has not all of; `None` where the files lack some of it.
    pub(crate) begun: Option<Vec<Record>>,
    /// The records that follow the mirror, up to the end of a batch.
    pub(crate) records: Vec<Record>,
    /// The last event of which there is a record behind a gap; 0 if there is none.
    pub(crate) known: Seq,
}

/// Returns what the files of the store have after `last`, the last record of the mirror.
pub(crate) fn after(folder: &RunFolder, last: Option<&Header>) -> Result<Beyond, InFile> {
    let head = last.map(Head::at).unwrap_or_default();
    let is_begun = last.is_some_and(|last| last.more > 0);
    let from = if is_begun { Seq(head.seq.0.saturating_sub(BEGUN_MAX)) } else { head.seq };
    let found = Found::read(folder, from, head)?;
    let begun = if is_begun { found.begun(head) } else { Some(Vec::new()) };
    let mut records = found.continuing(head);
    let end = records.last().map_or(head.seq, |last| last.header.seq);
    let known = if found.last > end { found.last } else { Seq(0) };
    // What was begun of a batch at the very end was never acknowledged.
    let whole = records.iter().rposition(|it| it.header.more == 0).map_or(0, |last| last + 1);
    records.truncate(whole);
    Ok(Beyond { begun, records, known })
}

/// Whole records of the files.
#[derive(Default)]
pub(crate) struct Found {
    /// By their place; there may be several of which only one is in the chain.
    pub(crate) records: BTreeMap<Seq, Vec<Record>>,
    /// They are after this one.
    pub(crate) from: Seq,
    /// The place of the last one, whether it was kept or not.
    pub(crate) last: Seq,
}

impl Found {
    /// Finds the records after `seq`. Those after the mirror's end that are of an earlier lease were given up before it.
    pub(crate) fn read(folder: &RunFolder, seq: Seq, end: Head) -> Result<Self, InFile> {
        let mut found = Self { from: seq, ..Self::default() };
        let is_kept = |it: &Record| it.header.seq <= end.seq || it.header.epoch >= end.epoch;
        regular::check_folder(&folder.store()).map_err(InFile::at(folder.path()))?;
        for path in files(folder).map_err(InFile::at(&folder.store()))? {
            let read = match regular::open(&path) {
                // There is no store yet, or the engine did not need it any more.
                Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
                file => {
                    file.and_then(|file| found.read_file(file, |bytes| record(bytes, seq).filter(is_kept)))
                }
            };
            read.map_err(InFile::at(&path))?;
        }
        Ok(found)
    }

    /// Adds what `record` makes of the places of a file where one begins.
    fn read_file(&mut self, mut file: File, record: impl Fn(&[u8]) -> Option<Record>) -> io::Result<()> {
        let mut bytes = Vec::new();
        let magic = memmem::Finder::new(&MAGIC);
        loop {
            let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)?;
            // What begins near the end is looked at again when all of it is there.
            let looked = if read == 0 { bytes.len() } else { bytes.len().saturating_sub(RECORD_MAX) };
            for at in magic.find_iter(&bytes).take_while(|at| *at < looked) {
                record(&bytes[at..]).into_iter().for_each(|record| self.add(record));
            }
            if read == 0 {
                return Ok(());
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
    fn begun(&self, mut head: Head) -> Option<Vec<Record>> {
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
        self.records.get(&seq)?.iter().find(|it| it.header.hash == hash)
    }

    /// Returns the records that lead from `head` to the one of this place and hash, if all are there.
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
    pub(crate) fn continuing(&self, mut head: Head) -> Vec<Record> {
        let mut chain = Vec::new();
        // Where a batch was given up and another one took its place, that one is of a later lease.
        let next = |head: Head| {
            let follows = self.records.get(&head.seq.next())?.iter().filter(|it| it.header.prev == head.hash);
            follows.max_by_key(|it| it.header.epoch)
        };
        while let Some(record) = next(head) {
            head = Head::at(&record.header);
            chain.push(record.clone());
        }
        chain
    }
}

/// Returns the files of the store in which records lie: that of the database, and those in which it keeps large pages.
fn files(folder: &RunFolder) -> io::Result<Vec<PathBuf>> {
    let pages = match fs::read_dir(folder.store().join("blobs")) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
        entries => entries?.map(|entry| Ok(entry?.path())).collect::<io::Result<_>>()?,
    };
    Ok([folder.data_file()].into_iter().chain(pages).collect())
}

/// Reads the record that bytes begin with, if it is one after `seq`.
fn record(bytes: &[u8], seq: Seq) -> Option<Record> {
    let is_later = envelope::first_seq(bytes)? > seq;
    let len = envelope::first_length(bytes).filter(|len| is_later && *len <= RECORD_MAX)?;
    Some(RecordRef::verify(&bytes[..len]).ok()?.to_record())
}
