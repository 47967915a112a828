//! Puts back how the repository stood: branches, tags and the stash if they are gone, HEAD with its branch, what is staged,
//! a merge or the like that git was in the midst of, and what tells git how to work.
//!
//! Of the repository of the workspace refs are moved by git itself, which knows how they are stored and records each move in its
//! reflog; it is bound to that repository, and not asked where links or pipes lead its writes elsewhere. The rest, and all of
//! repositories within, is small files of which git reads whatever is there. No commit is lost: what is moved away from is
//! named, and in the snapshot of before the undo.

use std::collections::BTreeMap;

use unstuck_core::error::with_causes;
use unstuck_core::id::Digest;
use unstuck_core::snapshot::Standing;

use super::change::Difference;
use super::error::{Error, io};
use super::folder::{self, Folder, as_path};
use super::inner::{self, GIT, Inner};
use super::object::{FOLDER, LINK, TYPE};
use super::parts::Parts;
use super::permissions::Permissions;
use super::refs::{self, Changed};
use super::repository::{HEAD_IN_TABLES, Repository, first_part, is_object_name};
use super::restore::{self, Applied, NotRestored, Sides};
use super::store::Store;
use super::tree::Place;
use super::{Branches, Snapshot, Snapshots, tree};
use crate::git::Bound;
use crate::own_folder;

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
    /// Whether some of that is so because there was no room on the disk.
    pub(super) is_full: bool,
}

/// Makes the repositories, which are as `now` says, what they were `then`, as far as [`Git::PutBack`](super::Git::PutBack) says,
/// and looks whether git can read what they have then. One that cannot be put back keeps no other from it.
pub(super) fn rewind(of: &Snapshots, now: &Snapshot, then: &Snapshot) -> Result<Rewound, Error> {
    let (is, was) = (Parts::of(&of.store, now)?, Parts::of(&of.store, then)?);
    let (inner_is, inner_was) = (inner::all(&of.store, &is)?, inner::all(&of.store, &was)?);
    let permissions = was.permissions(&of.store)?;
    let mut rewound = Rewound::default();
    let bring_back = |path: &[u8], place: Place, rewound: &mut Rewound| {
        brought_back(of, (path, place), &inner_was, &permissions, rewound)
    };
    let place = was.repository().map(|item| Place { mode: item.mode, id: item.id });
    let mut is_known = false;
    let is_back = place.map_or(Ok(false), |place| bring_back(GIT, place, &mut rewound));
    let is_back = is_back.unwrap_or_else(|error| rewound.refused(GIT, &error));
    if !is_back && !rewound.is_left(GIT) {
        let known = moved_back(of, (now, &is), (then, &was), &mut rewound);
        is_known = known.unwrap_or_else(|error| rewound.refused(GIT, &error));
    }
    // Those in a `.git` that is back, or that nobody touches.
    let mut done: Vec<&[u8]> = if is_known { Vec::new() } else { vec![GIT] };
    let mut touched: Vec<&[u8]> = Vec::new();
    for (path, was) in &inner_was {
        if done.iter().any(|done| folder::is_within(path, done)) {
            continue;
        }
        let is = inner_is.get(path);
        let result = match is {
            Some(is) => within(of, path, *is, *was, &mut rewound),
            None => bring_back(path, Place { mode: FOLDER, id: *was }, &mut rewound),
        };
        match result {
            Ok(true) => {
                touched.push(path);
                done.extend(is.is_none().then_some(&**path));
            }
            Ok(false) if is.is_none() => rewound.leave_at(path, NO_REPOSITORY),
            Ok(false) => {}
            Err(error) => _ = rewound.refused(path, &error),
        }
    }
    if let Some(stood) = then.repository.as_ref().filter(|_| !rewound.is_left(GIT))
        && let Some(why) = bound(of).and_then(|at| unreadable(&at, stood.commit.as_deref()))
    {
        rewound.leave_unreadable(GIT, &why);
    }
    // Only now: one may have objects of another.
    for path in touched {
        if let Some(why) = unreadable(&bound_within(of, path), None) {
            rewound.leave_unreadable(path, &why);
        }
    }
    Ok(rewound)
}

