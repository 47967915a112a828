//! How the repository of a workspace stands: read from its files, without git, and without waiting for
//! whatever a worker has put in their place. Where its refs are in tables (`reftable`), git is asked.
//!
//! A switched branch, a moved HEAD, a new stash, a deleted `.git` and a switch in another checkout of
//! the same repository show as a difference between two [`Standing`]s, all else that happens to branches between two
//! lists of them. Of refs in tables that git does not read neither branch nor commit is known, nor are the HEADs of other
//! checkouts.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use unstuck_core::snapshot::Standing;

use super::tables::Tables;
use super::{Branches, folder};
use crate::git::Bound;

/// A repository that a workspace is in.
#[derive(Debug)]
pub(super) struct Repository {
    /// The folder that holds `.git`.
    pub(super) root: PathBuf,
    /// The folder that holds HEAD.
    own: PathBuf,
    /// The folder that holds refs and objects.
    common: PathBuf,
    /// Its refs, where they are in tables: what git says of them, if it does.
    tables: Option<Option<Tables>>,
}

/// What HEAD says where refs are in tables.
pub(super) const HEAD_IN_TABLES: &str = "ref: refs/heads/.invalid";

/// The largest list of packed refs that is read.
const PACKED_REFS_SIZE_MAX: u64 = 64 * 1024 * 1024;
/// The largest file of one line that is read.
const LINE_SIZE_MAX: u64 = 4096;
/// How many other checkouts are looked at.
const CHECKOUTS_MAX: usize = 50;
/// Most branches that are listed.
const BRANCHES_MAX: usize = 20_000;
/// How many files and folders are looked at for them.
const LOOKS_MAX: usize = 100_000;
/// How many folders may be in the name of a branch.
const BRANCH_DEPTH_MAX: usize = 20;
/// Where branches are.
const BRANCHES: &str = "refs/heads";

impl Repository {
    /// Finds the repository of a workspace: in it, or in a folder above.
    pub(super) fn find(workspace: &Path) -> Option<Self> {
        workspace.ancestors().find_map(Self::at)
    }

    /// Returns where it is, for git.
    pub(super) fn bound(&self) -> Bound {
        Bound { own: self.own.clone(), common: self.common.clone() }
    }

    fn at(root: &Path) -> Option<Self> {
        let git = root.join(".git");
        let metadata = fs::symlink_metadata(&git).ok()?;
        let own = if metadata.is_file() { linked(&git)? } else { git };
        if !own.join("HEAD").is_file() {
            return None;
        }
        let common = match line(&own.join("commondir")) {
            Some(common) => own.join(common),
            None => own.clone(),
        };
        let is_in_tables = common.join("reftable").is_dir()
            && line(&own.join("HEAD")).is_some_and(|head| head == HEAD_IN_TABLES);
        let tables = is_in_tables.then(|| Tables::read(root));
        Some(Self { root: root.to_owned(), own, common, tables })
    }

    /// Returns how it stands now.
    pub(super) fn standing(&self) -> Standing {
        if let Some(Some(tables)) = &self.tables {
            return Standing {
                branch: tables.head.as_deref().and_then(branch_of),
                commit: tables.commit.clone(),
                stash: tables.refs.get("refs/stash").cloned(),
                elsewhere: BTreeMap::new(),
            };
        }
        let head = line(&self.own.join("HEAD")).filter(|head| head != HEAD_IN_TABLES);
        let head = head.unwrap_or_default();
        let branch = head.strip_prefix("ref: ").map(str::to_owned);
        let commit = match &branch {
            Some(name) => self.resolve(name),
            None => is_object_name(&head).then_some(head),
        };
        Standing {
            branch: branch.as_deref().and_then(branch_of),
            commit,
            stash: self.resolve("refs/stash"),
            elsewhere: self.elsewhere(),
        }
    }

    /// Returns the branches and their commits; `None` where they are not known, or too many. A symbolic one is what its
    /// file says.
    pub(super) fn branches(&self) -> Option<Branches> {
        let mut found = Found { branches: Branches::new(), looks: LOOKS_MAX };
        if let Some(tables) = &self.tables {
            for (name, target) in &tables.as_ref()?.refs {
                branch_of(name).map_or(Some(()), |name| found.add(name, target.clone()))?;
            }
            return Some(found.branches);
        }
        let packed = self.common.join("packed-refs");
        if packed.symlink_metadata().is_ok() {
            for (name, target) in packed_refs(&text(&packed, PACKED_REFS_SIZE_MAX)?) {
                let name = name.strip_prefix(BRANCHES).and_then(|name| name.strip_prefix('/'));
                if let Some(name) = name.filter(|_| is_object_name(target)) {
                    found.add(name.to_owned(), target.to_owned())?;
                }
            }
        }
        found.add_loose(&self.common.join(BRANCHES), "", 0)?;
        // In tables, or gone.
        let is_known = self.common.join(BRANCHES).is_dir() && !self.common.join("reftable").exists();
        is_known.then_some(found.branches)
    }

