//! Turns domain types into stored shapes and back. A field that is added to one side only does not compile.

use std::collections::BTreeMap;

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use unstuck_core::call_report;
use unstuck_core::cost;
use unstuck_core::diffstat;
use unstuck_core::event as domain;
use unstuck_core::evidence;
use unstuck_core::evidence::Fingerprint;
use unstuck_core::id::{self, Attempt, CheckId, Iteration, Millis, RunId, Seq, Stage, StepId, Timestamp};
use unstuck_core::judge::scope;
use unstuck_core::snapshot;
use unstuck_core::workflow;

use super::{v1, v2, v3};

/// A stored part that corresponds to the domain type `D`.
pub(super) trait Wire<D>: Sized {
    fn wire(domain: &D) -> Self;
    fn domain(self) -> D;
}

/// A stored part that is a bare text or number and a newtype in the domain.
macro_rules! plain {
    ($($wire:ty = $domain:ty: $to:expr, $from:expr;)*) => {$(
        impl Wire<$domain> for $wire {
            fn wire(domain: &$domain) -> Self {
                let to: fn(&$domain) -> $wire = $to;
                to(domain)
            }
            fn domain(self) -> $domain {
                let from: fn($wire) -> $domain = $from;
                from(self)
            }
        }
    )*};
}

/// A struct whose fields have the same names on both sides.
macro_rules! record {
    ($($wire:ty = $domain:path { $($field:ident),* $(,)? })*) => {$(
        impl Wire<$domain> for $wire {
            fn wire(domain: &$domain) -> Self {
                Self { $($field: Wire::wire(&domain.$field)),* }
            }
            fn domain(self) -> $domain {
                $domain { $($field: self.$field.domain()),* }
            }
        }
    )*};
}

/// An enum whose variants have the same names on both sides and hold nothing or one thing.
macro_rules! choice {
    ($($wire:ident = $domain:ident::$name:ident { $($variant:ident $(($inner:ident))?),* $(,)? })*) => {$(
        impl Wire<$domain::$name> for v1::$wire {
            fn wire(domain: &$domain::$name) -> Self {
                match domain {
                    $($domain::$name::$variant $(($inner))? => Self::$variant $((Wire::wire($inner)))?),*
                }
            }
            fn domain(self) -> $domain::$name {
                match self {
                    $(Self::$variant $(($inner))? => $domain::$name::$variant $(($inner.domain()))?),*
                }
            }
        }
    )*};
}

plain! {
    String = String: Clone::clone, |text| text;
    String = RunId: |id| id.as_str().to_owned(), RunId::new;
    String = StepId: |id| id.as_str().to_owned(), StepId::new;
    String = CheckId: |id| id.as_str().to_owned(), CheckId::new;
    u32 = u16: |number| u32::from(*number), |number| u16::try_from(number).unwrap_or(u16::MAX);
    bool = bool: |value| *value, |value| value;
    i32 = i32: |value| *value, |value| value;
    i64 = i64: |value| *value, |value| value;
    u32 = u32: |value| *value, |value| value;
    u64 = u64: |value| *value, |value| value;
    u32 = Iteration: |number| number.0, Iteration;
    u32 = Attempt: |number| number.0, Attempt;
    u32 = Stage: |number| number.0, Stage;
    u64 = Seq: |seq| seq.0, Seq;
    u64 = Millis: |millis| millis.0, Millis;
    u64 = Timestamp: |timestamp| timestamp.0, Timestamp;
    String = Fingerprint: |fingerprint| fingerprint.as_str().to_owned(), Fingerprint::from_recorded;
    v1::Digest = id::Digest: |digest| Self(digest.0), |digest| id::Digest(digest.0);
    v1::Bytes = domain::Bytes: |bytes| Self(bytes.0.clone()), |bytes| domain::Bytes(bytes.0);
}

impl<D, W: Wire<D>> Wire<Option<D>> for Option<W> {
    fn wire(domain: &Option<D>) -> Self {
        domain.as_ref().map(W::wire)
    }
    fn domain(self) -> Option<D> {
        self.map(W::domain)
    }
}

impl<D, W: Wire<D>> Wire<Box<D>> for W {
    fn wire(domain: &Box<D>) -> Self {
        W::wire(&**domain)
    }
    fn domain(self) -> Box<D> {
        Box::new(W::domain(self))
    }
}

impl Wire<BTreeMap<String, String>> for Vec<v1::Checkout> {
    fn wire(domain: &BTreeMap<String, String>) -> Self {
        let checkout =
            |(name, commit): (&String, &String)| v1::Checkout { name: name.clone(), commit: commit.clone() };
        domain.iter().map(checkout).collect()
    }
    fn domain(self) -> BTreeMap<String, String> {
        self.into_iter().map(|checkout| (checkout.name, checkout.commit)).collect()
    }
}