/// Returns the repository of the workspace, which is in it, or which it is a part of.
fn bound(of: &Snapshots) -> Option<Bound> {
    let own = of.workspace.join(".git");
    match own.symlink_metadata() {
        Ok(it) if it.is_dir() => Some(bound_within(of, GIT)),
        _ => Repository::find(&of.workspace).map(|it| it.bound()),
    }
}

fn bound_within(of: &Snapshots, path: &[u8]) -> Bound {
    let own = of.workspace.join(as_path(path));
    Bound { common: own.clone(), own }
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
    Ok(true)
}

/// Says what git complains of where it does not find the commits that refs lead to, and the files of the last ones.
fn unreadable(at: &Bound, commit: Option<&str>) -> Option<String> {
    const ALL: [&str; 3] = ["rev-list", "--quiet", "--all"];
    let of_refs =
        [&ALL[..], &["--no-walk", "--objects", "--missing=allow-promisor"], commit.as_slice()].concat();
    let error = at.ask(&of_refs, Vec::new()).and_then(|_| at.ask(&ALL, Vec::new())).err()?;
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
            rewound.leave_at(GIT, NO_REPOSITORY);
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
    let (Some((is, was)), Some(at)) = (states, bound(of)) else {
        let why = "stays as it is: where HEAD and the branches are, or were, is not known";
        rewound.leave(".git", why.to_owned());
        return Ok(false);
    };
    if let Some((is, was)) = folders {
        if tree::find(&of.store, is, b"HEAD")?.is_none_or(|it| it.is_folder()) {
            rewound.leave(".git", NO_REPOSITORY.to_owned());
            return Ok(false);
        }
        if let Some(what) = led_elsewhere(of, now, is, was)? {
            let why = "is a link or a pipe where git writes: remove it, and undo again with --git";
            rewound.leave(&what, why.to_owned());
            return Ok(false);
        }
        put_back(of, GIT, is, was, |path| is_in_progress(path) || is_setting(path), rewound)?;
    }
    let branches = gone(&is.branches, &was.branches);
    let others = folders.map_or(Ok(Vec::new()), |(is, was)| refs::changed(&of.store, is, was))?;
    let wanted = branches.iter().chain(&others).map(|it| it.was.as_str());
    if folders.is_some() && !has_objects(&at, wanted.chain(was.standing.commit.as_deref())) {
        let given = of.root()?.open_below(GIT).and_then(|own| inner::give_objects_back(&of.own, GIT, &own));
        if let Err(error) = given {
            rewound.leave(".git/objects", format!("cannot be added to: {error}"));
        }
    }
    rewound.bring_back(&at, "branches", &branches);
    rewound.bring_back(&at, "tags and other refs", &others);
    rewound.head(&at, &is, &was);
    if let Some((is, was)) = folders {
        if others.iter().any(|it| it.name == refs::STASH) {
            put_back(of, GIT, is, was, |path| path == b"logs/refs/stash", rewound)?;
        }
    } else if is.standing.commit != was.standing.commit {
        let why = "stays as it is: what is staged is in no snapshot here; git reset makes it as HEAD is";
        rewound.leave(".git: index", why.to_owned());
    }
    Ok(true)
}

/// Returns what is a link or a pipe where git keeps refs and logs, and was none: git would write to where it leads.
fn led_elsewhere(of: &Snapshots, now: &Snapshot, is: Digest, was: Digest) -> Result<Option<String>, Error> {
    const KEPT: [&[u8]; 5] = [b"HEAD", b"packed-refs", b"refs", b"logs", b"reftable"];
    let is_kept = |path: &[u8]| KEPT.iter().any(|kept| folder::is_within(path, kept));
    let changed = tree::compare(&of.store, Some(was), Some(is))?;
    let is_link = |place: &Place| place.mode & TYPE == LINK;
    let link = changed.iter().find(|(path, pair)| is_kept(path) && pair.after.as_ref().is_some_and(is_link));
    if let Some((path, _)) = link {
        return Ok(Some(format!(".git/{}", as_path(path).display())));
    }
    let uncovered = Parts::of(&of.store, now)?.uncovered(&of.store)?;
    let pipe = uncovered.no_files().find(|path| path.strip_prefix(b".git/").is_some_and(is_kept));
    Ok(pipe.map(|path| as_path(path).display().to_string()))
}

