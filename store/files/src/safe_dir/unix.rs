//! Folders as descriptors, on Linux, macOS and other systems with the `*at` calls.

use std::borrow::Cow;
use std::ffi::OsStr;
#[cfg(not(target_vendor = "apple"))]
use std::fs;
use std::fs::{File, Metadata};
use std::io;
#[cfg(not(target_vendor = "apple"))]
use std::os::fd::AsRawFd as _;
use std::os::fd::{AsFd as _, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{
    AtFlags, CWD, Dir, FileType, Gid, Mode, OFlags, RawMode, Stat, Timespec, Timestamps, Uid, chmodat,
    chownat, fchmod, fstat, futimens, linkat, mkdirat, openat, readlinkat, renameat, statat, symlinkat,
    unlinkat,
};
use rustix::io::Errno;
use rustix::process::geteuid;

#[cfg(target_os = "linux")]
use super::meta::ACCESS_LIST;
use super::meta::{ChangeStamp, FILE, FOLDER, FileMeta, LINK, TYPE, Xattrs, all_content, leads_out, steps};

const FOLDER_FLAGS: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Opening a file neither follows a link nor waits for the other end of a pipe.
const FILE_FLAGS: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

/// An open folder.
#[derive(Debug)]
pub struct SafeDir(OwnedFd);

impl SafeDir {
    /// Opens the folder at `path`, which may be reached through links but is none.
    pub fn root(path: &Path) -> io::Result<Self> {
        Ok(Self(openat(CWD, path, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty())?))
    }

    /// Opens it once more.
    pub fn try_clone(&self) -> io::Result<Self> {
        self.0.try_clone().map(Self)
    }

    /// Opens a folder in this one.
    pub fn open(&self, name: &[u8]) -> io::Result<Self> {
        let opened = openat(&self.0, name, FOLDER_FLAGS | OFlags::NOFOLLOW, Mode::empty());
        opened.map(Self).map_err(|error| match error {
            // Opening a link as a folder fails like opening a file as one: tell them apart.
            Errno::LOOP | Errno::NOTDIR if self.metadata(name).is_ok_and(|meta| meta.is(LINK)) => leads_out(),
            error => error.into(),
        })
    }

    /// Opens the folder that `path` names below this one; an empty path names this one.
    ///
    /// In one call where the kernel does the walk, step by step where it cannot.
    pub fn open_below(&self, path: &[u8]) -> io::Result<Self> {
        match self.jump_below(path) {
            Err(Errno::LOOP | Errno::XDEV) => Err(leads_out()),
            // A kernel before 5.6, and what sandboxes say instead. To what it does not understand or
            // cannot be sure of, the walk has an answer, too.
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL | Errno::TOOBIG | Errno::AGAIN) => {
                self.step_below(path)
            }
            opened => Ok(opened?),
        }
    }

    #[cfg(target_os = "linux")]
    fn jump_below(&self, path: &[u8]) -> Result<Self, Errno> {
        use rustix::fs::{ResolveFlags, openat2};
        let path = if path.is_empty() { b"." } else { path };
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        openat2(&self.0, path, FOLDER_FLAGS, Mode::empty(), resolve).map(Self)
    }

    #[cfg(not(target_os = "linux"))]
    fn jump_below(&self, _path: &[u8]) -> Result<Self, Errno> {
        Err(Errno::NOSYS)
    }

    /// Does the same by a walk from folder to folder.
    pub(super) fn step_below(&self, path: &[u8]) -> io::Result<Self> {
        steps(path).try_fold(self.try_clone()?, |folder, name| folder.open(name))
    }

    /// Opens a file for reading.
    pub fn open_file(&self, name: &[u8]) -> io::Result<File> {
        Ok(File::from(openat(&self.0, name, FILE_FLAGS, Mode::empty())?))
    }

    /// Looks at something in the folder.
    pub fn metadata(&self, name: &[u8]) -> io::Result<FileMeta> {
        Ok(file_meta(&statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?))
    }

    /// Returns the creation time of something in the directory, in nanoseconds since 1970, if the system reports it. A
    /// directory that is created again may get the node of the previous one.
    #[cfg(target_os = "linux")]
    pub fn created_at(&self, name: &[u8]) -> Option<i64> {
        use rustix::fs::{StatxFlags, statx};
        let stat = statx(&self.0, name, AtFlags::SYMLINK_NOFOLLOW, StatxFlags::BTIME).ok()?;
        let is_known = StatxFlags::from_bits_retain(stat.stx_mask).contains(StatxFlags::BTIME);
        is_known.then(|| nanoseconds(stat.stx_btime.tv_sec, stat.stx_btime.tv_nsec.into()))
    }

    /// Returns when something in the folder was made, in nanoseconds since 1970.
    #[cfg(target_vendor = "apple")]
    pub fn created_at(&self, name: &[u8]) -> Option<i64> {
        let stat = statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
        Some(nanoseconds(stat.st_birthtime, stat.st_birthtime_nsec))
    }

    /// Returns no creation time: this system does not report it.
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    pub fn created_at(&self, _name: &[u8]) -> Option<i64> {
        None
    }

    /// Sets the permissions of the folder itself, and what else its mode says.
    #[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
    pub fn set_permissions(&self, mode: u32) -> io::Result<()> {
        Ok(fchmod(&self.0, Mode::from_raw_mode((mode & 0o7777) as RawMode))?)
    }

    /// As [`attributes`], of the folder itself.
    pub fn attributes(&self) -> io::Result<Option<Xattrs>> {
        attributes_of(self.0.as_fd())
    }

    /// As [`set_attribute`], of the folder itself.
    pub fn set_attribute(&self, name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
        set_attribute_of(self.0.as_fd(), name, value)
    }

    /// Lets its owner read something in this folder, where the bits that allow that are missing. Returns whether they were.
    pub fn let_owner_read(&self, name: &[u8]) -> io::Result<bool> {
        let_read(self.0.as_fd(), name)
    }

    /// Returns the names in the folder, in no order.
    pub fn names(&self) -> io::Result<Vec<Vec<u8>>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.0)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if name != b"." && name != b".." {
                names.push(name.to_vec());
            }
        }
        Ok(names)
    }

    /// Returns where a link leads.
    pub fn read_link(&self, name: &[u8]) -> io::Result<Vec<u8>> {
        Ok(readlinkat(&self.0, name, Vec::new())?.into_bytes())
    }

    /// Creates a directory in this one if it is missing.
    pub fn make(&self, name: &[u8]) -> io::Result<()> {
        match mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) => Ok(()),
            made => Ok(made?),
        }
    }

    /// Creates a file, for its owner only, under a name that nothing has.
    pub fn create(&self, name: &[u8]) -> io::Result<File> {
        self.create_as(name, 0o600)
    }

    /// Creates a file with the permissions that new files have, under a name that nothing has.
    pub fn create_for_all(&self, name: &[u8]) -> io::Result<File> {
        self.create_as(name, 0o666)
    }

    fn create_as(&self, name: &[u8], mode: RawMode) -> io::Result<File> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        Ok(File::from(openat(&self.0, name, flags, Mode::from_raw_mode(mode))?))
    }

    /// Creates a folder under a name that nothing has.
    pub fn make_new(&self, name: &[u8]) -> io::Result<()> {
        Ok(mkdirat(&self.0, name, Mode::from_raw_mode(0o777))?)
    }

    /// Looks at the folder itself.
    pub fn own_metadata(&self) -> io::Result<FileMeta> {
        Ok(file_meta(&fstat(&self.0)?))
    }

    /// Creates a symbolic link.
    pub fn make_link(&self, name: &[u8], target: &[u8]) -> io::Result<()> {
        Ok(symlinkat(target, &self.0, name)?)
    }

    /// Gives a file in this folder the same name in another one, too.
    pub fn share(&self, name: &[u8], with: &Self) -> io::Result<()> {
        Ok(linkat(&self.0, name, &with.0, name, AtFlags::empty())?)
    }

    /// Renames something in the folder; a file that has the new name is replaced.
    pub fn rename(&self, name: &[u8], to: &[u8]) -> io::Result<()> {
        Ok(renameat(&self.0, name, &self.0, to)?)
    }

    /// Lets two names change places in one step, where the system can do that.
    #[cfg(target_os = "linux")]
    pub fn exchange(&self, one: &[u8], other: &[u8]) -> io::Result<()> {
        use rustix::fs::{RenameFlags, renameat_with};
        Ok(renameat_with(&self.0, one, &self.0, other, RenameFlags::EXCHANGE)?)
    }

    /// Lets two names change places in one step, where the system can do that.
    #[cfg(not(target_os = "linux"))]
    pub fn exchange(&self, _one: &[u8], _other: &[u8]) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Removes a file or link.
    pub fn remove_file(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::empty())?)
    }

    /// Removes an empty folder.
    pub fn remove_folder(&self, name: &[u8]) -> io::Result<()> {
        Ok(unlinkat(&self.0, name, AtFlags::REMOVEDIR)?)
    }

    /// Gives a file made by the superuser to the owner of a directory.
    pub fn own_like(&self, like: &Self, name: &[u8]) -> io::Result<()> {
        if !geteuid().is_root() {
            return Ok(());
        }
        let owner = fstat(&like.0)?;
        let (user, group) = (Uid::from_raw(owner.st_uid), Gid::from_raw(owner.st_gid));
        // A superuser of a container may have no say over some owners; then it stays as it is.
        let _as_far_as_it_goes = chownat(&self.0, name, Some(user), Some(group), AtFlags::SYMLINK_NOFOLLOW);
        Ok(())
    }

    /// Says whether an open file belongs to the same user and group as what has a name in the folder.
    pub fn is_owned_like(&self, file: &File, name: &[u8]) -> io::Result<bool> {
        let (one, other) = (fstat(file)?, statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW)?);
        Ok((one.st_uid, one.st_gid) == (other.st_uid, other.st_gid))
    }

    /// Sets when the folder was changed, in nanoseconds since 1970.
    #[allow(
        clippy::unnecessary_cast,
        clippy::unnecessary_fallible_conversions,
        reason = "the widths differ between systems"
    )]
    pub fn set_modified(&self, time: i64) -> io::Result<()> {
        const SECOND: i64 = 1_000_000_000;
        let time = Timespec { tv_sec: time.div_euclid(SECOND) as _, tv_nsec: time.rem_euclid(SECOND) as _ };
        Ok(futimens(&self.0, &Timestamps { last_access: time, last_modification: time })?)
    }
}