    /// Says what is not seen of it, if refs are in tables.
    pub(super) fn unseen(&self) -> Option<&'static str> {
        const TAGS: &str =
            "its refs are in tables (reftable), of which tags and other refs are not looked at";
        const ALL: &str = "its refs are in tables (reftable), which git does not read here: what becomes of branches, \
                           tags and HEAD is not seen";
        self.tables.as_ref().map(|tables| if tables.is_some() { TAGS } else { ALL })
    }

    fn resolve(&self, name: &str) -> Option<String> {
        let leads_out = name.split('/').any(|part| part == "..");
        if leads_out || name.starts_with('/') {
            return None;
        }
        let loose = line(&self.common.join(name)).filter(|target| is_object_name(target));
        loose.or_else(|| {
            let packed = text(&self.common.join("packed-refs"), PACKED_REFS_SIZE_MAX)?;
            packed_refs(&packed).find(|(packed, _)| *packed == name).map(|(_, target)| target.to_owned())
        })
    }

    fn elsewhere(&self) -> BTreeMap<String, String> {
        let mut heads = BTreeMap::new();
        let mut add = |name: String, folder: &Path| {
            if folder != self.own
                && let Some(head) = line(&folder.join("HEAD"))
            {
                heads.insert(name, head);
            }
        };
        if self.own != self.common {
            add(String::new(), &self.common);
        }
        let own = self.own.canonicalize().unwrap_or_else(|_| self.own.clone());
        for entry in fs::read_dir(self.common.join("worktrees")).into_iter().flatten().flatten() {
            let folder = entry.path();
            if folder.canonicalize().is_ok_and(|folder| folder != own) {
                add(entry.file_name().to_string_lossy().into_owned(), &folder);
            }
        }
        heads.into_iter().take(CHECKOUTS_MAX).collect()
    }
}

/// Returns the name of a branch, without `refs/heads/`.
fn branch_of(name: &str) -> Option<String> {
    name.strip_prefix("refs/heads/").map(str::to_owned)
}

/// Branches as they are found.
struct Found {
    branches: Branches,
    /// How many more files and folders may be looked at.
    looks: usize,
}

impl Found {
    /// Adds the branches that have a file of their own, which goes before what is packed.
    fn add_loose(&mut self, folder: &Path, prefix: &str, depth: usize) -> Option<()> {
        if depth > BRANCH_DEPTH_MAX || !folder.symlink_metadata().ok()?.is_dir() {
            return None;
        }
        for entry in fs::read_dir(folder).ok()?.flatten() {
            self.looks = self.looks.checked_sub(1)?;
            let (Ok(kind), Ok(name)) = (entry.file_type(), entry.file_name().into_string()) else { continue };
            let name = format!("{prefix}{name}");
            if kind.is_dir() {
                self.add_loose(&entry.path(), &format!("{name}/"), depth + 1)?;
            } else if kind.is_file()
                && let Some(target) =
                    line(&entry.path()).filter(|target| is_object_name(target) || target.starts_with("ref: "))
            {
                self.add(name, target)?;
            }
        }
        Some(())
    }

    fn add(&mut self, name: String, target: String) -> Option<()> {
        if is_ref_name(&name) {
            self.branches.insert(name, target);
        }
        (self.branches.len() <= BRANCHES_MAX).then_some(())
    }
}

/// Says whether a path below a `.git` is kept with a snapshot: small files that make up the repository,
/// but not what only a running git needs. Objects have a place of their own.
pub(super) fn keeps(path: &[u8]) -> bool {
    !path.ends_with(b"fsmonitor--daemon.ipc") && !path.ends_with(b".lock")
}

/// Returns the first part of a path.
pub(super) fn first_part(path: &[u8]) -> &[u8] {
    path.split(|&byte| byte == b'/').next().unwrap_or_default()
}

/// Returns the names in a list of packed refs, and what each names.
pub(super) fn packed_refs(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines().filter_map(|line| line.split_once(' ')).map(|(target, name)| (name, target))
}

/// Says whether git makes refs of such a name.
pub(super) fn is_ref_name(name: &str) -> bool {
    !name.contains(|it: char| it.is_control() || it == ' ')
}

/// Returns the folder that the `.git` file of a worktree or submodule names.
fn linked(file: &Path) -> Option<PathBuf> {
    let text = line(file)?;
    Some(file.parent()?.join(text.strip_prefix("gitdir:")?.trim()))
}

fn line(path: &Path) -> Option<String> {
    Some(text(path, LINE_SIZE_MAX)?.trim().to_owned()).filter(|text| !text.is_empty())
}

fn text(path: &Path, size_max: u64) -> Option<String> {
    let bytes = folder::read_small(folder::open_file(path).ok()?, size_max)?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

/// Says whether a text is the name of an object of git, written out.
pub(super) fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}
