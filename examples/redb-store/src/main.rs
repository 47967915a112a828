//! The command `unstuck` with one more store: `redb-store run flow.yaml --store redb:PATH`.

use std::process::ExitCode;
use std::sync::Arc;

use redb_store::RedbEngine;
use unstuck::Stores;
use unstuck_store::Runs;
use unstuck_store::state_dir::StateDir;
use unstuck_store::store_url::{StoreUrl, StoreUrlError};

fn main() -> ExitCode {
    unstuck::run(Stores::default().with("redb", open))
}

/// Opens the store that `redb:PATH` names.
fn open(url: &StoreUrl) -> Result<Runs, StoreUrlError> {
    Ok(Runs::new(url.clone(), StateDir::at(url.path()?), Arc::new(RedbEngine)))
}
