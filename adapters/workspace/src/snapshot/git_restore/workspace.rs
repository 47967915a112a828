//! The repository of the workspace, whose refs git itself moves: it knows how they are stored, and records each move in its
//! reflog. It is bound to that repository, and not asked where links or pipes lead its writes elsewhere.

use unstuck_core::id::Digest;
use unstuck_core::snapshot::{RepositoryState, Snapshot};
use unstuck_core::text::shell::quote_word;
use unstuck_files::safe_dir::{self, as_path};

use super::git_state::{Uncovered, has_objects, missing_branches, pinned_repo};
use super::report::{GitRestoreReport, NO_REPOSITORY, first_few, unknown_state};
use super::state_files::{self, is_in_progress, is_setting};
use crate::git::PinnedRepo;
use crate::snapshot::error::SnapshotResult;
use crate::snapshot::git_files::is_object_name;
use crate::snapshot::nested_repos;
use crate::snapshot::object::{LINK, TYPE};
use crate::snapshot::options::BranchTargets;
use crate::snapshot::paths::GIT;
use crate::snapshot::refs::{self, ChangedRef, RepoTree};
use crate::snapshot::root_tree::Parts;
use crate::snapshot::snapshots::Snapshots;
use crate::snapshot::store::ObjectStore;
use crate::snapshot::tree::{self, EntryState};

/// The state of a repository in a snapshot.
struct State {
    standing: RepositoryState,
    branches: BranchTargets,
}

impl State {
    /// Returns `None` if the state is unknown, because of names that are not Unicode.
    fn read(store: &ObjectStore, parts: &Parts, standing: &RepositoryState) -> SnapshotResult<Option<Self>> {
        let name = standing.branch.as_ref().or(standing.commit.as_ref());
        let is_known = name.is_none_or(|name| !name.contains('\u{fffd}'));
        let branches = parts.branches(store)?.filter(|_| is_known);
        Ok(branches.map(|branches| Self { standing: standing.clone(), branches }))
    }
}

/// Restores the repository of the workspace, which exists. Returns whether it is known to be the same one as before.
pub(super) fn put_back(
    of: &Snapshots,
    (now, is): (&Snapshot, &Parts),
    (then, was): (&Snapshot, &Parts),
    unknown: &Uncovered,
    rewound: &mut GitRestoreReport,
) -> SnapshotResult<bool> {
    let Some(stood) = &then.repository else { return Ok(false) };
    let Some(stands) = &now.repository else {
        rewound.leave_at(GIT, NO_REPOSITORY);
        return Ok(false);
    };
    if let Some(why) = unread_note(now, is).or_else(|| unread_note(then, was)) {
        rewound.leave_at(GIT, &unknown_state(&why));
        return Ok(false);
    }
    if !is.same_repository(was) {
        rewound
            .leave(".git", "leads to another repository than it did, in which nothing is changed".to_owned());
        return Ok(false);
    }
    let at = match pinned_repo(of) {
        Ok(Some(at)) => at,
        Ok(None) => {
            rewound.leave_at(GIT, NO_REPOSITORY);
            return Ok(false);
        }
        Err(why) => {
            rewound.leave_at(GIT, &unknown_state(&why.to_string()));
            return Ok(false);
        }
    };
    let folders = is.repository_folder().zip(was.repository_folder());
    let unknown = &unknown.below(GIT);
    if let Some(folders) = folders {
        if let Some((path, why)) = find_blocker(of, now, folders, unknown)? {
            rewound.leave(&path, why);
            return Ok(false);
        }
        let is_head = |path: &[u8]| path == b"HEAD" && !stands.is_known();
        let is_meant = |path: &[u8]| is_in_progress(path) || is_setting(path) || is_head(path);
        state_files::put_back(of, GIT, folders, unknown, |path, _| is_meant(path), rewound)?;
    }
    let states = State::read(&of.store, is, stands)?.zip(State::read(&of.store, was, stood)?);
    let Some((mut is, was)) = states.filter(|(_, was)| was.standing.is_known()) else {
        let why = "the names of branches are not UTF-8, or HEAD held no ref";
        rewound.leave_at(GIT, &unknown_state(why));
        return Ok(false);
    };
    if !stands.is_known() {
        if folders.is_none() {
            rewound.leave_at(GIT, &no_ref_message(&at, &was));
            return Ok(false);
        }
        // Its HEAD held garbage, and is by now the one that was.
        rewound.done.push(format!("has a HEAD again that can be read, on {}", was.standing.head()));
        is.standing = was.standing.clone();
        if let Some(name) = &is.standing.branch {
            is.standing.commit = is.branches.get(name).cloned();
        }
    }
    let branches = missing_branches(&is.branches, &was.branches);
    let held = |(is, was)| {
        (RepoTree { tree: is, unknown: &unknown.now }, RepoTree { tree: was, unknown: &unknown.then })
    };
    let others =
        folders.map(held).map_or(Ok(Vec::new()), |(is, was)| refs::changed_refs(&of.store, is, was))?;
    let dropped = match folders.filter(|_| stands.stash == stood.stash) {
        Some((is, was)) => dropped_stashes(&of.store, is, was)?,
        None => Vec::new(),
    };
    let wanted =
        branches.iter().chain(&others).map(|changed| &changed.was).chain(&dropped).map(String::as_str);
    if folders.is_some() && !has_objects(&at, wanted.chain(was.standing.commit.as_deref())) {
        rewound.give_objects_back(of)?;
    }
    rewound.bring_back(&at, "branches", &branches);
    rewound.bring_back(&at, "tags and other refs", &others);
    rewound.restore_head(&at, &is, &was);
    if let Some(folders) = folders {
        if !dropped.is_empty() || others.iter().any(|changed| changed.name == refs::STASH) {
            let left = rewound.left.len();
            state_files::put_back(of, GIT, folders, unknown, |path, _| path == STASH_LOG, rewound)?;
            if !dropped.is_empty() && rewound.left.len() == left {
                rewound.done.push("has the older stashes again".to_owned());
            }
        }
    } else if is.standing.commit != was.standing.commit {
        let why = "stays as it is: what is staged is in no snapshot here; git reset makes it as HEAD is";
        rewound.leave(".git: index", why.to_owned());
    }
    Ok(true)
}

