//! Where the state of a workspace is kept, outside of it: `<state>/unstuck/<project>/`.

use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::id::Digest;
use unstuck_files::durable;

/// The folder for the runs of one workspace and for what they share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateDir {
    folder: PathBuf,
}

/// Why the folder is not known.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum LocateError {
    #[error("cannot tell where to keep runs: neither XDG_STATE_HOME nor HOME is set to an absolute path")]
    NoHome,
    #[error("cannot find the workspace {}", path.display())]
    NoWorkspace {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

impl LocateError {
    /// Returns what to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::NoHome => Some("name a folder: --store sled:PATH".to_owned()),
            Self::NoWorkspace { .. } => None,
        }
    }
}

impl StateDir {
    /// Returns the folder for `workspace`, below `$XDG_STATE_HOME` or `~/.local/state`.
    pub fn locate(workspace: &Path) -> Result<Self, LocateError> {
        Self::locate_in(workspace, |name| std::env::var_os(name))
    }

    fn locate_in(workspace: &Path, variable: impl Fn(&str) -> Option<OsString>) -> Result<Self, LocateError> {
        let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let state = absolute("XDG_STATE_HOME")
            .or_else(|| absolute("HOME").map(|home| home.join(".local/state")))
            .ok_or(LocateError::NoHome)?;
        let workspace = fs::canonicalize(workspace)
            .map_err(|source| LocateError::NoWorkspace { path: workspace.to_owned(), source })?;
        Ok(Self::at(state.join("unstuck").join(project_name(&workspace))))
    }

    /// Uses `folder`, whatever its name, as in `--store sled:PATH`.
    pub fn at(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// Returns the folder itself.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the file that says who works in the workspace, wherever the run is kept.
    pub fn workspace_lease(&self) -> PathBuf {
        self.folder.join("workspace.lease")
    }

    /// Creates the directory if it is missing.
    pub fn create(&self) -> io::Result<()> {
        durable::create_folder(&self.folder)
    }
}

/// Returns the name of the folder for a workspace: readable, and different for every path.
fn project_name(workspace: &Path) -> String {
    let name = workspace.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.') { c } else { '-' })
        .take(48)
        .collect();
    let plain = plain.trim_start_matches('.');
    let digest = Digest::sha256(workspace.as_os_str().as_encoded_bytes()).to_string();
    format!("{}-{}", if plain.is_empty() { "workspace" } else { plain }, &digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_has_a_readable_folder() {
        let folder = tempfile::tempdir().unwrap();
        let workspace = folder.path().join("my project!");
        fs::create_dir(&workspace).unwrap();
        let located = |state: Option<&str>, home: Option<&str>| {
            StateDir::locate_in(&workspace, |name| {
                if name == "HOME" { home.map(OsString::from) } else { state.map(OsString::from) }
            })
        };
        let project = located(Some("/state"), Some("/home/me")).unwrap();
        let name = project.path().strip_prefix("/state/unstuck").unwrap().to_str().unwrap();
        let (readable, digest) = name.rsplit_once('-').unwrap();
        assert_eq!((readable, digest.len()), ("my-project-", 8));
        assert!(located(None, Some("/home/me")).unwrap().path().starts_with("/home/me/.local/state/unstuck"));
        assert!(located(Some("not/absolute"), Some("/home/me")).unwrap().path().starts_with("/home/me"));
        assert!(matches!(located(None, None), Err(LocateError::NoHome)));
        assert!(project_name(Path::new("/")).starts_with("workspace-"));
    }
}
