//! The right to append to a run: a locked file that says who has it, and a number that grows with every holder.
//!
//! The operating system's lock decides; it is gone with its process, so a crash needs no clean-up. The
//! text in the file tells people and other commands who holds it. The epoch goes into every record, and
//! every commit looks whether it is still the newest, so that a writer that was taken for dead loses.

use std::fmt;
use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use unstuck_core::id::{Epoch, RunId, Timestamp};
use unstuck_files::platform::{self, FileId, process_start};
use unstuck_files::safe_open;

use crate::event_store::AppendError;
use crate::run_dir::RunDir;

/// The current or last holder of a lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Holder {
    /// The process.
    pub pid: u32,
    /// When the process started, in the system's own unit; tells it from a later one with the same number.
    pub pid_start: u64,
    /// The machine.
    pub host: String,
    /// Since when.
    pub since: Timestamp,
    /// The fencing number.
    pub epoch: Epoch,
    /// Whether the lease was given back.
    pub released: bool,
    /// The run that the lease is for; `None` for the lease of a workspace, and in files of older versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
}

/// Whether a holder is still there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// Its process runs on this machine.
    Alive,
    /// It gave the lease back, or its process is gone.
    Gone,
    /// It is on another machine, so this one cannot tell.
    OtherHost,
}

impl Holder {
    /// Says whether the holder is still there.
    pub fn liveness(&self) -> Liveness {
        if self.released {
            Liveness::Gone
        } else if process_start(self.pid) == Some(self.pid_start) {
            // Whatever the machine is called now: no other one starts the same process at the same moment.
            Liveness::Alive
        } else if self.host != host() {
            Liveness::OtherHost
        } else {
            Liveness::Gone
        }
    }
}

impl Holder {
    /// Says whether its process is stopped until it gets a `kill -CONT`.
    pub fn is_stopped(&self) -> bool {
        self.liveness() == Liveness::Alive && platform::is_stopped(self.pid)
    }

    /// Returns who it is, and for how many seconds it has had the lease.
    pub fn since_when(&self) -> String {
        format!("{self}, since {} s", now().since(self.since).0 / 1000)
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "process {} on {}", self.pid, self.host)
    }
}

/// Why a lease was not given.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages say it")]
pub enum AcquireError {
    #[error("the lease is held{}", holder_suffix(holder.as_ref()))]
    Held { holder: Option<Holder> },
    #[error("cannot use the lease file {}", path.display())]
    Io {
        path: PathBuf,
        #[source]
        source: io::Error,
    },
}

fn holder_suffix(holder: Option<&Holder>) -> String {
    holder.map_or_else(String::new, |holder| format!(" by {holder}"))
}

/// The right to work on a run or in a workspace; given back when dropped.
#[derive(Debug)]
pub enum Lease {
    /// A locked file on this machine.
    File(FileLease),
    /// The lease of the parent: this is a child run.
    OfParent,
    /// There is no place for a lease, so nothing keeps a second process out.
    Missing,
}

/// A locked file; given back when dropped.
#[derive(Debug)]
pub struct FileLease {
    file: File,
    path: PathBuf,
    identity: FileId,
    held: Mutex<LeaseContent>,
}

#[derive(Debug)]
struct LeaseContent {
    holder: Holder,
    /// The content of the file, unless another process has written it.
    content: Vec<u8>,
}

/// Length of the file: one write that readers see as a whole.
const FILE_LEN: usize = 512;
/// Maximum length of a name of a run that fits into the file.
const RUN_LEN_MAX: usize = 64;

impl FileLease {
    /// Takes the lease with a new epoch. Also returns the holder it was taken from, if that one never gave it back.
    pub fn acquire(path: &Path) -> Result<(Self, Option<Holder>), AcquireError> {
        Self::acquire_as(path, None)
    }

    /// Takes the lease of a run, which names the run. See [`acquire`](Self::acquire).
    pub fn acquire_run(folder: &RunDir) -> Result<(Self, Option<Holder>), AcquireError> {
        let run = Some(folder.run().clone()).filter(|run| run.as_str().len() <= RUN_LEN_MAX);
        Self::acquire_as(&folder.lease(), run)
    }

