//! The checkouts of runs started with `--worktree`: made, listed, and removed with their runs.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::id::RunId;
use unstuck_core::text::shell::quote_word;
use unstuck_files::error::with_causes;
use unstuck_store::Runs;
use unstuck_workspace::branch::{GitFacts, facts};
use unstuck_workspace::git_ignored;
use unstuck_workspace::worktree::{self, Worktree, WorktreeBranch};

use crate::error::{AppError, Result};
use crate::paths;
use crate::{branches, text};

/// The folder of a project that its checkouts are in, each by the name of its run.
const FOLDER: &str = "worktrees";

fn folder(runs: &Runs) -> PathBuf {
    runs.path().join(FOLDER)
}

/// How the names of their branches begin.
const BRANCHES: &str = "unstuck/";
/// How long the ids of runs are.
const ID_LENGTH: usize = 12;

fn branch(run: &RunId) -> String {
    format!("{BRANCHES}{run}")
}

/// Returns the branches of a repository that were made for runs, by their names.
pub fn branches_of_runs(workspace: &Path) -> Vec<WorktreeBranch> {
    let mut all = worktree::branches(workspace, BRANCHES).unwrap_or_default();
    // A person may have branches that begin so, too.
    let is_run = |name: &str| name.len() == ID_LENGTH && name.bytes().all(|byte| byte.is_ascii_hexdigit());
    all.retain(|branch| branch.name.strip_prefix(BRANCHES).is_some_and(is_run));
    all
}

/// Returns the branch of the checkout that was made for a run, if it works in that. A worker may have switched to another one, or
/// to none: then it is a commit. The first part is the word for it.
pub fn branch_of_own(workspace: &Path, run: &RunId) -> Option<(&'static str, String)> {
    let root = Path::new(FOLDER).join(run.as_str());
    workspace.ancestors().any(|folder| folder.ends_with(&root)).then(|| {
        match facts(workspace).ok().flatten() {
            Some(GitFacts { branch: Some(branch), .. }) => ("branch", branch),
            Some(GitFacts { head_sha: Some(commit), .. }) => ("commit", commit),
            _ => ("branch", branch(run)),
        }
    })
}

/// Says whether a workspace is in a checkout that was made for a run of this project.
pub fn is_own(runs: &Runs, workspace: &Path) -> bool {
    workspace.starts_with(folder(runs))
}

/// Makes the checkout of a run.
pub fn make(runs: Option<&Runs>, workspace: &Path, run: &RunId) -> Result<Worktree> {
    let runs = runs.ok_or_else(|| {
        AppError::usage("a run that is kept in memory has no folder for a checkout of its own")
            .hint("--store sled:PATH, or without --worktree")
    })?;
    runs.state()
        .create()
        .map_err(|error| AppError::usage(format!("cannot make {}: {error}", runs.path().display())))?;
    let root = folder(runs).join(run.as_str());
    worktree::add(workspace, &root, &branch(run)).map_err(|error| {
        let said = with_causes(&error);
        let hint = match error {
            worktree::WorktreeError::NoCommit => {
                "commit something first, or run without --worktree".to_owned()
            }
            _ => branches::git_fix_command(&said).unwrap_or_else(|| "run without --worktree".to_owned()),
        };
        let first = said.split("\nTo add an exception").next().unwrap_or_default();
        AppError::usage(first).hint(hint)
    })
}

/// Says which filters were not run and which submodules are empty, and how to have them.
pub fn warnings(own: &Worktree) -> impl Iterator<Item = String> {
    let unfilled = own.unfilled.iter().map(|(path, why)| {
        let (name, root) = (paths::display(path), quote_word(&own.root.to_string_lossy()));
        let path = quote_word(&path.to_string_lossy());
        format!(
            "the submodule {name} is empty in the worktree of this run ({why}). Fill it: git -C {root} submodule update --init \
             --recursive -- {path}"
        )
    });
    unfilled.chain(filter_warnings(own))
}

fn filter_warnings(own: &Worktree) -> impl Iterator<Item = String> {
    own.unfiltered.iter().map(|name| {
        format!(
            "the filter {name} of the configuration of the repository is not run here, since a worker may have put it there: \
             its files are as the user's own filters make them, or as committed. Look at it: git config --get-regexp \
             'filter[.]{name}[.]'; if it is yours, have it for all repositories: git config --global filter.{name}.smudge \
             COMMAND"
        )
    })
}

/// Says where a run works, and what other checkouts are left.
pub fn note(own: &Worktree, runs: &Runs) -> String {
    let mut lines = format!(
        "\n  branch   {} · commit what it leaves in the folder above, then: git merge {0}",
        own.branch
    );
    if own.uncommitted > 0 {
        let files = text::count(own.uncommitted, "file");
        lines.push_str(&format!("\n  without  {files} with changes that are in no commit"));
    }
    let others = list(runs).len().saturating_sub(1);
    if others > 0 {
        let worktrees = text::count(others, "other worktree");
        lines.push_str(&format!("\n  left     {worktrees} · unstuck doctor"));
    }
    lines
}

/// Returns the checkouts that exist, each with the run that it was made for.
pub fn list(runs: &Runs) -> Vec<(RunId, PathBuf)> {
    let entries = fs::read_dir(folder(runs)).into_iter().flatten().flatten();
    let mut left: Vec<(RunId, PathBuf)> = entries
        .filter(|entry| entry.path().is_dir())
        .map(|entry| (RunId::new(entry.file_name().to_string_lossy()), entry.path()))
        .collect();
    left.sort();
    left
}

/// Returns what the checkout of a run holds that git ignores, so that no commit has it and it goes with the checkout; the
/// largest first, each with its size. `None` if nothing.
pub fn ignored_note(runs: &Runs, run: &RunId) -> Option<String> {
    const NAMED_MAX: usize = 5;
    let root = folder(runs).join(run.as_str());
    let entries = root.is_dir().then(|| git_ignored::entries(&root).ok()).flatten()?;
    let size = |path: &PathBuf| {
        let path = root.join(path);
        if path.is_dir() {
            paths::size_of(&path)
        } else {
            path.symlink_metadata().map_or(0, |file| file.len())
        }
    };
    let mut sized: Vec<(u64, PathBuf)> = entries.into_iter().map(|path| (size(&path), path)).collect();
    sized.sort_by(|a, b| b.cmp(a));
    let named = sized.iter().take(NAMED_MAX);
    let named: Vec<String> =
        named.map(|(size, path)| format!("{} ({})", paths::display(path), paths::bytes(*size))).collect();
    let more = if sized.len() > NAMED_MAX { ", ..." } else { "" };
    (!named.is_empty()).then(|| format!("{}{more}", named.join(", ")))
}

/// Removes the checkout of a run, if it has one and everything in it is committed. Its branch stays.
pub fn remove(runs: &Runs, run: &RunId) -> std::result::Result<(), worktree::WorktreeError> {
    let root = folder(runs).join(run.as_str());
    if root.is_dir() { worktree::remove(&root) } else { Ok(()) }
}
