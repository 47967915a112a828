//! Takes a snapshot: walk, leave out, read what changed, write what is new, remember what was seen.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use unstuck_core::id::Digest;
use unstuck_core::plural::count;
use unstuck_core::snapshot::{Exclusion, RepositoryState, Snapshot};
use unstuck_files::Read;
use unstuck_files::safe_dir::{self, FileMeta, SafeDir};

use super::attributes::AttributeList;
use super::content::{self, FileContent};
use super::error::{self, SnapshotResult};
use super::excluded::{self, ExcludedPath, ExcludedReason};
use super::git_files::{RepoResult, Unreadable};
use super::index::{CachedContent, Index};
use super::limits::cover;
use super::mounts::Mounts;
use super::object::TYPE;
use super::options::BranchTargets;
use super::pack::Writer;
use super::permissions::FolderModes;
use super::repository::Repository;
use super::restore_read_access;
use super::root_tree::{Parts, RootWriter};
use super::rules::{self, Lists, Rules};
use super::snapshots::{INDEX, Snapshots};
use super::tree::PathEntry;
use super::walk::{FoundPath, TreeSection, Walk};
use super::{nested_repos, open_boxes, tracked};

impl Snapshots {
    /// Takes a snapshot. The ignore rules of `first`, the first snapshot of the run, apply; if this is the first one,
    /// the rules in the workspace do.
    ///
    /// It is durable when this returns, and stays until the next one is taken; [`Self::keep`] keeps it for good.
    ///
    /// # Errors
    ///
    /// The workspace does not exist, the store cannot be written, or another process has been writing for a minute. A
    /// file that cannot be read is left out, which is not an error.
    pub fn take(&self, first: Option<&Snapshot>) -> SnapshotResult<Snapshot> {
        take(self, first, None)
    }

    /// Takes a snapshot after another one, `last`. Files that Unstuck wrote its own output to in `first` or `last` are
    /// left out again, whichever process writes to them now. Either snapshot can be missing from the store: `last` has
    /// the rules of `first`, and without both, the rules in the workspace apply.
    ///
    /// # Errors
    ///
    /// As [`Self::take`]; or `last` is damaged.
    pub fn take_after(&self, first: Option<&Snapshot>, last: Option<&Snapshot>) -> SnapshotResult<Snapshot> {
        let last = last.filter(|last| self.has(last));
        take(self, first.filter(|first| self.has(first)).or(last), last)
    }

    /// Takes a snapshot before the workspace is restored to `then`. If a path cannot be read now, but was not
    /// unreadable then, its owner first gets read access. Without access, it could not be compared and would stay as it
    /// is. Returns the paths that got access.
    ///
    /// # Errors
    ///
    /// As [`Self::take_after`]; or `then` is gone or damaged.
    pub fn take_readable(
        &self,
        first: Option<&Snapshot>,
        last: Option<&Snapshot>,
        then: &Snapshot,
    ) -> SnapshotResult<(Snapshot, Vec<PathBuf>)> {
        let is_opened = safe_dir::let_owner_read(&self.workspace).unwrap_or(false);
        let mut made: Vec<PathBuf> = is_opened.then(|| PathBuf::from(".")).into_iter().collect();
        let now = self.take_after(first, last)?;
        if now.left_out.iter().all(|left| left.reason != Exclusion::UNREADABLE) {
            return Ok((now, made));
        }
        let unreadable = Parts::read(&self.store, &now)?.uncovered(&self.store)?.unreadable();
        let unknown = Parts::read(&self.store, then)?.uncovered(&self.store)?;
        let more =
            restore_read_access::make(&self.root()?, &unreadable, &|path| unknown.reason(path).is_some());
        if more.is_empty() {
            return Ok((now, made));
        }
        made.extend(more);
        Ok((self.take_after(first, last)?, made))
    }
}

