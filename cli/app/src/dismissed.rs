//! Runs that a person is done with, which the overview leaves out. The file `done` in the state folder of the project has a line
//! for each: the run, and the moment of its last event. A run that is resumed later is shown again.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::PathBuf;

use unstuck_core::id::{RunId, Timestamp};
use unstuck_store::Runs;

use crate::error::{AppError, Result};
use crate::run_handle::RunHandle;

/// Leaves a run out of the overview.
///
/// # Errors
///
/// A process works on the run, its log cannot be read, or the file cannot be written.
pub fn dismiss(found: &RunHandle) -> Result<()> {
    let short = found.short();
    if found.is_live() {
        return Err(AppError::usage(format!("run {short} is at work")).hint(format!("unstuck stop {short}")));
    }
    let last = found.known_events()?.last().map_or(0, |event| event.at.0);
    let path = file(&found.runs);
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&path)
        .and_then(|mut file| writeln!(file, "{} {last}", found.entry.run));
    written.map_err(|error| AppError::usage(format!("cannot write {}: {error}", path.display())))
}

/// Returns the runs that a person is done with, with the moments of their last events then. A line that cannot be read is left out.
pub fn dismissed(runs: &Runs) -> BTreeMap<RunId, Timestamp> {
    let text = fs::read_to_string(file(runs)).unwrap_or_default();
    let read = |line: &str| {
        let (run, at) = line.split_once(' ')?;
        Some((RunId::from(run), Timestamp(at.parse().ok()?)))
    };
    text.lines().filter_map(read).collect()
}

fn file(runs: &Runs) -> PathBuf {
    runs.path().join("done")
}
