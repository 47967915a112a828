//! Requirements of every backend: one suite, run for each, and a comparison of two with the same batches.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/common/in_folder.rs"]
mod in_folder;

use std::sync::Arc;
use std::sync::Barrier;

use common::{RUN, answer, events, facts};
use proptest::prelude::*;
use unstuck_core::event::{Event, Fact, Observation};
use unstuck_core::id::{Seq, Timestamp};
use unstuck_store::memory::MemoryStore;
use unstuck_store::record::{Codec, INLINE_MAX};
use unstuck_store::transfer;
use unstuck_store::{AppendError, EventStore, ExpectedVersion, Head, RunDir, RunLog, Store as _};
use unstuck_store::{
    BlobStore,
    blobs::MemoryBlobs,
    fault_injection::{Fault, FaultTiming, FaultyStore},
};
use unstuck_store_sled::SledStore;

/// Something that makes empty logs and opens them again.
trait Backend {
    fn create(&self, run: &str) -> RunLog;

    /// Closes a log and opens it again; a backend in memory gives the same one back.
    fn reopen(&self, log: RunLog) -> RunLog;
}

struct Memory;

impl Backend for Memory {
    fn create(&self, _: &str) -> RunLog {
        RunLog::in_memory()
    }

    fn reopen(&self, log: RunLog) -> RunLog {
        log
    }
}

struct Sled(tempfile::TempDir);

impl Sled {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }
}

impl Backend for Sled {
    fn create(&self, run: &str) -> RunLog {
        SledStore::at(self.0.path()).create(&run.into()).unwrap()
    }

    fn reopen(&self, log: RunLog) -> RunLog {
        let run = log.run().unwrap().clone();
        drop(log);
        let (log, opening) = SledStore::at(self.0.path()).claim(&run).unwrap();
        assert!(opening.is_clean(), "{opening:?}");
        log
    }
}

