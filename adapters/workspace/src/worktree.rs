//! A separate checkout for a run, so that several runs can work on one repository at the same time.
//!
//! It is a linked worktree of git on a separate branch. No hook of the repository runs when it is created. Filters that
//! the user has configured for all repositories do run, such as `git lfs`, since the files would be wrong without them.
//! Filters that are configured in the repository do not run, since a worker may have put them there.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use unstuck_files::own_stdout;
use unstuck_files::safe_dir;
use unstuck_files::safe_dir::{SafeDir, as_path};

use crate::branch;
use crate::git::{
    Setting, clone_local, filters, git, git_on_files, git_on_files_unfiltered, git_within_unfiltered,
};

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
    /// The filters of the configuration of the repository that were not run; the files that are theirs are as committed.
    pub unfiltered: Vec<String>,
    /// Submodules that hold something in the first checkout and nothing in this one, each with the reason.
    pub unfilled: Vec<(PathBuf, String)>,
}

/// Why a checkout was not created.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WorktreeError {
    /// The folder is not in a repository.
    #[error("{} is {}, and only with git can a repository be checked out a second time", .0.display(), branch::unknown(.0))]
    NoRepository(PathBuf),
    /// The repository has no commit.
    #[error("the repository has no commit yet, so there is nothing to check out")]
    NoCommit,
    /// Git reports an error.
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
pub fn add(workspace: &Path, root: &Path, branch: &str) -> Result<Worktree, WorktreeError> {
    let (toplevel, commit) = commit_of(workspace)?;
    if let Some(above) = root.parent() {
        std::fs::create_dir_all(above)?;
    }
    let add = ["worktree", "add", "--quiet", "-b", branch, path_text(root)?, &commit];
    output_or_error(git_on_files(workspace, &add)?).map_err(WorktreeError::Git)?;
    let unfilled = fill(&toplevel, root, SUBMODULES_DEEP)?;
    Ok(Worktree {
        unfilled,
        root: root.to_owned(),
        workspace: workspace_in(root, workspace, &toplevel),
        branch: branch.to_owned(),
        uncommitted: uncommitted(workspace, CheckoutPart::Whole)?,
        unfiltered: unfiltered(root)?,
    })
}

/// Fills the submodules of a checkout from the first checkout, without a network: git itself leaves them empty. Returns the
/// submodules that could not be filled, each with the reason. One that is empty in the first checkout is skipped.
fn fill(first: &Path, root: &Path, depth: usize) -> io::Result<Vec<(PathBuf, String)>> {
    let mut unfilled = Vec::new();
    for (path, commit) in gitlinks(git_on_files_unfiltered, root, &[":(top)"])? {
        let path = as_path(&path).into_owned();
        let (from, to) = (first.join(&path), root.join(&path));
        if depth == 0 || !from.join(".git").exists() {
            continue;
        }
        match clone_submodule(&from, &to, &commit) {
            Ok(()) => {
                let within = fill(&from, &to, depth - 1)?;
                unfilled.extend(within.into_iter().map(|(inner, why)| (path.join(inner), why)));
            }
            Err(error) => {
                // Half of it would look like a change.
                let _may_be_there = std::fs::remove_dir_all(&to);
                std::fs::create_dir_all(&to)?;
                unfilled.push((path, error.to_string()));
            }
        }
    }
    Ok(unfilled)
}

/// Makes a clone of a submodule with one commit checked out, which has the same remote.
fn clone_submodule(from: &Path, to: &Path, commit: &str) -> Result<(), WorktreeError> {
    let object = format!("{commit}^{{commit}}");
    if run_git(from, ["cat-file", "-e", &object]).is_err() {
        return Err(WorktreeError::Git(format!("its commit {commit} is not in {}", from.display())));
    }
    let remote = run_git(from, ["config", "--get", "remote.origin.url"]).ok();
    output_or_error(clone_local(from, &[], path_text(from)?, path_text(to)?)?).map_err(WorktreeError::Git)?;
    match remote.as_ref().map(|url| String::from_utf8_lossy(url).trim_end().to_owned()) {
        Some(url) => run_git(to, ["remote", "set-url", "origin", &url])?,
        None => run_git(to, ["remote", "remove", "origin"])?,
    };
    output_or_error(git_on_files(to, &["checkout", "--quiet", "--detach", commit])?)
        .map_err(WorktreeError::Git)?;
    Ok(())
}

