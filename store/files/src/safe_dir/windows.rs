//! Folders as paths that are pinned, on Windows.
//!
//! While a handle is open that does not share the right to delete, no process can rename or remove that directory or
//! one above it. So a path through it still leads to the same place.

use std::borrow::Cow;
use std::fs::{self, File, OpenOptions};
use std::io;
use std::os::windows::fs::{OpenOptionsExt as _, symlink_dir, symlink_file};
use std::os::windows::io::AsRawHandle as _;
use std::path::{Component, Path, PathBuf};
use std::time::{Duration, SystemTime};

use windows_sys::Win32::Storage::FileSystem::{
    FILE_BASIC_INFO, FILE_FLAG_BACKUP_SEMANTICS, FILE_FLAG_OPEN_REPARSE_POINT, FILE_LIST_DIRECTORY,
    FILE_READ_ATTRIBUTES, FILE_SHARE_READ, FILE_SHARE_WRITE, FILE_WRITE_ATTRIBUTES, FileBasicInfo,
    GetFileInformationByHandleEx,
};

use super::meta::{ChangeStamp, FILE, FOLDER, FileMeta, LINK, TYPE, Xattrs, all_content, leads_out, steps};
use crate::platform;

/// Permissions of all files: Windows has other permissions, which stay as they are.
const PERMISSIONS: u32 = 0o644;
/// The same of folders.
const FOLDER_PERMISSIONS: u32 = 0o755;

/// An open folder.
#[derive(Debug)]
pub struct SafeDir {
    path: PathBuf,
    pin: File,
}

impl SafeDir {
    /// Opens the folder at `path`, which may be reached through links but is none.
    pub fn root(path: &Path) -> io::Result<Self> {
        let pin = options(FILE_LIST_DIRECTORY).share_mode(FILE_SHARE_READ | FILE_SHARE_WRITE).open(path)?;
        match metadata_of(&pin)?.mode & TYPE {
            FOLDER => Ok(Self { path: path.to_owned(), pin }),
            LINK => Err(leads_out()),
            _ => Err(io::ErrorKind::NotADirectory.into()),
        }
    }

    /// Opens it once more.
    pub fn try_clone(&self) -> io::Result<Self> {
        Ok(Self { path: self.path.clone(), pin: self.pin.try_clone()? })
    }

    /// Opens a folder in this one.
    pub fn open(&self, name: &[u8]) -> io::Result<Self> {
        if name == b"." { self.try_clone() } else { Self::root(&self.path_of(name)?) }
    }

    /// Opens the folder that `path` names below this one; an empty path names this one.
    pub fn open_below(&self, path: &[u8]) -> io::Result<Self> {
        steps(path).try_fold(self.try_clone()?, |folder, name| folder.open(name))
    }

