//! Repositories within the workspace's repository: submodules, and repositories in folders of the workspace.
//!
//! Submodules are in `.git/modules`; the others have a `.git` in their folder. A snapshot keeps the same files of each
//! as of the workspace's `.git`, so that they are restored in the same way.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use unstuck_core::id::Digest;
use unstuck_files::Read;
use unstuck_files::safe_dir::{self, SafeDir, as_path};

use super::error::SnapshotResult;
use super::excluded::ExcludedList;
use super::object::TreeEntry;
use super::paths::GIT;
use super::refs::RepoTree;
use super::root_tree::Parts;
use super::snapshots::{OBJECTS, WITHIN};
use super::store::ObjectStore;
use super::{object_hardlinks, refs, tree};

/// The folder of submodule repositories.
const OF_SUBMODULES: &[u8] = b".git/modules";
/// Maximum depth of a name.
const DEPTH_MAX: usize = 20;

/// Repositories by the paths of their git folders, from the root of the workspace.
pub(super) type NestedRepos = BTreeMap<Vec<u8>, Digest>;

/// Returns the repositories within the workspace's repository in a snapshot.
pub(super) fn find_all(store: &ObjectStore, parts: &Parts) -> SnapshotResult<NestedRepos> {
    let mut found = NestedRepos::new();
    if let Some(git) = parts.repository_folder() {
        let modules = store.tree(&git)?.into_iter().find(|item| item.name == b"modules" && item.is_folder());
        if let Some(modules) = modules {
            add_below(store, OF_SUBMODULES, modules.id, true, &mut found, DEPTH_MAX)?;
        }
    }
    if let Some(inner) = parts.inner() {
        add_below(store, b"", inner, false, &mut found, usize::MAX)?;
    }
    Ok(found)
}

/// Adds the repositories below a folder, and the submodules in them, which can have any name.
fn add_below(
    store: &ObjectStore,
    path: &[u8],
    tree: Digest,
    of_submodules: bool,
    found: &mut NestedRepos,
    depth: usize,
) -> SnapshotResult<()> {
    let items = store.tree(&tree)?;
    let has = |name: &[u8]| items.iter().any(|item| item.name == name && !item.is_folder());
    // The logs of a repository have a HEAD, too.
    let is_own = safe_dir::split(path).1 == GIT || of_submodules && has(b"config");
    if is_own && has(b"HEAD") {
        found.insert(path.to_vec(), tree);
    }
    let is_looked_at = |item: &&TreeEntry| item.is_folder() && (!is_own || item.name == b"modules");
    for item in items.iter().filter(is_looked_at).filter(|_| depth > 0) {
        let path = safe_dir::join(path, &item.name);
        add_below(store, &path, item.id, of_submodules || is_own, found, depth - 1)?;
    }
    Ok(())
}

/// Says whether the repository in a folder knows of a commit that it had, so that it is no other one.
pub(super) fn is_continued(
    store: &ObjectStore,
    before: &Parts,
    after: &Parts,
    path: &[u8],
) -> SnapshotResult<bool> {
    let at = |parts: &Parts| parts.inner().map_or(Ok(None), |inner| tree::find(store, inner, path));
    let (Some(was), Some(is)) = (at(before)?, at(after)?) else { return Ok(false) };
    // It may be the same one.
    let unknown = [before.uncovered(store)?.below(path), after.uncovered(store)?.below(path)];
    if [(was.id, &unknown[0]), (is.id, &unknown[1])]
        .into_iter()
        .any(|(tree, unknown)| RepoTree { tree, unknown }.hidden().is_some())
    {
        return Ok(true);
    }
    let mut known: BTreeSet<String> = refs::branches(store, is.id)?.into_values().collect();
    if let Some(log) = tree::find(store, is.id, b"logs/HEAD")?.filter(|state| !state.is_folder()) {
        let text = store.blob(&log.id)?;
        known.extend(String::from_utf8_lossy(&text).split_whitespace().map(str::to_owned));
    }
    let had = refs::branches(store, was.id)?;
    Ok(is.id == was.id || had.values().any(|commit| known.contains(commit)))
}

/// Returns the repositories that have objects, and a HEAD among the paths of `files`: the workspace's and those within.
pub(super) fn with_objects<'a>(
    root: &SafeDir,
    files: impl Iterator<Item = &'a [u8]>,
) -> impl Iterator<Item = &'a [u8]> {
    let owns = files.filter_map(|path| path.strip_suffix(b"/HEAD"));
    // The log of HEAD and the HEAD of a remote have this name, too.
    owns.filter(|own| !Read::from_io(root.open_below(&objects_path(own))).is_absent())
}

/// Keeps the objects of the repository whose own folder is `own`. Returns how many could not be kept.
pub(super) fn keep_objects(
    root: &SafeDir,
    kept: &Path,
    own: &[u8],
    copied_bytes_max: u64,
) -> std::io::Result<u64> {
    object_hardlinks::keep(root, &objects_path(own), &kept_objects_path(kept, own), copied_bytes_max)
}

/// Gives a repository the objects back that were kept of it; `to` is its own folder, which is, or will be, at `own`.
pub(super) fn give_objects_back(kept: &Path, own: &[u8], to: &SafeDir) -> std::io::Result<u64> {
    to.make_below(b"refs")?;
    object_hardlinks::give_back(&kept_objects_path(kept, own), &to.make_below(b"objects")?)
}

fn objects_path(own: &[u8]) -> Vec<u8> {
    safe_dir::join(own, b"objects")
}

/// Returns where the objects of a repository are kept.
fn kept_objects_path(kept: &Path, own: &[u8]) -> std::path::PathBuf {
    match own == GIT {
        true => kept.join(OBJECTS),
        false => kept.join(WITHIN).join(Digest::sha256(own).to_string()),
    }
}

/// A branch of a repository within that is gone, or elsewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InnerBranch {
    /// The folder of the repository, from the root of the workspace.
    pub repository: std::path::PathBuf,
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The commit that it was at.
    pub from: String,
}

/// Returns the branches that are gone from repositories within the workspace's that still exist.
pub(super) fn gone_branches(
    store: &ObjectStore,
    before: &NestedRepos,
    (after, unknown): (&NestedRepos, &ExcludedList),
) -> SnapshotResult<Vec<InnerBranch>> {
    let mut gone = Vec::new();
    for (path, was) in before {
        let Some(is) = after.get(path).filter(|is| *is != was) else { continue };
        if (RepoTree { tree: *is, unknown: &unknown.below(path) }).hidden().is_some() {
            continue;
        }
        let now = refs::branches(store, *is)?;
        for (name, from) in refs::branches(store, *was)? {
            if !now.contains_key(&name) {
                gone.push(InnerBranch { repository: as_path(path).into_owned(), name, from });
            }
        }
    }
    Ok(gone)
}
