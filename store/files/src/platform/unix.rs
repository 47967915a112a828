//! Linux, macOS and other systems with POSIX files.

use std::fs::{DirBuilder, File, Metadata, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, FileExt as _, MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use nix::errno::Errno;
use nix::libc;
use nix::sys::resource::{Resource, getrlimit};
use nix::unistd::{AccessFlags, access};

use super::types::{ExhaustedResource, FileId};

/// Makes the names in `folder` durable.
pub fn sync_folder(folder: &Path) -> io::Result<()> {
    let mut options = OpenOptions::new();
    // A pipe in the place of the folder would block.
    options.read(true).custom_flags(libc::O_DIRECTORY).open(folder)?.sync_all()
}

/// Opens a file that others write, to make durable what they wrote.
pub fn open_to_sync(path: &Path) -> io::Result<File> {
    File::open(path)
}

/// Neither follows a link at the opened name nor waits for the other end of a pipe.
pub fn without_waiting(options: &mut OpenOptions) -> &mut OpenOptions {
    options.custom_flags(libc::O_NONBLOCK | libc::O_NOFOLLOW | libc::O_NOCTTY)
}

/// Returns whether a file is the user's. The superuser may use the files of all.
pub fn is_own(seen: &Metadata) -> bool {
    let user = nix::unistd::geteuid();
    user.is_root() || seen.uid() == user.as_raw()
}

/// Makes folders that only their owner can look into.
pub fn owner_only(builder: &mut DirBuilder) -> &mut DirBuilder {
    builder.mode(0o700)
}

/// Reads some bytes from `offset` on; none at the end of the file.
pub fn read_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
    file.read_at(bytes, offset)
}

/// Reads as many bytes as fit, from `offset` on.
pub fn read_exact_at(file: &File, bytes: &mut [u8], offset: u64) -> io::Result<()> {
    file.read_exact_at(bytes, offset)
}

/// Writes all bytes from `offset` on.
pub fn write_all_at(file: &File, bytes: &[u8], offset: u64) -> io::Result<()> {
    file.write_all_at(bytes, offset)
}

/// Returns which file it is, and its size.
pub fn id_and_size(file: &File) -> io::Result<(FileId, u64)> {
    file.metadata().map(|metadata| metadata_id_and_size(&metadata))
}

/// Returns which file `path` leads to, and its size.
pub fn id_and_size_by_path(path: &Path) -> io::Result<(FileId, u64)> {
    path.metadata().map(|metadata| metadata_id_and_size(&metadata))
}

fn metadata_id_and_size(metadata: &Metadata) -> (FileId, u64) {
    ((metadata.dev(), metadata.ino()), metadata.len())
}

/// Takes the lock of a file if it is free. Others can still read the file.
pub fn try_lock(file: &File) -> Result<(), TryLockError> {
    file.try_lock()
}

/// Gives the lock of a file back, also where a process that another thread has just forked still has the file.
pub fn unlock(file: &File) -> io::Result<()> {
    file.unlock()
}

/// Returns the name of this machine.
pub fn host() -> String {
    nix::unistd::gethostname().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// Returns how many bytes fit on the disk that `path` is on.
pub fn free_bytes(path: &Path) -> io::Result<u64> {
    let disk = nix::sys::statvfs::statvfs(path)?;
    // The widths differ between systems.
    #[allow(clippy::useless_conversion)]
    Ok(u64::from(disk.blocks_available()).saturating_mul(u64::from(disk.fragment_size())))
}

/// Returns how many files may be open at a time; `None` if unlimited.
pub fn open_files_max() -> io::Result<Option<u64>> {
    Ok(getrlimit(Resource::RLIMIT_NOFILE).map(|(now, _)| Some(now))?)
}

/// Returns how large a file may be; `None` if unlimited.
pub fn file_size_max() -> io::Result<Option<u64>> {
    let (largest, _) = getrlimit(Resource::RLIMIT_FSIZE)?;
    Ok((largest != libc::RLIM_INFINITY).then_some(largest))
}

/// Returns true if files can be created in a folder.
pub fn is_writable(folder: &Path) -> bool {
    access(folder, AccessFlags::W_OK).is_ok()
}

/// Returns what there is too little of, if that is what an error says.
pub fn scarcity(error: &io::Error) -> Option<ExhaustedResource> {
    match Errno::from_raw(error.raw_os_error()?) {
        Errno::EMFILE | Errno::ENFILE => Some(ExhaustedResource::OpenFiles),
        Errno::EAGAIN => Some(ExhaustedResource::Processes),
        _ => None,
    }
}

/// Returns what the system says of a process, from its state on.
#[cfg(target_os = "linux")]
fn stat(pid: u32) -> Option<String> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    // The name, the second field, may hold anything, so fields are counted from the last parenthesis.
    let after_name = stat.iter().rposition(|byte| *byte == b')')? + 2;
    String::from_utf8(stat.get(after_name..)?.to_vec()).ok()
}

/// Returns whether a process is stopped, by a signal or a tracer, so that it does nothing until it is continued.
#[cfg(target_os = "linux")]
pub fn is_stopped(pid: u32) -> bool {
    stat(pid).is_some_and(|fields| fields.starts_with(['T', 't']))
}

/// Says no: elsewhere it is not known.
#[cfg(not(target_os = "linux"))]
pub fn is_stopped(_pid: u32) -> bool {
    false
}

/// Returns when a process started, in clock ticks since the machine did; `None` if it does not run.
#[cfg(target_os = "linux")]
pub fn process_start(pid: u32) -> Option<u64> {
    let fields = stat(pid)?;
    let mut fields = fields.split(' ');
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// Returns a fixed number for a process that runs: elsewhere only its existence is asked for.
#[cfg(not(target_os = "linux"))]
pub fn process_start(pid: u32) -> Option<u64> {
    let pid = nix::unistd::Pid::from_raw(i32::try_from(pid).ok()?);
    nix::sys::signal::kill(pid, None).is_ok().then_some(0)
}
