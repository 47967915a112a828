//! Conformance suite: the rules for every backend, as tests. Only with the feature `testing`.
//!
//! The tests of an [engine](crate::engine) implement [`TestedEngine`], and one line makes a test of each rule:
//!
//! ```ignore
//! mod conformance {
//!     unstuck_store::conformance!(unstuck_store::testing::InFolder<super::MyEngine>);
//! }
//! ```
//!
//! A store that is no engine implements [`Backend`].
//!
//! Each rule is a function that panics if the backend breaks it. Broken backends prove that it does, in
//! `store/tests/conformance.rs`.

#![allow(clippy::unwrap_used, reason = "a rule that cannot go on is broken")]

pub mod facts;
pub mod in_folder;
pub mod killed;

use std::path::Path;
use std::sync::{Arc, Barrier};

use unstuck_core::event::Event;
use unstuck_core::id::{Blob, RunId, Seq, Timestamp};

pub use self::facts::{answer, events, facts};
pub use self::in_folder::{InFolder, TestedEngine};
use crate::blobs::BlobStore;
use crate::event_store::{AppendError, EventStore, ExpectedVersion, Head, ReadError};
use crate::fault_injection::{Fault, FaultTiming, FaultyStore};
use crate::record::{Codec, INLINE_MAX};
use crate::run_log::RunLog;

/// A backend under test.
pub trait Backend: Sync {
    /// Whether events outlive the process.
    const IS_DURABLE: bool = true;

    /// Uses a folder, which may have runs of an earlier process. A backend in memory ignores it.
    fn at(folder: &Path) -> Self;

    /// Creates the log of a new run.
    fn create(&self, run: &RunId) -> RunLog;

    /// Opens the log of a run that no handle has open, with the right to append.
    ///
    /// # Errors
    ///
    /// A sentence, if there is no such run, or its log is damaged.
    fn claim(&self, run: &RunId) -> Result<RunLog, String>;

    /// Opens the log of a run that was closed and is intact. A backend that reports repairs requires that there are none.
    fn reopen(&self, run: &RunId) -> RunLog {
        self.claim(run).unwrap()
    }

    /// Gives the right to append to another supervisor, which takes the one of an open handle for dead.
    fn take_over(&self, run: &RunId);

    /// Returns all runs, in any order.
    fn runs(&self) -> Vec<RunId>;

    /// Changes a stored byte of an event of a run that no handle has open.
    fn damage(&self, run: &RunId, seq: Seq);

    /// Changes a stored byte of a blob.
    fn damage_blob(&self, run: &RunId, blob: &Blob);
}

/// Makes a test of each rule for a backend.
#[macro_export]
macro_rules! conformance {
    ($backend:ty) => {
        $crate::conformance! { $backend:
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
            a_handle_that_was_taken_over_appends_nothing
            a_damaged_event_is_never_read
            a_damaged_blob_is_never_read
            runs_keep_their_names
        }

        #[test]
        fn a_killed_writer_loses_nothing_acknowledged() {
            $crate::testing::killed::a_killed_writer_loses_nothing_acknowledged::<$backend>(module_path!());
        }

        /// The process that is killed, not a separate test.
        #[test]
        fn killed_writer() {
            $crate::testing::killed::write_until_killed::<$backend>();
        }
    };
    ($backend:ty: $($rule:ident)*) => {
        $(
            #[test]
            fn $rule() {
                $crate::testing::in_new_folder::<$backend>($crate::testing::$rule);
            }
        )*
    };
}

/// Applies a rule to a backend in a new folder, which is removed afterwards.
pub fn in_new_folder<B: Backend>(rule: impl FnOnce(&B)) {
    let folder = tempfile::tempdir().unwrap();
    rule(&B::at(folder.path()));
}

fn run() -> RunId {
    RunId::new(facts::RUN)
}

fn create(backend: &impl Backend) -> RunLog {
    backend.create(&run())
}

fn reopen(backend: &impl Backend, log: RunLog) -> RunLog {
    drop(log);
    backend.reopen(&run())
}

fn read_all(log: &dyn EventStore) -> Vec<Event> {
    log.read(Seq(1)).unwrap().map(Result::unwrap).collect()
}

/// A new run has no events, also after it is opened again.
pub fn an_empty_store_has_no_events(backend: &impl Backend) {
    let log = reopen(backend, create(backend));
    assert_eq!(log.head(), Head::default());
    assert_eq!(read_all(&log), []);
    assert_eq!(log.read(Seq(5)).unwrap().count(), 0);
    assert_eq!(log.records(Seq(0)).unwrap().count(), 0);
}

