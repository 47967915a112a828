//! The commit that the changes of a step are compared with, where its scope names one.

use std::path::Path;

use unstuck_core::workflow::ConvergencePolicy;
use unstuck_files::Read;
use unstuck_files::safe_dir::{self, SafeDir};

use crate::branch;

/// Maximum size of a file that holds a name, in bytes.
const FILE_MAX: u64 = 4096;

/// Returns the name of the commit that a scope is compared with: `diff_base_ref`, or the first line of
/// `diff_base_ref_file`. `None` if neither is set.
///
/// # Errors
///
/// The file cannot be read, or its first line is empty. The message says what to do.
pub fn name(workspace: &Path, policy: &ConvergencePolicy) -> Result<Option<String>, String> {
    let Some(file) = policy.diff_base_ref_file.as_deref().filter(|_| policy.diff_base_ref.is_none()) else {
        return Ok(policy.diff_base_ref.clone());
    };
    let wrong = |why: &str| format!("diff_base_ref_file {file} {why}; its first line has to name a commit");
    let text = match read(workspace, Path::new(file)) {
        Read::Found(text) => text,
        Read::Absent => return Err(wrong("does not exist, or is not a file")),
        Read::Unreadable(why) => return Err(wrong(&format!("cannot be read ({why})"))),
    };
    let text = String::from_utf8_lossy(&text);
    match text.lines().next().map(str::trim) {
        None | Some("") => Err(wrong("is empty")),
        Some(name) if name.starts_with('-') => Err(wrong("begins with \"-\"")),
        Some(name) => Ok(Some(name.to_owned())),
    }
}

/// Returns the commit that a name stands for now.
///
/// # Errors
///
/// There is no such commit, or no repository, or git cannot be run.
pub fn commit(workspace: &Path, name: &str) -> Result<String, String> {
    match branch::commit_of(workspace, name) {
        Ok(Some(commit)) => Ok(commit),
        Ok(None) => Err(format!("there is no commit \"{name}\" that changes could be compared with")),
        Err(error) => Err(format!("git cannot be asked for commit \"{name}\": {error}")),
    }
}

/// Says whether a name is counted from HEAD, which a worker moves with each commit.
pub fn is_of_head(name: &str) -> bool {
    name.starts_with("HEAD~") || name.starts_with("HEAD^")
}

/// Finds out, before anybody works, whether a name that is counted from HEAD can stand for a commit afterwards: it does so
/// now, or will with one more commit.
///
/// # Errors
///
/// As [`commit`].
pub fn check_resolvable(workspace: &Path, name: &str) -> Result<(), String> {
    commit(workspace, name).map(drop).or_else(|why| {
        name_before_commit(name).and_then(|name| commit(workspace, &name).ok()).map(drop).ok_or(why)
    })
}

/// Returns the present name of a commit that has this name after one more commit: `HEAD~2` is `HEAD~1` now.
fn name_before_commit(name: &str) -> Option<String> {
    let rest = name.strip_prefix("HEAD")?;
    let counted = rest.get(1..)?;
    let digits = counted.len() - counted.trim_start_matches(|char: char| char.is_ascii_digit()).len();
    let (count, more) = counted.split_at(digits);
    let count: u32 = if count.is_empty() { 1 } else { count.parse().ok()? };
    match (rest.as_bytes()[0], count) {
        (b'~', 2..) => Some(format!("HEAD~{}{more}", count - 1)),
        // A suffix in braces is not a count.
        (b'~' | b'^', 1) if !more.starts_with('{') => Some(format!("HEAD{more}")),
        _ => None,
    }
}

/// Reads a small file of the workspace without following links.
fn read(workspace: &Path, file: &Path) -> Read<Vec<u8>> {
    let path = safe_dir::as_bytes(file);
    let (folders, name) = safe_dir::split(&path);
    let folder = workspace.canonicalize().and_then(|root| SafeDir::root(&root)?.open_below(folders));
    Read::from_io(folder).and_then(|folder| folder.read_small(name, FILE_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_relative_to_head_is_one_step_closer_before_a_commit() {
        for (name, want) in [
            ("HEAD~1", Some("HEAD")),
            ("HEAD~", Some("HEAD")),
            ("HEAD^", Some("HEAD")),
            ("HEAD~3", Some("HEAD~2")),
            ("HEAD^^", Some("HEAD^")),
            ("HEAD~2^2", Some("HEAD~1^2")),
            ("HEAD^2", None),
            ("HEAD~0", None),
            ("HEAD^{tree}", None),
            ("HEAD", None),
            ("main", None),
        ] {
            assert_eq!(name_before_commit(name).as_deref(), want, "{name}");
        }
    }
}
