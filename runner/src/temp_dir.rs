//! A temporary directory: a checkout or a copy that is removed after use.

use std::fs;
use std::path::{Path, PathBuf};

/// A folder that is removed when this is dropped. What a dead supervisor has left under its name goes before.
#[derive(Debug)]
pub(crate) struct TempDir(PathBuf);

impl TempDir {
    /// Takes the name; the folder itself is for the user to make.
    pub(crate) fn new(root: PathBuf) -> Self {
        let _may_not_be_there = fs::remove_dir_all(&root);
        Self(root)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _goes_with_the_run_at_the_latest = fs::remove_dir_all(&self.0);
    }
}
