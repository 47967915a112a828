//! Files that git ignores in a checkout: no commit has them, and git deletes them with the checkout without a warning.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_files::safe_dir;

use crate::git::git_on_files;

/// Returns the files and folders that git ignores, from the root of the checkout; a folder that is ignored as a whole stands
/// for all below it.
///
/// # Errors
///
/// Git cannot be run, or does not read the checkout.
pub fn entries(root: &Path) -> io::Result<Vec<PathBuf>> {
    const ASK: [&str; 6] = ["ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory"];
    let output = git_on_files(root, &ASK)?;
    if !output.status.success() {
        return Err(io::Error::other(String::from_utf8_lossy(&output.stderr).trim().to_owned()));
    }
    let names = output.stdout.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    Ok(names.map(|name| safe_dir::as_path(name).into_owned()).collect())
}
