//! How the repository of a workspace stands: read from its files, without git, and without waiting for
//! whatever a worker has put in their place. Where its refs are in tables (`reftable`), git is asked.
//!
//! A switched branch, a moved HEAD, a new stash, a deleted `.git` and a switch in another checkout of
//! the same repository show as a difference between two [`Standing`]s, all else that happens to branches between two
//! lists of them. Where anything cannot be read, neither branch nor commit is known: a failed read is no absence. The same
//! holds for refs in tables that git does not read; the HEADs of other checkouts are not looked at there.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use unstuck_core::snapshot::Standing;
use unstuck_files::Read;
use unstuck_files::safe_dir;

use super::options::Branches;
use super::progress;
use super::reftable::Tables;
use crate::git::PinnedRepo;

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
    tables: Option<Known<Tables>>,
}

/// The content of HEAD if refs are in tables.
pub(super) const HEAD_IN_TABLES: &str = "ref: refs/heads/.invalid";

/// Maximum size of a list of packed refs, in bytes.
const PACKED_REFS_SIZE_MAX: u64 = 64 * 1024 * 1024;
/// Maximum size of a file with one line, in bytes.
const LINE_SIZE_MAX: u64 = 4096;
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
    pub(super) fn find(workspace: &Path) -> Known<Option<Self>> {
        for root in workspace.ancestors() {
            if let Some(repository) = Self::at(root)? {
                return Ok(Some(repository));
            }
        }
        Ok(None)
    }

    /// Returns where it is, for git.
    pub(super) fn bound(&self) -> PinnedRepo {
        PinnedRepo { own: self.own.clone(), common: self.common.clone() }
    }

    fn at(root: &Path) -> Known<Option<Self>> {
        let git = root.join(".git");
        let Some(metadata) = look(&git)? else { return Ok(None) };
        let own = if metadata.is_file() { linked(&git)? } else { Some(git) };
        let Some(own) = own else { return Ok(None) };
        let head = own.join("HEAD");
        if !read(&head, head.metadata())?.is_some_and(|it| it.is_file()) {
            return Ok(None);
        }
        let common = match line(&own.join("commondir"))? {
            Some(common) => own.join(common),
            None => own.clone(),
        };
        let is_in_tables =
            is_folder(&common.join("reftable"))? && line(&head)?.is_some_and(|head| head == HEAD_IN_TABLES);
        let tables = is_in_tables
            .then(|| Tables::read(root).map_err(|why| Unreadable { path: common.join("reftable"), why }));
        Ok(Some(Self { root: root.to_owned(), own, common, tables }))
    }

    /// Returns how it stands now.
    pub(super) fn standing(&self) -> Known<Standing> {
        if let Some(tables) = &self.tables {
            let tables = tables.as_ref().map_err(Clone::clone)?;
            return Ok(Standing {
                branch: tables.head.as_deref().and_then(branch_of),
                commit: tables.commit.clone(),
                stash: tables.refs.get("refs/stash").cloned(),
                elsewhere: BTreeMap::new(),
            });
        }
        let head = line(&self.own.join("HEAD"))?;
        let Some(head) = head.filter(|head| head != HEAD_IN_TABLES) else { return Ok(Standing::default()) };
        let branch = head.strip_prefix("ref: ").map(str::to_owned);
        let commit = match &branch {
            Some(name) => self.resolve(name)?,
            None => is_object_name(&head).then_some(head),
        };
        Ok(Standing {
            branch: branch.as_deref().and_then(branch_of),
            commit,
            stash: self.resolve("refs/stash")?,
            elsewhere: self.elsewhere()?,
        })
    }

    /// Returns the branches and their commits. A symbolic one is what its file says.
    pub(super) fn branches(&self) -> Known<Branches> {
        let mut found = Found { branches: Branches::new(), looks: LOOKS_MAX };
        if let Some(tables) = &self.tables {
            for (name, target) in &tables.as_ref().map_err(Clone::clone)?.refs {
                branch_of(name).map_or(Ok(()), |name| found.add(name, target.clone()))?;
            }
            return Ok(found.branches);
        }
        if let Some(packed) = text(&self.common.join("packed-refs"), PACKED_REFS_SIZE_MAX)? {
            for (name, target) in packed_refs(&packed) {
                let name = name.strip_prefix(BRANCHES).and_then(|name| name.strip_prefix('/'));
                if let Some(name) = name.filter(|_| is_object_name(target)) {
                    found.add(name.to_owned(), target.to_owned())?;
                }
            }
        }
        let (loose, tables) = (self.common.join(BRANCHES), self.common.join("reftable"));
        found.add_loose(&loose, "", 0)?;
        if look(&tables)?.is_some() {
            return Err(Unreadable { path: tables, why: "refs may be in it".to_owned() });
        }
        Ok(found.branches)
    }

    /// Returns a sentence for each operation of git in progress and each lock file.
    pub(super) fn unfinished(&self) -> Known<Vec<String>> {
        let head = line(&self.own.join("HEAD"))?;
        let branch = head.as_deref().and_then(|head| head.strip_prefix("ref: ")).filter(|it| is_plain(it));
        progress::unfinished(&self.root, (&self.own, &self.common), branch)
    }

    /// Says what is not seen of it, if refs are in tables.
    pub(super) fn unseen(&self) -> Option<&'static str> {
        const TAGS: &str =
            "its refs are in tables (reftable), of which tags and other refs are not looked at";
        const ALL: &str = "its refs are in tables (reftable), which git does not read here: what becomes of branches, \
                           tags and HEAD is not seen";
        self.tables.as_ref().map(|tables| if tables.is_ok() { TAGS } else { ALL })
    }

    fn resolve(&self, name: &str) -> Known<Option<String>> {
        if !is_plain(name) {
            return Ok(None);
        }
        let loose = line(&self.common.join(name))?.filter(|target| is_object_name(target));
        if loose.is_some() {
            return Ok(loose);
        }
        let packed = text(&self.common.join("packed-refs"), PACKED_REFS_SIZE_MAX)?;
        let find = |list: String| {
            packed_refs(&list).find(|(packed, _)| *packed == name).map(|(_, target)| target.to_owned())
        };
        Ok(packed.and_then(find))
    }

    fn elsewhere(&self) -> Known<BTreeMap<String, String>> {
        let mut heads = BTreeMap::new();
        let mut add = |name: String, folder: &Path| {
            if folder != self.own
                && let Some(head) = line(&folder.join("HEAD"))?
            {
                heads.insert(name, head);
            }
            Ok(())
        };
        if self.own != self.common {
            add(String::new(), &self.common)?;
        }
        let real = |folder: &Path| read(folder, folder.canonicalize());
        let own = real(&self.own)?;
        for folder in entries(&self.common.join("worktrees"))? {
            if real(&folder)?.is_some_and(|folder| Some(&folder) != own.as_ref()) {
                add(name_of(&folder), &folder)?;
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
struct Found {
    branches: Branches,
    /// Number of files and folders that may still be visited.
    looks: usize,
}

impl Found {
    /// Adds the branches that have their own file, which takes precedence over packed refs.
    fn add_loose(&mut self, folder: &Path, prefix: &str, depth: usize) -> Known<()> {
        let unknown = |why: &str| Unreadable { path: folder.to_owned(), why: why.to_owned() };
        if depth > BRANCH_DEPTH_MAX {
            return Err(unknown("there are too many folders in one another"));
        }
        match look(folder)? {
            None => return Ok(()),
            Some(seen) if seen.is_dir() => {}
            Some(_) => return Err(unknown("it is not a folder")),
        }
        for path in entries(folder)? {
            self.looks = self.looks.checked_sub(1).ok_or_else(|| unknown("there are too many files"))?;
            let Some(seen) = look(&path)? else { continue };
            let Some(name) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let name = format!("{prefix}{name}");
            if seen.is_dir() {
                self.add_loose(&path, &format!("{name}/"), depth + 1)?;
            } else if seen.is_file()
                && let Some(target) =
                    line(&path)?.filter(|target| is_object_name(target) || target.starts_with("ref: "))
            {
                self.add(name, target)?;
            }
        }
        Ok(())
    }

    fn add(&mut self, name: String, target: String) -> Known<()> {
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

/// Returns the first part of a path.
pub(super) fn first_part(path: &[u8]) -> &[u8] {
    path.split(|&byte| byte == b'/').next().unwrap_or_default() // no read
}

/// Returns the names in a list of packed refs, each with its target.
pub(super) fn packed_refs(list: &str) -> impl Iterator<Item = (&str, &str)> {
    list.lines().filter_map(|line| line.split_once(' ')).map(|(target, name)| (name, target))
}

/// Says whether git makes refs of such a name.
pub(super) fn is_ref_name(name: &str) -> bool {
    !name.contains(|it: char| it.is_control() || it == ' ') && !name.ends_with(".lock")
}

/// Something of a repository that may exist and cannot be read.
#[derive(Clone, Debug, thiserror::Error)]
#[error("{} cannot be read ({why})", path.display())]
pub(super) struct Unreadable {
    pub(super) path: PathBuf,
    why: String,
}

/// The result of reading a value, which is `None` where it is absent; an error never means absence.
pub(super) type Known<T> = Result<T, Unreadable>;

/// Keeps absence and errors apart.
fn known<T>(path: &Path, read: Read<T>) -> Known<Option<T>> {
    read.known().map_err(|why| Unreadable { path: path.to_owned(), why })
}

fn read<T>(path: &Path, result: io::Result<T>) -> Known<Option<T>> {
    known(path, Read::from_io(result))
}

pub(super) fn look(path: &Path) -> Known<Option<fs::Metadata>> {
    read(path, path.symlink_metadata())
}

pub(super) fn is_folder(path: &Path) -> Known<bool> {
    Ok(look(path)?.is_some_and(|it| it.is_dir()))
}

/// Returns the paths of what is in a folder, in no order; of one that does not exist, none.
pub(super) fn entries(folder: &Path) -> Known<Vec<PathBuf>> {
    let Some(entries) = read(folder, fs::read_dir(folder))? else { return Ok(Vec::new()) };
    let unreadable = |error: io::Error| Unreadable { path: folder.to_owned(), why: error.to_string() };
    entries.map(|entry| Ok(entry.map_err(unreadable)?.path())).collect()
}

pub(super) fn name_of(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).into_iter().collect()
}

/// Returns the folder that the `.git` file of a worktree or submodule names.
fn linked(file: &Path) -> Known<Option<PathBuf>> {
    let text = line(file)?;
    let named = text.as_deref().and_then(|text| text.strip_prefix("gitdir:"));
    Ok(named.and_then(|named| Some(file.parent()?.join(named.trim()))))
}

fn line(path: &Path) -> Known<Option<String>> {
    Ok(text(path, LINE_SIZE_MAX)?.map(|text| text.trim().to_owned()).filter(|text| !text.is_empty()))
}

/// Reads a file of text. A folder with its name is none: refs may be in it.
fn text(path: &Path, size_max: u64) -> Known<Option<String>> {
    match look(path)? {
        None => return Ok(None),
        Some(seen) if seen.is_dir() => return Ok(None),
        Some(seen) if seen.is_file() => {}
        Some(_) => {
            let why = "it is not a regular file".to_owned();
            return Err(Unreadable { path: path.to_owned(), why });
        }
    }
    let file = Read::from_io(safe_dir::open_file(path));
    let bytes = known(path, file.and_then(|file| safe_dir::read_small(file, size_max)))?;
    Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
}

/// Says whether a text is the name of an object of git, written out.
pub(super) fn is_object_name(text: &str) -> bool {
    matches!(text.len(), 40 | 64) && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// Returns a sentence for each operation of git in progress in the repository of a folder, and each lock file.
///
/// # Errors
///
/// The repository cannot be read; the text says what.
pub fn unfinished(workspace: &Path) -> Result<Vec<String>, String> {
    let found = Repository::find(workspace).and_then(|it| match it {
        Some(repository) => repository.unfinished(),
        None => Ok(Vec::new()),
    });
    found.map_err(|why| why.to_string())
}
