//! Requirements of every backend: one suite, run for each, and a comparison of two with the same batches.

#![allow(clippy::unwrap_used, reason = "a test may")]

#[path = "../../tests/common/in_folder.rs"]
mod in_folder;
#[path = "../../tests/common/sled_backend.rs"]
mod sled_backend;

use std::fs;
use std::sync::Arc;

use proptest::prelude::*;
use unstuck_core::event::{Event, Fact, Observation};
use unstuck_core::id::Seq;
use unstuck_store::memory::MemoryStore;
use unstuck_store::record::INLINE_MAX;
use unstuck_store::testing::facts::{RUN, answer, events, facts};
use unstuck_store::transfer;
use unstuck_store::{AppendError, EventStore, ExpectedVersion, Head, RunDir, RunLog, Store as _};
use unstuck_store::{
    blobs::MemoryBlobs,
    fault_injection::{Fault, FaultTiming, FaultyStore},
};

mod sled_store {
    unstuck_store::conformance!(crate::sled_backend::Sled);
}

fn read_all(log: &dyn EventStore) -> Vec<Event> {
    log.read(Seq(1)).unwrap().map(Result::unwrap).collect()
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
    assert_eq!(fs::read(folder.mirror()).unwrap(), exported);
    // A mirror that is rebuilt from the store is the same too.
    drop(copy);
    fs::remove_file(folder.mirror()).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let sled = unstuck_store_sled::at(folder.path());
        let (mut one, two) = (sled.create(&RUN.into()).unwrap(), RunLog::in_memory());
        for (facts, off_by, reopen) in steps {
            if reopen {
                drop(one);
                one = sled.claim(&RUN.into()).unwrap().0;
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
        let folder = tempfile::tempdir().unwrap();
        let one = unstuck_store_sled::at(folder.path()).create(&RUN.into()).unwrap();
        let two = RunLog::in_memory();
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