/// Says whether all commits of a submodule are in another clone, too, and all commits of the submodules in it.
fn has_all_commits_in(copy: &Path, other: &Path, depth: usize) -> io::Result<bool> {
    // The reflog has commits that no branch reaches.
    let tips = git(copy, ["rev-list", "--no-walk", "--all", "--reflog", "HEAD"])?;
    let tips = output_or_error(tips).map_err(io::Error::other)?;
    for name in String::from_utf8_lossy(&tips).lines() {
        if !git(other, ["cat-file", "-e", name])?.status.success() {
            return Ok(false);
        }
    }
    for path in submodules(git_within_unfiltered, copy, &["."])? {
        let path = as_path(&path);
        let inner = copy.join(&path);
        if inner.join(".git").exists()
            && (depth == 0 || !has_all_commits_in(&inner, &other.join(&path), depth - 1)?)
        {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the filters that files of a checkout have, and that are not run since they are of the configuration of the
/// repository.
fn unfiltered(root: &Path) -> io::Result<Vec<String>> {
    let differing = filters(root)?
        .into_iter()
        .filter(|setting| setting.here.as_ref().is_some_and(|here| *here != setting.users));
    let name = |setting: Setting| {
        let setting = setting.name.into_string().ok()?;
        let (filter, what) = setting.strip_prefix("filter.")?.rsplit_once('.')?;
        matches!(what, "smudge" | "process").then(|| filter.to_owned())
    };
    let mut names: Vec<String> = differing.filter_map(name).collect();
    names.sort_unstable();
    names.dedup();
    // Git does not look for a name with other characters than it takes there.
    names.retain(|name| {
        let listed = git_on_files(root, &["ls-files", "-z", "--", &format!(":(top,attr:filter={name})")]);
        listed.is_ok_and(|listed| !listed.status.success() || !listed.stdout.is_empty())
    });
    Ok(names)
}

/// Makes a checkout of the last commit of `workspace` at `root`, which nothing of the repository leads to: a
/// clone that borrows its objects. Returns where in it the folder is that `workspace` is.
///
/// # Errors
///
/// There is no repository, no commit, or git refuses.
pub fn borrow(workspace: &Path, root: &Path) -> Result<PathBuf, WorktreeError> {
    let (_, commit) = commit_of(workspace)?;
    borrow_commit(workspace, root, &commit)
}

/// As [`borrow`], of another commit than the last one.
///
/// # Errors
///
/// There is no repository, no such commit, or git refuses.
pub fn borrow_commit(workspace: &Path, root: &Path, commit: &str) -> Result<PathBuf, WorktreeError> {
    let (toplevel, _) = commit_of(workspace)?;
    std::fs::create_dir_all(root)?;
    let (from, to) = (path_text(&toplevel)?, path_text(root)?);
    output_or_error(clone_local(root, &["--shared"], from, to)?).map_err(WorktreeError::Git)?;
    // A command there must not reach the original, for instance with a push.
    run_git(root, ["remote", "remove", "origin"])?;
    run_git(root, ["checkout", "--quiet", "--detach", commit])?;
    Ok(workspace_in(root, workspace, &toplevel))
}

/// Returns whether a checkout has ignored files.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn has_ignored(workspace: &Path) -> io::Result<bool> {
    let Some(facts) = branch::facts(workspace)? else { return Ok(false) };
    let ignored = ignored_paths(&facts.toplevel)?;
    Ok(ignored.split(|byte| *byte == 0).any(|path| !path.is_empty()))
}

/// Returns the ignored files and folders of a checkout, as git lists them: a folder ends in a slash, a path in a zero byte.
fn ignored_paths(first: &Path) -> io::Result<Vec<u8>> {
    const LIST: [&str; 6] = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    output_or_error(git_on_files(first, &LIST)?).map_err(io::Error::other)
}

/// Returns the folders that have content in the checkout of `workspace` and none in the one at `root`, as paths from
/// there: submodules, folders that a link leads to, and ignored repositories. Other ignored files are usually created
/// again by tools.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn unfilled(workspace: &Path, root: &Path) -> io::Result<Vec<String>> {
    let Some(facts) = branch::facts(workspace)? else { return Ok(Vec::new()) };
    let first = &facts.toplevel;
    let tracked =
        output_or_error(git_on_files(first, &["ls-files", "-z", "--stage"])?).map_err(io::Error::other)?;
    let led_elsewhere = tracked.split(|byte| *byte == 0).filter_map(|entry| {
        let is_led = entry.starts_with(b"160000 ") || entry.starts_with(b"120000 ");
        let path = entry.iter().position(|byte| *byte == b'\t').map(|tab| &entry[tab + 1..]);
        path.filter(|_| is_led)
    });
    let ignored = ignored_paths(first)?;
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
    std::iter::once(folder.to_owned()).chain(below).filter(|folder| is_one(folder)).collect()
}

/// Returns whether a folder, or the target of a link, has an entry other than `.git`.
fn holds_something(folder: &Path) -> bool {
    let mut entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.any(|entry| entry.file_name() != ".git")
}

/// A part of the files of a checkout.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckoutPart {
    /// All files.
    Whole,
    /// Files in the workspace, which may be a folder of the checkout.
    Workspace,
    /// Files outside of the workspace.
    Outside,
}

