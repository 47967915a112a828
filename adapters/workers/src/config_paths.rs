//! Where a person keeps what holds for more than one run: beside the project, and for all projects.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Returns where a file of settings may be: that of the project first, then that of the user.
pub(crate) fn places(
    name: &str,
    workspace: &Path,
    variable: impl Fn(&str) -> Option<OsString>,
) -> Vec<PathBuf> {
    let absolute = |name: &str| variable(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let config = absolute("XDG_CONFIG_HOME").or_else(|| absolute("HOME").map(|home| home.join(".config")));
    let of_user = config.map(|config| config.join("unstuck").join(name));
    [of_project(workspace).join(name)].into_iter().chain(of_user).collect()
}

/// Returns the folder of the settings of a project.
pub(crate) fn of_project(workspace: &Path) -> PathBuf {
    workspace.join(".unstuck")
}

/// Returns those places at which there is a file, or a link, wherever it leads: one that leads nowhere is no file that is
/// missing. What is in a folder that we may not look into is not there.
pub(crate) fn found(name: &str, workspace: &Path) -> Vec<PathBuf> {
    let mut places = places(name, workspace, |name| std::env::var_os(name));
    places.retain(|path| path.symlink_metadata().is_ok());
    places
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_the_workspace_comes_before_that_of_the_user() {
        let of = |config: Option<&str>, home: Option<&str>| {
            let variable = |name: &str| if name == "HOME" { home } else { config }.map(OsString::from);
            let found = places("prices.yaml", Path::new("/w"), variable);
            found.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(of(Some("/c"), Some("/h")), "/w/.unstuck/prices.yaml /c/unstuck/prices.yaml");
        assert_eq!(of(Some("c"), Some("/h")), "/w/.unstuck/prices.yaml /h/.config/unstuck/prices.yaml");
        assert_eq!(of(None, None), "/w/.unstuck/prices.yaml");
    }
}
