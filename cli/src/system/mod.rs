//! Functions of the operating system that a supervisor needs, with the same interface for each system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

pub use platform::{
    NULL_DEVICE, give_large_blocks_back, interrupt, on_interrupt, outlive_a_limit_of_file_size, own_session,
};

/// The numbers that Unix gives to what interrupts a run; they are in the log and in the exit status.
mod signal {
    pub(super) const HANGUP: i32 = 1;
    pub(super) const INTERRUPT: i32 = 2;
    pub(super) const TERMINATE: i32 = 15;
}
