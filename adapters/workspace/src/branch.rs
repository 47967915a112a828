//! Where the work happens: repository, branch and commit of a workspace, and the rules about them.
//!
//! Unstuck reads; it creates no branch, moves no HEAD and writes no index.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Output;

use unstuck_files::safe_dir::as_path;

use crate::git::git;

pub use crate::git::version as git_version;

/// Default protected branches.
pub const DEFAULT_PROTECTED: [&str; 3] = ["main", "master", "release/*"];

/// Branches that are not worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProtectedBranches {
    /// Their names, or patterns of them.
    pub patterns: Vec<String>,
    /// Where those come from: `cli`, `env` or `default`.
    pub source: &'static str,
}

impl ProtectedBranches {
    /// Takes those given on the command line, else a list with commas from the environment, else the usual ones. A variable
    /// without a name says nothing; a list on the command line without one protects nothing.
    pub fn resolve(cli: Option<&[String]>, env: Option<&str>) -> Self {
        let of = |source, patterns: Vec<String>| Self { patterns, source };
        let trimmed = |name: &str| name.trim().to_owned();
        let given = cli.map(|patterns| of("cli", patterns.iter().map(|name| trimmed(name)).collect()));
        let listed = || {
            let names = env?.split(',').map(trimmed).filter(|name| !name.is_empty());
            Some(of("env", names.collect())).filter(|protected| !protected.patterns.is_empty())
        };
        given.or_else(listed).unwrap_or_else(|| of("default", DEFAULT_PROTECTED.map(str::to_owned).to_vec()))
    }
}

/// Repository, branch and commit of a workspace at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GitFacts {
    /// The root of the repository, with links resolved.
    pub toplevel: PathBuf,
    /// The branch; `None` where HEAD is detached.
    pub branch: Option<String>,
    /// The commit; `None` where there is none yet.
    pub head_sha: Option<String>,
}

/// The branch that work is compared with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Base {
    /// Its name, as given.
    pub name: String,
    /// Where the name comes from.
    pub source: BaseSource,
}

/// Where the name of a base branch comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BaseSource {
    /// `--base-branch`.
    Cli,
    /// `BASE_BRANCH`.
    Env,
    /// The branch at the start.
    Current,
}

impl BaseSource {
    /// Returns the word that workers and files get.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Cli => "cli",
            Self::Env => "env",
            Self::Current => "current",
        }
    }
}

impl fmt::Display for BaseSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Says whether a workspace is a repository that has no checkout.
pub fn is_bare(workspace: &Path) -> bool {
    let output = git(workspace, ["rev-parse", "--is-bare-repository"]);
    output.is_ok_and(|output| output.stdout.trim_ascii() == b"true")
}

/// Returns repository, branch and commit of a workspace; `None` outside of a repository, or if git is not installed.
///
/// # Errors
///
/// Git cannot read the repository. The error is git's message, for instance that the repository belongs to another
/// user.
pub fn facts(workspace: &Path) -> io::Result<Option<GitFacts>> {
    let output =
        match git(workspace, ["rev-parse", "--show-toplevel", "HEAD", "--symbolic-full-name", "HEAD"]) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            output => output?,
        };
    if output.status.success() {
        return parse(&output.stdout).map(Some);
    }
    if stderr_contains(&output, "not a git repository") {
        return Ok(None);
    }
    // There may be no commit yet.
    let toplevel = text(git(workspace, ["rev-parse", "--show-toplevel"])?)?;
    let branch = text(git(workspace, ["symbolic-ref", "--quiet", "--short", "HEAD"])?)?;
    Ok(Some(GitFacts { toplevel: toplevel.into(), branch: Some(branch), head_sha: None }))
}

/// Says whether git ignores a path in a folder; `None` where git cannot tell.
pub fn ignores(folder: &Path, path: &str) -> Option<bool> {
    match git(folder, ["check-ignore", "-q", "--", path]).ok()?.status.code()? {
        0 => Some(true),
        1 => Some(false),
        _ => None,
    }
}

/// Says whether a folder, or one above it, holds a repository, without asking git.
pub(crate) fn is_in_repository(folder: &Path) -> bool {
    let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
    folder.ancestors().any(|folder| folder.join(".git").exists())
}

