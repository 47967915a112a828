//! A child process, from its start until its exit status is known.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::process::ExitStatus;

#[cfg(target_os = "linux")]
pub(super) use self::linux::{ChildProcess, StartedChild, start};
#[cfg(not(target_os = "linux"))]
pub(super) use self::portable::{ChildCommand as StartedChild, TokioChild as ChildProcess, start};

/// Returns the number of the signal that ended a process; 0 if unknown.
#[cfg(unix)]
pub(super) fn signal_of(status: ExitStatus) -> i32 {
    std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
}

/// Returns 0: there are no signals.
#[cfg(windows)]
pub(super) fn signal_of(_status: ExitStatus) -> i32 {
    0
}
