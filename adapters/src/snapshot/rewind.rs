//! Puts back how the repository stood: branches, tags and the stash if they are gone, HEAD with its branch, what is staged,
//! a merge or the like that git was in the midst of, and what tells git how to work.
//!
//! Refs are moved by git itself, which knows how they are stored and records each move in its reflog. The rest
//! is small files of which git reads whatever is there. No commit is lost: what is moved away from is named.

use std::collections::BTreeMap;
use std::path::Path;

use unstuck_core::id::Digest;
use unstuck_core::snapshot::Standing;

use super::change::Difference;
use super::error::{Error, io};
use super::parts::Parts;
use super::refs::{self, Changed};
use super::repository::{first_part, is_object_name};
use super::restore::{self, Applied, NotRestored, Sides};
use super::store::Store;
use super::tree::Place;
use super::{Branches, OBJECTS, Snapshot, Snapshots, history, tree};
use crate::git;

/// How a repository stands at a moment, as a snapshot has it.
struct State {
    standing: Standing,
    branches: Branches,
}

impl State {
    /// `None` where it is not known: of refs in tables, of names that are no Unicode, of too many branches.
    fn of(store: &Store, parts: &Parts, standing: &Standing) -> Result<Option<Self>, Error> {
        let is_known = standing.branch.as_ref().or(standing.commit.as_ref());
        let is_known = is_known.is_some_and(|name| !name.contains('\u{fffd}'));
        let branches = parts.branches(store)?.filter(|_| is_known);
        Ok(branches.map(|branches| Self { standing: standing.clone(), branches }))
    }
}

/// What was done to a repository.
#[derive(Debug, Default)]
pub(super) struct Rewound {
    /// Sentences without their subject, the repository.
    pub(super) done: Vec<String>,
    pub(super) left: Vec<NotRestored>,
}

/// Makes the repository, which is as `now` says, what it was `then`, as far as [`Git::PutBack`](super::Git::PutBack) says.
pub(super) fn rewind(of: &Snapshots, now: &Snapshot, then: &Snapshot) -> Result<Rewound, Error> {
    let (is, was) = (Parts::of(&of.store, now)?, Parts::of(&of.store, then)?);
    let objects = of.own.join(OBJECTS);
    let mut rewound = Rewound::default();
    if let Some(item) = was.repository()
        && let Some(applied) = restore::bring_repository_back(
            &of.store,
            &of.root()?,
            item,
            &was.permissions(&of.store)?,
            &objects,
        )?
    {
        rewound.done.push("is back".to_owned());
        rewound.left = applied.left;
        return Ok(rewound);
    }
    let (stands, stood) = match (&now.repository, &then.repository) {
        (_, None) => return Ok(rewound),
        (None, Some(_)) => {
            let why = "is there, but no repository any more: move it away, and undo again with --git";
            rewound.leave(".git", why.to_owned());
            return Ok(rewound);
        }
        (Some(stands), Some(stood)) => (stands, stood),
    };
    if !is.same_repository(&was) {
        rewound
            .leave(".git", "leads to another repository than it did, in which nothing is changed".to_owned());
        return Ok(rewound);
    }
    let states = State::of(&of.store, &is, stands)?.zip(State::of(&of.store, &was, stood)?);
    let folders = is.repository_folder().zip(was.repository_folder());
    let Some((is, was)) = states else {
        let why = "stays as it is: where HEAD and the branches are, or were, is not known";
        rewound.leave(".git", why.to_owned());
        return Ok(rewound);
    };
    if let Some((is, was)) = folders {
        put_back(of, is, was, |path| is_in_progress(path) || is_setting(path), &mut rewound)?;
    }
    let branches = gone(&is, &was);
    let others = folders.map_or(Ok(Vec::new()), |(is, was)| refs::changed(&of.store, is, was))?;
    let wanted = branches.iter().chain(&others).map(|it| it.was.as_str());
    if folders.is_some() && !has_objects(&of.workspace, wanted.chain(was.standing.commit.as_deref())) {
        let given = of.root()?.make_below(b".git/objects");
        if let Err(error) = given.and_then(|given| history::give_back(&objects, &given)) {
            rewound.leave(".git/objects", format!("cannot be added to: {error}"));
        }
    }
    rewound.bring_back(&of.workspace, "branches", &branches);
    rewound.bring_back(&of.workspace, "tags and other refs", &others);
    rewound.head(&of.workspace, &is, &was);
    if let Some((is, was)) = folders.filter(|_| others.iter().any(|it| it.name == refs::STASH)) {
        put_back(of, is, was, |path| path == b"logs/refs/stash", &mut rewound)?;
    }
    if folders.is_none() && is.standing.commit != was.standing.commit {
        let why = "stays as it is: what is staged is in no snapshot here; git reset makes it as HEAD is";
        rewound.leave(".git: index", why.to_owned());
    }
    Ok(rewound)
}

