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
