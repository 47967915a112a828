//! Differences between two snapshots.

use std::collections::BTreeMap;
use std::path::PathBuf;

use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir::as_path;

use super::error::SnapshotResult;
use super::excluded::ExcludedList;
use super::object::TYPE;
use super::root_tree::Parts;
use super::store::ObjectStore;
use super::tree::{self, EntryPair};

/// A file or link that differs. A file that was renamed is two: one deleted, one added.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PathChange {
    /// From the root of the workspace.
    pub path: PathBuf,
    /// How it differs.
    pub kind: ChangeKind,
    /// Whether the rules of the first snapshot ignore it and git does not track it.
    pub ignored: bool,
}

/// How a file differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChangeKind {
    /// The path did not exist before.
    Added,
    /// Its content differs, and possibly its permissions.
    Modified,
    /// The path no longer exists.
    Deleted,
    /// Only its permissions differ.
    ModeChanged,
    /// A file became a link, or a link a file.
    TypeChanged,
    /// Only one of the two snapshots covers the path, so its content cannot be compared. Examples are a file that has
    /// grown too large and a file that can no longer be read.
    NotCovered,
}

/// A path at which two snapshots differ.
pub(super) struct DiffEntry {
    pub(super) pair: EntryPair,
    pub(super) ignored: bool,
}

/// Returns the paths at which two snapshots differ, folders too.
pub(super) fn differences(
    store: &ObjectStore,
    before: &Parts,
    after: &Parts,
) -> SnapshotResult<BTreeMap<Vec<u8>, DiffEntry>> {
    let mut differences = BTreeMap::new();
    for (path, pair) in tree::compare(store, before.ignored(), after.ignored())? {
        differences.insert(path, DiffEntry { pair, ignored: true });
    }
    for (path, pair) in tree::compare(store, before.work(), after.work())? {
        let new = || DiffEntry { pair: EntryPair::default(), ignored: false };
        let both = differences.entry(path).or_insert_with(new);
        // One snapshot may ignore what the other does not: then each has one half of the pair.
        let halves = both.pair;
        both.ignored = false;
        both.pair.before = pair.before.or(halves.before);
        both.pair.after = pair.after.or(halves.after);
    }
    let within = tree::compare(store, before.within(), after.within())?.into_iter();
    let is_file = |pair: &EntryPair| pair.before.or(pair.after).is_some_and(|place| !place.is_folder());
    let within = within.filter(|(_, pair)| is_file(pair));
    differences.extend(within.map(|(path, pair)| (path, DiffEntry { pair, ignored: false })));
    differences.retain(|_, difference| difference.pair.before != difference.pair.after);
    Ok(differences)
}

/// Returns what differs between two snapshots, ordered by path; but not what our own output is written to.
pub(super) fn changes(
    store: &ObjectStore,
    before: &Snapshot,
    after: &Snapshot,
) -> SnapshotResult<Vec<PathChange>> {
    if before.id == after.id {
        return Ok(Vec::new());
    }
    let (before, after) = (Parts::read(store, before)?, Parts::read(store, after)?);
    let (unknown_before, unknown_after) = (before.uncovered(store)?, after.uncovered(store)?);
    let mut changes = Vec::new();
    for (path, DiffEntry { pair, ignored }) in differences(store, &before, &after)? {
        let Some(kind) = change_kind(&pair) else { continue };
        if unknown_before.is_own_output(&path) || unknown_after.is_own_output(&path) {
            continue;
        }
        let is_unknown = is_unknown(&path, &pair, &unknown_before, &unknown_after);
        let kind = if is_unknown { ChangeKind::NotCovered } else { kind };
        changes.push(PathChange { path: as_path(&path).into_owned(), kind, ignored });
    }
    changes.sort_unstable();
    Ok(changes)
}

/// Returns whether one side of a pair is missing only because its snapshot does not cover the path.
pub(super) fn is_unknown(path: &[u8], pair: &EntryPair, before: &ExcludedList, after: &ExcludedList) -> bool {
    match (pair.before, pair.after) {
        (None, Some(_)) => before.reason(path).is_some(),
        (Some(_), None) => after.reason(path).is_some(),
        _ => false,
    }
}

/// Returns how a file differs; `None` if neither is a file. Folders are implied by their files.
fn change_kind(pair: &EntryPair) -> Option<ChangeKind> {
    let file = |place: Option<tree::EntryState>| place.filter(|place| !place.is_folder());
    Some(match (file(pair.before), file(pair.after)) {
        (None, None) => return None,
        (None, Some(_)) => ChangeKind::Added,
        (Some(_), None) => ChangeKind::Deleted,
        (Some(before), Some(after)) if before.mode & TYPE != after.mode & TYPE => ChangeKind::TypeChanged,
        (Some(before), Some(after)) if before.id != after.id => ChangeKind::Modified,
        (Some(_), Some(_)) => ChangeKind::ModeChanged,
    })
}
