//! Decides which of the files that were found a snapshot takes. Pure.

use unstuck_files::safe_dir::{has_content, is_folder};

use super::excluded::{ExcludedPath, ExcludedReason};
use super::options::Limits;
use super::walk::{FoundPath, TreeSection};

/// The largest of git's small files that is kept.
const REPOSITORY_FILE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// Splits what was found, which is ordered by path, into what is covered and what is left out.
pub(super) fn cover(found: Vec<FoundPath>, limits: &Limits) -> (Vec<FoundPath>, Vec<ExcludedPath>) {
    let mut left = Vec::new();
    let mut bytes = 0;
    // The work comes first, so that what is ignored cannot push it out.
    let mut covers: Vec<bool> = vec![true; found.len()];
    for area in [
        TreeSection::Work,
        TreeSection::Repository,
        TreeSection::Within,
        TreeSection::Inner,
        TreeSection::Ignored,
    ] {
        for (file, covers) in found.iter().zip(&mut covers).filter(|(file, _)| file.area == area) {
            match why_not(file, limits, bytes) {
                None if has_content(file.mode) => bytes += file.stamp.size,
                None => {}
                Some(reason) => {
                    *covers = false;
                    let group = file.group.as_ref().filter(|_| reason == ExcludedReason::IgnoredFolder);
                    match group {
                        Some(group) if group.path != file.path => {}
                        _ => left.push(ExcludedPath::new(file.path.clone(), reason, Some(file.meta()))),
                    }
                }
            }
        }
    }
    let mut covers = covers.into_iter();
    let covered = found.into_iter().filter(|_| covers.next().unwrap_or(false)).collect();
    (covered, left)
}

fn why_not(file: &FoundPath, limits: &Limits, bytes: u64) -> Option<ExcludedReason> {
    if file.group.as_ref().is_some_and(|group| group.is_over(limits)) {
        return Some(ExcludedReason::IgnoredFolder);
    }
    if is_folder(file.mode) {
        return None;
    }
    let size = file.stamp.size;
    match file.area {
        TreeSection::Ignored if size > limits.ignored_file_bytes_max => Some(ExcludedReason::IgnoredFile),
        TreeSection::Repository | TreeSection::Inner if size > REPOSITORY_FILE_BYTES_MAX => {
            Some(ExcludedReason::TooLarge)
        }
        _ if size > limits.file_bytes_max => Some(ExcludedReason::TooLarge),
        _ if bytes + size > limits.bytes_max => Some(ExcludedReason::TooMuch),
        _ => None,
    }
}
