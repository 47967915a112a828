//! The plan of restoring files: which changes the run made, and which were made while it was not at work.
//!
//! It is separate from the restoring because a person reads it first. Start at [`plan`].

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::ExternalChange;
use unstuck_files::safe_dir::{self, as_path};

use super::change::{self, DiffEntry, differences};
use super::error::SnapshotResult;
use super::excluded::ExcludedReason;
use super::root_tree::Parts;
use super::store::ObjectStore;

/// The changes that an undo makes to the files of a workspace.
#[derive(Clone, Debug, Default)]
pub struct RestorePlan {
    /// Files that the run changed, which go back.
    pub reverts: Vec<PathBuf>,
    /// Files that others changed, and not the run, which stay.
    pub stays: Vec<PathBuf>,
    /// Files that the run changed, and others later, which stay as the others left them.
    pub mixed: Vec<PathBuf>,
    /// Files and folders that are not restored from the snapshot.
    pub(super) kept: BTreeSet<Vec<u8>>,
    /// Of those, the ones that go back to what the others left.
    pub(super) targets: Vec<(Snapshot, BTreeSet<Vec<u8>>)>,
    /// Files and folders whose permissions and attributes stay.
    pub(super) kept_access: BTreeSet<Vec<u8>>,
}

/// Returns whether a file has other names, which keep their content when this one gets another.
pub fn has_other_names(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|seen| seen.is_file() && safe_dir::has_another_name(&seen))
}

impl RestorePlan {
    /// Returns a plan by which all files go back, also those that others changed.
    #[must_use]
    pub fn with_all(self) -> Self {
        Self { reverts: self.reverts, stays: self.stays, mixed: self.mixed, ..Self::default() }
    }
}

/// Plans how the workspace, which is as `now` says, becomes what it was `then`. In the `gaps`, in order, others than the run
/// changed it.
pub(super) fn plan(
    store: &ObjectStore,
    then: &Snapshot,
    now: &Snapshot,
    gaps: &[ExternalChange],
) -> SnapshotResult<RestorePlan> {
    let mut plan = RestorePlan::default();
    // Which gap changed a path last, and whether the run had changed it by then.
    let mut by_others: BTreeMap<Vec<u8>, (usize, bool)> = BTreeMap::new();
    let (mut by_run, mut begin, mut files) = (BTreeSet::new(), then, BTreeSet::new());
    for (at, gap) in gaps.iter().enumerate() {
        by_run.extend(changed_paths(store, begin, &gap.left)?.into_keys());
        for (path, is_file) in changed_paths(store, &gap.left, &gap.found)? {
            by_others.insert(path.clone(), (at, by_run.contains(&path)));
            if is_file {
                files.insert(path);
            }
        }
        plan.kept_access.extend(changed_access(store, gap)?);
        begin = &gap.found;
    }
    for (at, gap) in gaps.iter().enumerate() {
        if gap.found.id == now.id {
            continue;
        }
        let later = changed_paths(store, &gap.found, now)?;
        let targets =
            later.into_keys().filter(|path| by_others.get(path).is_some_and(|(last, _)| *last == at));
        let targets: BTreeSet<Vec<u8>> = targets.collect();
        if !targets.is_empty() {
            plan.targets.push((Snapshot::clone(&gap.found), targets));
        }
    }
    let display = |path: &[u8]| as_path(path).into_owned();
    for (path, (_, is_of_run)) in by_others.iter().filter(|(path, _)| files.contains(*path)) {
        let list = if *is_of_run { &mut plan.mixed } else { &mut plan.stays };
        list.push(display(path));
    }
    let all = changed_paths(store, then, now)?.into_iter();
    let reverts = all.filter(|(path, is_file)| *is_file && !by_others.contains_key(path));
    let targets = plan.targets.iter().flat_map(|(_, paths)| paths).filter(|path| files.contains(*path));
    plan.reverts = reverts.map(|(path, _)| path).chain(targets.cloned()).map(|path| display(&path)).collect();
    plan.reverts.sort_unstable();
    plan.kept = by_others.into_keys().collect();
    Ok(plan)
}

/// Returns the paths at which something differs, appeared or vanished, and whether it is a file. What only one of the two
/// snapshots covers is none.
fn changed_paths(
    store: &ObjectStore,
    before: &Snapshot,
    after: &Snapshot,
) -> SnapshotResult<BTreeMap<Vec<u8>, bool>> {
    if before.id == after.id {
        return Ok(BTreeMap::new());
    }
    let (before, after) = (Parts::read(store, before)?, Parts::read(store, after)?);
    let (unknown_before, unknown_after) = (before.uncovered(store)?, after.uncovered(store)?);
    let mut touched = BTreeMap::new();
    for (path, DiffEntry { pair, .. }) in differences(store, &before, &after)? {
        let are_folders = [pair.before, pair.after].map(|place| place.map(|place| place.is_folder()));
        let is_own = unknown_before.is_own_output(&path) || unknown_after.is_own_output(&path);
        let is_known = !change::is_unknown(&path, &pair, &unknown_before, &unknown_after);
        if is_known && !is_own && are_folders != [Some(true), Some(true)] {
            touched.insert(path, are_folders.contains(&Some(false)));
        }
    }
    Ok(touched)
}

/// Returns the files and folders whose permissions or attributes others changed. What could not be read is readable by now.
fn changed_access(store: &ObjectStore, gap: &ExternalChange) -> SnapshotResult<BTreeSet<Vec<u8>>> {
    let (left, found) = (Parts::read(store, &gap.left)?, Parts::read(store, &gap.found)?);
    let folders = left.permissions(store)?.differing(&found.permissions(store)?).into_keys();
    let mut paths = left.attributes(store)?.differing(&found.attributes(store)?);
    let unknown = left.uncovered(store)?;
    paths.extend(folders.filter(|path| unknown.reason(path) != Some(ExcludedReason::Unreadable)));
    Ok(paths)
}
