//! Restores the workspace from a snapshot.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use unstuck_core::snapshot::Snapshot;
use unstuck_core::state::ExternalChange;
use unstuck_files::error::with_causes;
use unstuck_files::safe_dir;

use super::change::differences;
use super::error::{SnapshotError, SnapshotResult, io};
use super::options::Git;
use super::plan::{self, RestorePlan};
use super::restore::{self, NotRestored, RestoreReport, RestoreSides};
use super::root_tree::Parts;
use super::snapshots::Snapshots;
use super::store::ObjectStore;
use super::{attributes, git_restore, permissions, tree};

/// What [`Snapshots::restore`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RestoreOutcome {
    /// The workspace as it was until then; restoring it undoes this.
    pub before: Snapshot,
    /// The changes to the workspace.
    pub files: RestoreReport,
    /// The changes to the repository: sentences of which it is the subject.
    pub repository: Vec<String>,
}

impl Snapshots {
    /// Restores the files of the workspace, untracked ones too. A snapshot of the present files
    /// is taken first; it is for the caller to [keep](Self::keep). Files that are as they were are not
    /// written; ignored files that were not there stay, as does everything that one of the two snapshots
    /// does not cover.
    ///
    /// # Errors
    ///
    /// The snapshot is missing or damaged, or the present files cannot be saved first; then nothing was changed.
    /// Files that the system refused to change are in the result.
    pub fn restore(&self, snapshot: &Snapshot, git: Git) -> SnapshotResult<RestoreOutcome> {
        self.restore_by(snapshot, git, &RestorePlan::default())
    }

    /// As [`Self::restore`], but what others than the run changed stays as the plan says.
    ///
    /// # Errors
    ///
    /// As [`Self::restore`].
    pub fn restore_by(
        &self,
        snapshot: &Snapshot,
        git: Git,
        plan: &RestorePlan,
    ) -> SnapshotResult<RestoreOutcome> {
        fs::create_dir_all(&self.workspace).map_err(io("create", &self.workspace))?;
        let before = self.take(Some(snapshot))?;
        let mut folders = self.other_permissions(&before, snapshot)?;
        folders.retain(|path, _| !plan.kept_access.contains(path));
        let new = self.new_uncovered(&before, snapshot)?;
        permissions::apply_writable(&self.root()?, &folders);
        let mut files = self.put_back_but(&before, snapshot, &|_| true, &plan.kept)?;
        for (of_others, paths) in &plan.targets {
            let is_meant = |path: &Path| paths.contains(&*safe_dir::as_bytes(path));
            files.extend(self.put_back(&before, of_others, &is_meant)?);
        }
        files.permissions = permissions::apply(&self.root()?, &folders);
        self.give_attributes(&before, snapshot, plan, &folders, &mut files)?;
        files.stayed.extend(new.into_iter().filter(|path| files.left.iter().all(|left| left.path != *path)));
        let mut repository = Vec::new();
        if git == Git::PutBack {
            match git_restore::rewind(self, &before, snapshot) {
                Ok(rewound) => {
                    repository = rewound.done;
                    files.left.extend(rewound.left);
                    files.is_full |= rewound.is_full;
                }
                // The files are restored by now, so this is reported with them.
                Err(error) => {
                    files.is_full |= error.is_full();
                    let why = format!("is not what it was: {}", with_causes(&error));
                    files.left.push(NotRestored { path: ".git".into(), why });
                }
            }
        }
        Ok(RestoreOutcome { before, files, repository })
    }

