//! Changes that a worker made to the repository in addition to files: HEAD, branches, commits, the stash.
//!
//! Each is reported as a sentence with the command that reverts it. In most sentences, the worker is the subject.

use std::path::PathBuf;

use unstuck_core::id::StepId;
use unstuck_core::snapshot::{RepositoryState, Snapshot};
use unstuck_core::text::shell::quote_word;
use unstuck_core::workflow::Workflow;
use unstuck_workspace::snapshot::{InnerBranch, MovedBranch};

/// How many files are named.
const FILES_MAX: usize = 5;

/// How many branches are named.
const BRANCHES_MAX: usize = 5;

/// Changes that a step may make to the branch that it starts on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BranchPolicy {
    /// It works on the branch.
    Fixed,
    /// It switches to another branch on purpose.
    MayChange,
}

impl BranchPolicy {
    /// Returns what a step of a workflow may do; a workflow may name one that makes its branch.
    pub fn for_step(workflow: &Workflow, step: &StepId) -> Self {
        if workflow.branch.transition_step.as_ref() == Some(step) { Self::MayChange } else { Self::Fixed }
    }
}

/// Says where the repository stands now, if that is not where it stood. Commits are work, and so is another branch where a
/// step is there for that. `undo` is the command that brings the files back.
pub fn head_changes(before: &Snapshot, after: &Snapshot, branch: BranchPolicy, undo: &str) -> Vec<String> {
    let Some(was) = &before.repository else { return Vec::new() };
    let Some(is) = &after.repository else {
        return vec![format!("removed .git; put it back: {undo} --git")];
    };
    if !is.is_known() {
        let known = was.is_known();
        return known.then(|| unknown(after, undo)).into_iter().collect();
    }
    if !was.is_known() {
        return Vec::new();
    }
    let mut said = Vec::new();
    let is_meant = branch == BranchPolicy::MayChange && is.branch.is_some();
    if was.branch != is.branch && !is_meant {
        let name = |branch: &Option<String>| branch.clone().unwrap_or_else(|| "no branch".to_owned());
        // Git switches no branch while an operation is in progress; how that is ended is in another note.
        let is_free = after.unfinished().all(|operation| in_progress(operation).is_none());
        let back = was.branch.as_deref().filter(|_| is_free);
        let back = back.map(|name| format!("; go back: git switch {}", quote_word(name)));
        let back = back.unwrap_or_default();
        said.push(format!("went from {} to {}{back}", name(&was.branch), name(&is.branch)));
    }
    match (&was.stash, &is.stash) {
        (None, Some(_)) => said.push("put work on the stash".to_owned()),
        (Some(was), now) if Some(was) != now.as_ref() => said.push(format!(
            "changed the stash, of which {was} was the newest; if it is gone: git stash store {was}"
        )),
        _ => {}
    }
    for (checkout, commit) in &is.elsewhere {
        if was.elsewhere.get(checkout).is_some_and(|old| old != commit) {
            let name = if checkout.is_empty() { "the main checkout" } else { checkout };
            said.push(format!("moved {name} of the repository, which is not its workspace, to {commit}"));
        }
    }
    said
}

/// Says which operations of git the worker left unfinished and which it ended, and which lock files are new.
pub fn new_operations(before: &Snapshot, after: &Snapshot, undo: &str) -> Vec<String> {
    let new = after.unfinished().filter(|operation| before.unfinished().all(|was| was != *operation));
    let new = new.map(|operation| format!("left git unfinished: {operation}"));
    let gone = before.unfinished().filter(|operation| after.unfinished().all(|is| is != *operation));
    let ended = gone.filter_map(in_progress);
    new.chain(ended.map(|what| format!("ended {what} that was in progress; put it back: {undo} --git")))
        .collect()
}

/// Returns the operation that a sentence says is in progress.
fn in_progress(sentence: &str) -> Option<&str> {
    Some(sentence.split_once(" is in progress")?.0)
}

/// Says that HEAD could not be read after the work, or holds no ref.
fn unknown(after: &Snapshot, undo: &str) -> String {
    let why = after.unread().next().map_or("its HEAD holds no ref", |note| note.as_str());
    format!(
        "left a repository of which HEAD is not known ({why}); look: git status; put it back: {undo} --git"
    )
}

/// Returns a message if the repository lacks the commit that it was at: it was created again, or the commit was pruned.
/// `has_object` returns whether git has a commit.
pub fn missing_commits(
    has_object: impl Fn(&str) -> Option<bool>,
    before: &Snapshot,
    after: &Snapshot,
    undo: &str,
) -> Option<String> {
    let (was, is) = (before.repository.as_ref()?, after.repository.as_ref()?);
    let commit = was.commit.as_ref().filter(|_| was.commit != is.commit)?;
    (has_object(commit) == Some(false)).then(|| {
        format!(
            "left a repository that does not have the commit any more that it was at ({}): made anew, or pruned; put it \
             back: {undo} --git",
            was.head()
        )
    })
}