    /// Opens a file for reading.
    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        open_file(&self.path_of(name)?)
    }

    /// Looks at something in the folder.
    pub fn metadata(&self, name: &[u8]) -> io::Result<FileMeta> {
        metadata_of(&options(FILE_READ_ATTRIBUTES).open(self.path_of(name)?)?)
    }

    /// Returns when something in the folder was made, in nanoseconds since 1970.
    pub fn created_at(&self, name: &[u8]) -> Option<i64> {
        let made = fs::symlink_metadata(self.path_of(name).ok()?).ok()?.created().ok()?;
        i64::try_from(made.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_nanos()).ok()
    }

    /// Does nothing: permissions of the system are of another kind.
    pub fn set_permissions(&self, _mode: u32) -> io::Result<()> {
        Ok(())
    }

    /// Does nothing: permissions of the system are of another kind.
    pub fn let_owner_read(&self, _name: &[u8]) -> io::Result<bool> {
        Ok(false)
    }

    /// Returns no attributes of the folder itself, since the system has others.
    pub fn attributes(&self) -> io::Result<Option<Xattrs>> {
        Ok(None)
    }

    /// Sets an attribute of the folder itself, which cannot be done, or removes it.
    pub fn set_attribute(&self, _name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        value.map_or(Ok(()), |_| Err(io::ErrorKind::Unsupported.into()))
    }

    /// Returns the names in the folder, in no order.
    pub fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        fs::read_dir(&self.path)?.map(|entry| Ok(entry?.file_name().into_encoded_bytes())).collect()
    }

    /// Returns where a link leads.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(as_bytes(&fs::read_link(self.path_of(name)?)?).into_owned())
    }

    /// Creates a directory in this one if it is missing.
    pub fn make(&self, name: &[u8]) -> io::Result<()> {
        match fs::create_dir(self.path_of(name)?) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
            made => made,
        }
    }

    /// Creates a file under a name that nothing has.
    pub fn create(&self, name: &[u8]) -> io::Result<File> {
        File::create_new(self.path_of(name)?)
    }

    /// Creates a file under a name that nothing has.
    pub fn create_for_all(&self, name: &[u8]) -> io::Result<File> {
        self.create(name)
    }

    /// Creates a folder under a name that nothing has.
    pub fn make_new(&self, name: &[u8]) -> io::Result<()> {
        fs::create_dir(self.path_of(name)?)
    }

    /// Looks at the folder itself.
    pub fn own_metadata(&self) -> io::Result<FileMeta> {
        metadata_of(&self.pin)
    }

    /// Lets two names change places in one step, which this system cannot.
    pub fn exchange(&self, _one: &[u8], _other: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Creates a symbolic link.
    pub fn make_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        link(&as_path(target), &self.path_of(name)?)
    }

    /// Gives a file in this folder the same name in another one, too.
    pub fn share(&self, name: &[u8], with: &Self) -> io::Result<()> {
        fs::hard_link(self.path_of(name)?, with.path_of(name)?)
    }

    /// Renames something in the folder; a file that has the new name is replaced.
    pub fn rename(&self, name: &[u8], to: &[u8]) -> io::Result<()> {
        fs::rename(self.path_of(name)?, self.path_of(to)?)
    }

    /// Removes a file or link.
    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        let path = self.path_of(name)?;
        // A link to a folder is a kind of folder here.
        fs::remove_file(&path)
            .or_else(|error| if path.is_symlink() { fs::remove_dir(&path) } else { Err(error) })
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &[u8]) -> io::Result<()> {
        fs::remove_dir(self.path_of(name)?)
    }

    /// Returns `true`: on Windows, a file does not run as its owner.
    pub fn is_owned_like(&self, _file: &File, _name: &[u8]) -> io::Result<bool> {
        Ok(true)
    }

    /// Does nothing: a new file already belongs to its creator.
    pub fn own_like(&self, _like: &Self, _name: &[u8]) -> io::Result<()> {
        Ok(())
    }

    /// Sets when the folder was changed, in nanoseconds since 1970.
    pub fn set_modified(&self, time: i64) -> io::Result<()> {
        let since = Duration::from_nanos(time.unsigned_abs());
        let epoch = SystemTime::UNIX_EPOCH;
        let time = if time < 0 { epoch.checked_sub(since) } else { epoch.checked_add(since) };
        options(FILE_WRITE_ATTRIBUTES).open(&self.path)?.set_modified(time.unwrap_or(epoch))
    }

    /// Returns the path of a name, if it is one and no more: here a backslash and a colon lead elsewhere, too.
    fn path_of(&self, name: &[u8]) -> io::Result<PathBuf> {
        let refused = || io::Error::new(io::ErrorKind::InvalidInput, "this system has no such names");
        let name = std::str::from_utf8(name).map_err(|_| refused())?;
        let mut parts = Path::new(name).components();
        match (parts.next(), parts.next()) {
            (Some(Component::Normal(part)), None) if part == name && !name.contains(':') => {
                Ok(self.path.join(name))
            }
            _ => Err(refused()),
        }
    }
}

/// Opens what has a name, also a folder, and a link as itself.
fn options(access: u32) -> OpenOptions {
    let mut options = File::options();
    options.access_mode(access).custom_flags(FILE_FLAG_BACKUP_SEMANTICS | FILE_FLAG_OPEN_REPARSE_POINT);
    options
}

/// Says whether a folder is reached by its path without a link, where the system tells that in one call: never.
pub fn is_reached_without_links(_path: &Path) -> bool {
    false
}