/// A value is kept as JSON; what is none is taken for a text.
impl Wire<Value> for String {
    fn wire(domain: &Value) -> Self {
        domain.to_string()
    }
    fn domain(self) -> Value {
        serde_json::from_str(&self).unwrap_or(Value::String(self))
    }
}

impl Wire<BTreeMap<String, Value>> for Vec<v1::Param> {
    fn wire(domain: &BTreeMap<String, Value>) -> Self {
        domain.iter().map(|(name, value)| v1::Param { name: name.clone(), json: Wire::wire(value) }).collect()
    }
    fn domain(self) -> BTreeMap<String, Value> {
        self.into_iter().map(|param| (param.name, param.json.domain())).collect()
    }
}

impl<D, W: Wire<D>> Wire<Vec<D>> for Vec<W> {
    fn wire(domain: &Vec<D>) -> Self {
        domain.iter().map(W::wire).collect()
    }
    fn domain(self) -> Vec<D> {
        self.into_iter().map(W::domain).collect()
    }
}

record! {
    v1::Blob = id::Blob { digest, size }
    v1::Parent = domain::Parent { run, step, iteration }
    v2::ForkPoint = domain::ForkPoint { run, event }
    v1::Budget = workflow::Budget { micro_usd, tokens, accepts_unknown }
    v1::RunInterrupted = domain::RunInterrupted { signal }
    v1::AnswerGiven = domain::AnswerGiven { text, steps }
    v3::WorkerStarted = domain::WorkerStarted { step, iteration, attempt, prompt, limit, check_id, moved_aside, templates, snapshot, call, registry }
    v3::RegistryText = domain::RegistryText { task, findings }
    v3::WorkerFinished = domain::WorkerFinished { step, iteration, attempt, outcome, decision_file, changed, snapshot, drift, diffstat, answer, wants_repeat }
    v1::Diffstat = diffstat::Diffstat { files, files_left_out, added, removed }
    v1::ChangedFile = diffstat::ChangedFile { path, added, removed }
    v1::Call = domain::Call { client, session, continues, argv }
    v1::WorkerProgressed = domain::WorkerProgressed { step, iteration, attempt, progress }
    v1::Progress = call_report::Progress {
        session, model, text, doing, counts, files, usage, at_least, cost, earlier, retrying,
    }
    v1::Retrying = call_report::ClientRetry { trouble, attempt, most, delay }
    v1::Reading = call_report::CallReport {
        client, end, trouble, message, http_status, retry_after, resets, session, model, structured, usage, at_least, cost, earlier,
        counts, files,
    }
    v1::Usage = call_report::Usage { input, cached, cache_write, output, reasoning, scope }
    v1::Cost = call_report::Cost { micro_usd, scope }
    v1::Earlier = call_report::PriorUsage { usage, micro_usd }
    v1::Counts = call_report::ToolCounts { tools, tools_failed, retries, denied, unparsed }
    v1::FallbackTaken = domain::FallbackTaken { step, what, to, why }
    v1::Drift = scope::StepChanges { base, files, files_left_out, lines, put_back, by_check }
    v1::WorkerLost = domain::AttemptLost { step, iteration, attempt, processes_ended }
    v1::CheckStarted = domain::CheckStarted { step, iteration, attempt, check_id, prompt, limit, moved_aside, templates, call }
    v2::CheckFinished = domain::CheckFinished {
        step, iteration, attempt, check_id, outcome, decision_file, commands, drift, validators, snapshot, stamp, answer,
        unsettled_after, changed,
    }
    v2::ValidatorResult = evidence::ValidatorResult {
        validator, outcome, exit, duration, stdout, stderr, stdout_end, stderr_end, error, report, params, failures,
        unparsed, cached, numbers,
    }
    v1::Report = evidence::FailureReport { summary, details, severity, suggested_action, root_cause, related_files }
    v1::AnswerSeen = evidence::ParsedAnswer { value, from, refused, violations }
    v1::Refused = evidence::RejectedCandidate { from, line, reason }
    v1::Violation = evidence::SchemaViolation { path, keyword, schema_path, message, allowed }
    v2::CommandResult = evidence::CommandResult {
        run, exit, duration, stdout, stderr, reports, tail, tool, failures, failures_left_out, flaky, confidence, tests,
        listed, observations, numbers,
    }
    v2::Failed = evidence::Failure { fingerprint, exact, tool, test, location, kind, message, source, places, remaining }
    v2::NumberLine = evidence::NumberLine { frame, numbers }
    v2::Number = evidence::Number { value, bound }
    v1::Location = evidence::Location { file, line }
    v1::Tests = evidence::Tests { passed, failed, skipped }
    v1::Listed = evidence::RecordedTestNames { failed, ran, gone, naming }
    v1::Naming = evidence::ReporterNaming { tool, passed }
    v1::TestName = evidence::TestName { tool, name }
    v1::CheckLost = domain::AttemptLost { step, iteration, attempt, processes_ended }
    v1::LogRepaired = domain::LogRepaired { what }
    v1::Suspended = domain::MachineSuspended { length }
    v2::SnapshotTaken = domain::SnapshotTaken { snapshot, moment }
    v2::Snapshot = snapshot::Snapshot { id, work, files, bytes, repository, left_out, notes, open_boxes }
    v1::Standing = snapshot::RepositoryState { branch, commit, stash, elsewhere }
    v1::LeftOut = snapshot::Exclusion { reason, count, examples }
    v1::Outcome = domain::Outcome {
        exit, duration, answer, stderr_tail, stdout, stderr, processes_ended, redactions, notes, fatal, reading,
        resets_at,
    }
    v1::ChildEnd = domain::ChildEnd { run, end, spent }
    v1::Spent = cost::Spend { calls, reported, derived, tokens, tokens_unknown }
    v1::Sum = cost::CostTotal { micro_usd, calls }
    v1::Tokens = cost::Tokens { input, cached, cache_write, output, reasoning }
    v1::WorkRequested = domain::WorkRequested { step, iteration, attempt, stage, purpose }
    v1::CheckRequested = domain::CheckRequested { step, iteration, attempt, what, claim }
    v1::Claimed = domain::PendingClaim { check_id, source, reasons, problems, evidence }
    v1::WaitRequested = domain::WaitRequested { step, until, then, why, detail }
    v1::VerdictReached = domain::VerdictReached {
        step, iteration, check_id, check_id_match, decision, claimed, source, reasons, fingerprints, problems, parse_failures, evidence,
    }
    v1::StageRaised = domain::StageRaised { step, iteration, from, to, cause, key, count }
    v1::StepEnded = domain::StepEnded { step, end, evidence }
    v1::Failure = domain::ProcessFailure { class, message }
    v1::RunStopping = domain::RunStopping { why, evidence }
    v1::RunEnded = domain::RunEnded { outcome, step, incomplete_steps, evidence }
}

