//! Damages every file of a closed run, and every pair of files, in every way.
//!
//! After the suggested repair, all events that are intact in the store or the mirror are restored, and losses are
//! named. If the run is refused, its files are unchanged.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::event::{AnswerGiven, Event, Observation};
use unstuck_core::id::{Seq, Timestamp};
use unstuck_store::{EventStore as _, ExpectedVersion, OpenError, ReadError, Repair, RunDir, RunLog};

use crate::in_folder;
use crate::sample;

/// So many damages are tried on every change.
const SAMPLES: usize = 64;
/// The event whose payload is in a blob.
const LARGE: u64 = 7;
const EVENTS: u64 = 24;

type Files = BTreeMap<PathBuf, Vec<u8>>;

/// A kind of damage to a file.
#[derive(Clone, Copy, Debug)]
enum Damage {
    Missing,
    Empty,
    Cut,
    Flipped,
    /// There is something behind its end.
    Garbage,
    /// There are lines behind its end on which there is nothing.
    Blank,
}

const DAMAGES: [Damage; 6] =
    [Damage::Missing, Damage::Empty, Damage::Cut, Damage::Flipped, Damage::Garbage, Damage::Blank];

impl Damage {
    /// Does it to the file, somewhere.
    fn do_to(self, path: &Path, somewhere: usize) {
        let mut bytes = fs::read(path).expect("a file of the run");
        let used = bytes.iter().rposition(|byte| *byte != 0).unwrap_or(0).max(1);
        match self {
            Self::Missing => return fs::remove_file(path).expect("the folder is ours"),
            Self::Empty => bytes.clear(),
            Self::Cut => bytes.truncate(somewhere % used),
            Self::Flipped if bytes.is_empty() => {}
            Self::Flipped => bytes[somewhere % used] ^= 1 << (somewhere % 8),
            Self::Garbage => bytes.extend_from_slice(b"garbage\n{\"seq\":"),
            Self::Blank => bytes.extend_from_slice(b"\n\r\n\n"),
        }
        fs::write(path, bytes).expect("the folder is ours");
    }
}

/// A run, and what each of its events is in either file.
struct Run {
    _keep: tempfile::TempDir,
    folder: RunDir,
    original: Vec<Event>,
    records: Vec<Vec<u8>>,
    /// Whether the event is the last one of its batch.
    ends: Vec<bool>,
    export: Vec<u8>,
    files: Files,
}

impl Run {
    fn new() -> Self {
        let keep = tempfile::tempdir().expect("a temporary folder");
        let folder = in_folder::folder(keep.path(), "0123456789ab");
        let log = in_folder::create(&folder).expect("a new run");
        let original: Vec<_> = (1..=EVENTS).map(event).collect();
        for (nth, batch) in original.chunk_by(|event, _| event.seq.0 % 3 != 0).enumerate() {
            let head =
                log.append(batch, ExpectedVersion::Exactly(log.head().seq)).expect("a disk that works");
            if nth == 4 {
                log.save_checkpoint(head, 1, b"state".to_vec()).expect("a disk that works");
            }
        }
        let records: Vec<_> =
            log.records(Seq(1)).expect("it is whole").map(|record| record.expect("it is whole")).collect();
        drop(log);
        // The engine writes its snapshot if it finds records when it opens.
        drop(in_folder::open_for_writing(&folder).expect("it is whole"));
        let mut files = Files::new();
        remember(folder.path(), &mut files);
        let export = files[&folder.mirror()].clone();
        let ends = records.iter().map(|record| record.header.more == 0).collect();
        let records = records.iter().map(unstuck_store::record::Record::to_bytes).collect();
        Self { _keep: keep, folder, original, records, ends, export, files }
    }

    fn put_back(&self) {
        fs::remove_dir_all(self.folder.path()).expect("the folder is ours");
        for (path, bytes) in &self.files {
            fs::create_dir_all(path.parent().expect("a file of the run")).expect("the folder is ours");
            fs::write(path, bytes).expect("the folder is ours");
        }
    }