/// Puts a repository within back, whose own folder is at `path` and is there: what is missing of it, refs that are gone, HEAD with
/// its branch, what is staged, and what tells git how to work. Without git, which follows whatever a worker has put into its
/// place. Says whether something was done.
fn within(
    of: &Snapshots,
    path: &[u8],
    is: Digest,
    was: Digest,
    rewound: &mut Rewound,
) -> Result<bool, Error> {
    let place = as_path(path).display().to_string();
    let own = of.root()?.open_below(path).map_err(io("open", &of.workspace.join(&place)))?;
    let (now, then) = (refs::branches(&of.store, is)?, refs::branches(&of.store, was)?);
    let (branches, others) = (gone(&now, &then), refs::changed(&of.store, is, was)?);
    let (inside, stood) = (Inside::of(of, is, now)?, Inside::of(of, was, then)?);
    let is_in_tables = stood.head == HEAD_IN_TABLES;
    if is != was && !is_in_tables {
        let is_missing = |it: &Difference| it.pair.before.is_none() && it.pair.after.is_some();
        put_back_if(of, path, is, was, rewound, |path, it| {
            let is_elsewhere = matches!(first_part(path), b"refs" | b"packed-refs" | b"modules");
            path == b"HEAD" || is_setting(path) || is_in_progress(path) || is_missing(it) && !is_elsewhere
        })?;
    }
    let wanted = stood.branches.values().chain(others.iter().map(|it| &it.was)).map(String::as_str);
    let wanted: Vec<&str> = wanted.chain(stood.at().1).collect();
    let at = bound_within(of, path);
    let lacks = !has_objects(&at, wanted.iter().copied());
    if lacks {
        inner::give_objects_back(&of.own, path, &own).map_err(|source| Error::Io {
            what: "bring back",
            path: as_path(path).into_owned(),
            source,
        })?;
        if has_objects(&at, wanted.iter().copied()) {
            rewound.done.push(format!("has the objects of {place} again"));
        }
    }
    if is == was {
        return Ok(lacks);
    }
    if is_in_tables {
        let why = "has its refs in tables, in which nothing is changed; where they were: git reflog --all";
        rewound.leave_at(path, why);
        return Ok(true);
    }
    let changed: Vec<Changed> = branches.into_iter().chain(others).collect();
    let failed = changed.iter().find_map(|it| Some((it, put_ref(&own, &it.name, Some(&it.was)).err()?)));
    match failed {
        Some((it, error)) => {
            rewound.leave_at(&folder::join(path, it.name.as_bytes()), &format!("is not back: {error}"));
        }
        None => rewound.done.extend(told(&changed).into_iter().map(|what| format!("{what} in {place}"))),
    }
    if inside.at() != stood.at() {
        let moved = stood.at().0.map(|name| (format!("refs/heads/{name}"), stood.at().1));
        match moved.map_or(Ok(()), |(name, commit)| put_ref(&own, &name, commit)) {
            Ok(()) => rewound.done.push(format!("has HEAD of {place} where it was")),
            Err(error) => {
                rewound.leave_at(&folder::join(path, b"HEAD"), &format!("is not where it was: {error}"));
            }
        }
    }
    Ok(true)
}

/// Lets a ref name a commit, or nothing.
fn put_ref(own: &Folder, name: &str, commit: Option<&str>) -> std::io::Result<()> {
    let is_part = |part: &str| !part.is_empty() && !part.starts_with('.') && !part.ends_with(".lock");
    if !name.starts_with("refs/") || !name.split('/').all(is_part) || name.contains('\u{fffd}') {
        return Err(std::io::Error::other("git has no refs of such a name"));
    }
    let (above, last) = folder::split(name.as_bytes());
    let above = own.make_below(above)?;
    match commit {
        Some(commit) => own_folder::put(&above, last, format!("{commit}\n").as_bytes()),
        None => match above.remove_file(last) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        },
    }
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
    put_back_if(of, own, is, was, rewound, |path, _| is_meant(path))
}

