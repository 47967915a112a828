//! Snapshots of the workspace: taken before and after every iteration, compared, and put back.
//!
//! A snapshot is a tree of everything in the workspace, whatever git thinks of it: committed, staged,
//! untracked, marked `assume-unchanged` or `skip-worktree`, in a nested repository or a submodule.
//! Unstuck walks the folders and reads the files itself. So no hook, filter, attribute, `fsmonitor`,
//! `textconv` or exclude of a repository can run or hide anything, a workspace without a repository
//! or a machine without git is no special case, and names are bytes. Nothing is written to the
//! workspace but by [`Snapshots::restore`]; the index, HEAD and branches are touched by it only if it is asked to.
//!
//! **Where it is kept.** In a bare git directory of our own, in git's format with SHA-256 names, which
//! any git since 2.29 can look into (`git --git-dir=... ls-tree -r unstuck/<run>/<n>`). It has no
//! alternates: nothing that a snapshot needs is in a place where a `git gc` of the user or a
//! worker could reach it, and no object of a worker is believed. Every object is checked against its
//! name when it is read.
//!
//! **What is quick.** Beside the objects, each workspace has an index with what the last snapshot
//! saw of every file (size, node, `mtime`, `ctime`). A file is read again unless all of it is the
//! same and the file had been left alone for a moment when it was read. So an edit of the same size
//! with its time put back (`touch -r`) is noticed: no program sets `ctime`.
//!
//! **What is ignored.** Judged by the `.gitignore` files of the *first* snapshot of a run, so that a
//! worker cannot hide a change behind a new rule, and by `.git/info/exclude` and the list of the user as they were then.
//! Each repository in the workspace has its own rules. What git tracked at the first snapshot is not ignored. Ignored files are
//! covered too as long as they are small (a `.env`), and marked in [`Change::ignored`]; an ignored folder
//! is covered as a whole or, with masses in it (`target`, `node_modules`), left out as a whole.
//!
//! **What is left out** is said in [`Snapshot::left_out`]: what exceeds [`Limits`], cannot be read, or is
//! no file, or is on another file system that is mounted in the workspace. The list is kept with the snapshot: what it does not cover is never deleted or
//! overwritten. What it looked like is kept, too, so that a change of it is seen ([`Snapshots::lost`]), though not what it
//! was; what changes in a folder that is left out is not seen. What our own output
//! is written to is left out too, for the whole run once a snapshot has found it, and never differs. A second name that it
//! is given later is a file like others.
//!
//! **What of git is kept.** Where HEAD, the stash and other checkouts stand is in
//! [`Snapshot::repository`], and all branches are a part of the snapshot. If `.git` is a folder in the workspace, its
//! small files (HEAD, refs, index, configuration) are a part, too, and its objects get a second name (`history`), and so do
//! those of submodules and of repositories in folders of the workspace (`inner`); so a
//! `.git` that a worker has deleted can be [put back](Git::PutBack) with all commits, and what was staged as well
//! (`rewind`). Not kept: what is staged where `.git` is no folder in the workspace, a `.git` above the workspace,
//! tags and the stash of refs in tables, and what `git lfs` and `git annex` store. A bare repository as workspace is a folder
//! like others.
//!
//! **What is assumed.** Nobody works in the workspace while files are put back: what is written at that
//! moment may be lost, though never outside of the workspace. Memory maps are written when the system
//! does so. Owners are not kept, nor which names belong to the same file. Access lists and attributes of users are, on Linux.
//!
//! Suggested reading order: `take`, `walk`, `mounts`, `rules`, `gitignore`, `cover`, `index`, `content`; `object`, `pack`,
//! `store`, `tree`, `permissions`, `attributes`, `readable`, `parts`; `change`, `diff`, `words`, `plan`, `restore`; `repository`, `progress`, `tables`, `refs`, `history`, `superseded`, `tracked`,
//! `rewind`.

mod attributes;
mod change;
mod content;
mod cover;
mod diff;
mod error;
mod gitignore;
mod history;
mod index;
mod inner;
mod left_out;
mod mounts;
mod object;
mod pack;
mod parts;
mod permissions;
mod plan;
mod progress;
mod readable;
mod refs;
mod repository;
mod restore;
mod rewind;
mod rules;
mod store;
mod superseded;
mod tables;
mod take;
mod tracked;
mod tree;
mod walk;
mod words;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::Write;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use unstuck_core::diffstat::ChangedFile;
use unstuck_core::id::Digest;
use unstuck_core::scope::Patterns;
use unstuck_core::state::Gap;
use unstuck_files::error::with_causes;

use change::differences;
use error::io;
use folder::Folder;
use index::Index;
use left_out::{Left, Uncovered};
use parts::Parts;
use restore::Sides;
use rules::Rules;
use store::Store;
use unstuck_files::folder;
use unstuck_files::own_output;
use walk::OwnOutput;

pub use change::{Change, ChangeKind};
pub use diff::DiffOptions;
pub use error::Error;
pub use inner::InnerBranch;
pub use left_out::{Loss, Lost, Reason, Unseen};
pub use plan::{Plan, has_other_names};
pub use restore::{Applied, NotRestored};
pub use unstuck_core::snapshot::{LeftOut, Snapshot, Standing};

