//! Which files are ignored: the rules of git as they were at the first snapshot of a run.
//!
//! A worker that adds a line to `.gitignore` changes that file and nothing else: later snapshots of
//! the run are judged by the rules that the first has kept. Each repository has its own: the list that the user has
//! configured, then `info/exclude`, then the `.gitignore` files. The rules of a repository end where another one begins.
//! A file that git tracks is not ignored.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use unstuck_files::Read;
use unstuck_files::safe_dir;

use super::gitignore::{self, IgnoreRule};
use super::repository::Repository;
use crate::git;

/// Name of the files that hold rules.
pub(super) const FILE_NAME: &[u8] = b".gitignore";
/// A larger file holds no rules.
pub(super) const SIZE_MAX: u64 = 1024 * 1024;

/// The rules of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Rules {
    /// The path of the workspace from the root of its repository; mostly empty.
    pub(super) prefix: Vec<u8>,
    /// The lists of each repository, by its folder from the root of the repository of the workspace.
    pub(super) lists: BTreeMap<Vec<u8>, Lists>,
    /// The text of each file of rules, by its folder from the root of the repository.
    pub(super) texts: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Files of the workspace that the texts ignore although git tracks them, or, as long as the
    /// texts are not known, all that git tracks.
    pub(super) tracked: BTreeSet<Vec<u8>>,
}

/// The rules of a repository that are in none of its `.gitignore` files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Lists {
    /// The list of the user, followed by `info/exclude`.
    pub(super) text: Vec<u8>,
    /// The repository is on a file system where case does not matter.
    pub(super) ignores_case: bool,
}

impl Lists {
    /// Reads the lists of a repository.
    ///
    /// # Errors
    ///
    /// Git does not say how the repository is configured, or a list exists and cannot be read. The sentence says which.
    pub(super) fn read(repository: &Repository) -> Result<Self, String> {
        let ask = ["config", "-z", "--type=path", "--get-regexp", r"^core\.(excludesfile|ignorecase)$"];
        let answer = git::git(&repository.root, ask).map_err(|error| error.to_string())?;
        // 1 is the answer of git where nothing is configured.
        if !matches!(answer.status.code(), Some(0 | 1)) {
            let complaint = String::from_utf8_lossy(&answer.stderr);
            return Err(complaint.lines().next().unwrap_or("git failed").to_owned());
        }
        let (mut users, mut lists) = (None, Self::default());
        // A name, a line feed and its value; the last one holds.
        for entry in answer.stdout.split(|&byte| byte == 0) {
            let mut parts = entry.splitn(2, |&byte| byte == b'\n');
            let (name, value) = (parts.next().unwrap_or_default(), parts.next()); // no read
            match name {
                b"core.excludesfile" => users = value.map(|value| safe_dir::as_path(value).into_owned()),
                b"core.ignorecase" => {
                    let is_off =
                        value.is_some_and(|value| matches!(value, b"false" | b"no" | b"off" | b"0" | b""));
                    lists.ignores_case = !is_off;
                }
                _ => {}
            }
        }
        let of_repository = repository.pinned().common.join("info/exclude");
        for file in users.or_else(default_list).into_iter().chain([of_repository]) {
            let text = read_list(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(&text);
            lists.text.extend(text.iter().filter(|&&byte| byte != 0));
            lists.text.push(b'\n');
        }
        Ok(lists)
    }
}

/// Returns where the list of the user is, where none is configured.
fn default_list() -> Option<PathBuf> {
    let is_given = |path: &PathBuf| !path.as_os_str().is_empty();
    let of_user = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(is_given);
    let of_user = of_user.or_else(|| Some(std::env::home_dir()?.join(".config")));
    Some(of_user?.join("git/ignore"))
}

/// Reads a list, which links may lead to; nothing where there is none.
fn read_list(file: &Path) -> Result<Vec<u8>, String> {
    let opened = Read::from_io(file.canonicalize().and_then(|file| safe_dir::open_file(&file)));
    let text = opened.and_then(|opened| safe_dir::read_small(opened, SIZE_MAX));
    Ok(text.into_result()?.unwrap_or_default()) // no read: an absent list is an empty one
}

impl Rules {
    /// Returns what holds at the root of the workspace, before its own file.
    pub(super) fn root_level(&self) -> Option<Arc<Level>> {
        let mut level = self.repository_level(b"");
        let is_above = |folder: &[u8]| folder != self.prefix && safe_dir::is_within(&self.prefix, folder);
        for (folder, text) in self.texts.iter().filter(|(folder, _)| is_above(folder)) {
            level = Some(Level::below(level, folder, text));
        }
        level
    }

