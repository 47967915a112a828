//! How the repository of a workspace stands: read from its files, without git, and without waiting for
//! whatever a worker has put in their place. Where its refs are in tables (`reftable`), git is asked.
//!
//! A switched branch, a moved HEAD, a new stash, a deleted `.git` and a switch in another checkout of
//! the same repository show as a difference between two [`RepositoryState`]s, all else that happens to branches between
//! two lists of them. Where anything cannot be read, neither branch nor commit is known: a failed read is no absence. The same
//! holds for refs in tables that git does not read; the HEADs of other checkouts are not looked at there.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::git_files::{
    RepoResult, Unreadable, entries, file_name, if_exists, is_folder, is_object_name, is_ref_name, metadata,
    packed_refs, read_line, read_text,
};
use super::options::BranchTargets;
use super::progress;
use super::reftable::Reftable;
use crate::git::PinnedRepo;
use unstuck_core::snapshot::RepositoryState;

/// A repository that a workspace is in.
#[derive(Debug)]
pub(super) struct Repository {
    /// The folder that holds `.git`.
    pub(super) root: PathBuf,
    /// The folder that holds HEAD.
    own: PathBuf,
    /// The folder that holds refs and objects.
    common: PathBuf,
    /// Its refs, as git reports them, if they are in tables.
    tables: Option<RepoResult<Reftable>>,
}

/// The content of HEAD if refs are in tables.
pub(super) const HEAD_IN_TABLES: &str = "ref: refs/heads/.invalid";

/// Maximum size of a list of packed refs, in bytes.
const PACKED_REFS_SIZE_MAX: u64 = 64 * 1024 * 1024;
/// Maximum number of other checkouts to read.
const CHECKOUTS_MAX: usize = 50;
/// Maximum number of branches to list.
const BRANCHES_MAX: usize = 20_000;
/// Maximum number of files and folders to visit for branches.
const LOOKS_MAX: usize = 100_000;
/// Maximum number of folders in the name of a branch.
const BRANCH_DEPTH_MAX: usize = 20;
const BRANCHES: &str = "refs/heads";

impl Repository {
    /// Finds the repository of a workspace: in it, or in a folder above.
    pub(super) fn find(workspace: &Path) -> RepoResult<Option<Self>> {
        for root in workspace.ancestors() {
            if let Some(repository) = Self::open_at(root)? {
                return Ok(Some(repository));
            }
        }
        Ok(None)
    }

    /// Returns where it is, for git.
    pub(super) fn pinned(&self) -> PinnedRepo {
        PinnedRepo { own: self.own.clone(), common: self.common.clone() }
    }

    fn open_at(root: &Path) -> RepoResult<Option<Self>> {
        let git = root.join(".git");
        let Some(metadata) = metadata(&git)? else { return Ok(None) };
        let own = if metadata.is_file() { linked_folder(&git)? } else { Some(git) };
        let Some(own) = own else { return Ok(None) };
        let head = own.join("HEAD");
        if !if_exists(&head, head.metadata())?.is_some_and(|metadata| metadata.is_file()) {
            return Ok(None);
        }
        let common = match read_line(&own.join("commondir"))? {
            Some(common) => own.join(common),
            None => own.clone(),
        };
        let is_in_tables = is_folder(&common.join("reftable"))?
            && read_line(&head)?.is_some_and(|head| head == HEAD_IN_TABLES);
        let tables = is_in_tables
            .then(|| Reftable::read(root).map_err(|why| Unreadable { path: common.join("reftable"), why }));
        Ok(Some(Self { root: root.to_owned(), own, common, tables }))
    }

    /// Returns how it stands now.
    pub(super) fn standing(&self) -> RepoResult<RepositoryState> {
        if let Some(tables) = &self.tables {
            let tables = tables.as_ref().map_err(Clone::clone)?;
            return Ok(RepositoryState {
                branch: tables.head.as_deref().and_then(branch_of),
                commit: tables.commit.clone(),
                stash: tables.refs.get("refs/stash").cloned(),
                elsewhere: BTreeMap::new(),
            });
        }
        let head = read_line(&self.own.join("HEAD"))?;
        let Some(head) = head.filter(|head| head != HEAD_IN_TABLES) else {
            return Ok(RepositoryState::default());
        };
        let branch = head.strip_prefix("ref: ").map(str::to_owned);
        let commit = match &branch {
            Some(name) => self.resolve(name)?,
            None => is_object_name(&head).then_some(head),
        };
        Ok(RepositoryState {
            branch: branch.as_deref().and_then(branch_of),
            commit,
            stash: self.resolve("refs/stash")?,
            elsewhere: self.other_heads()?,
        })
    }

    /// Returns the branches and their commits. A symbolic one is what its file says.
    pub(super) fn branches(&self) -> RepoResult<BranchTargets> {
        let mut found = BranchList { branches: BranchTargets::new(), looks: LOOKS_MAX };
        if let Some(tables) = &self.tables {
            for (name, target) in &tables.as_ref().map_err(Clone::clone)?.refs {
                branch_of(name).map_or(Ok(()), |name| found.add(name, target.clone()))?;
            }
            return Ok(found.branches);
        }
        if let Some(packed) = read_text(&self.common.join("packed-refs"), PACKED_REFS_SIZE_MAX)? {
            for (name, target) in packed_refs(&packed) {
                let name = name.strip_prefix(BRANCHES).and_then(|name| name.strip_prefix('/'));
                if let Some(name) = name.filter(|_| is_object_name(target)) {
                    found.add(name.to_owned(), target.to_owned())?;
                }
            }
        }
        let (loose, tables) = (self.common.join(BRANCHES), self.common.join("reftable"));
        found.add_loose(&loose, "", 0)?;
        if metadata(&tables)?.is_some() {
            return Err(Unreadable { path: tables, why: "refs may be in it".to_owned() });
        }
        Ok(found.branches)
    }

