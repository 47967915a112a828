//! The present state of a repository: where it is, what snapshots do not cover of it, and what it lacks.

use unstuck_files::safe_dir::as_path;

use crate::git::PinnedRepo;
use crate::snapshot::excluded::ExcludedList;
use crate::snapshot::git_files::{RepoResult, is_folder, is_object_name};
use crate::snapshot::options::BranchTargets;
use crate::snapshot::paths::GIT;
use crate::snapshot::refs::ChangedRef;
use crate::snapshot::repository::Repository;
use crate::snapshot::snapshots::Snapshots;

/// Paths that the snapshots of now and then do not cover. An undo concludes nothing from them, and leaves them.
pub(super) struct Uncovered {
    pub(super) now: ExcludedList,
    pub(super) then: ExcludedList,
}

impl Uncovered {
    /// Returns the same of the own folder of a repository.
    pub(super) fn below(&self, own: &[u8]) -> Self {
        Self { now: self.now.below(own), then: self.then.below(own) }
    }

    pub(super) fn at(&self, path: &[u8]) -> Option<String> {
        let sides = [(&self.now, "is"), (&self.then, "was")];
        let mut found = sides.into_iter().filter_map(|(side, word)| Some((side.unknown_at(path)?, word)));
        found.next().map(|((path, reason), word)| {
            let path = if path.is_empty() { "it".into() } else { as_path(path).display().to_string() };
            format!("{path} {word} {reason}")
        })
    }
}

/// Returns the repository of the workspace, which is in it, or which it is a part of.
pub(super) fn pinned_repo(of: &Snapshots) -> RepoResult<Option<PinnedRepo>> {
    if is_folder(&of.workspace.join(".git"))? {
        return Ok(Some(pinned_repo_within(of, GIT)));
    }
    Ok(Repository::find(&of.workspace)?.map(|repository| repository.pinned()))
}

pub(super) fn pinned_repo_within(of: &Snapshots, path: &[u8]) -> PinnedRepo {
    let own = of.workspace.join(as_path(path));
    PinnedRepo { common: own.clone(), own }
}

/// Returns the error of git if commits that refs lead to are missing, or files of the last commits.
pub(super) fn unreadable(at: &PinnedRepo, commit: Option<&str>) -> Option<String> {
    const ALL: [&str; 3] = ["rev-list", "--quiet", "--all"];
    let of_refs =
        [&ALL[..], &["--no-walk", "--objects", "--missing=allow-promisor"], commit.as_slice()].concat();
    let error = at.ask(&of_refs, Vec::new()).and_then(|_| at.ask(&ALL, Vec::new())).err()?;
    // If the history is too long for the time limit, no problem was found in it.
    Some(error.to_string()).filter(|error| !error.starts_with("git did not end"))
}

/// Says whether git has all that refs and what is staged need.
pub(super) fn has_objects<'a>(at: &PinnedRepo, wanted: impl Iterator<Item = &'a str>) -> bool {
    let question = ["rev-list", "--quiet", "--no-walk", "--objects", "--indexed-objects", "--stdin"];
    let wanted: String = wanted.filter(|name| is_object_name(name)).map(|name| format!("{name}\n")).collect();
    at.ask(&question, wanted.into_bytes()).is_ok()
}

/// Returns the branches that existed before and are missing now.
pub(super) fn missing_branches(is: &BranchTargets, was: &BranchTargets) -> Vec<ChangedRef> {
    let there = was.iter().filter(|(_, target)| is_object_name(target));
    let gone = there.filter(|(name, _)| !is.contains_key(*name));
    gone.map(|(name, target)| ChangedRef::branch(name, target)).collect()
}
