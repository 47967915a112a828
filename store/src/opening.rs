//! What opening a log for writing may find, and the mending of what may be mended.
//!
//! The rule: what both witnesses (store and mirror) or a verified chain support is put right and
//! reported; anything else stops with a diagnosis. There are never fewer events in silence.

use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::id::{RunId, Seq};
use unstuck_files::durable;
use unstuck_files::hint;
use unstuck_files::safe_open::{self, FileError};

use crate::blobs::{BlobStore, FolderBlobs};
use crate::chain::Head;
use crate::checkpoint::Checkpoint;
use crate::engine::{Engine, EngineError};
use crate::envelope::RecordRef;
use crate::event_store::{ReadError, span};
use crate::lease::{AcquireError, Holder};
use crate::line::{self, LineError, Rebuilt};
use crate::merged::{self, Merged};
use crate::mirror::{self, MirrorWriter, Tail};
use crate::run_folder::RunFolder;
use crate::run_log::Rest;
use crate::sled_store;
use crate::unmirrored::{self, Beyond};
use crate::wire;

/// What opening found; nothing if all was well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Opening {
    /// In the order in which it was found.
    pub findings: Vec<Finding>,
}

impl Opening {
    /// Says whether all was well.
    pub fn is_clean(&self) -> bool {
        self.findings.is_empty()
    }
}

/// One thing that opening found and put right. `Display` gives a sentence for people and for the log.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "documented by the variants and by their sentences")]
pub enum Finding {
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
    /// The mirror was damaged and was written anew from the store.
    MirrorRebuilt { aside: Option<PathBuf> },
    /// The file that says how the rest is written was lost or damaged, and was written anew.
    FormatWritten,
    /// The store was written anew, on request: from the mirror, and from its own files `found` of its `events`.
    /// Where the last one is one of these, nobody knows whether others followed.
    StoreRebuilt { aside: Option<PathBuf>, events: Seq, found: u64, ends_in_store: bool },
}

impl Finding {
    /// Names the events after `after` up to `known`, if there are any.
    pub(crate) fn lost(after: Seq, known: Seq, why: &str) -> Option<Self> {
        let dropped = Self::TailDropped { after, known: Some(known), aside: None, why: why.to_owned() };
        (after < known).then_some(dropped)
    }

    /// Names what is known to be lost behind what was merged, if there is something.
    pub(crate) fn behind(merged: &Merged) -> Option<Self> {
        let why = "neither events.jsonl nor a file of the store has them whole";
        let after = merged.head.seq;
        let unknown = || {
            let why = "a line of events.jsonl behind it is damaged".to_owned();
            Self::TailDropped { after, known: None, aside: None, why }
        };
        Self::lost(after, merged.known, why).or_else(|| (merged.behind > 0).then(unknown))
    }

