//! The index of the runs of a workspace: one line of JSON for each. A convenience that can be written again from the runs.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::Path;

use crate::run_dir::RunDir;
use serde::{Deserialize, Serialize};
use unstuck_core::id::RunId;
use unstuck_files::platform;
use unstuck_files::safe_open;

/// The name of its file.
pub(crate) const INDEX: &str = "index";

/// A line of the index for a log that was opened for writing.
#[derive(Serialize, Deserialize)]
pub(crate) struct OpenNotice {
    pub(crate) opened: RunId,
}

/// Notes in the index that the log of a run was opened for writing, so that a list of runs looks at it again.
pub(crate) fn note_opened(folder: &RunDir) {
    let runs = folder.path().parent().filter(|runs| runs.ends_with("runs"));
    let Some(project) = runs.and_then(Path::parent) else { return };
    let line = serde_json::to_vec(&OpenNotice { opened: folder.run().clone() }).map_err(io::Error::from);
    if let Err(error) = line.and_then(|line| append(&project.join(INDEX), line)) {
        tracing::debug!("the index does not say that run {} was opened: {error}", folder.run());
    }
}

/// Adds a line.
pub(crate) fn append(index: &Path, mut line: Vec<u8>) -> io::Result<()> {
    line.push(b'\n');
    let mut options = OpenOptions::new();
    let mut file = safe_open::open_with(options.read(true).append(true).create(true), index)?;
    if !ends_line(&file)? {
        line.insert(0, b'\n');
    }
    file.write_all(&line)
}

/// Returns whether the last line of a file is complete.
fn ends_line(file: &fs::File) -> io::Result<bool> {
    let length = file.metadata()?.len();
    let mut last = [b'\n'];
    if length > 0 {
        platform::read_exact_at(file, &mut last, length - 1)?;
    }
    Ok(last == [b'\n'])
}
