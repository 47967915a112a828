//! Which files are ignored: the `.gitignore` files as they were at the first snapshot of a run.
//!
//! A worker that adds a line to `.gitignore` changes that file and nothing else: later snapshots of
//! the run are judged by the rules that the first has kept. `.git/info/exclude` and the excludes of
//! the user are not asked, and what git tracks is not ignored.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use super::folder;

/// Name of the files that hold rules.
pub(super) const FILE_NAME: &[u8] = b".gitignore";
/// A larger file holds no rules.
pub(super) const SIZE_MAX: u64 = 1024 * 1024;

/// The rules of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// The path of the workspace from the root of its repository; mostly empty.
    pub(super) prefix: Vec<u8>,
    /// The text of each file of rules, by its folder from the root of the repository.
    pub(super) texts: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Files of the workspace that the texts ignore although git tracks them, or, as long as the
    /// texts are not known, all that git tracks.
    pub(super) tracked: BTreeSet<Vec<u8>>,
}

impl Rules {
    /// Returns what holds at the root of the workspace, before its own file.
    pub(super) fn above(&self) -> Option<Arc<Level>> {
        let mut level = None;
        let is_above = |folder: &[u8]| folder != self.prefix && folder::is_within(&self.prefix, folder);
        for (folder, text) in self.texts.iter().filter(|(folder, _)| is_above(folder)) {
            level = Some(Level::below(level, folder, text));
        }
        level
    }

    /// Returns a path in the workspace as it is from the root of the repository.
    pub(super) fn place<'a>(&self, path: &'a [u8]) -> Cow<'a, [u8]> {
        match (self.prefix.is_empty(), path.is_empty()) {
            (true, _) => Cow::Borrowed(path),
            (false, true) => Cow::Owned(self.prefix.clone()),
            (false, false) => Cow::Owned(folder::join(&self.prefix, path)),
        }
    }

    /// Says whether git tracks something in a folder of the workspace.
    pub(super) fn tracks_below(&self, folder: &[u8]) -> bool {
        let first = folder::join(folder, b"");
        self.tracked.range(first.clone()..).next().is_some_and(|path| path.starts_with(&first))
    }
}

/// The rules of one folder, and those of the folders above it.
#[derive(Debug)]
pub(super) struct Level {
    matcher: Gitignore,
    /// How much of a path from the root of the repository is the folder.
    skipped: usize,
    above: Option<Arc<Self>>,
}

impl Level {
    /// Adds the rules of `folder`, a path from the root of the repository. Lines that are no rules count
    /// for nothing.
    pub(super) fn below(above: Option<Arc<Self>>, folder: &[u8], text: &[u8]) -> Arc<Self> {
        let mut builder = GitignoreBuilder::new("");
        builder.allow_unclosed_class(false);
        let text = String::from_utf8_lossy(text);
        for line in text.trim_start_matches('\u{feff}').lines() {
            let _no_rule = builder.add_line(None, line);
        }
        let matcher = builder.build().unwrap_or_else(|_| Gitignore::empty());
        let skipped = if folder.is_empty() { 0 } else { folder.len() + 1 };
        Arc::new(Self { matcher, skipped, above })
    }

    /// Says whether something is ignored by itself, that is, not because of a folder that it is in.
    pub(super) fn ignores(level: Option<&Arc<Self>>, place: &[u8], is_folder: bool) -> bool {
        let mut next = level;
        while let Some(level) = next {
            let path = place.get(level.skipped..).unwrap_or_default(); // no read
            match level.matcher.matched(folder::as_path(path), is_folder) {
                Match::Ignore(_) => return true,
                Match::Whitelist(_) => return false,
                Match::None => next = level.above.as_ref(),
            }
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_rule_counts_and_each_counts_from_its_folder() {
        let root = Level::below(None, b"", "\u{feff}*.log\n/out\nkeep/*\nbuild/\n[\n".as_bytes());
        let deep = Level::below(Some(root.clone()), b"a/b", b"!x.log\n/own\n");
        for (level, place, is_folder, expected) in [
            (&root, "x.log", false, true),
            (&root, "a/x.log", false, true),
            (&deep, "a/b/x.log", false, false),
            (&deep, "a/b/y.log", false, true),
            (&deep, "a/b/own", false, true),
            (&deep, "a/b/c/own", false, false),
            (&root, "out", true, true),
            (&root, "a/out", true, false),
            (&root, "keep/x", false, true),
            (&root, "build", true, true),
            (&root, "build", false, false),
            (&root, "[", false, false),
        ] {
            assert_eq!(Level::ignores(Some(level), place.as_bytes(), is_folder), expected, "{place}");
        }
    }

    #[test]
    fn rules_above_the_workspace_hold_in_it() {
        let texts = [("", "*.log"), ("sub", "!x.log"), ("sub/deep", "nothing"), ("submarine", "*")];
        let rules = Rules {
            prefix: b"sub/deep".to_vec(),
            texts: texts.map(|(folder, text)| (folder.into(), text.into())).into(),
            tracked: [b"d/x".to_vec()].into(),
        };
        let above = rules.above();
        for (path, expected) in [("x.log", false), ("y.log", true), ("x", false)] {
            assert_eq!(
                Level::ignores(above.as_ref(), &rules.place(path.as_bytes()), false),
                expected,
                "{path}"
            );
        }
        assert!(rules.tracks_below(b"d") && !rules.tracks_below(b"d/x") && !rules.tracks_below(b"e"));
    }
}
