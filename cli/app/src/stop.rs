//! A live run, asked to stop.

use unstuck_store::lease::{Holder, Liveness};

use crate::error::{Error, Result};
use crate::project::{Found, Project};

/// Finds a run and the process that supervises it, on this machine.
///
/// # Errors
///
/// The run is not live, or its supervisor is on another machine.
pub fn supervised(project: &Project, run: &str) -> Result<(Found, Holder)> {
    let found = project.find(run)?;
    let short = found.short();
    match found.holder().map(|holder| (holder.liveness(), holder)) {
        None | Some((Liveness::Gone, _)) => {
            Err(Error::usage(format!("nobody works on run {short}")).hint(format!("unstuck show {short}")))
        }
        Some((Liveness::Elsewhere, holder)) => {
            Err(Error::usage(format!("run {short} is worked on by {holder}"))
                .hint(format!("there: unstuck stop {short}")))
        }
        Some((Liveness::Alive, holder)) => Ok((found, holder)),
    }
}
