//! The descendants of a process, and how they are ended.
//!
//! On Linux the supervisor adopts orphans (`PR_SET_CHILD_SUBREAPER`): a process whose parent ends becomes a child of our
//! main thread. To see whether anything is left, it checks whether the process group exists and reads the children of that
//! thread, one small file. It searches all of `/proc` (1 to 5 ms) only if something is left, if a pipe is still open, or to end
//! the process. An orphan that left the session and removed its mark belongs to the only process that runs, if there is only
//! one. Before a signal is sent, the start time of the process is compared, so a reused process id is never hit.
//!
//! On Windows a job object holds all descendants, and the system ends them with the supervisor. On other Unix systems only
//! the process group is known.

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

#[cfg(unix)]
use rustix::process::Signal;
use unstuck_core::client::StopSignal;

pub(super) use family::Descendants;
pub(super) use platform::{Group, adopt_orphans, leave_terminal};

/// How a process is ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Asked to, by this signal; on Windows there is only one.
    Ask(StopSignal),
    /// Made to.
    Kill,
}

#[cfg(unix)]
impl How {
    fn signal(self) -> Signal {
        match self {
            Self::Ask(StopSignal::Int) => Signal::INT,
            Self::Ask(StopSignal::Term) => Signal::TERM,
            Self::Kill => Signal::KILL,
        }
    }
}

/// Process id and start time: no two processes have both.
pub(super) type Identity = (i32, u64);

/// Returns the mark as it stands in the environment: without blanks and control characters.
pub(super) fn clean_mark(mark: &str) -> String {
    mark.chars().map(|char| if char.is_whitespace() || char.is_control() { '_' } else { char }).collect()
}

/// Ends the processes of this user whose mark begins with `mark_prefix`, and their descendants:
/// what a supervisor that was killed has left. Asks first, kills after a second. Returns how
/// many there were. An empty prefix names nothing.
///
/// Blocks; neither this process nor one that it descends from is touched. Finds nothing on systems
/// other than Linux; on Windows nothing is ever left.
pub fn end_leftovers(mark_prefix: &str) -> u32 {
    platform::end_leftovers(&clean_mark(mark_prefix))
}

/// Ends these processes, and of a family those that are left, whatever became of their marks. Once `is_taken_over` by
/// another supervisor, what bears the mark may be its own: then only the family is ended.
pub(super) fn end_family(mark_prefix: &str, of: &Descendants, is_taken_over: &dyn Fn() -> bool) -> u32 {
    family::end_family(&clean_mark(mark_prefix), Some(of), is_taken_over)
}

/// Returns how many such processes there are; nothing is done to them.
pub fn count_leftovers(mark_prefix: &str) -> usize {
    platform::count_leftovers(&clean_mark(mark_prefix))
}
