//! Every exit status, named.

use std::process::ExitCode;

/// The run, or the command, did what it was to do.
pub const OK: u8 = 0;
/// A decision would be another one today; what was asked for does not hold.
pub const DIFFERENT: u8 = 1;
/// What was to say whether something holds could not be run.
pub const COULD_NOT_RUN: u8 = 5;
/// The event store does not take or give events.
pub const STORE: u8 = 6;
/// Bad input or usage: nothing was done.
pub const USAGE: u8 = 64;

/// Returns a status as the system wants it.
pub fn code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}