pub(super) fn take(
    of: &Snapshots,
    first: Option<&Snapshot>,
    last: Option<&Snapshot>,
) -> SnapshotResult<Snapshot> {
    let _lock = of.store.lock()?;
    let refused = |source| error::io("read the workspace", &of.workspace)(source);
    let root = SafeDir::root(&of.workspace).map_err(refused)?;
    let repository = Repository::find(&of.workspace);
    let mut notes = Vec::new();

    let rules = match (first, &repository) {
        (Some(first), _) => of.rules_of(first)?,
        (None, Ok(repository)) => Arc::new(rules_above(of, repository.as_ref(), &mut notes)?),
        // Without it the rules are not known, by which all snapshots of the run are taken.
        (None, Err(why)) => return Err(refused(io::Error::other(why.clone()))),
    };
    let own_output = of.own_output(&[first, last])?;
    let mounts = Mounts::find(&of.workspace, &root);
    let walk = Walk {
        limits: &of.limits,
        skipped: &of.skipped,
        own_output: &own_output,
        rules: &rules,
        reads_rules: first.is_none(),
        workspace: &of.workspace,
        mounts: &mounts,
    };
    let mut listing = walk.run(root.try_clone().map_err(refused)?).map_err(refused)?;
    let (found, mut left) = cover(listing.found, &of.limits);
    left.append(&mut listing.left);
    let rules = match first {
        Some(_) => rules,
        None => {
            let mut texts = rules.texts.clone();
            texts.append(&mut listing.texts);
            let mut lists = rules.lists.clone();
            lists.append(&mut listing.lists);
            notes.append(&mut listing.notes);
            Arc::new(Rules { prefix: rules.prefix.clone(), lists, texts, tracked: listing.tracked })
        }
    };

    let mut writer = of.store.writer();
    let index = Index::read(&of.own.join(INDEX));
    let files = read(of, &root, &index, &mut writer, found, &mut left)?;
    let (standing, branches) = read_repository(of, repository, first.is_none(), &mut notes, &mut left);
    keep_history(of, &root, &files, &mut notes);
    left.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    left.dedup_by(|a, b| a.path == b.path);
    excluded::record_birth_times(&root, &mut left);
    of.remember_own_output(own_output, &left);

    let of_root = root.metadata(b".").map_err(refused)?.mode;
    let folders = files.iter().filter(|file| safe_dir::is_folder(file.mode));
    let folders = folders.map(|file| (&*file.path, file.mode)).chain([(&b""[..], of_root)]);
    let permissions = FolderModes::new(folders);

    let attributes = attributes_of(&root, &files);

    let lists = (&left[..], &permissions, &attributes);
    let (work, id) = write(of, &mut writer, &files, branches.as_ref(), &rules, lists)?;
    of.store.adopt(writer)?;
    of.store.tidy()?;
    write_index(of, index, id, &files)?;
    let of_work =
        || files.iter().filter(|file| file.area == TreeSection::Work && safe_dir::has_content(file.mode));
    let contents = of_work().map(|file| (&*file.path, file.content.stamp.size, file.content.id));
    let open_boxes = open_boxes::count(&of.store, contents);
    Ok(Snapshot {
        id,
        work,
        files: of_work().count() as u64,
        bytes: of_work().map(|file| file.content.stamp.size).sum(),
        repository: standing,
        left_out: excluded::summary(&left),
        notes,
        open_boxes,
    })
}

/// Returns how the repository stands, and its branches. What cannot be read is noted, and left out.
fn read_repository(
    of: &Snapshots,
    repository: RepoResult<Option<Repository>>,
    is_first: bool,
    notes: &mut Vec<String>,
    left: &mut Vec<ExcludedPath>,
) -> (Option<RepositoryState>, Option<BranchTargets>) {
    let mut unread = Vec::new();
    let (standing, branches) = match repository {
        Ok(None) => (None, None),
        Err(why) => {
            unread.push(why);
            (Some(RepositoryState::default()), None)
        }
        Ok(Some(repository)) => {
            let mut errors = ReadErrors { unread: &mut unread };
            let standing = errors.record(repository.standing());
            let branches = errors.record(repository.branches());
            let unfinished = errors.record(repository.unfinished()).into_iter().flatten(); // noted
            notes.extend(unfinished.map(|what| format!("{}{what}", Snapshot::UNFINISHED)));
            let unseen = repository.unseen_note().filter(|_| is_first);
            notes.extend(unseen.map(|what| format!("of the repository: {what}")));
            (Some(standing.unwrap_or_default()), branches) // the default is an unknown one
        }
    };
    for why in unread {
        let note = format!("of the repository: {why}, {}", Snapshot::UNREAD);
        if let Ok(path) = why.path.strip_prefix(&of.workspace) {
            left.push(ExcludedPath::new(
                super::snapshots::path_bytes(path),
                ExcludedReason::Unreadable,
                None,
            ));
        }
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    (standing, branches)
}

/// Keeps what could not be read.
struct ReadErrors<'a> {
    unread: &'a mut Vec<Unreadable>,
}

