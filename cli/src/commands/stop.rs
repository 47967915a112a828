//! `unstuck stop`: ends a run as Ctrl-C does, from another terminal.

use std::time::{Duration, Instant};

use unstuck_app::stop::find_supervised;

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::run_args::RunArg;
use crate::{exit, format, platform};

/// Arguments of `unstuck stop`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
}

/// Interval between checks whether the run has stopped.
const POLL: Duration = Duration::from_millis(50);

/// Time after which a note reports that the supervisor has not ended yet. It may still have to end its workers.
const PATIENCE: Duration = Duration::from_secs(10);

/// Asks the supervisor of a run to finish its record, and waits until it has.
pub fn stop(global: &GlobalArgs, args: &Args) -> Result {
    let (found, holder) = find_supervised(&global.project()?, &args.run.run)?;
    let short = found.short();
    platform::interrupt(holder.pid).map_err(|error| {
        AppError::usage(format!(
            "process {}, which works on run {short}, cannot be asked to stop: {error}",
            holder.pid
        ))
    })?;
    let is_stopped = holder.is_stopped();
    if is_stopped {
        eprintln!("note: {}; then it ends", format::stopped_process(holder.pid));
    }
    println!("run {short} finishes its record; the same again, from another terminal: at once");
    let asked = Instant::now();
    let mut is_told = is_stopped;
    while found.is_live() {
        if !is_told && asked.elapsed() > PATIENCE {
            is_told = true;
            let pid = holder.pid;
            eprintln!("note: process {pid} has not ended yet; if it is suspended: kill -CONT {pid}");
        }
        std::thread::sleep(POLL);
    }
    let end = found.end();
    println!("{}", end.map_or("its supervisor is gone", |end| end.as_str()));
    println!("next: {UNSTUCK} resume {short}    {UNSTUCK} show {short}");
    Ok(exit::OK)
}
