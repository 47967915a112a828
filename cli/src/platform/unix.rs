//! Linux, macOS and other systems with signals.

use std::io;

use nix::sys::signal::{SigSet, Signal, kill};
use nix::unistd::{Pid, setsid};
use tokio::signal::unix::{SignalKind, signal as listen};

use super::signal::{HANGUP, INTERRUPT, TERMINATE};

/// A file that is empty, and stays so.
pub const NULL_DEVICE: &str = "/dev/null";

/// Sees to it that a write beyond the limit of file size (`ulimit -f`) fails, and can be reported, instead of
/// killing us. Workers and checks are started with no signal blocked.
pub fn ignore_sigxfsz() {
    let _dies_as_before = SigSet::from(Signal::SIGXFSZ).thread_block();
}

/// Has the allocator give a large block back to the system as soon as it is free. Left alone, glibc keeps all blocks of a size
/// from the first on that is freed (`mallopt(3)`, the dynamic threshold): a megabyte of a run.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "nothing safe leads to the settings of the allocator")]
pub fn tune_allocator() {
    const LARGE: nix::libc::c_int = 128 * 1024; // Where the threshold is at the start.
    // SAFETY: it sets a number, before there is a second thread.
    let _stays_as_it_was = unsafe { nix::libc::mallopt(nix::libc::M_MMAP_THRESHOLD, LARGE) };
}

/// Other allocators have no such threshold.
#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn tune_allocator() {}

/// Calls back with every Ctrl-C, termination and loss of the terminal, instead of ending the program.
///
/// Must be called on a tokio runtime.
pub fn on_interrupt(arrived: impl Fn(i32) + Clone + Send + 'static) {
    // With `nohup` the loss of the terminal has to be ignored.
    let hangup = (!hangup_is_ignored()).then_some(HANGUP);
    for signal in [INTERRUPT, TERMINATE].into_iter().chain(hangup) {
        let Ok(mut arrivals) = listen(SignalKind::from_raw(signal)) else { continue };
        let arrived = arrived.clone();
        tokio::spawn(async move {
            while arrivals.recv().await.is_some() {
                arrived(signal);
            }
        });
    }
}

fn hangup_is_ignored() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 != 0)
}

/// Leaves the terminal and the session that we were started in.
pub fn own_session() {
    let _it_is_its_own_already = setsid();
}

/// Sends a program what Ctrl-C sends.
pub fn interrupt(pid: u32) -> io::Result<()> {
    let pid = i32::try_from(pid).map_err(io::Error::other)?;
    Ok(kill(Pid::from_raw(pid), Signal::SIGINT)?)
}