impl CheckoutPart {
    /// Returns the paths of it, as git takes them in the workspace.
    fn paths(self) -> &'static [&'static str] {
        match self {
            Self::Whole => &[":(top)"],
            Self::Workspace => &["."],
            Self::Outside => &[":(top)", ":(exclude)."],
        }
    }
}

/// Returns how many files of a checkout hold something that is in no commit.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn uncommitted(workspace: &Path, part: CheckoutPart) -> io::Result<usize> {
    status(workspace, part).map(|files| files.len())
}

/// Returns what git says of the files that hold something that is in no commit, by their paths from the root of the
/// checkout; bytes that are no text are replaced. The file that our own output is written to is none of them.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn status(workspace: &Path, part: CheckoutPart) -> io::Result<BTreeMap<String, String>> {
    let mut files = changed_files(git_on_files_unfiltered, workspace, part.paths())?;
    files.extend(within_submodules(workspace, part.paths())?);
    leave_out_own_output(workspace, &mut files)?;
    Ok(files)
}

/// How git is asked in a folder.
type GitFunction = fn(&Path, &[&str]) -> io::Result<Output>;

/// Asks git for what is changed, without looking into submodules: that would be another git, which runs what is configured
/// there.
fn changed_files(ask: GitFunction, folder: &Path, paths: &[&str]) -> io::Result<BTreeMap<String, String>> {
    // A setting of the user's may hide files that are not tracked, and a check reads them all the same.
    const ASK: [&str; 7] = [
        "status",
        "--porcelain",
        "-z",
        "--no-renames",
        "--untracked-files=normal",
        "--ignore-submodules=dirty",
        "--",
    ];
    let output = ask(folder, &[&ASK[..], paths].concat())?;
    if !output.status.success() {
        return output_or_error(output).map(|_| BTreeMap::new()).map_err(io::Error::other);
    }
    let entries = output.stdout.split(|byte| *byte == 0).filter_map(|entry| entry.split_at_checked(3));
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Ok(entries.map(|(word, path)| (text(path), text(word).trim_end().to_owned())).collect())
}

/// Returns the submodules, and other repositories that one commit stands for, in which something is changed.
fn within_submodules(workspace: &Path, paths: &[&str]) -> io::Result<BTreeMap<String, String>> {
    let listed = submodules(git_on_files_unfiltered, workspace, paths)?;
    if listed.is_empty() {
        return Ok(BTreeMap::new());
    }
    let Some(facts) = branch::facts(workspace)? else { return Ok(BTreeMap::new()) };
    let root = SafeDir::root(&facts.toplevel)?;
    let mut changed = BTreeMap::new();
    for path in listed {
        if is_changed(&root, &facts.toplevel, &path, SUBMODULES_DEEP)? {
            changed.insert(String::from_utf8_lossy(&path).into_owned(), " M".to_owned());
        }
    }
    Ok(changed)
}

/// How deep submodules are looked for in one another.
const SUBMODULES_DEEP: usize = 8;