/// Says whether a folder is reached by its path, and no link is on the way, as far as the kernel tells that in one call:
/// `false` may also be that it cannot.
#[cfg(target_os = "linux")]
pub fn is_reached_without_links(path: &Path) -> bool {
    use rustix::fs::{ResolveFlags, openat2};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    openat2(CWD, path, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS).is_ok()
}

/// The same; no kernel but Linux tells it in one call.
#[cfg(not(target_os = "linux"))]
pub fn is_reached_without_links(_path: &Path) -> bool {
    false
}

/// Lets its owner read what is at a path, where the bits that allow that are missing. Returns whether they were.
pub fn let_owner_read(path: &Path) -> io::Result<bool> {
    let_read(CWD, path.as_os_str().as_bytes())
}

fn let_read(folder: BorrowedFd<'_>, name: &[u8]) -> io::Result<bool> {
    let meta = file_meta(&statat(folder, name, AtFlags::SYMLINK_NOFOLLOW)?);
    // A directory must also be writable. A file is only read, since a new file replaces it.
    let (needed, given) = match meta.mode & TYPE {
        FOLDER => (0o500, 0o700),
        FILE => (0o400, 0o400),
        _ => return Ok(false),
    };
    if meta.mode & needed == needed {
        return Ok(false);
    }
    change_mode(folder, name, meta.mode & 0o7777 | given)?;
    Ok(true)
}

