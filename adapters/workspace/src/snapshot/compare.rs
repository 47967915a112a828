//! Compares two snapshots.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::{Path, PathBuf};

use unstuck_core::diffstat::ChangedFile;
use unstuck_core::id::Digest;
use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir;

use super::change::{self, PathChange};
use super::diff::{self, DiffOptions};
use super::error::SnapshotResult;
use super::excluded::{ChangedExcluded, ExcludedChange, ExcludedList, ExcludedReason, OneSidedPath};
use super::git_restore;
use super::nested_repos::{self, InnerBranch};
use super::options::{MovedBranch, StagedFiles};
use super::paths::GIT;
use super::root_tree::Parts;
use super::snapshots::{Snapshots, path_bytes};
use super::{tracked, tree, word_index};

impl Snapshots {
    /// Returns what only one of two snapshots covers, and why the other does not; but not what the rules ignore.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn one_sided_paths(&self, before: &Snapshot, after: &Snapshot) -> SnapshotResult<Vec<OneSidedPath>> {
        if before.id == after.id || before.left_out.is_empty() && after.left_out.is_empty() {
            return Ok(Vec::new());
        }
        let store = &self.store;
        let (before, after) = (Parts::read(store, before)?, Parts::read(store, after)?);
        let (unknown_before, unknown_after) = (before.uncovered(store)?, after.uncovered(store)?);
        let mut unseen = Vec::new();
        for (path, reason) in
            unknown_after.of_work().filter(|(path, _)| unknown_before.reason(path).is_none())
        {
            if path.is_empty() || before.find(store, path)?.is_some() {
                unseen.push(OneSidedPath {
                    path: safe_dir::as_path(path).into_owned(),
                    reason,
                    is_now: true,
                });
            }
        }
        for (path, reason) in
            unknown_before.of_work().filter(|(path, _)| unknown_after.reason(path).is_none())
        {
            if after.find(store, path)?.is_some() {
                unseen.push(OneSidedPath {
                    path: safe_dir::as_path(path).into_owned(),
                    reason,
                    is_now: false,
                });
            }
        }
        unseen.sort_unstable();
        Ok(unseen)
    }

    /// Returns which files differ between two snapshots, ordered by path.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changes(&self, before: &Snapshot, after: &Snapshot) -> SnapshotResult<Vec<PathChange>> {
        change::changes(&self.store, before, after)
    }

    /// Returns what a file of a snapshot held; `None` where it does not cover the file, or the rules ignore it.
    ///
    /// # Errors
    ///
    /// The snapshot is gone or damaged.
    pub fn read(&self, snapshot: &Snapshot, path: &Path) -> SnapshotResult<Option<Vec<u8>>> {
        let Some(tree) = Parts::read(&self.store, snapshot)?.work() else { return Ok(None) };
        match tree::find(&self.store, tree, &path_bytes(path))? {
            Some(place) if place.mode & safe_dir::TYPE == safe_dir::FILE => {
                self.store.blob(&place.id).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Writes what differs between two snapshots, as text that `git apply` understands.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged; `to` cannot be written.
    pub fn diff(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        options: &DiffOptions,
        to: &mut dyn Write,
    ) -> SnapshotResult<()> {
        diff::diff(&self.store, before, after, options, to)
    }

    /// Returns the paths that `after` does not cover and `before` did not leave out: new pipes, files that are too large.
    /// Ignored paths are not returned.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn newly_uncovered(&self, before: &Snapshot, after: &Snapshot) -> SnapshotResult<Vec<PathBuf>> {
        let uncovered = |of: &Snapshot| Parts::read(&self.store, of)?.uncovered(&self.store);
        let (before, after) = (uncovered(before)?, uncovered(after)?);
        let new = after.work().filter(|path| before.reason(path).is_none());
        Ok(new.map(|path| safe_dir::as_path(path).into_owned()).collect())
    }

    /// Returns the words that a file of one snapshot has and no file of a later one. Returns none if the search takes
    /// too long, or if the later snapshot does not cover files that the earlier one did.
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn lost_words<'w>(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        words: &BTreeSet<&'w str>,
    ) -> SnapshotResult<BTreeSet<&'w str>> {
        let is_cut = |of: &Snapshot| {
            let reasons = [ExcludedReason::TooMuch, ExcludedReason::TooMany].map(|reason| reason.to_string());
            of.left_out.iter().any(|left| left.count > 0 && reasons.contains(&left.reason))
        };
        if words.is_empty() || is_cut(after) || !self.newly_uncovered(before, after)?.is_empty() {
            return Ok(BTreeSet::new());
        }
        Ok(word_index::lost_words(&self.store, before, after, words)?.unwrap_or_default()) // no read
    }

    /// Returns the branches of a snapshot that are not so in a later one; none where they are not known.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn moved_branches(&self, before: &Snapshot, after: &Snapshot) -> SnapshotResult<Vec<MovedBranch>> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let (before, after) = (Parts::read(&self.store, before)?, Parts::read(&self.store, after)?);
        if before.same_branches(&after) {
            return Ok(Vec::new());
        }
        let both = before.branches(&self.store)?.zip(after.branches(&self.store)?);
        let Some((before, mut after)) = both else { return Ok(Vec::new()) };
        let moved = before.into_iter().map(|(name, from)| {
            let to = after.remove(&name);
            MovedBranch { name, from, to }
        });
        Ok(moved.filter(|branch| branch.to.as_ref() != Some(&branch.from)).collect())
    }

    /// Returns the changed files below `.git` that configure git or the programs that it runs. Settings of a branch do
    /// not count, since git writes them itself on a push.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changed_settings(&self, before: &Snapshot, after: &Snapshot) -> SnapshotResult<Vec<PathBuf>> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let (before, after) = (Parts::read(&self.store, before)?, Parts::read(&self.store, after)?);
        let folders = before.repository_folder().zip(after.repository_folder());
        let Some(folders) = folders else { return Ok(Vec::new()) };
        let unknown = [&before, &after].map(|of| of.uncovered(&self.store));
        let [before, after] = unknown;
        let settings = self.settings(folders, (&before?.below(GIT), &after?.below(GIT)))?;
        Ok(settings.map(|path| safe_dir::as_path(&path).into_owned()).collect())
    }

    /// Returns what differs of the settings of a repository, but what is configured of a branch.
    fn settings(
        &self,
        (before, after): (Digest, Digest),
        (unknown_before, unknown_after): (&ExcludedList, &ExcludedList),
    ) -> SnapshotResult<impl Iterator<Item = Vec<u8>> + use<>> {
        let mut pairs = tree::compare(&self.store, Some(before), Some(after))?;
        pairs.retain(|path, pair| {
            git_restore::is_setting(path) && !change::is_unknown(path, pair, unknown_before, unknown_after)
        });
        if let Some(pair) = pairs.get(&b"config"[..])
            && git_restore::without_branches(&self.store, pair.before)?
                == git_restore::without_branches(&self.store, pair.after)?
        {
            pairs.remove(&b"config"[..]);
        }
        Ok(pairs.into_keys())
    }

    /// As [`Self::changed_settings`], of the repositories of submodules and of folders in the workspace; by their paths from its
    /// root.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changed_settings_within(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> SnapshotResult<Vec<PathBuf>> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let unknown = [before, after].map(|of| Parts::read(&self.store, of)?.uncovered(&self.store));
        let [unknown_before, unknown_after] = unknown;
        let (unknown_before, unknown_after) = (unknown_before?, unknown_after?);
        let (before, after) = (self.inner(before)?, self.inner(after)?);
        let mut changed = Vec::new();
        for (path, was) in before {
            let Some(is) = after.get(&path).filter(|is| **is != was) else { continue };
            let unknown = (&unknown_before.below(&path), &unknown_after.below(&path));
            let settings = self.settings((was, *is), unknown)?;
            changed
                .extend(settings.map(|setting| safe_dir::as_path(&path).join(safe_dir::as_path(&setting))));
        }
        Ok(changed)
    }

    /// Returns the branches that are gone of repositories of submodules and of folders in the workspace.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn gone_branches_within(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> SnapshotResult<Vec<InnerBranch>> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let unknown = Parts::read(&self.store, after)?.uncovered(&self.store)?;
        nested_repos::gone_branches(&self.store, &self.inner(before)?, (&self.inner(after)?, &unknown))
    }

    fn inner(&self, snapshot: &Snapshot) -> SnapshotResult<nested_repos::NestedRepos> {
        nested_repos::find_all(&self.store, &Parts::read(&self.store, snapshot)?)
    }

    /// Returns what a snapshot has left out and a later one finds to be another thing, as far as that can be seen from
    /// outside: nothing brings back what it was. Of a folder it is seen that it is another one, or gone, or empty by now.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changed_excluded(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> SnapshotResult<Vec<ChangedExcluded>> {
        if before.left_out.is_empty() || before.id == after.id {
            return Ok(Vec::new());
        }
        let store = &self.store;
        let (before, after) = (Parts::read(store, before)?, Parts::read(store, after)?);
        let lost = before
            .uncovered(store)?
            .changed_since(&after.uncovered(store)?, |path| after.find(store, path))?;
        let mut paths = Vec::with_capacity(lost.len());
        for path in lost {
            // One that was brought back is another folder, with the same history.
            let is_repository = path.comes_back && path.how == ExcludedChange::Replaced;
            if !is_repository
                || !nested_repos::is_continued(store, &before, &after, &safe_dir::as_bytes(&path.path))?
            {
                paths.push(path);
            }
        }
        Ok(paths)
    }

    /// Counts the lines that were added and removed between two snapshots, in each of the files that are asked for. A
    /// binary file has none; one that is too large to be compared counts with all of its lines.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn lines(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        is_asked: &dyn Fn(&Path) -> bool,
    ) -> SnapshotResult<Vec<ChangedFile>> {
        diff::lines(&self.store, before, after, is_asked)
    }

    /// Returns the files that git tracks; `None` where git cannot tell.
    pub fn tracked(&self) -> Option<BTreeSet<PathBuf>> {
        tracked::files(&self.workspace).ok().map(paths) // an error is `None`: not known
    }

    /// Returns the tracked files that hold work that is not in the index; `None` where git cannot tell.
    pub fn unstaged(&self) -> Option<BTreeSet<PathBuf>> {
        tracked::unstaged(&self.workspace).ok().map(paths) // an error is `None`: not known
    }

    /// Returns the tracked files that hold work that a commit has not; `None` where git cannot tell.
    pub fn unsaved(&self, commit: &str) -> Option<BTreeSet<PathBuf>> {
        tracked::unsaved(&self.workspace, commit).ok().map(paths) // an error is `None`: not known
    }

    /// Returns which of these files are staged in a form that neither the last commit nor the workspace has; `None` where
    /// git cannot tell.
    pub fn staged(&self, among: &BTreeSet<PathBuf>) -> Option<StagedFiles> {
        tracked::staged(&self.workspace, among).ok() // an error is `None`: not known
    }

    /// Says whether git has a commit or another object; `None` where git cannot tell.
    pub fn has_object(&self, name: &str) -> Option<bool> {
        tracked::has_object(&self.workspace, name)
    }

    /// Says whether a commit is on the way to another, `tip`. One that git does not have is on none; `None` where git
    /// cannot tell.
    pub fn has_commit(&self, tip: &str, commit: &str) -> Option<bool> {
        tracked::has_commit(&self.workspace, tip, commit)
    }

    /// Returns all files of git's index; `None` where git cannot tell.
    pub fn index(&self) -> Option<StagedFiles> {
        tracked::index(&self.workspace).ok() // an error is `None`: not known
    }
}

fn paths(names: BTreeSet<Vec<u8>>) -> BTreeSet<PathBuf> {
    names.iter().map(|name| safe_dir::as_path(name).into_owned()).collect()
}
