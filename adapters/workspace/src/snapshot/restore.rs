//! Restores files.
//!
//! Folders are entered without following links, and a file gets its name when it is complete. An entry in the way
//! stays, unless it is known to be kept elsewhere.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use unstuck_files::Read;
use unstuck_files::private_dir;
use unstuck_files::safe_dir::{self, SafeDir, as_path};

use super::attributes::{self, AttributeList};
use super::change::DiffEntry;
use super::error::{SnapshotError, SnapshotResult, is_full};
use super::excluded::ExcludedList;
use super::object::{FOLDER, LINK, TYPE};
use super::permissions::{self, FolderModes};
use super::store::ObjectStore;
use super::tree::{self, EntryState};

/// The changes that were made to a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RestoreReport {
    /// Files and links that were written, from the root of the folder.
    pub written: Vec<PathBuf>,
    /// Files, links and folders that were removed.
    pub removed: Vec<PathBuf>,
    /// New files that were not removed: ignored ones, and ones that cannot be read.
    pub stayed: Vec<PathBuf>,
    /// Folders that already existed and got back their permissions.
    pub permissions: Vec<PathBuf>,
    /// Paths that were not restored, with the reasons.
    pub left: Vec<NotRestored>,
    /// Whether some of them are missing because the disk is full.
    pub is_full: bool,
}

/// A path that could not be restored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRestored {
    /// The path from the root of the folder.
    pub path: PathBuf,
    /// A sentence without its subject: "is a pipe, socket or device".
    pub why: String,
}

impl NotRestored {
    /// Returns the same with its path from a folder above.
    pub(super) fn below(self, folder: &Path) -> Self {
        Self { path: folder.join(self.path), ..self }
    }
}

/// Facts about the two sides of a difference, in addition to the difference.
#[derive(Debug, Default)]
pub(super) struct RestoreSides {
    /// Paths that the first side does not cover, and that must not be touched.
    pub(super) before: ExcludedList,
    /// Paths that the second side does not cover.
    pub(super) after: ExcludedList,
    /// Permissions of the folders on the second side.
    pub(super) permissions: FolderModes,
    /// Attributes of the files and folders on the second side.
    pub(super) attributes: AttributeList,
}

impl RestoreSides {
    /// Returns the permissions of a folder on the second side, as far as they mean the same without its access list.
    fn bits(&self, folder: &[u8]) -> Option<u32> {
        let bits = self.permissions.get(folder)?;
        Some(
            self.attributes.get(folder).map_or(bits, |attributes| attributes::without_list(bits, attributes)),
        )
    }
}

/// Brings the folder `root` to the second side of the differences.
///
/// Ignored files that the second side lacks stay, and paths that are unknown on the first side are not overwritten. No
/// other process should work in the folder: a concurrent write can be lost, but never outside of the folder. On a full
/// disk, restores as much as there is room for.
///
/// # Errors
///
/// The store cannot be read; then nothing was changed. Later failures are in the returned report.
pub(super) fn apply(
    store: &ObjectStore,
    root: &SafeDir,
    differences: &BTreeMap<Vec<u8>, DiffEntry>,
    sides: &RestoreSides,
) -> SnapshotResult<RestoreReport> {
    let news = differences
        .values()
        .filter_map(|entry| entry.pair.after.filter(|after| !is_in_place(entry.pair.before, *after)));
    for place in news.filter(|place| !place.is_folder()) {
        store.copy(&place.id, &mut io::sink())?;
    }
    let mut applied = RestoreReport::default();
    // In reverse order, the content of a folder comes before the folder.
    for (path, DiffEntry { pair, ignored }) in differences.iter().rev() {
        if let Some(before) = pair.before {
            remove_entry(root, path, before, pair.after, *ignored, sides, &mut applied);
        }
    }
    applied.removed.reverse();
    let news = differences.iter().filter_map(|(path, DiffEntry { pair, .. })| {
        let after = pair.after.filter(|after| !is_in_place(pair.before, *after))?;
        Some((&**path, pair.before, after))
    });
    write_all(store, root, news.collect(), sides, &mut applied);
    // Permissions come last, since they may deny writes to a folder that still needs content.
    let made =
        differences.iter().filter(|(_, entry)| entry.pair.after.is_some_and(|after| after.is_folder()));
    let made: BTreeMap<Vec<u8>, u32> =
        made.filter_map(|(path, _)| Some((path.clone(), sides.bits(path)?))).collect();
    let _as_far_as_it_goes = permissions::apply(root, &made);
    for path in made.keys() {
        let none = safe_dir::Xattrs::new();
        let was = sides.attributes.get(path).filter(|attributes| !attributes.is_empty());
        if let Some(Err(why)) = was.map(|was| give_attributes(root, path, true, &none, was)) {
            applied.leave(path, why);
        }
    }
    Ok(applied)
}

