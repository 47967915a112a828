//! Puts files back. Folders are entered without following links, a file gets its name when it is
//! complete, and what stands in the way and is not known to be kept elsewhere is left alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{
    AtFlags, Mode, OFlags, RawMode, chownat, fchmod, fstat, openat, renameat, symlinkat, unlinkat,
};
use rustix::process::geteuid;

use super::change::Difference;
use super::error::Error;
use super::folder;
use super::history;
use super::left_out::Uncovered;
use super::object::{Item, LINK, TYPE};
use super::store::Store;
use super::tree::{self, Place};

/// What was done to a folder.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Files and links that were written, from the root of the folder.
    pub written: Vec<PathBuf>,
    /// Files, links and folders that were removed.
    pub removed: Vec<PathBuf>,
    /// What is not as it was, and why.
    pub left: Vec<NotRestored>,
}

/// Something that could not be put back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotRestored {
    /// From the root of the folder.
    pub path: PathBuf,
    /// A sentence without its subject: "is a pipe, socket or device".
    pub why: String,
}

/// What is not known of the two sides of a difference, so that it must not be touched.
#[derive(Debug, Default)]
pub(super) struct Unknown {
    pub(super) before: Uncovered,
    pub(super) after: Uncovered,
}

/// Makes the folder `root` as the second side of the differences has it.
///
/// Ignored files that the second side does not have stay, and what is not known from the first side is
/// not written over. Nobody else should be at work in the folder: what somebody writes at this moment
/// may be lost, but never outside of it.
///
/// # Errors
///
/// The store cannot be read; then nothing was changed. What the system refuses in the folder is told by
/// what is returned.
pub(super) fn apply(
    store: &Store,
    root: &OwnedFd,
    differences: &BTreeMap<Vec<u8>, Difference>,
    unknown: &Unknown,
) -> Result<Applied, Error> {
    let news = differences
        .values()
        .filter_map(|it| it.pair.after.filter(|after| !is_in_place(it.pair.before, *after)));
    for place in news.filter(|place| !place.is_folder()) {
        store.copy(&place.id, &mut io::sink())?;
    }
    let mut applied = Applied::default();
    // What is in a folder comes after it.
    for (path, Difference { pair, ignored }) in differences.iter().rev() {
        if let Some(before) = pair.before {
            remove(root, path, before, pair.after, *ignored, unknown, &mut applied);
        }
    }
    applied.removed.reverse();
    for (path, Difference { pair, .. }) in differences {
        if let Some(after) = pair.after.filter(|after| !is_in_place(pair.before, *after)) {
            write(store, root, path, pair.before, after, unknown, &mut applied)?;
        }
    }
    Ok(applied)
}

/// Gives a workspace without a `.git` the one of the snapshot, with the objects in `kept`.
pub(super) fn bring_repository_back(
    store: &Store,
    root: &OwnedFd,
    repository: &Item,
    kept: &Path,
) -> Result<Option<Applied>, Error> {
    let refused = |source| Error::Io { what: "bring back", path: ".git".into(), source };
    match folder::look(root, b".git") {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(refused(error)),
        Ok(_) => return Ok(None),
    }
    let place = Place { mode: repository.mode, id: repository.id };
    if !place.is_folder() {
        let mut applied = Applied::default();
        write(store, root, b".git", None, place, &Unknown::default(), &mut applied)?;
        return Ok(Some(applied));
    }
    let temporary = temporary_name();
    history::make_folder(root, temporary.as_bytes()).map_err(refused)?;
    let own = folder::open(root, temporary.as_bytes()).map_err(refused)?;
    let all = all(tree::compare(store, None, Some(repository.id))?);
    let applied = apply(store, &own, &all, &Unknown::default())?;
    let filled = folder_below(&own, b"objects").and_then(|objects| {
        folder_below(&own, b"refs")?;
        history::give_back(kept, &objects)?;
        own_like(root, root, temporary.as_bytes())?;
        Ok(renameat(root, &temporary, root, ".git")?)
    });
    filled.map_err(refused)?;
    Ok(Some(applied))
}

/// Takes every pair of a comparison, as of files that are not ignored.
pub(super) fn all(pairs: BTreeMap<Vec<u8>, tree::Pair>) -> BTreeMap<Vec<u8>, Difference> {
    pairs.into_iter().map(|(path, pair)| (path, Difference { pair, ignored: false })).collect()
}

/// Opens a folder to put files in: one that is empty or not there yet.
pub(super) fn empty_folder(to: &Path) -> Result<OwnedFd, Error> {
    let refused = |source| Error::Io { what: "check a snapshot out to", path: to.to_owned(), source };
    fs::create_dir_all(to).map_err(|source| match source.kind() {
        io::ErrorKind::AlreadyExists | io::ErrorKind::NotADirectory => Error::NotEmpty { to: to.to_owned() },
        _ => refused(source),
    })?;
    let root = folder::root(&to.canonicalize().map_err(refused)?).map_err(refused)?;
    if folder::names(&root).map_err(refused)?.is_empty() {
        Ok(root)
    } else {
        Err(Error::NotEmpty { to: to.to_owned() })
    }
}

