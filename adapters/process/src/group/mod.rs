//! Finds the descendants of a process and ends them.
//!
//! On Linux the supervisor adopts orphans (`PR_SET_CHILD_SUBREAPER`): a process whose parent ends becomes a child of our
//! main thread. To see whether anything is left, it checks whether the process group exists and reads the children of that
//! thread, one small file. It searches all of `/proc` (1 to 5 ms) only if something is left, if a pipe is still open, or to end
//! the process. An orphan that left the session and removed its mark belongs to the only process that runs, if there is only
//! one. Before a signal is sent, the start time of the process is compared, so a reused process id is never hit.
//!
//! On Windows a job object holds all descendants, and the system ends them with the supervisor. On other Unix systems only
//! the process group is known.

mod end_method;
#[cfg(windows)]
mod job;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod no_descendants;
#[cfg(all(unix, not(target_os = "linux")))]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(target_os = "linux")]
use self::linux::{self as family, self as platform};
#[cfg(not(target_os = "linux"))]
use self::no_descendants as family;
#[cfg(all(unix, not(target_os = "linux")))]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

use crate::spec::clean_mark;

pub(super) use self::end_method::{EndMethod, ProcessIdentity};
#[cfg(target_os = "linux")]
pub(super) use self::linux::{Descendants, ProcessGroup};
#[cfg(not(target_os = "linux"))]
pub(super) use self::no_descendants::NoDescendants as Descendants;
#[cfg(all(unix, not(target_os = "linux")))]
pub(super) use self::unix::UnixProcessGroup as ProcessGroup;
#[cfg(windows)]
pub(super) use self::windows::JobGroup as ProcessGroup;
pub(super) use platform::{adopt_orphans, leave_terminal};

/// Ends the processes of this user whose mark starts with `mark_prefix`, and their descendants: the processes that a
/// killed supervisor leaves behind. Sends TERM, then KILL after a second. Returns their number. An empty prefix matches
/// nothing.
///
/// Blocks. Skips this process and its ancestors. Finds nothing on systems other than Linux; on Windows nothing is ever
/// left.
pub fn end_leftovers(mark_prefix: &str) -> u32 {
    platform::end_leftovers(&clean_mark(mark_prefix))
}

/// Ends these processes and the known descendants that still run, with or without marks. Once the run `is_taken_over`
/// by another supervisor, marked processes may belong to it, so only the known descendants are ended.
pub(super) fn end_run_processes(
    mark_prefix: &str,
    of: &Descendants,
    is_taken_over: &dyn Fn() -> bool,
) -> u32 {
    family::end_run_processes(&clean_mark(mark_prefix), Some(of), is_taken_over)
}

/// Returns the number of such processes without ending them.
pub fn count_leftovers(mark_prefix: &str) -> usize {
    platform::count_leftovers(&clean_mark(mark_prefix))
}
