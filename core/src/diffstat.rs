//! Changes of an attempt in the workspace: the files, and the number of changed lines in each.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

/// Changes of an attempt, without files that the repository ignores.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diffstat {
    /// Files with the most changed lines, in descending order; at most [`Diffstat::FILES_MAX`].
    pub files: Vec<ChangedFile>,
    /// Number of further files.
    pub files_left_out: u64,
    /// Lines added in all of the files.
    pub added: u64,
    /// Lines removed in all of the files.
    pub removed: u64,
}

/// A changed file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    /// Path from the root of the workspace.
    pub path: String,
    /// Added lines; 0 in a binary file.
    pub added: u64,
    /// Removed lines; 0 in a binary file.
    pub removed: u64,
}

impl Diffstat {
    /// Maximum number of files kept by name.
    pub const FILES_MAX: usize = 20;

    /// Creates the statistics of all changed files.
    pub fn from_files(mut files: Vec<ChangedFile>) -> Self {
        let sum = |lines: fn(&ChangedFile) -> u64| files.iter().map(lines).fold(0, u64::saturating_add);
        let (added, removed) = (sum(|file| file.added), sum(|file| file.removed));
        let lines = |file: &ChangedFile| file.added.saturating_add(file.removed);
        files.sort_by(|one, other| lines(other).cmp(&lines(one)).then_with(|| one.path.cmp(&other.path)));
        let files_left_out = files.len().saturating_sub(Self::FILES_MAX) as u64;
        files.truncate(Self::FILES_MAX);
        Self { files, files_left_out, added, removed }
    }

    /// Returns the number of changed files.
    pub fn count(&self) -> usize {
        self.files.len().saturating_add(usize::try_from(self.files_left_out).unwrap_or(usize::MAX))
    }

    /// Joins the changes of two attempts, either of which may have none.
    pub fn merge_all(one: Option<Self>, later: Option<&Self>) -> Option<Self> {
        match (one, later) {
            (Some(one), Some(later)) => Some(one.merge(later)),
            (one, later) => one.or_else(|| later.cloned()),
        }
    }

    /// Adds the changes of a later attempt. Lines that it changed again count twice, and so does a file left out of
    /// either one.
    #[must_use]
    pub fn merge(&self, later: &Self) -> Self {
        let mut files: BTreeMap<&str, ChangedFile> = BTreeMap::new();
        for file in self.files.iter().chain(&later.files) {
            let none = ChangedFile { added: 0, removed: 0, ..file.clone() };
            let all = files.entry(&file.path).or_insert(none);
            all.added = all.added.saturating_add(file.added);
            all.removed = all.removed.saturating_add(file.removed);
        }
        let named = Self::from_files(files.into_values().collect());
        let left_out = self.files_left_out.saturating_add(later.files_left_out);
        Self {
            files_left_out: named.files_left_out.saturating_add(left_out),
            added: self.added.saturating_add(later.added),
            removed: self.removed.saturating_add(later.removed),
            ..named
        }
    }
}

impl fmt::Display for ChangedFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} +{} −{}", self.path, self.added, self.removed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(of: &[(&str, u64, u64)]) -> Vec<ChangedFile> {
        of.iter()
            .map(|(path, added, removed)| ChangedFile {
                path: (*path).to_owned(),
                added: *added,
                removed: *removed,
            })
            .collect()
    }

    #[test]
    fn the_most_changed_files_come_first_and_all_lines_count() {
        let stat = Diffstat::from_files(files(&[("b", 1, 0), ("a", 0, 1), ("c", 2, 3)]));
        assert_eq!(stat.files, files(&[("c", 2, 3), ("a", 0, 1), ("b", 1, 0)]));
        assert_eq!((stat.added, stat.removed, stat.files_left_out), (3, 4, 0));
        let names: Vec<String> = (0..25).map(|at| format!("{at:02}")).collect();
        let many: Vec<_> = names.iter().map(|name| (name.as_str(), 1, 0)).collect();
        let many = Diffstat::from_files(files(&many));
        assert_eq!((many.files.len(), many.files_left_out, many.added), (20, 5, 25));
        let both = stat.merge(&many).merge(&stat);
        assert_eq!((both.files.len(), both.files_left_out, both.added), (20, 10, 31));
        assert_eq!(both.files[0], files(&[("c", 4, 6)])[0]);
    }
}