    /// Returns what holds at the root of a repository, before its own file; `None` where no repository is known.
    pub(super) fn repository_level(&self, place: &[u8]) -> Option<Arc<Level>> {
        self.lists.get(place).map(|lists| Level::of_repository(place, lists))
    }

    /// Returns a path in the workspace as it is from the root of the repository.
    pub(super) fn repository_path<'a>(&self, path: &'a [u8]) -> Cow<'a, [u8]> {
        match (self.prefix.is_empty(), path.is_empty()) {
            (true, _) => Cow::Borrowed(path),
            (false, true) => Cow::Owned(self.prefix.clone()),
            (false, false) => Cow::Owned(safe_dir::join(&self.prefix, path)),
        }
    }

    /// Says whether git tracks something in a folder of the workspace, or a repository is in it.
    pub(super) fn tracks_below(&self, folder: &[u8]) -> bool {
        let (first, of_lists) = (safe_dir::join(folder, b""), self.repository_path(folder));
        let mut lists = self.lists.range(of_lists.to_vec()..).map(|(place, _)| place);
        self.tracked.range(first.clone()..).next().is_some_and(|path| path.starts_with(&first))
            || lists.next().is_some_and(|place| safe_dir::is_within(place, &of_lists))
    }
}

/// The rules of one folder and of the folders above it.
#[derive(Debug)]
pub(super) struct Level {
    rules: Vec<IgnoreRule>,
    ignores_case: bool,
    /// How much of a path from the root of the repository is the folder.
    skipped: usize,
    above: Option<Arc<Self>>,
}

impl Level {
    /// Begins with the lists of a repository.
    pub(super) fn of_repository(place: &[u8], lists: &Lists) -> Arc<Self> {
        Self::new(None, place, &lists.text, lists.ignores_case)
    }

    /// Adds the rules of `folder`, a path from the root of the repository.
    pub(super) fn below(above: Option<Arc<Self>>, folder: &[u8], text: &[u8]) -> Arc<Self> {
        let ignores_case = above.as_ref().is_some_and(|above| above.ignores_case);
        Self::new(above, folder, text, ignores_case)
    }

    fn new(above: Option<Arc<Self>>, folder: &[u8], text: &[u8], ignores_case: bool) -> Arc<Self> {
        let skipped = if folder.is_empty() { 0 } else { folder.len() + 1 };
        Arc::new(Self { rules: gitignore::rules(text), ignores_case, skipped, above })
    }

    /// Says whether something is ignored by itself, that is, not because of a folder that it is in.
    pub(super) fn ignores(level: Option<&Arc<Self>>, place: &[u8], is_folder: bool) -> bool {
        let mut next = level;
        while let Some(level) = next {
            let path = place.get(level.skipped..).unwrap_or_default(); // no read
            let mut rules = level.rules.iter().rev();
            match rules.find(|rule| rule.matches(path, is_folder, level.ignores_case)) {
                Some(rule) => return !rule.negates,
                None => next = level.above.as_ref(),
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
            lists: [(b"sub/deep/e/f".to_vec(), Lists::default())].into(),
        };
        let above = rules.root_level();
        for (path, expected) in [("x.log", false), ("y.log", true), ("x", false)] {
            assert_eq!(
                Level::ignores(above.as_ref(), &rules.repository_path(path.as_bytes()), false),
                expected,
                "{path}"
            );
        }
        for (folder, expected) in [("d", true), ("d/x", false), ("e", true), ("e/f", true), ("f", false)] {
            assert_eq!(rules.tracks_below(folder.as_bytes()), expected, "{folder}");
        }
    }
}