    /// Plans how the workspace, which is as `now` says, becomes what it was `then`. In the `gaps`, in order, others than the
    /// run changed it: what they made of it stays.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn plan(
        &self,
        then: &Snapshot,
        now: &Snapshot,
        gaps: &[ExternalChange],
    ) -> SnapshotResult<RestorePlan> {
        plan::plan(&self.store, then, now, gaps)
    }

    /// Restores the attributes of files and folders that differ in nothing else, and the access lists of folders whose
    /// permissions were set.
    fn give_attributes(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        plan: &RestorePlan,
        folders: &BTreeMap<Vec<u8>, u32>,
        files: &mut RestoreReport,
    ) -> SnapshotResult<()> {
        let (now, then) = (Parts::read(&self.store, now)?, Parts::read(&self.store, then)?);
        let (of_now, of_then) = (now.attributes(&self.store)?, then.attributes(&self.store)?);
        let has_list = |path: &&Vec<u8>| of_then.get(path).is_some_and(|attributes| !attributes.is_empty());
        let mut paths = of_now.differing(&of_then);
        paths.extend(folders.keys().filter(has_list).cloned());
        let root = self.root()?;
        for path in paths.into_iter().filter(|path| !plan.kept_access.contains(path)) {
            let both = (now.find(&self.store, &path)?, then.find(&self.store, &path)?);
            let is_same = path.is_empty() || both.0.is_some() && both.0 == both.1;
            let are_folders =
                [both.0, both.1].iter().all(|state| state.is_some_and(|place| place.is_folder()));
            let (Some(was), Some(is)) = (of_then.get(&path), of_now.get(&path)) else { continue };
            if !is_same && !are_folders || plan.kept.contains(&path) {
                continue;
            }
            let shown = safe_dir::as_path(&path).into_owned();
            let refused = restore::give_attributes(&root, &path, are_folders || path.is_empty(), is, was);
            match refused {
                Ok(()) if files.permissions.contains(&shown) => {}
                Ok(()) => files.permissions.push(shown),
                Err(why) => files.left.push(NotRestored { path: shown, why }),
            }
        }
        Ok(())
    }

    /// Returns the folders that exist in both snapshots with different permissions, and the earlier permissions.
    fn other_permissions(&self, now: &Snapshot, then: &Snapshot) -> SnapshotResult<BTreeMap<Vec<u8>, u32>> {
        let (now, then) = (Parts::read(&self.store, now)?, Parts::read(&self.store, then)?);
        let differing = now.permissions(&self.store)?.differing(&then.permissions(&self.store)?);
        let attributes = then.attributes(&self.store)?;
        let mut folders = BTreeMap::new();
        for (path, bits) in differing {
            let is_folder = |of: &Parts| {
                Ok::<_, SnapshotError>(of.find(&self.store, &path)?.is_some_and(|state| state.is_folder()))
            };
            if path.is_empty() || is_folder(&now)? && is_folder(&then)? {
                let bits = attributes
                    .get(&path)
                    .map_or(bits, |attributes| attributes::without_list(bits, attributes));
                folders.insert(path, bits);
            }
        }
        Ok(folders)
    }

    /// Returns new paths that cannot be read, such as pipes.
    fn new_uncovered(&self, now: &Snapshot, then: &Snapshot) -> SnapshotResult<Vec<PathBuf>> {
        let then = Parts::read(&self.store, then)?;
        let (now, unknown) =
            (Parts::read(&self.store, now)?.uncovered(&self.store)?, then.uncovered(&self.store)?);
        let mut new = Vec::new();
        for path in now.work().filter(|path| unknown.reason(path).is_none()) {
            if then.find(&self.store, path)?.is_none() {
                new.push(safe_dir::as_path(path).into_owned());
            }
        }
        Ok(new)
    }

    /// Makes some files of the workspace, which is as `now` says, what they were `then`. All else stays.
    ///
    /// # Errors
    ///
    /// A snapshot is missing or damaged; then nothing was changed. Files that the system refused to change are in
    /// the result.
    pub fn put_back(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        is_asked: &dyn Fn(&Path) -> bool,
    ) -> SnapshotResult<RestoreReport> {
        self.put_back_but(now, then, is_asked, &BTreeSet::new())
    }

    /// As [`Self::put_back`], but without the files and folders that are `kept`.
    fn put_back_but(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        is_asked: &dyn Fn(&Path) -> bool,
        kept: &BTreeSet<Vec<u8>>,
    ) -> SnapshotResult<RestoreReport> {
        let (now, then) = (Parts::read(&self.store, now)?, Parts::read(&self.store, then)?);
        let sides = RestoreSides {
            before: now.uncovered(&self.store)?,
            after: then.uncovered(&self.store)?,
            permissions: then.permissions(&self.store)?,
            attributes: then.attributes(&self.store)?,
        };
        let is_meant = |path: &Path| is_asked(path) && !kept.contains(&*safe_dir::as_bytes(path));
        let mut differences = restore::select(differences(&self.store, &now, &then)?, &is_meant);
        differences.retain(|path, _| !kept.contains(path));
        restore::apply(&self.store, &self.root()?, &differences, &sides)
    }

    /// Takes a snapshot of another folder, a checkout that will not be looked at again, as if it were the
    /// workspace of this run: it can be compared with the snapshots of the workspace. It is kept under `name`.
    ///
    /// # Errors
    ///
    /// As [`Self::take`] and [`Self::keep`].
    pub fn of_checkout(&self, root: &Path, first: &Snapshot, name: &str) -> SnapshotResult<Snapshot> {
        let workspace = root.canonicalize().map_err(io("open", root))?;
        let store = ObjectStore::open(self.store.folder())?;
        let own = store.own_folder(&workspace);
        fs::create_dir_all(&own).map_err(io("create", &own))?;
        let (limits, skipped) = (self.limits.clone(), self.skipped.clone());
        let of_checkout = Self {
            store,
            workspace,
            own,
            limits,
            skipped,
            rules: Mutex::default(),
            own_output: Mutex::default(),
        };
        let snapshot = of_checkout.take(Some(first))?;
        of_checkout.keep(name, &snapshot)?;
        fs::remove_dir_all(&of_checkout.own).map_err(io("remove", &of_checkout.own))?;
        Ok(snapshot)
    }

    /// Writes the files of a snapshot, ignored ones too, to a folder that is empty or not there yet.
    ///
    /// # Errors
    ///
    /// The snapshot is gone or damaged; the folder is not empty or cannot be made.
    pub fn checkout(&self, snapshot: &Snapshot, to: &Path) -> SnapshotResult<RestoreReport> {
        let parts = Parts::read(&self.store, snapshot)?;
        let root = restore::empty_folder(to)?;
        let mut pairs = tree::compare(&self.store, None, parts.ignored())?;
        pairs.extend(tree::compare(&self.store, None, parts.work())?);
        let (permissions, attributes) = (parts.permissions(&self.store)?, parts.attributes(&self.store)?);
        let sides = RestoreSides { permissions, attributes, ..RestoreSides::default() };
        restore::apply(&self.store, &root, &restore::to_differences(pairs), &sides)
    }
}
