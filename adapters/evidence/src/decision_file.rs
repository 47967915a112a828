//! The file that a check writes its verdict to: moved aside before the check, read after it.
//!
//! Any process may write to its folder. So this module opens each folder in turn without following links, opens the
//! file without blocking (a pipe would hang), and reads at most [`SIZE_MAX`]. Its content is parsed elsewhere.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Component, Path, PathBuf};

use unstuck_core::event::{Bytes, DecisionFile};
use unstuck_core::evidence::Refusal;

use unstuck_files::safe_dir::{self, FILE, FOLDER, LEADS_OUT, LINK, SafeDir, TYPE, leads_out};

/// Larger files are refused.
pub const SIZE_MAX: u64 = 1024 * 1024;

/// The entry that was moved away from the path of the decision file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MovedAside {
    /// A file with these bytes; removed.
    Removed(Vec<u8>),
    /// A link to this target; removed.
    LinkRemoved(PathBuf),
    /// Anything else; renamed, since its content cannot be kept.
    Renamed {
        /// Description of the original: "a folder", "a file of 3000000 bytes".
        what: String,
        /// New name, in the same folder.
        to: String,
    },
}

impl MovedAside {
    /// Returns a sentence for the user; `None` if the bytes are enough.
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

/// Moves the entry at `path` aside, so that a later file at `path` is known to be new.
///
/// `path` is relative to the workspace. Returns `None` if it does not exist.
///
/// # Errors
///
/// `path` leads out of the workspace, or the entry can be neither removed nor renamed. The message names the path.
pub fn move_aside(workspace: &Path, path: &Path) -> io::Result<Option<MovedAside>> {
    with_path(path, || {
        let Some(place) = DecisionPath::find(workspace, path)? else { return Ok(None) };
        let Some(kind) = place.kind()? else { return Ok(None) };
        match kind {
            EntryKind::Link => {
                let target = place.link_target()?;
                place.remove()?;
                Ok(Some(MovedAside::LinkRemoved(target)))
            }
            EntryKind::File(size) if size <= SIZE_MAX => {
                let bytes = place.read()?;
                place.remove()?;
                Ok(Some(MovedAside::Removed(bytes)))
            }
            EntryKind::File(size) => place.rename(format!("a file of {size} bytes")).map(Some),
            EntryKind::Folder => place.rename("a folder".to_owned()).map(Some),
            EntryKind::Other => place.rename("a pipe, socket or device".to_owned()).map(Some),
        }
    })
}

/// Returns whether a path was refused because it leads out of the workspace, or through an entry that is not a folder.
/// [Reading](read()) it fails in the same way.
pub fn leads_nowhere(refused: &io::Error) -> bool {
    matches!(refused.kind(), LEADS_OUT | io::ErrorKind::NotADirectory)
}

/// Renames the entry at Unstuck's folder `name` of the workspace if it is neither a folder nor a link. Returns a
/// sentence that reports the rename.
///
/// # Errors
///
/// The entry cannot be renamed. The message names the folder.
pub fn clear_way(workspace: &Path, name: &str) -> io::Result<Option<String>> {
    with_path(Path::new(name), || {
        let folder = SafeDir::root(&workspace.canonicalize()?)?;
        let place = DecisionPath { folder, name: name.as_bytes().to_vec() };
        let what = match place.kind()? {
            None | Some(EntryKind::Folder | EntryKind::Link) => return Ok(None),
            Some(EntryKind::File(_)) => "a file",
            Some(EntryKind::Other) => "a pipe, socket or device",
        };
        let to = place.rename_aside()?;
        Ok(Some(format!("{what} stood in place of the folder {name} and was renamed to {to}")))
    })
}

/// Reads the file at `path`, relative to the workspace.
pub fn read(workspace: &Path, path: &Path) -> DecisionFile {
    match try_read(workspace, path) {
        Ok(bytes) => DecisionFile::Read(Bytes(bytes)),
        Err(refusal) => DecisionFile::Refused(refusal),
    }
}

/// Restores a removed file. `path` is relative to the workspace and must not exist.
///
/// # Errors
///
/// `path` exists or leads out of the workspace, or the file cannot be written. The message names the path.
pub fn put_back(workspace: &Path, path: &Path, bytes: &[u8]) -> io::Result<()> {
    prepare(workspace, path)?;
    with_path(path, || match DecisionPath::find(workspace, path)? {
        Some(place) => place.folder.create(&place.name)?.write_all(bytes),
        None => Err(io::ErrorKind::NotFound.into()),
    })
}

/// Creates the folders that the file needs. `path` is relative to the workspace.
///
/// # Errors
///
/// `path` leads out of the workspace, or a folder cannot be created. The message names the path.
pub fn prepare(workspace: &Path, path: &Path) -> io::Result<()> {
    with_path(path, || DecisionPath::prepare(workspace, path))
}

/// Writes a verdict atomically. Creates the folders that it needs.
///
/// The process that gives the verdict calls this, so `path` is trusted.
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
    let place =
        DecisionPath::find(workspace, path).map_err(|error| refusal(&error))?.ok_or(Refusal::Missing)?;
    match place.kind().map_err(|error| refusal(&error))? {
        None => Err(Refusal::Missing),
        Some(EntryKind::File(0)) => Err(Refusal::Empty),
        Some(EntryKind::File(size)) if size > SIZE_MAX => Err(Refusal::TooLarge),
        Some(EntryKind::File(_)) => match place.read() {
            Ok(bytes) if bytes.is_empty() => Err(Refusal::Empty),
            result => result.map_err(|error| refusal(&error)),
        },
        Some(_) => Err(Refusal::NotRegular),
    }
}