/// Returns the commits of older stashes that the log of the stash has lost.
fn dropped_stashes(store: &ObjectStore, is: Digest, was: Digest) -> SnapshotResult<Vec<String>> {
    let log = |git| -> SnapshotResult<Vec<String>> {
        let file = tree::find(store, git, STASH_LOG)?.filter(|state| !state.is_folder());
        let text = file.map_or(Ok(Vec::new()), |state| store.blob(&state.id))?;
        let names = String::from_utf8_lossy(&text)
            .lines()
            .filter_map(|line| line.split(' ').nth(1).map(str::to_owned))
            .collect();
        Ok(names)
    };
    let (now, mut dropped) = (log(is)?, log(was)?);
    // The log as it was would hide a stash that is new.
    if now.iter().any(|name| !dropped.contains(name)) {
        return Ok(Vec::new());
    }
    dropped.retain(|name| !now.contains(name));
    Ok(dropped)
}

/// The older stashes are in this file.
const STASH_LOG: &[u8] = b"logs/refs/stash";

/// Returns what of the repository could not be read for a snapshot.
fn unread_note(snapshot: &Snapshot, parts: &Parts) -> Option<String> {
    let noted = || {
        let note = snapshot.unread().next()?.trim_start_matches("of the repository: ");
        Some(note.trim_end_matches(Snapshot::UNREAD).trim_end_matches(", ").to_owned())
    };
    let unknown = || Some("its refs are in tables, or there are too many".to_owned());
    noted().or_else(|| if parts.has_branches() { None } else { unknown() })
}

/// Says that HEAD holds garbage where no snapshot has it, and what to do.
fn no_ref_message(at: &PinnedRepo, was: &State) -> String {
    let head = at.own.join("HEAD");
    let was = match (&was.standing.branch, &was.standing.commit) {
        (Some(name), _) => format!("ref: refs/heads/{name}"),
        (None, commit) => commit.iter().cloned().collect(),
    };
    let (head, was) = (quote_word(&head.to_string_lossy()), quote_word(&was));
    format!(
        "stays as it is: its HEAD holds no ref; write one: echo {was} > {head}; then undo again with --git"
    )
}