    /// Says whether it concerns the events, and so belongs into the log itself.
    pub fn concerns_events(&self) -> bool {
        matches!(self, Self::TailRestored { .. } | Self::TailDropped { .. } | Self::StoreRebuilt { .. })
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LeaseTakenOver { from } => {
                write!(f, "the last writer ({from}) died without closing the log")
            }
            Self::Healed { aside } => {
                write!(f, "an unfinished snapshot of the store was set aside as {}", aside.display())
            }
            Self::TailRestored { from, to } => {
                let which = named(*from, *to, ["was", "were"]);
                write!(f, "the store had lost its tail: {which} restored from events.jsonl")
            }
            Self::TailDropped { after, known: Some(known), why, .. } => {
                write!(f, "{} lost: {why}", named(after.next(), *known, ["is", "are"]))
            }
            Self::TailDropped { after, known: None, why, .. } => {
                write!(f, "what was written after event {after} is lost: {why}")
            }
            Self::MirrorCompleted { from, to } => {
                let which = named(*from, *to, ["was", "were"]);
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
                let lines = events_of(events.0 - found);
                write!(f, "the store was written anew from events.jsonl, {lines}")?;
                if *found > 0 {
                    write!(f, ", and from what could be read of its own files, {}", events_of(*found))?;
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
fn named(from: Seq, to: Seq, [one, more]: [&str; 2]) -> String {
    format!("{} {}", span(from, to), if from == to { one } else { more })
}

fn events_of(count: u64) -> String {
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
    #[error("run {run} is being worked on{}", described(holder.as_ref()))]
    Locked { run: String, holder: Option<Holder> },
    #[error("run {run} was written by a newer version: {detail}")]
    NewerVersion { run: String, detail: String },
    /// `rest` says what there is for a store that is written anew, `is_as_before` that no file was changed.
    #[error("the log of run {run} is damaged at event {at}: {detail}")]
    Corrupt { run: String, at: Seq, detail: String, rest: Rest, is_as_before: bool },
    /// It is not the log that is damaged, but what was to be read into it: an event stands on the line of its number.
    #[error("line {at} of what was to be read in: {detail}")]
    Lines { at: Seq, detail: String },
    #[error("the store of run {run} is damaged: {detail}")]
    Damaged { run: String, detail: String, rest: Rest, is_as_before: bool },
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

fn described(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" by {}", holder.since_when()))
}

/// What is said of a log of which there were events.
pub(crate) const NO_EVENT: &str = "neither events.jsonl nor a file of the store holds a whole event";

/// What to do where no event of a log is whole.
pub const PUT_BACK: &str = "put events.jsonl or the folder store back from a backup of that folder, or read an export of the run in again: unstuck import FILE";

impl OpenError {
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
            Self::Exists { .. } => return None,
            Self::Lines { .. } => "export it again where it comes from".to_owned(),
            Self::Differs { run, .. } => format!("see what is here: unstuck show {run}"),
            Self::Io { source, .. } => format!("{}, then try again", hint::for_io(source)),
            Self::Locked { run, .. } => format!("look on: unstuck events {run} -f"),
            Self::NewerVersion { .. } => "upgrade unstuck to work with it".to_owned(),
            Self::Corrupt { run, rest, is_as_before, .. } | Self::Damaged { run, rest, is_as_before, .. } => {
                let rebuild = format!("unstuck verify {run} --rebuild-store");
                let next = match rest {
                    Rest::Whole => format!(
                        "all events that are known are whole, and the store is written anew from them by: {rebuild}"
                    ),
                    Rest::Shortened => format!(
                        "keep what is good with: unstuck export {run} --salvage    go on without what is lost: {rebuild}"
                    ),
                    Rest::Nothing => format!("no event of it is whole; {PUT_BACK}"),
                    Rest::Unread(hint) => hint.clone(),
                };
                if *is_as_before { format!("nothing was changed; {next}") } else { next }
            }
            Self::NoMirror { run, .. } => format!("it is written anew by: unstuck verify {run}"),
        })
    }

    pub(crate) fn io(folder: &RunFolder) -> impl Fn(io::Error) -> Self {
        let (run, path) = (folder.run().to_string(), folder.path().to_owned());
        move |source| Self::Io { run: run.clone(), path: path.clone(), source }
    }

    pub(crate) fn in_file(folder: &RunFolder) -> impl Fn(FileError) -> Self {
        |FileError { path, source }| Self::Io { run: folder.run().to_string(), path, source }
    }

    /// Returns what keeps a log from being opened by whoever has to read all of it first.
    pub fn from_read(folder: &RunFolder, error: ReadError) -> Self {
        match error {
            ReadError::Corrupt { at, detail } => Self::corrupt(folder, at, detail),
            ReadError::Newer { detail, .. } => Self::NewerVersion { run: folder.run().to_string(), detail },
            ReadError::BlobMissing { at, blob, source } => {
                let detail = format!("its payload, blob {}, cannot be read: {source}", blob.digest);
                Self::corrupt(folder, at, detail)
            }
            ReadError::Behind { after, .. } => Self::corrupt(folder, after.next(), error.to_string()),
            ReadError::EngineFailed { at: Some(at), detail } => Self::corrupt(folder, at, detail),
            ReadError::EngineFailed { at: None, detail } => Self::damaged(folder, detail),
            ReadError::Io { source, .. } => Self::io(folder)(source),
        }
    }

