//! Runs in sled databases on this machine: the store that Unstuck uses unless another one is named.
//!
//! # Map
//!
//! - `sled_engine`: [`SledEngine`], sled as the [engine](unstuck_store::engine) of a store. [`at`] and [`locate`] make such a store.
//! - `open` opens and rebuilds the log of a run, and reads exports in; `open_error` says why that fails.
//! - `sled_table` appends to the database; `database` and `flush_watchdog` keep sled behind a fence.
//! - After a crash: `reconcile` brings database and mirror together, `open_backup` puts both back if that is refused, `store_tail` reads the
//!   database without opening it, `salvage` takes the whole records of both,
//!   `first_event` finds the first.
//!
//! Not here: the contracts, the format of a record, `events.jsonl`, the list of runs and leases (`unstuck-store`).

mod database;
mod failpoint;
mod first_event;
mod flush_watchdog;
mod open;
mod open_backup;
mod open_error;
mod reconcile;
mod salvage;
mod sled_engine;
mod sled_table;
mod store_tail;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_store::Runs;
use unstuck_store::state_dir::{LocateError, StateDir};
use unstuck_store::store_url::StoreUrl;

pub use sled_engine::SledEngine;

/// The scheme of `sled:PATH`.
pub const SCHEME: &str = "sled";

/// Keeps runs in `folder`, as `--store sled:PATH` does.
pub fn at(folder: impl Into<PathBuf>) -> Runs {
    let state = StateDir::at(folder);
    let url = StoreUrl { scheme: SCHEME.to_owned(), rest: state.path().into() };
    Runs::new(url, state, Arc::new(SledEngine))
}

/// Keeps the runs of a workspace below `$XDG_STATE_HOME` or `~/.local/state`.
///
/// # Errors
///
/// As [`StateDir::locate`].
pub fn locate(workspace: &Path) -> Result<Runs, LocateError> {
    StateDir::locate(workspace).map(|state| at(state.path()))
}
