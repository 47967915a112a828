//! Facts to store: one of every type, with every variant of every enum somewhere among them.

use unstuck_core::call_report::{
    CallEnd, CallError, CallReport, ClientRetry, Cost, PriorUsage, Progress, ToolCounts, Usage, UsagePeriod,
};
use unstuck_core::cost::{CostTotal, Spend, Tokens};
use unstuck_core::diffstat::{ChangedFile, Diffstat};
use unstuck_core::event::{
    AnswerGiven, AttemptLost, Bytes, Call, CheckFinished, CheckRequested, CheckStarted, ChildEnd, Conclusion,
    DecisionFile, DecisionSource, ErrorClass, Event, Exit, Fact, FallbackTaken, ForkPoint, Inquiry,
    LogRepaired, MachineSuspended, Observation, Outcome, Parent, PendingClaim, ProcessFailure, Purpose,
    RegistryText, RunEnded, RunInterrupted, RunOutcome, RunResumed, RunStarted, RunStopping, SnapshotMoment,
    SnapshotTaken, StageRaised, StallCause, StepEnd, StepEnded, TurnKind, VerdictReached, WaitReason,
    WaitRequested, WorkRequested, WorkerFinished, WorkerProgressed, WorkerStarted, WorkflowChange,
};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::{AnswerSource, ParsedAnswer, RejectedCandidate, SchemaViolation};
use unstuck_core::evidence::{
    Confidence, Failure as Failed, FailureSubject, Number, NumberLine, RecordedTestNames, Tests,
};
use unstuck_core::evidence::{Decision, Refusal};
use unstuck_core::evidence::{FailureReport, Severity, ValidatorOutcome, ValidatorResult};
use unstuck_core::id::{Attempt, Blob, Digest, Iteration, Millis, Seq, Stage, Timestamp};
use unstuck_core::judge::scope::StepChanges;
use unstuck_core::snapshot::{Exclusion, RepositoryState, Snapshot};
use unstuck_core::workflow::{
    BranchRules, Budget, OutagePolicy, Session, Step, StepKind, Worker, WorkerKind, Workflow,
};

/// A moment in November 2026.
pub const AT: u64 = 1_795_000_000_000;

/// Numbers `facts` from `first` on.
pub fn events(first: u64, facts: impl IntoIterator<Item = Fact>) -> Vec<Event> {
    facts
        .into_iter()
        .zip(first..)
        .map(|(fact, seq)| Event { seq: Seq(seq), at: Timestamp(AT + seq), fact })
        .collect()
}

/// A short fact.
pub fn answer(text: &str) -> Fact {
    Observation::AnswerGiven(AnswerGiven { text: text.to_owned(), steps: Vec::new() }).into()
}

/// A workflow of one step.
pub fn workflow() -> Workflow {
    let worker = Worker {
        model: Some("any".to_owned()),
        default_args: vec!["--verbose".to_owned()],
        max_steps: Some(40),
        ..Worker::new(WorkerKind::ClaudeCode, "Make the tests pass.\n\"Quoted\" and \u{1F600}.")
    };
    let step = Step {
        id: "fix".into(),
        description: None,
        work: StepKind::Worker(worker),
        depends_on: Vec::new(),
        inputs: Vec::new(),
        outputs: Vec::new(),
        timeout: Workflow::DEFAULT_STEP_TIMEOUT,
        idle_timeout: Workflow::DEFAULT_IDLE_TIMEOUT,
        max_retries: 2,
        on_failure: Default::default(),
        check: None,
        max_iterations: 1,
        on_exhausted: Default::default(),
        convergence: None,
        require_change: false,
        prompt_template: None,
        session: Session::Fresh,
        probe: None,
        completion: None,
    };
    Workflow {
        name: "fix the tests".to_owned(),
        description: Some("until they pass".to_owned()),
        timeout: Workflow::DEFAULT_TIMEOUT,
        concurrency: Some(2),
        context_dir: ".unstuck".to_owned(),
        on_outage: OutagePolicy::Wait,
        outage_budget: Workflow::DEFAULT_OUTAGE_BUDGET,
        budget: Budget::default(),
        prices: None,
        notify: None,
        branch: BranchRules::default(),
        steps: vec![step],
    }
}

