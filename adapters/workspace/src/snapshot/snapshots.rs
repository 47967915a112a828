//! Opens the snapshots of a workspace.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::id::Digest;
use unstuck_core::snapshot::{Exclusion, Snapshot};
use unstuck_files::own_stdout;
use unstuck_files::safe_dir::{self, SafeDir};

use super::error::{SnapshotError, SnapshotResult, io};
use super::excluded::{ExcludedPath, ExcludedReason};
use super::options::{Limits, SkippedPaths, SnapshotOptions};
use super::root_tree::Parts;
use super::rules::Rules;
use super::store::ObjectStore;
use super::walk::OwnOutput;

/// The snapshots of one workspace, in a folder that several workspaces may share.
#[derive(Debug)]
pub struct Snapshots {
    pub(super) store: ObjectStore,
    pub(super) workspace: PathBuf,
    /// The folder in the store for this workspace only.
    pub(super) own: PathBuf,
    pub(super) limits: Limits,
    pub(super) skipped: SkippedPaths,
    /// The rules of the run whose snapshots are taken, and the first of those.
    pub(super) rules: Mutex<Option<(Digest, Arc<Rules>)>>,
    /// The paths of Unstuck's own output in the workspace; `None` before the first look.
    pub(super) own_output: Mutex<Option<BTreeSet<Vec<u8>>>>,
}

impl Snapshots {
    /// Opens the snapshots of a workspace in `folder`, and creates the folder if necessary.
    ///
    /// Removes the unfinished files of a dead process, and rebuilds a damaged index.
    ///
    /// # Errors
    ///
    /// The workspace does not exist; `folder` holds something else, or damaged packs; another process has been writing
    /// for a minute.
    pub fn open(folder: &Path, workspace: &Path, options: &SnapshotOptions) -> SnapshotResult<Self> {
        let workspace = workspace.canonicalize().map_err(io("open the workspace", workspace))?;
        let store = ObjectStore::open(folder)?;
        let own = store.own_folder(&workspace);
        fs::create_dir_all(&own).map_err(io("create", &own))?;
        let mut paths: BTreeSet<_> = options.skipped.iter().map(|path| path_bytes(path)).collect();
        let folder = folder.canonicalize().map_err(io("open", folder))?;
        paths.extend(folder.strip_prefix(&workspace).ok().map(path_bytes)); // no read
        let skipped = SkippedPaths { paths, patterns: options.skipped_patterns.clone() };
        Ok(Self {
            store,
            workspace,
            own,
            limits: options.limits.clone(),
            skipped,
            rules: Mutex::default(),
            own_output: Mutex::default(),
        })
    }

    /// Says whether a snapshot is here. Its run may have been recorded elsewhere, or the folder with all of them may be lost.
    pub fn has(&self, snapshot: &Snapshot) -> bool {
        !matches!(self.find(snapshot), Err(SnapshotError::Missing { .. }))
    }

    /// Finds a snapshot.
    ///
    /// # Errors
    ///
    /// It is gone or damaged, or was never here.
    pub fn find(&self, snapshot: &Snapshot) -> SnapshotResult<()> {
        self.store.tree(&snapshot.id).map(drop)
    }

    pub(super) fn root(&self) -> SnapshotResult<SafeDir> {
        SafeDir::root(&self.workspace).map_err(io("open the workspace", &self.workspace))
    }

    /// Returns where our own output is written to: what this process prints into, and what it or another did before.
    ///
    /// Open files are asked for once only, before a worker can give one of them a second name.
    pub(super) fn own_output(&self, earlier: &[Option<&Snapshot>]) -> SnapshotResult<OwnOutput> {
        let known = self.own_output.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let files = if known.is_none() { own_stdout::files() } else { Vec::new() };
        let mut paths = known.unwrap_or_default(); // no read
        let has_some =
            |snapshot: &&Snapshot| snapshot.left_out.iter().any(|left| left.reason == Exclusion::OWN_OUTPUT);
        for snapshot in earlier.iter().copied().flatten().filter(has_some) {
            // no read
            let uncovered = Parts::read(&self.store, snapshot)?.uncovered(&self.store)?;
            paths.extend(uncovered.own_output().cloned());
        }
        Ok(OwnOutput { files, paths })
    }

    pub(super) fn remember_own_output(&self, known: OwnOutput, left: &[ExcludedPath]) {
        let found =
            left.iter().filter(|left| left.reason == ExcludedReason::OwnOutput).map(|left| left.path.clone());
        let paths = known.paths.into_iter().chain(found).collect();
        *self.own_output.lock().unwrap_or_else(PoisonError::into_inner) = Some(paths);
    }

    /// Returns the rules that the first snapshot of a run has kept, which are the same for all others.
    pub(super) fn rules_of(&self, first: &Snapshot) -> SnapshotResult<Arc<Rules>> {
        let mut kept = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules)) = kept.as_ref().filter(|(id, _)| *id == first.id) {
            return Ok(Arc::clone(rules));
        }
        let rules = Arc::new(Parts::read(&self.store, first)?.rules(&self.store)?);
        *kept = Some((first.id, Arc::clone(&rules)));
        Ok(rules)
    }
}

/// Name of the index in the folder of a workspace.
pub(super) const INDEX: &str = "index";

/// Name of the folder with the objects of the user's repository.
pub(super) const OBJECTS: &str = "objects";

/// Name of the folder with the objects of repositories within the workspace.
pub(super) const WITHIN: &str = "within";

/// Returns a path without `.` components, as bytes.
pub(super) fn path_bytes(path: &Path) -> Vec<u8> {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    safe_dir::as_bytes(&path).into_owned()
}
