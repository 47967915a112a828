//! Report of a restore of repositories, with its messages.

use unstuck_files::error::with_causes;
use unstuck_files::safe_dir::as_path;

use super::git_state::unreadable;
use crate::git::PinnedRepo;
use crate::snapshot::error::SnapshotError;
use crate::snapshot::restore::NotRestored;

/// The changes that a restore made to a repository.
#[derive(Debug, Default)]
pub(crate) struct GitRestoreReport {
    /// Sentences without their subject, the repository.
    pub(crate) done: Vec<String>,
    pub(crate) left: Vec<NotRestored>,
    /// Whether something was not restored because the disk is full.
    pub(crate) is_full: bool,
}

impl GitRestoreReport {
    /// Records that a repository could not be restored. Returns `false`, since nothing was done.
    pub(super) fn record_error(&mut self, own: &[u8], error: &SnapshotError) -> bool {
        self.is_full |= error.is_full();
        self.leave_at(own, &format!("is not what it was: {}", with_causes(error)));
        false
    }

    pub(super) fn has_left(&self, own: &[u8]) -> bool {
        self.left.iter().any(|left| left.path == *as_path(own))
    }

    pub(super) fn leave_at(&mut self, path: &[u8], why: &str) {
        self.leave(&as_path(path).to_string_lossy(), why.to_owned());
    }

    /// Notes what git cannot read of a repository.
    pub(super) fn note_unreadable(&mut self, own: &[u8], at: &PinnedRepo, commit: Option<&str>) {
        if let Some(why) = unreadable(at, commit) {
            let why = format!("cannot be read whole ({why}); what is broken in it: git fsck --no-dangling");
            self.leave_at(own, &why);
        }
    }

    pub(super) fn leave(&mut self, path: &str, why: String) {
        self.left.push(NotRestored { path: path.into(), why });
    }
}

/// Returns the reason why an undo leaves a repository that is not fully known.
pub(super) fn unknown_state(why: &str) -> String {
    format!(
        "stays as it is: where HEAD and the branches are, or were, is not known ({why}); where they were: git reflog --all"
    )
}

/// The reason why a folder is not restored.
pub(super) const NO_REPOSITORY: &str =
    "is there, but no repository any more: move it away, and undo again with --git";

/// Keeps the first few sentences about restored items.
pub(super) fn first_few(sentences: impl ExactSizeIterator<Item = String>) -> Vec<String> {
    const NAMED_MAX: usize = 5;
    let more = sentences.len().saturating_sub(NAMED_MAX);
    let mut first: Vec<String> = sentences.take(NAMED_MAX).collect();
    first.extend((more > 0).then(|| format!("has {more} more of them again")));
    first
}
