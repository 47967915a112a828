//! What the store of an interrupted run has beyond its mirror.
//!
//! The mirror is not synced, so a loss of power can cut it. Whoever only reads takes no lock and cannot ask the engine;
//! but records lie in its data file as they are, each with the hash of the one before it. Those that continue the chain of
//! the mirror, up to the end of a batch, are found there whatever else the file has.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use memchr::memmem;
use unstuck_core::id::Seq;

use crate::chain::Head;
use crate::envelope::{self, Header, MAGIC, RECORD_MAX, Record, RecordRef};
use crate::lease::{Lease, Liveness};
use crate::run_folder::RunFolder;
use crate::wire::EventType;

/// So much of the file is looked at at a time.
const CHUNK: usize = 1 << 20;
/// So many records are kept at most; whoever lacks more opens the log, which reads them in order.
const RECORDS_MAX: usize = 10_000;

/// So many records of a batch may be in the mirror that has not all of it.
const BEGUN_MAX: u64 = 1_000;

/// Returns the records that follow the last whole batch of the mirror, `last` being its last record. There are none of a run
/// that is live, since its supervisor writes them at this moment, nor of one that ended.
pub(crate) fn after(folder: &RunFolder, last: Option<&Header>) -> Vec<Record> {
    let is_gone = |liveness| liveness == Liveness::Gone;
    let is_interrupted = Lease::holder(&folder.lease()).is_none_or(|holder| is_gone(holder.liveness()))
        && last.is_none_or(|last| last.kind != EventType::RunEnded);
    let head = last.map(Head::at).unwrap_or_default();
    let is_begun = last.is_some_and(|last| last.more > 0);
    let from = if is_begun { Seq(head.seq.0.saturating_sub(BEGUN_MAX)) } else { head.seq };
    let found = is_interrupted.then(|| found_in(&folder.store().join("db"), from));
    let Some(Ok(found)) = found else { return Vec::new() };
    let begun = if is_begun { begun(head, &found) } else { Some(Vec::new()) };
    begun.map_or_else(Vec::new, |begun| continuing(begun, head, &found))
}

/// Records by their place; there may be several of which only one is in the chain.
type Found = BTreeMap<Seq, Vec<Record>>;

/// Finds the records after `seq` in a file.
fn found_in(path: &Path, seq: Seq) -> io::Result<Found> {
    let mut file = File::open(path)?;
    let mut found = Found::new();
    let mut bytes = Vec::new();
    let magic = memmem::Finder::new(&MAGIC);
    loop {
        let read = file.by_ref().take(CHUNK as u64).read_to_end(&mut bytes)?;
        // What begins near the end is looked at again when all of it is there.
        let looked = if read == 0 { bytes.len() } else { bytes.len().saturating_sub(RECORD_MAX) };
        for at in magic.find_iter(&bytes).take_while(|at| *at < looked) {
            let Some(record) = record(&bytes[at..], seq) else { continue };
            let alike = found.entry(record.header.seq).or_default();
            if !alike.contains(&record) {
                alike.push(record);
            }
        }
        if read == 0 || found.len() > RECORDS_MAX {
            return Ok(found);
        }
        bytes.drain(..looked);
    }
}

/// Reads the record that bytes begin with, if it is one after `seq`.
fn record(bytes: &[u8], seq: Seq) -> Option<Record> {
    let is_later = envelope::first_seq(bytes)? > seq;
    let len = envelope::first_length(bytes).filter(|len| is_later && *len <= RECORD_MAX)?;
    Some(RecordRef::verify(&bytes[..len]).ok()?.to_record())
}

/// Returns the records of a batch up to this one.
fn begun(mut head: Head, found: &Found) -> Option<Vec<Record>> {
    let at = |head: Head| found.get(&head.seq)?.iter().find(|it| it.header.hash == head.hash);
    let mut batch = Vec::new();
    while head.seq > Seq(0) {
        let record = at(head)?;
        if record.header.more == 0 {
            break;
        }
        batch.push(record.clone());
        head = Head { seq: Seq(head.seq.0 - 1), hash: record.header.prev, ..head };
    }
    batch.reverse();
    Some(batch)
}

/// Adds the records that continue a chain as far as a batch is whole.
fn continuing(mut chain: Vec<Record>, mut head: Head, found: &Found) -> Vec<Record> {
    let next = |head: Head| found.get(&head.seq.next())?.iter().find(|it| it.header.prev == head.hash);
    while let Some(record) = next(head) {
        head = Head::at(&record.header);
        chain.push(record.clone());
    }
    let whole = chain.iter().rposition(|it| it.header.more == 0).map_or(0, |last| last + 1);
    chain.truncate(whole);
    chain
}