/// The run that [`run_started`] names.
pub const RUN: &str = "0123456789ab";

/// The start of the run.
pub fn run_started() -> Fact {
    Observation::RunStarted(Box::new(RunStarted {
        run: RUN.into(),
        workflow: workflow(),
        workflow_digest: Some(Digest::sha256(b"workflow")),
        workflow_file: Some("fix.yaml".to_owned()),
        workspace: "/home/me/project".to_owned(),
        parent: Some(Parent { run: "ba9876543210".into(), step: "all".into(), iteration: Iteration(3) }),
        program: "0.1.0".to_owned(),
        warnings: vec!["`timeout` is not set: 4 h".to_owned()],
        secrets: vec!["MY_PASS".to_owned()],
        forked_from: None,
    }))
    .into()
}

/// A blob with this content, which is not stored.
pub fn blob(text: &str) -> Blob {
    Blob { digest: Digest::sha256(text.as_bytes()), size: text.len() as u64 }
}

/// An outcome with every field set.
pub fn outcome(exit: Exit, answer: &str) -> Outcome {
    Outcome {
        exit,
        duration: Millis(61_234),
        answer: answer.to_owned(),
        stderr_tail: "warning: unused variable\n".to_owned(),
        stdout: Some(blob("stdout")),
        stderr: None,
        processes_ended: 1,
        redactions: 2,
        notes: vec!["output `report` is missing".to_owned()],
        fatal: None,
        reading: Some(Box::new(reading(Some(CallError::RateLimit), CallEnd::Failed))),
        resets_at: Some(Timestamp(1_795_300_000_000)),
    }
}

fn reading(trouble: Option<CallError>, end: CallEnd) -> CallReport {
    CallReport {
        client: "claude".to_owned(),
        end,
        trouble,
        message: "You've hit your limit · resets 1pm (Asia/Seoul)".to_owned(),
        http_status: Some(429),
        retry_after: Some(Millis(60_000)),
        resets: Some("1pm (Asia/Seoul)".to_owned()),
        session: Some("018f-session".to_owned()),
        model: Some("model-1".to_owned()),
        structured: Some("{\"status\":\"done\"}".to_owned()),
        usage: Some(usage()),
        at_least: Some(usage().into()),
        cost: Some(Cost { micro_usd: 310_000, scope: UsagePeriod::Call }),
        earlier: PriorUsage { usage: Some(usage()), micro_usd: Some(90_000) },
        counts: counts(),
        files: vec!["src/a.rs".to_owned()],
    }
}

fn usage() -> Usage {
    Usage {
        input: 700,
        cached: 2100,
        cache_write: 50,
        output: 65,
        reasoning: 12,
        scope: UsagePeriod::Session,
    }
}

fn spent() -> Spend {
    Spend {
        calls: 4,
        reported: CostTotal { micro_usd: 1_210_000, calls: 2 },
        derived: CostTotal { micro_usd: 400_000, calls: 1 },
        tokens: Tokens { input: 10, cached: 20, cache_write: 4, output: 2, reasoning: 1 },
        tokens_unknown: 1,
    }
}

fn counts() -> ToolCounts {
    ToolCounts { tools: 5, tools_failed: 1, retries: 2, denied: 3, unparsed: 4 }
}

fn call() -> Option<Box<Call>> {
    Some(Box::new(Call {
        client: "claude".to_owned(),
        session: Some("018f-session".to_owned()),
        continues: true,
        argv: vec!["claude".to_owned(), "-p".to_owned()],
    }))
}