/// Puts back these files below `.git`.
fn put_back(
    of: &Snapshots,
    is: Digest,
    was: Digest,
    is_meant: impl Fn(&[u8]) -> bool,
    rewound: &mut Rewound,
) -> Result<(), Error> {
    let mut differences = restore::all(tree::compare(&of.store, Some(is), Some(was))?);
    differences.retain(|path, _| is_meant(path));
    if differences.is_empty() {
        return Ok(());
    }
    let git = of.root()?.open_below(b".git").map_err(io("open", &of.workspace.join(".git")))?;
    if git.look(b"index.lock").is_ok() {
        let why = "is not put back: a git is at work, or was killed; remove .git/index.lock if none is";
        rewound.leave(".git/index", why.to_owned());
        return Ok(());
    }
    let applied = restore::apply(&of.store, &git, &differences, &Sides::default())?;
    rewound.files(&differences, applied);
    Ok(())
}

/// Says whether a path below `.git` is of what is staged, or of what git is in the midst of.
fn is_in_progress(path: &[u8]) -> bool {
    let first = first_part(path);
    is_staged(first)
        || first.starts_with(b"MERGE_")
        || first.starts_with(b"BISECT_")
        || matches!(
            first,
            b"AUTO_MERGE"
                | b"SQUASH_MSG"
                | b"CHERRY_PICK_HEAD"
                | b"REVERT_HEAD"
                | b"REBASE_HEAD"
                | b"rebase-merge"
                | b"rebase-apply"
                | b"sequencer"
        )
}

/// Says whether a path below `.git` is of what tells git how to work, and which programs to run.
pub(super) fn is_setting(path: &[u8]) -> bool {
    let first = first_part(path);
    matches!(first, b"config" | b"config.worktree" | b"hooks")
        || matches!(path, b"info/exclude" | b"info/attributes" | b"info/sparse-checkout" | b"info/grafts")
}

/// Returns a configuration without what it says of branches.
pub(super) fn without_branches(store: &Store, place: Option<Place>) -> Result<Vec<u8>, Error> {
    let text = place.filter(|it| !it.is_folder()).map_or(Ok(Vec::new()), |place| store.blob(&place.id))?;
    let mut is_of_branch = false;
    let lines = text.split_inclusive(|&byte| byte == b'\n').filter(|line| {
        let line = line.trim_ascii_start();
        if line.starts_with(b"[") {
            is_of_branch = line.starts_with(b"[branch ");
        }
        !is_of_branch
    });
    Ok(lines.flatten().copied().collect())
}

fn is_staged(path: &[u8]) -> bool {
    path == b"index" || path.starts_with(b"sharedindex.")
}

impl Rewound {
    /// Notes that the files of git are as they were.
    fn files(&mut self, differences: &BTreeMap<Vec<u8>, Difference>, applied: Applied) {
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
            self.done.extend(done.into_iter().filter(|(is_so, _)| *is_so).map(|(_, what)| what.to_owned()));
        }
        let below = |left: NotRestored| NotRestored { path: Path::new(".git").join(left.path), ..left };
        self.left.extend(applied.left.into_iter().map(below));
    }

    /// Takes back what became of refs.
    fn bring_back(&mut self, workspace: &Path, what: &str, changed: &[Changed]) {
        match change(workspace, changed.iter().flat_map(Changed::taken_back).collect()) {
            Ok(()) => self.done.extend(told(changed)),
            Err(why) => {
                self.leave(&format!(".git: {what}"), format!("those that are gone are not back: {why}"))
            }
        }
    }

    /// Brings HEAD with its branch to where they were.
    fn head(&mut self, workspace: &Path, is: &State, was: &State) {
        if head_of(is) == head_of(was) {
            return;
        }
        let (from, to) = (is.standing.head(), was.standing.head());
        match head(workspace, is, was) {
            Ok(()) => self.done.push(format!("is on {to} again, and was on {from}")),
            Err(why) => self.leave(".git: HEAD", format!("is not where it was: {why}")),
        }
    }

    fn leave(&mut self, path: &str, why: String) {
        self.left.push(NotRestored { path: path.into(), why });
    }
}

