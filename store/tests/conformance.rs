//! The conformance suite accepts a store in memory, and each of its rules refuses a store that breaks it.

#![allow(clippy::unwrap_used, reason = "a test may")]

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard};

use unstuck_core::event::Event;
use unstuck_core::id::{Blob, RunId, Seq};
use unstuck_store::blobs::{BlobStore, BlobWriter, MemoryBlobs};
use unstuck_store::memory::MemoryStore;
use unstuck_store::testing::{self, Backend, answer};
use unstuck_store::{AppendError, EventStore, Events, ExpectedVersion, Head, ReadError, Records, RunLog};

/// A run in memory.
#[derive(Clone)]
struct Run {
    events: MemoryStore,
    blobs: MemoryBlobs,
}

/// A rule that a store breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Flaw {
    /// None: the store is sound.
    Sound,
    /// The last event is lost when a run is opened again.
    LosesTheEnd,
    /// The position that a writer expects does not matter.
    IgnoresThePosition,
    /// A batch with a gap is stored up to the gap.
    KeepsHalfABatch,
    /// A writer that was taken over continues.
    HasNoFence,
    /// Hashes are not checked.
    BelievesDamage,
    /// A batch is appended one event at a time.
    SplitsBatches,
    /// A reader reads on.
    ReadsLaterEvents,
    /// Blobs are not checked.
    BelievesDamagedBlobs,
    /// The runs are not listed.
    ForgetsNames,
    /// Reading always starts at the first event.
    ReadsFromTheStart,
    /// Acknowledged events are only in memory, although it says otherwise.
    IsVolatile,
}

use Flaw::*;

/// Runs in memory, with a flaw.
struct Flawed {
    flaw: Flaw,
    runs: Mutex<BTreeMap<RunId, Run>>,
}

impl Flawed {
    fn with(flaw: Flaw) -> Self {
        Self { flaw, runs: Mutex::default() }
    }

    fn runs(&self) -> MutexGuard<'_, BTreeMap<RunId, Run>> {
        self.runs.lock().unwrap()
    }

    fn run(&self, run: &RunId) -> Run {
        self.runs().get(run).expect("the run exists").clone()
    }

    fn handle(&self, run: &Run) -> RunLog {
        let blobs = run.blobs.clone();
        let blobs: Arc<dyn BlobStore> =
            if self.flaw == BelievesDamagedBlobs { Arc::new(Unchecked(blobs)) } else { Arc::new(blobs) };
        RunLog::new(Box::new(Handle { flaw: self.flaw, events: run.events.clone() }), blobs)
    }
}

impl Backend for Flawed {
    const IS_DURABLE: bool = false;

    fn at(_: &Path) -> Self {
        Self::with(Sound)
    }

    fn create(&self, run: &RunId) -> RunLog {
        let blobs = MemoryBlobs::default();
        let new = Run { events: MemoryStore::new(Arc::new(blobs.clone())), blobs };
        self.runs().insert(run.clone(), new.clone());
        self.handle(&new)
    }

    fn claim(&self, run: &RunId) -> Result<RunLog, String> {
        let mut runs = self.runs();
        let there = runs.get_mut(run).ok_or("there is no such run")?;
        if self.flaw == LosesTheEnd {
            let mut kept: Vec<Event> = there.events.read(Seq(1)).unwrap().map(Result::unwrap).collect();
            kept.pop();
            there.events = MemoryStore::new(Arc::new(there.blobs.clone()));
            there.events.append(&kept, ExpectedVersion::Any).unwrap();
        }
        there.events = there.events.take_over();
        Ok(self.handle(there))
    }

    fn take_over(&self, run: &RunId) {
        if self.flaw != HasNoFence {
            let _newer = self.run(run).events.take_over();
        }
    }

    fn runs(&self) -> Vec<RunId> {
        if self.flaw == ForgetsNames { Vec::new() } else { self.runs().keys().cloned().collect() }
    }

    fn damage(&self, run: &RunId, seq: Seq) {
        self.run(run).events.damage(seq);
    }

    fn damage_blob(&self, run: &RunId, blob: &Blob) {
        self.run(run).blobs.damage(blob);
    }
}

/// A handle of a run.
struct Handle {
    flaw: Flaw,
    events: MemoryStore,
}

impl EventStore for Handle {
    fn append(&self, batch: &[Event], expected: ExpectedVersion) -> Result<Head, AppendError> {
        match self.flaw {
            IgnoresThePosition => self.events.append(batch, ExpectedVersion::Any),
            KeepsHalfABatch => self.events.append(batch, expected).or_else(|error| {
                self.events.append(&batch[..1], ExpectedVersion::Any)?;
                Err(error)
            }),
            SplitsBatches => batch.iter().try_fold(self.head(), |_, event| {
                std::thread::yield_now();
                self.events.append(std::slice::from_ref(event), ExpectedVersion::Any)
            }),
            _ => self.events.append(batch, expected),
        }
    }