/// Restores a repository whose own folder, `path`, is gone: its files with their `permissions`, and the objects that
/// `fill` adds. It gets its name when it is complete. Returns `None` if another entry has the name.
pub(super) fn restore_repository(
    store: &ObjectStore,
    root: &SafeDir,
    (path, place): (&[u8], EntryState),
    permissions: &FolderModes,
    fill: impl FnOnce(&SafeDir) -> io::Result<()>,
) -> SnapshotResult<Option<RestoreReport>> {
    let refused = |source| SnapshotError::Io { what: "bring back", path: as_path(path).into_owned(), source };
    let (above, name) = safe_dir::split(path);
    let parent = root.make_below_as(above, &|folder| permissions.get(folder)).map_err(refused)?;
    match parent.metadata(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
        Ok(_) => return Ok(None),
    }
    if !place.is_folder() {
        let mut applied = RestoreReport::default();
        write_all(store, &parent, vec![(name, None, place)], &RestoreSides::default(), &mut applied);
        return Ok(Some(applied.below(&as_path(above))));
    }
    // The files of the workspace are already restored, and their folder may be read-only.
    let bits = permissions.get(above).filter(|_| !above.is_empty());
    let _seen_below = bits.map(|bits| parent.set_permissions(bits | 0o700));
    remove_unfinished(&parent);
    let (temporary, ()) = private_dir::make_beside(|name| parent.make_new(name)).map_err(refused)?;
    let whole = parent.open(&temporary).map_err(refused).and_then(|own| {
        let all = to_differences(tree::compare(store, None, Some(place.id))?);
        let sides = RestoreSides { permissions: permissions.below(path), ..RestoreSides::default() };
        let applied = apply(store, &own, &all, &sides)?;
        // Without all of its files, it would look complete. Files without room on the disk are tried again later.
        let filled = if applied.is_full { Err(io::ErrorKind::StorageFull.into()) } else { fill(&own) };
        let filled = filled.and_then(|()| {
            parent.own_like(&parent, &temporary)?;
            permissions.get(path).map_or(Ok(()), |bits| own.set_permissions(bits))?;
            parent.rename(&temporary, name)
        });
        filled.map(|()| applied.below(&as_path(path))).map_err(refused)
    });
    if whole.is_err() {
        let _best_effort = private_dir::remove(&parent, &temporary);
    }
    let _as_it_was = bits.map(|bits| parent.set_permissions(bits));
    whole.map(Some)
}

/// Removes the remains of a restore whose process was killed.
fn remove_unfinished(folder: &SafeDir) {
    for name in folder.names().into_iter().flatten() {
        // best effort
        if private_dir::is_temporary(&name) && folder.metadata(&name).is_ok_and(|seen| seen.is(FOLDER)) {
            let _best_effort = private_dir::remove(folder, &name);
        }
    }
}

/// Returns every pair of a comparison as a difference of files that are not ignored.
pub(super) fn to_differences(pairs: BTreeMap<Vec<u8>, tree::EntryPair>) -> BTreeMap<Vec<u8>, DiffEntry> {
    pairs.into_iter().map(|(path, pair)| (path, DiffEntry { pair, ignored: false })).collect()
}

