//! Asks git which files it tracks, for there may be some that the rules ignore, which of them hold
//! work that no commit has, and what is staged.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_files::safe_dir;

use super::options::StagedFiles;
use crate::git;

/// Returns the tracked files of the workspace, or a sentence that says why they are not known.
pub(super) fn files(workspace: &Path) -> Result<BTreeSet<Vec<u8>>, String> {
    list_set(workspace, &["ls-files", "-z", "--cached"])
}

/// Says that it is not known which files git tracks `somewhere`.
pub(super) fn unknown(somewhere: &str, why: &str) -> String {
    format!(
        "which files git tracks {somewhere}is not known ({why}): those that .gitignore names count as ignored"
    )
}

/// Returns the tracked files that differ from the index. Git names those with another size or another time; where that is
/// all that differs, their contents are compared.
pub(super) fn unstaged(workspace: &Path) -> Result<BTreeSet<Vec<u8>>, String> {
    let question = ["diff-files", "-z", "--name-only", "--relative", "--ignore-submodules"];
    let mut differing = list_on_files(workspace, &question)?;
    if !differing.is_empty() {
        let modified = list_on_files(workspace, &["ls-files", "-z", "--modified"])?;
        differing.retain(|path| modified.contains(path));
    }
    Ok(differing)
}

/// As [`unstaged`], the files that differ from a commit, staged or not.
pub(super) fn unsaved(workspace: &Path, commit: &str) -> Result<BTreeSet<Vec<u8>>, String> {
    let question = ["diff-index", "-z", "--cached", "--name-only", "--relative", "--ignore-submodules"];
    let mut unsaved = list_set(workspace, &[&question[..], &[commit, "--"]].concat())?;
    unsaved.append(&mut unstaged(workspace)?);
    Ok(unsaved)
}

/// Returns which of these files are staged in a version that neither the last commit nor the workspace has, with the
/// object names of these versions.
pub(super) fn staged(workspace: &Path, among: &BTreeSet<PathBuf>) -> Result<StagedFiles, String> {
    let question = ["diff", "--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--relative"];
    let fields = list(workspace, &[&question[..], &["--ignore-submodules", "--no-ext-diff"]].concat())?;
    // `:100644 100644 OLD NEW M`, then the path.
    let pairs = fields.chunks_exact(2).filter_map(|pair| {
        let name = String::from_utf8_lossy(&pair[0]).split(' ').nth(3)?.to_owned();
        Some((safe_dir::as_path(&pair[1]).into_owned(), name))
    });
    let is_there = |name: &str| name.bytes().any(|byte| byte != b'0');
    let mut staged: StagedFiles =
        pairs.filter(|(path, name)| among.contains(path) && is_there(name)).collect();
    // A staged version that the workspace also has is not unique, whatever its times are.
    staged.retain(|path, name| {
        // Reading a pipe would block.
        let is_file = workspace.join(path).metadata().is_ok_and(|metadata| metadata.is_file());
        let Some(path) = path.to_str().filter(|_| is_file) else { return true };
        let found = git::plain(workspace, &["hash-object", "--no-filters", "--", path]);
        !found.is_ok_and(|found| String::from_utf8_lossy(&found).trim() == name)
    });
    Ok(staged)
}

/// Says whether git has an object; `None` where git cannot tell.
pub(super) fn has_object(workspace: &Path, name: &str) -> Option<bool> {
    match git::answer(workspace, &["cat-file", "-e", name]) {
        Ok(answer) => Some(answer.is_some()),
        Err(_) => None,
    }
}

/// Says whether a commit is on the way to `tip`; `None` where git cannot tell.
pub(super) fn has_commit(workspace: &Path, tip: &str, commit: &str) -> Option<bool> {
    let beyond = git::plain(workspace, &["rev-list", "--max-count=1", commit, &format!("^{tip}")]);
    match beyond {
        Ok(list) => Some(list.is_empty()),
        Err(_) => match (has_object(workspace, tip), has_object(workspace, commit)) {
            (Some(true), Some(false)) => Some(false),
            _ => None,
        },
    }
}

/// Returns the files of the index, and the names of what it has of them.
pub(super) fn index(workspace: &Path) -> Result<StagedFiles, String> {
    let entries = list(workspace, &["ls-files", "-z", "--stage"])?;
    // `100644 NAME 0`, a tab, then the path.
    let pairs = entries.iter().filter_map(|entry| {
        let at = entry.iter().position(|&byte| byte == b'\t')?;
        let name = String::from_utf8_lossy(&entry[..at]).split(' ').nth(1)?.to_owned();
        Some((safe_dir::as_path(&entry[at + 1..]).into_owned(), name))
    });
    Ok(pairs.collect())
}

fn list_set(workspace: &Path, question: &[&str]) -> Result<BTreeSet<Vec<u8>>, String> {
    Ok(list(workspace, question)?.into_iter().collect())
}

/// As [`list_set`], where git may read files of the workspace.
fn list_on_files(workspace: &Path, question: &[&str]) -> Result<BTreeSet<Vec<u8>>, String> {
    let list = git::plain_on_files(workspace, question).map_err(|error| error_text(&error))?;
    Ok(split_nul(&list).collect())
}

/// Returns what git lists, each ended by a NUL.
fn list(workspace: &Path, question: &[&str]) -> Result<Vec<Vec<u8>>, String> {
    let list = git::plain(workspace, question).map_err(|error| error_text(&error))?;
    Ok(split_nul(&list).collect())
}

fn split_nul(list: &[u8]) -> impl Iterator<Item = Vec<u8>> {
    list.split(|&byte| byte == 0).filter(|name| !name.is_empty()).map(<[u8]>::to_vec)
}

fn error_text(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "git is not installed".to_owned(),
        _ => error.to_string(),
    }
}
