//! Forgets old runs, with their snapshots.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use unstuck_core::event::RunOutcome;
use unstuck_core::id::{Millis, RunId};
use unstuck_files::error::with_causes;
use unstuck_files::hint;
use unstuck_runner::{baseline_cache, snapshots};
use unstuck_store::recovery::OpenError;
use unstuck_workspace::snapshot::Snapshots;

use crate::error::{AppError, Result};
use crate::project::ProjectRuns;
use crate::run_handle::{self, RunHandle};
use crate::{launch_errors, paths, worktrees};

/// Runs that can be forgotten.
pub struct Candidates {
    /// The runs, with their sizes in bytes.
    pub runs: Vec<(RunHandle, u64)>,
    /// Runs that are old enough, and stay because they wait for a person.
    pub waiting: Vec<RunHandle>,
    snapshots: PathBuf,
    /// Bytes of all snapshots.
    snapshots_size: u64,
}

/// Runs that were forgotten.
#[derive(Default)]
pub struct Forgotten {
    /// The runs, with their sizes in bytes.
    pub runs: Vec<(RunHandle, u64)>,
    /// What stays, and why: sentences.
    pub kept: Vec<String>,
    /// The first error.
    pub failed: Option<AppError>,
    /// Bytes of snapshots that are free now.
    pub of_snapshots: u64,
}

impl Candidates {
    /// Finds the runs to remove: those named; or those that are not live and whose last event is older than `older_than`.
    ///
    /// # Errors
    ///
    /// A name fits no run, or the runs cannot be listed.
    pub fn find(project: &ProjectRuns, named: &[String], older_than: Millis) -> Result<Self> {
        let named: Vec<RunId> =
            named.iter().map(|run| Ok(project.find(run)?.entry.run)).collect::<Result<_>>()?;
        let mut all = project.every_run()?;
        all.extend(project.unfinished_runs()?);
        let (waiting, runs) = if named.is_empty() {
            let old = resting(all, Duration::from_millis(older_than.0));
            old.into_iter().partition(is_waiting)
        } else {
            let rest = resting(all, Duration::ZERO);
            (
                Vec::new(),
                rest.into_iter().filter(|found| named.contains(&found.entry.run)).collect::<Vec<_>>(),
            )
        };
        let size = |found: &RunHandle| paths::size_of(&found.runs.path_of(&found.entry.run));
        let runs = runs.into_iter().map(|found| (size(&found), found)).map(|(size, found)| (found, size));
        let snapshots = snapshots::folder(project.runs().state());
        let snapshots_size = paths::size_of(&snapshots);
        Ok(Self { runs: runs.collect(), waiting, snapshots, snapshots_size })
    }

    /// Returns the bytes of snapshots that no other run needs; `None` if they cannot be counted now.
    pub fn would_free(&self) -> Option<u64> {
        let names: Vec<&str> = self.runs.iter().map(|(found, _)| found.entry.run.as_str()).collect();
        Snapshots::would_free(&self.snapshots, &names).ok()
    }

    /// Forgets the runs. An error with one of them, or afterwards, keeps nothing else from being freed: this is what a person
    /// types when the disk is full.
    pub fn forget(self, project: &ProjectRuns) -> Forgotten {
        let mut done = Forgotten::default();
        for (found, size) in self.runs {
            match forget(&self.snapshots, &found) {
                Ok(true) => {
                    done.kept.extend(checkout_kept(project, &found));
                    done.runs.push((found, size));
                }
                Ok(false) => done.kept.push(format!("run {} stays: somebody works on it now", found.short())),
                Err(error) => done.failed = done.failed.or(Some(error)),
            }
        }
        done.failed = done.failed.or(free_the_rest(project, &self.snapshots).err());
        done.of_snapshots = self.snapshots_size.saturating_sub(paths::size_of(&self.snapshots));
        done
    }
}

