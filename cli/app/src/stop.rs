//! A live run, asked to stop.

use unstuck_store::lease::{Holder, Liveness};

use crate::error::{AppError, Result};
use crate::project::ProjectRuns;
use crate::run_handle::RunHandle;

/// Finds a run and the process that supervises it, on this machine.
///
/// # Errors
///
/// The run is not live, or its supervisor is on another machine.
pub fn find_supervised(project: &ProjectRuns, run: &str) -> Result<(RunHandle, Holder)> {
    let found = project.find(run)?;
    let short = found.short();
    match found.holder().map(|holder| (holder.liveness(), holder)) {
        None | Some((Liveness::Gone, _)) => {
            Err(AppError::usage(format!("nobody works on run {short}")).hint(format!("unstuck show {short}")))
        }
        Some((Liveness::OtherHost, holder)) => {
            Err(AppError::usage(format!("run {short} is worked on by {holder}"))
                .hint(format!("there: unstuck stop {short}")))
        }
        Some((Liveness::Alive, holder)) => Ok((found, holder)),
    }
}
