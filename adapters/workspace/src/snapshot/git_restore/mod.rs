//! Restores the state of the repository: missing branches, tags and stash, HEAD with its branch, staged files, an unfinished
//! merge or rebase, and configuration.
//!
//! No commit is lost: a commit that no branch reaches any longer is named, and it is in the snapshot before the undo.

mod nested;
mod state_files;
mod workspace;

use unstuck_files::error::with_causes;

pub(super) use self::state_files::{is_setting, without_branches};
use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir::{self, SafeDir, as_path};

use super::error::Error;
use super::excluded::ExcludedList;
use super::nested_repos::{self, Inner};
use super::object::FOLDER;
use super::options::Branches;
use super::paths::GIT;
use super::permissions::Permissions;
use super::refs::Changed;
use super::repository::{Known as Reading, Repository, is_folder, is_object_name};
use super::restore::{self, NotRestored};
use super::root_tree::Parts;
use super::snapshots::Snapshots;
use super::tree::Place;
use crate::git::PinnedRepo;

/// The changes that a restore made to a repository.
#[derive(Debug, Default)]
pub(super) struct GitRestoreReport {
    /// Sentences without their subject, the repository.
    pub(super) done: Vec<String>,
    pub(super) left: Vec<NotRestored>,
    /// Whether something was not restored because the disk is full.
    pub(super) is_full: bool,
}

/// Restores the repositories from the state `now` to the state `then`, as far as [`Git::PutBack`](super::Git::PutBack) says, and
/// checks that git can read them. The others are restored even if one cannot be.
pub(super) fn rewind(of: &Snapshots, now: &Snapshot, then: &Snapshot) -> Result<GitRestoreReport, Error> {
    let (is, was) = (Parts::of(&of.store, now)?, Parts::of(&of.store, then)?);
    let (inner_is, inner_was) = (nested_repos::all(&of.store, &is)?, nested_repos::all(&of.store, &was)?);
    let permissions = was.permissions(&of.store)?;
    let unknown = Unknown { now: is.uncovered(&of.store)?, then: was.uncovered(&of.store)? };
    let mut undo = Undo { of, inner: &inner_was, permissions, unknown, rewound: GitRestoreReport::default() };
    let is_known = undo.own((now, &is), (then, &was));
    let touched = undo.within(&inner_is, is_known);
    let mut rewound = undo.rewound;
    if let Some(stood) = then.repository.as_ref().filter(|_| !rewound.is_left(GIT))
        && let Ok(Some(at)) = bound(of)
    {
        rewound.look(GIT, &at, stood.commit.as_deref());
    }
    // Only now: one may have objects of another.
    for path in touched {
        rewound.look(path, &bound_within(of, path), None);
    }
    Ok(rewound)
}

/// The way back to the repositories that a snapshot has.
struct Undo<'a> {
    of: &'a Snapshots,
    /// Those within, as they were.
    inner: &'a Inner,
    permissions: Permissions,
    unknown: Unknown,
    rewound: GitRestoreReport,
}

/// Paths that the snapshots of now and then do not cover. An undo concludes nothing from them, and leaves them.
struct Unknown {
    now: ExcludedList,
    then: ExcludedList,
}

impl Unknown {
    /// Returns the same of the own folder of a repository.
    fn below(&self, own: &[u8]) -> Self {
        Self { now: self.now.below(own), then: self.then.below(own) }
    }

    fn at(&self, path: &[u8]) -> Option<String> {
        let sides = [(&self.now, "is"), (&self.then, "was")];
        let mut found = sides.into_iter().filter_map(|(side, word)| Some((side.unknown_at(path)?, word)));
        found.next().map(|((path, reason), word)| {
            let path = if path.is_empty() { "it".into() } else { as_path(path).display().to_string() };
            format!("{path} {word} {reason}")
        })
    }
}

impl<'a> Undo<'a> {
    /// Puts the repository of the workspace back. Says whether it was there, and is known to be the one that was.
    fn own(&mut self, now: (&Snapshot, &Parts), then: (&Snapshot, &Parts)) -> bool {
        let place = then.1.repository().map(|item| Place { mode: item.mode, id: item.id });
        let is_back = place.map_or(Ok(false), |place| self.bring_back(GIT, place));
        let is_back = is_back.unwrap_or_else(|error| self.rewound.refused(GIT, &error));
        self.rewound.done.extend(is_back.then(|| "is back".to_owned()));
        let is_whole = place.is_none_or(|place| place.is_folder());
        if is_back && is_whole || self.rewound.is_left(GIT) {
            return false;
        }
        let unknown = &self.unknown;
        let known = match is_back {
            false => workspace::put_back(self.of, now, then, unknown, &mut self.rewound),
            // It leads to a repository that was there all the time.
            true => self.of.take(Some(then.0)).and_then(|now| {
                let is = Parts::of(&self.of.store, &now)?;
                workspace::put_back(self.of, (&now, &is), then, unknown, &mut self.rewound)
            }),
        };
        known.unwrap_or_else(|error| self.rewound.refused(GIT, &error))
    }

