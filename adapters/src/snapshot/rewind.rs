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
use super::folder::{self, Folder, as_path};
use super::inner::{self, GIT, Inner};
use super::object::FOLDER;
use super::parts::Parts;
use super::permissions::Permissions;
use super::refs::{self, Changed};
use super::repository::{first_part, is_object_name};
use super::restore::{self, Applied, NotRestored, Sides};
use super::store::Store;
use super::tree::Place;
use super::{Branches, Snapshot, Snapshots, tree};
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

/// Makes the repositories, which are as `now` says, what they were `then`, as far as [`Git::PutBack`](super::Git::PutBack) says,
/// and looks whether git can read what they have then.
pub(super) fn rewind(of: &Snapshots, now: &Snapshot, then: &Snapshot) -> Result<Rewound, Error> {
    let (is, was) = (Parts::of(&of.store, now)?, Parts::of(&of.store, then)?);
    let (inner_is, inner_was) = (inner::all(&of.store, &is)?, inner::all(&of.store, &was)?);
    let permissions = was.permissions(&of.store)?;
    let mut rewound = Rewound::default();
    let bring_back = |path: &[u8], place: Place, rewound: &mut Rewound| {
        brought_back(of, (path, place), &inner_was, &permissions, rewound)
    };
    let place = was.repository().map(|item| Place { mode: item.mode, id: item.id });
    let is_back = place.map_or(Ok(false), |place| bring_back(GIT, place, &mut rewound))?;
    let is_known = is_back || moved_back(of, (now, &is), (then, &was), &mut rewound)?;
    let mut back: Vec<&[u8]> = if is_known && !is_back { Vec::new() } else { vec![GIT] };
    for (path, was) in &inner_was {
        if back.iter().any(|back| folder::is_within(path, back)) {
            continue;
        }
        match inner_is.get(path) {
            Some(is) => within(of, path, *is, *was, &mut rewound)?,
            None if bring_back(path, Place { mode: FOLDER, id: *was }, &mut rewound)? => back.push(path),
            None => rewound.leave(&as_path(path).to_string_lossy(), NO_REPOSITORY.to_owned()),
        }
    }
    let is_told = rewound.left.iter().any(|left| left.path == Path::new(".git"));
    if let Some(stood) = then.repository.as_ref().filter(|_| !is_told)
        && let Some(why) = unreadable(&of.workspace, stood.commit.as_deref())
    {
        rewound.leave_unreadable(GIT, &why);
    }
    Ok(rewound)
}

/// Why a folder is not put back.
const NO_REPOSITORY: &str = "is there, but no repository any more: move it away, and undo again with --git";

/// Brings a repository back whose own folder is gone, with those of its submodules, which are among `inner`; says whether it
/// did.
fn brought_back(
    of: &Snapshots,
    (path, place): (&[u8], Place),
    inner: &Inner,
    permissions: &Permissions,
    rewound: &mut Rewound,
) -> Result<bool, Error> {
    let fill = |own: &Folder| {
        inner::give_objects_back(&of.own, path, own)?;
        for one in inner.keys().filter(|it| *it != path && folder::is_within(it, path)) {
            inner::give_objects_back(&of.own, one, &own.open_below(&one[path.len() + 1..])?)?;
        }
        Ok(())
    };
    let root = of.root()?;
    let applied = restore::bring_repository_back(&of.store, &root, (path, place), permissions, fill)?;
    let Some(applied) = applied else { return Ok(false) };
    rewound.left.extend(applied.left);
    if path == GIT {
        rewound.done.push("is back".to_owned());
        return Ok(true);
    }
    rewound.done.push(format!("has {} again", as_path(path).display()));
    if let Some(why) = unreadable(&of.workspace.join(as_path(path)), None) {
        rewound.leave_unreadable(path, &why);
    }
    Ok(true)
}

/// Says what git complains of where it does not find the commits that refs lead to, and the files of the last ones.
fn unreadable(workspace: &Path, commit: Option<&str>) -> Option<String> {
    const ALL: [&str; 3] = ["rev-list", "--quiet", "--all"];
    let of_refs =
        [&ALL[..], &["--no-walk", "--objects", "--missing=allow-promisor"], commit.as_slice()].concat();
    let error = git::plain(workspace, &of_refs).and_then(|_| git::plain(workspace, &ALL)).err()?;
    // In a history that is too long for that nothing was found in the time.
    Some(error.to_string()).filter(|error| !error.starts_with("git did not end"))
}