/// Returns the refusal for an error of [`DecisionPath`].
fn refusal(error: &io::Error) -> Refusal {
    match error.kind() {
        io::ErrorKind::NotFound => Refusal::Missing,
        LEADS_OUT => Refusal::OutsideWorkspace,
        io::ErrorKind::FileTooLarge => Refusal::TooLarge,
        NOT_REGULAR => Refusal::NotRegular,
        _ => Refusal::Unreadable,
    }
}

/// The entry is not a file.
const NOT_REGULAR: io::ErrorKind = io::ErrorKind::InvalidInput;

fn with_path<T>(path: &Path, work: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
    work().map_err(|error| io::Error::new(error.kind(), format!("decision file {}: {error}", path.display())))
}

/// The entry at a path.
enum EntryKind {
    File(u64),
    Link,
    Folder,
    Other,
}

/// A name in an open folder that was reached through no link.
struct DecisionPath {
    folder: SafeDir,
    name: Vec<u8>,
}

impl DecisionPath {
    /// Returns `None` if one of the folders is missing.
    fn find(workspace: &Path, path: &Path) -> io::Result<Option<Self>> {
        let path = inside(path).ok_or_else(leads_out)?;
        let (folders, name) = safe_dir::split(&path);
        match SafeDir::root(&workspace.canonicalize()?)?.open_below(folders) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            folder => Ok(Some(Self { folder: folder?, name: name.to_vec() })),
        }
    }

    fn prepare(workspace: &Path, path: &Path) -> io::Result<()> {
        let path = inside(path).ok_or_else(leads_out)?;
        SafeDir::root(&workspace.canonicalize()?)?.make_below(safe_dir::split(&path).0).map(drop)
    }

    fn kind(&self) -> io::Result<Option<EntryKind>> {
        let seen = match self.folder.metadata(&self.name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            seen => seen?,
        };
        Ok(Some(match seen.mode & TYPE {
            FILE => EntryKind::File(seen.stamp.size),
            LINK => EntryKind::Link,
            FOLDER => EntryKind::Folder,
            _ => EntryKind::Other,
        }))
    }

    /// Reads a file of at most [`SIZE_MAX`] bytes, whatever is there by now.
    fn read(&self) -> io::Result<Vec<u8>> {
        let file = self.folder.open_file(&self.name)?;
        if !safe_dir::metadata_of(&file)?.is(FILE) {
            return Err(io::Error::new(NOT_REGULAR, "it is no regular file"));
        }
        let mut bytes = Vec::new();
        file.take(SIZE_MAX + 1).read_to_end(&mut bytes)?;
        if bytes.len() as u64 > SIZE_MAX {
            return Err(io::Error::new(io::ErrorKind::FileTooLarge, "it is too large"));
        }
        Ok(bytes)
    }

    fn link_target(&self) -> io::Result<PathBuf> {
        Ok(safe_dir::as_path(&self.folder.read_link(&self.name)?).into_owned())
    }

    fn remove(&self) -> io::Result<()> {
        self.folder.remove_file(&self.name)
    }

    fn rename(&self, what: String) -> io::Result<MovedAside> {
        Ok(MovedAside::Renamed { what, to: self.rename_aside()? })
    }

    /// Gives it the first free one of the names that something may be renamed to.
    fn rename_aside(&self) -> io::Result<String> {
        for number in 1..1000 {
            let to = format!("{}.stale-{number}", String::from_utf8_lossy(&self.name));
            match self.folder.metadata(to.as_bytes()) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    self.folder.rename(&self.name, to.as_bytes())?;
                    return Ok(to);
                }
                _ => {}
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "there are too many old ones beside it"))
    }
}

/// Returns a path from the root of the workspace as bytes.
///
/// `None` where it would lead out: an absolute path, or one with a `..` component; and where it names nothing.
fn inside(path: &Path) -> Option<Vec<u8>> {
    let mut names = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name),
            Component::CurDir => {}
            _ => return None,
        }
    }
    Some(safe_dir::as_bytes(&names).into_owned()).filter(|names| !names.is_empty())
}