/// How much a snapshot takes. What is beyond is left out and said to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The largest file.
    pub file_bytes_max: u64,
    /// All files together.
    pub bytes_max: u64,
    /// Files, links and folders that are looked at. Bounds the memory: about 200 bytes for each.
    pub files_max: u64,
    /// The largest ignored file.
    pub ignored_file_bytes_max: u64,
    /// Files in an ignored folder, with all below.
    pub ignored_folder_files_max: u64,
    /// Size of an ignored folder, with all below.
    pub ignored_folder_bytes_max: u64,
    /// Objects of the repository that are copied, where a second name cannot be had.
    pub history_bytes_max: u64,
}

impl Default for Limits {
    fn default() -> Self {
        const MIB: u64 = 1024 * 1024;
        Self {
            file_bytes_max: 100 * MIB,
            bytes_max: 2048 * MIB,
            files_max: 500_000,
            ignored_file_bytes_max: MIB,
            ignored_folder_files_max: 100,
            ignored_folder_bytes_max: 4 * MIB,
            history_bytes_max: 256 * MIB,
        }
    }
}

/// What is a part of a snapshot.
#[derive(Clone, Debug)]
pub struct Options {
    /// How much is taken.
    pub limits: Limits,
    /// Paths from the root of the workspace that are not looked at: what is ours and not the worker's.
    pub skipped: Vec<PathBuf>,
    /// What else of ours is not looked at, where only a pattern names it.
    pub skipped_patterns: Patterns,
}

impl Default for Options {
    fn default() -> Self {
        let skipped_patterns = Patterns::default();
        Self { limits: Limits::default(), skipped: Vec::new(), skipped_patterns }
    }
}

/// The branches of a repository, without `refs/heads/`, and their commits.
pub type Branches = BTreeMap<String, String>;

/// A branch that is not where it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MovedBranch {
    /// Its name, without `refs/heads/`.
    pub name: String,
    /// The commit that it was at.
    pub from: String,
    /// The commit that it is at; `None` where it is gone.
    pub to: Option<String>,
}

/// Files that are staged, and the names that git has for what is staged.
pub type Staged = BTreeMap<PathBuf, String>;

/// What becomes of the repository when files are put back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Git {
    /// Nothing.
    Leave,
    /// A deleted `.git` is restored. In an existing one, deleted branches, tags and stashes are restored; HEAD, its branch and the
    /// tags go back to where they were; so do the index and the configuration, if they were kept. Objects, other branches and
    /// new stashes stay.
    PutBack,
}

/// What [`Snapshots::restore`] did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The workspace as it was until then; restoring it undoes this.
    pub before: Snapshot,
    /// What was done in the workspace.
    pub files: Applied,
    /// What was done to the repository: sentences of which it is the subject.
    pub repository: Vec<String>,
}

/// The snapshots of one workspace, in a folder that several workspaces may share.
#[derive(Debug)]
pub struct Snapshots {
    store: Store,
    workspace: PathBuf,
    /// What of the store belongs to this workspace only.
    own: PathBuf,
    limits: Limits,
    skipped: Skipped,
    /// The rules of the run whose snapshots are taken, and the first of those.
    rules: Mutex<Option<(Digest, Arc<Rules>)>>,
    /// Where our own output is in the workspace; `None` before the first look.
    own_output: Mutex<Option<BTreeSet<Vec<u8>>>>,
}

/// What of a workspace is not looked at.
#[derive(Clone, Debug)]
struct Skipped {
    /// From the root of the workspace.
    paths: BTreeSet<Vec<u8>>,
    patterns: Patterns,
}

impl Skipped {
    fn has(&self, path: &[u8]) -> bool {
        self.paths.contains(path)
            || !self.patterns.is_empty() && str::from_utf8(path).is_ok_and(|it| self.patterns.match_any(it))
    }
}

