//! What children have used of the machine.

use std::time::Duration;

/// What all children that were waited for have used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Usage {
    /// Time on a processor.
    pub cpu: Duration,
    /// The most memory that one of them had.
    pub peak_mb: f64,
}

impl Usage {
    /// Asks the system. What it does not know is zero.
    #[cfg(unix)]
    pub fn of_children() -> Self {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::{TimeVal, TimeValLike as _};
        let usage = getrusage(UsageWho::RUSAGE_CHILDREN).expect("usage");
        let span = |time: TimeVal| Duration::from_micros(u64::try_from(time.num_microseconds()).unwrap_or(0));
        Self {
            cpu: span(usage.user_time()) + span(usage.system_time()),
            peak_mb: usage.max_rss() as f64 / 1024.0,
        }
    }

    /// Returns zero: here only handles that are still open could tell.
    #[cfg(windows)]
    pub fn of_children() -> Self {
        Self::default()
    }
}