/// Returns what keeps git from being asked to move refs, and why: it would write where a link or a pipe leads that was none.
fn find_blocker(
    of: &Snapshots,
    now: &Snapshot,
    (is, was): (Digest, Digest),
    unknown: &Uncovered,
) -> SnapshotResult<Option<(String, String)>> {
    const KEPT: [&[u8]; 5] = [b"HEAD", b"packed-refs", b"refs", b"logs", b"reftable"];
    const LED_ELSEWHERE: &str = "is a link or a pipe where git writes: remove it, and undo again with --git";
    if let Some(why) = unknown.at(b"HEAD") {
        return Ok(Some((".git".to_owned(), unknown_state(&why))));
    }
    if tree::find(&of.store, is, b"HEAD")?.is_none_or(|state| state.is_folder()) {
        return Ok(Some((".git".to_owned(), NO_REPOSITORY.to_owned())));
    }
    let is_kept = |path: &[u8]| KEPT.iter().any(|kept| safe_dir::is_within(path, kept));
    let changed = tree::compare(&of.store, Some(was), Some(is))?;
    let is_link = |place: &EntryState| place.mode & TYPE == LINK;
    let link = changed.iter().find(|(path, pair)| is_kept(path) && pair.after.as_ref().is_some_and(is_link));
    if let Some((path, _)) = link {
        return Ok(Some((format!(".git/{}", as_path(path).display()), LED_ELSEWHERE.to_owned())));
    }
    let uncovered = Parts::read(&of.store, now)?.uncovered(&of.store)?;
    let pipe = uncovered.special_files().find(|path| path.strip_prefix(b".git/").is_some_and(is_kept));
    Ok(pipe.map(|path| (as_path(path).display().to_string(), LED_ELSEWHERE.to_owned())))
}

fn head_of(state: &State) -> (Option<&String>, Option<&String>) {
    (state.standing.branch.as_ref(), state.standing.commit.as_ref())
}

/// Restores HEAD and its branch. A ref that another process has moved since it was read stays where it is.
fn restore_head(at: &PinnedRepo, is: &State, was: &State) -> Result<(), String> {
    let Some(name) = &was.standing.branch else {
        let commit = was.standing.commit.as_deref().unwrap_or_default(); // no read
        return run_git(at, &["update-ref", "--no-deref", "-m", WHY, "HEAD", commit]);
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
            update_refs(
                at,
                [&b"update "[..], full.as_bytes(), b"\0", then.as_bytes(), b"\0", now.as_bytes(), b"\0"]
                    .concat(),
            )?;
        }
        // It had no commit yet.
        (None, Some(now)) => {
            update_refs(at, [&b"delete "[..], full.as_bytes(), b"\0", now.as_bytes(), b"\0"].concat())?;
        }
        _ => {}
    }
    run_git(at, &["symbolic-ref", "-m", WHY, "HEAD", &full])
}

/// The reflog message of a move.
const WHY: &str = "unstuck undo";

/// Changes refs, all of them or none, and none through a symbolic one.
fn update_refs(at: &PinnedRepo, changes: Vec<u8>) -> Result<(), String> {
    if changes.is_empty() {
        return Ok(());
    }
    let arguments = ["update-ref", "--no-deref", "-m", WHY, "--stdin", "-z"];
    at.ask(&arguments, changes).map(drop).map_err(|error| error.to_string())
}

fn run_git(at: &PinnedRepo, arguments: &[&str]) -> Result<(), String> {
    at.ask(arguments, Vec::new()).map(drop).map_err(|error| error.to_string())
}

impl GitRestoreReport {
    /// Gives the repository the objects that the snapshots have of it.
    fn give_objects_back(&mut self, of: &Snapshots) -> SnapshotResult<()> {
        let given =
            of.root()?.open_below(GIT).and_then(|own| nested_repos::give_objects_back(&of.own, GIT, &own));
        if let Err(error) = given {
            self.leave(".git/objects", format!("cannot be added to: {error}"));
        }
        Ok(())
    }

    /// Takes back what became of refs.
    fn bring_back(&mut self, at: &PinnedRepo, what: &str, changed: &[ChangedRef]) {
        match update_refs(at, changed.iter().flat_map(ChangedRef::undo_line).collect()) {
            Ok(()) => self.done.extend(first_few(changed.iter().map(ChangedRef::restored_message))),
            Err(why) => {
                self.leave(&format!(".git: {what}"), format!("those that are gone are not back: {why}"));
            }
        }
    }

    /// Brings HEAD with its branch to where they were.
    fn restore_head(&mut self, at: &PinnedRepo, is: &State, was: &State) {
        if head_of(is) == head_of(was) {
            return;
        }
        let (from, to) = (is.standing.head(), was.standing.head());
        match restore_head(at, is, was) {
            Ok(()) => self.done.push(format!("is on {to} again, and was on {from}")),
            Err(why) => self.leave(".git: HEAD", format!("is not where it was: {why}")),
        }
    }
}