/// Says whether something is changed in a submodule, or in one in it.
fn is_changed(root: &SafeDir, toplevel: &Path, path: &[u8], depth: usize) -> io::Result<bool> {
    // One that is not checked out has no such name in it; and none is looked for behind a link.
    let is_there = root.open_below(path).is_ok_and(|folder| folder.metadata(b".git").is_ok());
    if !is_there {
        return Ok(false);
    }
    let folder = toplevel.join(as_path(path));
    match changed_files(git_within_unfiltered, &folder, &["."]) {
        Ok(files) if !files.is_empty() => return Ok(true),
        // As git sees it, it is not checked out.
        Err(error) if error.to_string().contains("not a git repository") => return Ok(false),
        files => drop(files?),
    }
    let Some(depth) = depth.checked_sub(1) else { return Ok(false) };
    for inner in submodules(git_within_unfiltered, &folder, &["."])? {
        if is_changed(root, toplevel, &safe_dir::join(path, &inner), depth)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the paths of what stands for a commit of another repository, from the root of the checkout.
fn submodules(ask: GitFunction, folder: &Path, paths: &[&str]) -> io::Result<Vec<Vec<u8>>> {
    Ok(gitlinks(ask, folder, paths)?.into_iter().map(|(path, _)| path).collect())
}

/// Returns the same with the commits.
fn gitlinks(ask: GitFunction, folder: &Path, paths: &[&str]) -> io::Result<Vec<(Vec<u8>, String)>> {
    let output = ask(folder, &[&["ls-files", "-z", "--stage", "--full-name", "--"], paths].concat())?;
    let entries = output.stdout.split(|&byte| byte == 0).filter(|entry| entry.starts_with(b"160000 "));
    // `160000 NAME 0`, a tab, then the path.
    let link = |entry: &[u8]| {
        let (before, path) = entry.split_at_checked(entry.iter().position(|&byte| byte == b'\t')?)?;
        let commit = before.split(|&byte| byte == b' ').nth(1)?;
        Some((path[1..].to_vec(), String::from_utf8_lossy(commit).into_owned()))
    };
    Ok(entries.filter_map(link).collect())
}

fn leave_out_own_output(workspace: &Path, files: &mut BTreeMap<String, String>) -> io::Result<()> {
    let own = own_stdout::files();
    if !own.is_empty() && !files.is_empty() {
        let root = branch::facts(workspace)?.map_or_else(|| workspace.to_owned(), |facts| facts.toplevel);
        let is_own = |path: &str| {
            let seen = safe_dir::open_file(&root.join(path)).and_then(|file| safe_dir::metadata_of(&file));
            seen.is_ok_and(|seen| own.contains(&(seen.stamp.device, seen.stamp.node)))
        };
        files.retain(|path, _| !is_own(path));
    }
    Ok(())
}

/// A branch of a repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorktreeBranch {
    /// Its name.
    pub name: String,
    /// Where git says that it is checked out, whether or not that is still there.
    pub checkout: Option<PathBuf>,
    /// HEAD has all its commits.
    pub is_merged: bool,
}

/// Returns the branches of a repository whose names begin with `prefix`, which ends with a slash; none without one.
///
/// # Errors
///
/// Git cannot be run.
pub fn branches(workspace: &Path, prefix: &str) -> io::Result<Vec<WorktreeBranch>> {
    let names = format!("refs/heads/{prefix}");
    let list = |format: &str, more: &str| {
        let listed = git(workspace, ["for-each-ref", format, more, &names])?;
        let text = String::from_utf8_lossy(&listed.stdout).into_owned();
        io::Result::Ok(if listed.status.success() { text } else { String::new() })
    };
    let merged = list("--format=%(refname:lstrip=2)", "--merged=HEAD")?;
    let all = list("--format=%(refname:lstrip=2)%09%(worktreepath)", "--count=10000")?;
    let read = all.lines().filter_map(|line| line.split_once('\t')).map(|(name, checkout)| WorktreeBranch {
        name: name.to_owned(),
        checkout: (!checkout.is_empty()).then(|| checkout.into()),
        is_merged: merged.lines().any(|branch| branch == name),
    });
    Ok(read.collect())
}

/// Removes a checkout in which everything is committed, and its branch if that is merged.
///
/// # Errors
///
/// Git refuses, because there is something that is in no commit.
pub fn remove(root: &Path) -> Result<(), WorktreeError> {
    let branch = branch::facts(root)?.and_then(|facts| facts.branch);
    let first = run_git(root, ["rev-parse", "--path-format=absolute", "--git-common-dir"])?;
    let first = PathBuf::from(String::from_utf8_lossy(&first).trim_end());
    // Git would look itself, with the filters of the repository.
    if !changed_files(git_on_files, root, CheckoutPart::Whole.paths())?.is_empty() {
        return Err(WorktreeError::Git(
            "it holds modified or untracked files, which are in no commit".to_owned(),
        ));
    }
    let checkout = SafeDir::root(root)?;
    for path in submodules(git_on_files_unfiltered, root, CheckoutPart::Whole.paths())? {
        if checkout.open_below(&path).is_ok_and(|folder| folder.metadata(b".git").is_ok()) {
            let other = first.parent().map(|first| first.join(as_path(&path)));
            let is_copy = other.filter(|other| other.join(".git").exists()).is_some_and(|other| {
                let copy = root.join(as_path(&path));
                has_all_commits_in(&copy, &other, SUBMODULES_DEEP).unwrap_or(false)
            });
            if is_copy && !is_changed(&checkout, root, &path, SUBMODULES_DEEP)? {
                continue;
            }
            let path = as_path(&path).display().to_string();
            return Err(WorktreeError::Git(format!(
                "{path} in it is another repository, whose commits may be nowhere else"
            )));
        }
    }
    run_git(root, ["worktree", "remove", "--force", path_text(root)?])?;
    if let Some(branch) = branch {
        let _stays_if_it_is_not_merged = git(&first, ["branch", "--quiet", "-d", &branch])?;
    }
    Ok(())
}

/// Returns the root of the repository that a folder is in, and its commit.
fn commit_of(workspace: &Path) -> Result<(PathBuf, String), WorktreeError> {
    let facts = branch::facts(workspace)?.ok_or_else(|| WorktreeError::NoRepository(workspace.to_owned()))?;
    Ok((facts.toplevel, facts.head_sha.ok_or(WorktreeError::NoCommit)?))
}

/// Returns where in a checkout the folder is that `workspace` is in the first one.
fn workspace_in(root: &Path, workspace: &Path, toplevel: &Path) -> PathBuf {
    let within = workspace.strip_prefix(toplevel).unwrap_or(Path::new(""));
    // A path that is joined with nothing gets a slash at its end.
    root.iter().chain(within).collect()
}

fn path_text(path: &Path) -> Result<&str, WorktreeError> {
    path.to_str().ok_or_else(|| WorktreeError::Git(format!("{} is no UTF-8", path.display())))
}

fn run_git<const N: usize>(folder: &Path, arguments: [&str; N]) -> Result<Vec<u8>, WorktreeError> {
    output_or_error(git_on_files(folder, &arguments)?).map_err(WorktreeError::Git)
}

/// Returns what git printed, or what it complained about.
fn output_or_error(output: Output) -> Result<Vec<u8>, String> {
    if output.status.success() {
        return Ok(output.stdout);
    }
    let complaint = String::from_utf8_lossy(&output.stderr);
    Err(complaint.trim().lines().last().unwrap_or("it does not say why").to_owned())
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Command;

    use super::*;

    /// `plant` gives a repository a filter and a monitor, which leave a trace, and makes its index older than its files.
    const TOOLS: &str = r#"
        export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1 GIT_ALLOW_PROTOCOL=file
        export GIT_AUTHOR_NAME=t GIT_AUTHOR_EMAIL=t@t GIT_COMMITTER_NAME=t GIT_COMMITTER_EMAIL=t@t
        commit() { git -C $1 add -A; git -C $1 commit -qm x; }
        plant() {
            git -C $1 config filter.e.clean "sh -c 'echo ran >>$PWD/ran; cat'"
            git -C $1 config filter.e.smudge "sh -c 'echo ran >>$PWD/ran; tr a-z A-Z'"
            git -C $1 config core.fsmonitor "sh -c 'echo ran >>$PWD/ran'"
            own=$(git -C $1 rev-parse --absolute-git-dir); echo '* filter=e' >$own/info/attributes
            touch -t 200101010000 $own/index
        }
    "#;

    /// A repository `work` with a submodule, one in that, and another repository that one commit stands for.
    const MADE: &str = "
        for name in lib inner work work/nested; do git init -qb main $name; echo x >$name/x; done
        mkdir work/part; echo x >work/part/x; commit inner; commit work/nested
        git -C lib submodule --quiet add ../inner deep; commit lib
        git -C work submodule --quiet add ../lib sub; git -C work submodule --quiet update --init --recursive
        commit work";

    fn sh(folder: &Path, script: &str) {
        let script = format!("{TOOLS}\n{script}");
        let ended = Command::new("bash").args(["-e", "-c", &script]).current_dir(folder).output();
        let ended = ended.expect("there is a shell");
        assert!(ended.status.success(), "{script}\n{}", String::from_utf8_lossy(&ended.stderr));
    }

    #[test]
    fn submodules_of_a_worktree_are_filled_without_a_network_and_go_with_it_unless_they_hold_work() {
        for (change, expected) in [
            ("true", ""),
            ("git -C own/sub checkout -q main", ""),
            ("echo y >own/sub/x", "sub in it is another repository, whose commits may be nowhere else"),
            ("echo y >own/sub/deep/x", "sub in it is another repository, whose commits may be nowhere else"),
            (
                "git -C own/sub commit -q --allow-empty -m x; git -C own/sub checkout -q HEAD~",
                "sub in it is another repository, whose commits may be nowhere else",
            ),
            (
                "git -C own/sub/deep branch x $(git -C own/sub/deep commit-tree -m other HEAD^{tree})",
                "sub in it is another repository, whose commits may be nowhere else",
            ),
        ] {
            let made = tempfile::tempdir().unwrap();
            sh(made.path(), MADE);
            // The remote repositories are gone, so the clone here has to do.
            sh(made.path(), "rm -rf inner lib");
            let place = |name: &str| made.path().canonicalize().unwrap().join(name);
            let own = add(&place("work"), &place("own"), "b").unwrap();
            assert_eq!(own.unfilled, []);
            sh(
                made.path(),
                "test $(cat own/sub/x own/sub/deep/x own/nested/x | wc -l) = 3; test -z \"$(git -C own status -s)\"
                test $(git -C own/sub config remote.origin.url) = $PWD/lib",
            );
            sh(made.path(), change);
            let refused = remove(&place("own")).err().map(|error| error.to_string()).unwrap_or_default();
            assert!(
                refused.contains(expected) && refused.is_empty() == expected.is_empty(),
                "{change}: {refused}"
            );
            assert_eq!(place("own").exists(), !expected.is_empty(), "{change}");
        }
    }

    #[test]
    fn submodule_whose_commit_is_missing_in_the_first_checkout_is_named() {
        let made = tempfile::tempdir().unwrap();
        sh(made.path(), MADE);
        sh(
            made.path(),
            "git -C work update-index --cacheinfo 160000,$(printf %040d 1),sub; git -C work commit -qm gone",
        );
        let place = |name: &str| made.path().canonicalize().unwrap().join(name);
        let own = add(&place("work"), &place("own"), "b").unwrap();
        let [(path, why)] = &own.unfilled[..] else { panic!("{:?}", own.unfilled) };
        assert!(path == Path::new("sub") && why.contains("is not in"), "{why}");
        assert!(std::fs::read_dir(place("own/sub")).unwrap().next().is_none());
    }

    #[test]
    fn uncommitted_changes_are_seen_without_running_configured_programs() {
        let made = tempfile::tempdir().unwrap();
        sh(made.path(), MADE);
        for (change, seen) in [
            ("true", ""),
            ("echo y >work/x", " M x"),
            ("echo y >work/sub/x", " M sub"),
            ("touch work/sub/new", " M sub"),
            ("echo y >work/sub/deep/x", " M sub"),
            ("echo y >work/nested/x", " M nested"),
            ("touch -t 200101010000 work/nested/x work/sub/x work/x", ""),
            ("echo y >work/nested/x; commit work/nested", " M nested"),
            ("git -C work/sub checkout -q --detach; git -C work/sub commit -q --allow-empty -m x", " M sub"),
            // Git does not take it for a submodule that is checked out.
            ("echo 'gitdir: nowhere' >work/sub/.git", ""),
        ] {
            let folder = tempfile::tempdir().unwrap();
            sh(folder.path(), &format!("cp -a {}/. .", made.path().display()));
            let plant = "for it in work work/sub work/sub/deep work/nested; do plant $it || true; done";
            sh(folder.path(), &format!("{change}; {plant}"));
            let place = |name: &str| folder.path().join(name).canonicalize().unwrap();
            let shown = |files: BTreeMap<String, String>| {
                let files: Vec<String> = files.iter().map(|(path, word)| format!("{word} {path}")).collect();
                files.join(", ")
            };
            assert_eq!(shown(status(&place("work"), CheckoutPart::Whole).unwrap()), seen, "{change}");
            assert_eq!(shown(status(&place("work"), CheckoutPart::Workspace).unwrap()), seen, "{change}");
            assert_eq!(shown(status(&place("work/part"), CheckoutPart::Outside).unwrap()), seen, "{change}");
            assert_eq!(shown(status(&place("work/part"), CheckoutPart::Workspace).unwrap()), "", "{change}");
            assert!(!folder.path().join("ran").exists(), "{change}");
        }
    }
}
