//! `unstuck reap`: ends the processes of a run whose supervisor has died. Started by the supervisor.

use std::ffi::OsString;

use unstuck_app::stores::StoreUrl;
use unstuck_core::id::RunId;

use crate::error::Result;
use crate::{exit, invocation};

/// Arguments of `unstuck reap`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The run.
    run: String,
    /// The process of its supervisor.
    supervisor: u32,
    /// The scheme of the store; missing if runs are kept in memory.
    #[arg(requires = "rest")]
    scheme: Option<String>,
    /// The rest of the URL.
    rest: Option<OsString>,
}

/// Waits for the end of the supervisor that started the guard. If the supervisor died, records the state of the
/// workspace, so that a resume can distinguish its changes from later changes by a person.
pub fn reap(args: &Args) -> Result {
    let store = args.scheme.clone().zip(args.rest.clone());
    let store = store.map(|(scheme, rest)| StoreUrl { scheme, rest });
    unstuck_app::guard::serve(&RunId::new(args.run.clone()), args.supervisor, store, &invocation::stores());
    Ok(exit::OK)
}
