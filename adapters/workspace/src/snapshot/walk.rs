//! Lists the entries of a workspace with several threads.
//!
//! It reads no content except for `.gitignore` files, and does not enter mounted file systems.

use std::cmp::Ordering::{Equal, Greater, Less};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::{io, thread};

use unstuck_files::Read;
use unstuck_files::safe_dir::{self, ChangeStamp, FileMeta, SafeDir};

use super::excluded::{ExcludedPath, ExcludedReason};
use super::mounts::Mounts;
use super::object::{FILE, FOLDER, LINK, TYPE, path_order};
use super::options::{Limits, SkippedPaths};
use super::repository::{self, Repository};
use super::rules::{self, Level, Lists, Rules};
use super::tracked;
use crate::snapshot::paths;

/// How many folders may be in one another; a file below is left out.
const DEPTH_MAX: usize = 256;

/// So many folders are listed in less time than a thread takes to start.
const FOLDERS_ALONE: usize = 16;

/// The part of a snapshot that a path belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TreeSection {
    /// Files that git would count as work.
    Work,
    /// Files that the rules ignore.
    Ignored,
    /// The state of `.git`: its small files.
    Repository,
    /// The file that points a submodule or a linked checkout within the workspace to its repository. It is not part of
    /// the work: a copy of the workspace with this file would point there, too.
    Within,
    /// The small files of the repository of a folder in the workspace.
    Inner,
}

impl TreeSection {
    /// Says whether it is what a repository is made of.
    pub(super) fn is_of_git(self) -> bool {
        matches!(self, Self::Repository | Self::Inner)
    }
}

/// A file, link or folder that was found.
#[derive(Clone, Debug)]
pub(super) struct FoundPath {
    /// From the root of the workspace, as bytes.
    pub(super) path: Vec<u8>,
    pub(super) area: TreeSection,
    pub(super) mode: u32,
    pub(super) stamp: ChangeStamp,
    /// The highest ignored folder that it is in.
    pub(super) group: Option<Arc<IgnoredFolder>>,
}

impl FoundPath {
    pub(super) fn meta(&self) -> FileMeta {
        FileMeta { mode: self.mode, stamp: self.stamp }
    }
}

/// An ignored folder that is in no other; it is covered as a whole or not at all.
#[derive(Debug)]
pub(super) struct IgnoredFolder {
    pub(super) path: Vec<u8>,
    files: AtomicU64,
    bytes: AtomicU64,
}

impl IgnoredFolder {
    pub(super) fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    pub(super) fn is_over(&self, limits: &Limits) -> bool {
        self.files() > limits.ignored_folder_files_max
            || self.bytes.load(Ordering::Relaxed) > limits.ignored_folder_bytes_max
    }
}

/// All that was found, ordered by path.
#[derive(Debug, Default)]
pub(super) struct WorkspaceListing {
    pub(super) found: Vec<FoundPath>,
    pub(super) left: Vec<ExcludedPath>,
    /// The texts of `.gitignore` files by their folders, if they were asked for.
    pub(super) texts: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Files that the rules ignore although git tracks them.
    pub(super) tracked: BTreeSet<Vec<u8>>,
    /// The lists of the repositories in folders of the workspace, if they were asked for.
    pub(super) lists: BTreeMap<Vec<u8>, Lists>,
    /// Sentences about what could not be asked.
    pub(super) notes: Vec<String>,
}

/// Files that are not taken: those that our own output is written to.
#[derive(Debug, Default)]
pub(super) struct OwnOutput {
    /// By device and node.
    pub(super) files: Vec<(u64, u64)>,
    /// From the root of the workspace.
    pub(super) paths: BTreeSet<Vec<u8>>,
}

impl OwnOutput {
    fn has(&self, path: &[u8], stamp: &ChangeStamp) -> bool {
        self.files.contains(&(stamp.device, stamp.node)) || self.paths.contains(path)
    }
}

pub(super) struct Walk<'a> {
    pub(super) limits: &'a Limits,
    pub(super) skipped: &'a SkippedPaths,
    pub(super) own_output: &'a OwnOutput,
    pub(super) rules: &'a Rules,
    /// Whether to read the rules in the workspace, instead of using the given ones.
    pub(super) reads_rules: bool,
    pub(super) workspace: &'a Path,
    /// Paths in the workspace where another file system is mounted.
    pub(super) mounts: &'a Mounts,
}