/// Every kind of event is read as it was written, and a run can be continued.
pub fn every_fact_reads_back_also_after_reopening(backend: &impl Backend) {
    let log = create(backend);
    let all = events(1, facts());
    for batch in all.chunks(3) {
        let head = log.append(batch, ExpectedVersion::Exactly(Seq(batch[0].seq.0 - 1))).unwrap();
        assert_eq!(head, log.head());
        assert_eq!(head.seq, batch.last().unwrap().seq);
    }
    assert_eq!(read_all(&log), all);
    let head = log.head();
    let log = reopen(backend, log);
    assert_eq!(log.head(), head);
    assert_eq!(read_all(&log), all);
    let next = events(head.seq.0 + 1, [answer("after")]);
    log.append(&next, ExpectedVersion::Exactly(head.seq)).unwrap();
    assert_eq!(log.read(head.seq.next()).unwrap().map(Result::unwrap).collect::<Vec<_>>(), next);
}

/// Reading starts at any event.
pub fn reading_starts_at_the_requested_event(backend: &impl Backend) {
    let log = create(backend);
    let all = events(1, (0..10).map(|n| answer(&n.to_string())));
    log.append(&all, ExpectedVersion::Exactly(Seq(0))).unwrap();
    for from in 0..13 {
        let read: Vec<_> = log.read(Seq(from)).unwrap().map(Result::unwrap).collect();
        let skipped = usize::try_from(from).unwrap().saturating_sub(1).min(10);
        assert_eq!(read, all[skipped..], "from {from}");
    }
}

/// An append at another position than the end is refused.
pub fn an_append_with_the_wrong_version_changes_nothing(backend: &impl Backend) {
    let log = create(backend);
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
    assert_eq!(read_all(&reopen(backend, log)).len(), 2);
}

/// A batch with a gap is refused as a whole.
pub fn a_batch_must_continue_the_stream(backend: &impl Backend) {
    let log = create(backend);
    let mut gap = events(1, [answer("a"), answer("b")]);
    gap[1].seq = Seq(3);
    for batch in [events(2, [answer("x")]), gap] {
        let error = log.append(&batch, ExpectedVersion::Exactly(Seq(0))).unwrap_err();
        assert!(matches!(error, AppendError::OutOfOrder { .. }), "{error}");
    }
    assert_eq!(log.head(), Head::default());
    assert_eq!(read_all(&log), []);
}

