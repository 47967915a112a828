//! The file that a check writes its verdict to: put out of the way before, read after.
//!
//! The file is in a folder that anybody may write to, so it is reached folder by folder without
//! following links, opened without waiting (a pipe would hang us), and read up to [`SIZE_MAX`].
//! What it says is not looked at here.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use unstuck_core::event::{Bytes, DecisionFile};
use unstuck_core::verdict::Refusal;

/// Larger files are refused.
pub const SIZE_MAX: u64 = 1024 * 1024;

/// What was where the verdict is to be written, and is not there any more.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MovedAside {
    /// A file with these bytes; removed.
    Removed(Vec<u8>),
    /// A link to this target; removed.
    LinkRemoved(PathBuf),
    /// Something that cannot be kept otherwise: renamed.
    Renamed {
        /// What it was: "a folder", "a file of 3000000 bytes".
        what: String,
        /// Its name now, in the same folder.
        to: String,
    },
}

impl MovedAside {
    /// Returns a sentence for people; `None` where the bytes themselves say enough.
    pub fn note(&self) -> Option<String> {
        match self {
            Self::Removed(_) => None,
            Self::LinkRemoved(target) => Some(format!(
                "a link to {} stood in place of the decision file and was removed",
                target.display()
            )),
            Self::Renamed { what, to } => {
                Some(format!("{what} stood in place of the decision file and was renamed to {to}"))
            }
        }
    }
}

/// Puts what is at `path` out of the way, so that what is there later was written later.
///
/// `path` is relative to the workspace. Returns `None` if nothing is there.
///
/// # Errors
///
/// `path` leads out of the workspace, or what is there can be neither removed nor renamed. The text names the path.
pub fn move_aside(workspace: &Path, path: &Path) -> io::Result<Option<MovedAside>> {
    named(path, || {
        let Some(place) = Place::find(workspace, path)? else { return Ok(None) };
        let Some(found) = place.look()? else { return Ok(None) };
        match found {
            Found::Link => {
                let target = place.link_target()?;
                place.remove()?;
                Ok(Some(MovedAside::LinkRemoved(target)))
            }
            Found::File(size) if size <= SIZE_MAX => {
                let bytes = place.read()?;
                place.remove()?;
                Ok(Some(MovedAside::Removed(bytes)))
            }
            Found::File(size) => place.rename(format!("a file of {size} bytes")).map(Some),
            Found::Folder => place.rename("a folder".to_owned()).map(Some),
            Found::Other => place.rename("a pipe, socket or device".to_owned()).map(Some),
        }
    })
}

/// Reads what is at `path`, relative to the workspace.
pub fn read(workspace: &Path, path: &Path) -> DecisionFile {
    match try_read(workspace, path) {
        Ok(bytes) => DecisionFile::Read(Bytes(bytes)),
        Err(refusal) => DecisionFile::Refused(refusal),
    }
}

/// Creates the folders that the file needs. `path` is relative to the workspace.
///
/// # Errors
///
/// `path` leads out of the workspace, or a folder cannot be created. The text names the path.
pub fn prepare(workspace: &Path, path: &Path) -> io::Result<()> {
    named(path, || Place::prepare(workspace, path))
}

/// Writes a verdict so that a reader sees all of it or nothing. Creates the folders that it needs.
///
/// This is the side of the one who answers: `path` is trusted.
pub fn write(path: &Path, verdict: &serde_json::Value) -> io::Result<()> {
    let name = path
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    fs::create_dir_all(folder)?;
    let temporary = folder.join(format!(".{}.{}.tmp", name.to_string_lossy(), std::process::id()));
    let result = write_new(&temporary, format!("{verdict:#}\n").as_bytes())
        .and_then(|()| fs::rename(&temporary, path));
    if result.is_err() {
        let _never_created = fs::remove_file(&temporary);
    }
    result
}

fn write_new(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = File::create(path)?;
    file.write_all(bytes)?;
    file.sync_all()
}

fn try_read(workspace: &Path, path: &Path) -> Result<Vec<u8>, Refusal> {
    let place = Place::find(workspace, path).map_err(|error| refusal(&error))?.ok_or(Refusal::Missing)?;
    match place.look().map_err(|error| refusal(&error))? {
        None => Err(Refusal::Missing),
        Some(Found::File(0)) => Err(Refusal::Empty),
        Some(Found::File(size)) if size > SIZE_MAX => Err(Refusal::TooLarge),
        Some(Found::File(_)) => match place.read() {
            Ok(bytes) if bytes.is_empty() => Err(Refusal::Empty),
            result => result.map_err(|error| refusal(&error)),
        },
        Some(_) => Err(Refusal::NotRegular),
    }
}

