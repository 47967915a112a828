//! The stored shapes, version 2: what is recorded for the measures of progress. Frozen as [`v1`](super::v1) is.
//!
//! A run may share the first events of another one, and a resume may change the workflow. Snapshots count open check boxes, failures have the number of lines after them, and commands have numbers with bounds.

#![expect(missing_docs, reason = "documented where the domain types are, in unstuck_core::event")]

use serde::{Deserialize, Serialize};

use super::v1::{
    AnswerSeen, Blob, Budget, Call, Confidence, DecisionFile, Diffstat, Digest, Drift, Exit, FailureSource,
    LeftOut, Listed, Location, Outcome, Param, Parent, Report, SnapshotMoment, Standing, Tests,
    ValidatorOutcome,
};

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStarted {
    pub run: String,
    /// [`unstuck_core::workflow::Workflow`] as JSON.
    pub workflow_json: String,
    pub workflow_digest: Option<Digest>,
    pub workflow_file: Option<String>,
    pub workspace: String,
    pub parent: Option<Parent>,
    pub program: String,
    pub warnings: Vec<String>,
    pub secrets: Vec<String>,
    pub forked_from: Option<ForkPoint>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForkPoint {
    pub run: String,
    pub event: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunResumed {
    pub add_iterations: u32,
    pub add_time: u64,
    pub renews_time: bool,
    pub add_micro_usd: u64,
    pub add_tokens: u64,
    pub accept_unknown_cost: bool,
    pub allowance: Option<Budget>,
    pub hint: Option<String>,
    pub worker_json: Option<String>,
    pub workflow_digest: Option<Digest>,
    pub program: String,
    pub secrets: Vec<String>,
    /// [`unstuck_core::workflow::Workflow`] as JSON.
    pub workflow_json: Option<String>,
    pub changes: Vec<String>,
    pub change_digest: Option<Digest>,
    pub workspace: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerStarted {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub prompt: Blob,
    pub limit: u64,
    pub check_id: Option<String>,
    pub moved_aside: Option<Blob>,
    pub templates: Vec<String>,
    pub snapshot: Option<Snapshot>,
    pub call: Option<Call>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerFinished {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub outcome: Outcome,
    pub decision_file: DecisionFile,
    pub changed: Option<bool>,
    pub snapshot: Option<Snapshot>,
    pub drift: Option<Drift>,
    pub diffstat: Option<Diffstat>,
    pub answer: Option<AnswerSeen>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckFinished {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub check_id: String,
    pub outcome: Outcome,
    pub decision_file: DecisionFile,
    pub commands: Vec<CommandResult>,
    pub drift: Option<Drift>,
    pub validators: Vec<ValidatorResult>,
    pub snapshot: Option<Snapshot>,
    pub stamp: Option<Digest>,
    pub answer: Option<AnswerSeen>,
    pub unsettled_after: Option<u32>,
    pub changed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ValidatorResult {
    pub validator: String,
    pub outcome: ValidatorOutcome,
    pub exit: Exit,
    pub duration: u64,
    pub stdout: Option<Blob>,
    pub stderr: Option<Blob>,
    pub stdout_end: String,
    pub stderr_end: String,
    pub error: String,
    pub report: Report,
    pub params: Vec<Param>,
    pub failures: Vec<Failed>,
    pub unparsed: bool,
    pub cached: bool,
    pub numbers: Vec<NumberLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandResult {
    pub run: String,
    pub exit: Exit,
    pub duration: u64,
    pub stdout: Option<Blob>,
    pub stderr: Option<Blob>,
    pub reports: Vec<Blob>,
    pub tail: String,
    pub tool: String,
    pub failures: Vec<Failed>,
    pub failures_left_out: u64,
    pub flaky: Vec<Failed>,
    pub confidence: Confidence,
    pub tests: Option<Tests>,
    pub listed: Listed,
    pub observations: u32,
    pub numbers: Vec<NumberLine>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failed {
    pub fingerprint: String,
    pub exact: String,
    pub tool: String,
    pub test: Option<String>,
    pub location: Option<Location>,
    pub kind: String,
    pub message: String,
    pub source: FailureSource,
    pub places: u32,
    pub remaining: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    pub snapshot: Snapshot,
    pub moment: SnapshotMoment,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub id: Digest,
    pub work: Digest,
    pub files: u64,
    pub bytes: u64,
    pub repository: Option<Standing>,
    pub left_out: Vec<LeftOut>,
    pub notes: Vec<String>,
    pub open_boxes: Option<u32>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NumberLine {
    pub frame: Digest,
    pub numbers: Vec<Number>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Number {
    pub value: i64,
    pub bound: Option<i64>,
}
