//! Shows what differs between two snapshots as text that `git apply` understands.
//!
//! No attribute, filter or program of the repository has a say in it.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use similar::{Change, ChangeTag, TextDiff};
use unstuck_core::diffstat::ChangedFile;
use unstuck_core::snapshot::Snapshot;
use unstuck_files::safe_dir;

use super::change::{self, DiffEntry};
use super::error::{SnapshotResult, io};
use super::object::{FILE, TYPE};
use super::root_tree::Parts;
use super::store::ObjectStore;
use super::tree::{EntryPair, EntryState};

/// Options of a diff.
#[derive(Clone, Debug, Default)]
pub struct DiffOptions {
    /// Files and folders to show, from the root of the workspace; all if empty.
    pub paths: Vec<PathBuf>,
    /// Files to leave out.
    pub without: BTreeSet<PathBuf>,
    /// Whether to show ignored files too.
    pub ignored: bool,
}

/// Maximum size of a compared file, in bytes. Larger files are only reported as different.
const COMPARED_BYTES_MAX: usize = 8 * 1024 * 1024;
/// Number of bytes in which git looks for a zero byte to detect a binary file.
const PROBE: usize = 8000;
/// Maximum time for a minimal difference. After it, a larger one is shown.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn diff(
    store: &ObjectStore,
    before: &Snapshot,
    after: &Snapshot,
    options: &DiffOptions,
    to: &mut dyn Write,
) -> SnapshotResult<()> {
    let (before, after) = (Parts::read(store, before)?, Parts::read(store, after)?);
    let (unknown_before, unknown_after) = (before.uncovered(store)?, after.uncovered(store)?);
    let paths: Vec<_> = options.paths.iter().map(|path| safe_dir::as_bytes(path)).collect();
    for (path, DiffEntry { pair, ignored }) in change::differences(store, &before, &after)? {
        let is_left_out = options.without.contains(&*safe_dir::as_path(&path));
        let is_asked = paths.is_empty() || paths.iter().any(|asked| safe_dir::is_within(&path, asked));
        let is_known = !change::is_unknown(&path, &pair, &unknown_before, &unknown_after);
        if is_asked && !is_left_out && is_known && (options.ignored || !ignored) {
            file(store, &path, &pair, to)?;
        }
    }
    Ok(())
}

/// Counts the lines that were added and removed in each of some of the files that differ.
pub(super) fn lines(
    store: &ObjectStore,
    before: &Snapshot,
    after: &Snapshot,
    is_asked: &dyn Fn(&Path) -> bool,
) -> SnapshotResult<Vec<ChangedFile>> {
    let (before, after) = (Parts::read(store, before)?, Parts::read(store, after)?);
    let (unknown_before, unknown_after) = (before.uncovered(store)?, after.uncovered(store)?);
    let mut files = Vec::new();
    for (path, DiffEntry { pair, .. }) in change::differences(store, &before, &after)? {
        let is_unknown = change::is_unknown(&path, &pair, &unknown_before, &unknown_after);
        let path = safe_dir::as_path(&path);
        if is_unknown || !is_asked(&path) {
            continue;
        }
        let content = |place: Option<EntryState>| match place.filter(|place| !place.is_folder()) {
            Some(place) => store.blob(&place.id),
            None => Ok(Vec::new()),
        };
        let (added, removed) = changed_lines(&content(pair.before)?, &content(pair.after)?);
        files.push(ChangedFile { path: path.to_string_lossy().into_owned(), added, removed });
    }
    Ok(files)
}

/// Counts the lines that were added, and those that were removed.
fn changed_lines(old: &[u8], new: &[u8]) -> (u64, u64) {
    if old == new || is_binary(old) || is_binary(new) {
        return (0, 0);
    }
    let all = |text: &[u8]| text.split_inclusive(|byte| *byte == b'\n').count() as u64;
    if old.is_empty() || new.is_empty() || old.len().max(new.len()) > COMPARED_BYTES_MAX {
        return (all(new), all(old));
    }
    let difference = TextDiff::configure().timeout(PATIENCE).diff_lines(old, new);
    let count = |(added, removed), change: Change<&[u8]>| match change.tag() {
        ChangeTag::Insert => (added + 1, removed),
        ChangeTag::Delete => (added, removed + 1),
        ChangeTag::Equal => (added, removed),
    };
    difference.iter_all_changes().fold((0, 0), count)
}

