//! What all files of a workspace were at a moment, as an event can carry it.
//!
//! The files themselves are kept by whoever took the snapshot, under its name.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::id::Digest;

/// A snapshot of the workspace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    /// Its name: of a tree with all its parts. Differs too when only `.git` has changed.
    pub id: Digest,
    /// The name of the tree of all files that are not ignored. If it is the same, so are they.
    pub work: Digest,
    /// How many files and links that tree has.
    pub files: u64,
    /// How large they are together, in bytes.
    pub bytes: u64,
    /// How the repository stood; `None` if the workspace is in none.
    pub repository: Option<Standing>,
    /// What is not covered, by reason.
    pub left_out: Vec<LeftOut>,
    /// Sentences about what is weaker than usual, for people.
    pub notes: Vec<String>,
    /// The number of open check boxes in its Markdown files; `None` if there are too many files to count.
    #[serde(default)]
    pub open_boxes: Option<u32>,
}

/// Where HEAD, the stash and the other checkouts of a repository are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    /// The branch; `None` where HEAD is detached.
    pub branch: Option<String>,
    /// The commit; `None` where there is none yet.
    pub commit: Option<String>,
    /// The newest stash.
    pub stash: Option<String>,
    /// The HEADs of the other checkouts of the repository, by name; `""` is the main one.
    pub elsewhere: BTreeMap<String, String>,
}

impl Standing {
    /// Says whether it is known where HEAD is. Nothing follows from one that could not be read, or holds garbage.
    pub fn is_known(&self) -> bool {
        self.branch.is_some() || self.commit.is_some()
    }

    /// Says where HEAD is: `main, at 1a2b3c4d5e6f`.
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

/// Returns the beginning of the name of a commit, as people write it.
pub fn short_name(commit: &str) -> &str {
    commit.get(..12).unwrap_or(commit)
}

/// What was left out for one reason.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    /// Why, in a few words.
    pub reason: String,
    /// How many files, or folders with all below.
    pub count: u64,
    /// The first few, for people; bytes that are no text are replaced.
    pub examples: Vec<String>,
}

impl LeftOut {
    /// The reason for folders that are ignored and hold masses, such as `target` and `node_modules`.
    pub const IGNORED_FOLDER: &str = "ignored and full";
    /// The reason for what the system lets nobody of us read.
    pub const UNREADABLE: &str = "not readable";
    /// The reason for a file that Unstuck's own output was written to.
    pub const OWN_OUTPUT: &str = "written by Unstuck itself";
    /// The reason for a `.git` in a folder: no part of the work, but kept beside it.
    pub const REPOSITORY: &str = "the repository of a folder";
}

impl Snapshot {
    /// How a note begins about what git has begun and not ended, and about its lock files.
    pub const UNFINISHED: &str = "git: ";

    /// How a note ends about what of the repository could not be read.
    pub const UNREAD: &str = "so nothing is concluded from it";

    /// Returns a sentence about the files that it does not hold, so that they cannot be put back; `None` if there are
    /// none. Ignored folders are made again by whoever has made them, our own output is nobody's work, and `undo --git` has
    /// repositories; none of these is told.
    pub fn lacks(&self) -> Option<String> {
        self.lacks_but(&[LeftOut::IGNORED_FOLDER, LeftOut::OWN_OUTPUT, LeftOut::REPOSITORY])
    }

    /// As [`Self::lacks`], with the ignored folders: for who is told what is kept of a workspace, and who knows whether they
    /// can be made again.
    pub fn lacks_in_all(&self) -> Option<String> {
        self.lacks_but(&[LeftOut::OWN_OUTPUT, LeftOut::REPOSITORY])
    }

    fn lacks_but(&self, untold: &[&str]) -> Option<String> {
        let is_told = |left: &&LeftOut| left.count > 0 && !untold.contains(&left.reason.as_str());
        let told = self.left_out.iter().filter(is_told);
        let parts = told.map(|left| {
            let named = left.examples.len() as u64;
            let more = if left.count > named { ", ..." } else { "" };
            // A folder of masses is at work all the time, so a change in it is not told later on either.
            let is_folder = left.reason == LeftOut::IGNORED_FOLDER;
            let unseen = if is_folder { "; what changes there is not seen" } else { "" };
            let names: Vec<String> = left.examples.iter().map(|name| on_one_line(name)).collect();
            format!("{}{more} ({}{unseen})", names.join(", "), left.reason)
        });
        let parts: Vec<String> = parts.collect();
        (!parts.is_empty())
            .then(|| format!("no snapshot holds these, so no undo brings them back: {}", parts.join("; ")))
    }

    /// Returns the notes about what of the repository could not be read, and is not known therefore.
    pub fn unread(&self) -> impl Iterator<Item = &String> {
        self.notes.iter().filter(|note| note.contains(Self::UNREAD))
    }

    /// Returns a sentence for each operation of git that is in progress, and each lock file.
    pub fn unfinished(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().filter_map(|note| note.strip_prefix(Self::UNFINISHED))
    }

    /// Returns a digest of the files and the commit.
    pub fn state(&self) -> Digest {
        let commit = self.repository.as_ref().and_then(|it| it.commit.as_deref());
        commit.map_or(self.work, |commit| Digest::of(format!("{} {commit}", self.work).as_bytes()))
    }

    /// Says whether the work is the same: the files that are not ignored, the commit and the branch.
    pub fn same_work(&self, other: &Self) -> bool {
        let head = |it: &Self| it.repository.as_ref().map(|it| (it.branch.clone(), it.commit.clone()));
        self.work == other.work && head(self) == head(other)
    }
}

/// Returns a name in which nothing begins a new line or steers a terminal: a worker may have chosen it.
pub fn on_one_line(name: &str) -> String {
    name.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_stays_on_its_line() {
        let examples = vec!["a\nto undo this: b".to_owned(), "\u{1b}[31mc".to_owned(), "d e".to_owned()];
        let left = LeftOut { reason: "a pipe, socket or device".to_owned(), count: 3, examples };
        let snapshot = Snapshot { left_out: vec![left], ..Snapshot::default() };
        assert_eq!(
            snapshot.lacks().unwrap(),
            "no snapshot holds these, so no undo brings them back: a\u{fffd}to undo this: b, \u{fffd}[31mc, d e (a pipe, socket or device)"
        );
    }
}
