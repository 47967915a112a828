//! Limits of snapshots, and whether the repository is restored, too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use unstuck_core::judge::scope::PathPatterns;

/// How much a snapshot takes. What is beyond is left out and said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest file.
    pub file_bytes_max: u64,
    /// All files together.
    pub bytes_max: u64,
    /// Files, links and folders that are looked at. Bounds the memory: about 200 bytes for each.
    pub files_max: u64,
    /// The largest ignored file.
    pub ignored_file_bytes_max: u64,
    /// Files in an ignored folder, with all below.
    pub ignored_folder_files_max: u64,
    /// Size of an ignored folder, with all below.
    pub ignored_folder_bytes_max: u64,
    /// Objects of the repository that are copied, where a second name cannot be had.
    pub history_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            file_bytes_max: 100 * MIB,
            bytes_max: 2048 * MIB,
            files_max: 500_000,
            ignored_file_bytes_max: MIB,
            ignored_folder_files_max: 100,
            ignored_folder_bytes_max: 4 * MIB,
            history_bytes_max: 256 * MIB,
        }
    }
}

/// The contents of a snapshot.
#[derive(Clone, Debug)]
pub struct SnapshotOptions {
    /// How much is taken.
    pub limits: Limits,
    /// Paths from the root of the workspace that are not looked at: what is ours and not the worker's.
    pub skipped: Vec<PathBuf>,
    /// Patterns of further paths of Unstuck that are skipped.
    pub skipped_patterns: PathPatterns,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        let skipped_patterns = PathPatterns::default();
        Self { limits: Limits::default(), skipped: Vec::new(), skipped_patterns }
    }
}

/// The branches of a repository, without `refs/heads/`, and their commits.
pub type BranchTargets = BTreeMap<String, String>;

/// A branch that is not where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedBranch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The commit that it was at.
    pub from: String,
    /// The commit that it is at; `None` where it is gone.
    pub to: Option<String>,
}

/// Files that are staged, and the names that git has for what is staged.
pub type StagedFiles = BTreeMap<PathBuf, String>;

/// Whether the repository is restored together with the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Git {
    /// Nothing.
    Leave,
    /// A deleted `.git` is restored. In an existing one, deleted branches, tags and stashes are restored; HEAD, its branch and the
    /// tags go back to where they were; so do the index and the configuration, if they were kept. Objects, other branches and
    /// new stashes stay.
    PutBack,
}

/// The parts of a workspace that are skipped.
#[derive(Clone, Debug)]
pub(super) struct SkippedPaths {
    /// From the root of the workspace.
    pub(super) paths: BTreeSet<Vec<u8>>,
    pub(super) patterns: PathPatterns,
}

impl SkippedPaths {
    pub(super) fn has(&self, path: &[u8]) -> bool {
        self.paths.contains(path)
            || !self.patterns.is_empty()
                && str::from_utf8(path).is_ok_and(|path| self.patterns.match_any(path))
    }
}
