//! Values of secret variables that the project shows anyway, such as `DB_PASSWORD=postgres`.
//!
//! A value that is a word of the goal, of the name of a tracked file or of the text of one cannot be taken out of what a
//! worker reads: it would no longer know which test fails, and in which file. In the goal only a value of letters counts: a
//! person may have pasted a key there.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;

use aho_corasick::AhoCorasick;
use unstuck_files::Read;
use unstuck_files::safe_dir::{self, as_path};

use crate::git;

/// Larger files are not read, nor more than so many bytes of all.
const FILE_MAX: u64 = 4 << 20;
const ALL_MAX: usize = 256 << 20;

/// Where a value is public.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PublicLocation {
    /// In what the run is asked for.
    Goal,
    /// In the name of this tracked file.
    Name(String),
    /// In the text of this tracked file.
    Text(String),
}

impl fmt::Display for PublicLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Goal => f.write_str("the goal"),
            Self::Name(path) => write!(f, "the name of the tracked file {path}"),
            Self::Text(path) => write!(f, "the tracked file {path}"),
        }
    }
}

/// Returns the names of the secrets whose values are public, each with the first place where its value is.
pub fn find(
    workspace: &Path,
    goal: &[&str],
    secrets: &BTreeMap<String, Vec<u8>>,
) -> BTreeMap<String, PublicLocation> {
    let mut found = BTreeMap::new();
    let (names, values): (Vec<_>, Vec<_>) =
        secrets.iter().map(|(name, value)| (name, value.trim_ascii())).unzip();
    let Ok(search) = AhoCorasick::new(&values) else { return found };
    if names.is_empty() {
        return found;
    }
    let mut search_in = |text: &[u8], place: &dyn Fn() -> PublicLocation, counts: &dyn Fn(&[u8]) -> bool| {
        for value in search.find_overlapping_iter(text) {
            let at = value.pattern().as_usize();
            if counts(values[at]) {
                found.entry(names[at].clone()).or_insert_with(place);
            }
        }
        found.len() < names.len()
    };
    let is_word = |value: &[u8]| value.iter().all(|byte| byte.is_ascii_alphabetic() || b"-_".contains(byte));
    let any = |_: &[u8]| true;
    if !goal.iter().all(|text| search_in(text.as_bytes(), &|| PublicLocation::Goal, &is_word)) {
        return found;
    }
    // Outside of a repository nothing is tracked.
    let listed = git::plain(workspace, &["ls-files", "-z", "--cached"]).unwrap_or_default();
    let paths = || listed.split(|&byte| byte == 0).filter(|path| !path.is_empty());
    let display = |path: &[u8]| String::from_utf8_lossy(path).into_owned();
    if !paths().all(|path| search_in(path, &|| PublicLocation::Name(display(path)), &any)) {
        return found;
    }
    let mut left = ALL_MAX;
    for path in paths() {
        let file = safe_dir::open_file(&workspace.join(as_path(path)));
        let text = Read::from_io(file).and_then(|file| safe_dir::read_small(file, FILE_MAX));
        // A value in a file that cannot be read stays protected.
        let Some(text) = text.ok() else { continue };
        left = left.saturating_sub(text.len());
        if left == 0 || !search_in(&text, &|| PublicLocation::Text(display(path)), &any) {
            break;
        }
    }
    found
}
