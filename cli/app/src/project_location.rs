//! The folder that a command works in, and the store that it names.

use std::io;
use std::path::{Path, PathBuf};

use crate::error::{AppError, Result};
use crate::stores::Stores;

/// Where a command works, and where its runs are kept.
#[derive(Clone, Debug, Default)]
pub struct ProjectLocation {
    /// The folder; `None` for the current one.
    pub directory: Option<PathBuf>,
    /// The store as a person writes it, `sled:PATH` or `memory:`; `None` for the state folder of the project.
    pub store: Option<String>,
    /// The stores that can be named.
    pub stores: Stores,
}

impl ProjectLocation {
    /// Returns the folder that a command works in.
    pub fn directory(&self) -> Result<PathBuf> {
        let named = self.directory.as_deref().unwrap_or(Path::new("."));
        let folder = named
            .canonicalize()
            .and_then(|path| if path.is_dir() { Ok(path) } else { Err(io::ErrorKind::NotADirectory.into()) });
        folder.map_err(|error| {
            let cannot = AppError::usage(format!("cannot work in {}: {error}", named.display()));
            let is_gone = error.kind() == io::ErrorKind::NotFound && self.directory.is_none();
            cannot.hint_if(
                is_gone.then(|| "the folder was removed; once it is there again: cd \"$PWD\"".to_owned()),
            )
        })
    }
}

/// Returns the root of the project that `directory` belongs to: the nearest folder with a
/// repository, or the folder itself.
pub fn root(directory: &Path) -> &Path {
    directory.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(directory)
}