    /// Returns the last event of a batch up to which each event is intact in one of the two files. Compares byte by
    /// byte.
    fn whole(&self) -> u64 {
        let mirror = fs::read(self.folder.mirror()).unwrap_or_default();
        let store = fs::read(self.folder.data_file()).unwrap_or_default();
        let begins: Vec<_> =
            store.windows(4).zip(0..).filter(|(window, _)| *window == b"UNST").map(|(_, at)| at).collect();
        let blobs = fs::read_dir(self.folder.blobs()).into_iter().flatten().flatten();
        let has_blob = blobs
            .map(|entry| entry.path())
            .any(|path| fs::read(&path).ok().as_ref() == self.files.get(&path));
        let lines: Vec<&[u8]> = mirror.split(|byte| *byte == b'\n').collect();
        let originals = self.export.split(|byte| *byte == b'\n');
        let is_whole = |(nth, (record, line)): (usize, (&Vec<u8>, &[u8]))| {
            lines.contains(&line)
                || (begins.iter().any(|at: &usize| store[*at..].starts_with(record))
                    && (has_blob || nth as u64 + 1 != LARGE))
        };
        let whole = self.records.iter().zip(originals).enumerate().take_while(|pair| is_whole(*pair)).count();
        (0..=whole).rev().find(|last| *last == 0 || self.ends[last - 1]).unwrap_or(0) as u64
    }

    /// Follows the suggested commands to the end. Returns the outcome, or the rule that was violated.
    fn mend(&self) -> Result<&'static str, String> {
        let whole = self.whole();
        let (mut before, mut after) = (Files::new(), Files::new());
        remember(self.folder.path(), &mut before);
        let refused = match in_folder::open_for_writing(&self.folder) {
            Ok((log, opening)) => match self.check(&log, &opening.repairs, whole) {
                Ok(true) => {
                    return self.settled(if opening.is_clean() { "not harmed" } else { "mended" }, log);
                }
                Ok(false) => "reading says what is damaged".to_owned(),
                Err(why) => return Err(format!("opened with {opening:?}: {why}")),
            },
            Err(error @ (OpenError::Corrupt { .. } | OpenError::Damaged { .. } | OpenError::Gone { .. })) => {
                remember(self.folder.path(), &mut after);
                for files in [&mut before, &mut after] {
                    files.remove(&self.folder.lease());
                }
                if before != after {
                    return Err(format!("refused, but something was changed: {error}"));
                }
                error.hint().expect("a next command")
            }
            Err(other) => return Err(format!("{other}: {:?}", std::error::Error::source(&other))),
        };
        if refused.contains("import FILE") {
            if whole > 0 {
                return Err(format!("{whole} events are whole: {refused}"));
            }
            let log = in_folder::import(&mut &self.export[..], &self.folder)
                .map_err(|error| format!("import: {error}"))?;
            return match self.check(&log, &[], EVENTS) {
                Ok(true) => self.settled("gone, then read in again", log),
                told => Err(format!("read in again: {told:?}")),
            };
        }
        let (log, opening) =
            in_folder::rebuild_store(&self.folder).map_err(|error| format!("rebuild: {error}"))?;
        match self.check(&log, &opening.repairs, whole) {
            Ok(true)
                if refused.contains("are whole")
                    && log.head().seq.0 < EVENTS
                    && !opening
                        .repairs
                        .iter()
                        .any(|finding| finding.to_string().contains("is not known")) =>
            {
                Err(format!("{refused}, but {opening:?}"))
            }
            Ok(true) => self.settled("refused, then rebuilt on request", log),
            told => Err(format!("rebuilt with {opening:?}: {told:?}")),
        }
    }

    /// Says whether a log can be read, and holds all that was whole; what is lost has to be named.
    fn check(&self, log: &RunLog, findings: &[Repair], whole: u64) -> Result<bool, String> {
        let read: Result<Vec<Event>, ReadError> = log.read(Seq(1)).and_then(Iterator::collect);
        let Ok(read) = read else { return Ok(false) };
        let count = read.len() as u64;
        if read != self.original[..read.len().min(self.original.len())] {
            return Err("other events".to_owned());
        }
        let names_loss = findings.iter().any(|finding| matches!(finding, Repair::TailDropped { .. }));
        match count {
            fewer if fewer < whole => Err(format!("{count} events, though {whole} are whole")),
            // A file that ends between two batches looks like the file of a run that stopped there.
            fewer if fewer < EVENTS && !names_loss && self.has_trace_behind(fewer) => {
                Err(format!("{count} events of {EVENTS} in silence"))
            }
            _ => Ok(true),
        }
    }

    /// Returns whether the checkpoint shows that there were later events.
    fn has_trace_behind(&self, last: u64) -> bool {
        let is_as_it_was =
            fs::read(self.folder.checkpoint()).ok().as_ref() == self.files.get(&self.folder.checkpoint());
        is_as_it_was && last < 15
    }

    /// Checks that nothing is left to repair.
    fn settled(&self, how: &'static str, log: RunLog) -> Result<&'static str, String> {
        let count = log.head().seq;
        drop(log);
        let (log, opening) =
            in_folder::open_for_writing(&self.folder).map_err(|error| format!("{how}: again: {error}"))?;
        let is_lost = |finding: &Repair| matches!(finding, Repair::TailDropped { why, .. } if why.contains("checkpoint"));
        if !opening.repairs.iter().all(is_lost) {
            return Err(format!("{how}: again: {opening:?}"));
        }
        if log.verify().is_err() {
            // Only `verify` reads the lines in the middle.
            drop(log);
            in_folder::rebuild_mirror(&self.folder).map_err(|error| format!("{how}: the mirror: {error}"))?;
            let (log, _) = in_folder::open_for_writing(&self.folder).map_err(|error| error.to_string())?;
            log.verify().map_err(|error| format!("{how}: verify: {error}"))?;
        }
        let reading = in_folder::open_for_reading(&self.folder).map_err(|error| error.to_string())?;
        let read = reading.read(Seq(1)).map_err(|error| error.to_string())?.filter(Result::is_ok).count();
        if read as u64 == count.0 { Ok(how) } else { Err(format!("{how}: a reader sees {read} of {count}")) }
    }
}

