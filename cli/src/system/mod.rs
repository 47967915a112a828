//! What a supervisor wants of the operating system, as the same few functions for each: one file per system.

#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

pub use platform::{
    NULL_DEVICE, end_group, give_large_blocks_back, interrupt, on_interrupt, outlive_a_limit_of_file_size,
    own_group, own_session,
};

/// The numbers that Unix gives to what interrupts a run; they are in the log and in the exit status.
mod signal {
    pub(super) const HANGUP: i32 = 1;
    pub(super) const INTERRUPT: i32 = 2;
    pub(super) const TERMINATE: i32 = 15;
}
