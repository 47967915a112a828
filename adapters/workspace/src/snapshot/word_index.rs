//! Finds words that the files of one snapshot have and no file of another.
//!
//! Only files that are not ignored count, without their comments. Prose does not count, since it can mention a deleted
//! test. A folder that is marked as a cache (`CACHEDIR.TAG`) does not count either, since tools record earlier results
//! there. Files that are the same in both snapshots are read last, and usually not at all.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use unstuck_core::id::Digest;
use unstuck_core::snapshot::Snapshot;

use super::diff;
use super::error::SnapshotResult;
use super::object::{FILE, TYPE};
use super::root_tree::Parts;
use super::store::ObjectStore;

/// The file that marks a folder as a cache.
const CACHE: &[u8] = b"CACHEDIR.TAG";
/// Maximum time of the whole search.
const PATIENCE: Duration = Duration::from_secs(20);

/// Returns the words that a file of `before` has and no file of `after`; `None` if that takes too long.
pub(super) fn lost_words<'w>(
    store: &ObjectStore,
    before: &Snapshot,
    after: &Snapshot,
    words: &BTreeSet<&'w str>,
) -> SnapshotResult<Option<BTreeSet<&'w str>>> {
    if before.work == after.work {
        return Ok(Some(BTreeSet::new()));
    }
    let search = WordSearch { store, until: Instant::now() + PATIENCE };
    let (Some(before), Some(after)) = (search.texts(before)?, search.texts(after)?) else { return Ok(None) };
    let Some(mut lost) = search.find_words(before.difference(&after), words)? else { return Ok(None) };
    for there in
        [&mut after.difference(&before) as &mut dyn Iterator<Item = _>, &mut after.intersection(&before)]
    {
        let Some(found) = search.find_words(there, &lost)? else { return Ok(None) };
        lost.retain(|word| !found.contains(word));
    }
    Ok(Some(lost))
}

struct WordSearch<'s> {
    store: &'s ObjectStore,
    until: Instant,
}

impl WordSearch<'_> {
    fn is_over(&self) -> bool {
        Instant::now() > self.until
    }

    /// Returns the contents of all files of a snapshot that count.
    fn texts(&self, snapshot: &Snapshot) -> SnapshotResult<Option<BTreeSet<Digest>>> {
        let (mut texts, mut seen) = (BTreeSet::new(), BTreeSet::new());
        let mut open: Vec<Digest> = Parts::read(self.store, snapshot)?.work().into_iter().collect();
        while let Some(folder) = open.pop() {
            if self.is_over() {
                return Ok(None);
            }
            if !seen.insert(folder) {
                continue;
            }
            let items = self.store.tree(&folder)?;
            if items.iter().any(|item| item.name == CACHE) {
                continue;
            }
            for item in items {
                if item.is_folder() {
                    open.push(item.id);
                } else if item.mode & TYPE == FILE && !is_prose(&item.name) {
                    texts.insert(item.id);
                }
            }
        }
        Ok(Some(texts))
    }

    /// Returns which of the words are in one of these files.
    fn find_words<'a, 'w>(
        &self,
        files: impl Iterator<Item = &'a Digest>,
        words: &BTreeSet<&'w str>,
    ) -> SnapshotResult<Option<BTreeSet<&'w str>>> {
        let mut missing = words.clone();
        for id in files {
            if missing.is_empty() {
                break;
            }
            if self.is_over() {
                return Ok(None);
            }
            let content = self.store.blob(id)?;
            if !diff::is_binary(&content) {
                missing.retain(|word| !has_word(&content, word.as_bytes()));
            }
        }
        Ok(Some(words.difference(&missing).copied().collect()))
    }
}

/// Says whether people write to each other in files of this name.
fn is_prose(name: &[u8]) -> bool {
    let name = name.to_ascii_lowercase();
    [".md", ".markdown", ".rst", ".adoc", ".txt"].iter().any(|end| name.ends_with(end.as_bytes()))
}

/// Says whether a text has a word that is no part of a longer one, on a line that is no comment: a test that was commented out
/// is gone.
fn has_word(text: &[u8], word: &[u8]) -> bool {
    let is_in_word = |byte: Option<&u8>| {
        byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_' || !byte.is_ascii())
    };
    let (begins, ends) = (is_in_word(word.first()), is_in_word(word.last()));
    memchr::memmem::find_iter(text, word).any(|at| {
        let before = at.checked_sub(1).and_then(|at| text.get(at));
        let is_part = begins && is_in_word(before) || ends && is_in_word(text.get(at + word.len()));
        !is_part && !is_in_comment(text, at)
    })
}

/// Says whether the line that `at` is in begins as a comment does in one language or another. An attribute of Rust and a
/// directive of C are none.
fn is_in_comment(text: &[u8], at: usize) -> bool {
    const MARKS: [&[u8]; 7] = [b"//", b"--", b"/*", b"* ", b"<!--", b";", b"%"];
    const DIRECTIVES: [&[u8]; 5] = [b"define", b"if", b"ifdef", b"ifndef", b"elif"];
    let start = memchr::memrchr(b'\n', &text[..at]).map_or(0, |feed| feed + 1);
    let line = text[start..].trim_ascii_start();
    let is_hash = || {
        line.strip_prefix(b"#").is_some_and(|rest| {
            let word = rest.split(|byte| !byte.is_ascii_alphabetic()).next().unwrap_or_default(); // no read
            !rest.starts_with(b"[") && !DIRECTIVES.contains(&word)
        })
    };
    // The name itself may begin with such a mark.
    let is_before = start + (text[start..].len() - line.len()) < at;
    is_before && (MARKS.iter().any(|mark| line.starts_with(mark)) || is_hash())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_no_part_of_another() {
        for (text, word, has) in [
            ("def test_sub():", "test_sub", true),
            ("def xtest_sub():", "test_sub", false),
            ("test_sub2 test_sub_b test_sub", "test_sub", true),
            ("test_sub2", "test_sub", false),
            ("it('adds up', () => {})", "adds up", true),
            ("it('adds upper')", "adds up", false),
            ("it('what?')", "what?", true),
            ("grün", "gr", false),
            ("", "a", false),
            ("def a():\n    # def test_sub():\n", "test_sub", false),
            ("# def test_sub():\ndef test_sub():", "test_sub", true),
            ("  // it('adds up', () => {", "adds up", false),
            ("/* fn adds() */", "adds", false),
            (" * adds", "adds", false),
            ("-- it adds", "adds", false),
            ("#[test] fn adds() {}", "adds", true),
            ("#define adds", "adds", true),
            ("#def test_sub():", "test_sub", false),
            ("x = 1 # adds", "adds", true),
            ("# adds", "# adds", true),
        ] {
            assert_eq!(has_word(text.as_bytes(), word.as_bytes()), has, "{text}");
        }
    }
}
