//! The right to work in a workspace: one run at a time, whose folders do not overlap with another's.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use unstuck_core::id::RunId;
use unstuck_core::plural::count;
use unstuck_files::error::with_causes;
use unstuck_process as process;
use unstuck_store::lease::{AcquireError, FileLease, Holder, Lease, Liveness};
use unstuck_store::state_dir::StateDir;
use unstuck_store::store::RunEntry;

use super::run_environment::{LifecycleError, RunEnvironment};
use crate::host::mark_of;

/// Runs whose processes are looked for when a supervisor has died in a workspace.
const DEAD_RUNS_MAX: usize = 5;

impl RunEnvironment {
    /// Takes the right to work in a workspace; a child run works under its parent's. The lease is in the
    /// state folder of the workspace wherever the run itself is kept, so that all who work there meet.
    pub(crate) fn take_workspace(&self, workspace: &Path, run: &RunId) -> Result<Lease, LifecycleError> {
        if self.parent.is_some() {
            return Ok(Lease::OfParent);
        }
        let Ok(place) = StateDir::locate(workspace) else { return Ok(Lease::Missing) };
        let taken = place
            .create()
            .map_err(|source| AcquireError::Io { path: place.path().to_owned(), source })
            .and_then(|()| FileLease::acquire(&place.workspace_lease()));
        match taken {
            Ok((lease, died)) => {
                // Only now: of two that begin at the same time, one at least sees the other.
                let others = self.others(run)?;
                if let Some((workspace, holder)) = overlapping(workspace, &others) {
                    return Err(LifecycleError::WorkspaceBusy { workspace, holder: Some(holder) });
                }
                if died.is_some() {
                    end_what_was_left(workspace, &others);
                }
                Ok(Lease::File(lease))
            }
            Err(AcquireError::Held { holder }) => {
                Err(LifecycleError::WorkspaceBusy { workspace: workspace.to_owned(), holder })
            }
            // A run that is kept elsewhere does not need the state folder for anything but this.
            Err(error) if self.state_dir.as_ref() != Some(&place) => {
                tracing::warn!(
                    error = with_causes(&error),
                    "nobody keeps a second run out of this workspace"
                );
                Ok(Lease::Missing)
            }
            Err(source) => Err(LifecycleError::Workspace { run: run.clone(), source }),
        }
    }

    /// Returns the runs of the project but one.
    fn others(&self, run: &RunId) -> Result<Vec<RunEntry>, LifecycleError> {
        let unlisted = |source| {
            let path = self.state_dir.as_ref().map_or_else(PathBuf::new, |state| state.path().to_owned());
            LifecycleError::Workspace { run: run.clone(), source: AcquireError::Io { path, source } }
        };
        let mut runs = self.store.runs().map_err(unlisted)?;
        runs.retain(|entry| entry.run != *run);
        Ok(runs)
    }
}

/// Returns another workspace that holds this one, or is a part of it, and who works there.
fn overlapping(workspace: &Path, runs: &[RunEntry]) -> Option<(PathBuf, Holder)> {
    let known: BTreeSet<&Path> = runs.iter().map(|entry| Path::new(&entry.workspace)).collect();
    let is_below =
        |path: &&Path| *path != workspace && within_repository(path).any(|above| above == workspace);
    within_repository(workspace).skip(1).chain(known.into_iter().filter(is_below)).find_map(|other| {
        let lease = StateDir::locate(other).ok()?.workspace_lease();
        let holder = FileLease::holder(&lease).filter(|holder| holder.liveness() != Liveness::Gone)?;
        Some((other.to_owned(), holder))
    })
}

/// Ends what other runs, whose supervisor died in this workspace, have left: two must not write to it.
fn end_what_was_left(workspace: &Path, runs: &[RunEntry]) {
    let here = runs.iter().filter(|entry| Path::new(&entry.workspace) == workspace);
    for entry in here.take(DEAD_RUNS_MAX) {
        let ended = process::end_leftovers(&mark_of(&entry.run));
        if ended > 0 {
            let ended = count(ended, "process");
            tracing::warn!("ended {ended} that run {} had left in this workspace", entry.run);
        }
    }
}

/// Returns a folder and those above it in the same repository: who works in one of them works in that folder, too.
fn within_repository(folder: &Path) -> impl Iterator<Item = &Path> {
    let root = folder.ancestors().find(|ancestor| ancestor.join(".git").exists()).unwrap_or(folder);
    folder.ancestors().take_while(move |ancestor| ancestor.starts_with(root))
}