    fn read(&self, from: Seq) -> Result<Events<'_>, ReadError> {
        match self.flaw {
            ReadsFromTheStart => self.events.read(Seq(1)),
            ReadsLaterEvents => {
                let mut next = from.0.max(1);
                let read = move || {
                    let event = self.events.read(Seq(next)).ok()?.next();
                    next += 1;
                    event
                };
                Ok(Box::new(std::iter::from_fn(read)))
            }
            // Replaces an unreadable event by another one.
            BelievesDamage => {
                let made_up = |event: Result<Event, ReadError>| {
                    event.or_else(|error| {
                        let seq = error.at().unwrap_or_default();
                        Ok(Event { seq, ..testing::events(1, [answer("made up")]).remove(0) })
                    })
                };
                Ok(Box::new(self.events.read(from)?.map(made_up)))
            }
            _ => self.events.read(from),
        }
    }

    fn records(&self, from: Seq) -> Result<Records<'_>, ReadError> {
        self.events.records(from)
    }

    fn head(&self) -> Head {
        self.events.head()
    }
}

/// Blobs whose content is not compared with their names.
struct Unchecked(MemoryBlobs);

impl BlobStore for Unchecked {
    fn writer(&self) -> std::io::Result<Box<dyn BlobWriter>> {
        self.0.writer()
    }

    fn open(&self, blob: &Blob) -> std::io::Result<Box<dyn std::io::Read + Send>> {
        let mut content = vec![0; usize::try_from(blob.size).unwrap()];
        if self.0.read(blob, blob.size).is_ok() {
            content = self.0.read(blob, blob.size)?;
        }
        Ok(Box::new(std::io::Cursor::new(content)))
    }
}

mod memory {
    unstuck_store::conformance!(super::Flawed);
}

/// A store that says that it is durable and is not.
struct Volatile(Flawed);

impl Backend for Volatile {
    fn at(_: &Path) -> Self {
        Self(Flawed::with(IsVolatile))
    }

    fn create(&self, run: &RunId) -> RunLog {
        self.0.create(run)
    }

    fn claim(&self, run: &RunId) -> Result<RunLog, String> {
        self.0.claim(run)
    }

    fn take_over(&self, run: &RunId) {
        self.0.take_over(run);
    }

    fn runs(&self) -> Vec<RunId> {
        Backend::runs(&self.0)
    }

    fn damage(&self, run: &RunId, seq: Seq) {
        self.0.damage(run, seq);
    }

    fn damage_blob(&self, run: &RunId, blob: &Blob) {
        self.0.damage_blob(run, blob);
    }
}

mod volatile {
    #[test]
    fn killed_writer() {
        unstuck_store::testing::killed::write_until_killed::<super::Volatile>();
    }

    #[test]
    #[should_panic(expected = "the run is lost")]
    fn a_store_in_memory_is_not_durable() {
        unstuck_store::testing::killed::a_killed_writer_loses_nothing_acknowledged::<super::Volatile>(
            module_path!(),
        );
    }
}

#[test]
fn each_flaw_breaks_its_rule_and_a_sound_store_breaks_none() {
    type Rule = fn(&Flawed);
    let flaws: [(Flaw, Rule); 10] = [
        (LosesTheEnd, testing::every_fact_reads_back_also_after_reopening),
        (IgnoresThePosition, testing::an_append_with_the_wrong_version_changes_nothing),
        (KeepsHalfABatch, testing::a_batch_must_continue_the_stream),
        (HasNoFence, testing::a_handle_that_was_taken_over_appends_nothing),
        (BelievesDamage, testing::a_damaged_event_is_never_read),
        (SplitsBatches, testing::records_are_chained_and_say_how_many_follow),
        (ReadsLaterEvents, testing::a_reader_sees_what_was_there_when_it_began),
        (BelievesDamagedBlobs, testing::a_damaged_blob_is_never_read),
        (ForgetsNames, testing::runs_keep_their_names),
        (ReadsFromTheStart, testing::reading_starts_at_the_requested_event),
    ];
    for (flaw, rule) in flaws {
        let breaks = |flaw| catch_unwind(AssertUnwindSafe(|| rule(&Flawed::with(flaw)))).is_err();
        assert!(breaks(flaw), "{flaw:?} is accepted");
        assert!(!breaks(Sound), "the rule that {flaw:?} breaks refuses a sound store");
    }
}