    pub(crate) fn corrupt(folder: &RunFolder, at: Seq, detail: String) -> Self {
        let (run, rest) = (folder.run().to_string(), Rest::of(folder));
        Self::Corrupt { run, at, detail, rest, is_as_before: true }
    }

    /// Says whether the files were read, and refused for what is in them.
    pub(crate) fn is_of_damage(&self) -> bool {
        matches!(self, Self::Corrupt { .. } | Self::Damaged { .. } | Self::NewerVersion { .. })
    }

    /// The same, with what there is now for a store that is written anew.
    pub(crate) fn looked_at_again(mut self, folder: &RunFolder, is_put_back: bool) -> Self {
        if let Self::Corrupt { rest, is_as_before, .. } | Self::Damaged { rest, is_as_before, .. } = &mut self
        {
            (*rest, *is_as_before) = (Rest::of(folder), is_put_back);
        }
        self
    }

    fn damaged(folder: &RunFolder, detail: String) -> Self {
        let (run, rest) = (folder.run().to_string(), Rest::of(folder));
        Self::Damaged { run, detail, rest, is_as_before: true }
    }

    pub(crate) fn from_engine(folder: &RunFolder, error: EngineError) -> Self {
        match error {
            EngineError::Locked => Self::Locked { run: folder.run().to_string(), holder: None },
            EngineError::Io(source) => Self::in_file(folder)(FileError { path: folder.data_file(), source }),
            EngineError::InFile(error) => Self::in_file(folder)(error),
            broken => Self::damaged(folder, broken.to_string()),
        }
    }

    pub(crate) fn from_lease(folder: &RunFolder, error: AcquireError) -> Self {
        let run = folder.run().to_string();
        match error {
            AcquireError::Held { holder } => Self::Locked { run, holder },
            AcquireError::Io { source, .. } => Self::io(folder)(source),
        }
    }
}

/// What a mirror got from the files of the store.
#[derive(Default)]
pub(crate) struct Completed {
    /// How many events.
    pub(crate) found: u64,
    /// The last event of the mirror now.
    pub(crate) last: Seq,
    /// The last event of which they have a record behind a gap.
    pub(crate) known: Seq,
}

impl Completed {
    /// Says what was done. `aside` is where the old mirror is, if it was damaged.
    pub(crate) fn findings(&self, aside: Option<&Path>) -> Vec<Finding> {
        let from = Seq(self.last.0 + 1 - self.found);
        let completed = (self.found > 0).then_some(Finding::MirrorCompleted { from, to: self.last });
        let rebuilt = aside.map(|aside| Finding::MirrorRebuilt { aside: Some(aside.to_owned()) });
        rebuilt.into_iter().chain(completed).collect()
    }
}

/// Adds to the mirror what the files of the store have beyond it. Made by whoever holds the lease, and before the engine opens
/// those files: it drops what it cannot read.
///
/// `aside` becomes where the mirror was moved to, if its last line was damaged and the files of the store have that event.
pub(crate) fn complete_mirror(
    folder: &RunFolder,
    blobs: &FolderBlobs,
    aside: &mut Option<PathBuf>,
) -> Result<Completed, OpenError> {
    let (path, failed) = (folder.mirror(), OpenError::io(folder));
    let mut completed = Completed::default();
    mirror::end_last_line(&path).map_err(&failed)?;
    loop {
        let tail = Tail::read(&path).map_err(&failed)?;
        let last = match tail.last.transpose() {
            Ok(last) => last,
            Err(LineError::Newer(_)) => return Ok(completed),
            Err(LineError::Damaged(_)) => {
                if let Some((kept, known)) = merged_anew(folder, blobs)? {
                    (*aside, completed.known) = (Some(kept), known);
                }
                return Ok(completed);
            }
        };
        let Beyond { records, known, .. } =
            unmirrored::after(folder, last.as_ref()).map_err(OpenError::in_file(folder))?;
        let here = last.map_or(Seq(0), |last| last.seq);
        (completed.last, completed.known) = (here, known);
        let mut lines = Vec::new();
        for record in &records {
            line::push_stored(&mut lines, &record.as_ref(), blobs)
                .map_err(|error| OpenError::from_read(folder, error))?;
            completed.found += 1;
        }
        if lines.is_empty() {
            return Ok(completed);
        }
        let mut writer = MirrorWriter::open(&path).map_err(&failed)?;
        cut(&path, tail.whole).and_then(|()| writer.write(&lines)).map_err(&failed)?;
    }
}