/// What [`Place`] says with an error kind, as a refusal.
fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound => Refusal::Missing,
        OUTSIDE => Refusal::OutsideWorkspace,
        io::ErrorKind::FileTooLarge => Refusal::TooLarge,
        NOT_REGULAR => Refusal::NotRegular,
        _ => Refusal::Unreadable,
    }
}

/// The path leads out of the workspace, or through a link, which may. (The kind that Linux answers to
/// such a path where it does the walk itself.)
const OUTSIDE: io::ErrorKind = io::ErrorKind::CrossesDevices;
/// What is there is no file.
const NOT_REGULAR: io::ErrorKind = io::ErrorKind::InvalidInput;

fn outside() -> io::Error {
    io::Error::new(OUTSIDE, "it leads out of the workspace, or through a link")
}

fn named<T>(path: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work().map_err(|error| io::Error::new(error.kind(), format!("decision file {}: {error}", path.display())))
}

/// What is somewhere.
enum Found {
    File(u64),
    Link,
    Folder,
    Other,
}

/// Reads a file of at most [`SIZE_MAX`] bytes.
fn read_all(file: File) -> io::Result<Vec<u8>> {
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(NOT_REGULAR, "it is no regular file"));
    }
    let mut bytes = Vec::new();
    file.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > SIZE_MAX {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
    }
    Ok(bytes)
}

/// Tries the names that something may be renamed to.
fn rename_with(
    name: &str,
    what: String,
    rename: impl Fn(&str) -> io::Result<bool>,
) -> io::Result<MovedAside> {
    for number in 1..1000 {
        let to = format!("{name}.stale-{number}");
        if rename(&to)? {
            return Ok(MovedAside::Renamed { what, to });
        }
    }
    Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many old ones beside it"))
}

/// Splits a path from the root of the workspace into its folders and its name.
///
/// `None` where it would lead out: an absolute path, or one with a `..` component.
fn split(path: &Path) -> Option<(Vec<&OsStr>, &OsStr)> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    let name = names.pop()?;
    Some((names, name))
}

#[cfg(unix)]
use self::beneath::Place;
#[cfg(not(unix))]
use self::by_path::Place;

/// A walk from folder to folder by open handles, none of them reached through a link: nobody can
/// put a link in the way between looking and opening.
#[cfg(unix)]
mod beneath {
    use std::ffi::{OsStr, OsString};
    use std::fs::File;
    use std::io;
    use std::os::fd::OwnedFd;
    use std::os::unix::ffi::OsStringExt as _;
    use std::path::{Path, PathBuf};

    use rustix::fs::{
        AtFlags, CWD, FileType, Mode, OFlags, mkdirat, openat, readlinkat, renameat, statat, unlinkat,
    };
    use rustix::io::Errno;

    use super::{Found, MovedAside, outside, read_all, rename_with, split};

    /// A name in an open folder.
    pub(super) struct Place {
        folder: OwnedFd,
        name: OsString,
    }

