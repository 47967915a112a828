//! Reads the small files of a repository: lines, folders and names. A failed read is an error and never means absence.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_files::Read;
use unstuck_files::safe_dir;

/// Maximum size of a file with one line, in bytes.
const LINE_SIZE_MAX: u64 = 4096;

/// Something of a repository that may exist and cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} cannot be read ({why})", path.display())]
pub(super) struct Unreadable {
    pub(super) path: PathBuf,
    pub(super) why: String,
}

/// The result of reading a value, which is `None` where it is absent; an error never means absence.
pub(super) type RepoResult<T> = Result<T, Unreadable>;

/// Keeps absence and errors apart.
fn to_result<T>(path: &Path, read: Read<T>) -> RepoResult<Option<T>> {
    read.into_result().map_err(|why| Unreadable { path: path.to_owned(), why })
}

pub(super) fn if_exists<T>(path: &Path, result: io::Result<T>) -> RepoResult<Option<T>> {
    to_result(path, Read::from_io(result))
}

pub(super) fn metadata(path: &Path) -> RepoResult<Option<fs::Metadata>> {
    if_exists(path, path.symlink_metadata())
}

pub(super) fn is_folder(path: &Path) -> RepoResult<bool> {
    Ok(metadata(path)?.is_some_and(|metadata| metadata.is_dir()))
}

/// Returns the paths of what is in a folder, in no order; of one that does not exist, none.
pub(super) fn entries(folder: &Path) -> RepoResult<Vec<PathBuf>> {
    let Some(entries) = if_exists(folder, fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let unreadable = |error: io::Error| Unreadable { path: folder.to_owned(), why: error.to_string() };
    entries.map(|entry| Ok(entry.map_err(unreadable)?.path())).collect()
}

pub(super) fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).into_iter().collect()
}

pub(super) fn read_line(path: &Path) -> RepoResult<Option<String>> {
    Ok(read_text(path, LINE_SIZE_MAX)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Reads a file of text. A folder with its name is none: refs may be in it.
pub(super) fn read_text(path: &Path, size_max: u64) -> RepoResult<Option<String>> {
    match metadata(path)? {
        None => return Ok(None),
        Some(seen) if seen.is_dir() => return Ok(None),
        Some(seen) if seen.is_file() => {}
        Some(_) => {
            let why = "it is not a regular file".to_owned();
            return Err(Unreadable { path: path.to_owned(), why });
        }
    }
    let file = Read::from_io(safe_dir::open_file(path));
    let bytes = to_result(path, file.and_then(|file| safe_dir::read_small(file, size_max)))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Says whether a text is the name of an object of git, written out.
pub(super) fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns the first part of a path.
pub(super) fn first_part(path: &[u8]) -> &[u8] {
    path.split(|&byte| byte == b'/').next().unwrap_or_default() // no read
}

/// Returns the names in a list of packed refs, each with its target.
pub(super) fn packed_refs(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines().filter_map(|line| line.split_once(' ')).map(|(target, name)| (name, target))
}

/// Says whether git makes refs of such a name.
pub(super) fn is_ref_name(name: &str) -> bool {
    !name.contains(|char: char| char.is_control() || char == ' ') && !name.ends_with(".lock")
}