impl Walk<'_> {
    /// Walks the folder `root`. Entries that vanish meanwhile are left out.
    pub(super) fn run(&self, root: SafeDir) -> io::Result<WorkspaceListing> {
        let first = Job {
            parent: Arc::new(root),
            name: b".".to_vec(),
            path: Vec::new(),
            depth: 0,
            area: TreeSection::Work,
            group: None,
            level: self.rules.root_level(),
            tracked: None,
        };
        let queue = Queue { jobs: Mutex::new((vec![first], 0)), changed: Condvar::new() };
        let files = AtomicU64::new(0);
        let mut listing = WorkspaceListing::default();
        let worker =
            || Lister { walk: self, queue: &queue, files: &files, listing: WorkspaceListing::default() };
        let mut own = worker();
        own.begin();
        let helpers = if queue.lock().0.is_empty() { 0 } else { threads() - 1 };
        thread::scope(|scope| {
            // The more the better, but one is enough.
            let help = || worker().run();
            let more = (0..helpers).map_while(|_| thread::Builder::new().spawn_scoped(scope, help).ok()); // no read
            let more: Vec<_> = more.collect();
            let parts = std::iter::once(Ok(own.run())).chain(more.into_iter().map(|thread| thread.join()));
            for part in parts {
                let mut part = part.map_err(|_| io::Error::other("a thread that walks panicked"))?;
                listing.found.append(&mut part.found);
                listing.left.append(&mut part.left);
                listing.texts.append(&mut part.texts);
                listing.tracked.append(&mut part.tracked);
                listing.lists.append(&mut part.lists);
                listing.notes.append(&mut part.notes);
            }
            Ok::<_, io::Error>(())
        })?;
        listing.found.sort_unstable_by(|a, b| path_order(&a.path, &b.path));
        Ok(listing)
    }
}

/// Returns how many threads share a walk or the reading of files.
pub(super) fn threads() -> usize {
    const THREADS_MAX: usize = 8;
    // Asking takes the system longer than a small walk.
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(2, |count| count.get().min(THREADS_MAX)))
}

/// Says whether something is the repository of a folder within the workspace.
fn is_repository_within(job: &Job, path: &[u8]) -> bool {
    !job.area.is_of_git() && !job.path.is_empty() && safe_dir::split(path).1 == paths::GIT
}

/// A folder that is to be listed. It is opened from the folder that it is in, when its turn comes.
struct Job {
    parent: Arc<SafeDir>,
    name: Vec<u8>,
    path: Vec<u8>,
    depth: usize,
    area: TreeSection,
    group: Option<Arc<IgnoredFolder>>,
    level: Option<Arc<Level>>,
    /// The files that git tracks in the nested repository around it; only at the first snapshot.
    tracked: Option<Arc<BTreeSet<Vec<u8>>>>,
}

impl Job {
    /// Says whether it is an ignored folder that is in no other, or right below one.
    fn is_near_top_of_group(&self) -> bool {
        let top = self.group.as_ref().map(|group| &group.path[..]);
        top == Some(&self.path) || top == Some(safe_dir::split(&self.path).0)
    }
}

/// Folders to list, the last first, so that few are open at a time; and how many are being listed.
struct Queue {
    jobs: Mutex<(Vec<Job>, usize)>,
    changed: Condvar,
}

impl Queue {
    fn lock(&self) -> MutexGuard<'_, (Vec<Job>, usize)> {
        self.jobs.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits for a folder; `None` once no thread can find another one.
    fn next(&self) -> Option<(Job, ListingGuard<'_>)> {
        let mut jobs = self.lock();
        loop {
            if let Some(job) = jobs.0.pop() {
                jobs.1 += 1;
                return Some((job, ListingGuard(self)));
            }
            if jobs.1 == 0 {
                return None;
            }
            jobs = self.changed.wait(jobs).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

/// A folder is being listed until this is dropped, also by a panic, or the others would wait for ever.
struct ListingGuard<'a>(&'a Queue);

impl ListingGuard<'_> {
    fn add_folders(&self, mut more: Vec<Job>) {
        self.0.lock().0.append(&mut more);
    }
}

impl Drop for ListingGuard<'_> {
    fn drop(&mut self) {
        self.0.lock().1 -= 1;
        self.0.changed.notify_all();
    }
}

struct Lister<'a> {
    walk: &'a Walk<'a>,
    queue: &'a Queue,
    files: &'a AtomicU64,
    listing: WorkspaceListing,
}

