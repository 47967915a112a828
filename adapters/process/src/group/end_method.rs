//! The ways to end a process, and what identifies one.

#[cfg(unix)]
use rustix::process::Signal;
use unstuck_core::client::StopSignal;

/// A way to end a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum EndMethod {
    /// Send this signal; on Windows there is only one.
    Ask(StopSignal),
    /// Kill it.
    Kill,
}

#[cfg(unix)]
impl EndMethod {
    pub(super) fn signal(self) -> Signal {
        match self {
            Self::Ask(StopSignal::Int) => Signal::INT,
            Self::Ask(StopSignal::Term) => Signal::TERM,
            Self::Kill => Signal::KILL,
        }
    }
}

/// Process id and start time, which together are unique.
pub(crate) type ProcessIdentity = (i32, u64);