/// Takes the files of a comparison that are asked for, and the new folders that hold nothing else. A folder that is
/// missing comes back with its files.
pub(super) fn select(
    all: BTreeMap<Vec<u8>, DiffEntry>,
    is_asked: &dyn Fn(&Path) -> bool,
) -> BTreeMap<Vec<u8>, DiffEntry> {
    let is_folder =
        |entry: &DiffEntry| entry.pair.before.or(entry.pair.after).is_some_and(|place| place.is_folder());
    let others: Vec<Vec<u8>> = all
        .iter()
        .filter(|(path, entry)| !is_folder(entry) && !is_asked(&as_path(path)))
        .map(|(path, _)| path.clone())
        .collect();
    let has_others_below = |path: &Vec<u8>| {
        let below = [path, &b"/"[..]].concat();
        let next = others.partition_point(|other| *other < below);
        others.get(next).is_some_and(|other| safe_dir::is_within(other, path))
    };
    let is_meant = |path: &Vec<u8>, entry: &DiffEntry| match (entry.pair.before, entry.pair.after) {
        (Some(before), None) if before.is_folder() => !has_others_below(path),
        (None, Some(after)) if after.is_folder() => is_asked(&as_path(path)) && !has_others_below(path),
        _ => is_asked(&as_path(path)),
    };
    all.into_iter().filter(|(path, entry)| is_meant(path, entry)).collect()
}

/// Opens a folder to put files in: one that is empty or not there yet.
pub(super) fn empty_folder(to: &Path) -> SnapshotResult<SafeDir> {
    let refused = |source| SnapshotError::Io { what: "check a snapshot out to", path: to.to_owned(), source };
    fs::create_dir_all(to).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => {
            SnapshotError::NotEmpty { to: to.to_owned() }
        }
        _ => refused(source),
    })?;
    let root = SafeDir::root(&to.canonicalize().map_err(refused)?).map_err(refused)?;
    if root.names().map_err(refused)?.is_empty() {
        Ok(root)
    } else {
        Err(SnapshotError::NotEmpty { to: to.to_owned() })
    }
}

fn is_in_place(before: Option<EntryState>, after: EntryState) -> bool {
    before.is_some_and(|before| before == after || before.is_folder() && after.is_folder())
}

fn remove_entry(
    root: &SafeDir,
    path: &[u8],
    before: EntryState,
    after: Option<EntryState>,
    ignored: bool,
    sides: &RestoreSides,
    applied: &mut RestoreReport,
) {
    match after {
        None if ignored => {
            if !before.is_folder() && sides.after.reason(path).is_none() {
                applied.stayed.push(as_path(path).into_owned());
            }
            return;
        }
        None => {
            if let Some(mount) = sides.after.mount_of(path) {
                return applied.leave_once(mount, WAS_MOUNT);
            }
            if let Some(reason) = sides.after.reason(path) {
                return applied.leave(path, format!("is not covered by the snapshot, where it was {reason}"));
            }
            if sides.after.may_be_ignored(path) {
                let why =
                    "is new, and may be ignored: the rules could not be read when the snapshot was taken";
                return applied.leave(path, why.to_owned());
            }
        }
        Some(after) if before.is_folder() == after.is_folder() => return,
        Some(_) => {}
    }
    let (parent, name) = safe_dir::split(path);
    let removed = root.open_below(parent).and_then(|folder| match before.is_folder() {
        true => folder.remove_folder(name),
        false => folder.remove_file(name),
    });
    match removed {
        Ok(()) => applied.removed.push(as_path(path).into_owned()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            applied.leave(path, "holds what snapshots do not cover".to_owned());
        }
        Err(error) => applied.leave(path, format!("cannot be removed: {error}")),
    }
}

/// A path to write, its present entry, and its new entry.
type NewEntry<'a> = (&'a [u8], Option<EntryState>, EntryState);

/// Writes as many entries as there is room for. An entry that replaces a larger one makes room for others.
fn write_all(
    store: &ObjectStore,
    root: &SafeDir,
    news: Vec<NewEntry<'_>>,
    sides: &RestoreSides,
    applied: &mut RestoreReport,
) {
    let mut open = news;
    loop {
        let mut without_room = Vec::new();
        for new in &open {
            match write_entry(store, root, *new, sides, applied) {
                Err(error) if is_full(&error) => without_room.push((*new, error)),
                Err(error) => applied.leave(new.0, write_error(new.2, &error)),
                Ok(()) => {}
            }
        }
        if without_room.len() == open.len() || without_room.is_empty() {
            applied.is_full |= !without_room.is_empty();
            for ((path, _, after), error) in without_room {
                applied.leave(path, write_error(after, &error));
            }
            return;
        }
        open = without_room.into_iter().map(|(new, _)| new).collect();
    }
}