/// Puts the repository of the workspace back, which is there. Says whether it is known to be the one that was there.
fn moved_back(
    of: &Snapshots,
    (now, is): (&Snapshot, &Parts),
    (then, was): (&Snapshot, &Parts),
    rewound: &mut Rewound,
) -> Result<bool, Error> {
    let (stands, stood) = match (&now.repository, &then.repository) {
        (_, None) => return Ok(false),
        (None, Some(_)) => {
            rewound.leave(".git", NO_REPOSITORY.to_owned());
            return Ok(false);
        }
        (Some(stands), Some(stood)) => (stands, stood),
    };
    if !is.same_repository(was) {
        rewound
            .leave(".git", "leads to another repository than it did, in which nothing is changed".to_owned());
        return Ok(false);
    }
    let states = State::of(&of.store, is, stands)?.zip(State::of(&of.store, was, stood)?);
    let folders = is.repository_folder().zip(was.repository_folder());
    let Some((is, was)) = states else {
        let why = "stays as it is: where HEAD and the branches are, or were, is not known";
        rewound.leave(".git", why.to_owned());
        return Ok(false);
    };
    if let Some((is, was)) = folders {
        put_back(of, GIT, is, was, |path| is_in_progress(path) || is_setting(path), rewound)?;
    }
    let branches = gone(&is.branches, &was.branches);
    let others = folders.map_or(Ok(Vec::new()), |(is, was)| refs::changed(&of.store, is, was))?;
    let wanted = branches.iter().chain(&others).map(|it| it.was.as_str());
    if folders.is_some() && !has_objects(&of.workspace, wanted.chain(was.standing.commit.as_deref())) {
        let given = of.root()?.open_below(GIT).and_then(|own| inner::give_objects_back(&of.own, GIT, &own));
        if let Err(error) = given {
            rewound.leave(".git/objects", format!("cannot be added to: {error}"));
        }
    }
    rewound.bring_back(&of.workspace, GIT, "branches", &branches);
    rewound.bring_back(&of.workspace, GIT, "tags and other refs", &others);
    rewound.head(&of.workspace, &is, &was);
    if let Some((is, was)) = folders {
        stash_back(of, GIT, is, was, &others, rewound)?;
    } else if is.standing.commit != was.standing.commit {
        let why = "stays as it is: what is staged is in no snapshot here; git reset makes it as HEAD is";
        rewound.leave(".git: index", why.to_owned());
    }
    Ok(true)
}

/// Puts the list of stashes back that a stash was in which is back.
fn stash_back(
    of: &Snapshots,
    own: &[u8],
    is: Digest,
    was: Digest,
    others: &[Changed],
    rewound: &mut Rewound,
) -> Result<(), Error> {
    if others.iter().any(|it| it.name == refs::STASH) {
        put_back(of, own, is, was, |path| path == b"logs/refs/stash", rewound)?;
    }
    Ok(())
}

/// Puts a repository within back, whose own folder is at `path` and is there, with its branches and HEAD.
fn within(of: &Snapshots, path: &[u8], is: Digest, was: Digest, rewound: &mut Rewound) -> Result<(), Error> {
    if is == was {
        return Ok(());
    }
    let folder = of.workspace.join(as_path(path));
    put_back(of, path, is, was, |path| is_setting(path) || is_in_progress(path), rewound)?;
    let (now, then) = (refs::branches(&of.store, is)?, refs::branches(&of.store, was)?);
    let (branches, others) = (gone(&now, &then), refs::changed(&of.store, is, was)?);
    let wanted = then.values().chain(others.iter().map(|it| &it.was));
    if !has_objects(&folder, wanted.map(String::as_str)) {
        let given = of.root()?.open_below(path);
        given.and_then(|own| inner::give_objects_back(&of.own, path, &own)).map_err(|source| Error::Io {
            what: "bring back",
            path: as_path(path).into_owned(),
            source,
        })?;
    }
    rewound.bring_back(&folder, path, "branches", &branches);
    rewound.bring_back(&folder, path, "tags and other refs", &others);
    rewound.head_within(&folder, path, &Inside::of(of, is, now)?, &Inside::of(of, was, then)?);
    stash_back(of, path, is, was, &others, rewound)
}

