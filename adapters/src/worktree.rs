//! A checkout of its own for a run, so that several can work on one repository at a time.
//!
//! It is a linked worktree of git on a branch of its own. No hook of the repository runs when it is made; its
//! filters do, since the files would not be right without them.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use crate::branch;
use crate::folder::as_path;
use crate::git::{git, git_on_files, git_on_files_unfiltered};
use crate::{folder, own_output};

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
    #[error("{} is {}, and only with git can a repository be checked out a second time", .0.display(), branch::unknown(.0))]
    NoRepository(PathBuf),
    /// There is nothing to check out.
    #[error("the repository has no commit yet, so there is nothing to check out")]
    NoCommit,
    /// Git refuses.
    #[error("git says: {0}")]
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
    let (toplevel, commit) = commit_of(workspace)?;
    if let Some(above) = root.parent() {
        std::fs::create_dir_all(above)?;
    }
    run(workspace, ["worktree", "add", "--quiet", "-b", branch, text(root)?, &commit])?;
    Ok(Worktree {
        root: root.to_owned(),
        workspace: within(root, workspace, &toplevel),
        branch: branch.to_owned(),
        uncommitted: uncommitted(workspace, Part::Whole)?,
    })
}

/// Makes a checkout of the last commit of `workspace` at `root`, which nothing of the repository leads to: a
/// clone that borrows its objects. Returns where in it the folder is that `workspace` is.
///
/// # Errors
///
/// There is no repository, no commit, or git refuses.
pub fn borrow(workspace: &Path, root: &Path) -> Result<PathBuf, Error> {
    let (_, commit) = commit_of(workspace)?;
    borrow_commit(workspace, root, &commit)
}

/// As [`borrow`], of another commit than the last one.
///
/// # Errors
///
/// There is no repository, no such commit, or git refuses.
pub fn borrow_commit(workspace: &Path, root: &Path, commit: &str) -> Result<PathBuf, Error> {
    let (toplevel, _) = commit_of(workspace)?;
    std::fs::create_dir_all(root)?;
    let (from, to) = (text(&toplevel)?, text(root)?);
    run(root, ["clone", "--quiet", "--shared", "--no-checkout", "--template=", from, to])?;
    // What is run there must not find the way back, for instance to push.
    run(root, ["remote", "remove", "origin"])?;
    run(root, ["checkout", "--quiet", "--detach", commit])?;
    Ok(within(root, workspace, &toplevel))
}

/// Returns which folders hold something in the checkout of `workspace` and nothing in the one at `root`, by their paths
/// from there: submodules, folders that a link leads to, and repositories that are ignored. Other ignored files are mostly
/// what tools make again.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn unfilled(workspace: &Path, root: &Path) -> io::Result<Vec<String>> {
    let Some(facts) = branch::facts(workspace)? else { return Ok(Vec::new()) };
    let first = &facts.toplevel;
    let tracked = said(git_on_files(first, ["ls-files", "-z", "--stage"])?).map_err(io::Error::other)?;
    let led_elsewhere = tracked.split(|byte| *byte == 0).filter_map(|entry| {
        let is_led = entry.starts_with(b"160000 ") || entry.starts_with(b"120000 ");
        let path = entry.iter().position(|byte| *byte == b'\t').map(|tab| &entry[tab + 1..]);
        path.filter(|_| is_led)
    });
    let ignored = git_on_files(
        first,
        ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"],
    )?;
    let ignored = said(ignored).map_err(io::Error::other)?;
    let ignored = ignored.split(|byte| *byte == 0).filter_map(|entry| entry.strip_suffix(b"/"));
    let repositories = ignored.flat_map(|folder| repositories_in(first, &as_path(folder)));
    let paths = led_elsewhere.map(|path| as_path(path).into_owned()).chain(repositories);
    let lacks = paths.filter(|path| holds_something(&first.join(path)) && !holds_something(&root.join(path)));
    Ok(lacks.map(|path| path.to_string_lossy().into_owned()).collect())
}

/// Returns a folder if it is a repository, and those right below it that are.
fn repositories_in(first: &Path, folder: &Path) -> Vec<PathBuf> {
    let is_one = |folder: &Path| first.join(folder).join(".git").exists();
    let below = std::fs::read_dir(first.join(folder)).into_iter().flatten().flatten();
    let below = below.map(|entry| folder.join(entry.file_name()));
    std::iter::once(folder.to_owned()).chain(below).filter(|it| is_one(it)).collect()
}

