//! Files that receive the output of Unstuck itself, so that they do not count as changes of a worker.
//!
//! These are the standard output and error of this process, and files that were passed to `hold`.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::safe_dir::{self, FILE};

/// Files of the parent process. While they are open, no other file gets their number.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// Returns the paths of the files that standard output and error go to, as far as the system tells.
pub fn paths() -> Vec<PathBuf> {
    safe_dir::own_output_paths()
}

/// Adds the files at these paths to the output files, in place of earlier ones. Skips paths that cannot be opened or
/// are not regular files.
pub fn hold<P: AsRef<Path>>(paths: &[P]) {
    let opened = paths.iter().filter_map(|path| safe_dir::open_file(path.as_ref()).ok());
    let files = opened.filter(|file| safe_dir::metadata_of(file).is_ok_and(|meta| meta.is(FILE)));
    *HELD.lock().unwrap_or_else(PoisonError::into_inner) = files.collect();
}

/// Returns device and node of all these files.
pub fn files() -> Vec<(u64, u64)> {
    let held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let metas: Vec<_> = held.iter().map(safe_dir::metadata_of).filter_map(io::Result::ok).collect();
    let held = metas.iter().map(|meta| (meta.stamp.device, meta.stamp.node));
    safe_dir::own_output().into_iter().chain(held).collect()
}
