//! Measures how long the machine was suspended: one clock counts that time, and the clock of `Instant` does not.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Returns how long this machine was suspended since the first call in this process.
///
/// Zero on systems where `Instant` counts that time, too (Windows): time limits include it there.
pub fn total() -> Duration {
    static START: OnceLock<(Instant, Duration)> = OnceLock::new();
    // In this order on both sides, time between the two reads never counts as a suspension.
    let (start, then) = START.get_or_init(|| (Instant::now(), suspend_aware_clock()));
    let now = suspend_aware_clock();
    now.saturating_sub(*then).saturating_sub(start.elapsed())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn suspend_aware_clock() -> Duration {
    read(rustix::time::ClockId::Boottime)
}

#[cfg(target_vendor = "apple")]
fn suspend_aware_clock() -> Duration {
    read(rustix::time::ClockId::Monotonic)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn suspend_aware_clock() -> Duration {
    Duration::ZERO
}

#[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
fn read(clock: rustix::time::ClockId) -> Duration {
    Duration::try_from(rustix::time::clock_gettime(clock)).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_machine_that_is_awake_was_not_suspended() {
        let before = super::total();
        std::thread::sleep(std::time::Duration::from_millis(20));
        let passed = super::total() - before;
        assert!(passed < std::time::Duration::from_millis(10), "{passed:?}");
    }
}
