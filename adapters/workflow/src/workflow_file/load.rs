//! Reads workflow files, and the files they refer to: agent catalogs and subworkflows.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::id::Digest;
use unstuck_core::workflow::Workflow;
use unstuck_document::LoadError;
use unstuck_document::diagnostic::{Diagnostic, FileOffset, KeyPath, LoadReport, quote, quote_name};
use unstuck_document::file::{self, reason};
use unstuck_document::map_view::MapView;
use unstuck_document::node::TreeNode;
use unstuck_workers::Clients;

use super::catalog::Catalog;
use super::files::{FileSystem, Files, LoadOptions, display_path, tidy};

/// So many calls of subworkflows are followed in all.
const MOST_CALLS: usize = 256;

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

/// Reads a workflow file with all it refers to.
///
/// # Errors
///
/// All problems of the file, its agent catalogs and its subworkflows. With [`LoadOptions::strict`], this
/// includes the warnings.
pub fn load(path: &Path, options: &LoadOptions) -> Result<Loaded, LoadError> {
    match FileSystem.read(path) {
        Ok(bytes) => parse(&bytes, path, options, &FileSystem),
        Err(error) => {
            let what = format!("cannot read the file: {}", reason(&error));
            let file = display_path(path, options);
            let none = String::new();
            let complaint =
                Diagnostic { file, line: 0, column: 0, path: none, what, help: None, excerpt: None };
            Err(LoadError { complaints: vec![complaint] })
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
pub fn parse(
    bytes: &[u8],
    name: &Path,
    options: &LoadOptions,
    files: &dyn Files,
) -> Result<Loaded, LoadError> {
    let mut loader = WorkflowLoader::new(options, files);
    let workflow = loader.main(bytes, name);
    let (complaints, warnings) = loader.finish();
    match workflow {
        Some(workflow) if complaints.is_empty() => {
            Ok(Loaded { workflow, digest: Digest::sha256(bytes), warnings, path: name.to_owned() })
        }
        _ => Err(LoadError { complaints }),
    }
}

/// One load: the report and what all its files share.
pub(super) struct WorkflowLoader<'a> {
    pub options: &'a LoadOptions,
    pub report: LoadReport,
    pub(super) files: &'a dyn Files,
    calls: usize,
}

/// The settings of one workflow file.
pub(super) struct FileScope {
    pub catalog: Catalog,
    /// Clients by name; known once the file itself has been looked into.
    pub clients: Clients,
    /// The file: its name is used in messages, and other paths are relative to it.
    pub path: PathBuf,
    /// The files that led here, this one last.
    chain: Vec<PathBuf>,
}

impl<'a> WorkflowLoader<'a> {
    pub fn new(options: &'a LoadOptions, files: &'a dyn Files) -> Self {
        Self { options, report: LoadReport::default(), files, calls: 0 }
    }

    /// Returns errors and warnings.
    pub fn finish(self) -> (Vec<Diagnostic>, Vec<Diagnostic>) {
        self.report.finish(self.options.strict)
    }

    /// Reads the first file.
    pub fn main(&mut self, bytes: &[u8], path: &Path) -> Option<Workflow> {
        // The first source, so that its complaints come first.
        let root = self.tree(bytes, path)?;
        let catalog = self.first_catalog(path);
        let chain = vec![self.files.identity(path)];
        self.workflow(root, FileScope { catalog, clients: Clients::new(), path: path.to_owned(), chain })
    }

    /// Complains about a path that leaves its base through a link.
    pub fn stays_in(&mut self, base: &Path, text: &str, place: FileOffset, path: &KeyPath) -> bool {
        let Some(to) = self.files.leads_out(base, text) else { return true };
        let (base, to) = (display_path(base, self.options), display_path(&to, self.options));
        let what = format!("found {}: a link leads it out of {base}, to {to}", quote(text));
        self.report.error(place, path, what, "expected a path that stays in there");
        false
    }

    /// Complains about the value of a map key, if it exists, as `stays_in` does.
    pub fn value_stays_in(&mut self, base: &Path, view: &MapView<'_>, key: &str) -> bool {
        let (place, path) = (view.value_place(key), view.path.key(key));
        view.text(key).is_none_or(|text| self.stays_in(base, text, place, &path))
    }

    /// Reads the file that a subworkflow step calls; complaints about the call go to `place`.
    pub fn child(
        &mut self,
        called: &str,
        place: FileOffset,
        key: &KeyPath,
        parent: &FileScope,
    ) -> Option<Workflow> {
        let base = folder(&parent.path);
        if !self.stays_in(base, called, place, key) {
            return None;
        }
        let path = tidy(&base.join(called));
        let identity = self.files.identity(&path);
        self.calls += 1;
        if let Err(what) = self.check_call(&identity, parent) {
            self.report.error(place, key, what, "");
            return None;
        }
        let bytes = match self.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let what = format!("cannot read {}: {}", display_path(&path, self.options), reason(&error));
                self.report.error(place, key, what, "");
                return None;
            }
        };
        let before = self.report.count();
        let root = self.tree(&bytes, &path)?;
        let mut catalog = parent.catalog.clone();
        self.catalog_in_folder(&path, &mut catalog);
        let chain = parent.chain.iter().cloned().chain([identity]).collect();
        let workflow = self.workflow(root, FileScope { catalog, clients: Clients::new(), path, chain });
        workflow.filter(|_| self.report.count() == before)
    }

    fn check_call(&self, identity: &Path, parent: &FileScope) -> Result<(), String> {
        if parent.chain.last().is_some_and(|file| file == identity) {
            return Err("this file calls itself".to_owned());
        }
        if let Some(first) = parent.chain.iter().position(|file| file == identity) {
            let names: Vec<String> = parent.chain.iter().skip(first).map(|file| display_name(file)).collect();
            let last = display_name(identity);
            return Err(format!("a cycle of workflows: {} -> {last}", names.join(" -> ")));
        }
        let depth = self.options.max_subworkflow_depth;
        if parent.chain.len() > usize::try_from(depth).unwrap_or(usize::MAX) {
            return Err(format!("subworkflows are nested deeper than {depth} levels"));
        }
        if self.calls > MOST_CALLS {
            return Err(format!("more than {MOST_CALLS} calls of subworkflows in all"));
        }
        Ok(())
    }

    fn tree(&mut self, bytes: &[u8], path: &Path) -> Option<TreeNode> {
        file::tree(bytes, display_path(path, self.options), &mut self.report)
    }

    /// Reads the catalogs that are named, or else the one in the directory of the file.
    fn first_catalog(&mut self, path: &Path) -> Catalog {
        let mut catalog = Catalog::default();
        let listed = self.options.agents_env.as_deref().unwrap_or_default();
        let named = listed.split(':').filter(|name| !name.is_empty()).map(PathBuf::from);
        let named: Vec<PathBuf> = named.chain(self.options.agents_files.iter().cloned()).collect();
        for file in &named {
            match self.files.read(file) {
                Ok(bytes) => self.add_catalog(&bytes, file, &mut catalog),
                Err(error) => {
                    let what = format!("cannot read the agent catalog: {}", reason(&error));
                    self.report.add_unreadable(display_path(file, self.options), what);
                    catalog.is_partial = true;
                }
            }
        }
        if named.is_empty() {
            self.catalog_in_folder(path, &mut catalog);
        }
        catalog
    }

    fn catalog_in_folder(&mut self, path: &Path, catalog: &mut Catalog) {
        for name in ["agents.yaml", "agents.yml"] {
            let file = tidy(&folder(path).join(name));
            match self.files.read(&file) {
                Ok(bytes) => return self.add_catalog(&bytes, &file, catalog),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let what = format!("cannot read the agent catalog: {}", reason(&error));
                    self.report.add_unreadable(display_path(&file, self.options), what);
                    catalog.is_partial = true;
                    return;
                }
            }
        }
    }

    fn add_catalog(&mut self, bytes: &[u8], path: &Path, catalog: &mut Catalog) {
        match self.tree(bytes, path) {
            Some(root) => catalog.add(root, &mut self.report),
            None => catalog.is_partial = true,
        }
    }
}

/// Returns the folder of a file; empty for a bare name.
fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn display_name(path: &Path) -> String {
    quote_name(&path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()))
}
