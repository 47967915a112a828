//! The steps registry of a probe.

use std::fs;
use std::path::{Path, PathBuf};

use unstuck_workflow::registry::Registry;

use crate::error::{AppError, Result};
use crate::person::Person;

/// Reads the named registry, or the only one of the project; `None` if the project has none.
///
/// # Errors
///
/// The registry is invalid, or the project has more than one.
pub(super) fn registry(
    named: Option<&Path>,
    workspace: &Path,
    person: &dyn Person,
) -> Result<Option<Registry>> {
    let path = match named {
        Some(path) => workspace.join(path),
        None => match only_registry(workspace)? {
            Some(path) => path,
            None => return Ok(None),
        },
    };
    let (registry, warnings) =
        Registry::load(&path, workspace, None).map_err(|rejected| AppError::rejected("", rejected))?;
    for warning in warnings {
        person.tell(&format!("warning: {warning}"));
    }
    Ok(Some(registry))
}

/// Finds the registry of a project, if it has one; more than one is an error.
fn only_registry(workspace: &Path) -> Result<Option<PathBuf>> {
    let entries = fs::read_dir(workspace.join(".agent")).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = entries.map(|entry| entry.path().join("steps_registry.json")).collect();
    found.retain(|path| path.is_file());
    found.sort();
    if let [_, _, ..] = found.as_slice() {
        let names: Vec<String> = found.iter().map(|path| path.display().to_string()).collect();
        return Err(AppError::usage("there is more than one registry here")
            .hint(format!("name one of them with --registry: {}", names.join(", "))));
    }
    Ok(found.pop())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_registry_of_a_project_is_found() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let add = |agent: &str| {
            let path = folder.path().join(".agent").join(agent);
            fs::create_dir_all(&path).expect("the folder is ours");
            fs::write(path.join("steps_registry.json"), "{}").expect("the folder is ours");
        };
        let found = || only_registry(folder.path()).map_err(|error| error.to_string());
        assert_eq!(found(), Ok(None));
        add("one");
        assert_eq!(found(), Ok(Some(folder.path().join(".agent/one/steps_registry.json"))));
        add("two");
        assert!(found().is_err_and(|error| error.contains("more than one registry")));
    }
}
