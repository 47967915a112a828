//! `unstuck run --detach`: a run that goes on in the background, in a session of its own.
//!
//! All that a person may be asked or told is done before. Then the program is started once more, with the same
//! arguments, and reads on standard input how the run begins.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use unstuck_core::event::RunStarted;
use unstuck_core::id::RunId;
use unstuck_files::own_stdout;
use unstuck_files::safe_open;
use unstuck_store::store::Store as _;
use unstuck_store_sled::SledStore as Runs;

use crate::error::{Error, Result};
use crate::typed::UNSTUCK;
use crate::{exit, system};

/// What is typed before the arguments of the second start.
pub const FLAG: &str = "--detached";

/// What the second start is told.
#[derive(Debug, Serialize, Deserialize)]
struct Order {
    started: RunStarted,
    /// The files that this command prints into. What it says is not the work of the run either.
    own_output: Vec<String>,
}

/// How often it is looked whether the run has begun.
const POLL: Duration = Duration::from_millis(20);

/// Starts the run in the background, and returns when its beginning is in the log. A run that cannot begin ends as
/// it would have here.
pub fn start(runs: Option<&Runs>, started: &RunStarted, short: &str) -> Result {
    let runs = runs.ok_or_else(|| {
        Error::usage(
            "a run that is kept in memory cannot be looked at from elsewhere, so it cannot be detached",
        )
        .hint("--store sled:PATH")
    })?;
    let output = runs.create_artifacts(&started.run).map(|artifacts| artifacts.join("output.log"));
    let begun = output.and_then(|output| Ok((begin(&output, started, runs)?, output)));
    let (ended, output) = begun.map_err(|error| Error::store(&error))?;
    match ended {
        Some(status) => {
            let said = safe_open::read_text(&output).unwrap_or_default();
            let _nothing_is_in_it = std::fs::remove_dir_all(runs.path_of(&started.run));
            let _nobody_may_listen = io::stderr().write_all(said.as_bytes());
            Ok(status.code().and_then(|code| u8::try_from(code).ok()).unwrap_or(exit::STORE))
        }
        None => {
            println!("run {short} works in the background");
            println!("  look     {UNSTUCK} status    {UNSTUCK} events {short} -f");
            println!("  stop     {UNSTUCK} stop {short}");
            println!("  output   {}", output.display());
            Ok(exit::OK)
        }
    }
}

/// Starts the program again; returns how it ended if it did so without beginning the run.
fn begin(output: &Path, started: &RunStarted, runs: &Runs) -> io::Result<Option<ExitStatus>> {
    let file = safe_open::create(output)?;
    let mut command = Command::new(std::env::current_exe()?);
    command.arg(FLAG).args(std::env::args_os().skip(1));
    command.stdin(Stdio::piped()).stdout(file.try_clone()?).stderr(file);
    let mut child = command.spawn()?;
    let own_output =
        own_stdout::paths().into_iter().filter_map(|path| path.into_os_string().into_string().ok());
    let order = Order { started: started.clone(), own_output: own_output.collect() };
    let order = serde_json::to_vec(&order).expect("an event is plain data");
    // Who ends before it has read this says why.
    let _it_may_have_ended = child.stdin.take().map(|mut stdin| stdin.write_all(&order));
    until_begun(&mut child, &started.run, runs)
}

fn until_begun(child: &mut Child, run: &RunId, runs: &Runs) -> io::Result<Option<ExitStatus>> {
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

/// Takes a run over from the command that was typed, and leaves its terminal.
pub fn taken_over() -> Result<RunStarted> {
    system::own_session();
    let order: Order = serde_json::from_reader(io::stdin().lock())
        .map_err(|error| Error::usage(format!("nobody says how the run begins: {error}")))?;
    own_stdout::hold(&order.own_output);
    Ok(order.started)
}