/// Says whether git has all that refs and what is staged need.
fn has_objects<'a>(workspace: &Path, wanted: impl Iterator<Item = &'a str>) -> bool {
    let question = ["rev-list", "--quiet", "--no-walk", "--objects", "--indexed-objects", "--stdin"];
    let wanted: String = wanted.filter(|it| is_object_name(it)).map(|it| format!("{it}\n")).collect();
    git::plain_with(workspace, &question, wanted.into_bytes()).is_ok()
}

/// Returns the branches that were there and are not any more.
fn gone(is: &State, was: &State) -> Vec<Changed> {
    let there = was.branches.iter().filter(|(_, target)| is_object_name(target));
    let gone = there.filter(|(name, _)| !is.branches.contains_key(*name));
    gone.map(|(name, target)| Changed::branch(name, target)).collect()
}

/// Names the first few refs that are back.
fn told(back: &[Changed]) -> Vec<String> {
    const NAMED_MAX: usize = 5;
    let mut told: Vec<String> = back.iter().take(NAMED_MAX).map(Changed::told).collect();
    if let Some(more) = back.len().checked_sub(NAMED_MAX).filter(|more| *more > 0) {
        told.push(format!("has {more} more of them again"));
    }
    told
}

fn head_of(state: &State) -> (Option<&String>, Option<&String>) {
    (state.standing.branch.as_ref(), state.standing.commit.as_ref())
}

/// Puts HEAD and its branch where they were. What somebody has moved since it was looked at is not moved.
fn head(workspace: &Path, is: &State, was: &State) -> Result<(), String> {
    let Some(name) = &was.standing.branch else {
        let commit = was.standing.commit.as_deref().unwrap_or_default();
        return asked(workspace, &["update-ref", "--no-deref", "-m", WHY, "HEAD", commit]);
    };
    let full = format!("refs/heads/{name}");
    let elsewhere = is.standing.elsewhere.iter().find(|(_, head)| **head == format!("ref: {full}"));
    if let (Some((checkout, _)), true) = (elsewhere, is.standing.branch != was.standing.branch) {
        return Err(format!("the checkout {checkout:?} of the repository is on {name}"));
    }
    match (&was.standing.commit, is.branches.get(name)) {
        (_, Some(symbolic)) if !is_object_name(symbolic) => {
            return Err(format!("the branch {name} is a symbolic one now"));
        }
        (Some(then), Some(now)) if then != now => {
            change(
                workspace,
                [&b"update "[..], full.as_bytes(), b"\0", then.as_bytes(), b"\0", now.as_bytes(), b"\0"]
                    .concat(),
            )?;
        }
        // It had no commit yet.
        (None, Some(now)) => {
            change(workspace, [&b"delete "[..], full.as_bytes(), b"\0", now.as_bytes(), b"\0"].concat())?;
        }
        _ => {}
    }
    asked(workspace, &["symbolic-ref", "-m", WHY, "HEAD", &full])
}

/// What the reflog says of a move.
const WHY: &str = "unstuck undo";

/// Changes refs, all of them or none, and none through a symbolic one.
fn change(workspace: &Path, changes: Vec<u8>) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    let arguments = ["update-ref", "--no-deref", "-m", WHY, "--stdin", "-z"];
    git::plain_with(workspace, &arguments, changes).map(drop).map_err(|error| error.to_string())
}

fn asked(workspace: &Path, arguments: &[&str]) -> Result<(), String> {
    git::plain(workspace, arguments).map(drop).map_err(|error| error.to_string())
}
