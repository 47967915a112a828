//! Findings and repairs of opening a log, and the errors of opening one.

use std::fmt;
use std::fs;
use std::io;
use std::path::PathBuf;

use unstuck_core::id::{RunId, Seq};
use unstuck_files::hint;

use crate::event_store::span;
use crate::event_store::{Head, ReadError};
use crate::lease::Holder;
use crate::run_dir::RunDir;

/// Findings of opening a log; empty if there was no problem.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RecoveryReport {
    /// In the order of detection.
    pub repairs: Vec<Repair>,
}

impl RecoveryReport {
    /// Says whether all was well.
    pub fn is_clean(&self) -> bool {
        self.repairs.is_empty()
    }
}

/// One thing that opening found and put right. `Display` gives a sentence for people and for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "documented by the variants and by their sentences")]
pub enum Repair {
    /// A writer died without giving the lease back.
    LeaseTakenOver { from: Holder },
    /// An unfinished file of the engine, which kept it from opening, was moved away.
    Healed { aside: PathBuf },
    /// The store had lost events that the mirror still had.
    TailRestored { from: Seq, to: Seq },
    /// Events at the end are lost. `known` is the last that is known to have been there.
    TailDropped { after: Seq, known: Option<Seq>, aside: Option<PathBuf>, why: String },
    /// The mirror was behind the store.
    MirrorCompleted { from: Seq, to: Seq },
    /// The mirror was damaged and was rebuilt from the store.
    MirrorRebuilt { aside: Option<PathBuf> },
    /// The file that describes the format was lost or damaged, and was written again.
    FormatWritten,
    /// The store was rebuilt on request: from the mirror, and from its own files `found` of its `events`. If the last
    /// event is from those files, later events may have existed.
    StoreRebuilt { aside: Option<PathBuf>, events: Seq, found: u64, ends_in_store: bool },
}

impl Repair {
    /// Says whether it concerns the events, and so belongs into the log itself.
    pub fn concerns_events(&self) -> bool {
        matches!(self, Self::TailRestored { .. } | Self::TailDropped { .. } | Self::StoreRebuilt { .. })
    }
}

impl fmt::Display for Repair {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaseTakenOver { from } => {
                write!(f, "the last writer ({from}) died without closing the log")
            }
            Self::Healed { aside } => {
                write!(f, "an unfinished snapshot of the store was set aside as {}", aside.display())
            }
            Self::TailRestored { from, to } => {
                let which = range_with_verb(*from, *to, ["was", "were"]);
                write!(f, "the store had lost its tail: {which} restored from events.jsonl")
            }
            Self::TailDropped { after, known: Some(known), why, .. } => {
                write!(f, "{} lost: {why}", range_with_verb(after.next(), *known, ["is", "are"]))
            }
            Self::TailDropped { after, known: None, why, .. } => {
                write!(f, "what was written after event {after} is lost: {why}")
            }
            Self::MirrorCompleted { from, to } => {
                let which = range_with_verb(*from, *to, ["was", "were"]);
                write!(f, "events.jsonl was behind: {which} added to it")
            }
            Self::MirrorRebuilt { aside: Some(aside) } => {
                write!(f, "events.jsonl was damaged and was written anew; the old one is {}", aside.display())
            }
            Self::MirrorRebuilt { aside: None } => {
                f.write_str("events.jsonl was missing and was written anew")
            }
            Self::FormatWritten => {
                f.write_str("format, the file that says how the rest is written, was missing or damaged and was written anew")
            }
            Self::StoreRebuilt { aside, events, found, ends_in_store } => {
                let lines = count_events(events.0 - found);
                write!(f, "the store was written anew from events.jsonl, {lines}")?;
                if *found > 0 {
                    write!(f, ", and from what could be read of its own files, {}", count_events(*found))?;
                }
                if *ends_in_store {
                    write!(f, "; whether others followed event {events} is not known")?;
                }
                aside.iter().try_for_each(|aside| write!(f, "; the old one is {}", aside.display()))
            }
        }
    }
}

/// `event 3 was`, `events 3 to 5 were`.
fn range_with_verb(from: Seq, to: Seq, [one, more]: [&str; 2]) -> String {
    format!("{} {}", span(from, to), if from == to { one } else { more })
}

fn count_events(count: u64) -> String {
    if count == 1 { "1 event".to_owned() } else { format!("{count} events") }
}

