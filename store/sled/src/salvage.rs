//! Intact events of a log: lines of the mirror, and, if those are damaged or missing, records in the files of the
//! store.
//!
//! Lines and records hold their own hash and the previous one. So the next event of the chain is recognized in both.

use std::io::{self, BufRead as _, BufReader, BufWriter, Read as _, Write};

use unstuck_core::id::Seq;
use unstuck_files::safe_open::{self, FileError, LINE_MAX};
use unstuck_store::blobs::DirBlobs;
use unstuck_store::checkpoint::Checkpoint;
use unstuck_store::event_store::{Head, ReadError};
use unstuck_store::json_line::{self, LineBuffers, LineError};
use unstuck_store::line_reader::{is_blank, line_error};
use unstuck_store::record::{Header, Record};
use unstuck_store::recovery::SalvageReport;
use unstuck_store::run_dir::RunDir;

use crate::store_tail::{RECORDS_MAX, TailRecords};

/// Writes the lines of all intact events, up to the first that both files lack. No other process may write the log.
///
/// # Errors
///
/// A file cannot be read, a line is of a newer version, or `out` cannot be written.
pub(crate) fn write(
    folder: &RunDir,
    blobs: &DirBlobs,
    out: &mut dyn Write,
) -> Result<SalvageReport, ReadError> {
    let store = TailRecords::read(folder, Seq(0), Head::default()).map_err(in_file)?;
    let known =
        Checkpoint::load(&folder.checkpoint()).map_or(Seq(0), |checkpoint| checkpoint.seq).max(store.last);
    let mut salvager = Salvager {
        folder,
        blobs,
        out: BufWriter::new(out),
        store,
        head: Head::default(),
        batch: Vec::new(),
        batch_found: 0,
        merged: SalvageReport { known, ..SalvageReport::default() },
    };
    salvager.take_lines()?;
    salvager.take_what_follows()?;
    salvager.out.flush().map_err(ReadError::io(folder.path()))?;
    Ok(salvager.merged)
}

struct Salvager<'a> {
    folder: &'a RunDir,
    blobs: &'a DirBlobs,
    out: BufWriter<&'a mut dyn Write>,
    /// Records of the store, the first ones of those that follow some head.
    store: TailRecords,
    head: Head,
    /// The lines of a batch whose end is not there yet, and how many of them are from the store.
    batch: Vec<u8>,
    batch_found: u64,
    merged: SalvageReport,
}

impl Salvager<'_> {
    /// Takes what continues the chain of the lines of the mirror; one that is not there has none.
    fn take_lines(&mut self) -> Result<(), ReadError> {
        let path = self.folder.mirror();
        let mut mirror = match safe_open::open(&path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            file => BufReader::new(file.map_err(ReadError::io(&path))?),
        };
        let (mut line, mut scratch) = (Vec::new(), LineBuffers::default());
        loop {
            line.clear();
            let read = mirror.by_ref().take(LINE_MAX + 1).read_until(b'\n', &mut line);
            if read.map_err(ReadError::io(&path))? == 0 {
                return Ok(());
            }
            // The end of the last line may be all that it lacks.
            let is_ended = line.ends_with(b"\n");
            let line = line.trim_ascii_end();
            if is_blank(line) {
                continue;
            }
            match json_line::check(line, &mut scratch) {
                Ok((header, _)) => self.take_line(&header, line)?,
                Err(_) if !is_ended => self.merged.behind += 1,
                Err(LineError::Damaged(_)) => self.pass_over(),
                Err(newer) => return Err(line_error(newer, self.head, &path)),
            }
        }
    }

    fn take_line(&mut self, header: &Header, line: &[u8]) -> Result<(), ReadError> {
        self.merged.known = self.merged.known.max(Seq(header.seq.0 + u64::from(header.more)));
        if self.head.check_next(header).is_err() {
            let Some(missing) = self.missing_before(header)? else {
                self.pass_over();
                return Ok(());
            };
            for record in &missing {
                self.take_record(record)?;
            }
        }
        self.merged.behind = 0;
        self.batch.extend_from_slice(line);
        self.batch.push(b'\n');
        self.follow(header)
    }

    fn pass_over(&mut self) {
        self.merged.is_damaged = true;
        self.merged.behind += 1;
    }

    /// Returns the records between the head and a line, if the store has all of them.
    fn missing_before(&mut self, header: &Header) -> Result<Option<Vec<Record>>, ReadError> {
        if header.seq <= self.head.seq.next() {
            return Ok(None);
        }
        self.look_from_here(header.seq)?;
        let missing = self.store.between(self.head, Seq(header.seq.0 - 1), header.prev);
        Ok(missing.filter(|missing| missing.iter().all(|record| self.line_of(record).is_some())))
    }

    /// Returns the line of a record, if its payload exists.
    fn line_of(&self, record: &Record) -> Option<Vec<u8>> {
        let mut line = Vec::new();
        json_line::push_stored(&mut line, &record.as_ref(), self.blobs).ok().map(|()| line)
    }

    /// Takes what the store has behind the last line that was taken.
    fn take_what_follows(&mut self) -> Result<(), ReadError> {
        loop {
            // Ignore records of a lease before the lease of the head: they were given up.
            self.store = TailRecords::read(self.folder, self.head.seq, self.head).map_err(in_file)?;
            let (before, records) = (self.head.seq, self.store.continuing_chain(self.head));
            for record in &records {
                self.take_record(record)?;
            }
            // None, or one whose payload is lost.
            if records.is_empty() || self.head.seq.0 < before.0 + records.len() as u64 {
                return Ok(());
            }
        }
    }

    /// Looks for more of the store, unless what is at hand reaches up to `seq`.
    fn look_from_here(&mut self, seq: Seq) -> Result<(), ReadError> {
        let kept = self.store.records.last_key_value().map_or(Seq(0), |(seq, _)| *seq);
        if self.store.records.len() >= RECORDS_MAX && kept < seq && self.store.from < self.head.seq {
            self.store = TailRecords::read(self.folder, self.head.seq, self.head).map_err(in_file)?;
        }
        Ok(())
    }

    /// Takes a record that follows, if its payload and the one before exist.
    fn take_record(&mut self, record: &Record) -> Result<(), ReadError> {
        let follows = self.head.check_next(&record.header).is_ok();
        let Some(line) = follows.then(|| self.line_of(record)).flatten() else { return Ok(()) };
        self.batch.extend_from_slice(&line);
        self.batch_found += 1;
        self.merged.behind = self.merged.behind.saturating_sub(1);
        self.follow(&record.header)
    }

    fn follow(&mut self, header: &Header) -> Result<(), ReadError> {
        self.head = Head::at(header);
        if header.more == 0 {
            self.out.write_all(&self.batch).map_err(ReadError::io(self.folder.path()))?;
            self.batch.clear();
            self.merged.ends_in_store = self.batch_found > 0;
            self.merged.found += std::mem::take(&mut self.batch_found);
            self.merged.head = self.head;
        }
        Ok(())
    }
}

fn in_file(FileError { path, source }: FileError) -> ReadError {
    ReadError::io(&path)(source)
}