/// Changes the mode of what has a name, and of nothing that a link leads to.
#[cfg(target_os = "linux")]
#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
fn change_mode(folder: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<()> {
    // A file that cannot be opened for reading has no descriptor for `fchmod`, but its path in /proc works.
    let place = openat(folder, name, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
    if file_meta(&fstat(&place)?).is(LINK) {
        return Err(leads_out());
    }
    let path = format!("/proc/self/fd/{}", place.as_raw_fd());
    Ok(chmodat(CWD, path, Mode::from_raw_mode(mode as RawMode), AtFlags::empty())?)
}

/// Changes the mode of what has a name, and of nothing that a link leads to.
#[cfg(not(target_os = "linux"))]
#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
fn change_mode(folder: BorrowedFd<'_>, name: &[u8], mode: u32) -> io::Result<()> {
    Ok(chmodat(folder, name, Mode::from_raw_mode(mode as RawMode), AtFlags::SYMLINK_NOFOLLOW)?)
}

/// Opens a file for reading, which may be reached through links but is none.
pub fn open_file(path: &Path) -> io::Result<File> {
    Ok(File::from(openat(CWD, path, FILE_FLAGS, Mode::empty())?))
}

/// Says whether a file has another name, so that it stays when this one is removed.
pub fn has_another_name(metadata: &Metadata) -> bool {
    std::os::unix::fs::MetadataExt::nlink(metadata) > 1
}

/// Returns whether a reader waits at a pipe. The reader then sees the end of the pipe.
pub fn is_awaited(path: &Path) -> bool {
    let is_pipe = statat(CWD, path, AtFlags::empty())
        .is_ok_and(|stat| FileType::from_raw_mode(stat.st_mode) == FileType::Fifo);
    let flags = OFlags::WRONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    is_pipe && openat(CWD, path, flags, Mode::empty()).is_ok()
}

/// Returns the attributes of an open file that are its user's or say who may do what with it. `None` where that cannot be known
/// here.
pub fn attributes(file: &File) -> io::Result<Option<Xattrs>> {
    attributes_of(file.as_fd())
}

/// Sets an attribute of an open file, or removes it.
pub fn set_attribute(file: &File, name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
    set_attribute_of(file.as_fd(), name, value)
}

#[cfg(target_os = "linux")]
fn attributes_of(file: BorrowedFd<'_>) -> io::Result<Option<Xattrs>> {
    use rustix::fs::{fgetxattr, flistxattr};
    const SIZE_MAX: usize = 64 * 1024;
    // Most files have none, and few have more than a few.
    let mut names = vec![0; 256];
    let size = match flistxattr(file, &mut names[..]) {
        Err(Errno::RANGE) => {
            names.resize(SIZE_MAX, 0);
            flistxattr(file, &mut names[..])?
        }
        Err(Errno::NOTSUP) => 0,
        listed => listed?,
    };
    let mut attributes = Xattrs::new();
    for name in names[..size].split(|&byte| byte == 0).filter(|name| is_preserved(name)) {
        let mut value = vec![0; SIZE_MAX];
        let size = fgetxattr(file, name, &mut value[..])?;
        attributes.insert(name.to_vec(), value[..size].to_vec());
    }
    Ok(Some(attributes))
}

#[cfg(target_os = "linux")]
fn is_preserved(name: &[u8]) -> bool {
    name.starts_with(b"user.") || name == ACCESS_LIST || name == b"system.posix_acl_default"
}

#[cfg(not(target_os = "linux"))]
fn attributes_of(_file: BorrowedFd<'_>) -> io::Result<Option<Xattrs>> {
    Ok(None)
}

#[cfg(target_os = "linux")]
fn set_attribute_of(file: BorrowedFd<'_>, name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
    use rustix::fs::{XattrFlags, fremovexattr, fsetxattr};
    match value {
        Some(value) => Ok(fsetxattr(file, name, value, XattrFlags::empty())?),
        None => match fremovexattr(file, name) {
            Err(Errno::NODATA | Errno::NOTSUP) => Ok(()),
            removed => Ok(removed?),
        },
    }
}

#[cfg(not(target_os = "linux"))]
fn set_attribute_of(_file: BorrowedFd<'_>, _name: &[u8], value: Option<&[u8]>) -> io::Result<()> {
    value.map_or(Ok(()), |_| Err(io::ErrorKind::Unsupported.into()))
}

/// Looks at an open file.
pub fn metadata_of(file: &File) -> io::Result<FileMeta> {
    Ok(file_meta(&fstat(file)?))
}

/// Sets the permissions, and what else the mode says.
#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
pub fn set_permissions(file: &File, mode: u32) -> io::Result<()> {
    Ok(fchmod(file, Mode::from_raw_mode((mode & 0o7777) as RawMode))?)
}

#[allow(clippy::unnecessary_cast, reason = "the widths differ between systems")]
fn file_meta(stat: &Stat) -> FileMeta {
    let stamp = ChangeStamp {
        device: stat.st_dev as u64,
        node: stat.st_ino as u64,
        size: stat.st_size as u64,
        modified: nanoseconds(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: nanoseconds(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    };
    let mode = stat.st_mode as u32;
    // The setuid and setgid bits of a file count too, as do the setgid and sticky bits of a directory.
    let permissions = match mode & TYPE {
        FILE => mode & 0o6777,
        FOLDER => mode & 0o3777,
        _ => 0,
    };
    FileMeta { mode: mode & TYPE | permissions, stamp }
}

fn nanoseconds(seconds: i64, rest: i64) -> i64 {
    seconds.wrapping_mul(1_000_000_000).wrapping_add(rest)
}

/// Returns device and node of the files that this process writes its standard output and error to, where those are files.
pub fn own_output() -> Vec<(u64, u64)> {
    let files = [fstat(io::stdout()), fstat(io::stderr())].into_iter().flatten().map(|stat| file_meta(&stat));
    files.filter(|meta| meta.is(FILE)).map(|meta| (meta.stamp.device, meta.stamp.node)).collect()
}

/// Returns the paths of those files, as far as the system tells.
pub fn own_output_paths() -> Vec<PathBuf> {
    let (out, err) = (io::stdout(), io::stderr());
    let is_file = |at: &BorrowedFd<'_>| fstat(at).is_ok_and(|stat| file_meta(&stat).is(FILE));
    [out.as_fd(), err.as_fd()].into_iter().filter(is_file).filter_map(path_of).collect()
}

#[cfg(target_vendor = "apple")]
fn path_of(file: BorrowedFd<'_>) -> Option<PathBuf> {
    let path = rustix::fs::getpath(file).ok()?;
    Some(PathBuf::from(OsStr::from_bytes(path.as_bytes())))
}

#[cfg(not(target_vendor = "apple"))]
fn path_of(file: BorrowedFd<'_>) -> Option<PathBuf> {
    fs::read_link(format!("/proc/self/fd/{}", file.as_raw_fd())).ok()
}

/// Lets a file have the content of another one without a copy of it, where the file system can do that.
#[cfg(target_os = "linux")]
pub fn share_content(from: &File, to: &File) -> io::Result<()> {
    Ok(rustix::fs::ioctl_ficlone(to, from)?)
}

/// Lets a file have the content of another one without a copy of it, where the file system can do that.
#[cfg(not(target_os = "linux"))]
pub fn share_content(_from: &File, _to: &File) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

/// Returns from where to where there is content in a file at or behind a place; `None` where nothing comes but a hole. Where the
/// system does not tell, all of it is content.
#[cfg(any(target_os = "linux", target_vendor = "apple", target_os = "freebsd"))]
pub fn next_content(file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    use rustix::fs::{SeekFrom, seek};
    match seek(file, SeekFrom::Data(from)) {
        Ok(begin) => {
            let end = seek(file, SeekFrom::Hole(begin)).unwrap_or(size).max(begin);
            seek(file, SeekFrom::Start(begin))?;
            Ok(Some((begin, end)))
        }
        Err(Errno::NXIO) => Ok(None),
        Err(_) => all_content(file, from, size),
    }
}

/// Returns from where to where there is content in a file at or behind a place: the system does not tell.
#[cfg(not(any(target_os = "linux", target_vendor = "apple", target_os = "freebsd")))]
pub fn next_content(file: &File, from: u64, size: u64) -> io::Result<Option<(u64, u64)>> {
    all_content(file, from, size)
}

/// Returns a path as bytes with slashes.
pub fn as_bytes(path: &Path) -> Cow<'_, [u8]> {
    path.as_os_str().as_bytes().into()
}

/// Returns the path that bytes with slashes name.
pub fn as_path(bytes: &[u8]) -> Cow<'_, Path> {
    Path::new(OsStr::from_bytes(bytes)).into()
}