choice! {
    Exit = domain::Exit { Code(it), Signal(it), TimedOut, Stopped, CouldNotStart(it), Child(it), Idle, Asks(it), Settled, Hopeless, Flooded, Probed(it) }
    CallEnd = call_report::CallEnd { Done, Failed, Stopped }
    Trouble = call_report::CallError {
        RateLimit, Overloaded, Server, Network, Auth, Credit, ContextOverflow, BadRequest, TurnLimit, BudgetLimit,
        NoSession, Config, Crashed, NoEnd, EmptyAnswer, Interrupted, Unknown,
    }
    Scope = call_report::UsagePeriod { Call, Session }
    DecisionFile = domain::DecisionFile { NotConfigured, Refused(it), Read(it) }
    Refusal = evidence::Refusal { Missing, Empty, TooLarge, NotRegular, OutsideWorkspace, Unreadable }
    Next = domain::TurnKind { Work, Check }
    Purpose = domain::Purpose { Work, Diagnosis }
    SnapshotMoment = domain::SnapshotMoment { Ended, Resumed, BeforeUndo, Undone(it), Abandoned }
    WaitReason = domain::WaitReason { Retry(it), Weather(it), CheckRetry(it), ExternalJob }
    ErrorClass = domain::ErrorClass {
        RetryableTransient, RetryableNetwork, RetryableService, RetryableRateLimit,
        NonRetryable, NonRetryableLint, NonRetryableTest, Fatal,
    }
    Decision = evidence::Decision { Complete, Incomplete, Blocked, Waiting, None }
    Source = domain::DecisionSource { ExitCode, FileJson, FileText, OutputJson, Marker, None, Answer, Validators, Closer }
    Inquiry = domain::Inquiry { Check, Preflight, Conditions, Closer }
    AnswerOrigin = evidence::AnswerSource { StructuredOutput, DecisionFile, Message(it) }
    Severity = evidence::Severity { Info, Warning, Error, Critical }
    ValidatorOutcome = evidence::ValidatorOutcome { Pass, Fail, CouldNotRun(it) }
    FailureSource = evidence::FailureSource { Text, Report }
    Confidence = evidence::Confidence { Low, Medium, High }
    StallCause = domain::StallCause { SameFailures, Cycle(it), PersistentFailure, NoReasons, NoChange, Growing, Diverging }
    StepEnd = domain::StepEnd {
        Complete, Incomplete, Skipped(it), Blocked(it), IterationsExhausted, Stuck(it), Undecidable(it),
        WorkerFailed(it), CheckFailed(it), CheckCouldNotRun(it), WaitExpired, Fatal(it), NoBaseline(it),
        ConditionFailed(it), AttemptsExhausted(it),
    }
    RunOutcome = domain::RunOutcome {
        Complete, NotComplete, IterationLimit, TimeLimit, Stuck, Blocked, WorkerFailed, Interrupted(it), SpendLimit,
    }
}

