//! The stored shapes, version 1. Frozen: once a release has written them, nothing here is edited again.
//!
//! A changed event becomes a new struct in `v2`, with `From<v1::X> for v2::X` as its upcaster. What is
//! allowed here is narrow, because bincode knows no names: no `tag`, `untagged`, `flatten`,
//! `skip_serializing_if`, no JSON value, no map, no recursion. A field's place and a variant's place are
//! the format; `tests/golden/v1` pins both. What will grow (the workflow) is a JSON text in one field.

#![expect(missing_docs, reason = "documented where the domain types are, in unstuck_core::event")]

use serde::{Deserialize, Serialize};

// ---- observations ----

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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parent {
    pub run: String,
    pub step: String,
    pub iteration: u32,
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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Budget {
    pub micro_usd: Option<u64>,
    pub tokens: Option<u64>,
    pub accepts_unknown: bool,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunInterrupted {
    pub signal: i32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerGiven {
    pub text: String,
    pub steps: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeadlinePassed {}

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
pub struct Call {
    pub client: String,
    pub session: Option<String>,
    pub continues: bool,
    pub argv: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerProgressed {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub progress: Progress,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    pub session: Option<String>,
    pub model: Option<String>,
    pub text: String,
    pub doing: String,
    pub counts: Counts,
    pub files: Vec<String>,
    pub usage: Option<Usage>,
    pub at_least: Option<Tokens>,
    pub cost: Option<Cost>,
    pub earlier: Earlier,
    pub retrying: Option<Retrying>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrying {
    pub trouble: Trouble,
    pub attempt: u32,
    pub most: Option<u32>,
    pub delay: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    pub client: String,
    pub end: CallEnd,
    pub trouble: Option<Trouble>,
    pub message: String,
    pub http_status: Option<u32>,
    pub retry_after: Option<u64>,
    pub resets: Option<String>,
    pub session: Option<String>,
    pub model: Option<String>,
    pub structured: Option<String>,
    pub usage: Option<Usage>,
    pub at_least: Option<Tokens>,
    pub cost: Option<Cost>,
    pub earlier: Earlier,
    pub counts: Counts,
    pub files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    Done,
    Failed,
    Stopped,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    RateLimit,
    Overloaded,
    Server,
    Network,
    Auth,
    Credit,
    ContextOverflow,
    BadRequest,
    TurnLimit,
    BudgetLimit,
    NoSession,
    Config,
    Crashed,
    NoEnd,
    EmptyAnswer,
    Interrupted,
    Unknown,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Usage {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
    pub scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cost {
    pub micro_usd: u64,
    pub scope: Scope,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    pub usage: Option<Usage>,
    pub micro_usd: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    Call,
    Session,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub tools: u32,
    pub tools_failed: u32,
    pub retries: u32,
    pub denied: u32,
    pub unparsed: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Kicked {}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Suspended {
    pub length: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FallbackTaken {
    pub step: String,
    pub what: Next,
    pub to: u32,
    pub why: Failure,
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
pub struct Diffstat {
    pub files: Vec<ChangedFile>,
    pub files_left_out: u64,
    pub added: u64,
    pub removed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedFile {
    pub path: String,
    pub added: u64,
    pub removed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Drift {
    pub base: Option<String>,
    pub files: Vec<String>,
    pub files_left_out: u64,
    pub lines: Option<u64>,
    pub put_back: Vec<String>,
    pub by_check: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkerLost {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub processes_ended: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckStarted {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub check_id: String,
    pub prompt: Blob,
    pub limit: u64,
    pub moved_aside: Option<Blob>,
    pub templates: Vec<String>,
    pub call: Option<Call>,
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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Report {
    pub summary: String,
    pub details: Vec<String>,
    pub severity: Severity,
    pub suggested_action: String,
    pub root_cause: String,
    pub related_files: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Severity {
    Info,
    Warning,
    Error,
    Critical,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ValidatorOutcome {
    Pass,
    Fail,
    CouldNotRun(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Param {
    pub name: String,
    /// Any value, as JSON.
    pub json: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AnswerSeen {
    pub value: Option<String>,
    pub from: Option<AnswerOrigin>,
    pub refused: Vec<Refused>,
    pub violations: Vec<Violation>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    pub from: AnswerOrigin,
    pub line: u32,
    pub reason: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnswerOrigin {
    StructuredOutput,
    DecisionFile,
    Message(u32),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Violation {
    pub path: String,
    pub keyword: String,
    pub schema_path: String,
    pub message: String,
    /// Each as JSON.
    pub allowed: Vec<String>,
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
}

/// [`unstuck_core::evidence::Failure`].
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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Location {
    pub file: String,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureSource {
    Text,
    Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Confidence {
    Low,
    Medium,
    High,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tests {
    pub passed: u64,
    pub failed: u64,
    pub skipped: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listed {
    pub failed: Vec<TestName>,
    pub ran: Vec<TestName>,
    pub gone: Vec<TestName>,
    pub naming: Vec<Naming>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Naming {
    pub tool: String,
    pub passed: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestName {
    pub tool: String,
    pub name: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckLost {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub processes_ended: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LogRepaired {
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SnapshotTaken {
    pub snapshot: Snapshot,
    pub moment: SnapshotMoment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SnapshotMoment {
    Ended,
    Resumed,
    BeforeUndo,
    Undone(u64),
    Abandoned,
}

// ---- conclusions ----

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WorkRequested {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub stage: u32,
    pub purpose: Purpose,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Purpose {
    Work,
    Diagnosis,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckRequested {
    pub step: String,
    pub iteration: u32,
    pub attempt: u32,
    pub what: Inquiry,
    pub claim: Option<Claimed>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Inquiry {
    Check,
    Preflight,
    Conditions,
    Closer,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claimed {
    pub check_id: Option<String>,
    pub source: Source,
    pub reasons: Vec<String>,
    pub problems: Vec<String>,
    pub evidence: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitRequested {
    pub step: String,
    pub until: u64,
    pub then: Next,
    pub why: WaitReason,
    pub detail: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct VerdictReached {
    pub step: String,
    pub iteration: u32,
    pub check_id: Option<String>,
    pub check_id_match: Option<bool>,
    pub decision: Decision,
    pub claimed: Option<Decision>,
    pub source: Source,
    pub reasons: Vec<String>,
    pub fingerprints: Vec<String>,
    pub problems: Vec<String>,
    pub parse_failures: u32,
    pub evidence: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageRaised {
    pub step: String,
    pub iteration: u32,
    pub from: u32,
    pub to: u32,
    pub cause: StallCause,
    pub key: Option<Digest>,
    pub count: u32,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepEnded {
    pub step: String,
    pub end: StepEnd,
    pub evidence: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunStopping {
    pub why: RunOutcome,
    pub evidence: Vec<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RunEnded {
    pub outcome: RunOutcome,
    pub step: Option<String>,
    pub incomplete_steps: Vec<String>,
    pub evidence: Vec<u64>,
}

// ---- parts ----

/// In bincode 32 bytes, in JSON 64 hexadecimal digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Digest(pub [u8; 32]);

/// In bincode a length and the bytes; in JSON `{"text":".."}`, or `{"hex":".."}` where they are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Blob {
    pub digest: Digest,
    pub size: u64,
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
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Standing {
    pub branch: Option<String>,
    pub commit: Option<String>,
    pub stash: Option<String>,
    pub elsewhere: Vec<Checkout>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Checkout {
    pub name: String,
    pub commit: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftOut {
    pub reason: String,
    pub count: u64,
    pub examples: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    pub exit: Exit,
    pub duration: u64,
    pub answer: String,
    pub stderr_tail: String,
    pub stdout: Option<Blob>,
    pub stderr: Option<Blob>,
    pub processes_ended: u32,
    pub redactions: u32,
    pub notes: Vec<String>,
    pub fatal: Option<String>,
    pub reading: Option<Reading>,
    pub resets_at: Option<u64>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Exit {
    Code(i32),
    Signal(i32),
    TimedOut,
    Stopped,
    CouldNotStart(String),
    Child(ChildEnd),
    Idle,
    Asks(String),
    Settled,
    Hopeless,
    Flooded,
    Probed(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChildEnd {
    pub run: String,
    pub end: RunOutcome,
    pub spent: Spent,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spent {
    pub calls: u64,
    pub reported: Sum,
    pub derived: Sum,
    pub tokens: Tokens,
    pub tokens_unknown: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sum {
    pub micro_usd: u64,
    pub calls: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DecisionFile {
    NotConfigured,
    Refused(Refusal),
    Read(Bytes),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    Missing,
    Empty,
    TooLarge,
    NotRegular,
    OutsideWorkspace,
    Unreadable,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Next {
    Work,
    Check,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WaitReason {
    Retry(ErrorClass),
    Weather(ErrorClass),
    CheckRetry(ErrorClass),
    ExternalJob,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ErrorClass {
    RetryableTransient,
    RetryableNetwork,
    RetryableService,
    RetryableRateLimit,
    NonRetryable,
    NonRetryableLint,
    NonRetryableTest,
    Fatal,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Complete,
    Incomplete,
    Blocked,
    Waiting,
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    ExitCode,
    FileJson,
    FileText,
    OutputJson,
    Marker,
    None,
    Answer,
    Validators,
    Closer,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StallCause {
    SameFailures,
    Cycle(u32),
    PersistentFailure,
    NoReasons,
    NoChange,
    Growing,
    Diverging,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StepEnd {
    Complete,
    Incomplete,
    Skipped(String),
    Blocked(String),
    IterationsExhausted,
    Stuck(StallCause),
    Undecidable(String),
    WorkerFailed(Failure),
    CheckFailed(Failure),
    CheckCouldNotRun(Failure),
    WaitExpired,
    Fatal(String),
    NoBaseline(String),
    ConditionFailed(String),
    AttemptsExhausted(String),
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    pub class: ErrorClass,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RunOutcome {
    Complete,
    NotComplete,
    IterationLimit,
    TimeLimit,
    Stuck,
    Blocked,
    WorkerFailed,
    Interrupted(i32),
    SpendLimit,
}
