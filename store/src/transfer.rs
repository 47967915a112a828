//! Logs on the move: the lines of a mirror, written out and read into a new run.
//!
//! Export and mirror are the same bytes. An import has the same events with the same hashes, so an
//! exported log can be checked against the run that it came from.

use std::io::{self, BufWriter, Write};

use unstuck_core::id::Seq;
use unstuck_files::safe_open;

use crate::json_line;
use crate::mirror::EventLines;
use crate::run_log::ReadLog;

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
