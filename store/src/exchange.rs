//! Logs on the move: the lines of a mirror, written from any store and read into a new run.
//!
//! Export and mirror are the same bytes. An import has the same events with the same hashes, so an
//! exported log can be checked against the run that it came from.

use std::io::{self, Read, Write};

use unstuck_core::id::Seq;

use crate::blobs::BlobStore;
use crate::chain;
use crate::event_store::{EventStore, ReadError};
use crate::line::{self, Rebuilt};
use crate::mirror;
use crate::opening::OpenError;
use crate::run_folder::RunFolder;
use crate::run_log::{ReadLog, RunLog};

/// Why a log could not be exported.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum ExportError {
    #[error("the log cannot be read to its end")]
    Read(#[from] ReadError),
    #[error("the export cannot be written")]
    Write(#[source] io::Error),
}

/// Writes every event of `store` as a line. Returns the last. What is good is written before an error is returned.
pub fn export(
    store: &dyn EventStore,
    blobs: &dyn BlobStore,
    out: &mut dyn Write,
) -> Result<Seq, ExportError> {
    let mut last = Seq(0);
    let mut line = Vec::new();
    for record in store.records(Seq(1))? {
        let record = record?;
        let content = chain::content(&record.as_ref(), blobs)?;
        line.clear();
        line::push_record(&mut line, &record.header, &content)
            .map_err(|error| ReadError::Corrupt { at: record.header.seq, detail: error.to_string() })?;
        out.write_all(&line).map_err(ExportError::Write)?;
        last = record.header.seq;
    }
    out.flush().map_err(ExportError::Write)?;
    Ok(last)
}

/// Writes every event of a log that somebody else may be writing. Reads the mirror, and so works where the
/// store is damaged: what is good is written before an error is returned.
pub fn export_from(log: &ReadLog, out: &mut dyn Write) -> Result<Seq, ExportError> {
    let mut last = Seq(0);
    let mut lines = Vec::new();
    for rebuilt in mirror::rebuild(&log.folder().mirror())? {
        let Rebuilt { record, spilled } = rebuilt?;
        lines.clear();
        line::push_record(&mut lines, &record.header, spilled.as_ref().unwrap_or(&record.payload))
            .map_err(|error| ReadError::Corrupt { at: record.header.seq, detail: error.to_string() })?;
        out.write_all(&lines).map_err(ExportError::Write)?;
        last = record.header.seq;
    }
    out.flush().map_err(ExportError::Write)?;
    Ok(last)
}

/// Makes a new run from exported lines. Unless all of them are good there is no run; a last batch that is
/// cut short is left out.
///
/// Lines that another program has put in another form are read too, but then the mirror differs from
/// the export in its bytes, not in its events.
pub fn import(lines: &mut dyn Read, folder: &RunFolder) -> Result<RunLog, OpenError> {
    RunLog::create_from(folder, lines)
}

/// Adds to a run that is here what exported lines hold beyond its last event. Returns that event, too; where it is the
/// last one still, there was nothing to add.
///
/// # Errors
///
/// An event that is here is another one than in the lines, or as [`import`]; nothing is changed then.
pub fn extend(lines: &mut dyn Read, folder: &RunFolder) -> Result<(RunLog, Seq), OpenError> {
    RunLog::extend_from(folder, lines)
}
