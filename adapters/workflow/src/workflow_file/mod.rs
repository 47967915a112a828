//! Reads workflow files: YAML in, a valid [`Workflow`] out, or every complaint at once.
//!
//! One pass over a file, its agent catalogs and its subworkflows finds all that is wrong with them;
//! the first step has not started then. That no symbolic link leads out of the workspace is looked at again when a path is
//! used: a worker can make one.
//!
//! # Map
//!
//! Read in this order: [`keys`] is the table of all keys; `load`, `workflow`, `step`, `graph` and `conditions` say what the keys mean
//! together; `client`, `catalog` and `worker` say who works. [`fn@schema`] and [`fn@reference`] are made from the table. [`fn@quick`] builds the
//! workflow of a command line, [`fn@save`] writes a workflow as a file, [`fn@plan`] says what it may cost, [`fn@value`] reads the value of one
//! key. Not here: the tree with places, and the check of keys and types (`unstuck-document`).

use std::collections::BTreeMap;
use std::io;
use std::path::{Component, Path, PathBuf};

use unstuck_core::id::Digest;
use unstuck_core::workflow::Workflow;
use unstuck_document::file::{self, reason};
use unstuck_document::{Diagnostic, Rejected, Report, node};

use crate::registry::Registry;
use crate::schema::ResolvedSchema;

mod catalog;
mod client;
pub(crate) mod conditions;
mod from_args;
mod graph;
pub mod keys;
pub(crate) mod load;
mod plan;
mod reference;
mod schema;
mod schema_declares;
mod secret;
pub(crate) mod step;
pub(crate) mod to_yaml;
mod value;
pub(crate) mod worker;
mod workflow;

pub use from_args::{QuickOptions, quick};
pub use plan::{Plan, PlannedCheck, PlannedStep, WorstCase, plan};
pub use reference::reference;
pub use schema::schema;
pub use secret::{named_registry, secret};
pub use to_yaml::save;
pub use value::{names_below, samples, value};

/// A workflow that was read, and what is worth saying about its file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loaded {
    /// The workflow, with agent profiles and subworkflows filled in.
    pub workflow: Workflow,
    /// SHA-256 of the workflow file itself.
    pub digest: Digest,
    /// Keys without effect.
    pub warnings: Vec<Diagnostic>,
    /// The file as it was named.
    pub path: PathBuf,
}

/// Further options for reading a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Options {
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

impl Options {
    /// Default number of workflows that may be nested below the first.
    pub const DEFAULT_MAX_SUBWORKFLOW_DEPTH: u32 = 5;
}

impl Default for Options {
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

    /// Reads a steps registry with its prompts and schemas; without a path, one of the built-in validators only. `asked`
    /// are the validators that the workflow names itself.
    ///
    /// # Errors
    ///
    /// All that is wrong with it; files that are only in memory hold none.
    fn registry(
        &self,
        path: Option<&Path>,
        workspace: &Path,
        asked: &[String],
    ) -> Result<(Registry, Vec<Diagnostic>), Rejected> {
        let _nothing_to_read = (workspace, asked);
        let Some(path) = path else { return Ok((Registry::built_in(), Vec::new())) };
        let what = "steps registries are read from the disk only";
        Err(Rejected { complaints: vec![Diagnostic::of_file(path, what)] })
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
    fn clients(&self, workspace: &Path) -> Result<unstuck_workers::Clients, Rejected> {
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
        let there = path.ancestors().find(|it| it.symlink_metadata().is_ok())?;
        let Ok(led_to) = there.canonicalize() else { return Some(there.to_owned()) };
        (!led_to.starts_with(&root)).then_some(led_to)
    }

    fn registry(
        &self,
        path: Option<&Path>,
        workspace: &Path,
        asked: &[String],
    ) -> Result<(Registry, Vec<Diagnostic>), Rejected> {
        match path {
            Some(path) => Registry::load(path, workspace, Some(asked)),
            None => Ok((Registry::built_in(), Vec::new())),
        }
    }

    fn schema(&self, workspace: &Path, file: &str, name: &str) -> Result<ResolvedSchema, Vec<Diagnostic>> {
        crate::schema::resolve(workspace, file, name)
    }

    fn clients(&self, workspace: &Path) -> Result<unstuck_workers::Clients, Rejected> {
        unstuck_workers::known_clients(workspace)
    }
}

/// Files that are only in memory.
impl Files for BTreeMap<PathBuf, Vec<u8>> {
    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        self.get(path).cloned().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

/// Reads a workflow file with all it refers to.
///
/// # Errors
///
/// All problems of the file, its agent catalogs and its subworkflows. With [`Options::strict`], this
/// includes the warnings.
pub fn load(path: &Path, options: &Options) -> Result<Loaded, Rejected> {
    match FileSystem.read(path) {
        Ok(bytes) => parse(&bytes, path, options, &FileSystem),
        Err(error) => {
            let what = format!("cannot read the file: {}", reason(&error));
            let file = shown(path, options);
            let none = String::new();
            let complaint =
                Diagnostic { file, line: 0, column: 0, path: none, what, help: None, excerpt: None };
            Err(Rejected { complaints: vec![complaint] })
        }
    }
}

/// Reads a workflow whose text is at hand; what it refers to comes from `files`.
///
/// Never panics, whatever the bytes are.
///
/// # Errors
///
/// As [`load`].
pub fn parse(bytes: &[u8], name: &Path, options: &Options, files: &dyn Files) -> Result<Loaded, Rejected> {
    let mut loader = load::Loader::new(options, files);
    let workflow = loader.main(bytes, name);
    let (complaints, warnings) = loader.finish();
    match workflow {
        Some(workflow) if complaints.is_empty() => {
            Ok(Loaded { workflow, digest: Digest::of(bytes), warnings, path: name.to_owned() })
        }
        _ => Err(Rejected { complaints }),
    }
}

/// Returns the line of a key in a workflow file, or else the line of the nearest key above it that exists.
/// The first line is 1.
pub fn line_of(bytes: &[u8], keys: &[&str]) -> Option<u32> {
    let text = str::from_utf8(bytes).ok()?;
    let root = node::parse(0, text, &mut Report::default())?;
    let (mut node, mut place) = (&root, None);
    for key in keys {
        let Some(entry) = node.entry(key) else { break };
        (node, place) = (&entry.value, Some(entry.place));
    }
    let before = text.get(..usize::try_from(place?.offset).ok()?)?;
    u32::try_from(before.matches('\n').count() + 1).ok()
}

/// Returns the path without `.` components.
fn tidy(path: &Path) -> PathBuf {
    path.components().filter(|component| *component != Component::CurDir).collect()
}

/// Returns a path for people: on one line, and without the workspace it is in.
fn shown(path: &Path, options: &Options) -> String {
    let inside = path.strip_prefix(&options.workspace).unwrap_or(path);
    // The workspace itself has no name below it.
    let inside = if inside.as_os_str().is_empty() { Path::new(".") } else { inside };
    inside.display().to_string().replace(char::is_control, "\u{fffd}")
}
