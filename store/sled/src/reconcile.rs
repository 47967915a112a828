//! Brings engine and mirror of a run together.
//!
//! The rule: what both witnesses (engine and mirror) or a verified chain support is repaired and reported; anything else
//! stops with a diagnosis. There are never fewer events in silence.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use unstuck_core::id::Seq;
use unstuck_files::durable;
use unstuck_store::blobs::{BlobStore, DirBlobs};
use unstuck_store::checkpoint::Checkpoint;
use unstuck_store::event_store::ReadError;
use unstuck_store::json_line::{self, LineError, RebuiltRecord};
use unstuck_store::mirror::{self, MirrorWriter, Tail};
use unstuck_store::record::{Head, RecordRef};
use unstuck_store::recovery::{OpenError, Repair};
use unstuck_store::run_dir::RunDir;
use unstuck_store::run_log::StoreTail;
use unstuck_store::wire;

use crate::database::{Database, EngineError};
use crate::open_error::{self, NO_EVENT};
use crate::salvage;
use crate::sled_table;
use crate::store_tail;

/// Records that a mirror got from the files of the store.
#[derive(Default)]
pub(crate) struct CompletedMirror {
    /// How many events.
    pub(crate) found: u64,
    /// The last event of the mirror now.
    pub(crate) last: Seq,
    /// The last event of which they have a record behind a gap.
    pub(crate) known: Seq,
}

impl CompletedMirror {
    /// Says what was done. `aside` is where the old mirror is, if it was damaged.
    pub(crate) fn repairs(&self, aside: Option<&Path>) -> Vec<Repair> {
        let from = Seq(self.last.0 + 1 - self.found);
        let completed = (self.found > 0).then_some(Repair::MirrorCompleted { from, to: self.last });
        let rebuilt = aside.map(|aside| Repair::MirrorRebuilt { aside: Some(aside.to_owned()) });
        rebuilt.into_iter().chain(completed).collect()
    }
}

/// Adds to the mirror what the files of the store have beyond it. The caller holds the lease, and calls it before the engine opens
/// those files: it drops what it cannot read.
///
/// `aside` becomes where the mirror was moved to, if its last line was damaged and the files of the store have that event.
pub(crate) fn complete_mirror(
    folder: &RunDir,
    blobs: &DirBlobs,
    aside: &mut Option<PathBuf>,
) -> Result<CompletedMirror, OpenError> {
    let (path, failed) = (folder.mirror(), OpenError::io(folder));
    let mut completed = CompletedMirror::default();
    mirror::end_last_line(&path).map_err(&failed)?;
    loop {
        let tail = Tail::read(&path).map_err(&failed)?;
        let last = match tail.last.transpose() {
            Ok(last) => last,
            Err(LineError::Newer(_)) => return Ok(completed),
            Err(LineError::Damaged(_)) => {
                if let Some((kept, known)) = rebuild_damaged_mirror(folder, blobs)? {
                    (*aside, completed.known) = (Some(kept), known);
                }
                return Ok(completed);
            }
        };
        let StoreTail { records, known, .. } =
            store_tail::read_after(folder, last.as_ref()).map_err(open_error::in_file(folder))?;
        let here = last.map_or(Seq(0), |last| last.seq);
        (completed.last, completed.known) = (here, known);
        let mut lines = Vec::new();
        for record in &records {
            json_line::push_stored(&mut lines, &record.as_ref(), blobs)
                .map_err(|error| open_error::from_read(folder, error))?;
            completed.found += 1;
        }
        if lines.is_empty() {
            return Ok(completed);
        }
        let mut writer = MirrorWriter::open(&path).map_err(&failed)?;
        mirror::cut(&path, tail.whole).and_then(|()| writer.write(&lines)).map_err(&failed)?;
    }
}

