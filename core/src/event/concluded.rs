//! What the core decided.

use serde::{Deserialize, Serialize};

use super::end::{ErrorClass, Failure, RunOutcome, StallCause, StepEnd};
use crate::evidence::{Decision, DecisionSource};
use crate::id::{Attempt, CheckId, Digest, Iteration, Seq, Stage, StepId, Timestamp};

/// What the core decided. Recorded although it can be derived: it makes the log readable, and a
/// replay compares it with what it derives.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Conclusion {
    /// A worker is to be run. Begins an iteration when the attempt is the first.
    WorkRequested(WorkRequested),
    /// The work of an iteration is done and is to be checked.
    CheckRequested(CheckRequested),
    /// Nothing is done for the step before a moment.
    WaitRequested(WaitRequested),
    /// An iteration was judged.
    VerdictReached(VerdictReached),
    /// The strategy of a step changes.
    StageRaised(StageRaised),
    /// A step came to its end.
    StepEnded(StepEnded),
    /// Another worker takes over.
    FallbackTaken(FallbackTaken),
    /// No new work is begun; the run ends when what is in flight has been stopped.
    RunStopping(RunStopping),
    /// The run came to its end.
    RunEnded(RunEnded),
}

/// A worker is to be run.
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
    /// What it is to do.
    pub purpose: Purpose,
}

/// What a worker is run for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    /// The work of the step.
    #[default]
    Work,
    /// To say why the loop gets nowhere; nothing that it changes stays.
    Diagnosis,
}

/// The work of an iteration is to be checked.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRequested {
    /// The step.
    pub step: StepId,
    /// The iteration.
    pub iteration: Iteration,
    /// The attempt.
    pub attempt: Attempt,
    /// Who is asked.
    pub what: Inquiry,
    /// What is to be verified, where somebody has claimed completion.
    pub claim: Option<Box<Claimed>>,
}

/// Who is asked about the work of an iteration.
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

/// A claim of completion that is not a verdict yet: it has to be verified.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    /// The check that answered.
    pub check_id: Option<CheckId>,
    /// Where the claim was read.
    pub source: DecisionSource,
    /// Why, as it was said, and what was skipped since.
    pub reasons: Vec<String>,
    /// What was odd about the answer.
    pub problems: Vec<String>,
    /// The observations it rests on so far.
    pub evidence: Vec<Seq>,
}

/// Nothing is done for the step before a moment.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequested {
    /// The step.
    pub step: StepId,
    /// The moment.
    pub until: Timestamp,
    /// What is done then.
    pub then: Next,
    /// Why.
    pub why: WaitReason,
    /// The line or sentence it rests on, for people.
    pub detail: String,
}

/// What a step does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    /// Run the worker.
    Work,
    /// Run the check.
    Check,
}

/// Why a step waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    /// The worker failed and is tried again; costs a retry.
    Retry(ErrorClass),
    /// The worker's service is limited or out of order; costs nothing but time.
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
    /// Whether the verdict carried the id of that check; `None` where it carried none.
    #[serde(default)]
    pub check_id_match: Option<bool>,
    /// What the step is to be taken for.
    pub decision: Decision,
    /// What the claim itself said, where evidence made it something else.
    pub claimed: Option<Decision>,
    /// Where the claim was read.
    pub source: DecisionSource,
    /// Why, for people and for the next prompt.
    pub reasons: Vec<String>,
    /// What failed, for the controller.
    pub fingerprints: Vec<String>,
    /// What was odd about the answer, for people and for the next prompt.
    pub problems: Vec<String>,
    /// Nothing readable was said: so many times in a row now, 0 for a readable verdict.
    pub parse_failures: u32,
    /// The observations it rests on.
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
    /// The stage from now on; equal to `from` where there is none above.
    pub to: Stage,
    /// What repeats.
    pub cause: StallCause,
    /// Key of the failure set.
    pub key: Option<Digest>,
    /// How many times it was seen.
    pub count: u32,
}

/// A step came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    /// The step.
    pub step: StepId,
    /// Its end.
    pub end: StepEnd,
    /// The events it rests on.
    pub evidence: Vec<Seq>,
}

/// Another worker takes over, since the service of the one before is limited or out of order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackTaken {
    /// The step.
    pub step: StepId,
    /// Who is replaced: the worker, or the checker.
    pub what: Next,
    /// The place in the chain of whoever takes over; 0 is the first.
    pub to: u32,
    /// What was wrong with the one before.
    pub why: Failure,
}

/// No new work is begun.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStopping {
    /// Why.
    pub why: RunOutcome,
    /// The event it rests on.
    pub evidence: Vec<Seq>,
}

/// The run came to its end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    /// How.
    pub outcome: RunOutcome,
    /// The step that decided it.
    pub step: Option<StepId>,
    /// Steps that ended incomplete although the run went on.
    pub incomplete_steps: Vec<StepId>,
    /// The events it rests on.
    pub evidence: Vec<Seq>,
}
