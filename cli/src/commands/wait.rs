//! `unstuck wait`: waits for the end of a run, and exits as the run does.

use std::time::Duration;

use unstuck_core::event::RunOutcome;

use crate::args::GlobalArgs;
use crate::error::{AppError, Result};
use crate::invocation::UNSTUCK;
use crate::run_args::RunArg;
use crate::{exit, format};

/// Arguments of `unstuck wait`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    #[command(flatten)]
    run: RunArg,
}

/// How often a run is looked at.
const POLL: Duration = Duration::from_millis(200);

/// Waits until a run has ended, and returns its exit status.
pub fn wait(global: &GlobalArgs, args: &Args) -> Result {
    let found = global.project()?.find(&args.run.run)?;
    let short = found.short();
    while found.is_live() {
        std::thread::sleep(POLL);
    }
    let Some(end) = found.end() else {
        return Err(AppError::usage(format!("run {short} has no end, and nobody works on it"))
            .hint(format!("{UNSTUCK} resume {short}")));
    };
    println!("run {short} {}", format::colored_outcome(end));
    Ok(status(end))
}

fn status(end: RunOutcome) -> u8 {
    u8::try_from(exit::status_of(end)).unwrap_or(exit::DIFFERENT)
}
