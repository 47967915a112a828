//! The error for a file that does not exist, with the likely name from its folder.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_document::nearest;

use crate::error::AppError;

/// Says that there is no file `path`, which was typed as `named`, and what to type: `command` with the file that was
/// probably meant; without one, what `otherwise` says.
pub fn not_found(named: &Path, path: &Path, command: &str, otherwise: impl Into<String>) -> AppError {
    let hint = match near(named, path) {
        Some(near) => format!("did you mean {0}? unstuck {command} {0}", near.display()),
        None => otherwise.into(),
    };
    AppError::usage(format!("there is no file {}", named.display())).hint(hint)
}

fn near(named: &Path, path: &Path) -> Option<PathBuf> {
    let folder = path.parent()?;
    // The folder of a bare name is empty, which cannot be read.
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    let files = fs::read_dir(folder).ok()?.filter_map(|entry| {
        let entry = entry.ok().filter(|entry| entry.path().is_file())?;
        entry.file_name().into_string().ok()
    });
    let files: Vec<String> = files.collect();
    let name = path.file_name()?.to_str()?;
    Some(named.with_file_name(nearest(name, files.iter().map(String::as_str))?))
}
