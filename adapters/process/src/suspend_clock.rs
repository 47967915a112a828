//! How long the machine was suspended. No clock says so; but one goes on meanwhile, and that of `Instant` stands still.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Returns how long this machine was suspended since a supervisor in this process first asked.
///
/// Zero on systems where `Instant` goes on, too (Windows): time limits run on there.
pub fn total() -> Duration {
    static START: OnceLock<(Instant, Duration)> = OnceLock::new();
    // Read in this order on both sides, what passes in between is never taken for a suspension.
    let (start, then) = START.get_or_init(|| (Instant::now(), clock_that_goes_on()));
    let now = clock_that_goes_on();
    now.saturating_sub(*then).saturating_sub(start.elapsed())
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn clock_that_goes_on() -> Duration {
    read(rustix::time::ClockId::Boottime)
}

#[cfg(target_vendor = "apple")]
fn clock_that_goes_on() -> Duration {
    read(rustix::time::ClockId::Monotonic)
}

#[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
fn clock_that_goes_on() -> Duration {
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