impl ReadErrors<'_> {
    fn record<T>(&mut self, value: RepoResult<T>) -> Option<T> {
        value.map_err(|why| self.unread.push(why)).ok() // noted
    }
}

/// A file, link or folder that the snapshot takes.
struct SnapshotFile {
    path: Vec<u8>,
    area: TreeSection,
    mode: u32,
    content: FileContent,
}

/// Returns the rules that come from outside of the workspace.
///
/// # Errors
///
/// Rules cannot be read, so that what is ignored is not known.
fn rules_above(
    of: &Snapshots,
    repository: Option<&Repository>,
    notes: &mut Vec<String>,
) -> SnapshotResult<Rules> {
    let Some(repository) = repository else { return Ok(Rules::default()) };
    let prefix =
        of.workspace.strip_prefix(&repository.root).map(super::snapshots::path_bytes).unwrap_or_default(); // no read
    let mut rules = Rules { prefix, ..Rules::default() };
    for above in of.workspace.ancestors().skip(1).take_while(|above| above.starts_with(&repository.root)) {
        let text = Read::from_io(SafeDir::root(above))
            .and_then(|above| above.read_small(rules::FILE_NAME, rules::SIZE_MAX));
        let text = text
            .into_result()
            .map_err(|why| error::io("read the ignore rules in", above)(io::Error::other(why)))?;
        let place = above.strip_prefix(&repository.root).map(super::snapshots::path_bytes);
        if let (Some(text), Ok(place)) = (text, place) {
            rules.texts.insert(place, text);
        }
    }
    match tracked::files(&of.workspace) {
        Ok(tracked) => rules.tracked = tracked,
        Err(reason) => {
            notes.push(tracked::unknown("", &reason));
            return Ok(rules);
        }
    }
    match Lists::read(repository) {
        Ok(lists) => drop(rules.lists.insert(Vec::new(), lists)),
        Err(why) => notes.push(format!("the ignore rules of the user are not known ({why})")),
    }
    Ok(rules)
}