fn write_error(after: EntryState, error: &io::Error) -> String {
    let what = if after.is_folder() { "created" } else { "written" };
    format!("cannot be {what}: {error}")
}

fn write_entry(
    store: &ObjectStore,
    root: &SafeDir,
    (path, before, after): NewEntry<'_>,
    sides: &RestoreSides,
    applied: &mut RestoreReport,
) -> io::Result<()> {
    if let Some(mount) = sides.before.mount_of(path) {
        applied.leave_once(mount, IS_MOUNT);
        return Ok(());
    }
    let (parent, name) = safe_dir::split(path);
    // A pipe, socket or device holds nothing that could be lost.
    let is_empty = |folder: &SafeDir| sides.before.is_special_file(path) && is_special_file(folder, name);
    let known = |folder: &[u8]| sides.bits(folder);
    if after.is_folder() {
        let made = root.open_below(parent).and_then(|folder| match is_empty(&folder) {
            true => folder.remove_file(name),
            false => Ok(()),
        });
        return match made {
            Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
            _ => root.make_below_as(path, &known).map(drop),
        };
    }
    let folder = root.make_below_as(parent, &known)?;
    if before.is_none()
        && Read::from_io(folder.metadata(name)).into_result().map_err(io::Error::other)?.is_some()
        && !is_empty(&folder)
    {
        let what = sides.before.reason(path).map_or("new".to_owned(), |reason| reason.to_string());
        applied.leave(path, format!("would be lost: what is there now is {what}"));
        return Ok(());
    }
    let placed = replace_file(store, &folder, name, after, sides.attributes.get(path))?;
    applied.written.push(as_path(path).into_owned());
    if placed.lacks_set_id {
        applied.leave(path, WITHOUT_SET_ID.to_owned());
    }
    if !placed.lacks.is_empty() {
        applied.leave(path, missing_attributes(&placed.lacks));
    }
    Ok(())
}

fn is_special_file(folder: &SafeDir, name: &[u8]) -> bool {
    folder
        .metadata(name)
        .is_ok_and(|seen| !safe_dir::has_content(seen.mode) && !safe_dir::is_folder(seen.mode))
}

#[derive(Default)]
struct RestoreLosses {
    /// Whether the file lost its set-user-ID or set-group-ID bit.
    lacks_set_id: bool,
    /// Attributes that could not be restored.
    lacks: Vec<String>,
}

fn missing_attributes(attributes: &[String]) -> String {
    format!("has come back without {}, and gives no more access than before", attributes.join(", "))
}

/// Restores the attributes of a file or folder in its place; a sentence says what the system refused.
pub(super) fn give_attributes(
    root: &SafeDir,
    path: &[u8],
    is_folder: bool,
    now: &safe_dir::Xattrs,
    then: &safe_dir::Xattrs,
) -> Result<(), String> {
    let (parent, name) = safe_dir::split(path);
    let refused = |error: io::Error| format!("cannot get its access list and attributes again: {error}");
    let lacks = if is_folder {
        let folder = root.open_below(path).map_err(refused)?;
        attributes::apply(now, then, |name, value| folder.set_attribute(name, value))
    } else {
        let file = root.open_below(parent).and_then(|folder| folder.open_file(name)).map_err(refused)?;
        attributes::apply(now, then, |name, value| safe_dir::set_attribute(&file, name, value))
    };
    if lacks.is_empty() { Ok(()) } else { Err(format!("cannot get {} again", lacks.join(", "))) }
}

const WAS_MOUNT: &str =
    "had another file system mounted on it, which no snapshot holds: what is there now stays";
const IS_MOUNT: &str =
    "has another file system mounted on it now: nothing is written there, and nothing is removed";

/// The bits by which a file runs as the user and the group that it belongs to.
const SET_ID: u32 = 0o6000;