impl Snapshots {
    /// Opens the snapshots in `folder`, which is made if need be, for a workspace.
    ///
    /// What a process that died has left unfinished is removed; a damaged index is made again.
    ///
    /// # Errors
    ///
    /// The workspace is not there; `folder` holds something else, or packs that are damaged; another
    /// process has been writing for a minute.
    pub fn open(folder: &Path, workspace: &Path, options: &Options) -> Result<Self, Error> {
        let workspace = workspace.canonicalize().map_err(io("open the workspace", workspace))?;
        let store = Store::open(folder)?;
        let own = store.own_folder(&workspace);
        fs::create_dir_all(&own).map_err(io("create", &own))?;
        let mut paths: BTreeSet<_> = options.skipped.iter().map(|path| plain(path)).collect();
        let folder = folder.canonicalize().map_err(io("open", folder))?;
        paths.extend(folder.strip_prefix(&workspace).ok().map(plain)); // no read
        let skipped = Skipped { paths, patterns: options.skipped_patterns.clone() };
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

    /// Takes a snapshot. What is ignored is judged by the rules of `first`, the first snapshot of the
    /// run; by those in the workspace if this is the first.
    ///
    /// It is durable when this returns, and stays until the next is taken; [`Self::keep`] keeps it for good.
    ///
    /// # Errors
    ///
    /// The workspace is not there, the store cannot be written, or another process has been writing for
    /// a minute. What cannot be read is no error but left out.
    pub fn take(&self, first: Option<&Snapshot>) -> Result<Snapshot, Error> {
        take::take(self, first, None)
    }

    /// Takes a snapshot after another one, `last`. What our own output was written to in either of the two is left out
    /// here too, whoever prints there now. Of the two it may be that they are not here: `last` has the rules of `first`, and
    /// without either those in the workspace hold.
    ///
    /// # Errors
    ///
    /// As [`Self::take`]; or `last` is damaged.
    pub fn take_after(&self, first: Option<&Snapshot>, last: Option<&Snapshot>) -> Result<Snapshot, Error> {
        let last = last.filter(|last| self.has(last));
        take::take(self, first.filter(|first| self.has(first)).or(last), last)
    }

    /// Says whether a snapshot is here. Its run may have been recorded elsewhere, or the folder with all of them may be lost.
    pub fn has(&self, snapshot: &Snapshot) -> bool {
        !matches!(self.find(snapshot), Err(Error::Missing { .. }))
    }

    /// Takes a snapshot before the workspace is made what it was `then`. What cannot be read now, though nothing of the kind was
    /// said of it then, its owner is allowed to read first: else nobody could look at it, and it would stay as it is.
    /// Returns the paths of which that was done.
    ///
    /// # Errors
    ///
    /// As [`Self::take_after`]; or `then` is gone or damaged.
    pub fn take_readable(
        &self,
        first: Option<&Snapshot>,
        last: Option<&Snapshot>,
        then: &Snapshot,
    ) -> Result<(Snapshot, Vec<PathBuf>), Error> {
        let is_opened = folder::let_owner_read(&self.workspace).unwrap_or(false);
        let mut made: Vec<PathBuf> = is_opened.then(|| PathBuf::from(".")).into_iter().collect();
        let now = self.take_after(first, last)?;
        if now.left_out.iter().all(|left| left.reason != LeftOut::UNREADABLE) {
            return Ok((now, made));
        }
        let unreadable = Parts::of(&self.store, &now)?.uncovered(&self.store)?.unreadable();
        let unknown = Parts::of(&self.store, then)?.uncovered(&self.store)?;
        let more = readable::make(&self.root()?, &unreadable, &|path| unknown.reason(path).is_some());
        if more.is_empty() {
            return Ok((now, made));
        }
        made.extend(more);
        Ok((self.take_after(first, last)?, made))
    }

    /// Returns what only one of two snapshots covers, and why the other does not; but not what the rules ignore.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn unseen(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<Unseen>, Error> {
        if before.id == after.id || before.left_out.is_empty() && after.left_out.is_empty() {
            return Ok(Vec::new());
        }
        let store = &self.store;
        let (before, after) = (Parts::of(store, before)?, Parts::of(store, after)?);
        let (unknown_before, unknown_after) = (before.uncovered(store)?, after.uncovered(store)?);
        let mut unseen = Vec::new();
        for (path, reason) in
            unknown_after.of_work().filter(|(path, _)| unknown_before.reason(path).is_none())
        {
            if path.is_empty() || before.find(store, path)?.is_some() {
                unseen.push(Unseen { path: folder::as_path(path).into_owned(), reason, is_now: true });
            }
        }
        for (path, reason) in
            unknown_before.of_work().filter(|(path, _)| unknown_after.reason(path).is_none())
        {
            if after.find(store, path)?.is_some() {
                unseen.push(Unseen { path: folder::as_path(path).into_owned(), reason, is_now: false });
            }
        }
        unseen.sort_unstable();
        Ok(unseen)
    }

    /// Keeps a snapshot under a name like `<run>/<sequence number>`.
    ///
    /// # Errors
    ///
    /// The name has other characters than letters, digits, `-`, `_`, `.` and `/`; the snapshot is gone.
    pub fn keep(&self, name: &str, snapshot: &Snapshot) -> Result<(), Error> {
        check_name(name)?;
        let _lock = self.store.lock()?;
        self.store.tree(&snapshot.id)?;
        self.store.set_ref(name, &snapshot.id)
    }

    /// Forgets the snapshot in `folder` with this name, or all whose names begin with it and a slash, and [frees](Self::free)
    /// what no other needs. Returns how many were forgotten. The workspace need not be there any more.
    ///
    /// # Errors
    ///
    /// The name is none, or the store cannot be read or written.
    pub fn forget(folder: &Path, prefix: &str) -> Result<usize, Error> {
        let forgotten = Self::forget_names(folder, prefix)?;
        Self::free(folder, false)?;
        Ok(forgotten)
    }

