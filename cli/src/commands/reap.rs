//! `unstuck reap`: ends the processes of a run whose supervisor has died. Started by the supervisor.

use std::path::PathBuf;

use unstuck_core::id::RunId;

use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck reap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    run: String,
    /// The process of its supervisor.
    supervisor: u32,
    /// State directory of the project; missing if runs are kept in memory.
    project: Option<PathBuf>,
}

/// Waits for the end of the supervisor that started the guard. If the supervisor died, records the state of the
/// workspace, so that a resume can distinguish its changes from later changes by a person.
pub fn reap(args: &Args) -> Result {
    unstuck_app::guard::serve(&RunId::new(args.run.clone()), args.supervisor, args.project.as_deref());
    Ok(exit::OK)
}