fn is_in_place(before: Option<Place>, after: Place) -> bool {
    before.is_some_and(|before| before == after || before.is_folder() && after.is_folder())
}

fn remove(
    root: &OwnedFd,
    path: &[u8],
    before: Place,
    after: Option<Place>,
    ignored: bool,
    unknown: &Unknown,
    applied: &mut Applied,
) {
    match after {
        None if ignored => return,
        None => {
            if let Some(reason) = unknown.after.reason(path) {
                return applied.leave(path, format!("is not covered by the snapshot, where it was {reason}"));
            }
        }
        Some(after) if before.is_folder() == after.is_folder() => return,
        Some(_) => {}
    }
    let (parent, name) = folder::split(path);
    let flags = if before.is_folder() { AtFlags::REMOVEDIR } else { AtFlags::empty() };
    let removed = folder::open_below(root, parent).and_then(|folder| Ok(unlinkat(folder, name, flags)?));
    match removed {
        Ok(()) => applied.removed.push(as_path(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {
            applied.leave(path, "holds what snapshots do not cover".to_owned());
        }
        Err(error) => applied.leave(path, format!("cannot be removed: {error}")),
    }
}

fn write(
    store: &Store,
    root: &OwnedFd,
    path: &[u8],
    before: Option<Place>,
    after: Place,
    unknown: &Unknown,
    applied: &mut Applied,
) -> Result<(), Error> {
    if after.is_folder() {
        if let Err(error) = folder_below(root, path) {
            applied.leave(path, format!("cannot be created: {error}"));
        }
        return Ok(());
    }
    let (parent, name) = folder::split(path);
    let placed = match folder_below(root, parent) {
        Ok(folder) if before.is_none() && folder::look(&folder, name).is_ok() => {
            let what = unknown.before.reason(path).map_or("new".to_owned(), |reason| reason.to_string());
            applied.leave(path, format!("would be lost: what is there now is {what}"));
            return Ok(());
        }
        Ok(folder) => place(store, &folder, name, after)?,
        Err(error) => Err(error),
    };
    match placed {
        Ok(()) => applied.written.push(as_path(path)),
        Err(error) => applied.leave(path, format!("cannot be written: {error}")),
    }
    Ok(())
}

/// Puts a file in place of what has its name, in one step.
fn place(store: &Store, folder: &OwnedFd, name: &[u8], after: Place) -> Result<io::Result<()>, Error> {
    let temporary = temporary_name();
    let written = if after.mode & TYPE == LINK {
        let target = store.blob(&after.id)?;
        symlinkat(target, folder, &temporary).map_err(io::Error::from)
    } else {
        match create(folder, &temporary) {
            Ok(mut file) => {
                if let Err(error) = store.copy(&after.id, &mut file) {
                    let _best_effort = unlinkat(folder, &temporary, AtFlags::empty());
                    return Err(error);
                }
                fchmod(&file, Mode::from_raw_mode((after.mode & 0o777) as RawMode)).map_err(io::Error::from)
            }
            Err(error) => return Ok(Err(error)),
        }
    };
    let placed = written
        .and_then(|()| own_like(folder, folder, temporary.as_bytes()))
        .and_then(|()| Ok(renameat(folder, &temporary, folder, name)?));
    if placed.is_err() {
        let _best_effort = unlinkat(folder, &temporary, AtFlags::empty());
    }
    Ok(placed)
}

fn create(folder: &OwnedFd, name: &str) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(File::from(openat(folder, name, flags, Mode::from_raw_mode(0o600))?))
}

/// Opens the folder `path` below `root`, and creates what is missing of it.
fn folder_below(root: &OwnedFd, path: &[u8]) -> io::Result<OwnedFd> {
    let mut at = folder::open(root, b".")?;
    for name in path.split(|&byte| byte == b'/').filter(|name| !name.is_empty()) {
        at = match folder::open(&at, name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                history::make_folder(&at, name)?;
                own_like(&at, &at, name)?;
                folder::open(&at, name)?
            }
            opened => opened?,
        };
    }
    Ok(at)
}

/// What the superuser puts back belongs to whoever the folder belongs to, as it did before.
fn own_like(like: impl AsFd, folder: impl AsFd, name: &[u8]) -> io::Result<()> {
    if !geteuid().is_root() {
        return Ok(());
    }
    let owner = fstat(like)?;
    let user = rustix::fs::Uid::from_raw(owner.st_uid);
    let group = rustix::fs::Gid::from_raw(owner.st_gid);
    // A superuser of a container may have no say over some owners; then it stays as it is.
    let _as_far_as_it_goes = chownat(folder, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
    Ok(())
}

/// Returns a name that nobody else uses.
fn temporary_name() -> String {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    format!(".unstuck-{}-{}.tmp", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed))
}

fn as_path(path: &[u8]) -> PathBuf {
    PathBuf::from(OsString::from_vec(path.to_vec()))
}

impl Applied {
    fn leave(&mut self, path: &[u8], why: String) {
        self.left.push(NotRestored { path: as_path(path), why });
    }
}
