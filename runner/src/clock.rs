//! The clock of a supervisor: the wall clock when it starts, carried on by the monotonic one, and by what the machine
//! was suspended for.
//!
//! So a wall clock that jumps neither ends a run nor makes it endless, and what a service names by the time of day comes
//! when it says.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::time::Instant;
use unstuck_core::id::{Millis, Timestamp};
use unstuck_process::suspend_clock;

/// Interval at which a waiting run reads the clock. A timer stops while the machine is suspended.
const LOOK_UP: Duration = Duration::from_secs(30);

/// Tells the time of recording.
#[derive(Clone, Copy, Debug)]
pub struct SystemClock {
    wall: Timestamp,
    start: Instant,
    suspended_before: Duration,
    /// Tells for how long the machine has been suspended in all; it never tells less than before.
    suspension: fn() -> Duration,
}

impl SystemClock {
    /// Reads the wall clock once. `not_before` is the time of the newest event: a wall clock that was
    /// set back does not make time run backwards.
    pub fn start(not_before: Timestamp) -> Self {
        let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Self::at(Timestamp(millis(since_1970).0), not_before, suspend_clock::total)
    }

    /// Starts where a wall clock stands, but not before the newest event, on a machine that has been suspended for so long.
    pub fn at(wall: Timestamp, not_before: Timestamp, suspension: fn() -> Duration) -> Self {
        let (wall, suspended_before) = (wall.max(not_before), suspension());
        Self { wall, start: Instant::now(), suspended_before, suspension }
    }

    /// Returns the time.
    pub fn now(&self) -> Timestamp {
        self.wall.after(millis(self.start.elapsed())).after(self.suspended())
    }

    /// Returns how long the machine was suspended since this clock was started.
    pub fn suspended(&self) -> Millis {
        millis((self.suspension)().saturating_sub(self.suspended_before))
    }

    /// Waits until `moment`, or for ever.
    pub async fn reach(&self, moment: Option<Timestamp>) {
        let Some(moment) = moment else { return std::future::pending().await };
        loop {
            let left = moment.since(self.now());
            if left.0 == 0 {
                return;
            }
            tokio::time::sleep(Duration::from_millis(left.0).min(LOOK_UP)).await;
        }
    }
}

fn millis(span: Duration) -> Millis {
    Millis(u64::try_from(span.as_millis()).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    thread_local! {
        static SUSPENDED: Cell<Duration> = const { Cell::new(Duration::from_secs(7)) };
    }

    fn clock(wall: u64, newest: u64) -> SystemClock {
        SystemClock::at(Timestamp(wall), Timestamp(newest), || SUSPENDED.get())
    }

    fn suspend(hours: u64) {
        SUSPENDED.set(SUSPENDED.get() + Duration::from_secs(hours * 3600));
    }

    /// Starts a clock where the wall clock shows `wall` and the newest event is of `newest`, lets hours pass
    /// and returns what it shows.
    fn check(wall: u64, newest: u64, hours: u64) -> u64 {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime of one thread").block_on(async {
            let clock = clock(wall, newest);
            tokio::time::advance(Duration::from_secs(hours * 3600)).await;
            clock.now().0
        })
    }

    #[test]
    fn clock_follows_the_wall_clock_and_never_goes_back() {
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
            let clock = clock(1000, 0);
            clock.reach(Some(Timestamp(0))).await;
            assert_eq!(clock.now(), Timestamp(1000));
            let in_three_years = Timestamp(3 * 365 * 86_400_000);
            clock.reach(Some(in_three_years)).await;
            assert_eq!(clock.now(), in_three_years);
        });
    }

    #[test]
    fn a_moment_comes_when_the_time_of_day_says_although_the_machine_was_suspended() {
        const HOUR: u64 = 3_600_000;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        runtime.expect("a runtime of one thread").block_on(async {
            let clock = clock(1000, 0);
            let begun = Instant::now();
            let wake = async {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                suspend(5);
            };
            tokio::join!(wake, clock.reach(Some(Timestamp(1000 + 3 * HOUR))));
            assert_eq!(
                (clock.suspended(), clock.now().since(Timestamp(1000)).0 / HOUR),
                (Millis(5 * HOUR), 6)
            );
            assert!(begun.elapsed() <= Duration::from_secs(3600) + LOOK_UP, "{:?}", begun.elapsed());
        });
    }
}
