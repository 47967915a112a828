//! The changes of an iteration, counted from the difference of two snapshots as it is written.

use std::io::{self, Write};

/// The changes between two snapshots.
#[derive(Debug)]
pub struct SnapshotChanges {
    /// The files, in the order of their names.
    pub files: Vec<FileChange>,
    /// The difference as `unstuck diff` prints it; the beginning of it, where it is large.
    pub text: String,
    /// Lines of it that are left out.
    pub lines_left_out: usize,
    /// Most bytes of it that are kept.
    room: usize,
    hunk: Hunk,
    line: Vec<u8>,
}

/// How a file changed.
#[derive(Debug, PartialEq, Eq)]
pub struct FileChange {
    /// Its name, as git prints it.
    pub name: String,
    /// Lines that are new.
    pub added: u64,
    /// Lines that are gone.
    pub removed: u64,
    /// A change that is not in its lines, such as a new mode.
    pub note: Option<&'static str>,
}

/// Lines of the hunk that are still to come, on both sides.
#[derive(Debug, Default)]
struct Hunk {
    old: u64,
    new: u64,
}

/// Longer lines are cut when they are read; no header is so long.
const LINE_MAX: usize = 16 * 1024;

impl SnapshotChanges {
    /// Counts what is written to it, and keeps so many bytes of it.
    pub fn new(room: usize) -> Self {
        let (files, text) = (Vec::new(), String::new());
        Self { files, text, lines_left_out: 0, room, hunk: Hunk::default(), line: Vec::new() }
    }

    fn read(&mut self, line: &[u8]) {
        let line = String::from_utf8_lossy(line);
        self.count(&line);
        if self.lines_left_out > 0 || self.text.len() + line.len() >= self.room {
            self.lines_left_out += 1;
        } else {
            self.text.push_str(&line);
            self.text.push('\n');
        }
    }

    /// A removed line may begin like a header, so what a line is depends on the hunk that it is in.
    fn count(&mut self, line: &str) {
        if self.hunk.old + self.hunk.new == 0 {
            return self.header(line);
        }
        let Some(file) = self.files.last_mut() else { return };
        let (old, new) = match line.as_bytes().first() {
            Some(b'+') => (0, 1),
            Some(b'-') => (1, 0),
            Some(b'\\') => return,
            _ => (1, 1),
        };
        file.added += new - new.min(old);
        file.removed += old - old.min(new);
        self.hunk.old = self.hunk.old.saturating_sub(old);
        self.hunk.new = self.hunk.new.saturating_sub(new);
    }

    fn header(&mut self, line: &str) {
        if let Some(names) = line.strip_prefix("diff --git ") {
            // Both names are the same but for their first letter.
            let name = names.get(..names.len() / 2).unwrap_or(names);
            self.files.push(FileChange {
                name: name.replacen("a/", "", 1),
                added: 0,
                removed: 0,
                note: None,
            });
        } else if line.starts_with("@@ ") {
            self.hunk = Hunk::parse(line).unwrap_or_default();
        } else if let Some(file) = self.files.last_mut() {
            file.note = note(line).or(file.note);
        }
    }
}

impl Hunk {
    /// Reads `@@ -1,3 +1,4 @@`.
    fn parse(line: &str) -> Option<Self> {
        let mut sides = line.split(' ').skip(1).map(|side| match side.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        });
        Some(Self { old: sides.next()??, new: sides.next()?? })
    }
}

fn note(line: &str) -> Option<&'static str> {
    const NOTES: &[(&str, &str)] = &[
        ("new file", "new"),
        ("deleted file", "deleted"),
        ("new mode", "permissions"),
        ("Binary files", "binary"),
        ("Files ", "too large to be compared"),
    ];
    NOTES.iter().find(|(begin, _)| line.starts_with(begin)).map(|(_, note)| *note)
}

impl Write for SnapshotChanges {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            let (part, ended) = part.strip_suffix(b"\n").map_or((part, false), |part| (part, true));
            let room = LINE_MAX.saturating_sub(self.line.len());
            self.line.extend(&part[..part.len().min(room)]);
            if ended {
                let line = std::mem::take(&mut self.line);
                self.read(&line);
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOM: usize = 64 * 1024;

    #[track_caller]
    fn check(diff: &str, want: &[(&str, u64, u64, Option<&'static str>)]) {
        let mut changes = SnapshotChanges::new(ROOM);
        // However it comes in.
        for piece in diff.as_bytes().chunks(3) {
            changes.write_all(piece).unwrap();
        }
        let found: Vec<_> = changes
            .files
            .iter()
            .map(|file| (file.name.as_str(), file.added, file.removed, file.note))
            .collect();
        assert_eq!(found, want);
        assert_eq!(changes.text, diff);
    }

    #[test]
    fn lines_are_counted_by_the_hunk_that_they_are_in() {
        check("", &[]);
        check(
            "diff --git a/x y b/x y\n--- a/x y\n+++ b/x y\n@@ -1,3 +1,2 @@\n a\n--- b\n-c\n+++ d\n",
            &[("x y", 1, 2, None)],
        );
        check(
            "diff --git a/one b/one\nnew file mode 100644\n--- /dev/null\n+++ b/one\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file\n\
             diff --git a/two b/two\nold mode 100644\nnew mode 100755\n\
             diff --git a/three b/three\ndeleted file mode 100644\nBinary files a/three and /dev/null differ\n",
            &[
                ("one", 1, 0, Some("new")),
                ("two", 0, 0, Some("permissions")),
                ("three", 0, 0, Some("binary")),
            ],
        );
        check("diff --git \"a/\\303\\244\" \"b/\\303\\244\"\n", &[("\"\\303\\244\"", 0, 0, None)]);
    }

    #[test]
    fn oversized_diff_is_counted_and_cut() {
        let mut changes = SnapshotChanges::new(ROOM);
        let lines = 40_000_u64;
        writeln!(changes, "diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -0,0 +1,{lines} @@").unwrap();
        (0..lines).for_each(|_| writeln!(changes, "+one line").unwrap());
        assert_eq!(changes.files.iter().map(|file| file.added).sum::<u64>(), lines);
        assert!(changes.text.len() <= ROOM);
        let all = changes.text.lines().count() + changes.lines_left_out;
        assert_eq!(all, 40_004);
    }
}