    /// Puts those within back, which are as `now` says, and returns to which something was done. What is in a `.git` is left
    /// where that is back, or is another: `own_is_known` says that it is neither.
    fn within(&mut self, now: &Inner, own_is_known: bool) -> Vec<&'a [u8]> {
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
                None => self.bring_back(path, Place { mode: FOLDER, id: *was }),
            };
            match result {
                Ok(true) => {
                    touched.push(path);
                    back.extend(is.is_none().then_some(&**path));
                }
                Ok(false) if is.is_none() => self.rewound.leave_at(path, NO_REPOSITORY),
                Ok(false) => {}
                Err(error) => _ = self.rewound.refused(path, &error),
            }
        }
        let sentences = back.iter().map(|path| format!("has {} again", as_path(path).display()));
        self.rewound.done.extend(told(sentences));
        touched
    }

    /// Restores a repository whose own folder is gone, with the repositories of its submodules. Returns whether it did.
    fn bring_back(&mut self, path: &[u8], place: Place) -> Result<bool, Error> {
        let of = self.of;
        let fill = |own: &SafeDir| {
            nested_repos::give_objects_back(&of.own, path, own)?;
            for one in self.inner.keys().filter(|it| *it != path && safe_dir::is_within(it, path)) {
                nested_repos::give_objects_back(&of.own, one, &own.open_below(&one[path.len() + 1..])?)?;
            }
            Ok(())
        };
        let (root, place) = (of.root()?, (path, place));
        let applied = restore::bring_repository_back(&of.store, &root, place, &self.permissions, fill)?;
        let Some(applied) = applied else { return Ok(false) };
        self.rewound.left.extend(applied.left);
        let unread = self.unknown.then.unreadable().into_iter().filter(|it| safe_dir::is_within(it, path));
        for path in unread {
            self.rewound.leave_at(&path, "is not back: it could not be read when the snapshot was taken");
        }
        Ok(true)
    }
}

/// Returns the repository of the workspace, which is in it, or which it is a part of.
fn bound(of: &Snapshots) -> Reading<Option<PinnedRepo>> {
    if is_folder(&of.workspace.join(".git"))? {
        return Ok(Some(bound_within(of, GIT)));
    }
    Ok(Repository::find(&of.workspace)?.map(|it| it.bound()))
}

/// Returns the reason why an undo leaves a repository that is not fully known.
fn unknown_state(why: &str) -> String {
    format!(
        "stays as it is: where HEAD and the branches are, or were, is not known ({why}); where they were: git reflog --all"
    )
}

fn bound_within(of: &Snapshots, path: &[u8]) -> PinnedRepo {
    let own = of.workspace.join(as_path(path));
    PinnedRepo { common: own.clone(), own }
}

/// The reason why a folder is not restored.
const NO_REPOSITORY: &str = "is there, but no repository any more: move it away, and undo again with --git";

/// Returns the error of git if commits that refs lead to are missing, or files of the last commits.
fn unreadable(at: &PinnedRepo, commit: Option<&str>) -> Option<String> {
    const ALL: [&str; 3] = ["rev-list", "--quiet", "--all"];
    let of_refs =
        [&ALL[..], &["--no-walk", "--objects", "--missing=allow-promisor"], commit.as_slice()].concat();
    let error = at.ask(&of_refs, Vec::new()).and_then(|_| at.ask(&ALL, Vec::new())).err()?;
    // If the history is too long for the time limit, no problem was found in it.
    Some(error.to_string()).filter(|error| !error.starts_with("git did not end"))
}

impl GitRestoreReport {
    /// Records that a repository could not be restored. Returns `false`, since nothing was done.
    fn refused(&mut self, own: &[u8], error: &Error) -> bool {
        self.is_full |= error.is_full();
        self.leave_at(own, &format!("is not what it was: {}", with_causes(error)));
        false
    }

    fn is_left(&self, own: &[u8]) -> bool {
        self.left.iter().any(|left| left.path == *as_path(own))
    }

    fn leave_at(&mut self, path: &[u8], why: &str) {
        self.leave(&as_path(path).to_string_lossy(), why.to_owned());
    }

    /// Notes what git cannot read of a repository.
    fn look(&mut self, own: &[u8], at: &PinnedRepo, commit: Option<&str>) {
        if let Some(why) = unreadable(at, commit) {
            let why = format!("cannot be read whole ({why}); what is broken in it: git fsck --no-dangling");
            self.leave_at(own, &why);
        }
    }

    fn leave(&mut self, path: &str, why: String) {
        self.left.push(NotRestored { path: path.into(), why });
    }
}

/// Says whether git has all that refs and what is staged need.
fn has_objects<'a>(at: &PinnedRepo, wanted: impl Iterator<Item = &'a str>) -> bool {
    let question = ["rev-list", "--quiet", "--no-walk", "--objects", "--indexed-objects", "--stdin"];
    let wanted: String = wanted.filter(|it| is_object_name(it)).map(|it| format!("{it}\n")).collect();
    at.ask(&question, wanted.into_bytes()).is_ok()
}

/// Returns the branches that existed before and are missing now.
fn gone(is: &Branches, was: &Branches) -> Vec<Changed> {
    let there = was.iter().filter(|(_, target)| is_object_name(target));
    let gone = there.filter(|(name, _)| !is.contains_key(*name));
    gone.map(|(name, target)| Changed::branch(name, target)).collect()
}

/// Keeps the first few sentences about restored items.
fn told(sentences: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    const NAMED_MAX: usize = 5;
    let more = sentences.len().saturating_sub(NAMED_MAX);
    let mut told: Vec<String> = sentences.take(NAMED_MAX).collect();
    told.extend((more > 0).then(|| format!("has {more} more of them again")));
    told
}