/// Says why nothing is known of the repository of a workspace.
pub fn unknown(workspace: &Path) -> &'static str {
    if is_in_repository(workspace) && git_version().is_none() {
        "in a repository, but git is not installed"
    } else {
        "in no git repository"
    }
}

/// Returns the base branch: the one given on the command line, else in `BASE_BRANCH`, else the current one.
///
/// # Errors
///
/// HEAD is detached and none is given, or a name is none. The text says what to do.
pub fn resolve_base(cli: Option<&str>, env: Option<&str>, facts: &GitFacts) -> Result<Base, String> {
    let given = |name: Option<&str>| name.map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned);
    let (name, source) = given(cli)
        .map(|name| (name, BaseSource::Cli))
        .or_else(|| given(env).map(|name| (name, BaseSource::Env)))
        .or_else(|| facts.branch.clone().map(|name| (name, BaseSource::Current)))
        .ok_or("HEAD is detached, so there is no base branch; name one with --base-branch or BASE_BRANCH")?;
    if name.starts_with('-') {
        return Err(format!("\"{name}\" is no name of a base branch: it begins with \"-\""));
    }
    Ok(Base { name, source })
}

/// Returns the commit that a branch, tag or commit id names; `None` if it names none.
pub fn commit_of(workspace: &Path, name: &str) -> io::Result<Option<String>> {
    let named = format!("{name}^{{commit}}");
    let output = git(workspace, ["rev-parse", "--verify", "--quiet", "--end-of-options", &named])?;
    Ok(output.status.success().then(|| line(&output.stdout)))
}

/// Compares repository and branch with what is expected; the commit may differ.
///
/// # Errors
///
/// The sentence says what is and what was expected.
pub fn check_expected(expected: &GitFacts, now: Option<&GitFacts>) -> Result<(), String> {
    let describe = |branch: &Option<String>| {
        branch.as_deref().map_or("a detached HEAD".to_owned(), |name| format!("branch \"{name}\""))
    };
    let Some(now) = now else {
        return Err(format!(
            "the workspace is no git repository any more; expected {}",
            expected.toplevel.display()
        ));
    };
    if now.toplevel != expected.toplevel {
        return Err(format!(
            "the workspace is in repository {}, not {}",
            now.toplevel.display(),
            expected.toplevel.display()
        ));
    }
    if now.branch != expected.branch {
        return Err(format!(
            "the workspace is on {}, expected {}",
            describe(&now.branch),
            describe(&expected.branch)
        ));
    }
    Ok(())
}

/// Returns the first pattern that the branch matches. Only `*` is special; it stands for any text, also with `/`.
pub fn protected_match<'a, P: AsRef<str>>(branch: &str, patterns: &'a [P]) -> Option<&'a str> {
    if branch.is_empty() {
        return None;
    }
    patterns.iter().map(AsRef::as_ref).find(|pattern| matches(branch, pattern))
}

fn matches(text: &str, pattern: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}

/// Reads root, commit and full name of the branch, a line each.
fn parse(output: &[u8]) -> io::Result<GitFacts> {
    let mut lines = output.rsplitn(4, |&byte| byte == b'\n');
    let (Some(_end), Some(branch), Some(sha), Some(toplevel)) =
        (lines.next(), lines.next(), lines.next(), lines.next())
    else {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "git rev-parse printed fewer lines than expected",
        ));
    };
    let branch = String::from_utf8_lossy(branch);
    Ok(GitFacts {
        toplevel: as_path(toplevel).into_owned(),
        branch: branch.strip_prefix("refs/heads/").map(str::to_owned),
        head_sha: Some(line(sha)),
    })
}

fn text(output: Output) -> io::Result<String> {
    if output.status.success() {
        Ok(line(&output.stdout))
    } else {
        Err(io::Error::other(line(&output.stderr)))
    }
}

fn line(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).trim_end_matches(['\n', '\r']).to_owned()
}

fn stderr_contains(output: &Output, what: &str) -> bool {
    String::from_utf8_lossy(&output.stderr).contains(what)
}