/// Writes a mirror whose last line is damaged anew if the files of the store have what its lines have not. Returns where the
/// old one is then, and the last event of which there is a trace.
fn merged_anew(folder: &RunFolder, blobs: &FolderBlobs) -> Result<Option<(PathBuf, Seq)>, OpenError> {
    let (path, failed) = (folder.mirror(), OpenError::io(folder));
    let lines = durable::temporary_beside(&path);
    let mut file = File::create_new(&lines).map_err(&failed)?;
    let merged = merged::write(folder, blobs, &mut file);
    let adopted = match &merged {
        Ok(merged) if merged.found > 0 => durable::set_aside(&path, "damaged")
            .and_then(|aside| fs::rename(&lines, &path).map(|()| Some((aside, merged.known))))
            .map_err(&failed),
        // Whoever reads the lines says what is wrong with them.
        _ => Ok(None),
    };
    let _moved_where_it_is_of_use = fs::remove_file(&lines);
    adopted
}

/// How many records are moved between mirror and store at a time.
const MOVE_BATCH: usize = 1000;

/// Brings store and mirror of one run together. Made by whoever holds the lease.
pub(crate) struct Reconciler<'a> {
    pub(crate) folder: &'a RunFolder,
    pub(crate) engine: &'a Engine,
    pub(crate) blobs: &'a FolderBlobs,
    pub(crate) findings: Vec<Finding>,
    /// Where the mirror was moved to first, if it was.
    pub(crate) aside: Option<PathBuf>,
}

/// The good part of a store.
struct Verified {
    /// The last good record.
    head: Head,
    /// The last record whose batch is complete.
    complete: Head,
    /// The last key, good or not.
    last: Seq,
    /// What is wrong with the record after `head`.
    flaw: Option<String>,
}

