//! Counts the lines of a file after a failure: what measures whether the same failure is at a later place.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use unstuck_core::evidence::Failure;

/// Maximum files that are read.
const FILES_MAX: usize = 200;
/// A larger file is not read.
const FILE_BYTES_MAX: u64 = 4 << 20;

/// Sets how many lines of its file remain after each failure whose file is below the folder `cwd`.
pub(crate) fn count(failures: &mut [Failure], cwd: &Path) {
    let mut known: BTreeMap<String, Option<u32>> = BTreeMap::new();
    for failure in failures {
        let Some(location) = &failure.location else { continue };
        let Some(line) = location.line else { continue };
        if known.len() >= FILES_MAX && !known.contains_key(&location.file) {
            continue;
        }
        let lines = *known.entry(location.file.clone()).or_insert_with_key(|file| lines_of(cwd, file));
        failure.remaining = lines.map(|lines| lines.saturating_sub(line));
    }
}

/// Returns how many lines a file has; `None` if it is elsewhere, too large or cannot be read.
fn lines_of(cwd: &Path, file: &str) -> Option<u32> {
    let is_below =
        Path::new(file).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
    let path = cwd.join(file);
    if !is_below
        || !path.metadata().is_ok_and(|metadata| metadata.is_file() && metadata.len() <= FILE_BYTES_MAX)
    {
        return None;
    }
    let bytes = fs::read(path).ok()?; // unread, so nothing is measured
    let feeds = bytes.iter().filter(|byte| **byte == b'\n').count();
    u32::try_from(feeds + usize::from(!bytes.is_empty() && !bytes.ends_with(b"\n"))).ok()
}

#[cfg(test)]
mod tests {
    use unstuck_core::evidence::{FailureSubject, Location};

    use super::*;

    #[test]
    fn only_files_below_the_folder_are_counted() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("a.py"), "1\n2\n3\n4").unwrap();
        fs::write(folder.path().join("b.py"), "1\n2\n").unwrap();
        let outside = folder.path().join("a.py").display().to_string();
        for (file, line, expected) in [
            ("a.py", Some(1), Some(3)),
            ("./a.py", Some(4), Some(0)),
            ("b.py", Some(9), Some(0)),
            ("a.py", None, None),
            ("gone.py", Some(1), None),
            ("../a.py", Some(1), None),
            (&outside, Some(1), None),
            (".", Some(1), None),
        ] {
            let mut failure = Failure::synthetic("t", "k", FailureSubject::Whole, "");
            failure.location = Some(Location { file: file.to_owned(), line });
            let mut failures = [failure];
            count(&mut failures, folder.path());
            assert_eq!(failures[0].remaining, expected, "{file}:{line:?}");
        }
    }
}
