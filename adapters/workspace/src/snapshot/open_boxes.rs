//! Counts the open check boxes in the Markdown files of a snapshot: fewer of them are progress.

use unstuck_core::id::Digest;
use unstuck_core::text::check_boxes::boxes;

use super::store::ObjectStore;

/// With more Markdown files nothing is counted.
const FILES_MAX: usize = 300;
/// A larger file is skipped.
const FILE_BYTES_MAX: u64 = 256 << 10;
/// With more text nothing is counted, so that a snapshot stays fast.
const TEXT_BYTES_MAX: u64 = 4 << 20;

/// Returns the number of open boxes in files with these names, sizes and contents; `None` if there is too much to read, or a
/// file cannot be read.
pub(super) fn count<'f>(
    store: &ObjectStore,
    files: impl Iterator<Item = (&'f [u8], u64, Digest)>,
) -> Option<u32> {
    let is_markdown = |path: &[u8]| path.ends_with(b".md") || path.ends_with(b".markdown");
    let texts: Vec<(u64, Digest)> = files
        .filter(|(path, size, _)| is_markdown(path) && *size <= FILE_BYTES_MAX)
        .map(|(_, size, id)| (size, id))
        .collect();
    if texts.len() > FILES_MAX || texts.iter().map(|(size, _)| size).sum::<u64>() > TEXT_BYTES_MAX {
        return None;
    }
    let mut open = 0;
    for (_, id) in texts {
        let bytes = store.blob(&id).ok()?; // unread, so nothing is counted
        let text = String::from_utf8_lossy(&bytes);
        let of_file = if text.contains('[') { boxes(&text) } else { Vec::new() };
        open += of_file.iter().filter(|(_, is_done)| !is_done).count();
    }
    Some(u32::try_from(open).unwrap_or(u32::MAX))
}
