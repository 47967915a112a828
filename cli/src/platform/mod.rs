//! Functions of the operating system that a supervisor needs, with the same interface for each system.

mod signal;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
use self::unix as platform;
#[cfg(windows)]
use self::windows as platform;

pub use platform::{NULL_DEVICE, ignore_sigxfsz, interrupt, on_interrupt, own_session, tune_allocator};
