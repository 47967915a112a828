//! Effects: the work that the runner has to perform next.

use serde::{Deserialize, Serialize};

use crate::completion::Timing;
use crate::event::{Inquiry, Purpose};
use crate::id::{Attempt, Iteration, Millis, StepId};
use crate::workflow::{CheckMethod, Step};

/// Work that the shell is to perform. Performing it twice is harmless: the log knows what was begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Record that the turn begins, carry it out, record how it ended.
    Perform(Turn, TurnId),
    /// End the process that is in flight for this step; its outcome is recorded as stopped.
    Stop(StepId),
}

/// Which attempt of what is due.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TurnId {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
}

/// The kind of work that is due in a step: a worker or a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// A worker or a child run does the work; something else judges it, or nothing does.
    Work,
    /// A worker does the work and says itself whether it is complete.
    Claim,
    /// A worker finds out why the loop is stuck. Nothing that it changes stays.
    Diagnosis,
    /// A script checks: its exit code is the verdict.
    Script,
    /// An agent checks: its answer is the verdict.
    Agent,
    /// The commands of the check run.
    Commands,
    /// The validators that run before the first work.
    Preflight,
    /// The validators of the conditions run.
    Conditions,
    /// The closer judges a claim.
    Closer,
}

impl Turn {
    /// Returns the turn of a worker.
    pub(crate) fn of_worker(step: &Step, purpose: Purpose) -> Self {
        match purpose {
            Purpose::Diagnosis => Self::Diagnosis,
            Purpose::Work if step.claims() => Self::Claim,
            Purpose::Work => Self::Work,
        }
    }

    /// Returns the turn of a checker.
    pub(crate) fn of_checker(step: &Step, inquiry: Inquiry) -> Self {
        match (inquiry, step.check.as_ref().map(|check| &check.by)) {
            (Inquiry::Preflight, _) => Self::Preflight,
            (Inquiry::Closer, _) => Self::Closer,
            (Inquiry::Check, Some(CheckMethod::Exit(_))) => Self::Script,
            (Inquiry::Check, Some(CheckMethod::Agent(_))) => Self::Agent,
            (Inquiry::Check, Some(CheckMethod::Commands(_))) => Self::Commands,
            // A step without a check is judged by its conditions.
            (Inquiry::Conditions, _)
            | (Inquiry::Check, Some(CheckMethod::Claim | CheckMethod::Conditions) | None) => Self::Conditions,
        }
    }

    /// Says whether this is a check of any kind.
    pub fn is_check(self) -> bool {
        !matches!(self, Self::Work | Self::Claim | Self::Diagnosis)
    }

    /// Says whether this is the check of the step itself.
    pub fn is_own_check(self) -> bool {
        matches!(self, Self::Script | Self::Agent | Self::Commands)
    }

    /// Says whether its verdict carries an id, so that an old one cannot be taken for it.
    pub fn has_check_id(self) -> bool {
        self.is_check() || self == Self::Claim
    }

    /// Says whether this is the last turn of an iteration, after which the outputs are complete.
    pub fn is_last(self, step: &Step) -> bool {
        match self {
            Self::Work => step.check.is_none(),
            Self::Diagnosis | Self::Preflight => false,
            _ => true,
        }
    }

    /// Returns the time limit of one attempt.
    pub fn limit(self, step: &Step) -> Millis {
        let of_phase = |phase| step.completion.as_ref().map_or(step.timeout, |rules| rules.limit(phase));
        match self {
            Self::Preflight => of_phase(Timing::Preflight),
            Self::Conditions => of_phase(Timing::AfterWork),
            turn if turn.is_own_check() => step.check.as_ref().map_or(step.timeout, |check| check.timeout),
            _ => step.timeout,
        }
    }
}
