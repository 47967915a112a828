//! Logs on the move: the lines of a mirror, written out and read into a new run.
//!
//! Export and mirror are the same bytes. An import has the same events with the same hashes, so an
//! exported log can be checked against the run that it came from.

use std::io::{self, BufWriter, Write};

use unstuck_core::event::Event;
use unstuck_core::id::{Epoch, Seq};
use unstuck_files::safe_open;

use crate::blobs::MemoryBlobs;
use crate::event_store::{ExpectedVersion, Head};
use crate::mirror::{self, EventLines};
use crate::record::Record;
use crate::run_log::ReadLog;
use crate::{chain, json_line};

/// Writes the lines of a log up to event `last`, the last one that was verified: first the lines of the mirror,
/// unchanged, then those for events that only the store has. Another process may be writing the log, and its store may
/// be damaged.
///
/// # Errors
///
/// The log cannot be read, or `out` cannot be written.
pub fn export(log: &ReadLog, last: Seq, out: &mut dyn Write) -> io::Result<()> {
    let mut out = BufWriter::new(out);
    let mut mirror = EventLines::new(safe_open::open(&log.lines())?);
    // Where the end of the mirror cannot be read, nothing is known to follow it.
    let unmirrored = log.unmirrored().unwrap_or_default();
    let lines = unmirrored.first().map_or(last.0, |first| last.0.min(first.header.seq.0 - 1));
    let mut line = Vec::new();
    for _ in 0..lines {
        mirror.read(&mut line)?;
        out.write_all(&line)?;
    }
    for record in unmirrored.iter().filter(|record| record.header.seq <= last) {
        line.clear();
        json_line::push_stored(&mut line, &record.as_ref(), &*log.blobs()).map_err(io::Error::other)?;
        out.write_all(&line)?;
    }
    out.flush()
}

/// Writes the lines of a new run that shares the events of a log from the second to `last`: the same payloads at the same
/// times, in a new chain. `first` takes the place of the first event, and `then` is the batch that follows `last`.
///
/// # Errors
///
/// The log does not reach event `last`, or cannot be read; `out` cannot be written.
pub fn fork(log: &ReadLog, first: &Event, last: Seq, then: &[Event], out: &mut dyn Write) -> io::Result<()> {
    let mut lines =
        ForkWriter { out: BufWriter::new(out), head: Head::default(), blobs: MemoryBlobs::default() };
    let mut shared = mirror::rebuild(&log.lines()).map_err(io::Error::other)?;
    let mut next = || shared.next().transpose().map_err(io::Error::other);
    let begin = next()?.ok_or(io::ErrorKind::UnexpectedEof)?.record.header;
    lines.push_events(std::slice::from_ref(first), begin.epoch, begin.more)?;
    while lines.head.seq < last {
        let shared = next()?.ok_or(io::ErrorKind::UnexpectedEof)?;
        lines.push(shared.record, shared.spilled.as_deref())?;
    }
    let epoch = lines.head.epoch;
    lines.push_events(then, epoch, 0)?;
    lines.out.flush()
}

/// Writes lines in a new chain.
struct ForkWriter<'a> {
    out: BufWriter<&'a mut dyn Write>,
    head: Head,
    blobs: MemoryBlobs,
}

impl ForkWriter<'_> {
    /// Writes new events, which `more` others of their batch follow.
    fn push_events(&mut self, events: &[Event], epoch: Epoch, more: u32) -> io::Result<()> {
        let prepared = chain::prepare(events, &self.blobs).map_err(io::Error::other)?;
        let mut head = self.head;
        let sealed =
            chain::seal(prepared, ExpectedVersion::Any, &mut head, epoch).map_err(io::Error::other)?;
        for mut record in sealed {
            record.header.more += more;
            let content =
                chain::content(&record.as_ref(), &self.blobs).map_err(io::Error::other)?.into_owned();
            self.push(record, Some(&content))?;
        }
        Ok(())
    }

    /// Writes a record after the last one. `content` is its fact, where that is not the payload.
    fn push(&mut self, mut record: Record, content: Option<&[u8]>) -> io::Result<()> {
        record.header.prev = self.head.hash;
        record.header.seal(&record.payload);
        self.head = Head::at(&record.header);
        let mut line = Vec::new();
        let content = content.unwrap_or(&record.payload);
        json_line::push_record(&mut line, &record.header, content).map_err(io::Error::other)?;
        self.out.write_all(&line)
    }
}