/// Says why a stored text is not what its field promises.
pub(super) type Invalid = String;

fn json_of(value: &impl Serialize) -> Result<String, Invalid> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

fn of_json<T: DeserializeOwned>(field: &str, json: &str) -> Result<T, Invalid> {
    serde_json::from_str(json).map_err(|error| format!("{field}: {error}"))
}

impl v2::RunResumed {
    pub(super) fn from_domain(it: &domain::RunResumed) -> Result<Self, Invalid> {
        Ok(Self {
            add_iterations: Wire::wire(&it.add_iterations),
            add_time: Wire::wire(&it.add_time),
            renews_time: Wire::wire(&it.renews_time),
            add_micro_usd: Wire::wire(&it.add_micro_usd),
            add_tokens: Wire::wire(&it.add_tokens),
            accept_unknown_cost: Wire::wire(&it.accept_unknown_cost),
            allowance: Wire::wire(&it.allowance),
            hint: Wire::wire(&it.hint),
            worker_json: it.worker.as_ref().map(json_of).transpose()?,
            workflow_digest: Wire::wire(&it.workflow_digest),
            program: Wire::wire(&it.program),
            secrets: Wire::wire(&it.secrets),
            workflow_json: it.change.as_ref().map(|change| json_of(&change.workflow)).transpose()?,
            changes: it.change.as_ref().map(|change| change.made.clone()).unwrap_or_default(),
            change_digest: it.change.as_ref().and_then(|change| Wire::wire(&change.digest)),
            workspace: Wire::wire(&it.workspace),
        })
    }

    pub(super) fn into_domain(self) -> Result<domain::RunResumed, Invalid> {
        let worker = self.worker_json.map(|json| of_json("worker_json", &json));
        let workflow = self.workflow_json.map(|json| of_json("workflow_json", &json)).transpose()?;
        let (made, digest) = (self.changes, self.change_digest.domain());
        let changed = |workflow| domain::WorkflowChange { workflow, made, digest };
        Ok(domain::RunResumed {
            add_iterations: self.add_iterations.domain(),
            add_time: self.add_time.domain(),
            renews_time: self.renews_time.domain(),
            add_micro_usd: self.add_micro_usd.domain(),
            add_tokens: self.add_tokens.domain(),
            accept_unknown_cost: self.accept_unknown_cost.domain(),
            allowance: self.allowance.domain(),
            hint: self.hint.domain(),
            worker: worker.transpose()?,
            workflow_digest: self.workflow_digest.domain(),
            program: self.program.domain(),
            secrets: self.secrets.domain(),
            change: workflow.map(changed).map(Box::new),
            workspace: self.workspace.domain(),
        })
    }
}

impl v2::RunStarted {
    pub(super) fn from_domain(it: &domain::RunStarted) -> Result<Self, Invalid> {
        Ok(Self {
            run: Wire::wire(&it.run),
            workflow_json: json_of(&it.workflow)?,
            workflow_digest: Wire::wire(&it.workflow_digest),
            workflow_file: Wire::wire(&it.workflow_file),
            workspace: Wire::wire(&it.workspace),
            parent: Wire::wire(&it.parent),
            program: Wire::wire(&it.program),
            warnings: Wire::wire(&it.warnings),
            secrets: Wire::wire(&it.secrets),
            forked_from: Wire::wire(&it.forked_from),
        })
    }

    pub(super) fn into_domain(self) -> Result<domain::RunStarted, Invalid> {
        Ok(domain::RunStarted {
            run: self.run.domain(),
            workflow: of_json("workflow_json", &self.workflow_json)?,
            workflow_digest: self.workflow_digest.domain(),
            workflow_file: self.workflow_file.domain(),
            workspace: self.workspace.domain(),
            parent: self.parent.domain(),
            program: self.program.domain(),
            warnings: self.warnings.domain(),
            secrets: self.secrets.domain(),
            forked_from: self.forked_from.domain(),
        })
    }
}