impl Lister<'_> {
    /// Lists the first few folders, which are all folders of a small workspace.
    fn begin(&mut self) {
        for _ in 0..FOLDERS_ALONE {
            let Some((job, turn)) = self.queue.next() else { return };
            turn.add_folders(self.list_folder(job));
        }
    }

    fn run(mut self) -> WorkspaceListing {
        while let Some((job, turn)) = self.queue.next() {
            turn.add_folders(self.list_folder(job));
        }
        self.listing
    }

    /// Lists a folder and returns those in it.
    fn list_folder(&mut self, mut job: Job) -> Vec<Job> {
        if self.is_group_over(&job) || self.files.load(Ordering::Relaxed) > self.walk.limits.files_max {
            return Vec::new();
        }
        let opened = job.parent.open(&job.name);
        let (folder, names) = match opened.and_then(|folder| Ok((folder.names()?, folder))) {
            Ok((names, folder)) => (Arc::new(folder), names),
            Err(error) => {
                let seen = job.parent.metadata(&job.name).ok(); // without it nothing is compared
                self.exclude_unreadable(&job.path, &error, seen);
                return Vec::new();
            }
        };
        self.enter_folder(&mut job, &folder, &names);
        let mut more = Vec::new();
        for name in names {
            let path = safe_dir::join(&job.path, &name);
            if !self.walk.skipped.has(&path) {
                self.visit(&job, &folder, name, path, &mut more);
            }
        }
        more
    }

    fn visit(&mut self, job: &Job, folder: &Arc<SafeDir>, name: Vec<u8>, path: Vec<u8>, more: &mut Vec<Job>) {
        let seen = match folder.metadata(&name) {
            Ok(seen) => seen,
            Err(error) => return self.exclude_unreadable(&path, &error, None),
        };
        let (level, tracked) = (&job.level, &job.tracked);
        if self.walk.mounts.has(&path, &seen) {
            return self.exclude(path, ExcludedReason::Mount, None);
        }
        if seen.is(FOLDER) && is_repository_within(job, &path) {
            self.exclude(path.clone(), ExcludedReason::Repository, Some(seen));
            let area = TreeSection::Inner;
            let found =
                FoundPath { path: path.clone(), area, mode: seen.mode, stamp: seen.stamp, group: None };
            self.listing.found.push(found);
            let (parent, depth, level, tracked) =
                (folder.clone(), job.depth + 1, level.clone(), tracked.clone());
            more.push(Job { parent, name, path, depth, area, group: None, level, tracked });
            return;
        }
        let is_store = job.area.is_of_git() && seen.is(FOLDER) && paths::is_store(&name);
        if is_store
            && paths::is_repository(&job.path, |name| !Read::from_io(folder.metadata(name)).is_absent())
        {
            if name != b"objects" {
                self.exclude(path, ExcludedReason::Store, Some(seen));
            }
            return;
        }
        let Some((area, group)) = self.section_of(job, &path, seen.is(FOLDER)) else { return };
        match self.files.fetch_add(1, Ordering::Relaxed).cmp(&self.walk.limits.files_max) {
            Less => {}
            Equal => return self.exclude(Vec::new(), ExcludedReason::TooMany, None),
            Greater => return,
        }
        match seen.mode & TYPE {
            FILE if self.walk.own_output.has(&path, &seen.stamp) => {
                return self.exclude(path, ExcludedReason::OwnOutput, None);
            }
            FOLDER if job.depth >= DEPTH_MAX => {
                return self.exclude(path, ExcludedReason::TooDeep, Some(seen));
            }
            FOLDER => {
                let (parent, depth) = (folder.clone(), job.depth + 1);
                let (path, level, group) = (path.clone(), level.clone(), group.clone());
                more.push(Job { parent, name, path, depth, area, group, level, tracked: tracked.clone() });
            }
            FILE | LINK => {
                if let Some(group) = &group {
                    group.files.fetch_add(1, Ordering::Relaxed);
                    // A file may claim any size; so many of them make no small sum.
                    group.bytes.fetch_add(seen.stamp.size.min(1 << 40), Ordering::Relaxed);
                }
            }
            _ => return self.exclude(path, ExcludedReason::NoFile, Some(seen)),
        }
        self.listing.found.push(FoundPath { path, area, mode: seen.mode, stamp: seen.stamp, group });
    }

    /// Returns the part of the snapshot that something belongs to; `None` if to none.
    fn section_of(
        &mut self,
        job: &Job,
        path: &[u8],
        is_folder: bool,
    ) -> Option<(TreeSection, Option<Arc<IgnoredFolder>>)> {
        let rules = self.walk.rules;
        if job.area.is_of_git() {
            return repository::keeps(path).then_some((job.area, None));
        }
        let is_inner = job.area == TreeSection::Ignored;
        if safe_dir::split(path).1 == b".git" {
            let area = if job.path.is_empty() { TreeSection::Repository } else { TreeSection::Within };
            return (!is_inner).then_some((area, None));
        }
        if !is_inner && !Level::ignores(job.level.as_ref(), &rules.repository_path(path), is_folder) {
            return Some((TreeSection::Work, None));
        }
        if rules.tracked.contains(path) || job.tracked.as_ref().is_some_and(|tracked| tracked.contains(path))
        {
            self.listing.tracked.insert(path.to_vec());
            return Some((TreeSection::Work, None));
        }
        if is_inner {
            return Some((TreeSection::Ignored, job.group.clone()));
        }
        let group =
            || IgnoredFolder { path: path.to_vec(), files: AtomicU64::new(0), bytes: AtomicU64::new(0) };
        Some((TreeSection::Ignored, is_folder.then(|| Arc::new(group()))))
    }

    /// Finds out which rules hold in a folder.
    fn enter_folder(&mut self, job: &mut Job, folder: &SafeDir, names: &[Vec<u8>]) {
        if job.area.is_of_git() {
            return;
        }
        let place = self.walk.rules.repository_path(&job.path).into_owned();
        if !job.path.is_empty() {
            self.enter_repository(job, &place, names);
        }
        if job.area != TreeSection::Work {
            return;
        }
        if !self.walk.reads_rules {
            if let Some(text) = self.walk.rules.texts.get(&place) {
                job.level = Some(Level::below(job.level.take(), &place, text));
            }
            return;
        }
        let has_rules = names.iter().any(|name| name == rules::FILE_NAME);
        if !has_rules {
            return;
        }
        match folder.read_small(rules::FILE_NAME, rules::SIZE_MAX) {
            Read::Found(text) => {
                job.level = Some(Level::below(job.level.take(), &place, &text));
                self.listing.texts.insert(place, text);
            }
            Read::Absent => {}
            // So an undo removes nothing here: it may be ignored.
            Read::Unreadable(_) => {
                self.exclude(safe_dir::join(&job.path, rules::FILE_NAME), ExcludedReason::Unreadable, None);
            }
        }
    }

    /// Begins with other rules where a folder is the root of another repository, since outer rules end there.
    fn enter_repository(&mut self, job: &mut Job, place: &[u8], names: &[Vec<u8>]) {
        let level = match self.walk.reads_rules {
            true if names.iter().any(|name| name == paths::GIT) => self.read_nested_repository(job, place),
            true => None,
            false => self.walk.rules.repository_level(place),
        };
        if let Some(level) = level {
            (job.area, job.group, job.level) = (TreeSection::Work, None, Some(level));
        }
    }

    /// Reads the lists of a repository in a folder, and asks what it tracks; `None` where there is no such repository, or
    /// the rules ignore it as one folder of many.
    fn read_nested_repository(&mut self, job: &mut Job, place: &[u8]) -> Option<Arc<Level>> {
        let root = self.walk.workspace.join(safe_dir::as_path(&job.path));
        let name = String::from_utf8_lossy(&job.path).into_owned();
        let repository = match Repository::find(&root) {
            Ok(found) => found.filter(|repository| repository.root == root)?,
            Err(why) => {
                self.listing.notes.push(format!("the repository in {name} cannot be read ({why})"));
                return None;
            }
        };
        let bound = repository.pinned();
        // An ignored linked checkout belongs to other work in the same repository.
        if job.area == TreeSection::Ignored && (!job.is_near_top_of_group() || bound.own != bound.common) {
            return None;
        }
        let lists = Lists::read(&repository).unwrap_or_else(|why| {
            self.listing.notes.push(format!("the ignore rules of the user in {name} are not known ({why})"));
            Lists::default()
        });
        match tracked::files(&root) {
            Ok(files) => {
                let files = files.iter().map(|file| safe_dir::join(&job.path, file));
                job.tracked = Some(Arc::new(files.collect()));
            }
            Err(why) => self.listing.notes.push(tracked::unknown(&format!("in {name} "), &why)),
        }
        let level = Level::of_repository(place, &lists);
        self.listing.lists.insert(place.to_vec(), lists);
        Some(level)
    }

    /// Says whether the folder need not be listed because it is a part of too large an ignored one.
    fn is_group_over(&self, job: &Job) -> bool {
        let over = job.group.as_ref().is_some_and(|group| group.is_over(self.walk.limits));
        let may_be_repository = || {
            let is_looked_at = self.walk.reads_rules && job.is_near_top_of_group();
            is_looked_at && job.parent.open(&job.name).is_ok_and(|folder| folder.metadata(paths::GIT).is_ok())
        };
        over && !self.walk.rules.tracks_below(&job.path) && !may_be_repository()
    }

    fn exclude_unreadable(&mut self, path: &[u8], error: &io::Error, seen: Option<FileMeta>) {
        if error.kind() != io::ErrorKind::NotFound {
            self.exclude(path.to_vec(), ExcludedReason::Unreadable, seen);
        }
    }

    fn exclude(&mut self, path: Vec<u8>, reason: ExcludedReason, seen: Option<FileMeta>) {
        self.listing.left.push(ExcludedPath::new(path, reason, seen));
    }
}