    /// Returns about how many bytes [`Self::free`] would free in quiet if these names, and all below them, were forgotten.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub fn would_free(folder: &Path, prefixes: &[&str]) -> Result<u64, Error> {
        if !is_there(folder)? {
            return Ok(0);
        }
        let store = Store::open(folder)?;
        let is_meant = |name: &str| {
            let rest = prefixes.iter().filter_map(|prefix| name.strip_prefix(prefix));
            rest.into_iter().any(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let kept = store.refs()?.into_iter().filter(|(name, _)| !is_meant(name));
        let kept: Vec<Digest> = kept.map(|(_, id)| id).collect();
        let mut bytes = store.size_without(&kept)?;
        if kept.is_empty() {
            for own in store.own_folders()? {
                bytes += size_alone(&own).map_err(io("look at", &own))?;
            }
        }
        Ok(bytes)
    }

    /// Forgets the names only, which needs no room on the disk.
    ///
    /// # Errors
    ///
    /// As [`Self::forget`].
    pub fn forget_names(folder: &Path, prefix: &str) -> Result<usize, Error> {
        check_name(prefix)?;
        if !is_there(folder)? {
            return Ok(0);
        }
        let store = Store::open(folder)?;
        let _lock = store.lock()?;
        let is_meant = |name: &str| {
            name.strip_prefix(prefix).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        let mut forgotten = store.refs()?;
        forgotten.retain(|(name, _)| is_meant(name));
        for (name, _) in &forgotten {
            store.remove_ref(name)?;
        }
        Ok(forgotten.len())
    }

    /// Removes from the snapshots in `folder` what is in none that has a name. The last one of a workspace, which may be about to
    /// get one, stays as well unless it `is_quiet`: nobody takes snapshots now. On a full disk as much is removed as can be
    /// without room.
    ///
    /// # Errors
    ///
    /// The store cannot be read or written, or there is no room for what has to be put together anew.
    pub fn free(folder: &Path, is_quiet: bool) -> Result<(), Error> {
        if !is_there(folder)? {
            return Ok(());
        }
        let store = Store::open(folder)?;
        let _lock = store.lock()?;
        let (kept, owns) = (store.refs()?, store.own_folders()?);
        if kept.is_empty() && is_quiet {
            // They name the files of workspaces of which nothing else is known here any more.
            for own in &owns {
                remove_folder(own)?;
            }
            return store.sweep(&[]);
        }
        if kept.is_empty() {
            let objects = owns.iter().flat_map(|own| [own.join(OBJECTS), own.join(WITHIN)]);
            for objects in objects {
                remove_folder(&objects)?;
            }
        }
        let mut roots: Vec<Digest> = kept.iter().map(|(_, id)| *id).collect();
        for index in owns.iter().filter(|_| !is_quiet).map(|own| own.join(INDEX)) {
            let latest = Index::root(&index).map_err(io("read", &index))?;
            roots.extend(latest.filter(|id| store.has(id)));
        }
        store.sweep(&roots)
    }

    /// Returns which files differ between two snapshots, ordered by path.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changes(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<Change>, Error> {
        change::changes(&self.store, before, after)
    }

    /// Returns what a file of a snapshot held; `None` where it does not cover the file, or the rules ignore it.
    ///
    /// # Errors
    ///
    /// The snapshot is gone or damaged.
    pub fn read(&self, snapshot: &Snapshot, path: &Path) -> Result<Option<Vec<u8>>, Error> {
        let Some(tree) = Parts::of(&self.store, snapshot)?.work() else { return Ok(None) };
        match tree::find(&self.store, tree, &plain(path))? {
            Some(place) if place.mode & folder::TYPE == folder::FILE => self.store.blob(&place.id).map(Some),
            _ => Ok(None),
        }
    }

    /// Writes what differs between two snapshots, as text that `git apply` understands.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged; `to` cannot be written.
    pub fn diff(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        options: &DiffOptions,
        to: &mut dyn Write,
    ) -> Result<(), Error> {
        diff::diff(&self.store, before, after, options, to)
    }

    /// Returns the paths that `after` does not cover and `before` did not leave out: new pipes, files that are too large.
    /// What the rules ignore is none of them.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn newly_uncovered(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<PathBuf>, Error> {
        let uncovered = |of: &Snapshot| Parts::of(&self.store, of)?.uncovered(&self.store);
        let (before, after) = (uncovered(before)?, uncovered(after)?);
        let new = after.work().filter(|path| before.reason(path).is_none());
        Ok(new.map(|path| folder::as_path(path).into_owned()).collect())
    }

