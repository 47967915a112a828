//! The numbers that Unix gives to what interrupts a run; they are in the log and in the exit status.

pub(super) const HANGUP: i32 = 1;
pub(super) const INTERRUPT: i32 = 2;
pub(super) const TERMINATE: i32 = 15;
