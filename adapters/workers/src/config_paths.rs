//! The paths of the settings that apply to several runs: in the project, and for all projects of the user.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns the possible paths of a settings file: in the project first, then in the user's configuration.
pub(crate) fn candidates(
    name: &str,
    workspace: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let in_user_config = config.map(|config| config.join("unstuck").join(name));
    [project_dir(workspace).join(name)].into_iter().chain(in_user_config).collect()
}

/// Returns the folder of the settings of a project.
pub(crate) fn project_dir(workspace: &Path) -> PathBuf {
    workspace.join(".unstuck")
}

/// Returns the paths at which a file or a link exists, even a broken link, so that reading it reports an error. A path
/// in a folder that Unstuck may not read counts as missing.
pub(crate) fn existing(name: &str, workspace: &Path) -> Vec<PathBuf> {
    let mut candidates = candidates(name, workspace, |name| std::env::var_os(name));
    candidates.retain(|path| path.symlink_metadata().is_ok());
    candidates
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workspace_file_comes_before_user_file() {
        let of = |config: Option<&str>, home: Option<&str>| {
            let variable = |name: &str| if name == "HOME" { home } else { config }.map(OsString::from);
            let found = candidates("prices.yaml", Path::new("/w"), variable);
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(Some("/c"), Some("/h")), "/w/.unstuck/prices.yaml /c/unstuck/prices.yaml");
        assert_eq!(of(Some("c"), Some("/h")), "/w/.unstuck/prices.yaml /h/.config/unstuck/prices.yaml");
        assert_eq!(of(None, None), "/w/.unstuck/prices.yaml");
    }
}
