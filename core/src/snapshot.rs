//! State of all workspace files at one time, in a form that fits into an event.
//!
//! The creator of the snapshot stores the files under its name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// A snapshot of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Name of the complete tree. Also differs if only `.git` has changed.
    pub id: Digest,
    /// Name of the tree of all files that are not ignored; equal names mean equal files.
    pub work: Digest,
    /// Number of files and links in that tree.
    pub files: u64,
    /// Total size of these files, in bytes.
    pub bytes: u64,
    /// State of the repository; `None` if the workspace is in none.
    pub repository: Option<RepositoryState>,
    /// Files that are not covered, by reason.
    pub left_out: Vec<Exclusion>,
    /// Sentences about limitations of this snapshot, for display.
    pub notes: Vec<String>,
    /// The number of open check boxes in its Markdown files; `None` if there are too many files to count.
    #[serde(default)]
    pub open_boxes: Option<u32>,
}

/// Positions of HEAD, the stash and the other checkouts of a repository.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RepositoryState {
    /// The branch; `None` if HEAD is detached.
    pub branch: Option<String>,
    /// The commit; `None` if there is none yet.
    pub commit: Option<String>,
    /// The newest stash.
    pub stash: Option<String>,
    /// The HEADs of the other checkouts of the repository, by name; `""` is the main one.
    pub elsewhere: BTreeMap<String, String>,
}

impl RepositoryState {
    /// Returns whether the position of HEAD is known. Nothing follows from a HEAD that is unreadable or invalid.
    pub fn is_known(&self) -> bool {
        self.branch.is_some() || self.commit.is_some()
    }

    /// Describes the position of HEAD: `main, at 1a2b3c4d5e6f`.
    pub fn head(&self) -> String {
        if !self.is_known() {
            return "an unknown commit".to_owned();
        }
        let branch = self.branch.as_deref().unwrap_or("no branch");
        match &self.commit {
            Some(commit) => format!("{branch}, at {}", short_name(commit)),
            None => format!("{branch}, without a commit"),
        }
    }
}

/// Returns the usual short form of a commit name: the first 12 characters.
pub fn short_name(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// Files that were left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// Reason, in a few words.
    pub reason: String,
    /// Number of files, or of directories with everything below.
    pub count: u64,
    /// The first few, for display; bytes that are not text are replaced.
    pub examples: Vec<String>,
}

impl Exclusion {
    /// Reason for large ignored directories, such as `target` and `node_modules`.
    pub const IGNORED_FOLDER: &str = "ignored and full";
    /// Reason for files that the system does not allow Unstuck to read.
    pub const UNREADABLE: &str = "not readable";
    /// Reason for a file that receives the output of Unstuck.
    pub const OWN_OUTPUT: &str = "written by Unstuck itself";
    /// Reason for a `.git` in a subdirectory: not part of the work, but kept with it.
    pub const REPOSITORY: &str = "the repository of a folder";
}

impl Snapshot {
    /// Prefix of a note about an unfinished git operation or a lock file of git.
    pub const UNFINISHED: &str = "git: ";

    /// Suffix of a note about an unreadable part of the repository.
    pub const UNREAD: &str = "so nothing is concluded from it";

    /// Returns a sentence about the files that it does not hold, so that they cannot be restored; `None` if there are
    /// none. It omits ignored directories, which their tools create again, the output of Unstuck, and repositories,
    /// which `undo --git` restores.
    pub fn exclusion_note(&self) -> Option<String> {
        self.exclusion_note_except(&[Exclusion::IGNORED_FOLDER, Exclusion::OWN_OUTPUT, Exclusion::REPOSITORY])
    }

    /// Returns the sentence of [`Self::exclusion_note`] including ignored directories, for an overview of what a
    /// snapshot keeps: the reader knows whether a tool can create them again.
    pub fn exclusion_note_with_ignored(&self) -> Option<String> {
        self.exclusion_note_except(&[Exclusion::OWN_OUTPUT, Exclusion::REPOSITORY])
    }

    fn exclusion_note_except(&self, untold: &[&str]) -> Option<String> {
        let is_told = |left: &&Exclusion| left.count > 0 && !untold.contains(&left.reason.as_str());
        let told = self.left_out.iter().filter(is_told);
        let parts = told.map(|left| {
            let named = left.examples.len() as u64;
            let more = if left.count > named { ", ..." } else { "" };
            // Tools write into such a directory all the time, so its changes are not reported later either.
            let is_folder = left.reason == Exclusion::IGNORED_FOLDER;
            let unseen = if is_folder { "; what changes there is not seen" } else { "" };
            let names: Vec<String> = left.examples.iter().map(|name| single_line(name)).collect();
            format!("{}{more} ({}{unseen})", names.join(", "), left.reason)
        });
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty())
            .then(|| format!("no snapshot holds these, so no undo brings them back: {}", parts.join("; ")))
    }

    /// Returns the notes about unreadable, and therefore unknown, parts of the repository.
    pub fn unread(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().filter(|note| note.contains(Self::UNREAD))
    }

    /// Returns a sentence for each operation of git that is in progress, and each lock file.
    pub fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().filter_map(|note| note.strip_prefix(Self::UNFINISHED))
    }

    /// Returns a digest of the files and the commit.
    pub fn state(&self) -> Digest {
        let commit = self.repository.as_ref().and_then(|repository| repository.commit.as_deref());
        commit.map_or(self.work, |commit| Digest::sha256(format!("{} {commit}", self.work).as_bytes()))
    }

    /// Returns whether the work is the same: the files that are not ignored, the commit and the branch.
    pub fn same_work(&self, other: &Self) -> bool {
        let head = |snapshot: &Self| {
            snapshot.repository.as_ref().map(|state| (state.branch.clone(), state.commit.clone()))
        };
        self.work == other.work && head(self) == head(other)
    }
}

/// Returns a name without line breaks and terminal control characters: a worker may have chosen it.
pub fn single_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        let examples = vec!["a\nto undo this: b".to_owned(), "\u{1b}[31mc".to_owned(), "d e".to_owned()];
        let left = Exclusion { reason: "a pipe, socket or device".to_owned(), count: 3, examples };
        let snapshot = Snapshot { left_out: vec![left], ..Snapshot::default() };
        assert_eq!(
            snapshot.exclusion_note().unwrap(),
            "no snapshot holds these, so no undo brings them back: a\u{fffd}to undo this: b, \u{fffd}[31mc, d e (a pipe, socket or device)"
        );
    }
}
