//! The files of workflows and how they are read.

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use unstuck_document::{Diagnostic, LoadError, file};

use crate::registry::Registry;
use crate::schema::ResolvedSchema;

/// Further options for reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadOptions {
    /// The root that paths of the workflow are relative to. The reader checks these paths as text
    /// only and does not access them; complaints name files below the root without it.
    pub workspace: PathBuf,
    /// Agent catalogs of the command line; a later one wins.
    pub agents_files: Vec<PathBuf>,
    /// The value of `UNSTUCK_AGENTS_FILE`: catalogs separated by colons, read before `agents_files`.
    pub agents_env: Option<String>,
    /// Every warning is an error.
    pub strict: bool,
    /// How many workflows may be nested below the first.
    pub max_subworkflow_depth: u32,
    /// Replaces `max_iterations` of every step that has a check.
    pub max_iterations: Option<u32>,
}

impl LoadOptions {
    /// Default number of workflows that may be nested below the first.
    pub const DEFAULT_MAX_SUBWORKFLOW_DEPTH: u32 = 5;
}

impl Default for LoadOptions {
    fn default() -> Self {
        Self {
            workspace: PathBuf::from("."),
            agents_files: Vec::new(),
            agents_env: None,
            strict: false,
            max_subworkflow_depth: Self::DEFAULT_MAX_SUBWORKFLOW_DEPTH,
            max_iterations: None,
        }
    }
}

/// Where files come from.
pub trait Files {
    /// Returns the content of a file, or a little more than the largest that is taken.
    ///
    /// # Errors
    ///
    /// As for a file that cannot be read.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// Returns a name that is equal for equal files, so that a file that calls itself is noticed.
    fn identity(&self, path: &Path) -> PathBuf {
        tidy(path)
    }

    /// Returns the target of a path that leaves its base through a link, up to the last component that exists.
    /// A dangling link counts as leaving the base. Files that are only in memory have no links.
    fn leads_out(&self, base: &Path, path: &str) -> Option<PathBuf> {
        let _no_links = (base, path);
        None
    }

    /// Reads a steps registry with its prompts and schemas; without a path, one of the built-in validators only. `used`
    /// are the validators that the workflow names itself.
    ///
    /// # Errors
    ///
    /// All that is wrong with it; files that are only in memory hold none.
    fn registry(
        &self,
        path: Option<&Path>,
        workspace: &Path,
        used: &[String],
    ) -> Result<(Registry, Vec<Diagnostic>), LoadError> {
        let _nothing_to_read = (workspace, used);
        let Some(path) = path else { return Ok((Registry::built_in(), Vec::new())) };
        let what = "steps registries are read from the disk only";
        Err(LoadError { complaints: vec![Diagnostic::of_file(path, what)] })
    }

    /// Resolves a schema of a workspace, by its file and its name there.
    ///
    /// # Errors
    ///
    /// All that is wrong with it; files that are only in memory hold none.
    fn schema(&self, workspace: &Path, file: &str, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        let _nothing_to_read = (workspace, name);
        Err(vec![Diagnostic::of_file(Path::new(file), "schemas are read from the disk only")])
    }

    /// Returns the clients that are known in a workspace: without a disk those that are built in.
    ///
    /// # Errors
    ///
    /// All that is wrong with the files that describe them.
    fn clients(&self, workspace: &Path) -> Result<unstuck_workers::Clients, LoadError> {
        let _nothing_to_read = workspace;
        Ok(unstuck_workers::all().map(|client| (client.name.clone(), client)).collect())
    }
}

/// The files of the disk.
#[derive(Clone, Copy, Debug, Default)]
pub struct FileSystem;

impl Files for FileSystem {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        file::read(path)
    }

    fn identity(&self, path: &Path) -> PathBuf {
        path.canonicalize().unwrap_or_else(|_| tidy(path))
    }

    fn leads_out(&self, base: &Path, path: &str) -> Option<PathBuf> {
        let root = Path::new(".").join(base).canonicalize().ok()?;
        let path = root.join(path);
        let there = path.ancestors().find(|path| path.symlink_metadata().is_ok())?;
        let Ok(led_to) = there.canonicalize() else { return Some(there.to_owned()) };
        (!led_to.starts_with(&root)).then_some(led_to)
    }

    fn registry(
        &self,
        path: Option<&Path>,
        workspace: &Path,
        used: &[String],
    ) -> Result<(Registry, Vec<Diagnostic>), LoadError> {
        match path {
            Some(path) => Registry::load(path, workspace, Some(used)),
            None => Ok((Registry::built_in(), Vec::new())),
        }
    }

    fn schema(&self, workspace: &Path, file: &str, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        crate::schema::resolve(workspace, file, name)
    }

    fn clients(&self, workspace: &Path) -> Result<unstuck_workers::Clients, LoadError> {
        unstuck_workers::known_clients(workspace)
    }
}

/// Files that are only in memory.
impl Files for BTreeMap<PathBuf, Vec<u8>> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Returns the path without `.` components.
pub(super) fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

/// Returns a path for people: on one line, and without the workspace it is in.
pub(super) fn display_path(path: &Path, options: &LoadOptions) -> String {
    let inside = path.strip_prefix(&options.workspace).unwrap_or(path);
    // The workspace itself has no name below it.
    let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
    inside.display().to_string().replace(char::is_control, "\u{fffd}")
}
