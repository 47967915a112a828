//! Flips any byte of a closed store and cuts its files anywhere. No event is lost silently.
//!
//! `records.rs` duplicates, swaps, removes and inserts complete records, which no flip of a byte does.
//! `store/tests/opening.rs` does the same to the records of the store.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use unstuck_core::event::{AnswerGiven, Event, Observation};
use unstuck_core::id::{Seq, Timestamp};
use unstuck_store::{EventStore as _, ExpectedVersion, OpenError, RunDir, RunLog};

use crate::in_folder;
use crate::sample;

/// Events of the store.
const EVENTS: u64 = 20;
/// So many damages of each kind are tried on every change.
const SAMPLES: usize = 24;
/// An opening that takes longer hangs.
const HANG: Duration = Duration::from_secs(60);

/// A kind of damage to a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    /// A bit of a byte is another one.
    Flip,
    /// The file ends before a byte.
    Cut,
}

/// Which file is damaged.
#[derive(Clone, Copy, Debug)]
enum Part {
    Store,
    Mirror,
}

/// A closed run and what it held before it was damaged.
struct Run {
    _keep: tempfile::TempDir,
    folder: RunDir,
    original: Vec<Event>,
    /// Every file of it.
    files: BTreeMap<PathBuf, Vec<u8>>,
}

impl Run {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a temporary folder");
        let folder = in_folder::folder(keep.path(), "0123456789ab");
        let log = in_folder::create(&folder).expect("a new run");
        let original: Vec<_> = (1..=EVENTS).map(event).collect();
        // Batches of one to four events.
        for batch in original.chunk_by(|event, _| event.seq.0 % 4 != 0) {
            log.append(batch, ExpectedVersion::Exactly(log.head().seq)).expect("a disk that works");
        }
        drop(log);
        let mut run = Self { _keep: keep, folder, original, files: BTreeMap::new() };
        run.remember(run.folder.path().to_owned());
        run
    }

    fn remember(&mut self, folder: PathBuf) {
        for entry in fs::read_dir(folder).expect("the folder is ours") {
            let path = entry.expect("a readable entry").path();
            if path.is_dir() {
                self.remember(path);
            } else {
                let bytes = fs::read(&path).expect("a readable file");
                self.files.insert(path, bytes);
            }
        }
    }

    /// Makes the run what it was, but for one damage.
    fn damage(&self, part: Part, damage: Damage, at: usize) {
        fs::remove_dir_all(self.folder.path()).expect("the folder is ours");
        for (path, bytes) in &self.files {
            fs::create_dir_all(path.parent().expect("a file of the run")).expect("the folder is ours");
            fs::write(path, bytes).expect("the folder is ours");
        }
        let path = self.path(part);
        let mut bytes = self.files[&path].clone();
        match damage {
            Damage::Flip => bytes[at] ^= 1 << (at % 8),
            Damage::Cut => bytes.truncate(at),
        }
        fs::write(path, bytes).expect("the folder is ours");
    }

    fn path(&self, part: Part) -> PathBuf {
        match part {
            Part::Store => self.folder.store().join("db"),
            Part::Mirror => self.folder.mirror(),
        }
    }

    /// Opens the damaged run and says what became of it, or what must not be.
    fn open(&self) -> Result<&'static str, String> {
        let (log, opening) = match in_folder::open_for_writing(&self.folder) {
            Ok(opened) => opened,
            Err(OpenError::Corrupt { .. } | OpenError::Damaged { .. }) => {
                let (log, _) =
                    in_folder::rebuild_store(&self.folder).map_err(|error| format!("rebuild: {error}"))?;
                return self.whole(&log).map(|()| "refused, then rebuilt on request");
            }
            Err(other) => return Err(format!("{other}: {:?}", std::error::Error::source(&other))),
        };
        match self.whole(&log) {
            Ok(()) => {}
            Err(why) if why.starts_with("event ") => return Ok("opened, and reading says what is damaged"),
            Err(why) => return Err(why),
        }
        // Only reading the mirror detects damage in its middle.
        match (log.verify(), opening.is_clean()) {
            (Ok(_), true) => Ok("not harmed"),
            (Ok(_), false) => Ok("mended"),
            (Err(_), _) => {
                drop(log);
                in_folder::rebuild_mirror(&self.folder)
                    .map_err(|error| format!("rebuild the mirror: {error}"))?;
                let (log, _) =
                    in_folder::open_for_writing(&self.folder).map_err(|error| error.to_string())?;
                log.verify().map_err(|error| format!("after the mirror was rebuilt: {error}"))?;
                self.whole(&log).map(|()| "opened, and verify says what is damaged")
            }
        }
    }

    fn whole(&self, log: &RunLog) -> Result<(), String> {
        let read = log.read(Seq(1)).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let read = read.map_err(|error| error.to_string())?;
        if read == self.original { Ok(()) } else { Err(format!("{} events instead of {EVENTS}", read.len())) }
    }
}

fn event(seq: u64) -> Event {
    let text = format!("answer {seq} of {EVENTS}");
    Event {
        seq: Seq(seq),
        at: Timestamp(1_795_000_000_000 + seq),
        fact: Observation::AnswerGiven(AnswerGiven { text, steps: Vec::new() }).into(),
    }
}

fn check(part: Part, damage: Damage) {
    let row = format!("{damage:?} in the {part:?}");
    let run = Run::new();
    let length = run.files[&run.path(part)].len();
    let cases = sample::cases(&row, length, SAMPLES);
    let (tell, told) = mpsc::channel();
    let trial = thread::spawn(move || {
        for at in cases {
            run.damage(part, damage, at - 1);
            if tell.send((at - 1, None)).is_err() || tell.send((at - 1, Some(run.open()))).is_err() {
                return;
            }
        }
    });
    let (mut at, mut wrong, mut outcomes) = (0, Vec::new(), BTreeMap::new());
    loop {
        match told.recv_timeout(HANG) {
            Ok((begun, None)) => at = begun,
            Ok((_, Some(Ok(outcome)))) => *outcomes.entry(outcome).or_insert(0) += 1,
            Ok((at, Some(Err(why)))) => wrong.push(format!("byte {at}: {why}")),
            Err(mpsc::RecvTimeoutError::Timeout) => panic!("{row}: byte {at}: opening hangs"),
            Err(mpsc::RecvTimeoutError::Disconnected) => break,
        }
    }
    trial.join().unwrap_or_else(|_| panic!("{row}: byte {at}: opening panics"));
    println!("{row}: {length} bytes; tried: {outcomes:?}");
    assert!(wrong.is_empty(), "{row}:\n{}", wrong.join("\n"));
}

#[test]
fn no_event_is_missing_in_silence_wherever_a_byte_of_the_store_is_flipped() {
    check(Part::Store, Damage::Flip);
}

#[test]
fn no_event_is_missing_in_silence_wherever_the_store_is_cut() {
    check(Part::Store, Damage::Cut);
}

#[test]
fn no_event_is_missing_in_silence_wherever_a_byte_of_the_mirror_is_flipped() {
    check(Part::Mirror, Damage::Flip);
}

#[test]
fn no_event_is_missing_in_silence_wherever_the_mirror_is_cut() {
    check(Part::Mirror, Damage::Cut);
}