/// Where HEAD and the branches of a repository within are.
struct Inside {
    head: String,
    branches: BTreeMap<String, String>,
}

impl Inside {
    fn of(of: &Snapshots, tree: Digest, branches: BTreeMap<String, String>) -> Result<Self, Error> {
        let head =
            tree::find(&of.store, tree, b"HEAD")?.map_or(Ok(Vec::new()), |it| of.store.blob(&it.id))?;
        Ok(Self { head: String::from_utf8_lossy(&head).trim().to_owned(), branches })
    }

    /// Returns the branch that HEAD is on, and the commit.
    fn at(&self) -> (Option<&str>, Option<&str>) {
        match self.head.strip_prefix("ref: refs/heads/") {
            Some(name) => (Some(name), self.branches.get(name).map(String::as_str)),
            None => (None, Some(&*self.head)),
        }
    }
}

/// Puts back these files below the folder `own` of a repository.
fn put_back(
    of: &Snapshots,
    own: &[u8],
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
    let place = as_path(own).display().to_string();
    let git = of.root()?.open_below(own).map_err(io("open", &of.workspace.join(&place)))?;
    if git.look(b"index.lock").is_ok() {
        let why =
            format!("is not put back: a git is at work, or was killed; remove {place}/index.lock if none is");
        rewound.leave(&format!("{place}/index"), why);
        return Ok(());
    }
    let applied = restore::apply(&of.store, &git, &differences, &Sides::default())?;
    rewound.files(own, &differences, applied);
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
    fn files(&mut self, own: &[u8], differences: &BTreeMap<Vec<u8>, Difference>, applied: Applied) {
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

    /// Takes back what became of refs of the repository whose own folder is at `own`.
    fn bring_back(&mut self, folder: &Path, own: &[u8], what: &str, changed: &[Changed]) {
        let place = as_path(own);
        match change(folder, changed.iter().flat_map(Changed::taken_back).collect()) {
            Ok(()) => {
                let of_inner = if own == GIT { String::new() } else { format!(" in {}", place.display()) };
                self.done.extend(told(changed).into_iter().map(|what| format!("{what}{of_inner}")));
            }
            Err(why) => self.leave(
                &format!("{}: {what}", place.display()),
                format!("those that are gone are not back: {why}"),
            ),
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

    /// Brings HEAD of a repository within to where it was, with its branch.
    fn head_within(&mut self, folder: &Path, path: &[u8], is: &Inside, was: &Inside) {
        let (there, then) = (is.at(), was.at());
        if there == then {
            return;
        }
        let done = match then {
            (Some(name), commit) => {
                let full = format!("refs/heads/{name}");
                let moved = commit.zip(is.branches.get(name)).filter(|(then, now)| then != now);
                let moved = moved.map(|(then, now)| format!("update {full}\0{then}\0{now}\0").into_bytes());
                let moved = change(folder, moved.unwrap_or_default());
                moved.and_then(|()| asked(folder, &["symbolic-ref", "-m", WHY, "HEAD", &full]))
            }
            (None, Some(commit)) => asked(folder, &["update-ref", "--no-deref", "-m", WHY, "HEAD", commit]),
            (None, None) => Ok(()),
        };
        let place = as_path(path);
        match done {
            Ok(()) => self.done.push(format!("has HEAD of {} where it was", place.display())),
            Err(why) => {
                self.leave(&place.join("HEAD").to_string_lossy(), format!("is not where it was: {why}"))
            }
        }
    }

    fn leave_unreadable(&mut self, own: &[u8], why: &str) {
        let why = format!("cannot be read whole ({why}); what is broken in it: git fsck --no-dangling");
        self.leave(&as_path(own).to_string_lossy(), why);
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
fn gone(is: &Branches, was: &Branches) -> Vec<Changed> {
    let there = was.iter().filter(|(_, target)| is_object_name(target));
    let gone = there.filter(|(name, _)| !is.contains_key(*name));
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