/// The same; it is asked with what differs.
fn put_back_if(
    of: &Snapshots,
    own: &[u8],
    is: Digest,
    was: Digest,
    rewound: &mut Rewound,
    is_meant: impl Fn(&[u8], &Difference) -> bool,
) -> Result<(), Error> {
    let mut differences = restore::all(tree::compare(&of.store, Some(is), Some(was))?);
    differences.retain(|path, it| is_meant(path, it));
    if differences.is_empty() {
        return Ok(());
    }
    let place = as_path(own).display().to_string();
    let git = of.root()?.open_below(own).map_err(io("open", &of.workspace.join(&place)))?;
    if git.look(b"index.lock").is_ok() {
        let all = differences.len();
        differences.retain(|path, _| !is_staged(first_part(path)));
        if differences.len() < all {
            let why = format!(
                "is not put back: a git is at work, or was killed; remove {place}/index.lock if none is"
            );
            rewound.leave(&format!("{place}/index"), why);
        }
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
        || path == b"commondir"
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

    /// Takes back what became of refs.
    fn bring_back(&mut self, at: &Bound, what: &str, changed: &[Changed]) {
        match change(at, changed.iter().flat_map(Changed::taken_back).collect()) {
            Ok(()) => self.done.extend(told(changed)),
            Err(why) => {
                self.leave(&format!(".git: {what}"), format!("those that are gone are not back: {why}"));
            }
        }
    }

    /// Brings HEAD with its branch to where they were.
    fn head(&mut self, at: &Bound, is: &State, was: &State) {
        if head_of(is) == head_of(was) {
            return;
        }
        let (from, to) = (is.standing.head(), was.standing.head());
        match head(at, is, was) {
            Ok(()) => self.done.push(format!("is on {to} again, and was on {from}")),
            Err(why) => self.leave(".git: HEAD", format!("is not where it was: {why}")),
        }
    }

    /// Notes that a repository could not be put back; nothing was done, so `false`.
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

    fn leave_unreadable(&mut self, own: &[u8], why: &str) {
        let why = format!("cannot be read whole ({why}); what is broken in it: git fsck --no-dangling");
        self.leave_at(own, &why);
    }

    fn leave(&mut self, path: &str, why: String) {
        self.left.push(NotRestored { path: path.into(), why });
    }
}

/// Says whether git has all that refs and what is staged need.
fn has_objects<'a>(at: &Bound, wanted: impl Iterator<Item = &'a str>) -> bool {
    let question = ["rev-list", "--quiet", "--no-walk", "--objects", "--indexed-objects", "--stdin"];
    let wanted: String = wanted.filter(|it| is_object_name(it)).map(|it| format!("{it}\n")).collect();
    at.ask(&question, wanted.into_bytes()).is_ok()
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
fn head(at: &Bound, is: &State, was: &State) -> Result<(), String> {
    let Some(name) = &was.standing.branch else {
        let commit = was.standing.commit.as_deref().unwrap_or_default();
        return asked(at, &["update-ref", "--no-deref", "-m", WHY, "HEAD", commit]);
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
                at,
                [&b"update "[..], full.as_bytes(), b"\0", then.as_bytes(), b"\0", now.as_bytes(), b"\0"]
                    .concat(),
            )?;
        }
        // It had no commit yet.
        (None, Some(now)) => {
            change(at, [&b"delete "[..], full.as_bytes(), b"\0", now.as_bytes(), b"\0"].concat())?;
        }
        _ => {}
    }
    asked(at, &["symbolic-ref", "-m", WHY, "HEAD", &full])
}

/// What the reflog says of a move.
const WHY: &str = "unstuck undo";

/// Changes refs, all of them or none, and none through a symbolic one.
fn change(at: &Bound, changes: Vec<u8>) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    let arguments = ["update-ref", "--no-deref", "-m", WHY, "--stdin", "-z"];
    at.ask(&arguments, changes).map(drop).map_err(|error| error.to_string())
}

fn asked(at: &Bound, arguments: &[&str]) -> Result<(), String> {
    at.ask(arguments, Vec::new()).map(drop).map_err(|error| error.to_string())
}
