//! Finds the pipe that git waits at. A worker may put one in the place of a file that git reads, and git then waits
//! for somebody to write into it.
//!
//! Whether somebody waits at a pipe is asked by opening it to write, without waiting. So a pipe that git does not read is
//! not taken for the cause.

use std::collections::VecDeque;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::safe_dir;

/// How long is looked, at most.
const LOOK: Duration = Duration::from_secs(2);
/// How many files and folders are looked at.
const LOOKS_MAX: usize = 500_000;
/// What git reads beside the files that it tracks.
const READ: [&str; 3] = [".gitignore", ".gitattributes", ".gitmodules"];

/// Returns a pipe that is in the place of a file that git reads in the repository of a folder, and at which somebody waits
/// right now.
pub fn pipe(folder: &Path) -> Option<PathBuf> {
    let folder = folder.canonicalize().ok()?;
    let root = folder.ancestors().find(|above| above.join(".git").symlink_metadata().is_ok())?;
    let until = Instant::now() + LOOK;
    // Git's own files come first: there are few of them.
    let mut folders: VecDeque<(PathBuf, bool)> = VecDeque::from([(root.to_owned(), false)]);
    if let Some(own) = leads_to(&root.join(".git")) {
        if let Some(common) = line(&own.join("commondir")) {
            folders.push_front((own.join(common), true));
        }
        folders.push_front((own, true));
    }
    let mut looks = LOOKS_MAX;
    while let Some((folder, is_of_git)) = folders.pop_front() {
        for entry in fs::read_dir(&folder).into_iter().flatten().flatten() {
            looks = looks.checked_sub(1).filter(|_| Instant::now() < until)?;
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
    Some(file.parent()?.join(line(file)?.strip_prefix("gitdir:")?.trim()))
}

fn line(path: &Path) -> Option<String> {
    const SIZE_MAX: u64 = 4096;
    let bytes = safe_dir::read_small(safe_dir::open_file(path).ok()?, SIZE_MAX).found()?;
    Some(String::from_utf8_lossy(&bytes).trim().to_owned())
}
