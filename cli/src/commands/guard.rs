//! `unstuck guard`: ends what is left of a run when its supervisor dies. Started by the supervisor.

use std::path::PathBuf;

use unstuck_core::id::RunId;

use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck guard`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    run: String,
    /// The process of its supervisor.
    supervisor: u32,
    /// The folder of the project's state; none where runs are kept in memory.
    project: Option<PathBuf>,
}

/// Waits for the end of the supervisor that started the guard. If the supervisor died, records the state of the
/// workspace, so that a resume can distinguish its changes from later changes by a person.
pub fn guard(args: &Args) -> Result {
    unstuck_app::guard::serve(&RunId::new(args.run.clone()), args.supervisor, args.project.as_deref());
    Ok(exit::OK)
}
