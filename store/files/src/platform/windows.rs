//! Windows.

use std::fs::{DirBuilder, File, OpenOptions, TryLockError};
use std::os::windows::ffi::OsStrExt as _;
use std::os::windows::fs::{FileExt as _, OpenOptionsExt as _};
use std::os::windows::io::{AsRawHandle as _, FromRawHandle as _, OwnedHandle};
use std::path::Path;
use std::{io, ptr};

use windows_sys::Win32::Foundation::{
    ERROR_IO_PENDING, ERROR_LOCK_VIOLATION, ERROR_TOO_MANY_OPEN_FILES, FILETIME, WAIT_TIMEOUT,
};
use windows_sys::Win32::Storage::FileSystem::{
    BY_HANDLE_FILE_INFORMATION, FILE_ADD_FILE, FILE_FLAG_BACKUP_SEMANTICS, GetDiskFreeSpaceExW,
    GetFileInformationByHandle, LOCKFILE_EXCLUSIVE_LOCK, LOCKFILE_FAIL_IMMEDIATELY, LockFileEx,
};
use windows_sys::Win32::System::IO::OVERLAPPED;
use windows_sys::Win32::System::Threading::{
    GetProcessTimes, OpenProcess, PROCESS_QUERY_LIMITED_INFORMATION, PROCESS_SYNCHRONIZE, WaitForSingleObject,
};

use super::types::{ExhaustedResource, FileId};

/// Does nothing: a folder cannot be flushed here, its names are in the journal of the file system.
pub fn sync_folder(_folder: &Path) -> io::Result<()> {
    Ok(())
}

/// Opens a file that others write, to make durable what they wrote. Only who may write may flush.
pub fn open_to_sync(path: &Path) -> io::Result<File> {
    File::options().write(true).open(path)
}

/// Says no: it is not known.
pub fn is_stopped(_pid: u32) -> bool {
    false
}

/// Changes nothing: opening a file never waits here.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options
}

/// Returns true: what is below the profile of a user is theirs by inheritance.
pub fn is_own(_seen: &std::fs::Metadata) -> bool {
    true
}

/// Changes nothing: what a folder inherits says who can look into it.
pub fn owner_only(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder
}

/// Reads some bytes from `offset` on; none at the end of the file.
pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.seek_read(bytes, offset)
}

/// Reads as many bytes as fit, from `offset` on.
pub fn read_exact_at(file: &File, mut bytes: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_read(bytes, offset)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            count => {
                bytes = &mut bytes[count..];
                offset += count as u64;
            }
        }
    }
    Ok(())
}

/// Writes all bytes from `offset` on.
pub fn write_all_at(file: &File, mut bytes: &[u8], mut offset: u64) -> io::Result<()> {
    while !bytes.is_empty() {
        match file.seek_write(bytes, offset)? {
            0 => return Err(io::ErrorKind::WriteZero.into()),
            count => {
                bytes = &bytes[count..];
                offset += count as u64;
            }
        }
    }
    Ok(())
}

/// Returns which file it is, and its size.
#[expect(unsafe_code, reason = "the standard library does not tell the identity of a file yet")]
pub fn id_and_size(file: &File) -> io::Result<(FileId, u64)> {
    let mut about = BY_HANDLE_FILE_INFORMATION::default();
    // SAFETY: the handle is open, and the structure is what the call fills in.
    succeeded(unsafe { GetFileInformationByHandle(file.as_raw_handle(), &raw mut about) })?;
    let node = wide(about.nFileIndexHigh, about.nFileIndexLow);
    Ok(((u64::from(about.dwVolumeSerialNumber), node), wide(about.nFileSizeHigh, about.nFileSizeLow)))
}

/// Returns which file `path` leads to, and its size.
pub fn id_and_size_by_path(path: &Path) -> io::Result<(FileId, u64)> {
    id_and_size(&File::open(path)?)
}