    fn acquire_as(path: &Path, run: Option<RunId>) -> Result<(Self, Option<Holder>), AcquireError> {
        let failed = |source| AcquireError::Io { path: path.to_owned(), source };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file = safe_open::open_with(&mut options, path).map_err(failed)?;
        match platform::try_lock(&file) {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => return Err(AcquireError::Held { holder: Self::holder(path) }),
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        let before = read_holder(path).map_err(failed)?;
        let (identity, _) = platform::id_and_size(&file).map_err(failed)?;
        let holder = Holder {
            pid: std::process::id(),
            pid_start: process_start(std::process::id()).unwrap_or(0),
            host: host(),
            since: now(),
            epoch: before.as_ref().map_or(Epoch(0), |before| before.epoch).next(),
            released: false,
            run,
        };
        let lease = Self {
            file,
            path: path.to_owned(),
            identity,
            held: Mutex::new(LeaseContent { content: Vec::new(), holder: holder.clone() }),
        };
        // Bytes behind our own would look like the content of another process.
        if lease.file.metadata().map_err(failed)?.len() > FILE_LEN as u64 {
            lease.file.set_len(FILE_LEN as u64).map_err(failed)?;
        }
        lease.write(holder).map_err(failed)?;
        lease.file.sync_all().map_err(failed)?;
        Ok((lease, before.filter(|before| !before.released)))
    }

    /// Returns who holds the lease at `path`, or held it last.
    pub fn holder(path: &Path) -> Option<Holder> {
        read_holder(path).ok()?
    }

    /// Returns the fencing number of this lease.
    pub fn epoch(&self) -> Epoch {
        self.held.lock().unwrap_or_else(PoisonError::into_inner).holder.epoch
    }

    /// Makes the epoch larger than `other`, one that was found in the log.
    pub fn bump_epoch(&self, other: Epoch) -> io::Result<()> {
        let mut holder = self.held.lock().unwrap_or_else(PoisonError::into_inner).holder.clone();
        if holder.epoch > other {
            return Ok(());
        }
        holder.epoch = other.next();
        self.write(holder)
    }

    /// Checks that no other process has taken the lease over. Two system calls.
    pub fn check(&self) -> Result<(), AppendError> {
        let held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if self.is_untouched(&held.content).map_err(|source| self.unreadable(source))? {
            return Ok(());
        }
        let theirs = read_holder(&self.path).map_err(|source| self.unreadable(source))?;
        match theirs {
            Some(theirs) => Err(AppendError::Fenced { ours: held.holder.epoch, theirs: theirs.epoch }),
            None => Err(AppendError::LeaseGone { path: self.path.clone() }),
        }
    }

    /// Says whether the name still leads to our file, and the file holds what we wrote.
    fn is_untouched(&self, ours: &[u8]) -> io::Result<bool> {
        let mut content = [0; FILE_LEN];
        Ok(platform::id_and_size_by_path(&self.path)? == (self.identity, ours.len() as u64)
            && platform::read_exact_at(&self.file, &mut content, 0).map(|()| content[..] == *ours)?)
    }

    fn unreadable(&self, source: io::Error) -> AppendError {
        let path = self.path.clone();
        match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => AppendError::LeaseGone { path },
            _ => AppendError::LeaseUnreadable { path, source },
        }
    }

    fn write(&self, holder: Holder) -> io::Result<()> {
        let mut content = serde_json::to_vec(&holder)?;
        content.resize(FILE_LEN - 1, b' ');
        content.push(b'\n');
        platform::write_all_at(&self.file, &content, 0)?;
        *self.held.lock().unwrap_or_else(PoisonError::into_inner) = LeaseContent { holder, content };
        Ok(())
    }
}

