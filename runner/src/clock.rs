//! The clock of a supervisor: the wall clock when it starts, carried on by the monotonic one.
//!
//! So a wall clock that jumps neither ends a run nor makes it endless.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use unstuck_core::id::Timestamp;

/// Tells the time of recording.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    wall: Timestamp,
    start: Instant,
}

impl Clock {
    /// Reads the wall clock once. `not_before` is the time of the newest event: a wall clock that was
    /// set back does not make time run backwards.
    pub fn start(not_before: Timestamp) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(Timestamp(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX)), not_before)
    }

    /// Starts where a wall clock stands, but not before the newest event.
    pub fn at(wall: Timestamp, not_before: Timestamp) -> Self {
        Self { wall: wall.max(not_before), start: Instant::now() }
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        let passed = u64::try_from(self.start.elapsed().as_millis()).unwrap_or(u64::MAX);
        Timestamp(self.wall.0.saturating_add(passed))
    }

    /// Waits until `moment`, or for ever.
    pub async fn reach(&self, moment: Option<Timestamp>) {
        let Some(moment) = moment else { return std::future::pending().await };
        // A day at a time: a timer does not take every 64-bit span.
        loop {
            let left = moment.since(self.now());
            if left.0 == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left.0.min(86_400_000))).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a clock where the wall clock shows `wall` and the newest event is of `newest`, lets hours pass
    /// and returns what it shows.
    fn check(wall: u64, newest: u64, hours: u64) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime of one thread").block_on(async {
            let clock = Clock::at(Timestamp(wall), Timestamp(newest));
            tokio::time::advance(Duration::from_secs(hours * 3600)).await;
            clock.now().0
        })
    }

    #[test]
    fn time_goes_on_from_the_wall_clock_but_never_back() {
        const HOUR: u64 = 3_600_000;
        let cases = [
            ("nothing passed", 1000, 0, 0, 1000),
            ("an hour passed", 1000, 500, 1, 1000 + HOUR),
            ("the wall clock was set back by a day", 1000, 24 * HOUR, 0, 24 * HOUR),
            ("and goes on from there", 1000, 24 * HOUR, 2, 26 * HOUR),
            ("the wall clock was set forward by a year", 365 * 24 * HOUR, 1000, 1, (365 * 24 + 1) * HOUR),
            ("the end of time", u64::MAX, 0, 1, u64::MAX),
        ];
        for (name, wall, newest, hours, want) in cases {
            assert_eq!(check(wall, newest, hours), want, "{name}");
        }
    }

    #[test]
    fn a_moment_that_has_passed_is_reached_at_once_and_one_to_come_when_it_comes() {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime of one thread").block_on(async {
            let clock = Clock::at(Timestamp(1000), Timestamp(0));
            clock.reach(Some(Timestamp(0))).await;
            assert_eq!(clock.now(), Timestamp(1000));
            let in_three_years = Timestamp(3 * 365 * 86_400_000);
            clock.reach(Some(in_three_years)).await;
            assert_eq!(clock.now(), in_three_years);
        });
    }
}