fn progressed(trouble: CallError) -> Observation {
    let retrying = ClientRetry { trouble, attempt: 1, most: Some(10), delay: Some(Millis(2000)) };
    Observation::WorkerProgressed(WorkerProgressed {
        step: "fix".into(),
        iteration: Iteration(1),
        attempt: Attempt(1),
        progress: Box::new(Progress {
            session: Some("018f-session".to_owned()),
            model: Some("model-1".to_owned()),
            text: "I look at it.".to_owned(),
            doing: "Bash: cargo test".to_owned(),
            counts: counts(),
            files: vec!["src/a.rs".to_owned()],
            usage: Some(usage()),
            at_least: Some(usage().into()),
            cost: Some(Cost { micro_usd: 310_000, scope: UsagePeriod::Session }),
            earlier: PriorUsage { usage: Some(usage()), micro_usd: Some(90_000) },
            retrying: Some(retrying),
        }),
    })
}

fn worker_finished(exit: Exit, decision_file: DecisionFile) -> Observation {
    Observation::WorkerFinished(WorkerFinished {
        step: "fix".into(),
        iteration: Iteration(2),
        attempt: Attempt(1),
        outcome: outcome(exit, "done: 14 passed, 0 failed"),
        decision_file,
        changed: Some(true),
        snapshot: None,
        drift: Some(Box::new(StepChanges {
            files: vec!["src/a.rs".to_owned()],
            lines: Some(3),
            by_check: vec!["report.xml".to_owned()],
            ..StepChanges::default()
        })),
        diffstat: Some(Box::new(Diffstat::from_files(vec![ChangedFile {
            path: "src/a.rs".to_owned(),
            added: 2,
            removed: 1,
        }]))),
        answer: Some(Box::new(answer_seen())),
        wants_repeat: false,
    })
}

fn snapshot() -> Snapshot {
    let standing = RepositoryState {
        branch: Some("work".to_owned()),
        commit: Some("1f0c".to_owned()),
        stash: None,
        elsewhere: [(String::new(), "2e1d".to_owned())].into(),
    };
    let left_out =
        Exclusion { reason: "ignored and full".to_owned(), count: 1, examples: vec!["target".to_owned()] };
    Snapshot {
        id: Digest::sha256(b"all"),
        work: Digest::sha256(b"work"),
        files: 12,
        bytes: 3456,
        repository: Some(standing),
        left_out: vec![left_out],
        notes: vec!["the history of .git is not kept".to_owned()],
        open_boxes: None,
    }
}

fn lost() -> AttemptLost {
    AttemptLost { step: "fix".into(), iteration: Iteration(2), attempt: Attempt(3), processes_ended: 4 }
}

