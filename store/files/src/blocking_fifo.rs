//! Finds the pipe that blocks git. A worker can replace a file that git reads by a pipe, and git then waits for a
//! writer.
//!
//! The search opens each pipe for writing without blocking, which only succeeds if a reader waits. So a pipe that git
//! does not read is not taken for the cause.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::safe_dir;

/// Maximum duration of the search.
const SEARCH_MAX: Duration = Duration::from_secs(2);
/// Maximum files and directories to check.
const ENTRIES_MAX: usize = 500_000;
/// Names that git reads in addition to the tracked files.
const READ: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Returns a pipe that has replaced a file that git reads in the repository of a directory, and that a reader waits at.
pub fn pipe(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let root = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok())?;
    let until = Instant::now() + SEARCH_MAX;
    // Git's own files come first: there are few of them.
    let mut folders: VecDeque<(PathBuf, bool)> = VecDeque::from([(root.to_owned(), false)]);
    if let Some(own) = leads_to(&root.join(".git")) {
        if let Some(common) = read_line(&own.join("commondir")) {
            folders.push_front((own.join(common), true));
        }
        folders.push_front((own, true));
    }
    let mut entries_left = ENTRIES_MAX;
    while let Some((folder, is_of_git)) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            entries_left = entries_left.checked_sub(1).filter(|_| Instant::now() < until)?;
            let (Ok(kind), name, path) = (entry.file_type(), entry.file_name(), entry.path()) else {
                continue;
            };
            let is_read = is_of_git || READ.iter().any(|read| name == *read);
            if kind.is_dir() {
                let below = (path, is_of_git || name == ".git");
                if below.1 { folders.push_front(below) } else { folders.push_back(below) }
            } else if is_read && !kind.is_file() && safe_dir::is_awaited(&path) {
                return Some(path);
            }
        }
    }
    None
}

/// Returns the folder that the `.git` file of a linked checkout or a submodule leads to.
fn leads_to(file: &Path) -> Option<PathBuf> {
    Some(file.parent()?.join(read_line(file)?.strip_prefix("gitdir:")?.trim()))
}

fn read_line(path: &Path) -> Option<String> {
    const SIZE_MAX: u64 = 4096;
    let bytes = safe_dir::read_small(safe_dir::open_file(path).ok()?, SIZE_MAX).ok()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}
