//! The small files of a repository that git always reads: the index, the state of an operation in progress, and the
//! settings.

use std::collections::BTreeMap;

use unstuck_core::id::Digest;
use unstuck_files::Read;
use unstuck_files::safe_dir::as_path;

use super::git_state::Uncovered;
use super::report::GitRestoreReport;
use crate::snapshot::change::DiffEntry;
use crate::snapshot::error::{SnapshotResult, io};
use crate::snapshot::git_files::first_part;
use crate::snapshot::paths::GIT;
use crate::snapshot::progress::is_of_operation;
use crate::snapshot::restore::{self, RestoreReport, RestoreSides};
use crate::snapshot::snapshots::Snapshots;
use crate::snapshot::store::ObjectStore;
use crate::snapshot::tree::{self, EntryState};

/// Puts back these files below the folder `own` of a repository; `is_meant` is asked with their paths below it.
pub(super) fn put_back(
    of: &Snapshots,
    own: &[u8],
    (is, was): (Digest, Digest),
    unknown: &Uncovered,
    is_meant: impl Fn(&[u8], &DiffEntry) -> bool,
    rewound: &mut GitRestoreReport,
) -> SnapshotResult<()> {
    let mut differences = restore::to_differences(tree::compare(&of.store, Some(is), Some(was))?);
    differences.retain(|path, entry| is_meant(path, entry));
    if differences.is_empty() {
        return Ok(());
    }
    let place = as_path(own).display().to_string();
    let git = of.root()?.open_below(own).map_err(io("open", &of.workspace.join(&place)))?;
    if !Read::from_io(git.metadata(b"index.lock")).is_absent() {
        let all = differences.len();
        differences.retain(|path, _| !is_staged(first_part(path)));
        if differences.len() < all {
            let why = format!(
                "is not put back: a git is at work, or was killed; remove {place}/index.lock if none is"
            );
            rewound.leave(&format!("{place}/index"), why);
        }
    }
    let sides =
        RestoreSides { before: unknown.now.clone(), after: unknown.then.clone(), ..RestoreSides::default() };
    let applied = restore::apply(&of.store, &git, &differences, &sides)?;
    rewound.files(own, &differences, applied);
    Ok(())
}

/// Returns whether a path below `.git` belongs to the index or to an operation in progress.
pub(super) fn is_in_progress(path: &[u8]) -> bool {
    is_staged(first_part(path)) || is_of_operation(path)
}

/// Returns whether a path below `.git` configures git or the programs that it runs.
pub(crate) fn is_setting(path: &[u8]) -> bool {
    let first = first_part(path);
    matches!(first, b"config" | b"config.worktree" | b"hooks")
        || path == b"commondir"
        || matches!(path, b"info/exclude" | b"info/attributes" | b"info/sparse-checkout" | b"info/grafts")
}

/// Returns a configuration without what it says of branches.
pub(crate) fn without_branches(store: &ObjectStore, place: Option<EntryState>) -> SnapshotResult<Vec<u8>> {
    let text =
        place.filter(|place| !place.is_folder()).map_or(Ok(Vec::new()), |place| store.blob(&place.id))?;
    let mut is_of_branch = false;
    let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| {
        let line = line.trim_ascii_start();
        if line.starts_with(b"[") {
            is_of_branch = line.starts_with(b"[branch ");
        }
        !is_of_branch
    });
    Ok(lines.flatten().copied().collect()) // no read
}

pub(super) fn is_staged(path: &[u8]) -> bool {
    path == b"index" || path.starts_with(b"sharedindex.")
}

impl GitRestoreReport {
    /// Notes that the files of git are as they were.
    fn files(&mut self, own: &[u8], differences: &BTreeMap<Vec<u8>, DiffEntry>, applied: RestoreReport) {
        let place = as_path(own);
        let any = |is_such: fn(&[u8]) -> bool| differences.keys().any(|path| is_such(path));
        if applied.left.is_empty() {
            let done = [
                (any(is_staged), "has staged what it had"),
                (
                    any(|path| is_in_progress(path) && !is_staged(path)),
                    "is in the midst of what it was, or of nothing",
                ),
                (any(is_setting), "has the configuration and the hooks that it had"),
            ];
            let of_inner = if own == GIT { String::new() } else { format!(" in {}", place.display()) };
            let done = done.into_iter().filter(|(is_so, _)| *is_so);
            self.done.extend(done.map(|(_, what)| format!("{what}{of_inner}")));
        }
        self.left.extend(applied.left.into_iter().map(|left| left.below(&place)));
    }
}