/// Every observation, at least once.
pub fn observations() -> Vec<Observation> {
    let mut all = vec![
        Observation::RunResumed(RunResumed {
            add_iterations: 5,
            add_time: Millis(3_600_000),
            renews_time: true,
            add_micro_usd: 2_500_000,
            add_tokens: 1_000_000,
            accept_unknown_cost: true,
            allowance: Some(Budget { micro_usd: Some(4_000_000), tokens: None, accepts_unknown: false }),
            hint: Some("look at line 12".to_owned()),
            worker: Some(Box::new(Worker::new(WorkerKind::Custom, "true"))),
            workflow_digest: None,
            program: "0.1.0".to_owned(),
            secrets: vec!["OTHER".to_owned()],
            change: None,
            workspace: None,
        }),
        Observation::RunInterrupted(RunInterrupted { signal: 15 }),
        Observation::AnswerGiven(AnswerGiven {
            text: "use port 8080".to_owned(),
            steps: vec!["review".into()],
        }),
        Observation::DeadlinePassed,
        Observation::WorkerStarted(WorkerStarted {
            step: "fix".into(),
            iteration: Iteration(1),
            attempt: Attempt(1),
            prompt: blob("prompt"),
            limit: Millis(600_000),
            check_id: Some("018f-check".into()),
            moved_aside: Some(blob("old verdict")),
            templates: vec!["retry/issue/f_failed.md".to_owned()],
            snapshot: Some(Box::new(snapshot())),
            call: call(),
            registry: None,
        }),
        Observation::WorkerLost(lost()),
        Observation::CheckStarted(CheckStarted {
            step: "fix".into(),
            iteration: Iteration(1),
            attempt: Attempt(2),
            check_id: "018f-check".into(),
            prompt: blob("check prompt"),
            limit: Millis(60_000),
            moved_aside: None,
            templates: Vec::new(),
            call: call(),
        }),
        Observation::CheckLost(lost()),
        Observation::Kicked,
        Observation::Suspended(MachineSuspended { length: Millis(7_200_000) }),
        Observation::LogRepaired(LogRepaired { what: "events 4 to 6 were restored".to_owned() }),
    ];
    let troubles = [
        CallError::RateLimit,
        CallError::Overloaded,
        CallError::Server,
        CallError::Network,
        CallError::Auth,
        CallError::Credit,
        CallError::ContextOverflow,
        CallError::BadRequest,
        CallError::TurnLimit,
        CallError::BudgetLimit,
        CallError::NoSession,
        CallError::Config,
        CallError::Crashed,
        CallError::NoEnd,
        CallError::EmptyAnswer,
        CallError::Interrupted,
        CallError::Unknown,
    ];
    all.extend(troubles.map(progressed));
    let moments = [
        SnapshotMoment::Ended,
        SnapshotMoment::Resumed,
        SnapshotMoment::BeforeUndo,
        SnapshotMoment::Undone(Seq(7)),
        SnapshotMoment::Abandoned,
    ];
    let taken = |moment| Observation::SnapshotTaken(SnapshotTaken { snapshot: Box::new(snapshot()), moment });
    all.extend(moments.into_iter().map(taken));
    let child = ChildEnd { run: "ba9876543210".into(), end: RunOutcome::Stuck, spent: spent() };
    let exits = [
        Exit::Code(0),
        Exit::Signal(9),
        Exit::TimedOut,
        Exit::Stopped,
        Exit::CouldNotStart("no such file".to_owned()),
        Exit::Child(child),
        Exit::Idle,
        Exit::Probed("stalled".to_owned()),
        Exit::Asks("Overwrite? [y/N]".to_owned()),
        Exit::Settled,
        Exit::Hopeless,
        Exit::Flooded,
    ];
    all.extend(exits.into_iter().map(|exit| worker_finished(exit, DecisionFile::NotConfigured)));
    let refusals = [
        Refusal::Missing,
        Refusal::Empty,
        Refusal::TooLarge,
        Refusal::NotRegular,
        Refusal::OutsideWorkspace,
        Refusal::Unreadable,
    ];
    let mut files: Vec<_> = refusals.into_iter().map(DecisionFile::Refused).collect();
    files.push(DecisionFile::Read(Bytes(b"{\"decision\":\"complete\"}".to_vec())));
    files.push(DecisionFile::Read(Bytes(vec![0, 255, 10])));
    all.extend(files.into_iter().map(|decision_file| {
        Observation::CheckFinished(CheckFinished {
            step: "fix".into(),
            iteration: Iteration(1),
            attempt: Attempt(2),
            check_id: "018f-check".into(),
            outcome: outcome(Exit::Code(1), "not yet"),
            decision_file,
            commands: Vec::new(),
            drift: None,
            validators: validators(),
            snapshot: Some(Box::new(snapshot())),
            stamp: Some(Digest::sha256(b"all")),
            answer: Some(Box::new(answer_seen())),
            unsettled_after: Some(3),
            changed: vec!["Cargo.lock".to_owned()],
        })
    }));
    all
}

