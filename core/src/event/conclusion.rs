//! Conclusions: decisions of the core.

use serde::{Deserialize, Serialize};

use super::run_outcome::{ErrorClass, ProcessFailure, RunOutcome, StallCause, StepEnd};
use crate::evidence::{Decision, DecisionSource};
use crate::id::{Attempt, CheckId, Digest, Iteration, Seq, Stage, StepId, Timestamp};

/// A decision of the core. It is recorded although it can be derived: it makes the log readable, and a replay compares
/// it with its result.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// A worker must run. Starts an iteration if the attempt is the first.
    WorkRequested(WorkRequested),
    /// The work of an iteration is done and must be checked.
    CheckRequested(CheckRequested),
    /// The step waits until a point in time.
    WaitRequested(WaitRequested),
    /// An iteration was judged.
    VerdictReached(VerdictReached),
    /// The strategy of a step changes.
    StageRaised(StageRaised),
    /// A step ended.
    StepEnded(StepEnded),
    /// Another worker takes over.
    FallbackTaken(FallbackTaken),
    /// No new work starts; the run ends when everything in flight has stopped.
    RunStopping(RunStopping),
    /// The run ended.
    RunEnded(RunEnded),
}

/// A worker must run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRequested {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// The stage it works in.
    pub stage: Stage,
    /// Purpose of the work.
    pub purpose: Purpose,
}

/// Purpose of a worker's run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The work of the step.
    #[default]
    Work,
    /// A diagnosis why the loop makes no progress; its changes are discarded.
    Diagnosis,
}

/// The work of an iteration must be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRequested {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// Verification to run.
    pub what: Inquiry,
    /// Claim to verify, if completion was claimed.
    pub claim: Option<Box<PendingClaim>>,
}

/// Verification of an iteration's work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inquiry {
    /// The check of the step.
    #[default]
    Check,
    /// The validators that run before the first work.
    Preflight,
    /// The validators of the conditions.
    Conditions,
    /// The closer.
    Closer,
}

/// A claim of completion that must be verified before it becomes a verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PendingClaim {
    /// The check that answered.
    pub check_id: Option<CheckId>,
    /// Source of the claim.
    pub source: DecisionSource,
    /// Reasons as reported, and what was skipped since.
    pub reasons: Vec<String>,
    /// Problems with the answer.
    pub problems: Vec<String>,
    /// Observations that it is based on so far.
    pub evidence: Vec<Seq>,
}

/// The step waits until a point in time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequested {
    /// The step.
    pub step: StepId,
    /// End of the wait.
    pub until: Timestamp,
    /// Activity after the wait.
    pub then: TurnKind,
    /// Reason for the wait.
    pub why: WaitReason,
    /// The line or sentence that the wait is based on, for display.
    pub detail: String,
}

/// Next activity of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TurnKind {
    /// Run the worker.
    Work,
    /// Run the check.
    Check,
}

/// Reason why a step waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The worker failed and is tried again; costs a retry.
    Retry(ErrorClass),
    /// The worker's service is rate limited or unavailable; costs only time.
    Weather(ErrorClass),
    /// The check could not run and is tried again; costs a retry of the check.
    CheckRetry(ErrorClass),
    /// The verdict says that an external job still runs.
    ExternalJob,
}

/// An iteration was judged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictReached {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The check that answered.
    pub check_id: Option<CheckId>,
    /// Whether the verdict carried the id of that check; `None` if it carried no id.
    #[serde(default)]
    pub check_id_match: Option<bool>,
    /// Decision for the step.
    pub decision: Decision,
    /// Decision of the claim, if evidence changed it.
    pub claimed: Option<Decision>,
    /// Source of the claim.
    pub source: DecisionSource,
    /// Reasons, for display and for the next prompt.
    pub reasons: Vec<String>,
    /// Fingerprints of the failures, for the controller.
    pub fingerprints: Vec<String>,
    /// Problems with the answer, for display and for the next prompt.
    pub problems: Vec<String>,
    /// Number of unreadable answers in a row, this one included; 0 for a readable verdict.
    pub parse_failures: u32,
    /// Observations that it is based on.
    pub evidence: Vec<Seq>,
}

/// The strategy of a step changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRaised {
    /// The step.
    pub step: StepId,
    /// The iteration whose verdict raised it.
    pub iteration: Iteration,
    /// The stage before.
    pub from: Stage,
    /// The stage from now on; equal to `from` if it is the highest.
    pub to: Stage,
    /// The repetition that raised it.
    pub cause: StallCause,
    /// Key of the failure set.
    pub key: Option<Digest>,
    /// Number of occurrences.
    pub count: u32,
}

/// A step ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    /// The step.
    pub step: StepId,
    /// Its end.
    pub end: StepEnd,
    /// Events that it is based on.
    pub evidence: Vec<Seq>,
}

/// Another worker takes over because the service of the previous one is rate limited or unavailable.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackTaken {
    /// The step.
    pub step: StepId,
    /// Replaced role: the worker or the checker.
    pub what: TurnKind,
    /// Place of the replacement in the chain, starting at 0.
    pub to: u32,
    /// Failure of the previous one.
    pub why: ProcessFailure,
}

/// No new work starts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStopping {
    /// Reason.
    pub why: RunOutcome,
    /// Event that it is based on.
    pub evidence: Vec<Seq>,
}

/// The run ended.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// Outcome.
    pub outcome: RunOutcome,
    /// The step that decided it.
    pub step: Option<StepId>,
    /// Steps that ended incomplete while the run continued.
    pub incomplete_steps: Vec<StepId>,
    /// Events that it is based on.
    pub evidence: Vec<Seq>,
}
