//! The commit that the changes of a step are compared with, where its scope names one.

use std::path::Path;

use unstuck_core::workflow::Convergence;

use crate::branch;
use crate::folder::{self, Folder};

/// Most bytes of a file that holds nothing but a name.
const FILE_MAX: u64 = 4096;

/// Returns the name of the commit that a scope is compared with: `diff_base_ref`, or the first line of
/// `diff_base_ref_file`. `None` if neither is there.
///
/// # Errors
///
/// The file cannot be read, or its first line is empty. The sentence says what to do.
pub fn name(workspace: &Path, policy: &Convergence) -> Result<Option<String>, String> {
    let Some(file) = policy.diff_base_ref_file.as_deref().filter(|_| policy.diff_base_ref.is_none()) else {
        return Ok(policy.diff_base_ref.clone());
    };
    let wrong = |why: &str| format!("diff_base_ref_file {file} {why}; its first line has to name a commit");
    let text = read(workspace, Path::new(file)).ok_or_else(|| wrong("is not there or cannot be read"))?;
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

/// Reads a small file of the workspace without following links.
fn read(workspace: &Path, file: &Path) -> Option<Vec<u8>> {
    let path = folder::as_bytes(file);
    let (folders, name) = folder::split(&path);
    let folder = Folder::root(&workspace.canonicalize().ok()?).ok()?.open_below(folders).ok()?;
    folder.read_small(name, FILE_MAX)
}