/// Says whether a folder, or what a link leads to, has an entry beside what makes it a repository.
fn holds_something(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name() != ".git")
}

/// Which files of a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of them.
    Whole,
    /// Those in the workspace, which may be a folder of the checkout.
    Workspace,
    /// The others.
    Outside,
}

/// Returns how many files of a checkout hold something that is in no commit.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn uncommitted(workspace: &Path, part: Part) -> io::Result<usize> {
    status(workspace, part).map(|files| files.len())
}

/// Returns what git says of the files that hold something that is in no commit, by their paths from the root of the
/// checkout; bytes that are no text are replaced. The file that our own output is written to is none of them.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn status(workspace: &Path, part: Part) -> io::Result<BTreeMap<String, String>> {
    // A setting of the user's may hide files that are not tracked, and a check reads them all the same.
    const ASK: [&str; 6] = ["status", "--porcelain", "-z", "--no-renames", "--untracked-files=normal", "--"];
    let [ask, porcelain, zero, renames, untracked, paths] = ASK;
    // A worker of an earlier run may have planted a filter.
    let output = match part {
        Part::Whole => git_on_files_unfiltered(workspace, ASK)?,
        Part::Workspace => {
            git_on_files_unfiltered(workspace, [ask, porcelain, zero, renames, untracked, paths, "."])?
        }
        Part::Outside => {
            let outside = [ask, porcelain, zero, renames, untracked, paths, ":(top)", ":(exclude)."];
            git_on_files_unfiltered(workspace, outside)?
        }
    };
    if !output.status.success() {
        return said(output).map(|_| BTreeMap::new()).map_err(io::Error::other);
    }
    let entries = output.stdout.split(|byte| *byte == 0).filter_map(|entry| entry.split_at_checked(3));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let mut files: BTreeMap<_, _> =
        entries.map(|(word, path)| (text(path), text(word).trim_end().to_owned())).collect();
    leave_out_own_output(workspace, &mut files)?;
    Ok(files)
}

fn leave_out_own_output(workspace: &Path, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    let own = own_output::files();
    if !own.is_empty() && !files.is_empty() {
        let root = branch::facts(workspace)?.map_or_else(|| workspace.to_owned(), |facts| facts.toplevel);
        let is_own = |path: &str| {
            let seen = folder::open_file(&root.join(path)).and_then(|file| folder::look_at(&file));
            seen.is_ok_and(|seen| own.contains(&(seen.stamp.device, seen.stamp.node)))
        };
        files.retain(|path, _| !is_own(path));
    }
    Ok(())
}

/// Removes a checkout in which everything is committed, and its branch if that is merged.
///
/// # Errors
///
/// Git refuses, because there is something that is in no commit.
pub fn remove(root: &Path) -> Result<(), Error> {
    let branch = branch::facts(root)?.and_then(|facts| facts.branch);
    let first = run(root, ["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let first = PathBuf::from(String::from_utf8_lossy(&first).trim_end());
    run(root, ["worktree", "remove", text(root)?])?;
    if let Some(branch) = branch {
        let _stays_if_it_is_not_merged = git(&first, ["branch", "--quiet", "-d", &branch])?;
    }
    Ok(())
}

/// Returns the root of the repository that a folder is in, and its commit.
fn commit_of(workspace: &Path) -> Result<(PathBuf, String), Error> {
    let facts = branch::facts(workspace)?.ok_or_else(|| Error::NoRepository(workspace.to_owned()))?;
    Ok((facts.toplevel, facts.head_sha.ok_or(Error::NoCommit)?))
}

/// Returns where in a checkout the folder is that `workspace` is in the first one.
fn within(root: &Path, workspace: &Path, toplevel: &Path) -> PathBuf {
    let within = workspace.strip_prefix(toplevel).unwrap_or(Path::new(""));
    // A path that is joined with nothing gets a slash at its end.
    root.iter().chain(within).collect()
}

fn text(path: &Path) -> Result<&str, Error> {
    path.to_str().ok_or_else(|| Error::Git(format!("{} is no UTF-8", path.display())))
}

fn run<const N: usize>(folder: &Path, arguments: [&str; N]) -> Result<Vec<u8>, Error> {
    said(git_on_files(folder, arguments)?).map_err(Error::Git)
}

/// Returns what git printed, or what it complained about.
fn said(output: Output) -> Result<Vec<u8>, String> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.trim().lines().last().unwrap_or("it does not say why").to_owned())
}