fn event(seq: u64) -> Event {
    let mut text = format!("answer {seq} of {EVENTS}");
    if seq == LARGE {
        text = text.repeat(5_000);
    }
    Event {
        seq: Seq(seq),
        at: Timestamp(1_795_000_000_000 + seq),
        fact: Observation::AnswerGiven(AnswerGiven { text, steps: Vec::new() }).into(),
    }
}

fn remember(folder: &Path, files: &mut Files) {
    for entry in fs::read_dir(folder).expect("the folder is ours") {
        let path = entry.expect("a readable entry").path();
        if path.is_dir() {
            remember(&path, files);
        } else {
            files.insert(path.clone(), fs::read(&path).expect("a readable file"));
        }
    }
}

#[test]
fn nothing_whole_is_lost_and_nothing_else_in_silence_whichever_two_files_are_damaged() {
    let run = Run::new();
    let paths: Vec<_> = run.files.keys().collect();
    let single = paths.iter().flat_map(|path| DAMAGES.map(|damage| (*path, damage)));
    let single: Vec<_> = single.collect();
    let mut cases: Vec<Vec<(&PathBuf, Damage)>> = single.iter().map(|damage| vec![*damage]).collect();
    for (nth, first) in single.iter().enumerate() {
        cases.extend(
            single[nth..].iter().filter(|damage| damage.0 != first.0).map(|second| vec![*first, *second]),
        );
    }
    // The two files that hold the events are damaged most often, since each can be damaged in several places.
    let log = [run.folder.data_file(), run.folder.mirror()];
    let of_both =
        |case: &&Vec<(&PathBuf, Damage)>| case.len() == 2 && case.iter().all(|case| log.contains(case.0));
    let both: Vec<_> = cases.iter().filter(of_both).cloned().collect();
    cases.extend((0..8).flat_map(|_| both.clone()));
    let (mut wrong, mut outcomes) = (Vec::new(), BTreeMap::new());
    for nth in sample::cases("pairs of files", cases.len(), SAMPLES) {
        run.put_back();
        let case = &cases[nth - 1];
        for (at, (path, damage)) in case.iter().enumerate() {
            damage.do_to(path, nth.wrapping_mul(7_919 + 104_729 * at));
        }
        match run.mend() {
            Ok(outcome) => *outcomes.entry(outcome).or_insert(0) += 1,
            Err(why) => {
                let name = |path: &Path| path.strip_prefix(run.folder.path()).expect("in the run").to_owned();
                let case: Vec<_> = case.iter().map(|(path, damage)| (name(path), damage)).collect();
                wrong.push(format!("case {nth}: {case:?}: {why}"));
            }
        }
    }
    println!("{outcomes:?}");
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