macro_rules! conformance {
    ($($test:ident)*) => {
        mod memory { $(#[test] fn $test() { super::$test(&super::Memory); })* }
        mod sled { $(#[test] fn $test() { super::$test(&super::Sled::new()); })* }
    };
    // A new backend is one more line above, and passes the same.
}

conformance! {
    an_empty_store_has_no_events
    every_fact_reads_back_also_after_reopening
    reading_starts_at_the_requested_event
    an_append_with_the_wrong_version_changes_nothing
    a_batch_must_continue_the_stream
    an_empty_batch_changes_nothing
    a_large_event_is_spilled_and_reads_back
    records_are_chained_and_say_how_many_follow
    any_version_numbers_anew
    concurrent_producers_lose_nothing_and_stay_in_order
    one_of_several_racing_writers_wins
    a_reader_sees_what_was_there_when_it_began
    verify_accepts_what_was_written
    acknowledged_events_survive_any_failed_operation
}

fn read_all(log: &dyn EventStore) -> Vec<Event> {
    log.read(Seq(1)).unwrap().map(Result::unwrap).collect()
}

fn an_empty_store_has_no_events(backend: &dyn Backend) {
    let log = backend.reopen(backend.create(RUN));
    assert_eq!(log.head(), Head::default());
    assert_eq!(read_all(&log), []);
    assert_eq!(log.read(Seq(5)).unwrap().count(), 0);
    assert_eq!(log.records(Seq(0)).unwrap().count(), 0);
}

fn every_fact_reads_back_also_after_reopening(backend: &dyn Backend) {
    let log = backend.create(RUN);
    let all = events(1, facts());
    for batch in all.chunks(3) {
        let head = log.append(batch, ExpectedVersion::Exactly(Seq(batch[0].seq.0 - 1))).unwrap();
        assert_eq!(head, log.head());
        assert_eq!(head.seq, batch.last().unwrap().seq);
    }
    assert_eq!(read_all(&log), all);
    let head = log.head();
    let log = backend.reopen(log);
    assert_eq!(log.head(), head);
    assert_eq!(read_all(&log), all);
    let next = events(head.seq.0 + 1, [answer("after")]);
    log.append(&next, ExpectedVersion::Exactly(head.seq)).unwrap();
    assert_eq!(log.read(head.seq.next()).unwrap().map(Result::unwrap).collect::<Vec<_>>(), next);
}

fn reading_starts_at_the_requested_event(backend: &dyn Backend) {
    let log = backend.create(RUN);
    let all = events(1, (0..10).map(|n| answer(&n.to_string())));
    log.append(&all, ExpectedVersion::Exactly(Seq(0))).unwrap();
    for from in 0..13 {
        let read: Vec<_> = log.read(Seq(from)).unwrap().map(Result::unwrap).collect();
        let skipped = usize::try_from(from).unwrap().saturating_sub(1).min(10);
        assert_eq!(read, all[skipped..], "from {from}");
    }
}

fn an_append_with_the_wrong_version_changes_nothing(backend: &dyn Backend) {
    let log = backend.create(RUN);
    log.append(&events(1, [answer("one")]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    for wrong in [0, 2, 7] {
        let error =
            log.append(&events(wrong + 1, [answer("x")]), ExpectedVersion::Exactly(Seq(wrong))).unwrap_err();
        assert_eq!(
            error.to_string(),
            format!("the run is at event 1, not {wrong}: another supervisor wrote to it")
        );
        assert!(error.hint().is_some());
    }
    assert_eq!(log.head().seq, Seq(1));
    log.append(&events(2, [answer("two")]), ExpectedVersion::Exactly(Seq(1))).unwrap();
    assert_eq!(read_all(&backend.reopen(log)).len(), 2);
}

fn a_batch_must_continue_the_stream(backend: &dyn Backend) {
    let log = backend.create(RUN);
    let mut gap = events(1, [answer("a"), answer("b")]);
    gap[1].seq = Seq(3);
    for batch in [events(2, [answer("x")]), gap] {
        let error = log.append(&batch, ExpectedVersion::Exactly(Seq(0))).unwrap_err();
        assert!(matches!(error, AppendError::OutOfOrder { .. }), "{error}");
    }
    assert_eq!(log.head(), Head::default());
    assert_eq!(read_all(&log), []);
}

fn an_empty_batch_changes_nothing(backend: &dyn Backend) {
    let log = backend.create(RUN);
    let head = log.append(&events(1, [answer("one")]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    assert_eq!(log.append(&[], ExpectedVersion::Exactly(Seq(1))).unwrap(), head);
    assert_eq!(log.append(&[], ExpectedVersion::Any).unwrap(), head);
}

fn a_large_event_is_spilled_and_reads_back(backend: &dyn Backend) {
    let log = backend.create(RUN);
    // A text is stored with its length before it, and after it the number of steps that it is for.
    let sizes = [INLINE_MAX - 16, INLINE_MAX - 15, 300_000];
    let all = events(1, sizes.map(|size| answer(&"x".repeat(size))));
    log.append(&all, ExpectedVersion::Exactly(Seq(0))).unwrap();
    let codecs: Vec<_> = log.records(Seq(1)).unwrap().map(|record| record.unwrap().header.codec).collect();
    assert_eq!(codecs, [Codec::Bincode, Codec::Spilled, Codec::Spilled]);
    assert_eq!(read_all(&backend.reopen(log)), all);
}

fn records_are_chained_and_say_how_many_follow(backend: &dyn Backend) {
    let log = backend.create(RUN);
    log.append(&events(1, [answer("a"), answer("b"), answer("c")]), ExpectedVersion::Exactly(Seq(0)))
        .unwrap();
    let head = log.append(&events(4, [answer("d")]), ExpectedVersion::Exactly(Seq(3))).unwrap();
    let records: Vec<_> = log.records(Seq(1)).unwrap().map(Result::unwrap).collect();
    assert_eq!(records.iter().map(|record| record.header.more).collect::<Vec<_>>(), [2, 1, 0, 0]);
    assert_eq!(records[0].header.prev, Default::default());
    for pair in records.windows(2) {
        assert_eq!(pair[1].header.prev, pair[0].header.hash);
    }
    for record in &records {
        assert_eq!(record.header.hash_with(&record.payload), record.header.hash);
    }
    assert_eq!(Head::at(&records[3].header), head);
}

fn any_version_numbers_anew(backend: &dyn Backend) {
    let log = backend.create(RUN);
    log.append(&events(9, [answer("a"), answer("b")]), ExpectedVersion::Any).unwrap();
    let head = log.append(&events(1, [answer("c")]), ExpectedVersion::Any).unwrap();
    assert_eq!(head.seq, Seq(3));
    let seqs: Vec<_> = read_all(&log).iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

fn concurrent_producers_lose_nothing_and_stay_in_order(backend: &dyn Backend) {
    const PRODUCERS: u64 = 8;
    const EACH: u64 = 30;
    let log = backend.create(RUN);
    std::thread::scope(|scope| {
        for producer in 0..PRODUCERS {
            let log = &log;
            scope.spawn(move || {
                for n in 0..EACH {
                    let event = Event { seq: Seq(0), at: Timestamp(producer * 1000 + n), fact: answer("x") };
                    log.append(&[event.clone(), event], ExpectedVersion::Any).unwrap();
                }
            });
        }
    });
    let read = read_all(&backend.reopen(log));
    assert_eq!(read.len() as u64, PRODUCERS * EACH * 2);
    for producer in 0..PRODUCERS {
        let own: Vec<_> = read.iter().map(|event| event.at.0).filter(|at| at / 1000 == producer).collect();
        let expected: Vec<_> = (0..EACH).flat_map(|n| [producer * 1000 + n; 2]).collect();
        assert_eq!(own, expected);
    }
    for pair in read.chunks(2) {
        assert_eq!(pair[0].at, pair[1].at, "a batch stays together");
    }
}

fn one_of_several_racing_writers_wins(backend: &dyn Backend) {
    let log = backend.create(RUN);
    for version in 0..20 {
        let barrier = Barrier::new(4);
        let winners: usize = std::thread::scope(|scope| {
            let racers: Vec<_> = (0..4)
                .map(|_| {
                    scope.spawn(|| {
                        barrier.wait();
                        let batch = events(version + 1, [answer("x")]);
                        usize::from(log.append(&batch, ExpectedVersion::Exactly(Seq(version))).is_ok())
                    })
                })
                .collect();
            racers.into_iter().map(|racer| racer.join().unwrap()).sum()
        });
        assert_eq!(winners, 1);
    }
    assert_eq!(read_all(&log).len(), 20);
}

fn a_reader_sees_what_was_there_when_it_began(backend: &dyn Backend) {
    let log = backend.create(RUN);
    log.append(&events(1, [answer("a"), answer("b")]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    let reader = log.read(Seq(1)).unwrap();
    log.append(&events(3, [answer("c")]), ExpectedVersion::Exactly(Seq(2))).unwrap();
    assert_eq!(reader.map(Result::unwrap).count(), 2);
}

#[test]
fn an_export_is_read_back_with_the_same_hashes() {
    let source = tempfile::tempdir().unwrap();
    let folder = in_folder::folder(source.path(), RUN);
    let log = in_folder::create(&folder).unwrap();
    let mut all = facts();
    all.push(answer(&"large ".repeat(20_000)));
    log.append(&events(1, all), ExpectedVersion::Exactly(Seq(0))).unwrap();
    log.append(&events(log.head().seq.0 + 1, facts()), ExpectedVersion::Exactly(log.head().seq)).unwrap();
    let export = |folder: &RunDir| {
        let (log, mut lines) = (in_folder::open_for_reading(folder).unwrap(), Vec::new());
        let last = log.read(Seq(1)).unwrap().last().unwrap().unwrap().seq;
        transfer::export(&log, last, &mut lines).unwrap();
        lines
    };
    let exported = export(&folder);

    let target = tempfile::tempdir().unwrap();
    let folder = in_folder::folder(target.path(), RUN);
    let copy = in_folder::import(&mut exported.as_slice(), &folder).unwrap();
    assert_eq!(copy.head(), log.head());
    assert_eq!(read_all(&copy), read_all(&log));
    assert_eq!(export(&folder), exported);
    assert_eq!(std::fs::read(folder.mirror()).unwrap(), exported);
    // A mirror that is rebuilt from the store is the same too.
    drop(copy);
    std::fs::remove_file(folder.mirror()).unwrap();
    let (copy, _) = in_folder::open_for_writing(&folder).unwrap();
    assert_eq!(export(&folder), exported);

    // Another program may have put the fields in another order.
    let reordered: Vec<u8> = exported
        .split_inclusive(|byte| *byte == b'\n')
        .flat_map(|line| {
            let value: serde_json::Value = serde_json::from_slice(line).unwrap();
            let mut text = value.to_string().into_bytes();
            text.push(b'\n');
            text
        })
        .collect();
    assert_ne!(reordered, exported);
    let folder = in_folder::folder(&target.path().join("reordered"), RUN);
    assert_eq!(in_folder::import(&mut reordered.as_slice(), &folder).unwrap().head(), log.head());

    // A damaged export makes no run.
    let mut damaged = exported.clone();
    damaged[exported.len() / 2] ^= 1;
    let folder = in_folder::folder(&target.path().join("damaged"), RUN);
    assert!(in_folder::import(&mut damaged.as_slice(), &folder).is_err());
    assert!(!folder.path().exists());
    copy.verify().unwrap();
}

fn verify_accepts_what_was_written(backend: &dyn Backend) {
    let log = backend.create(RUN);
    assert_eq!(log.verify().unwrap(), Head::default());
    let head = log.append(&events(1, facts()), ExpectedVersion::Exactly(Seq(0))).unwrap();
    assert_eq!(log.verify().unwrap(), head);
}

/// A log of which one operation fails, and its writer.
struct Writer {
    log: FaultyStore<RunLog>,
    blobs: FaultyStore<Arc<dyn BlobStore>>,
    /// Events that the store has acknowledged.
    acknowledged: Vec<Event>,
    /// Events of the append that failed.
    in_doubt: Vec<Event>,
}

impl Writer {
    fn new(log: RunLog, fault: &Fault, acknowledged: Vec<Event>) -> Self {
        let blobs = FaultyStore::new(Arc::clone(log.blobs()), fault.clone());
        Self { log: FaultyStore::new(log, fault.clone()), blobs, acknowledged, in_doubt: Vec::new() }
    }

    /// Writes, reads and refuses a little of everything, from the end of the log.
    fn play(&mut self) -> Result<(), Box<dyn std::error::Error>> {
        for sizes in [&[1][..], &[5, 40_000, 5], &[2, 2]] {
            let blob = self.blobs.put(&vec![7; sizes[0] * 1000])?;
            self.blobs.read(&blob, 10_000)?;
            let first = self.acknowledged.len() as u64 + 1;
            let batch = events(first, sizes.iter().map(|size| answer(&"x".repeat(*size))));
            self.in_doubt = batch.clone();
            self.log.append(&batch, ExpectedVersion::Exactly(Seq(first - 1)))?;
            self.acknowledged.append(&mut self.in_doubt);
            let read: Vec<_> = self.log.read(Seq(1))?.collect::<Result<_, _>>()?;
            assert_eq!(read, self.acknowledged);
            let records: Vec<_> = self.log.records(Seq(first))?.collect::<Result<_, _>>()?;
            assert_eq!(records.len(), batch.len());
        }
        Ok(())
    }
}

fn acknowledged_events_survive_any_failed_operation(backend: &dyn Backend) {
    let mut untouched = 0;
    for nth in 1.. {
        for when in [FaultTiming::Before, FaultTiming::After] {
            let fault = Fault::at(nth, when);
            let mut writer = Writer::new(backend.create(&format!("{nth}-{when:?}")), &fault, Vec::new());
            let result = writer.play();
            assert_eq!(result.is_err(), fault.was_hit(), "operation {nth}, {when:?}: {result:?}");
            untouched += u32::from(result.is_ok());

            let Writer { log, mut acknowledged, in_doubt, .. } = writer;
            let log = backend.reopen(log.into_inner());
            let there = read_all(&log);
            if there.len() > acknowledged.len() {
                acknowledged.extend(in_doubt);
            }
            assert_eq!(
                there, acknowledged,
                "operation {nth}, {when:?}: all that was acknowledged, and no half"
            );
            log.verify().unwrap();
            let mut again = Writer::new(log, &Fault::at(u64::MAX, when), acknowledged);
            again.play().unwrap();
            again.log.into_inner().verify().unwrap();
        }
        if untouched > 0 {
            assert!(nth > 30 && untouched == 2, "operation {nth}");
            return;
        }
    }
}

/// Checks how a backend handles a failure of its blob store within an append.
#[test]
fn a_payload_that_cannot_be_stored_leaves_nothing_of_its_batch() {
    for nth in 1.. {
        let fault = Fault::at(nth, FaultTiming::Before);
        let store = MemoryStore::new(Arc::new(FaultyStore::new(MemoryBlobs::default(), fault.clone())));
        let batch = events(1, [answer("small"), answer(&"large".repeat(20_000)), answer("small")]);
        match store.append(&batch, ExpectedVersion::Exactly(Seq(0))) {
            Ok(_) => return assert!(nth > 2 && !fault.was_hit(), "operation {nth}"),
            Err(error) => assert!(matches!(error, AppendError::NotDurable { .. }), "{error}"),
        }
        assert_eq!(store.head(), Head::default());
        let head = store.append(&batch, ExpectedVersion::Exactly(Seq(0))).unwrap();
        assert_eq!(head.seq, Seq(3));
    }
}

fn any_fact() -> impl Strategy<Value = Fact> {
    let small = proptest::sample::select(facts());
    let text = ".{0,200}".prop_map(|text| answer(&text));
    let large = (INLINE_MAX - 20..INLINE_MAX + 20).prop_map(|size| answer(&"y".repeat(size)));
    prop_oneof![6 => small, 3 => text, 1 => large]
}

/// Returns the steps of a writer: a batch, its numbering, and whether the log is opened again first.
fn any_steps() -> impl Strategy<Value = Vec<(Vec<Fact>, Option<u64>, bool)>> {
    let expected = prop_oneof![4 => Just(None), 1 => (0_u64..4).prop_map(Some)];
    proptest::collection::vec(
        (proptest::collection::vec(any_fact(), 0..5), expected, proptest::bool::weighted(0.1)),
        1..12,
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn memory_and_sled_do_the_same(steps in any_steps()) {
        let sled = Sled::new();
        let (mut one, two) = (sled.create(RUN), Memory.create("a"));
        for (facts, off_by, reopen) in steps {
            if reopen {
                one = sled.reopen(one);
            }
            let version = two.head().seq.0 + off_by.unwrap_or(0);
            let batch = events(version + 1, facts);
            let expected = ExpectedVersion::Exactly(Seq(version));
            let describe = |result: Result<Head, AppendError>| result.map_err(|error| error.to_string());
            // Epochs are hashed too, and only a store on a disk has a new one after reopening.
            let (first, second) = (describe(one.append(&batch, expected)), describe(two.append(&batch, expected)));
            prop_assert_eq!(first.map(|head| head.seq), second.map(|head| head.seq));
        }
        prop_assert_eq!(read_all(&one), read_all(&two));
        one.verify().unwrap();
    }

    #[test]
    fn memory_and_sled_have_the_same_hashes(batches in proptest::collection::vec(proptest::collection::vec(any_fact(), 1..4), 1..6)) {
        let sled = Sled::new();
        let (one, two) = (sled.create(RUN), Memory.create("a"));
        for facts in batches {
            let batch = events(two.head().seq.0 + 1, facts);
            let head = one.append(&batch, ExpectedVersion::Any).unwrap();
            prop_assert_eq!(two.append(&batch, ExpectedVersion::Any).unwrap(), head);
        }
    }
}

#[test]
fn a_fenced_handle_in_memory_loses() {
    let first = MemoryStore::default();
    let second = first.take_over();
    let batch = events(1, [Observation::DeadlinePassed.into()]);
    assert!(matches!(first.append(&batch, ExpectedVersion::Any), Err(AppendError::Fenced { .. })));
    second.append(&batch, ExpectedVersion::Any).unwrap();
    assert_eq!(first.head(), second.head());
}