/// Rebuilds a mirror whose last line is damaged, if the files of the store have events that its lines lack. Returns the
/// path of the old one, and the last event that left a trace.
fn rebuild_damaged_mirror(folder: &RunDir, blobs: &DirBlobs) -> Result<Option<(PathBuf, Seq)>, OpenError> {
    let (path, failed) = (folder.mirror(), OpenError::io(folder));
    let lines = durable::temporary_beside(&path);
    let mut file = File::create_new(&lines).map_err(&failed)?;
    let merged = salvage::write(folder, blobs, &mut file);
    let adopted = match &merged {
        Ok(merged) if merged.found > 0 => durable::set_aside(&path, "damaged")
            .and_then(|aside| fs::rename(&lines, &path).map(|()| Some((aside, merged.known))))
            .map_err(&failed),
        // Reading the lines says what is wrong with them.
        _ => Ok(None),
    };
    let _moved_where_it_is_of_use = fs::remove_file(&lines);
    adopted
}

/// How many records are moved between mirror and store at a time.
const MOVE_BATCH: usize = 1000;

/// Brings store and mirror of one run together, under the lease.
pub(crate) struct Reconciler<'a> {
    pub(crate) folder: &'a RunDir,
    pub(crate) engine: &'a Database,
    pub(crate) blobs: &'a DirBlobs,
    pub(crate) repairs: Vec<Repair>,
    /// Where the mirror was moved to first, if it was.
    pub(crate) aside: Option<PathBuf>,
}