    /// Returns the words that a file of one snapshot has and no file of a later one. None where that cannot be told: it takes
    /// too long, or the later one does not cover files that the other one did.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn lost_words<'w>(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        words: &BTreeSet<&'w str>,
    ) -> Result<BTreeSet<&'w str>, Error> {
        let is_cut = |of: &Snapshot| {
            let reasons = [Reason::TooMuch, Reason::TooMany].map(|reason| reason.to_string());
            of.left_out.iter().any(|it| it.count > 0 && reasons.contains(&it.reason))
        };
        if words.is_empty() || is_cut(after) || !self.newly_uncovered(before, after)?.is_empty() {
            return Ok(BTreeSet::new());
        }
        Ok(words::lost(&self.store, before, after, words)?.unwrap_or_default()) // no read
    }

    /// Returns the branches of a snapshot that are not so in a later one; none where they are not known.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn moved_branches(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<MovedBranch>, Error> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let (before, after) = (Parts::of(&self.store, before)?, Parts::of(&self.store, after)?);
        if before.same_branches(&after) {
            return Ok(Vec::new());
        }
        let both = before.branches(&self.store)?.zip(after.branches(&self.store)?);
        let Some((before, mut after)) = both else { return Ok(Vec::new()) };
        let moved = before.into_iter().map(|(name, from)| {
            let to = after.remove(&name);
            MovedBranch { name, from, to }
        });
        Ok(moved.filter(|it| it.to.as_ref() != Some(&it.from)).collect())
    }

    /// Returns the files below `.git` that tell git how to work, and which programs to run, as far as they differ. What is
    /// configured of a branch is not meant: git does that itself when somebody pushes.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changed_settings(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<PathBuf>, Error> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let (before, after) = (Parts::of(&self.store, before)?, Parts::of(&self.store, after)?);
        let folders = before.repository_folder().zip(after.repository_folder());
        let Some(folders) = folders else { return Ok(Vec::new()) };
        let unknown = [&before, &after].map(|of| of.uncovered(&self.store));
        let [before, after] = unknown;
        let settings = self.settings(folders, (&before?.below(inner::GIT), &after?.below(inner::GIT)))?;
        Ok(settings.map(|path| folder::as_path(&path).into_owned()).collect())
    }

    /// Returns what differs of the settings of a repository, but what is configured of a branch.
    fn settings(
        &self,
        (before, after): (Digest, Digest),
        (unknown_before, unknown_after): (&Uncovered, &Uncovered),
    ) -> Result<impl Iterator<Item = Vec<u8>> + use<>, Error> {
        let mut pairs = tree::compare(&self.store, Some(before), Some(after))?;
        pairs.retain(|path, pair| {
            rewind::is_setting(path) && !change::is_unknown(path, pair, unknown_before, unknown_after)
        });
        if let Some(pair) = pairs.get(&b"config"[..])
            && rewind::without_branches(&self.store, pair.before)?
                == rewind::without_branches(&self.store, pair.after)?
        {
            pairs.remove(&b"config"[..]);
        }
        Ok(pairs.into_keys())
    }

    /// As [`Self::changed_settings`], of the repositories of submodules and of folders in the workspace; by their paths from its
    /// root.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn changed_settings_within(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<PathBuf>, Error> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let unknown = [before, after].map(|of| Parts::of(&self.store, of)?.uncovered(&self.store));
        let [unknown_before, unknown_after] = unknown;
        let (unknown_before, unknown_after) = (unknown_before?, unknown_after?);
        let (before, after) = (self.inner(before)?, self.inner(after)?);
        let mut changed = Vec::new();
        for (path, was) in before {
            let Some(is) = after.get(&path).filter(|is| **is != was) else { continue };
            let unknown = (&unknown_before.below(&path), &unknown_after.below(&path));
            let settings = self.settings((was, *is), unknown)?;
            changed.extend(settings.map(|it| folder::as_path(&path).join(folder::as_path(&it))));
        }
        Ok(changed)
    }

    /// Returns the branches that are gone of repositories of submodules and of folders in the workspace.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn gone_branches_within(
        &self,
        before: &Snapshot,
        after: &Snapshot,
    ) -> Result<Vec<InnerBranch>, Error> {
        if before.id == after.id {
            return Ok(Vec::new());
        }
        let unknown = Parts::of(&self.store, after)?.uncovered(&self.store)?;
        inner::gone_branches(&self.store, &self.inner(before)?, (&self.inner(after)?, &unknown))
    }

    fn inner(&self, snapshot: &Snapshot) -> Result<inner::Inner, Error> {
        inner::all(&self.store, &Parts::of(&self.store, snapshot)?)
    }

    /// Finds a snapshot.
    ///
    /// # Errors
    ///
    /// It is gone or damaged, or was never here.
    pub fn find(&self, snapshot: &Snapshot) -> Result<(), Error> {
        self.store.tree(&snapshot.id).map(drop)
    }

    /// Reads snapshots with all that they refer to, each object once and up to so many bytes, and makes sure that each is what its
    /// name says. Returns how many objects were read.
    ///
    /// # Errors
    ///
    /// An object is damaged, or missing.
    pub fn check(&self, snapshots: &[Digest], bytes_max: u64) -> Result<u64, Error> {
        self.store.check(snapshots, bytes_max)
    }

    /// Returns what a snapshot has left out and a later one finds to be another thing, as far as that can be seen from
    /// outside: nothing brings back what it was. Of a folder it is seen that it is another one, or gone, or empty by now.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn lost(&self, before: &Snapshot, after: &Snapshot) -> Result<Vec<Lost>, Error> {
        if before.left_out.is_empty() || before.id == after.id {
            return Ok(Vec::new());
        }
        let store = &self.store;
        let (before, after) = (Parts::of(store, before)?, Parts::of(store, after)?);
        let lost = before.uncovered(store)?.lost(&after.uncovered(store)?, |path| after.find(store, path))?;
        let mut told = Vec::with_capacity(lost.len());
        for it in lost {
            // One that was brought back is another folder, with the same history.
            let is_repository = it.comes_back && it.how == Loss::Replaced;
            if !is_repository || !inner::goes_on(store, &before, &after, &folder::as_bytes(&it.path))? {
                told.push(it);
            }
        }
        Ok(told)
    }

    /// Counts the lines that were added and removed between two snapshots, in each of the files that are asked for. A
    /// binary file has none; one that is too large to be compared counts with all of its lines.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn lines(
        &self,
        before: &Snapshot,
        after: &Snapshot,
        is_asked: &dyn Fn(&Path) -> bool,
    ) -> Result<Vec<ChangedFile>, Error> {
        diff::lines(&self.store, before, after, is_asked)
    }

    /// Returns the files that git tracks; `None` where git cannot tell.
    pub fn tracked(&self) -> Option<BTreeSet<PathBuf>> {
        tracked::files(&self.workspace).ok().map(paths) // an error is `None`: not known
    }

    /// Returns the tracked files that hold work that is not in the index; `None` where git cannot tell.
    pub fn unstaged(&self) -> Option<BTreeSet<PathBuf>> {
        tracked::unstaged(&self.workspace).ok().map(paths) // an error is `None`: not known
    }

    /// Returns the tracked files that hold work that a commit has not; `None` where git cannot tell.
    pub fn unsaved(&self, commit: &str) -> Option<BTreeSet<PathBuf>> {
        tracked::unsaved(&self.workspace, commit).ok().map(paths) // an error is `None`: not known
    }

    /// Returns which of these files are staged in a form that neither the last commit nor the workspace has; `None` where
    /// git cannot tell.
    pub fn staged(&self, among: &BTreeSet<PathBuf>) -> Option<Staged> {
        tracked::staged(&self.workspace, among).ok() // an error is `None`: not known
    }

    /// Says whether git has a commit or another object; `None` where git cannot tell.
    pub fn has_object(&self, name: &str) -> Option<bool> {
        tracked::has_object(&self.workspace, name)
    }

    /// Says whether a commit is on the way to another, `tip`. One that git does not have is on none; `None` where git
    /// cannot tell.
    pub fn has_commit(&self, tip: &str, commit: &str) -> Option<bool> {
        tracked::has_commit(&self.workspace, tip, commit)
    }

    /// Returns all files of git's index; `None` where git cannot tell.
    pub fn index(&self) -> Option<Staged> {
        tracked::index(&self.workspace).ok() // an error is `None`: not known
    }

    /// Makes the files of the workspace as they were, untracked ones too. A snapshot of what is there now
    /// is taken first; it is for the caller to [keep](Self::keep). Files that are as they were are not
    /// written; ignored files that were not there stay, as does everything that one of the two snapshots
    /// does not cover.
    ///
    /// # Errors
    ///
    /// The snapshot is gone or damaged, or none can be taken of what is there now; then nothing was changed.
    /// What the system refuses in the workspace is told by what is returned.
    pub fn restore(&self, snapshot: &Snapshot, git: Git) -> Result<Restored, Error> {
        self.restore_by(snapshot, git, &Plan::default())
    }

    /// As [`Self::restore`], but what others than the run changed stays as the plan says.
    ///
    /// # Errors
    ///
    /// As [`Self::restore`].
    pub fn restore_by(&self, snapshot: &Snapshot, git: Git, plan: &Plan) -> Result<Restored, Error> {
        fs::create_dir_all(&self.workspace).map_err(io("create", &self.workspace))?;
        let before = self.take(Some(snapshot))?;
        let mut folders = self.other_permissions(&before, snapshot)?;
        folders.retain(|path, _| !plan.kept_access.contains(path));
        let new = self.new_uncovered(&before, snapshot)?;
        permissions::give_for_now(&self.root()?, &folders);
        let mut files = self.put_back_but(&before, snapshot, &|_| true, &plan.kept)?;
        for (of_others, paths) in &plan.targets {
            let is_meant = |path: &Path| paths.contains(&*folder::as_bytes(path));
            files.extend(self.put_back(&before, of_others, &is_meant)?);
        }
        files.permissions = permissions::give(&self.root()?, &folders);
        self.give_attributes(&before, snapshot, plan, &folders, &mut files)?;
        files.stayed.extend(new.into_iter().filter(|path| files.left.iter().all(|left| left.path != *path)));
        let mut repository = Vec::new();
        if git == Git::PutBack {
            match rewind::rewind(self, &before, snapshot) {
                Ok(rewound) => {
                    repository = rewound.done;
                    files.left.extend(rewound.left);
                    files.is_full |= rewound.is_full;
                }
                // The files are back by now, so this is told beside them.
                Err(error) => {
                    files.is_full |= error.is_full();
                    let why = format!("is not what it was: {}", with_causes(&error));
                    files.left.push(NotRestored { path: ".git".into(), why });
                }
            }
        }
        Ok(Restored { before, files, repository })
    }

    /// Plans how the workspace, which is as `now` says, becomes what it was `then`. In the `gaps`, in order, others than the
    /// run changed it: what they made of it stays.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged.
    pub fn plan(&self, then: &Snapshot, now: &Snapshot, gaps: &[Gap]) -> Result<Plan, Error> {
        plan::plan(&self.store, then, now, gaps)
    }

    /// Restores the attributes of files and folders that differ in nothing else, and the access lists of folders whose
    /// permissions were set.
    fn give_attributes(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        plan: &Plan,
        folders: &BTreeMap<Vec<u8>, u32>,
        files: &mut Applied,
    ) -> Result<(), Error> {
        let (now, then) = (Parts::of(&self.store, now)?, Parts::of(&self.store, then)?);
        let (of_now, of_then) = (now.attributes(&self.store)?, then.attributes(&self.store)?);
        let has_list = |path: &&Vec<u8>| of_then.get(path).is_some_and(|it| !it.is_empty());
        let mut paths = of_now.differing(&of_then);
        paths.extend(folders.keys().filter(has_list).cloned());
        let root = self.root()?;
        for path in paths.into_iter().filter(|path| !plan.kept_access.contains(path)) {
            let both = (now.find(&self.store, &path)?, then.find(&self.store, &path)?);
            let is_same = path.is_empty() || both.0.is_some() && both.0 == both.1;
            let are_folders = [both.0, both.1].iter().all(|it| it.is_some_and(|place| place.is_folder()));
            let (Some(was), Some(is)) = (of_then.get(&path), of_now.get(&path)) else { continue };
            if !is_same && !are_folders || plan.kept.contains(&path) {
                continue;
            }
            let shown = folder::as_path(&path).into_owned();
            let refused = restore::give_attributes(&root, &path, are_folders || path.is_empty(), is, was);
            match refused {
                Ok(()) if files.permissions.contains(&shown) => {}
                Ok(()) => files.permissions.push(shown),
                Err(why) => files.left.push(NotRestored { path: shown, why }),
            }
        }
        Ok(())
    }

    /// Returns the folders that are there now as then, with other permissions, and those that they had.
    fn other_permissions(&self, now: &Snapshot, then: &Snapshot) -> Result<BTreeMap<Vec<u8>, u32>, Error> {
        let (now, then) = (Parts::of(&self.store, now)?, Parts::of(&self.store, then)?);
        let differing = now.permissions(&self.store)?.differing(&then.permissions(&self.store)?);
        let attributes = then.attributes(&self.store)?;
        let mut folders = BTreeMap::new();
        for (path, bits) in differing {
            let is_folder =
                |of: &Parts| Ok::<_, Error>(of.find(&self.store, &path)?.is_some_and(|it| it.is_folder()));
            if path.is_empty() || is_folder(&now)? && is_folder(&then)? {
                let bits = attributes.get(&path).map_or(bits, |it| attributes::without_list(bits, it));
                folders.insert(path, bits);
            }
        }
        Ok(folders)
    }

    /// Returns what is there now, was not there then, and cannot be looked at, such as a pipe.
    fn new_uncovered(&self, now: &Snapshot, then: &Snapshot) -> Result<Vec<PathBuf>, Error> {
        let then = Parts::of(&self.store, then)?;
        let (now, unknown) =
            (Parts::of(&self.store, now)?.uncovered(&self.store)?, then.uncovered(&self.store)?);
        let mut new = Vec::new();
        for path in now.work().filter(|path| unknown.reason(path).is_none()) {
            if then.find(&self.store, path)?.is_none() {
                new.push(folder::as_path(path).into_owned());
            }
        }
        Ok(new)
    }

    /// Makes some files of the workspace, which is as `now` says, what they were `then`. All else stays.
    ///
    /// # Errors
    ///
    /// A snapshot is gone or damaged; then nothing was changed. What the system refuses in the workspace is told by
    /// what is returned.
    pub fn put_back(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        is_asked: &dyn Fn(&Path) -> bool,
    ) -> Result<Applied, Error> {
        self.put_back_but(now, then, is_asked, &BTreeSet::new())
    }

    /// As [`Self::put_back`], but without the files and folders that are `kept`.
    fn put_back_but(
        &self,
        now: &Snapshot,
        then: &Snapshot,
        is_asked: &dyn Fn(&Path) -> bool,
        kept: &BTreeSet<Vec<u8>>,
    ) -> Result<Applied, Error> {
        let (now, then) = (Parts::of(&self.store, now)?, Parts::of(&self.store, then)?);
        let sides = Sides {
            before: now.uncovered(&self.store)?,
            after: then.uncovered(&self.store)?,
            permissions: then.permissions(&self.store)?,
            attributes: then.attributes(&self.store)?,
        };
        let is_meant = |path: &Path| is_asked(path) && !kept.contains(&*folder::as_bytes(path));
        let mut differences = restore::only(differences(&self.store, &now, &then)?, &is_meant);
        differences.retain(|path, _| !kept.contains(path));
        restore::apply(&self.store, &self.root()?, &differences, &sides)
    }

    /// Takes a snapshot of another folder, a checkout that will not be looked at again, as if it were the
    /// workspace of this run: it can be compared with the snapshots of the workspace. It is kept under `name`.
    ///
    /// # Errors
    ///
    /// As [`Self::take`] and [`Self::keep`].
    pub fn of_checkout(&self, root: &Path, first: &Snapshot, name: &str) -> Result<Snapshot, Error> {
        let workspace = root.canonicalize().map_err(io("open", root))?;
        let store = Store::open(self.store.folder())?;
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
    pub fn checkout(&self, snapshot: &Snapshot, to: &Path) -> Result<Applied, Error> {
        let parts = Parts::of(&self.store, snapshot)?;
        let root = restore::empty_folder(to)?;
        let mut pairs = tree::compare(&self.store, None, parts.ignored())?;
        pairs.extend(tree::compare(&self.store, None, parts.work())?);
        let (permissions, attributes) = (parts.permissions(&self.store)?, parts.attributes(&self.store)?);
        let sides = Sides { permissions, attributes, ..Sides::default() };
        restore::apply(&self.store, &root, &restore::all(pairs), &sides)
    }
}

