//! The current iteration of a step, and its attempt.

use serde::{Deserialize, Serialize};

use crate::event::Purpose;
use crate::id::{Attempt, Iteration, Seq};

/// The iteration and the attempt of a step. All but the number is reset with each iteration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IterationState {
    /// The current iteration; 0 before the first.
    pub number: Iteration,
    /// The newest attempt of the worker or of the check, depending on the phase.
    pub attempt: Attempt,
    /// The purpose of the work.
    pub purpose: Purpose,
    /// The newest attempt of the worker in this iteration, in any phase.
    pub work_attempt: Attempt,
    /// The event in which the work of this iteration ended.
    pub worked: Option<Seq>,
}

impl IterationState {
    /// Says whether this attempt is the current one.
    pub fn is_at(&self, iteration: Iteration, attempt: Attempt) -> bool {
        (self.number, self.attempt) == (iteration, attempt)
    }

    /// Begins the next iteration, with its first attempt.
    pub fn begin_iteration(&mut self) {
        *self = Self { number: self.number.next(), attempt: Attempt(1), ..Self::default() };
    }

    /// Records that an attempt of the work is due.
    pub fn request_work(&mut self, attempt: Attempt, purpose: Purpose) {
        self.attempt = attempt;
        self.purpose = purpose;
    }

    /// Records that an attempt of the check is due.
    pub fn request_check(&mut self, attempt: Attempt) {
        self.attempt = attempt;
    }

    /// Records that a worker begins the current attempt.
    pub fn begin_work(&mut self) {
        self.work_attempt = self.attempt;
    }

    /// Ends an attempt of the worker or of the check, or records its loss.
    pub fn end_attempt(&mut self) {
        self.attempt = self.attempt.next();
    }

    /// Records the event in which the work ended. The end of a diagnosis, or of a stopped worker, is none.
    pub fn end_work(&mut self, seq: Seq) {
        self.worked = Some(seq);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_iteration_begins_with_its_first_attempt() {
        let mut iteration = IterationState::default();
        iteration.begin_iteration();
        iteration.begin_work();
        iteration.end_attempt();
        assert!(iteration.is_at(Iteration(1), Attempt(2)));
        iteration.begin_iteration();
        assert!(iteration.is_at(Iteration(2), Attempt(1)));
        assert_eq!(iteration.work_attempt, Attempt(0));
    }
}