impl Reconciler<'_> {
    /// Verifies the chain after `checkpoint` and brings store and mirror together. Returns the head of both.
    ///
    /// `seen` is the last event of which the file of the store had a record behind a gap, before it was opened.
    pub(crate) fn reconcile(
        &mut self,
        checkpoint: Option<&Checkpoint>,
        seen: Seq,
    ) -> Result<Head, OpenError> {
        let verified = self.verify(checkpoint)?;
        if let Some(flaw) = verified.flaw.as_ref().filter(|_| verified.head.seq.next() < verified.last) {
            return Err(self.corrupt(verified.head.seq.next(), flaw.clone()));
        }
        let head = self.level(&verified)?;
        let saved = checkpoint.map_or(Seq(0), |checkpoint| checkpoint.seq);
        // Of what was dropped above that is said there.
        let known = if seen > verified.last { saved.max(seen) } else { saved };
        let witness = if known > saved { "the file of the store has traces" } else { "a checkpoint knows" };
        if head.seq == Seq(0) && (known > Seq(0) || self.aside.is_some()) {
            return Err(self.corrupt(Seq(1), NO_EVENT.to_owned()));
        }
        let why = format!("{witness} of them, but neither the store nor events.jsonl has them");
        self.findings.extend(Finding::lost(head.seq, known, &why));
        Ok(head)
    }

    /// Brings the good part of the store and the mirror together. Returns the head of both.
    fn level(&mut self, verified: &Verified) -> Result<Head, OpenError> {
        let mut tail = Tail::read(&self.folder.mirror()).map_err(OpenError::io(self.folder))?;
        if let Some(Err(why)) = &tail.last {
            let lines = mirror::count_lines(&self.folder.mirror()).map_err(OpenError::io(self.folder))?;
            if lines <= verified.head.seq.0 {
                let head = self.drop_unfinished(verified)?;
                return self.rewrite_mirror().map(|()| head);
            }
            self.cut_damaged_lines(verified, why, lines)?;
            tail = Tail::read(&self.folder.mirror()).map_err(OpenError::io(self.folder))?;
        }
        let mirrored = match &tail.last {
            Some(Err(why)) => return Err(self.damaged_end(verified, why)),
            Some(Ok(header)) => Head::at(header),
            None => Head::default(),
        };
        let head = if mirrored.seq > verified.head.seq {
            self.restore_tail(verified, mirrored)?
        } else {
            self.drop_unfinished(verified)?
        };
        self.level_mirror(head, mirrored, &tail)?;
        Ok(head)
    }

    /// Fills an empty store from the mirror, whose chain is checked first, and makes the mirror end there.
    pub(crate) fn fill(&self) -> Result<Head, OpenError> {
        mirror::end_last_line(&self.folder.mirror()).map_err(OpenError::io(self.folder))?;
        let mut lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.of_lines(error))?;
        lines.by_ref().try_for_each(|line| line.map(drop)).map_err(|error| self.of_lines(error))?;
        let end = lines.complete_head();
        if end.seq == Seq(0) {
            let detail = "the first batch of events is not whole".to_owned();
            return Err(OpenError::Lines { at: Seq(1), detail });
        }
        self.copy_from_mirror(Seq(0), end.seq)?;
        mirror::truncate_after(&self.folder.mirror(), end.seq).map_err(OpenError::io(self.folder))?;
        Ok(end)
    }

    /// Adds the events of `lines` after `head`, the last that is here. Returns the last that is here then.
    pub(crate) fn extend(&self, head: Head, lines: &Path) -> Result<Head, OpenError> {
        mirror::end_last_line(lines).map_err(OpenError::io(self.folder))?;
        let mut here = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read(error))?;
        let mut there = mirror::rebuild(lines).map_err(|error| self.of_lines(error))?;
        for line in &mut there {
            let header = line.map_err(|error| self.of_lines(error))?.record.header;
            let known = if header.seq > head.seq { None } else { here.next() };
            let known = known.transpose().map_err(|error| self.read(error))?;
            if known.is_some_and(|known| known.record.header.hash != header.hash) {
                return Err(OpenError::Differs { run: self.folder.run().to_string(), at: header.seq });
            }
        }
        let end = there.complete_head();
        if end.seq <= head.seq {
            return Ok(head);
        }
        // From here on the mirror has more than the store, which is what opening mends.
        fs::rename(lines, self.folder.mirror()).map_err(OpenError::io(self.folder))?;
        self.copy_from_mirror(head.seq, end.seq)?;
        mirror::truncate_after(&self.folder.mirror(), end.seq).map_err(OpenError::io(self.folder))?;
        Ok(end)
    }

    /// Writes the mirror anew from the store. The old one, if it is there, is kept aside.
    pub(crate) fn rewrite_mirror(&mut self) -> Result<(), OpenError> {
        let path = self.folder.mirror();
        let is_there = path.try_exists().map_err(OpenError::io(self.folder))?;
        let aside = is_there.then(|| self.set_mirror_aside()).transpose()?;
        let last = self.engine.last().map_err(|error| OpenError::from_engine(self.folder, error))?;
        self.extend_mirror(Seq(1), last.unwrap_or_default())?;
        self.findings.push(Finding::MirrorRebuilt { aside });
        Ok(())
    }

    fn set_mirror_aside(&mut self) -> Result<PathBuf, OpenError> {
        let aside = durable::set_aside(&self.folder.mirror(), "damaged");
        let aside = aside.map_err(OpenError::io(self.folder))?;
        self.aside.get_or_insert_with(|| aside.clone());
        Ok(aside)
    }

    fn verify(&self, checkpoint: Option<&Checkpoint>) -> Result<Verified, OpenError> {
        let last = self
            .engine
            .last()
            .map_err(|error| OpenError::from_engine(self.folder, error))?
            .unwrap_or_default();
        let anchor = self.anchor(checkpoint);
        let mut verified = Verified { head: anchor, complete: anchor, last, flaw: None };
        let mut records =
            sled_store::scan(self.engine, anchor.seq.next(), last).map_err(|error| self.read(error))?;
        while let Some(record) = records.next_with(check_readable) {
            match record {
                Ok((head, more)) => {
                    verified.head = head;
                    if more == 0 {
                        verified.complete = head;
                    }
                }
                Err(ReadError::Corrupt { detail, .. }) => verified.flaw = Some(detail),
                Err(error) => return Err(self.read(error)),
            }
        }
        Ok(verified)
    }

    /// Returns where verification may begin: the checkpoint, if the store has the record that it names.
    fn anchor(&self, checkpoint: Option<&Checkpoint>) -> Head {
        let found = checkpoint.and_then(|checkpoint| {
            let bytes = self.engine.get(checkpoint.seq).ok()??;
            let record = RecordRef::verify(&bytes).ok()?;
            let named = record.header.hash == checkpoint.hash && record.header.seq == checkpoint.seq;
            (named && record.header.more == 0).then(|| Head::at(&record.header))
        });
        found.unwrap_or_default()
    }

    /// The mirror has more than the store: its events are put back, once its chain is verified.
    fn restore_tail(&mut self, verified: &Verified, mirrored: Head) -> Result<Head, OpenError> {
        let head = self.check_mirror(verified.head)?;
        self.set_flawed_record_aside(verified)?;
        if head.seq > verified.head.seq {
            self.copy_from_mirror(verified.head.seq, head.seq)?;
            self.findings.push(Finding::TailRestored { from: verified.head.seq.next(), to: head.seq });
        }
        let mirror_end = mirrored.seq;
        if head.seq >= mirror_end {
            return Ok(head);
        }
        // The mirror ends within a batch, and so does the store: none of that batch is kept.
        let end = if head.seq > verified.head.seq { head } else { verified.complete };
        self.truncate_store(end.seq)?;
        self.findings.push(Finding::TailDropped {
            after: end.seq,
            known: Some(mirror_end),
            aside: None,
            why: "they are the beginning of a batch whose end was never written".to_owned(),
        });
        Ok(end)
    }

    /// The mirror has no more than the store: what is unfinished at the store's end goes.
    fn drop_unfinished(&mut self, verified: &Verified) -> Result<Head, OpenError> {
        let end = verified.complete;
        if end.seq == verified.last {
            return Ok(end);
        }
        let aside = self.set_flawed_record_aside(verified)?;
        let why = match &verified.flaw {
            Some(flaw) => format!("the last record is not whole ({flaw})"),
            None => "they are the beginning of a batch whose end was never written".to_owned(),
        };
        self.truncate_store(end.seq)?;
        self.findings.push(Finding::TailDropped { after: end.seq, known: Some(verified.last), aside, why });
        Ok(end)
    }

    /// Keeps the bytes of a last record that is not whole in a file, and takes it out of the store.
    fn set_flawed_record_aside(&self, verified: &Verified) -> Result<Option<PathBuf>, OpenError> {
        if verified.flaw.is_none() {
            return Ok(None);
        }
        let seq = verified.last;
        let bytes = self.engine.get(seq).map_err(|error| OpenError::from_engine(self.folder, error))?;
        let kept = self.folder.path().join(format!("dropped-{seq}"));
        durable::replace(&kept, &bytes.unwrap_or_default()).map_err(OpenError::io(self.folder))?;
        self.truncate_store(verified.head.seq)?;
        Ok(Some(kept))
    }

    fn truncate_store(&self, after: Seq) -> Result<(), OpenError> {
        self.engine
            .truncate(after)
            .and_then(|()| self.engine.flush())
            .and_then(|()| self.engine.sync().map_err(EngineError::Io))
            .map_err(|error| OpenError::from_engine(self.folder, error))
    }

    /// Checks the mirror from its first line on; it must pass through `head`. Returns its last complete batch.
    fn check_mirror(&self, head: Head) -> Result<Head, OpenError> {
        let mut lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read(error))?;
        let mut passed = head.seq.0 == 0;
        for line in &mut lines {
            let header = line.map_err(|error| self.mirror_damaged(head, error))?.record.header;
            passed |= header.seq == head.seq && header.hash == head.hash;
        }
        let end = lines.complete_head();
        if passed {
            return Ok(end);
        }
        if end.seq < head.seq {
            return Ok(head); // It ends within a batch of which the store has more.
        }
        Err(self.corrupt(head.seq, "store and events.jsonl hold different events there".to_owned()))
    }

    /// Stores the events of the mirror, which has been checked, from the one after `after` up to `to`.
    fn copy_from_mirror(&self, after: Seq, to: Seq) -> Result<(), OpenError> {
        let lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read(error))?;
        let mut batch = Vec::new();
        for line in lines {
            let rebuilt = line.map_err(|error| self.read(error))?;
            let seq = rebuilt.record.header.seq;
            if seq > after && seq <= to {
                batch.push(self.prepare(rebuilt)?);
            }
            if batch.len() == MOVE_BATCH {
                self.insert(&std::mem::take(&mut batch))?;
            }
        }
        self.insert(&batch)
    }

    fn insert(&self, batch: &[(Seq, Vec<u8>)]) -> Result<(), OpenError> {
        self.engine
            .insert(batch.iter().map(|(seq, bytes)| (*seq, bytes.as_slice())))
            .and_then(|()| self.engine.flush())
            .and_then(|()| self.engine.sync().map_err(EngineError::Io))
            .map_err(|error| OpenError::from_engine(self.folder, error))
    }

    fn prepare(&self, rebuilt: Rebuilt) -> Result<(Seq, Vec<u8>), OpenError> {
        if let Some(content) = &rebuilt.spilled {
            self.blobs.put(content).map_err(OpenError::io(self.folder))?;
        }
        Ok((rebuilt.record.header.seq, rebuilt.record.to_bytes()))
    }

    /// Makes the mirror end where the store ends.
    fn level_mirror(&mut self, head: Head, mirrored: Head, tail: &Tail) -> Result<(), OpenError> {
        let path = self.folder.mirror();
        if mirrored.seq > head.seq {
            return mirror::truncate_after(&path, head.seq).map_err(OpenError::io(self.folder));
        }
        if tail.unfinished + tail.blank > 0 {
            cut(&path, tail.whole).map_err(OpenError::io(self.folder))?;
            if tail.unfinished > 0 && mirrored.seq == head.seq {
                self.findings.push(Finding::TailDropped {
                    after: head.seq,
                    known: None,
                    aside: None,
                    why: "events.jsonl ends with an unfinished line that the store knows nothing of"
                        .to_owned(),
                });
            }
        }
        if !self.passes_through(mirrored)? {
            return self.rewrite_mirror();
        }
        if mirrored.seq < head.seq {
            self.extend_mirror(mirrored.seq.next(), head.seq)?;
            self.findings.push(Finding::MirrorCompleted { from: mirrored.seq.next(), to: head.seq });
        }
        Ok(())
    }

    /// Says whether the store has the record that the mirror ends with.
    fn passes_through(&self, mirrored: Head) -> Result<bool, OpenError> {
        if mirrored.seq.0 == 0 {
            return Ok(true);
        }
        let bytes =
            self.engine.get(mirrored.seq).map_err(|error| OpenError::from_engine(self.folder, error))?;
        let record = bytes.as_deref().map(RecordRef::parse);
        Ok(matches!(record, Some(Ok(record)) if record.header.hash == mirrored.hash))
    }

    fn extend_mirror(&self, from: Seq, to: Seq) -> Result<(), OpenError> {
        let failed = OpenError::io(self.folder);
        let mut writer = MirrorWriter::open(&self.folder.mirror()).map_err(&failed)?;
        let mut records = sled_store::scan(self.engine, from, to).map_err(|error| self.read(error))?;
        let mut lines = Vec::new();
        while let Some(record) = records.next_with(|record| line::push_stored(&mut lines, record, self.blobs))
        {
            record.map_err(|error| self.read(error))?;
            if lines.len() > 1 << 20 {
                writer.write(&lines).map_err(&failed)?;
                lines.clear();
            }
        }
        writer.write(&lines).map_err(failed)
    }

    /// The mirror has more lines than the store has events, and its last one is not readable. What is good before the first
    /// such line is kept, if that reaches the end of the store; the whole file is set aside.
    fn cut_damaged_lines(
        &mut self,
        verified: &Verified,
        why: &LineError,
        lines: u64,
    ) -> Result<(), OpenError> {
        let (path, failed) = (self.folder.mirror(), OpenError::io(self.folder));
        let good = self.good_lines()?.seq;
        if good < verified.head.seq || matches!(why, LineError::Newer(_)) {
            return Err(self.damaged_end(verified, why));
        }
        let aside = self.set_mirror_aside()?;
        fs::copy(&aside, &path).and_then(|_| mirror::truncate_after(&path, good)).map_err(&failed)?;
        let which = match good.next().0 {
            first if first == lines => format!("line {first}"),
            first => format!("one of the lines {first} to {lines}"),
        };
        let kept = aside.display();
        let why = format!(
            "{which} of events.jsonl is damaged, and the store knows nothing of it; the file as it was is {kept}"
        );
        let dropped = Finding::TailDropped { after: good, known: None, aside: Some(aside), why };
        self.findings.push(dropped);
        Ok(())
    }

    /// Returns the last whole batch of the mirror before its first line that is damaged.
    fn good_lines(&self) -> Result<Head, OpenError> {
        let mut lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read(error))?;
        lines.by_ref().take_while(Result::is_ok).for_each(drop);
        Ok(lines.complete_head())
    }

    /// The mirror has lines that the store has not, and they cannot be read.
    fn damaged_end(&self, verified: &Verified, why: &LineError) -> OpenError {
        let (LineError::Newer(detail) | LineError::Damaged(detail)) = why;
        if let LineError::Newer(_) = why {
            return OpenError::NewerVersion { run: self.folder.run().to_string(), detail: detail.clone() };
        }
        let head = verified.head.seq;
        let detail = format!(
            "the store ends at event {head}, and events.jsonl is damaged before that and in its last line: {detail}"
        );
        self.corrupt(head.next(), detail)
    }

    fn mirror_damaged(&self, head: Head, error: ReadError) -> OpenError {
        match error {
            ReadError::Corrupt { at, detail } => {
                let detail =
                    format!("the store ends at event {}, and events.jsonl is damaged: {detail}", head.seq);
                self.corrupt(at, detail)
            }
            other => self.read(other),
        }
    }

    /// Returns an error of what was to be read in, without the name that its copy has here.
    fn of_lines(&self, error: ReadError) -> OpenError {
        let bare = |at: Seq, detail: String| match detail.strip_prefix(&format!("line {at} of ")) {
            Some(named) => named.split_once(": ").map_or(named, |(_, bare)| bare).to_owned(),
            None => detail,
        };
        match error {
            ReadError::Corrupt { at, detail } => OpenError::Lines { at, detail: bare(at, detail) },
            ReadError::Newer { at, detail } => self.read(ReadError::Newer { at, detail: bare(at, detail) }),
            other => self.read(other),
        }
    }

    fn corrupt(&self, at: Seq, detail: String) -> OpenError {
        OpenError::corrupt(self.folder, at, detail)
    }

    fn read(&self, error: ReadError) -> OpenError {
        OpenError::from_read(self.folder, error)
    }
}

fn check_readable(record: &RecordRef<'_>) -> Result<(Head, u32), ReadError> {
    let header = &record.header;
    wire::check_readable(header.kind, header.schema)
        .map_err(|error| ReadError::Newer { at: header.seq, detail: error.to_string() })?;
    Ok((Head::at(header), header.more))
}

fn cut(path: &Path, length: u64) -> io::Result<()> {
    safe_open::open_with(OpenOptions::new().write(true), path)?.set_len(length)
}