impl Snapshots {
    fn root(&self) -> Result<Folder, Error> {
        Folder::root(&self.workspace).map_err(io("open the workspace", &self.workspace))
    }

    /// Returns where our own output is written to: what this process prints into, and what it or another did before.
    ///
    /// Open files are asked for once only, before a worker can give one of them a second name.
    fn own_output(&self, earlier: &[Option<&Snapshot>]) -> Result<OwnOutput, Error> {
        let known = self.own_output.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let files = if known.is_none() { own_output::files() } else { Vec::new() };
        let mut paths = known.unwrap_or_default(); // no read
        let has_some = |it: &&Snapshot| it.left_out.iter().any(|left| left.reason == LeftOut::OWN_OUTPUT);
        for snapshot in earlier.iter().copied().flatten().filter(has_some) {
            // no read
            let uncovered = Parts::of(&self.store, snapshot)?.uncovered(&self.store)?;
            paths.extend(uncovered.own_output().cloned());
        }
        Ok(OwnOutput { files, paths })
    }

    fn remember_own_output(&self, known: OwnOutput, left: &[Left]) {
        let found = left.iter().filter(|left| left.reason == Reason::OwnOutput).map(|left| left.path.clone());
        let paths = known.paths.into_iter().chain(found).collect();
        *self.own_output.lock().unwrap_or_else(PoisonError::into_inner) = Some(paths);
    }

