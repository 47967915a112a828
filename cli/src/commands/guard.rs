//! `unstuck guard`: ends what is left of a run when its supervisor dies. Started by the supervisor.

use std::process::Command;

use unstuck_adapters::process::guard::{self, Guard};
use unstuck_core::id::RunId;

use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck guard`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// How the marks of the run's processes begin.
    mark: String,
}

/// Waits for the end of whoever started it.
pub fn guard(args: &Args) -> Result {
    guard::serve(&args.mark);
    Ok(exit::OK)
}

/// Starts the guard of a run; without one the run goes on, and a resume finds what was left.
pub fn start(run: &RunId) -> Option<Guard> {
    let mark = unstuck_runner::machine::mark_of(run);
    let started = Guard::start(move || {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["guard", &mark]);
        Ok(command)
    });
    started
        .inspect_err(|error| {
            tracing::warn!(%error, "no guard could be started: if this supervisor is killed, processes of its workers may live on until `unstuck resume`");
        })
        .ok()
}
