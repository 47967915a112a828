//! Gives owners back the right to read files and folders, which a worker may have removed. A restore has to read them
//! first.

use std::path::PathBuf;

use unstuck_files::safe_dir::{self, SafeDir, as_path};

use super::object::FOLDER;

/// Makes unreadable paths, and all paths below them, readable, except for those that `stays` names. Returns the changed
/// paths. Entries of other users stay as they are.
pub(super) fn make(root: &SafeDir, unreadable: &[Vec<u8>], stays: &dyn Fn(&[u8]) -> bool) -> Vec<PathBuf> {
    let mut made = Vec::new();
    for path in unreadable.iter().filter(|path| !stays(path)) {
        // Outer folders first: without search permission on a folder, its content cannot be reached.
        let above = path.iter().enumerate().filter(|(_, byte)| **byte == b'/').map(|(at, _)| &path[..at]);
        for path in above.chain([&**path]) {
            let (parent, name) = safe_dir::split(path);
            let let_read = root.open_below(parent).and_then(|folder| folder.let_owner_read(name));
            record(&let_read, path, &mut made);
        }
        all_below(root, path, stays, &mut made);
    }
    made
}

fn all_below(root: &SafeDir, path: &[u8], stays: &dyn Fn(&[u8]) -> bool, made: &mut Vec<PathBuf>) {
    let mut open = vec![path.to_vec()];
    while let Some(path) = open.pop() {
        let listed = root.open_below(&path).and_then(|folder| Ok((folder.names()?, folder)));
        // It is a file, is gone, or belongs to another user.
        let Ok((names, folder)) = listed else { continue };
        for name in names {
            let path = safe_dir::join(&path, &name);
            if !stays(&path) {
                record(&folder.let_owner_read(&name), &path, made);
                if folder.metadata(&name).is_ok_and(|seen| seen.is(FOLDER)) {
                    open.push(path);
                }
            }
        }
    }
}

fn record(let_read: &std::io::Result<bool>, path: &[u8], made: &mut Vec<PathBuf>) {
    if let Ok(true) = let_read {
        made.push(as_path(path).into_owned());
    }
}