const WITHOUT_SET_ID: &str = "has come back without its set-user-id and set-group-id bits: it may not belong to whom it did, or the system gives them to nobody";

/// Puts a file in place of what has its name, in one step.
fn replace_file(
    store: &ObjectStore,
    folder: &SafeDir,
    name: &[u8],
    after: EntryState,
    attributes: Option<&safe_dir::Xattrs>,
) -> io::Result<RestoreLosses> {
    let temporary = temporary_name();
    let placed = make_file(store, folder, (&temporary, name), after, attributes)
        .and_then(|how| folder.rename(&temporary, name).map(|()| how));
    if placed.is_err() {
        let _best_effort = folder.remove_file(&temporary);
    }
    placed
}

/// Makes a file that is to take the place of what has the name.
fn make_file(
    store: &ObjectStore,
    folder: &SafeDir,
    (temporary, name): (&[u8], &[u8]),
    after: EntryState,
    attributes: Option<&safe_dir::Xattrs>,
) -> io::Result<RestoreLosses> {
    if after.mode & TYPE == LINK {
        let mut target = Vec::new();
        store.fill(&after.id, &mut target)?;
        folder.make_link(temporary, &target)?;
        return folder.own_like(folder, temporary).map(|()| RestoreLosses::default());
    }
    let mut file = folder.create(temporary)?;
    store.fill(&after.id, &mut file)?;
    set_metadata(folder, temporary, &file, (name, after.mode), attributes)
}

/// Sets the owner of a file and then its mode, since a change of owner clears bits of the mode. The file must not run
/// as another user than the file that it replaces.
fn set_metadata(
    folder: &SafeDir,
    temporary: &[u8],
    file: &File,
    (name, mode): (&[u8], u32),
    attributes: Option<&safe_dir::Xattrs>,
) -> io::Result<RestoreLosses> {
    folder.own_like(folder, temporary)?;
    // A snapshot without attributes says nothing of them, so the present ones stay.
    let present = || folder.open_file(name).and_then(|file| safe_dir::attributes(&file)).ok().flatten(); // then none are set
    let attributes = attributes.cloned().or_else(present).unwrap_or_default();
    // A folder may hand a list down to new files, which lets others in.
    safe_dir::set_attribute(file, safe_dir::ACCESS_LIST, None)?;
    let mode = attributes::without_list(mode, &attributes);
    let has_set_id = mode & SET_ID != 0;
    let may_have_all = !has_set_id || folder.is_owned_like(file, name).unwrap_or(false);
    // The content matters more than the set-ID bits, which the system can refuse.
    let has_all = may_have_all && safe_dir::set_permissions(file, mode).is_ok();
    if !has_all {
        safe_dir::set_permissions(file, mode & !SET_ID)?;
    }
    let none = safe_dir::Xattrs::new();
    let lacks =
        attributes::apply(&none, &attributes, |name, value| safe_dir::set_attribute(file, name, value));
    Ok(RestoreLosses { lacks_set_id: !has_all && has_set_id, lacks })
}

fn temporary_name() -> Vec<u8> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(".unstuck-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)).into_bytes()
}

impl RestoreReport {
    /// Returns the same report with its paths from a folder above.
    fn below(mut self, folder: &Path) -> Self {
        self.left = self.left.into_iter().map(|left| left.below(folder)).collect();
        self
    }

    /// Adds what was done elsewhere in the same folder.
    pub(super) fn extend(&mut self, more: Self) {
        self.written.extend(more.written);
        self.removed.extend(more.removed);
        self.stayed.extend(more.stayed);
        self.permissions.extend(more.permissions);
        self.left.extend(more.left);
        self.is_full |= more.is_full;
    }

    /// As [`Self::leave`], of a folder for all that is in it.
    fn leave_once(&mut self, folder: &[u8], why: &str) {
        if self.left.iter().all(|left| left.path != *as_path(folder)) {
            self.leave(folder, why.to_owned());
        }
    }

    fn leave(&mut self, path: &[u8], why: String) {
        self.left.push(NotRestored { path: as_path(path).into_owned(), why });
    }
}