/// Says which files that tell git how to work are not what they were: the next git of a person obeys them.
pub fn settings(changed: &[PathBuf], undo: &str) -> Option<String> {
    let files: Vec<String> = changed.iter().map(|path| path.display().to_string()).collect();
    let files = (!files.is_empty()).then(|| file_list(&files))?;
    Some(format!("changed what git runs and how it works: {files}; look at it, or put it back: {undo} --git"))
}

/// Returns messages about branches from before the run that were deleted or moved, by the worker or by others. The
/// branch of HEAD is expected to move with the work, as are branches checked out elsewhere. A branch that was HEAD's
/// only at times may only move forward.
pub fn branches(
    branches: &[MovedBranch],
    has_commit: impl Fn(&str, &str) -> Option<bool>,
    before: &Snapshot,
    after: &Snapshot,
    undo: &str,
) -> Vec<String> {
    let (Some(was), Some(is)) = (&before.repository, &after.repository) else { return Vec::new() };
    let is_on = |standing: &RepositoryState, name: &str| standing.branch.as_deref() == Some(name);
    let is_expected = |name: &str, from: &str, to: &str| match (is_on(was, name), is_on(is, name)) {
        _ if is_elsewhere(was, name) || is_elsewhere(is, name) => true,
        (true, true) => true,
        (false, false) => false,
        _ => has_commit(to, from).unwrap_or(true),
    };
    let told = branches.iter().filter_map(|MovedBranch { name, from, to }| match to {
        None => Some(format!(
            "the branch {name} was deleted; put it back: git branch {} {from}",
            quote_word(name)
        )),
        Some(to) if is_expected(name, from, to) => None,
        Some(to) => Some(format!("the branch {name} was moved from {from} to {to}")),
    });
    let mut said: Vec<String> = told.collect();
    if said.len() > BRANCHES_MAX {
        let more = said.len() - BRANCHES_MAX;
        said.truncate(BRANCHES_MAX);
        said.push(format!("so were {more} more branches; put back all that are gone: {undo} --git"));
    }
    said
}

/// Returns messages about branches from before the run that were deleted in repositories inside the workspace.
pub fn branches_within(gone: &[InnerBranch]) -> Vec<String> {
    let told = gone.iter().map(|InnerBranch { repository, name, from }| {
        let git = format!("git --git-dir={}", quote_word(&repository.to_string_lossy()));
        format!(
            "the branch {name} of {} was deleted; put it back: {git} branch {} {from}",
            repository.display(),
            quote_word(name)
        )
    });
    let mut said: Vec<String> = told.collect();
    if said.len() > BRANCHES_MAX {
        let more = said.len() - BRANCHES_MAX;
        said.truncate(BRANCHES_MAX);
        said.push(format!("so were {more} more branches of repositories within"));
    }
    said
}

fn is_elsewhere(standing: &RepositoryState, branch: &str) -> bool {
    let head = format!("ref: refs/heads/{branch}");
    standing.elsewhere.values().any(|other| *other == head)
}

/// Returns a message if commits from before the run are missing from the branch. `has_commit` returns whether a tip has
/// a commit; it is only called if the tip differs.
pub fn commits(
    has_commit: impl Fn(&str, &str) -> Option<bool>,
    first: &Snapshot,
    before: &Snapshot,
    after: &Snapshot,
    undo: &str,
) -> Option<String> {
    let standing =
        |of: &Snapshot| of.repository.clone().map(|repository| (repository.branch, repository.commit));
    let ((_, first), (was_on, before), (is_on, after)) =
        (standing(first)?, standing(before)?, standing(after)?);
    let (first, before, after) = (first?, before?, after?);
    if before == after || was_on != is_on {
        return None;
    }
    let has_first = |tip: &str| if tip == first { Some(true) } else { has_commit(tip, &first) };
    (has_first(&before)? && !has_first(&after)?).then(|| {
        format!(
            "took commits off that were there before the run, up to {first}; look at them: git log {first}; put all back: \
             {undo} --git"
        )
    })
}

/// Returns the first few of some files, for a sentence.
pub(crate) fn file_list(files: &[String]) -> String {
    let more = if files.len() > FILES_MAX { ", ..." } else { "" };
    format!("{}{more}", files[..files.len().min(FILES_MAX)].join(", "))
}
