//! A checkout of its own for a run, so that several can work on one repository at a time.
//!
//! It is a linked worktree of git on a branch of its own. No hook of the repository runs when it is made; its
//! filters do, since the files would not be right without them.

use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::branch::{self, git};

/// A checkout that was made for a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worktree {
    /// Its root.
    pub root: PathBuf,
    /// Where in it the same folder is that the run was started in.
    pub workspace: PathBuf,
    /// Its branch.
    pub branch: String,
    /// How many files of the first checkout hold something that is in no commit, and so not in this one.
    pub uncommitted: usize,
}

/// Why a checkout was not made.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is no repository.
    #[error("{} is in no git repository, and only those can be checked out a second time", .0.display())]
    NoRepository(PathBuf),
    /// There is nothing to check out.
    #[error("the repository has no commit yet, so there is nothing to check out")]
    NoCommit,
    /// Git refuses.
    #[error("git makes no worktree: {0}")]
    Git(String),
    /// Git cannot be run.
    #[error("git cannot be run")]
    Io(#[from] io::Error),
}

/// Checks the commit of `workspace` out at `root`, on the new branch `branch`.
///
/// # Errors
///
/// There is no repository, no commit, or git refuses.
pub fn add(workspace: &Path, root: &Path, branch: &str) -> Result<Worktree, Error> {
    let facts = branch::facts(workspace)?.ok_or_else(|| Error::NoRepository(workspace.to_owned()))?;
    let commit = facts.head_sha.ok_or(Error::NoCommit)?;
    if let Some(above) = root.parent() {
        std::fs::create_dir_all(above)?;
    }
    let to = root.to_str().ok_or_else(|| Error::Git(format!("{} is no UTF-8", root.display())))?;
    said(git(workspace, ["worktree", "add", "--quiet", "-b", branch, to, &commit])?).map_err(Error::Git)?;
    let within = workspace.strip_prefix(&facts.toplevel).unwrap_or(Path::new(""));
    Ok(Worktree {
        root: root.to_owned(),
        // A path that is joined with nothing gets a slash at its end.
        workspace: root.iter().chain(within).collect(),
        branch: branch.to_owned(),
        uncommitted: uncommitted(workspace)?,
    })
}

/// Makes a checkout of the last commit of `workspace` at `root`, which nothing of the repository leads to: a
/// clone that borrows its objects. Returns where in it the folder is that `workspace` is.
///
/// # Errors
///
/// There is no repository, no commit, or git refuses.
pub fn borrow(workspace: &Path, root: &Path) -> Result<PathBuf, Error> {
    let facts = branch::facts(workspace)?.ok_or_else(|| Error::NoRepository(workspace.to_owned()))?;
    let commit = facts.head_sha.ok_or(Error::NoCommit)?;
    let unreadable = |path: &Path| Error::Git(format!("{} is no UTF-8", path.display()));
    let from = facts.toplevel.to_str().ok_or_else(|| unreadable(&facts.toplevel))?;
    let to = root.to_str().ok_or_else(|| unreadable(root))?;
    std::fs::create_dir_all(root)?;
    said(git(root, ["clone", "--quiet", "--shared", "--no-checkout", "--template=", from, to])?)
        .map_err(Error::Git)?;
    // What is run there must not find the way back, for instance to push.
    said(git(root, ["remote", "remove", "origin"])?).map_err(Error::Git)?;
    said(git(root, ["checkout", "--quiet", "--detach", &commit])?).map_err(Error::Git)?;
    let within = workspace.strip_prefix(&facts.toplevel).unwrap_or(Path::new(""));
    Ok(root.iter().chain(within).collect())
}

/// Returns how many files of a checkout hold something that is in no commit.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn uncommitted(checkout: &Path) -> io::Result<usize> {
    let status = git(checkout, ["status", "--porcelain", "-z", "--no-renames"])?;
    if !status.status.success() {
        return said(status).map(|_| 0).map_err(io::Error::other);
    }
    Ok(status.stdout.split(|byte| *byte == 0).filter(|entry| !entry.is_empty()).count())
}

/// Removes a checkout in which everything is committed, and its branch if that is merged.
///
/// # Errors
///
/// Git refuses, because there is something that is in no commit.
pub fn remove(root: &Path) -> Result<(), Error> {
    let to = root.to_str().ok_or_else(|| Error::Git(format!("{} is no UTF-8", root.display())))?;
    let branch = branch::facts(root)?.and_then(|facts| facts.branch);
    let first = said(git(root, ["rev-parse", "--path-format=absolute", "--git-common-dir"])?);
    let first =
        first.map(|path| PathBuf::from(String::from_utf8_lossy(&path).trim_end())).map_err(Error::Git)?;
    said(git(root, ["worktree", "remove", to])?).map_err(Error::Git)?;
    if let Some(branch) = branch {
        let _stays_if_it_is_not_merged = git(&first, ["branch", "--quiet", "-d", &branch])?;
    }
    Ok(())
}

/// Returns what git printed, or what it complained about.
fn said(output: Output) -> Result<Vec<u8>, String> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.trim().lines().last().unwrap_or("it does not say why").to_owned())
}