/// Opens a file for reading, which may be reached through links but is none.
pub fn open_file(path: &Path) -> io::Result<File> {
    let file = File::options().read(true).custom_flags(FILE_FLAG_OPEN_REPARSE_POINT).open(path)?;
    if metadata_of(&file)?.is(LINK) { Err(leads_out()) } else { Ok(file) }
}

/// Says whether a file has another name, which this system does not report in the metadata.
pub fn has_another_name(_metadata: &fs::Metadata) -> bool {
    false
}

/// Returns `false`: there are no pipes in the file system.
pub fn is_awaited(_path: &Path) -> bool {
    false
}

/// Returns no attributes of an open file, since the system has others.
pub fn attributes(_file: &File) -> io::Result<Option<Xattrs>> {
    Ok(None)
}

/// Sets an attribute of an open file, which cannot be done, or removes it.
pub fn set_attribute(_file: &File, _name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
    value.map_or(Ok(()), |_| Err(io::ErrorKind::Unsupported.into()))
}

/// Looks at an open file.
pub fn metadata_of(file: &File) -> io::Result<FileMeta> {
    let kind = file.metadata()?.file_type();
    let mode = match () {
        () if kind.is_symlink() => LINK,
        () if kind.is_dir() => FOLDER | FOLDER_PERMISSIONS,
        () => FILE | PERMISSIONS,
    };
    let ((device, node), size) = platform::id_and_size(file)?;
    let times = times(file)?;
    let (modified, changed) = (nanos(times.LastWriteTime), nanos(times.ChangeTime));
    Ok(FileMeta { mode, stamp: ChangeStamp { device, node, size, modified, changed } })
}

/// Returns no files: the output files of this process cannot be determined.
pub fn own_output() -> Vec<(u64, u64)> {
    Vec::new()
}

/// Nor does it have a path.
pub fn own_output_paths() -> Vec<PathBuf> {
    Vec::new()
}

#[expect(unsafe_code, reason = "the standard library does not tell yet when the node of a file was changed")]
fn times(file: &File) -> io::Result<FILE_BASIC_INFO> {
    let mut times = FILE_BASIC_INFO::default();
    let size = u32::try_from(size_of::<FILE_BASIC_INFO>()).expect("a structure is small");
    // SAFETY: the handle is open, and the structure is what the call fills in, of the size that is given.
    let answer = unsafe {
        GetFileInformationByHandleEx(file.as_raw_handle(), FileBasicInfo, (&raw mut times).cast(), size)
    };
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(times) }
}

/// Returns a time of the system, 100 ns since 1601, as nanoseconds since 1970.
fn nanos(time: i64) -> i64 {
    const FROM_1601_TO_1970: i64 = 116_444_736_000_000_000;
    time.saturating_sub(FROM_1601_TO_1970).saturating_mul(100)
}

/// Does nothing: permissions of the system are of another kind.
pub fn let_owner_read(_path: &Path) -> io::Result<bool> {
    Ok(false)
}

/// Does nothing: permissions of the system are of another kind.
pub fn set_permissions(_file: &File, _mode: u32) -> io::Result<()> {
    Ok(())
}

/// Lets a file have the content of another one without a copy of it, which this system cannot.
pub fn share_content(_from: &File, _to: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns from where to where there is content in a file at or behind a place: all of it.
pub fn next_content(file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    all_content(file, from, size)
}

/// Creates a symbolic link. The system wants to know beforehand what it leads to.
fn link(target: &Path, link: &Path) -> io::Result<()> {
    let leads_to_folder = link.with_file_name(target).is_dir();
    if leads_to_folder { symlink_dir(target, link) } else { symlink_file(target, link) }
}

/// Returns a path as bytes with slashes.
pub fn as_bytes(path: &Path) -> Cow<'_, [u8]> {
    let slashed = |&byte: &u8| if byte == b'\\' { b'/' } else { byte };
    path.as_os_str().as_encoded_bytes().iter().map(slashed).collect()
}

/// Returns the path that bytes with slashes name.
pub fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned()).into()
}
