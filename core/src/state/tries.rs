//! Retries and waits of an iteration.

use serde::{Deserialize, Serialize};

use crate::event::WaitReason;
use crate::id::Timestamp;

/// The retries and waits of a step. All but `extra_iterations` are reset with each iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TryState {
    /// Retries of the worker.
    pub work: u32,
    /// Retries of the check.
    pub check: u32,
    /// Waits for a limited service in a row.
    pub outage: u32,
    /// The time at which the wait for an external job began.
    pub waiting_since: Option<Timestamp>,
    /// Iterations that answers of a person have added.
    pub extra_iterations: u32,
}

impl TryState {
    /// Begins an iteration.
    pub fn begin_iteration(&mut self) {
        *self = Self { extra_iterations: self.extra_iterations, ..Self::default() };
    }

    /// Counts a wait that begins at `now`.
    pub fn waits(&mut self, why: WaitReason, now: Timestamp) {
        let counter = match why {
            WaitReason::Retry(_) => &mut self.work,
            WaitReason::CheckRetry(_) => &mut self.check,
            WaitReason::Weather(_) => &mut self.outage,
            WaitReason::ExternalJob => {
                self.waiting_since.get_or_insert(now);
                return;
            }
        };
        *counter = counter.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::ErrorClass;
    use crate::event::WaitReason;
    use crate::id::Timestamp;

    #[test]
    fn an_iteration_begins_without_retries() {
        let mut tries = TryState::default();
        tries.waits(WaitReason::Retry(ErrorClass::RetryableTransient), Timestamp(0));
        assert_eq!(tries.work, 1);
        tries.begin_iteration();
        assert_eq!(tries.work, 0);
    }
}
