//! Exported logs that are read in.

use std::io::Read;

use unstuck_core::id::Seq;
use unstuck_store::event_store::EventStore as _;
use unstuck_store::recovery::OpenError;
use unstuck_store::run_dir::RunDir;
use unstuck_store::run_log::RunLog;

use crate::open;

/// Makes a new run from exported lines. Unless all of them are good there is no run; a last batch that is
/// cut short is left out.
///
/// Lines that another program has put in another form are read too, but then the mirror differs from
/// the export in its bytes, not in its events.
pub(crate) fn import(lines: &mut dyn Read, folder: &RunDir) -> Result<RunLog, OpenError> {
    let log = open::create_from(folder, lines)?;
    folder.note_imported(log.head().seq);
    Ok(log)
}

/// Adds to a run that is here what exported lines hold beyond its last event. Returns that event, too; where it is the
/// last one still, there was nothing to add.
///
/// # Errors
///
/// An event that is here is another one than in the lines, or as [`import`]; nothing is changed then.
pub(crate) fn extend(lines: &mut dyn Read, folder: &RunDir) -> Result<(RunLog, Seq), OpenError> {
    let (log, before) = open::extend_from(folder, lines)?;
    folder.note_imported(log.head().seq);
    Ok((log, before))
}
