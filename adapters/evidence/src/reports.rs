//! Machine-readable reports that a command writes: which files they are, and whether they are new.
//!
//! A report from an earlier run says nothing about this one, so a report counts only if it was written while the
//! command ran. Nothing is removed, and no link is followed.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use unstuck_core::judge::scope::PathPatterns;

/// Maximum number of files and folders to visit.
const ENTRIES_MAX: usize = 500_000;
/// Maximum number of reports to read.
const REPORTS_MAX: usize = 200;
/// Maximum size of a report, in bytes.
const REPORT_BYTES_MAX: u64 = 32 << 20;

/// The reports that exist before a command runs.
#[derive(Debug)]
pub struct Reports<'a> {
    root: &'a Path,
    patterns: &'a [String],
    before: ReportFiles,
}

/// The files that match, and whether there may be more.
type ReportFiles = (BTreeMap<PathBuf, FileStamp>, bool);

/// The metadata that changes when a file is written.
type FileStamp = (u64, Option<SystemTime>);

impl<'a> Reports<'a> {
    /// Finds the files that match one of the patterns.
    pub fn find(root: &'a Path, patterns: &'a [String]) -> Self {
        Self { root, patterns, before: find_reports(root, patterns) }
    }

    /// Returns the reports that were written since, sorted by name, each with its name; and a sentence for each report
    /// that is not read.
    pub fn read_new(self) -> (Vec<(String, Vec<u8>)>, Vec<String>) {
        let (mut reports, mut notes) = (Vec::new(), Vec::new());
        let (now, is_cut) = find_reports(self.root, self.patterns);
        if is_cut || self.before.1 {
            notes.push(format!("reports were looked for in the first {ENTRIES_MAX} files only"));
        }
        for (path, stamp) in now {
            if self.before.0.get(&path) == Some(&stamp) {
                continue;
            }
            let name = path.strip_prefix(self.root).unwrap_or(&path).display().to_string();
            if stamp.0 > REPORT_BYTES_MAX || reports.len() == REPORTS_MAX {
                notes.push(format!("the report {name} is not read: there is too much"));
                continue;
            }
            match fs::read(&path) {
                // Comparing and redacting need text.
                Ok(bytes) => reports.push((name, unstuck_failures::decode(&bytes).into_owned())),
                Err(error) => notes.push(format!("the report {name} is not read: {error}")),
            }
        }
        if reports.is_empty() && notes.is_empty() && !self.patterns.is_empty() {
            notes.push(format!("no report was written to {}; the output was read", self.patterns.join(", ")));
        }
        (reports, notes)
    }
}

fn find_reports(root: &Path, patterns: &[String]) -> ReportFiles {
    let mut found = BTreeMap::new();
    let mut looked_at = 0;
    let matcher = PathPatterns::new(patterns.iter().map(String::as_str));
    for pattern in patterns.iter().filter(|pattern| !pattern.starts_with('!')) {
        let mut folders = vec![root.join(literal_prefix(pattern))];
        while let Some(path) = folders.pop() {
            let Ok(seen) = fs::symlink_metadata(&path) else { continue };
            looked_at += 1;
            if looked_at > ENTRIES_MAX {
                return (found, true);
            }
            if seen.is_dir() {
                let entries = fs::read_dir(&path).into_iter().flatten().flatten();
                folders.extend(entries.map(|entry| entry.path()));
            } else if seen.is_file() && is_match(root, &path, &matcher) {
                found.insert(path, (seen.len(), seen.modified().ok()));
            }
        }
    }
    (found, false)
}

fn is_match(root: &Path, path: &Path, matcher: &PathPatterns) -> bool {
    path.strip_prefix(root)
        .ok()
        .and_then(Path::to_str)
        .is_some_and(|path| matcher.match_any(&path.replace('\\', "/")))
}

/// Returns the folders that a pattern begins with, before anything special in it.
fn literal_prefix(pattern: &str) -> PathBuf {
    let plain = pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{']));
    plain.filter(|part| !part.is_empty() && *part != ".").collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_written_meanwhile_is_a_report() {
        let root = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        write("out/old.xml", "old");
        write("out/again.xml", "before");
        let patterns = ["out/**/*.xml".to_owned(), "one.json".to_owned()];
        let reports = Reports::find(root.path(), &patterns);
        write("out/again.xml", "after!");
        write("out/deep/new.xml", "new");
        write("out/new.txt", "text");
        write("one.json", "{}");
        let (written, notes) = reports.read_new();
        let named = [("one.json", "{}"), ("out/again.xml", "after!"), ("out/deep/new.xml", "new")];
        let named = named.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec()));
        assert_eq!(written, named);
        assert!(notes.is_empty(), "{notes:?}");
        let (written, notes) = Reports::find(root.path(), &patterns).read_new();
        assert!(written.is_empty());
        assert_eq!(notes, ["no report was written to out/**/*.xml, one.json; the output was read"]);
    }
}