    /// Returns the rules that the first snapshot of a run has kept, which are the same for all others.
    fn rules_of(&self, first: &Snapshot) -> Result<Arc<Rules>, Error> {
        let mut kept = self.rules.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, rules)) = kept.as_ref().filter(|(id, _)| *id == first.id) {
            return Ok(Arc::clone(rules));
        }
        let rules = Arc::new(Parts::of(&self.store, first)?.rules(&self.store)?);
        *kept = Some((first.id, Arc::clone(&rules)));
        Ok(rules)
    }
}

/// Returns a sentence for each operation of git in progress in the repository of a folder, and each lock file.
///
/// # Errors
///
/// The repository cannot be read; the text says what.
pub fn unfinished(workspace: &Path) -> Result<Vec<String>, String> {
    let found = repository::Repository::find(workspace).and_then(|it| match it {
        Some(repository) => repository.unfinished(),
        None => Ok(Vec::new()),
    });
    found.map_err(|why| why.to_string())
}

/// Returns how large the files in a folder are that have no second name elsewhere: removing the others frees nothing.
///
/// # Errors
///
/// The folder cannot be read.
pub fn size_alone(folder: &Path) -> std::io::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let metadata = match entry.metadata() {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => continue,
            metadata => metadata?,
        };
        bytes += match metadata.is_dir() {
            true => size_alone(&entry.path())?,
            false if folder::has_another_name(&metadata) => 0,
            false => metadata.len(),
        };
    }
    Ok(bytes)
}