/// Why a log cannot be opened.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the messages say it")]
pub enum OpenError {
    #[error("there is no run in {}", path.display())]
    NotFound { path: PathBuf },
    #[error(
        "the log of run {run} is gone: in {}, store/db is missing, and events.jsonl is missing or empty; left are {left}",
        path.display()
    )]
    Gone { run: String, path: PathBuf, left: String },
    #[error("run {run} never started: the creation of its log in {} was cut short", path.display())]
    Unfinished { run: String, path: PathBuf },
    #[error("{} is the folder of run {run}, and {what} names run {named}", path.display())]
    OtherRun { run: String, path: PathBuf, what: &'static str, named: RunId },
    #[error("there is a run in {} already", path.display())]
    Exists { path: PathBuf },
    #[error("run {run} is here already, and its event {at} is another one")]
    Differs { run: String, at: Seq },
    #[error("run {run} is being worked on{}", holder_suffix(holder.as_ref()))]
    Locked { run: String, holder: Option<Holder> },
    #[error("run {run} was written by a newer version: {detail}")]
    NewerVersion { run: String, detail: String },
    /// `rest` describes the events that a rebuilt store would have, `is_as_before` whether all files are unchanged.
    #[error("the log of run {run} is damaged at event {at}: {detail}")]
    Corrupt { run: String, at: Seq, detail: String, rest: SalvageState, is_as_before: bool },
    /// The log is intact, but the input of an import is damaged. The event number is the number of the line.
    #[error("line {at} of what was to be read in: {detail}")]
    Lines { at: Seq, detail: String },
    #[error("the store of run {run} is damaged: {detail}")]
    Damaged { run: String, detail: String, rest: SalvageState, is_as_before: bool },
    #[error("run {run} is kept in memory, so it is gone with its process")]
    NotKept { run: String },
    #[error("the log of run {run} cannot be read: {detail}")]
    Unreadable { run: String, detail: String },
    #[error("this store cannot {what}")]
    NotOffered { what: &'static str },
    #[error("the log of run {run} cannot be read while nobody writes it: {} is missing", path.display())]
    NoMirror { run: String, path: PathBuf },
    #[error("cannot open the log of run {run} in {}", path.display())]
    Io {
        run: String,
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn holder_suffix(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" by {}", holder.since_when()))
}

/// Help for a log without an intact event.
pub const PUT_BACK: &str = "put events.jsonl or the folder store back from a backup of that folder, or read an export of the run in again: unstuck import FILE";

impl OpenError {
    /// Returns the error for a folder that cannot be used.
    pub fn io(folder: &RunDir) -> impl Fn(io::Error) -> Self {
        let (run, path) = (folder.run().to_string(), folder.path().to_owned());
        move |source| Self::Io { run: run.clone(), path: path.clone(), source }
    }

    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            Self::NotFound { .. } => "see what there is: unstuck runs".to_owned(),
            Self::Gone { .. } => PUT_BACK.to_owned(),
            Self::Unfinished { run, .. } => {
                format!(
                    "remove it: unstuck gc {run} --yes    a child run is created again when its parent is resumed"
                )
            }
            Self::OtherRun { path, run, named, .. } => match path.with_file_name(named.as_str()) {
                own if fs::symlink_metadata(&own).is_err() => {
                    format!("give the folder its name back: mv '{}' '{}'", path.display(), own.display())
                }
                _ => format!("restore the folder of run {run} from a backup, or move it away"),
            },
            Self::Exists { path } => {
                let run = path.file_name().unwrap_or_default().to_string_lossy();
                format!("look at it: unstuck verify {run}")
            }
            Self::NotKept { .. } | Self::Unreadable { .. } => return None,
            Self::NotOffered { .. } => {
                "use the store sled: for it, as in: unstuck --store sled:PATH ...".to_owned()
            }
            Self::Lines { .. } => "export it again where it comes from".to_owned(),
            Self::Differs { run, .. } => format!("see what is here: unstuck show {run}"),
            Self::Io { source, .. } => format!("{}, then try again", hint::for_io(source)),
            Self::Locked { run, .. } => format!("look on: unstuck events {run} -f"),
            Self::NewerVersion { .. } => "upgrade unstuck to work with it".to_owned(),
            Self::Corrupt { run, rest, is_as_before, .. } | Self::Damaged { run, rest, is_as_before, .. } => {
                let rebuild = format!("unstuck verify {run} --rebuild-store");
                let next = match rest {
                    SalvageState::Complete => format!(
                        "all events that are known are whole, and the store is written anew from them by: {rebuild}"
                    ),
                    SalvageState::Truncated => format!(
                        "keep what is good with: unstuck export {run} --salvage    go on without what is lost: {rebuild}"
                    ),
                    SalvageState::Empty => format!("no event of it is whole; {PUT_BACK}"),
                    SalvageState::Unreadable(hint) => hint.clone(),
                };
                if *is_as_before { format!("nothing was changed; {next}") } else { next }
            }
            Self::NoMirror { run, .. } => format!("it is written anew by: unstuck verify {run}"),
        })
    }
}

/// Intact events of a log whose store is damaged: lines, and records in the store's own files.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SalvageState {
    /// All events that are known.
    Complete,
    /// The first ones.
    Truncated,
    /// No event.
    Empty,
    /// Unknown until this is done.
    Unreadable(String),
}

/// The intact events of a damaged log.
#[derive(Debug, Default)]
pub struct SalvageReport {
    /// The last event of the last complete batch.
    pub head: Head,
    /// Number of events from the files of the store.
    pub found: u64,
    /// Whether the last event is from the store. The file of the store may have been cut after it.
    pub ends_in_store: bool,
    /// The last event that left a trace.
    pub known: Seq,
    /// Whether intact lines of the mirror were skipped.
    pub is_damaged: bool,
    /// How many lines behind the last one that was taken are damaged or cut short, and have no record in their place.
    pub behind: u64,
}

impl SalvageReport {
    /// Returns the last event.
    pub fn last(&self) -> Seq {
        self.head.seq
    }

    /// Returns the error for what is known to be lost behind the last event, if there is something.
    pub fn lost(&self) -> Option<ReadError> {
        let after = self.head.seq;
        let known = self.known.max(if self.behind > 0 { after.next() } else { after });
        (after < known).then_some(ReadError::Behind { after, known })
    }
}