    impl Place {
        /// Returns `None` if one of the folders is missing.
        pub(super) fn find(workspace: &Path, path: &Path) -> io::Result<Option<Self>> {
            let (folders, name) = split(path).ok_or_else(outside)?;
            let mut folder = openat(CWD, workspace, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            for next in folders {
                folder = match enter(&folder, next) {
                    Err(Errno::NOENT) => return Ok(None),
                    Err(error) => return Err(why_not(&folder, next, error)),
                    Ok(next) => next,
                };
            }
            Ok(Some(Self { folder, name: name.to_owned() }))
        }

        pub(super) fn prepare(workspace: &Path, path: &Path) -> io::Result<()> {
            let (folders, _) = split(path).ok_or_else(outside)?;
            let mut folder = openat(CWD, workspace, OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
            for next in folders {
                match mkdirat(&folder, next, Mode::from_raw_mode(0o777)) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
                folder = enter(&folder, next).map_err(|error| why_not(&folder, next, error))?;
            }
            Ok(())
        }

        pub(super) fn look(&self) -> io::Result<Option<Found>> {
            let stat = match statat(&self.folder, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(None),
                stat => stat?,
            };
            Ok(Some(match FileType::from_raw_mode(stat.st_mode) {
                FileType::RegularFile => Found::File(u64::try_from(stat.st_size).unwrap_or(u64::MAX)),
                FileType::Symlink => Found::Link,
                FileType::Directory => Found::Folder,
                _ => Found::Other,
            }))
        }

        pub(super) fn read(&self) -> io::Result<Vec<u8>> {
            // Whatever is there by now: opening it neither waits nor follows.
            let flags =
                OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
            read_all(File::from(openat(&self.folder, &self.name, flags, Mode::empty())?))
        }

        pub(super) fn link_target(&self) -> io::Result<PathBuf> {
            let target = readlinkat(&self.folder, &self.name, Vec::new())?;
            Ok(OsString::from_vec(target.into_bytes()).into())
        }

        pub(super) fn remove(&self) -> io::Result<()> {
            Ok(unlinkat(&self.folder, &self.name, AtFlags::empty())?)
        }

        pub(super) fn rename(&self, what: String) -> io::Result<MovedAside> {
            rename_with(&self.name.to_string_lossy(), what, |to| {
                if statat(&self.folder, to, AtFlags::SYMLINK_NOFOLLOW).err() != Some(Errno::NOENT) {
                    return Ok(false);
                }
                renameat(&self.folder, &self.name, &self.folder, to)?;
                Ok(true)
            })
        }
    }

    fn enter(folder: &OwnedFd, next: &OsStr) -> Result<OwnedFd, Errno> {
        openat(folder, next, OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
    }

    /// Opening a link as a folder fails like opening a file as one: tell them apart.
    fn why_not(folder: &OwnedFd, next: &OsStr, error: Errno) -> io::Error {
        let is_link = statat(folder, next, AtFlags::SYMLINK_NOFOLLOW)
            .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Symlink);
        if is_link { outside() } else { error.into() }
    }
}

/// The same by paths, for systems without such handles: whoever may write to the workspace could
/// put a link in the way between looking and opening.
#[cfg(not(unix))]
mod by_path {
    use std::ffi::OsString;
    use std::fs::{self, File};
    use std::io;
    use std::path::{Path, PathBuf};

    use super::{Found, MovedAside, outside, read_all, rename_with, split};

    /// A name in a folder.
    pub(super) struct Place {
        folder: PathBuf,
        name: OsString,
    }

    impl Place {
        pub(super) fn find(workspace: &Path, path: &Path) -> io::Result<Option<Self>> {
            Self::walk(workspace, path, |_| Ok(()))
        }

        pub(super) fn prepare(workspace: &Path, path: &Path) -> io::Result<()> {
            let create = |folder: &Path| match fs::create_dir(folder) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
                result => result,
            };
            Self::walk(workspace, path, create).map(drop)
        }

        fn walk(
            workspace: &Path,
            path: &Path,
            before: impl Fn(&Path) -> io::Result<()>,
        ) -> io::Result<Option<Self>> {
            let (folders, name) = split(path).ok_or_else(outside)?;
            let mut folder = workspace.to_owned();
            for next in folders {
                folder.push(next);
                before(&folder)?;
                match fs::symlink_metadata(&folder) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                    Err(error) => return Err(error),
                    Ok(metadata) if metadata.is_symlink() => return Err(outside()),
                    Ok(metadata) if !metadata.is_dir() => return Err(io::ErrorKind::NotADirectory.into()),
                    Ok(_) => {}
                }
            }
            Ok(Some(Self { folder, name: name.to_owned() }))
        }

        fn path(&self) -> PathBuf {
            self.folder.join(&self.name)
        }

        pub(super) fn look(&self) -> io::Result<Option<Found>> {
            let metadata = match fs::symlink_metadata(self.path()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
                metadata => metadata?,
            };
            Ok(Some(match metadata.file_type() {
                kind if kind.is_file() => Found::File(metadata.len()),
                kind if kind.is_symlink() => Found::Link,
                kind if kind.is_dir() => Found::Folder,
                _ => Found::Other,
            }))
        }

        pub(super) fn read(&self) -> io::Result<Vec<u8>> {
            read_all(File::open(self.path())?)
        }

        pub(super) fn link_target(&self) -> io::Result<PathBuf> {
            fs::read_link(self.path())
        }

        pub(super) fn remove(&self) -> io::Result<()> {
            fs::remove_file(self.path())
        }

        pub(super) fn rename(&self, what: String) -> io::Result<MovedAside> {
            rename_with(&self.name.to_string_lossy(), what, |to| {
                if self.folder.join(to).symlink_metadata().is_ok() {
                    return Ok(false);
                }
                fs::rename(self.path(), self.folder.join(to))?;
                Ok(true)
            })
        }
    }
}
