//! A child process, from its start until its exit status is known.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
mod portable;

use std::process::ExitStatus;

#[cfg(target_os = "linux")]
use self::linux as platform;
#[cfg(not(target_os = "linux"))]
use self::portable as platform;

pub(super) use platform::{Child, Started, start};

/// Returns the number of the signal that ended a process; 0 if that is not known.
#[cfg(unix)]
pub(super) fn signal_of(status: ExitStatus) -> i32 {
    std::os::unix::process::ExitStatusExt::signal(&status).unwrap_or(0)
}

/// Returns 0: there are no signals.
#[cfg(windows)]
pub(super) fn signal_of(_status: ExitStatus) -> i32 {
    0
}