/// Frees what no run needs. Returns the first error.
fn free_the_rest(project: &ProjectRuns, snapshots: &Path) -> Result<()> {
    let runs = project.runs();
    let cannot = |what: &str, error: &io::Error| {
        AppError::damaged(format!("cannot {what}: {error}"))
            .hint(format!("{}, then the same again", hint::for_io(error)))
    };
    let unfinished =
        runs.remove_unfinished().map_err(|error| cannot("remove what is left of forgotten runs", &error));
    let is_quiet = project.every_run().is_ok_and(|all| !all.iter().any(RunHandle::is_live));
    let freed = Snapshots::free(snapshots, is_quiet).map_err(|error| match error.is_full() {
        true => launch_errors::snapshot_error(&error)
            .hint("make room on the disk: it takes some to free the rest; then the same again"),
        false => launch_errors::snapshot_error(&error),
    });
    let index = runs.rebuild_index().map_err(|error| cannot("write the index", &error));
    let lost = baseline_cache::forget_lost(runs, runs.state())
        .map_err(|error| cannot("forget the baselines of forgotten runs", &error));
    unfinished.and(freed).and(index.map(drop)).and(lost)
}

/// Returns the runs that are not live and that are so old. A child run stays as long as its parent.
fn resting(all: Vec<RunHandle>, older_than: Duration) -> Vec<RunHandle> {
    let there: BTreeSet<RunId> = all.iter().map(|found| found.entry.run.clone()).collect();
    let mut rest: Vec<RunHandle> =
        all.into_iter().filter(|found| !found.is_live() && age(found) >= older_than).collect();
    let parent = |found: &RunHandle| {
        Some((found.entry.run.clone(), run_handle::parent(&found.runs, &found.entry.run)?))
    };
    let mut parents: BTreeMap<RunId, RunId> = rest.iter().filter_map(parent).collect();
    // A child whose parent is gone is judged alone.
    parents.retain(|_, parent| there.contains(parent));
    loop {
        let resting: BTreeSet<RunId> = rest.iter().map(|found| found.entry.run.clone()).collect();
        let before = rest.len();
        rest.retain(|found| parents.get(&found.entry.run).is_none_or(|parent| resting.contains(parent)));
        if rest.len() == before {
            return rest;
        }
    }
}

/// Returns true if a run waits for an answer.
fn is_waiting(found: &RunHandle) -> bool {
    found.end() == Some(RunOutcome::Blocked)
}

/// Removes the checkout that a run was given for itself, or says why it stays.
fn checkout_kept(project: &ProjectRuns, found: &RunHandle) -> Option<String> {
    let error = worktrees::remove(project.runs(), &found.entry.run).err()?;
    Some(format!("the worktree of run {} stays: {}", found.short(), with_causes(&error)))
}

/// Removes a run: the names of its snapshots first, so that what is left after a crash is a run that can be removed again. Its
/// workspace and its log are not needed for that. Returns false if it is live.
fn forget(snapshots: &Path, found: &RunHandle) -> Result<bool> {
    let failed = |error: &dyn std::error::Error| {
        let why = with_causes(error);
        AppError::damaged(format!("cannot forget run {}: {why}", found.short())).hint("unstuck doctor")
    };
    let lease = match found.runs.lease(&found.entry.run) {
        Ok(lease) => lease,
        Err(OpenError::Locked { .. }) => return Ok(false),
        Err(error) => {
            let hint = match &error {
                OpenError::Io { source, .. } => {
                    Some(format!("{}, then the same again", hint::for_io(source)))
                }
                _ => None,
            };
            return Err(failed(&error).hint_if(hint));
        }
    };
    Snapshots::forget_names(snapshots, found.entry.run.as_str())
        .map_err(|error| launch_errors::snapshot_error(&error))?;
    found.runs.delete(&found.entry.run, lease).map_err(|error| failed(&error))?;
    Ok(true)
}

/// Returns the time since the last event of a run; where its events are lost, since the last change of its folder. A run of
/// unknown age is new: it stays.
fn age(found: &RunHandle) -> Duration {
    let modified = |path: &Path| fs::symlink_metadata(path).and_then(|metadata| metadata.modified());
    let modified = modified(&found.runs.lines(&found.entry.run))
        .or_else(|_| modified(&found.runs.path_of(&found.entry.run)));
    modified.ok().and_then(|at| SystemTime::now().duration_since(at).ok()).unwrap_or_default()
}