/// Takes the lock of a file if it is free. Others can still read the file: a lock blocks access to its bytes, so it is
/// placed on a byte past the end of any file.
#[expect(unsafe_code, reason = "the standard library locks all bytes of a file")]
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    const NO_BYTE: u32 = 1 << 30;
    let mut place = OVERLAPPED::default();
    place.Anonymous.Anonymous.OffsetHigh = NO_BYTE;
    let flags = LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY;
    // SAFETY: the handle is open; a call that fails at once keeps no pointer to the structure.
    let locked = succeeded(unsafe { LockFileEx(file.as_raw_handle(), flags, 0, 1, 0, &raw mut place) });
    locked.map_err(|error| match code(&error) {
        Some(ERROR_LOCK_VIOLATION | ERROR_IO_PENDING) => TryLockError::WouldBlock,
        _ => TryLockError::Error(error),
    })
}

/// Does nothing: no other process has the file, so it is closed with its lock.
pub fn unlock(_file: &File) -> io::Result<()> {
    Ok(())
}

/// Returns the name of this machine.
pub fn host() -> String {
    std::env::var("COMPUTERNAME").unwrap_or_default()
}

/// Returns how many files may be open at a time; `None` if unlimited.
pub fn open_files_max() -> io::Result<Option<u64>> {
    Ok(None)
}

/// Returns how large a file may be; always unlimited.
pub fn file_size_max() -> io::Result<Option<u64>> {
    Ok(None)
}

/// Returns true if files can be created in a folder.
pub fn is_writable(folder: &Path) -> bool {
    let mut options = File::options();
    options.access_mode(FILE_ADD_FILE).custom_flags(FILE_FLAG_BACKUP_SEMANTICS).open(folder).is_ok()
}

/// Returns how many bytes fit on the disk that `path` is on.
#[expect(unsafe_code, reason = "the standard library does not know how full a disk is")]
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let path: Vec<u16> = path.as_os_str().encode_wide().chain([0]).collect();
    let mut free = 0;
    // SAFETY: the path ends with a zero; what is not wanted may be null.
    let asked =
        unsafe { GetDiskFreeSpaceExW(path.as_ptr(), &raw mut free, ptr::null_mut(), ptr::null_mut()) };
    succeeded(asked).map(|()| free)
}

/// Returns what there is too little of, if that is what an error says.
pub fn scarcity(error: &io::Error) -> Option<ExhaustedResource> {
    (code(error) == Some(ERROR_TOO_MANY_OPEN_FILES)).then_some(ExhaustedResource::OpenFiles)
}

/// Returns when a process started, in 100 ns since 1601; `None` if it does not run.
#[expect(unsafe_code, reason = "the standard library knows no processes of others")]
pub fn process_start(pid: u32) -> Option<u64> {
    const NO_WAIT: u32 = 0;
    let rights = PROCESS_QUERY_LIMITED_INFORMATION | PROCESS_SYNCHRONIZE;
    // SAFETY: the call takes no pointer.
    let handle = unsafe { OpenProcess(rights, 0, pid) };
    if handle.is_null() {
        return None;
    }
    // SAFETY: the handle was just opened and has no other owner.
    let process = unsafe { OwnedHandle::from_raw_handle(handle) };
    let [mut started, mut ended, mut in_system, mut in_user] = [FILETIME::default(); 4];
    // SAFETY: the handle is open, and the structures are what the call fills in.
    let times = succeeded(unsafe {
        GetProcessTimes(
            process.as_raw_handle(),
            &raw mut started,
            &raw mut ended,
            &raw mut in_system,
            &raw mut in_user,
        )
    });
    // SAFETY: the handle is open. A process that is over is as good as a signal that was given.
    let runs = unsafe { WaitForSingleObject(process.as_raw_handle(), NO_WAIT) } == WAIT_TIMEOUT;
    times.ok().filter(|()| runs).map(|()| wide(started.dwHighDateTime, started.dwLowDateTime))
}

fn succeeded(answer: i32) -> io::Result<()> {
    if answer == 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

fn code(error: &io::Error) -> Option<u32> {
    error.raw_os_error().and_then(|code| u32::try_from(code).ok())
}

fn wide(high: u32, low: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
