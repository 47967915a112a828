//! Forks share their first events with the run that they come from, and are runs like any other.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::fs;
use std::path::Path;

use proptest::prelude::*;
use unstuck_core::event::{Event, Fact};
use unstuck_core::id::{RunId, Seq};
use unstuck_store::record::{INLINE_MAX, Record};
use unstuck_store::testing::facts::{answer, events, facts, run_started};
use unstuck_store::{EventStore as _, ExpectedVersion, Runs, Store as _, transfer};

fn any_fact() -> impl Strategy<Value = Fact> {
    let small = proptest::sample::select(facts());
    let large = (INLINE_MAX - 20..INLINE_MAX + 20).prop_map(|size| answer(&"y".repeat(size)));
    prop_oneof![9 => small, 1 => large]
}

fn any_batches() -> impl Strategy<Value = Vec<Vec<Fact>>> {
    proptest::collection::vec(proptest::collection::vec(any_fact(), 1..4), 1..6)
}

/// Returns the first event of a run.
fn start(run: &RunId) -> Event {
    let mut first = events(1, [run_started()]).remove(0);
    if let Fact::Observed(unstuck_core::Observation::RunStarted(started)) = &mut first.fact {
        started.run = run.clone();
    }
    first
}

/// Forks a run after an event, and adds a batch.
fn fork(runs: &Runs, from: &RunId, to: &RunId, last: Seq) {
    let mut lines = Vec::new();
    let then = events(last.0 + 1, [answer("now under another policy"), answer("and so on")]);
    transfer::fork(&runs.open(from).unwrap(), &start(to), last, &then, &mut lines).unwrap();
    let mut payloads = |into: &dyn unstuck_store::BlobStore| into.put(b"a prompt").map(drop);
    let log = runs.fork(to, &mut lines.as_slice(), &mut payloads).unwrap();
    assert_eq!(log.verify().unwrap().seq, Seq(last.0 + 2));
}

/// Returns of each record what a fork shares: everything but its place in the chain.
fn shared(records: &[Record]) -> Vec<(u16, u16, u64, u32, &[u8])> {
    let parts = records.iter().map(|Record { header, payload }| {
        (header.kind.number(), header.schema.0, header.at.0, header.more, payload.as_slice())
    });
    parts.collect()
}

fn records(runs: &Runs, run: &RunId) -> Vec<Record> {
    let (log, _) = runs.claim(run).unwrap();
    log.records(Seq(1)).unwrap().map(Result::unwrap).collect()
}

fn bytes_of(runs: &Runs, run: &RunId) -> Vec<u8> {
    fs::read(runs.lines(run)).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_fork_shares_its_history_byte_for_byte_and_its_parent_is_untouched(batches in any_batches(), at: prop::sample::Index) {
        let folder = tempfile::tempdir().unwrap();
        let runs = unstuck_store_sled::at(folder.path());
        let [parent, child, grandchild] = ["00000000000a", "00000000000b", "00000000000c"].map(RunId::from);
        let log = runs.create(&parent).unwrap();
        let mut ends = vec![log.append(&[start(&parent)], ExpectedVersion::Any).unwrap().seq];
        for batch in batches {
            let batch = events(log.head().seq.0 + 1, batch);
            ends.push(log.append(&batch, ExpectedVersion::Any).unwrap().seq);
        }
        drop(log);
        let (last, before) = (*at.get(&ends), bytes_of(&runs, &parent));
        fork(&runs, &parent, &child, last);
        fork(&runs, &child, &grandchild, last);
        prop_assert_eq!(bytes_of(&runs, &parent), before);
        let count = usize::try_from(last.0).unwrap();
        let of_parent = records(&runs, &parent);
        for run in [&child, &grandchild] {
            let of_fork = records(&runs, run);
            prop_assert_eq!(of_fork.len(), count + 2);
            prop_assert_eq!(shared(&of_fork[1..count]), shared(&of_parent[1..count]));
            prop_assert_eq!(of_fork[0].header.more, of_parent[0].header.more);
            prop_assert_eq!(runs.imported_up_to(run), Seq(0));
        }
        prop_assert_eq!(runs.runs().unwrap().len(), 3);
        prop_assert!(Path::new(&runs.run_dir(&child).blobs()).is_dir());
    }
}

#[test]
fn a_fork_whose_payloads_cannot_be_stored_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let runs = unstuck_store_sled::at(folder.path());
    let [parent, child] = ["00000000000a", "00000000000b"].map(RunId::from);
    runs.create(&parent).unwrap().append(&[start(&parent)], ExpectedVersion::Any).unwrap();
    let mut lines = Vec::new();
    let then = events(2, [answer("x")]);
    transfer::fork(&runs.open(&parent).unwrap(), &start(&child), Seq(1), &then, &mut lines).unwrap();
    let refuse = &mut |_: &dyn unstuck_store::BlobStore| Err(std::io::ErrorKind::StorageFull.into());
    assert!(runs.fork(&child, &mut lines.as_slice(), refuse).is_err());
    assert!(!runs.has(&child));
    assert_eq!(runs.names().unwrap(), std::slice::from_ref(&parent));
    // An event that the log does not have cannot be shared.
    transfer::fork(&runs.open(&parent).unwrap(), &start(&child), Seq(2), &then, &mut lines).unwrap_err();
}