fn answer_seen() -> ParsedAnswer {
    ParsedAnswer {
        value: Some(r#"{"status":"completed"}"#.to_owned()),
        from: Some(AnswerSource::Message(2)),
        refused: vec![RejectedCandidate {
            from: AnswerSource::DecisionFile,
            line: 1,
            reason: "no JSON".to_owned(),
        }],
        violations: vec![SchemaViolation {
            path: "/status".to_owned(),
            keyword: "enum".to_owned(),
            schema_path: "/properties/status/enum".to_owned(),
            message: "\"perhaps\" is not allowed".to_owned(),
            allowed: vec!["completed".into()],
        }],
    }
}

fn report(severity: Severity) -> FailureReport {
    FailureReport {
        summary: "1 file is not committed".to_owned(),
        details: vec!["a.rs: untracked".to_owned()],
        severity,
        suggested_action: "Commit it.".to_owned(),
        root_cause: String::new(),
        related_files: vec!["a.rs".to_owned()],
    }
}

fn validators() -> Vec<ValidatorResult> {
    let outcomes = [
        ValidatorOutcome::Pass,
        ValidatorOutcome::Fail,
        ValidatorOutcome::CouldNotRun("there is no program cargoo".to_owned()),
    ];
    let result = |(outcome, severity)| ValidatorResult {
        validator: "git-clean".to_owned(),
        outcome,
        exit: Exit::Code(0),
        duration: Millis(12),
        stdout: Some(blob("?? a.rs")),
        stderr: None,
        stdout_end: "?? a.rs".to_owned(),
        stderr_end: "warning: none".to_owned(),
        error: "?? a.rs".to_owned(),
        report: report(severity),
        params: [("changedFiles".to_owned(), serde_json::json!(["a.rs", {"line": 3}]))].into(),
        failures: Vec::new(),
        unparsed: false,
        cached: false,
        numbers: Vec::new(),
    };
    let severities = [Severity::Info, Severity::Warning, Severity::Error, Severity::Critical];
    outcomes.into_iter().cycle().zip(severities).map(result).collect()
}

fn failure(class: ErrorClass) -> ProcessFailure {
    ProcessFailure { class, message: "exit code 1: connection refused".to_owned() }
}

/// Every conclusion, at least once, with every variant that one can hold.
pub fn conclusions() -> Vec<Conclusion> {
    let mut all = vec![
        Conclusion::WorkRequested(WorkRequested {
            step: "fix".into(),
            iteration: Iteration(1),
            attempt: Attempt(1),
            stage: Stage(2),
            purpose: Purpose::Work,
        }),
        Conclusion::WorkRequested(WorkRequested {
            step: "fix".into(),
            iteration: Iteration(4),
            attempt: Attempt(2),
            stage: Stage(3),
            purpose: Purpose::Diagnosis,
        }),
        Conclusion::CheckRequested(CheckRequested {
            step: "fix".into(),
            iteration: Iteration(1),
            attempt: Attempt(1),
            what: Inquiry::Check,
            claim: None,
        }),
    ];
    let claim = PendingClaim {
        check_id: Some("018f-check".into()),
        source: DecisionSource::Answer,
        reasons: vec!["all done".to_owned()],
        problems: Vec::new(),
        evidence: vec![Seq(3), Seq(4)],
    };
    all.extend([Inquiry::Preflight, Inquiry::Conditions, Inquiry::Closer].map(|what| {
        Conclusion::CheckRequested(CheckRequested {
            step: "fix".into(),
            iteration: Iteration(1),
            attempt: Attempt(2),
            what,
            claim: Some(Box::new(claim.clone())),
        })
    }));
    let classes = [
        ErrorClass::RetryableTransient,
        ErrorClass::RetryableNetwork,
        ErrorClass::RetryableService,
        ErrorClass::RetryableRateLimit,
        ErrorClass::NonRetryable,
        ErrorClass::NonRetryableLint,
        ErrorClass::NonRetryableTest,
        ErrorClass::Fatal,
    ];
    let mut waits: Vec<_> = classes.into_iter().map(WaitReason::Retry).collect();
    waits.extend([
        WaitReason::Weather(ErrorClass::RetryableRateLimit),
        WaitReason::CheckRetry(ErrorClass::RetryableNetwork),
        WaitReason::ExternalJob,
    ]);
    all.extend(waits.into_iter().enumerate().map(|(n, why)| {
        Conclusion::WaitRequested(WaitRequested {
            step: "fix".into(),
            until: Timestamp(AT),
            then: if n % 2 == 0 { TurnKind::Work } else { TurnKind::Check },
            why,
            detail: "HTTP 429".to_owned(),
        })
    }));
    let decisions =
        [Decision::Complete, Decision::Incomplete, Decision::Blocked, Decision::Waiting, Decision::None];
    let sources = [
        DecisionSource::ExitCode,
        DecisionSource::FileJson,
        DecisionSource::FileText,
        DecisionSource::OutputJson,
        DecisionSource::Marker,
        DecisionSource::None,
        DecisionSource::Answer,
        DecisionSource::Validators,
        DecisionSource::Closer,
    ];
    all.extend(sources.into_iter().enumerate().map(|(n, source)| {
        Conclusion::VerdictReached(VerdictReached {
            step: "fix".into(),
            iteration: Iteration(1),
            check_id: Some("018f-check".into()),
            check_id_match: [None, Some(true), Some(false)][n % 3],
            decision: decisions[n % decisions.len()],
            claimed: (n == 1).then_some(Decision::Complete),
            source,
            reasons: vec!["2 of 14 tests fail".to_owned(), "é \u{2028} \"quoted\"".to_owned()],
            fingerprints: vec!["test:a::b".to_owned()],
            problems: Vec::new(),
            parse_failures: 1,
            evidence: vec![Seq(3), Seq(4)],
        })
    }));
    let causes = [
        StallCause::SameFailures,
        StallCause::Cycle(3),
        StallCause::PersistentFailure,
        StallCause::NoReasons,
    ];
    all.extend(causes.into_iter().map(|cause| {
        Conclusion::StageRaised(StageRaised {
            step: "fix".into(),
            iteration: Iteration(4),
            from: Stage(1),
            to: Stage(2),
            cause,
            key: Some(Digest::sha256(b"key")),
            count: 3,
        })
    }));
    let ends = [
        StepEnd::Complete,
        StepEnd::Incomplete,
        StepEnd::Skipped("build".into()),
        StepEnd::Blocked("a key for the service".to_owned()),
        StepEnd::IterationsExhausted,
        StepEnd::Stuck(StallCause::Cycle(2)),
        StepEnd::Undecidable("no JSON".to_owned()),
        StepEnd::WorkerFailed(failure(ErrorClass::Fatal)),
        StepEnd::CheckFailed(failure(ErrorClass::NonRetryableTest)),
        StepEnd::CheckCouldNotRun(failure(ErrorClass::RetryableTransient)),
        StepEnd::WaitExpired,
        StepEnd::Fatal("the branch is not `work`".to_owned()),
        StepEnd::ConditionFailed("git-clean: 1 file is not committed".to_owned()),
        StepEnd::AttemptsExhausted("test:a::b came back in 3 iterations in a row".to_owned()),
    ];
    all.extend(
        ends.into_iter()
            .map(|end| Conclusion::StepEnded(StepEnded { step: "fix".into(), end, evidence: vec![Seq(9)] })),
    );
    all.extend([TurnKind::Work, TurnKind::Check].map(|what| {
        let why = failure(ErrorClass::RetryableRateLimit);
        Conclusion::FallbackTaken(FallbackTaken { step: "fix".into(), what, to: 1, why })
    }));
    let outcomes = [
        RunOutcome::Complete,
        RunOutcome::NotComplete,
        RunOutcome::IterationLimit,
        RunOutcome::TimeLimit,
        RunOutcome::Stuck,
        RunOutcome::Blocked,
        RunOutcome::WorkerFailed,
        RunOutcome::Interrupted(2),
        RunOutcome::SpendLimit,
    ];
    all.extend(outcomes.into_iter().flat_map(|outcome| {
        [
            Conclusion::RunStopping(RunStopping { why: outcome, evidence: vec![Seq(10)] }),
            Conclusion::RunEnded(RunEnded {
                outcome,
                step: Some("fix".into()),
                incomplete_steps: vec!["docs".into()],
                evidence: Vec::new(),
            }),
        ]
    }));
    all
}

/// Facts as version 1 could store them.
pub fn facts_of_v1() -> Vec<Fact> {
    let mut all = vec![run_started()];
    all.extend(observations().into_iter().map(Fact::from));
    all.extend(conclusions().into_iter().map(Fact::from));
    all
}

/// The same facts with what version 2 has in addition.
pub fn facts_of_v2() -> Vec<Fact> {
    let mut all = facts_of_v1();
    let count = |snapshot: &mut Option<Box<Snapshot>>| {
        snapshot.iter_mut().for_each(|snapshot| snapshot.open_boxes = Some(3));
    };
    for fact in &mut all {
        let Fact::Observed(observation) = fact else { continue };
        match observation {
            Observation::RunStarted(e) => {
                e.forked_from = Some(ForkPoint { run: "ca9876543210".into(), event: Seq(48) });
            }
            Observation::RunResumed(e) => {
                let made = vec!["steps.fix.max_iterations=9".to_owned()];
                e.change = Some(Box::new(WorkflowChange {
                    workflow: workflow(),
                    made,
                    digest: Some(Digest::sha256(b"changed")),
                }));
                e.workspace = Some("/moved".to_owned());
            }
            Observation::WorkerStarted(e) => count(&mut e.snapshot),
            Observation::WorkerFinished(e) => count(&mut e.snapshot),
            Observation::SnapshotTaken(e) => e.snapshot.open_boxes = Some(0),
            Observation::CheckFinished(e) => {
                count(&mut e.snapshot);
                e.commands.push(command_result());
                e.validators
                    .iter_mut()
                    .flat_map(|result| &mut result.failures)
                    .for_each(|failure| failure.remaining = Some(7));
            }
            _ => {}
        }
    }
    all
}

/// Every fact of today, at least once: the same facts with what version 3 has in addition.
pub fn facts() -> Vec<Fact> {
    let mut all = facts_of_v2();
    for fact in &mut all {
        match fact {
            Fact::Observed(Observation::WorkerFinished(finished)) => finished.wants_repeat = true,
            Fact::Observed(Observation::WorkerStarted(started)) => {
                let text =
                    RegistryText { task: "Mend it.".to_owned(), findings: "One test fails.".to_owned() };
                started.registry = Some(Box::new(text));
            }
            _ => {}
        }
    }
    all
}

fn command_result() -> CommandResult {
    let numbers =
        vec![Number { value: 3_000_000, bound: Some(12_000_000) }, Number { value: -1, bound: None }];
    let failure = Failed::synthetic(
        "pytest",
        "AssertionError",
        FailureSubject::Item("test_a", "test_a.py"),
        "assert 1 == 2",
    );
    CommandResult {
        run: "pytest".to_owned(),
        exit: Exit::Code(1),
        duration: Millis(12),
        stdout: Some(Blob { digest: Digest::sha256(b"out"), size: 3 }),
        stderr: None,
        reports: Vec::new(),
        tail: "step 3 of 12".to_owned(),
        tool: "pytest".to_owned(),
        failures: vec![Failed { remaining: Some(9), ..failure.clone() }],
        failures_left_out: 1,
        flaky: vec![failure],
        confidence: Confidence::High,
        tests: Some(Tests { passed: 1, failed: 1, skipped: 0 }),
        listed: RecordedTestNames::default(),
        observations: 2,
        numbers: vec![NumberLine { frame: Digest::sha256(b"step # of #"), numbers }],
    }
}
