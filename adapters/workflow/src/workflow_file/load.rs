//! Reads workflow files, and the files they refer to: agent catalogs and subworkflows.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::workflow::Workflow;
use unstuck_document::diagnostic::{Diagnostic, KeyPath, Location, Report, named, quoted};
use unstuck_document::file;
use unstuck_document::file::reason;
use unstuck_document::map_view::MapView;
use unstuck_document::node::Node;
use unstuck_workers::Clients;

use super::catalog::Catalog;
use crate::workflow_file::{Files, Options, shown, tidy};

/// So many calls of subworkflows are followed in all.
const MOST_CALLS: usize = 256;

/// One load: the report and what all its files share.
pub(super) struct Loader<'a> {
    pub options: &'a Options,
    pub report: Report,
    pub(super) files: &'a dyn Files,
    calls: usize,
}

/// The settings of one workflow file.
pub(super) struct Scope {
    pub catalog: Catalog,
    /// Clients by name; known once the file itself has been looked into.
    pub clients: Clients,
    /// The file: its name is used in messages, and other paths are relative to it.
    pub path: PathBuf,
    /// The files that led here, this one last.
    chain: Vec<PathBuf>,
}

impl<'a> Loader<'a> {
    pub fn new(options: &'a Options, files: &'a dyn Files) -> Self {
        Self { options, report: Report::default(), files, calls: 0 }
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
        self.workflow(&root, Scope { catalog, clients: Clients::new(), path: path.to_owned(), chain })
    }

    /// Complains about a path that leaves its base through a link.
    pub fn stays_in(&mut self, base: &Path, text: &str, place: Location, path: &KeyPath) -> bool {
        let Some(to) = self.files.leads_out(base, text) else { return true };
        let (base, to) = (shown(base, self.options), shown(&to, self.options));
        let what = format!("found {}: a link leads it out of {base}, to {to}", quoted(text));
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
        place: Location,
        key: &KeyPath,
        parent: &Scope,
    ) -> Option<Workflow> {
        let base = folder(&parent.path);
        if !self.stays_in(base, called, place, key) {
            return None;
        }
        let path = tidy(&base.join(called));
        let identity = self.files.identity(&path);
        self.calls += 1;
        if let Err(what) = self.may_call(&identity, parent) {
            self.report.error(place, key, what, "");
            return None;
        }
        let bytes = match self.files.read(&path) {
            Ok(bytes) => bytes,
            Err(error) => {
                let what = format!("cannot read {}: {}", shown(&path, self.options), reason(&error));
                self.report.error(place, key, what, "");
                return None;
            }
        };
        let before = self.report.count();
        let root = self.tree(&bytes, &path)?;
        let mut catalog = parent.catalog.clone();
        self.catalog_beside(&path, &mut catalog);
        let chain = parent.chain.iter().cloned().chain([identity]).collect();
        let workflow = self.workflow(&root, Scope { catalog, clients: Clients::new(), path, chain });
        workflow.filter(|_| self.report.count() == before)
    }

    fn may_call(&self, identity: &Path, parent: &Scope) -> Result<(), String> {
        if parent.chain.last().is_some_and(|file| file == identity) {
            return Err("this file calls itself".to_owned());
        }
        if let Some(first) = parent.chain.iter().position(|file| file == identity) {
            let names: Vec<String> = parent.chain.iter().skip(first).map(|file| name_of(file)).collect();
            return Err(format!("a cycle of workflows: {} -> {}", names.join(" -> "), name_of(identity)));
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

    fn tree(&mut self, bytes: &[u8], path: &Path) -> Option<Node> {
        file::tree(bytes, shown(path, self.options), &mut self.report)
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
                    self.report.unreadable(shown(file, self.options), what);
                    catalog.is_partial = true;
                }
            }
        }
        if named.is_empty() {
            self.catalog_beside(path, &mut catalog);
        }
        catalog
    }

    fn catalog_beside(&mut self, path: &Path, catalog: &mut Catalog) {
        for name in ["agents.yaml", "agents.yml"] {
            let file = tidy(&folder(path).join(name));
            match self.files.read(&file) {
                Ok(bytes) => return self.add_catalog(&bytes, &file, catalog),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                Err(error) => {
                    let what = format!("cannot read the agent catalog: {}", reason(&error));
                    self.report.unreadable(shown(&file, self.options), what);
                    catalog.is_partial = true;
                    return;
                }
            }
        }
    }

    fn add_catalog(&mut self, bytes: &[u8], path: &Path, catalog: &mut Catalog) {
        match self.tree(bytes, path) {
            Some(root) => catalog.add(&root, &mut self.report),
            None => catalog.is_partial = true,
        }
    }
}

/// Returns the folder of a file; empty for a bare name.
fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or(Path::new(""))
}

fn name_of(path: &Path) -> String {
    named(&path.file_name().map_or_else(|| path.to_string_lossy(), |name| name.to_string_lossy()))
}