impl Drop for FileLease {
    fn drop(&mut self) {
        if self.check().is_ok() {
            let mut holder = self.held.lock().unwrap_or_else(PoisonError::into_inner).holder.clone();
            holder.released = true;
            // Failing leaves a lease that the next one takes over and reports.
            let _best_effort = self.write(holder);
        }
        let _is_closed_next = platform::unlock(&self.file);
    }
}

/// Returns the current or last holder of the lease at `path`; `None` if there is no readable one.
fn read_holder(path: &Path) -> io::Result<Option<Holder>> {
    match safe_open::read(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        text => Ok(serde_json::from_slice(text?.trim_ascii()).ok()),
    }
}

/// Returns the moment it is.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

fn host() -> String {
    platform::host().chars().take(128).collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn one_holder_at_a_time_and_each_has_a_larger_epoch() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        assert_eq!(FileLease::holder(&path), None);
        let (first, before) = FileLease::acquire(&path).unwrap();
        assert_eq!((first.epoch(), before), (Epoch(1), None));
        let holder = FileLease::holder(&path).unwrap();
        assert_eq!((holder.pid, holder.liveness()), (std::process::id(), Liveness::Alive));
        let AcquireError::Held { holder: Some(by) } = FileLease::acquire(&path).unwrap_err() else {
            panic!("not held")
        };
        assert_eq!(by, holder);
        first.check().unwrap();
        drop(first);
        assert_eq!(FileLease::holder(&path).unwrap().liveness(), Liveness::Gone);
        let (second, before) = FileLease::acquire(&path).unwrap();
        assert_eq!((second.epoch(), before), (Epoch(2), None));
        second.bump_epoch(Epoch(7)).unwrap();
        assert_eq!(second.epoch(), Epoch(8));
        second.check().unwrap();
    }

    #[test]
    fn a_lease_is_given_back_although_a_process_that_was_just_forked_still_has_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let (first, _) = FileLease::acquire(&path).unwrap();
        let of_fork = first.file.try_clone().unwrap();
        drop(first);
        FileLease::acquire(&path).unwrap();
        drop(of_fork);
    }

    #[test]
    fn a_holder_that_died_is_reported_and_its_number_is_not_taken_for_another_process() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let dead = Holder {
            pid: std::process::id(),
            pid_start: 1,
            host: host(),
            since: now(),
            epoch: Epoch(4),
            released: false,
            run: None,
        };
        assert_eq!(dead.liveness(), Liveness::Gone);
        assert_eq!(Holder { host: "another".to_owned(), ..dead.clone() }.liveness(), Liveness::OtherHost);
        fs::write(&path, serde_json::to_vec(&dead).unwrap()).unwrap();
        let (lease, before) = FileLease::acquire(&path).unwrap();
        assert_eq!((lease.epoch(), before), (Epoch(5), Some(dead)));
    }

    #[test]
    fn an_older_longer_file_is_not_another_holder() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        for before in [&b""[..], b"garbage", &[b'x'; FILE_LEN + 1], &[0; 3 * FILE_LEN]] {
            fs::write(&path, before).unwrap();
            let (lease, _) = FileLease::acquire(&path).unwrap();
            lease.check().unwrap();
            drop(lease);
            assert!(FileLease::holder(&path).unwrap().released);
        }
    }

    #[test]
    fn a_lease_that_was_taken_over_or_removed_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lease");
        let (lease, _) = FileLease::acquire(&path).unwrap();
        let thief = Holder { epoch: Epoch(9), ..FileLease::holder(&path).unwrap() };
        fs::write(&path, serde_json::to_vec(&thief).unwrap()).unwrap();
        assert!(matches!(lease.check(), Err(AppendError::Fenced { ours: Epoch(1), theirs: Epoch(9) })));
        fs::remove_file(&path).unwrap();
        assert!(matches!(lease.check(), Err(AppendError::LeaseGone { .. })));
        fs::write(&path, serde_json::to_vec(&thief).unwrap()).unwrap();
        assert!(matches!(lease.check(), Err(AppendError::Fenced { theirs: Epoch(9), .. })));
        drop(lease);
        assert_eq!(FileLease::holder(&path).unwrap(), thief, "a loser does not write");
    }
}