/// An empty batch is accepted.
pub fn an_empty_batch_changes_nothing(backend: &impl Backend) {
    let log = create(backend);
    let head = log.append(&events(1, [answer("one")]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    assert_eq!(log.append(&[], ExpectedVersion::Exactly(Seq(1))).unwrap(), head);
    assert_eq!(log.append(&[], ExpectedVersion::Any).unwrap(), head);
}

/// A large payload is stored as a blob.
pub fn a_large_event_is_spilled_and_reads_back(backend: &impl Backend) {
    let log = create(backend);
    // A text is stored with its length before it, and after it the number of steps that it is for.
    let sizes = [INLINE_MAX - 16, INLINE_MAX - 15, 300_000];
    let all = events(1, sizes.map(|size| answer(&"x".repeat(size))));
    log.append(&all, ExpectedVersion::Exactly(Seq(0))).unwrap();
    let codecs: Vec<_> = log.records(Seq(1)).unwrap().map(|record| record.unwrap().header.codec).collect();
    assert_eq!(codecs, [Codec::Bincode, Codec::Spilled, Codec::Spilled]);
    assert_eq!(read_all(&reopen(backend, log)), all);
}

/// Records form a hash chain, and know their batch.
pub fn records_are_chained_and_say_how_many_follow(backend: &impl Backend) {
    let log = create(backend);
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

/// `ExpectedVersion::Any` numbers events by the end of the stream.
pub fn any_version_numbers_anew(backend: &impl Backend) {
    let log = create(backend);
    log.append(&events(9, [answer("a"), answer("b")]), ExpectedVersion::Any).unwrap();
    let head = log.append(&events(1, [answer("c")]), ExpectedVersion::Any).unwrap();
    assert_eq!(head.seq, Seq(3));
    let seqs: Vec<_> = read_all(&log).iter().map(|event| event.seq.0).collect();
    assert_eq!(seqs, [1, 2, 3]);
}

/// Batches of concurrent producers stay whole and in order.
pub fn concurrent_producers_lose_nothing_and_stay_in_order(backend: &impl Backend) {
    const PRODUCERS: u64 = 8;
    const EACH: u64 = 30;
    let log = create(backend);
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
    let read = read_all(&reopen(backend, log));
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

/// If several writers append at the same position, one of them succeeds.
pub fn one_of_several_racing_writers_wins(backend: &impl Backend) {
    let log = create(backend);
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

/// A reader does not see later appends.
pub fn a_reader_sees_what_was_there_when_it_began(backend: &impl Backend) {
    let log = create(backend);
    log.append(&events(1, [answer("a"), answer("b")]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    let reader = log.read(Seq(1)).unwrap();
    log.append(&events(3, [answer("c")]), ExpectedVersion::Exactly(Seq(2))).unwrap();
    assert_eq!(reader.map(Result::unwrap).count(), 2);
}

/// Verification accepts an intact log, from the first event to the last.
pub fn verify_accepts_what_was_written(backend: &impl Backend) {
    let log = create(backend);
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

/// After any failed operation, no acknowledged event is lost, and no half batch is stored.
pub fn acknowledged_events_survive_any_failed_operation(backend: &impl Backend) {
    let mut untouched = 0;
    for nth in 1.. {
        for when in [FaultTiming::Before, FaultTiming::After] {
            let fault = Fault::at(nth, when);
            let run = RunId::new(format!("{nth}-{when:?}"));
            let mut writer = Writer::new(backend.create(&run), &fault, Vec::new());
            let result = writer.play();
            assert_eq!(result.is_err(), fault.was_hit(), "operation {nth}, {when:?}: {result:?}");
            untouched += u32::from(result.is_ok());

            let Writer { log, mut acknowledged, in_doubt, .. } = writer;
            drop(log);
            let log = backend.reopen(&run);
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

/// A handle whose right to append was taken over appends nothing more.
pub fn a_handle_that_was_taken_over_appends_nothing(backend: &impl Backend) {
    let first = create(backend);
    first.append(&events(1, [answer("one")]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    backend.take_over(&run());
    let late = first.append(&events(2, [answer("late")]), ExpectedVersion::Any);
    assert!(matches!(late, Err(AppendError::Fenced { .. })), "{late:?}");
    drop(first);
    let second = backend.claim(&run()).unwrap();
    second.append(&events(2, [answer("two")]), ExpectedVersion::Exactly(Seq(1))).unwrap();
    assert_eq!(read_all(&second), events(1, [answer("one"), answer("two")]));
}

/// A damaged event is an error, or is repaired, but is never read as something else.
pub fn a_damaged_event_is_never_read(backend: &impl Backend) {
    let all = events(1, (0..5).map(|n| answer(&format!("event {n}"))));
    let log = create(backend);
    for event in &all {
        log.append(std::slice::from_ref(event), ExpectedVersion::Exactly(Seq(event.seq.0 - 1))).unwrap();
    }
    drop(log);
    backend.damage(&run(), Seq(3));
    let Ok(log) = backend.claim(&run()) else { return };
    let read: Result<Vec<Event>, ReadError> = log.read(Seq(1)).and_then(Iterator::collect);
    assert!(read.is_err() || read.is_ok_and(|read| read == all), "damage was read as an event");
}

/// A damaged blob is an error.
pub fn a_damaged_blob_is_never_read(backend: &impl Backend) {
    let log = create(backend);
    let blob = log.blobs().put(&[7; 50_000]).unwrap();
    assert_eq!(log.blobs().read(&blob, 50_000).unwrap(), [7; 50_000]);
    backend.damage_blob(&run(), &blob);
    assert!(log.blobs().read(&blob, 50_000).is_err(), "damage was read as content");
}

/// The runs have the names under which they were created, also after they are opened again.
pub fn runs_keep_their_names(backend: &impl Backend) {
    let names: Vec<RunId> = ["00000000000a", "00000000000b", "00000000000c"].map(RunId::new).to_vec();
    for name in &names {
        let log = backend.create(name);
        log.append(&events(1, [answer(name.as_str())]), ExpectedVersion::Exactly(Seq(0))).unwrap();
    }
    for name in &names {
        assert_eq!(read_all(&backend.reopen(name)), events(1, [answer(name.as_str())]));
    }
    let mut runs = backend.runs();
    runs.sort();
    assert_eq!(runs, names);
}