/// The good part of a store.
struct VerifiedStore {
    /// The last good record.
    head: Head,
    /// The last record whose batch is complete.
    complete: Head,
    /// The last key, good or not.
    last: Seq,
    /// The fault of the record after `head`.
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
        // Events that were dropped above are reported there.
        let known = if seen > verified.last { saved.max(seen) } else { saved };
        let witness = if known > saved { "the file of the store has traces" } else { "a checkpoint knows" };
        if head.seq == Seq(0) && (known > Seq(0) || self.aside.is_some()) {
            return Err(self.corrupt(Seq(1), NO_EVENT.to_owned()));
        }
        let why = format!("{witness} of them, but neither the store nor events.jsonl has them");
        self.repairs.extend(open_error::lost_range(head.seq, known, &why));
        Ok(head)
    }

    /// Brings the good part of the store and the mirror together. Returns the head of both.
    fn level(&mut self, verified: &VerifiedStore) -> Result<Head, OpenError> {
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
        let mut lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.import_error(error))?;
        lines.by_ref().try_for_each(|line| line.map(drop)).map_err(|error| self.import_error(error))?;
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
        let mut here = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read_error(error))?;
        let mut there = mirror::rebuild(lines).map_err(|error| self.import_error(error))?;
        for line in &mut there {
            let header = line.map_err(|error| self.import_error(error))?.record.header;
            let known = if header.seq > head.seq { None } else { here.next() };
            let known = known.transpose().map_err(|error| self.read_error(error))?;
            if known.is_some_and(|known| known.record.header.hash != header.hash) {
                return Err(OpenError::Differs { run: self.folder.run().to_string(), at: header.seq });
            }
        }
        let end = there.complete_head();
        if end.seq <= head.seq {
            return Ok(head);
        }
        // From here on the mirror has more than the store, which opening repairs.
        fs::rename(lines, self.folder.mirror()).map_err(OpenError::io(self.folder))?;
        self.copy_from_mirror(head.seq, end.seq)?;
        mirror::truncate_after(&self.folder.mirror(), end.seq).map_err(OpenError::io(self.folder))?;
        Ok(end)
    }

    /// Rebuilds the mirror from the store. Keeps the old one, if it exists.
    pub(crate) fn rewrite_mirror(&mut self) -> Result<(), OpenError> {
        let path = self.folder.mirror();
        let is_there = path.try_exists().map_err(OpenError::io(self.folder))?;
        let aside = is_there.then(|| self.set_mirror_aside()).transpose()?;
        let last = self.engine.last().map_err(|error| open_error::from_engine(self.folder, error))?;
        self.extend_mirror(Seq(1), last.unwrap_or_default())?;
        self.repairs.push(Repair::MirrorRebuilt { aside });
        Ok(())
    }

    fn set_mirror_aside(&mut self) -> Result<PathBuf, OpenError> {
        let aside = durable::set_aside(&self.folder.mirror(), "damaged");
        let aside = aside.map_err(OpenError::io(self.folder))?;
        self.aside.get_or_insert_with(|| aside.clone());
        Ok(aside)
    }

    fn verify(&self, checkpoint: Option<&Checkpoint>) -> Result<VerifiedStore, OpenError> {
        let last = self.engine.last().map_err(|error| open_error::from_engine(self.folder, error))?;
        let last = last.unwrap_or_default();
        let anchor = self.anchor(checkpoint);
        let mut verified = VerifiedStore { head: anchor, complete: anchor, last, flaw: None };
        let mut records =
            sled_table::scan(self.engine, anchor.seq.next(), last).map_err(|error| self.read_error(error))?;
        while let Some(record) = records.next_with(check_readable) {
            match record {
                Ok((head, more)) => {
                    verified.head = head;
                    if more == 0 {
                        verified.complete = head;
                    }
                }
                Err(ReadError::Corrupt { detail, .. }) => verified.flaw = Some(detail),
                Err(error) => return Err(self.read_error(error)),
            }
        }
        Ok(verified)
    }

    /// Returns where verification may begin: the checkpoint, if the store has the record that it names.
    fn anchor(&self, checkpoint: Option<&Checkpoint>) -> Head {
        let head = checkpoint.and_then(|checkpoint| {
            let bytes = self.engine.get(checkpoint.seq).ok()??;
            let record = RecordRef::verify(&bytes).ok()?;
            let named = record.header.hash == checkpoint.hash && record.header.seq == checkpoint.seq;
            (named && record.header.more == 0).then(|| Head::at(&record.header))
        });
        head.unwrap_or_default()
    }

    /// Restores the store from a mirror that has more events, once the chain of the mirror is verified.
    fn restore_tail(&mut self, verified: &VerifiedStore, mirrored: Head) -> Result<Head, OpenError> {
        let head = self.check_mirror(verified.head)?;
        self.set_flawed_record_aside(verified)?;
        if head.seq > verified.head.seq {
            self.copy_from_mirror(verified.head.seq, head.seq)?;
            self.repairs.push(Repair::TailRestored { from: verified.head.seq.next(), to: head.seq });
        }
        let mirror_end = mirrored.seq;
        if head.seq >= mirror_end {
            return Ok(head);
        }
        // The mirror ends within a batch, and so does the store: none of that batch is kept.
        let end = if head.seq > verified.head.seq { head } else { verified.complete };
        self.truncate_store(end.seq)?;
        self.repairs.push(Repair::TailDropped {
            after: end.seq,
            known: Some(mirror_end),
            aside: None,
            why: "they are the beginning of a batch whose end was never written".to_owned(),
        });
        Ok(end)
    }

    /// The mirror has no more than the store: what is unfinished at the store's end goes.
    fn drop_unfinished(&mut self, verified: &VerifiedStore) -> Result<Head, OpenError> {
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
        self.repairs.push(Repair::TailDropped { after: end.seq, known: Some(verified.last), aside, why });
        Ok(end)
    }

    /// Saves the bytes of a damaged last record to a file, and removes it from the store.
    fn set_flawed_record_aside(&self, verified: &VerifiedStore) -> Result<Option<PathBuf>, OpenError> {
        if verified.flaw.is_none() {
            return Ok(None);
        }
        let seq = verified.last;
        let bytes = self.engine.get(seq).map_err(|error| open_error::from_engine(self.folder, error))?;
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
            .map_err(|error| open_error::from_engine(self.folder, error))
    }

    /// Checks the mirror from its first line on; it must pass through `head`. Returns its last complete batch.
    fn check_mirror(&self, head: Head) -> Result<Head, OpenError> {
        let mut lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read_error(error))?;
        let mut passed = head.seq.0 == 0;
        for line in &mut lines {
            let header = line.map_err(|error| self.mirror_error(head, error))?.record.header;
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
        let lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read_error(error))?;
        let mut batch = Vec::new();
        for line in lines {
            let rebuilt = line.map_err(|error| self.read_error(error))?;
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
            .map_err(|error| open_error::from_engine(self.folder, error))
    }

    fn prepare(&self, rebuilt: RebuiltRecord) -> Result<(Seq, Vec<u8>), OpenError> {
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
            mirror::cut(&path, tail.whole).map_err(OpenError::io(self.folder))?;
            if tail.unfinished > 0 && mirrored.seq == head.seq {
                self.repairs.push(Repair::TailDropped {
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
            self.repairs.push(Repair::MirrorCompleted { from: mirrored.seq.next(), to: head.seq });
        }
        Ok(())
    }

    /// Says whether the store has the record that the mirror ends with.
    fn passes_through(&self, mirrored: Head) -> Result<bool, OpenError> {
        if mirrored.seq.0 == 0 {
            return Ok(true);
        }
        let bytes =
            self.engine.get(mirrored.seq).map_err(|error| open_error::from_engine(self.folder, error))?;
        let record = bytes.as_deref().map(RecordRef::parse);
        Ok(matches!(record, Some(Ok(record)) if record.header.hash == mirrored.hash))
    }

    fn extend_mirror(&self, from: Seq, to: Seq) -> Result<(), OpenError> {
        let failed = OpenError::io(self.folder);
        let mut writer = MirrorWriter::open(&self.folder.mirror()).map_err(&failed)?;
        let mut records = sled_table::scan(self.engine, from, to).map_err(|error| self.read_error(error))?;
        let mut lines = Vec::new();
        while let Some(record) =
            records.next_with(|record| json_line::push_stored(&mut lines, record, self.blobs))
        {
            record.map_err(|error| self.read_error(error))?;
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
        verified: &VerifiedStore,
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
        self.repairs.push(Repair::TailDropped { after: good, known: None, aside: Some(aside), why });
        Ok(())
    }

    /// Returns the last whole batch of the mirror before its first line that is damaged.
    fn good_lines(&self) -> Result<Head, OpenError> {
        let mut lines = mirror::rebuild(&self.folder.mirror()).map_err(|error| self.read_error(error))?;
        lines.by_ref().take_while(Result::is_ok).for_each(drop);
        Ok(lines.complete_head())
    }

    /// The mirror has lines that the store has not, and they cannot be read.
    fn damaged_end(&self, verified: &VerifiedStore, why: &LineError) -> OpenError {
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

    fn mirror_error(&self, head: Head, error: ReadError) -> OpenError {
        match error {
            ReadError::Corrupt { at, detail } => {
                let detail =
                    format!("the store ends at event {}, and events.jsonl is damaged: {detail}", head.seq);
                self.corrupt(at, detail)
            }
            other => self.read_error(other),
        }
    }

    /// Returns an error of what was to be read in, without the name that its copy has here.
    fn import_error(&self, error: ReadError) -> OpenError {
        let bare = |at: Seq, detail: String| match detail.strip_prefix(&format!("line {at} of ")) {
            Some(named) => named.split_once(": ").map_or(named, |(_, bare)| bare).to_owned(),
            None => detail,
        };
        match error {
            ReadError::Corrupt { at, detail } => OpenError::Lines { at, detail: bare(at, detail) },
            ReadError::Newer { detail, at } => {
                self.read_error(ReadError::Newer { detail: bare(at, detail), at })
            }
            other => self.read_error(other),
        }
    }

    fn corrupt(&self, at: Seq, detail: String) -> OpenError {
        open_error::corrupt(self.folder, at, detail)
    }

    fn read_error(&self, error: ReadError) -> OpenError {
        open_error::from_read(self.folder, error)
    }
}

fn check_readable(record: &RecordRef<'_>) -> Result<(Head, u32), ReadError> {
    let header = &record.header;
    wire::check_readable(header.kind, header.schema)
        .map_err(|error| ReadError::Newer { at: header.seq, detail: error.to_string() })?;
    Ok((Head::at(header), header.more))
}
