//! Restores the state of the repository: missing branches, tags and stash, HEAD with its branch, staged files, an unfinished
//! merge or rebase, and configuration.
//!
//! No commit is lost: a commit that no branch reaches any longer is named, and it is in the snapshot before the undo.

mod git_state;
mod nested;
mod report;
mod state_files;
mod workspace;

pub(super) use self::state_files::{is_setting, without_branches};
use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir::{self, SafeDir, as_path};

use self::git_state::{Uncovered, pinned_repo, pinned_repo_within};
use self::report::{GitRestoreReport, NO_REPOSITORY, first_few, unknown_state};
use super::error::SnapshotResult;
use super::nested_repos::{self, NestedRepos};
use super::object::FOLDER;
use super::paths::GIT;
use super::permissions::FolderModes;
use super::restore;
use super::root_tree::Parts;
use super::snapshots::Snapshots;
use super::tree::EntryState;

/// Restores the repositories from the state `now` to the state `then`, as far as [`Git::PutBack`](super::Git::PutBack) says, and
/// checks that git can read them. The others are restored even if one cannot be.
pub(super) fn rewind(of: &Snapshots, now: &Snapshot, then: &Snapshot) -> SnapshotResult<GitRestoreReport> {
    let (is, was) = (Parts::read(&of.store, now)?, Parts::read(&of.store, then)?);
    let (inner_is, inner_was) =
        (nested_repos::find_all(&of.store, &is)?, nested_repos::find_all(&of.store, &was)?);
    let permissions = was.permissions(&of.store)?;
    let unknown = Uncovered { now: is.uncovered(&of.store)?, then: was.uncovered(&of.store)? };
    let mut undo = RepositoryRestore {
        of,
        inner: &inner_was,
        permissions,
        unknown,
        rewound: GitRestoreReport::default(),
    };
    let is_known = undo.restore_own((now, &is), (then, &was));
    let touched = undo.restore_nested(&inner_is, is_known);
    let mut rewound = undo.rewound;
    if let Some(stood) = then.repository.as_ref().filter(|_| !rewound.has_left(GIT))
        && let Ok(Some(at)) = pinned_repo(of)
    {
        rewound.note_unreadable(GIT, &at, stood.commit.as_deref());
    }
    // Only now: one may have objects of another.
    for path in touched {
        rewound.note_unreadable(path, &pinned_repo_within(of, path), None);
    }
    Ok(rewound)
}

/// The way back to the repositories that a snapshot has.
struct RepositoryRestore<'a> {
    of: &'a Snapshots,
    /// Those within, as they were.
    inner: &'a NestedRepos,
    permissions: FolderModes,
    unknown: Uncovered,
    rewound: GitRestoreReport,
}

impl<'a> RepositoryRestore<'a> {
    /// Puts the repository of the workspace back. Says whether it was there, and is known to be the one that was.
    fn restore_own(&mut self, now: (&Snapshot, &Parts), then: (&Snapshot, &Parts)) -> bool {
        let place = then.1.repository().map(|item| EntryState { mode: item.mode, id: item.id });
        let is_back = place.map_or(Ok(false), |place| self.bring_back(GIT, place));
        let is_back = is_back.unwrap_or_else(|error| self.rewound.record_error(GIT, &error));
        self.rewound.done.extend(is_back.then(|| "is back".to_owned()));
        let is_whole = place.is_none_or(|place| place.is_folder());
        if is_back && is_whole || self.rewound.has_left(GIT) {
            return false;
        }
        let unknown = &self.unknown;
        let known = match is_back {
            false => workspace::put_back(self.of, now, then, unknown, &mut self.rewound),
            // It leads to a repository that was there all the time.
            true => self.of.take(Some(then.0)).and_then(|now| {
                let is = Parts::read(&self.of.store, &now)?;
                workspace::put_back(self.of, (&now, &is), then, unknown, &mut self.rewound)
            }),
        };
        known.unwrap_or_else(|error| self.rewound.record_error(GIT, &error))
    }

    /// Puts those within back, which are as `now` says, and returns to which something was done. What is in a `.git` is left
    /// where that is back, or is another: `own_is_known` says that it is neither.
    fn restore_nested(&mut self, now: &NestedRepos, own_is_known: bool) -> Vec<&'a [u8]> {
        let (mut touched, mut back) = (Vec::<&[u8]>::new(), Vec::<&[u8]>::new());
        for (path, was) in self.inner {
            let is_left = !own_is_known && safe_dir::is_within(path, GIT);
            if is_left || back.iter().any(|back| safe_dir::is_within(path, back)) {
                continue;
            }
            let is = now.get(path);
            let unknown = self.unknown.below(path);
            if let Some(why) = is.is_none().then(|| unknown.at(b"HEAD")).flatten() {
                // no read
                self.rewound.leave_at(path, &unknown_state(&why));
                continue;
            }
            let result = match is {
                Some(is) => nested::put_back(self.of, path, (*is, *was), &unknown, &mut self.rewound),
                None => self.bring_back(path, EntryState { mode: FOLDER, id: *was }),
            };
            match result {
                Ok(true) => {
                    touched.push(path);
                    back.extend(is.is_none().then_some(&**path));
                }
                Ok(false) if is.is_none() => self.rewound.leave_at(path, NO_REPOSITORY),
                Ok(false) => {}
                Err(error) => _ = self.rewound.record_error(path, &error),
            }
        }
        let sentences = back.iter().map(|path| format!("has {} again", as_path(path).display()));
        self.rewound.done.extend(first_few(sentences));
        touched
    }

    /// Restores a repository whose own folder is gone, with the repositories of its submodules. Returns whether it did.
    fn bring_back(&mut self, path: &[u8], place: EntryState) -> SnapshotResult<bool> {
        let of = self.of;
        let fill = |own: &SafeDir| {
            nested_repos::give_objects_back(&of.own, path, own)?;
            for one in self.inner.keys().filter(|other| *other != path && safe_dir::is_within(other, path)) {
                nested_repos::give_objects_back(&of.own, one, &own.open_below(&one[path.len() + 1..])?)?;
            }
            Ok(())
        };
        let (root, place) = (of.root()?, (path, place));
        let applied = restore::restore_repository(&of.store, &root, place, &self.permissions, fill)?;
        let Some(applied) = applied else { return Ok(false) };
        self.rewound.left.extend(applied.left);
        let unread = self
            .unknown
            .then
            .unreadable()
            .into_iter()
            .filter(|unreadable| safe_dir::is_within(unreadable, path));
        for path in unread {
            self.rewound.leave_at(&path, "is not back: it could not be read when the snapshot was taken");
        }
        Ok(true)
    }
}