/// Reads the files that changed since the index was written. A file that cannot be read is left out, and a file that is
/// gone is skipped.
fn read(
    of: &Snapshots,
    root: &SafeDir,
    index: &Index,
    writer: &mut Writer,
    found: Vec<FoundPath>,
    left: &mut Vec<ExcludedPath>,
) -> SnapshotResult<Vec<SnapshotFile>> {
    // The store has the snapshot of the index with all of its contents, or none of it.
    let attributes = match of.store.has(&index.root) {
        true => Parts::read_id(&of.store, &index.root)?.attributes(&of.store)?,
        false => AttributeList::default(),
    };
    let is_there = of.store.has(&index.root) && attributes.is_known() == cfg!(target_os = "linux");
    let mut known = index.cursor();
    let mut contents: Vec<Option<FileContent>> = Vec::with_capacity(found.len());
    for file in &found {
        let (mode, stamp) = (file.mode, file.stamp);
        let id = match safe_dir::has_content(mode) {
            true => known(&file.path, FileMeta { mode, stamp }).filter(|_| is_there),
            false => Some(Digest::default()),
        };
        let attributes = attributes.get(&file.path).cloned();
        contents.push(id.map(|id| FileContent { id, mode, stamp, is_settled: true, attributes }));
    }
    let missing: Vec<&FoundPath> =
        found.iter().zip(&contents).filter(|(_, content)| content.is_none()).map(|(file, _)| file).collect();
    let mut outcomes = content::read(&of.store, writer, root, &missing)?.into_iter();
    let mut taken = Vec::with_capacity(found.len());
    for (file, content) in found.into_iter().zip(contents) {
        let outcome = content.map(Ok).or_else(|| outcomes.next());
        let seen = file.meta();
        match outcome.unwrap_or_else(|| Err(io::ErrorKind::NotFound.into())) {
            Ok(content) => {
                taken.push(SnapshotFile { path: file.path, area: file.area, mode: content.mode, content })
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => left.push(ExcludedPath::new(file.path, ExcludedReason::Unreadable, Some(seen))),
        }
    }
    Ok(taken)
}

/// Returns the attributes of all files and folders. The index has no folders, so each folder is read every time.
fn attributes_of(root: &SafeDir, files: &[SnapshotFile]) -> AttributeList {
    let of_folder = |path: &[u8]| root.open_below(path).and_then(|folder| folder.attributes());
    let of_work = files.iter().filter(|file| !file.area.is_of_git());
    let all = of_work.map(|file| match safe_dir::is_folder(file.mode) {
        // A folder that cannot be opened is left out, and nothing is restored in it.
        true => (&*file.path, of_folder(&file.path).unwrap_or_else(|_| Some(safe_dir::Xattrs::new()))),
        false => (&*file.path, file.content.attributes.clone()),
    });
    AttributeList::new(all.chain([(&b""[..], of_folder(b"").ok().flatten())])) // unread, nothing of the root is kept
}

/// Keeps the objects of the workspace's repository and of the repositories within it.
fn keep_history(of: &Snapshots, root: &SafeDir, files: &[SnapshotFile], notes: &mut Vec<String>) {
    let of_git = files.iter().filter(|file| file.area.is_of_git() && safe_dir::has_content(file.mode));
    let (mut missed, mut lacking) = (0, Vec::new());
    for own in nested_repos::with_objects(root, of_git.map(|file| &*file.path)) {
        let name = String::from_utf8_lossy(own);
        match nested_repos::keep_objects(root, &of.own, own, of.limits.history_bytes_max) {
            Ok(0) => {}
            Ok(more) => {
                missed += more;
                lacking.push(name);
            }
            Err(error) => notes.push(format!(
                "the objects in {name} cannot be kept ({error}): if it is deleted, it cannot be brought back whole"
            )),
        }
    }
    if let [first, others @ ..] = &lacking[..] {
        let more = if others.is_empty() { "" } else { " and others" };
        notes.push(format!(
            "{} of the objects in {first}{more} cannot be copied, being elsewhere and too large: if it is deleted, it cannot \
             be brought back whole",
            count(missed, "file")
        ));
    }
}

/// Writes trees and lists; returns the names of the work and of the snapshot.
fn write(
    of: &Snapshots,
    writer: &mut Writer,
    files: &[SnapshotFile],
    branches: Option<&BranchTargets>,
    rules: &Rules,
    (left, permissions, attributes): (&[ExcludedPath], &FolderModes, &AttributeList),
) -> SnapshotResult<(Digest, Digest)> {
    let nodes = |area: TreeSection| -> Vec<PathEntry<'_>> {
        let files = files.iter().filter(|file| file.area == area);
        files.map(|file| PathEntry { path: &file.path, mode: file.mode, id: file.content.id }).collect()
    };
    let mut root = RootWriter::new(&of.store, writer);
    let work = root.work(&nodes(TreeSection::Work))?;
    root.ignored(&nodes(TreeSection::Ignored))?;
    root.repository(&nodes(TreeSection::Repository))?;
    root.within(&nodes(TreeSection::Within))?;
    root.inner(&nodes(TreeSection::Inner))?;
    root.branches(branches)?;
    root.rules(rules)?;
    root.left_out(left)?;
    root.permissions(permissions)?;
    root.attributes(attributes)?;
    Ok((work, root.finish()?))
}

/// Writes the index, unless it says all this already.
fn write_index(of: &Snapshots, old: Index, root: Digest, files: &[SnapshotFile]) -> SnapshotResult<()> {
    let is_known = |file: &&SnapshotFile| safe_dir::has_content(file.mode) && file.content.is_settled;
    let known = files.iter().filter(is_known).map(|file| CachedContent {
        path: file.path.clone(),
        kind: file.mode & TYPE,
        stamp: file.content.stamp,
        id: file.content.id,
    });
    let new = Index { root, known: known.collect() };
    let path = of.own.join(INDEX);
    if new == old { Ok(()) } else { new.write(&path).map_err(error::io("write", &path)) }
}
