//! Paths of repositories.

use unstuck_files::safe_dir;

/// The repository of the workspace itself.
pub(super) const GIT: &[u8] = b".git";

/// Says whether something is in the `.git` of the workspace itself.
pub(super) fn is_of_workspace(path: &[u8]) -> bool {
    safe_dir::is_within(path, GIT)
}

/// Says whether something is in a `.git`, of the workspace or of a folder in it, or is the first.
pub(super) fn is_in_repository(path: &[u8]) -> bool {
    is_of_workspace(path) || memchr::memmem::find(path, b"/.git/").is_some()
}

/// Says whether a name in the folder of a repository is of what is large there, and is not kept with the small files.
pub(super) fn is_store(name: &[u8]) -> bool {
    matches!(name, b"objects" | b"lfs" | b"annex")
}

/// Says whether a folder in a `.git`, or that itself, is of a repository: a submodule may have any name.
pub(super) fn is_repository(path: &[u8], has: impl Fn(&[u8]) -> bool) -> bool {
    let is_in_modules = || memchr::memmem::find(path, b".git/modules/").is_some();
    let is_looked_like = || [&b"HEAD"[..], b"config", b"refs"].into_iter().any(has);
    safe_dir::split(path).1 == GIT || is_in_modules() && is_looked_like()
}