fn is_there(folder: &Path) -> Result<bool, Error> {
    folder.try_exists().map_err(io("look at", folder))
}

/// Removes a folder with all in it, if there is one.
fn remove_folder(folder: &Path) -> Result<(), Error> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(()),
        removed => removed.map_err(io("remove", folder)),
    }
}

fn paths(names: BTreeSet<Vec<u8>>) -> BTreeSet<PathBuf> {
    names.iter().map(|name| folder::as_path(name).into_owned()).collect()
}

/// Name of the index in the folder of a workspace.
const INDEX: &str = "index";
/// Name of the folder with the objects of the user's repository.
const OBJECTS: &str = "objects";
/// Name of the folder with those of the repositories within it.
const WITHIN: &str = "within";

/// Returns a path without `.` components, as bytes.
fn plain(path: &Path) -> Vec<u8> {
    let path: PathBuf = path.components().filter(|part| *part != Component::CurDir).collect();
    folder::as_bytes(&path).into_owned()
}

fn check_name(name: &str) -> Result<(), Error> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_part = |part: &str| {
        !part.is_empty()
            && !part.starts_with(['.', '-'])
            && !part.ends_with(".lock")
            && !part.ends_with('.')
            && !part.contains("..")
            && !part.starts_with(pack::TEMPORARY_PREFIX)
            && part.chars().all(is_plain)
    };
    if name.split('/').all(is_part) { Ok(()) } else { Err(Error::Name { name: name.to_owned() }) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_snapshots_are_plain() {
        for (name, expected) in [
            ("3f2a/12", true),
            ("run.v2/step_1-a/7", true),
            ("", false),
            ("a//b", false),
            ("/a", false),
            ("../a", false),
            ("a/..", false),
            ("a/.b", false),
            ("-a", false),
            ("a.lock", false),
            ("a b", false),
            ("ä", false),
            ("tmp_1", false),
        ] {
            assert_eq!(check_name(name).is_ok(), expected, "{name:?}");
        }
    }
}