pub(super) fn is_binary(content: &[u8]) -> bool {
    memchr::memchr(0, &content[..content.len().min(PROBE)]).is_some()
}

fn file(store: &ObjectStore, path: &[u8], pair: &EntryPair, to: &mut dyn Write) -> SnapshotResult<()> {
    let side = |place: Option<EntryState>| -> SnapshotResult<_> {
        let Some(place) = place.filter(|place| !place.is_folder()) else { return Ok(None) };
        Ok(Some(Side { mode: place.mode, content: store.blob(&place.id)? }))
    };
    let (before, after) = (side(pair.before)?, side(pair.after)?);
    let is_other_type = matches!((&before, &after), (Some(a), Some(b)) if a.mode & TYPE != b.mode & TYPE);
    let written = if is_other_type {
        show(path, before.as_ref(), None, to).and_then(|()| show(path, None, after.as_ref(), to))
    } else {
        show(path, before.as_ref(), after.as_ref(), to)
    };
    written.map_err(io("write", "the difference".as_ref()))
}

/// A file on one side.
struct Side {
    mode: u32,
    content: Vec<u8>,
}

fn show(path: &[u8], before: Option<&Side>, after: Option<&Side>, to: &mut dyn Write) -> io::Result<()> {
    let (old_name, new_name) = (quoted(b"a/", path), quoted(b"b/", path));
    let heading = match (before, after) {
        (None, None) => return Ok(()),
        (None, Some(new)) => format!("new file mode {:o}\n", git_mode(new.mode)),
        (Some(old), None) => format!("deleted file mode {:o}\n", git_mode(old.mode)),
        (Some(old), Some(new)) if old.mode == new.mode => String::new(),
        (Some(old), Some(new)) => {
            let (mut a, mut b) = (git_mode(old.mode), git_mode(new.mode));
            if a == b {
                (a, b) = (old.mode, new.mode);
            }
            format!("old mode {a:o}\nnew mode {b:o}\n")
        }
    };
    write!(to, "diff --git {old_name} {new_name}\n{heading}")?;
    let content = |side: Option<&Side>| side.map_or(Vec::new(), |side| side.content.clone());
    let (old, new) = (content(before), content(after));
    if old == new {
        return Ok(());
    }
    let old_name = if before.is_some() { old_name } else { "/dev/null".to_owned() };
    let new_name = if after.is_some() { new_name } else { "/dev/null".to_owned() };
    if is_binary(&old) || is_binary(&new) {
        return writeln!(to, "Binary files {old_name} and {new_name} differ");
    }
    if old.len().max(new.len()) > COMPARED_BYTES_MAX {
        return writeln!(
            to,
            "Files {old_name} and {new_name} differ; they are too large to be compared line by line"
        );
    }
    writeln!(to, "--- {old_name}\n+++ {new_name}")?;
    let difference = TextDiff::configure().timeout(PATIENCE).diff_lines(old.as_slice(), new.as_slice());
    difference.unified_diff().to_writer(to)
}

/// Returns one of the modes that git has for files.
fn git_mode(mode: u32) -> u32 {
    match mode & TYPE {
        FILE if mode & 0o100 != 0 => FILE | 0o755,
        FILE => FILE | 0o644,
        other => other,
    }
}

/// Returns a path as git prints it: bytes that are no plain text as octal numbers, in quotes.
fn quoted(prefix: &[u8], path: &[u8]) -> String {
    let path = [prefix, path].concat();
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    if path.iter().all(is_plain) {
        return path.into_iter().map(char::from).collect();
    }
    let mut text = "\"".to_owned();
    for byte in path {
        match byte {
            b'\n' => text.push_str("\\n"),
            b'\t' => text.push_str("\\t"),
            b'"' | b'\\' => text.extend(['\\', char::from(byte)]),
            byte if is_plain(&byte) => text.push(char::from(byte)),
            byte => {
                let _infallible = write!(text, "\\{byte:03o}");
            }
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_quoted_as_git_does() {
        for (path, expected) in [
            (&b"src/a b.rs"[..], "a/src/a b.rs"),
            (b"a\nb", r#""a/a\nb""#),
            (b"\xff\"\\", r#""a/\377\"\\""#),
            ("ä".as_bytes(), r#""a/\303\244""#),
        ] {
            assert_eq!(quoted(b"a/", path), expected);
        }
    }
}