    /// Returns a sentence for each operation of git in progress and each lock file.
    pub(super) fn unfinished(&self) -> RepoResult<Vec<String>> {
        let head = read_line(&self.own.join("HEAD"))?;
        let branch =
            head.as_deref().and_then(|head| head.strip_prefix("ref: ")).filter(|name| is_plain(name));
        progress::unfinished(&self.root, (&self.own, &self.common), branch)
    }

    /// Says what is not seen of it, if refs are in tables.
    pub(super) fn unseen_note(&self) -> Option<&'static str> {
        const TAGS: &str =
            "its refs are in tables (reftable), of which tags and other refs are not looked at";
        const ALL: &str = "its refs are in tables (reftable), which git does not read here: what becomes of branches, \
                           tags and HEAD is not seen";
        self.tables.as_ref().map(|tables| if tables.is_ok() { TAGS } else { ALL })
    }

    fn resolve(&self, name: &str) -> RepoResult<Option<String>> {
        if !is_plain(name) {
            return Ok(None);
        }
        let loose = read_line(&self.common.join(name))?.filter(|target| is_object_name(target));
        if loose.is_some() {
            return Ok(loose);
        }
        let packed = read_text(&self.common.join("packed-refs"), PACKED_REFS_SIZE_MAX)?;
        let find = |list: String| {
            packed_refs(&list).find(|(packed, _)| *packed == name).map(|(_, target)| target.to_owned())
        };
        Ok(packed.and_then(find))
    }

    fn other_heads(&self) -> RepoResult<BTreeMap<String, String>> {
        let mut heads = BTreeMap::new();
        let mut add = |name: String, folder: &Path| {
            if folder != self.own
                && let Some(head) = read_line(&folder.join("HEAD"))?
            {
                heads.insert(name, head);
            }
            Ok(())
        };
        if self.own != self.common {
            add(String::new(), &self.common)?;
        }
        let real = |folder: &Path| if_exists(folder, folder.canonicalize());
        let own = real(&self.own)?;
        for folder in entries(&self.common.join("worktrees"))? {
            if real(&folder)?.is_some_and(|folder| Some(&folder) != own.as_ref()) {
                add(file_name(&folder), &folder)?;
            }
        }
        Ok(heads.into_iter().take(CHECKOUTS_MAX).collect())
    }
}

/// Says whether the name of a ref leads to nowhere else than below the repository.
fn is_plain(name: &str) -> bool {
    !name.starts_with('/') && name.split('/').all(|part| part != "..")
}

/// Returns the name of a branch, without `refs/heads/`.
fn branch_of(name: &str) -> Option<String> {
    name.strip_prefix("refs/heads/").map(str::to_owned)
}

/// Branches as they are found.
struct BranchList {
    branches: BranchTargets,
    /// Number of files and folders that may still be visited.
    looks: usize,
}

impl BranchList {
    /// Adds the branches that have their own file, which takes precedence over packed refs.
    fn add_loose(&mut self, folder: &Path, prefix: &str, depth: usize) -> RepoResult<()> {
        let unknown = |why: &str| Unreadable { path: folder.to_owned(), why: why.to_owned() };
        if depth > BRANCH_DEPTH_MAX {
            return Err(unknown("there are too many folders in one another"));
        }
        match metadata(folder)? {
            None => return Ok(()),
            Some(seen) if seen.is_dir() => {}
            Some(_) => return Err(unknown("it is not a folder")),
        }
        for path in entries(folder)? {
            self.looks = self.looks.checked_sub(1).ok_or_else(|| unknown("there are too many files"))?;
            let Some(seen) = metadata(&path)? else { continue };
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let name = format!("{prefix}{name}");
            if seen.is_dir() {
                self.add_loose(&path, &format!("{name}/"), depth + 1)?;
            } else if seen.is_file()
                && let Some(target) =
                    read_line(&path)?.filter(|target| is_object_name(target) || target.starts_with("ref: "))
            {
                self.add(name, target)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, target: String) -> RepoResult<()> {
        if is_ref_name(&name) {
            self.branches.insert(name, target);
        }
        match self.branches.len() <= BRANCHES_MAX {
            true => Ok(()),
            false => Err(Unreadable { path: BRANCHES.into(), why: "there are too many branches".to_owned() }),
        }
    }
}

/// Returns whether a snapshot keeps a path below a `.git`: the small files of the repository, without files that only a
/// running git needs. Objects are kept elsewhere.
pub(super) fn keeps(path: &[u8]) -> bool {
    !path.ends_with(b"fsmonitor--daemon.ipc") && !path.ends_with(b".lock")
}

/// Returns the folder that the `.git` file of a worktree or submodule names.
fn linked_folder(file: &Path) -> RepoResult<Option<PathBuf>> {
    let text = read_line(file)?;
    let target = text.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
    Ok(target.and_then(|target| Some(file.parent()?.join(target.trim()))))
}

/// Returns a sentence for each operation of git in progress in the repository of a folder, and each lock file.
///
/// # Errors
///
/// The repository cannot be read; the text says what.
pub fn unfinished(workspace: &Path) -> Result<Vec<String>, String> {
    let found = Repository::find(workspace).and_then(|repository| match repository {
        Some(repository) => repository.unfinished(),
        None => Ok(Vec::new()),
    });
    found.map_err(|why| why.to_string())
}
