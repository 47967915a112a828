//! A run in the background: prepared by one process, and driven by a second one.

use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unstuck_core::event::RunStarted;
use unstuck_core::id::RunId;
use unstuck_files::{own_stdout, safe_open};
use unstuck_store::Runs;
use unstuck_store::store::Store as _;

use crate::drive::Terms;
use crate::error::{AppError, Result};
use crate::project::ProjectRuns;
use crate::project_location::ProjectLocation;
use crate::start::{self, PreparedRun};

/// The message to the second process.
#[derive(Debug, Serialize, Deserialize)]
struct DetachHandoff {
    started: RunStarted,
    /// The files that the first process prints into: they are no work of the run either.
    own_output: Vec<String>,
}

/// How often the index is read until the run has begun.
const POLL: Duration = Duration::from_millis(20);

/// A run that was started in the background.
pub enum Background {
    /// It has begun, and its output is in this file.
    Started(PathBuf),
    /// The second process ended before the run began, with this status and these lines.
    Ended(ExitStatus, String),
}

/// Starts a run by a second process of `command`, which calls [`receive_handoff`]. Returns when the beginning of the run is in the
/// log.
///
/// # Errors
///
/// The run is kept in memory, or the process cannot be started.
pub fn start(prepared: &PreparedRun, command: Command) -> Result<Background> {
    let (started, runs) = (&prepared.started, prepared.runs.as_ref());
    let runs = runs.ok_or_else(|| {
        AppError::usage(
            "a run that is kept in memory cannot be looked at from elsewhere, so it cannot be detached",
        )
        .hint("--store sled:PATH")
    })?;
    let output = runs.create_artifacts(&started.run).map(|artifacts| artifacts.join("output.log"));
    let begun = output.and_then(|output| Ok((begin(command, &output, started, runs)?, output)));
    let (ended, output) = begun.map_err(|error| AppError::store(&error))?;
    Ok(match ended {
        Some(status) => {
            let lines = safe_open::read_text(&output).unwrap_or_default();
            let _nothing_is_in_it = std::fs::remove_dir_all(runs.path_of(&started.run));
            Background::Ended(status, lines)
        }
        None => Background::Started(output),
    })
}

/// Starts the process; returns how it ended if it did so without beginning the run.
fn begin(
    mut command: Command,
    output: &Path,
    started: &RunStarted,
    runs: &Runs,
) -> io::Result<Option<ExitStatus>> {
    let file = safe_open::create(output)?;
    command.stdin(Stdio::piped()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn()?;
    let own_output =
        own_stdout::paths().into_iter().filter_map(|path| path.into_os_string().into_string().ok());
    let order = DetachHandoff { started: started.clone(), own_output: own_output.collect() };
    let order = serde_json::to_vec(&order).expect("an event is plain data");
    // A process that ends before it has read this prints why.
    let _it_may_have_ended = child.stdin.take().map(|mut stdin| stdin.write_all(&order));
    wait_for_start(&mut child, &started.run, runs)
}

fn wait_for_start(child: &mut Child, run: &RunId, runs: &Runs) -> io::Result<Option<ExitStatus>> {
    loop {
        // In this order: a short run may be over by now.
        let ended = child.try_wait()?;
        if runs.runs()?.iter().any(|entry| entry.run == *run) {
            return Ok(None);
        }
        if ended.is_some() {
            return Ok(ended);
        }
        std::thread::sleep(POLL);
    }
}

/// Reads the run that the first process has prepared, and makes it ready to be driven here.
///
/// # Errors
///
/// `input` holds no such message, or the run may no longer work on its branch.
pub fn receive_handoff(place: &ProjectLocation, terms: &Terms, input: impl Read) -> Result<PreparedRun> {
    let order: DetachHandoff = serde_json::from_reader(input)
        .map_err(|error| AppError::usage(format!("nobody says how the run begins: {error}")))?;
    own_stdout::hold(&order.own_output);
    start::to_prepared_run(ProjectRuns::locate(place)?, order.started, terms)
}
