//! Every exit status, named.

use std::process::ExitCode;

use unstuck_core::event::RunOutcome;

/// The run or the command succeeded.
pub const OK: u8 = 0;
/// A replayed decision differs, or the checked condition does not hold.
pub const DIFFERENT: u8 = 1;
/// A check or validator could not be run.
pub const COULD_NOT_RUN: u8 = 5;
/// The event store failed to record or return events.
pub const STORE: u8 = 6;
/// Bad input or usage: nothing was done.
pub const USAGE: u8 = 64;

/// Returns a status as the system wants it.
pub fn code(status: i32) -> ExitCode {
    ExitCode::from(u8::try_from(status).unwrap_or(1))
}

/// Returns the exit status that tells this end from the others.
pub fn status_of(outcome: RunOutcome) -> i32 {
    match outcome {
        RunOutcome::Complete => 0,
        RunOutcome::NotComplete => 1,
        RunOutcome::IterationLimit | RunOutcome::TimeLimit | RunOutcome::SpendLimit => 2,
        RunOutcome::Stuck => 3,
        RunOutcome::Blocked => 4,
        RunOutcome::WorkerFailed => 5,
        RunOutcome::Interrupted(signal) => 128 + signal,
    }
}
