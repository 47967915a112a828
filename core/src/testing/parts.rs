//! A strategy for each part of the state of a run and of its steps: its state after random events.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::world::{Behavior, finished_event, snapshot};
use crate::Observation;
use crate::call_report::{CallEnd, CallReport, Progress};
use crate::cost::Spend;
use crate::effect::TurnId;
use crate::event::{
    CheckFinished, DecisionSource, Exit, Outcome, Purpose, RunResumed, TurnKind, WaitReason, WorkerFinished,
};
use crate::evidence::{CommandResult, Cost, Usage, UsagePeriod};
use crate::id::{Attempt, Iteration, RunId, Seq, Timestamp};
use crate::judge::scope::StepChanges;
use crate::state::{
    CallState, EvidenceState, Feedback, IterationState, SpendingState, TryState, VerdictState, WorkspaceState,
};
use crate::testing::command_result;
use crate::workflow::Budget;

/// An event of a [`WorkspaceState`].
#[derive(Clone, Debug)]
pub enum WorkspaceEvent {
    /// An iteration begins.
    IterationBegan,
    /// Work begins with this snapshot; with whether other workers run.
    WorkBegan(Option<u8>, bool),
    /// Work ends; `None` if a change is unknown.
    WorkEnded(Option<bool>),
    /// A worker is lost.
    WorkLost,
    /// The supervisor was lost; with the workspace after it.
    Abandoned(u8),
    /// The turn ends; with the workspace after it.
    TurnEnded(u8),
    /// A check ends; with whether it has written `report.xml`.
    CheckEnded(bool),
}

impl WorkspaceEvent {
    /// Folds the event.
    pub fn fold(&self, state: &mut WorkspaceState) {
        let seen = |content: &u8| Arc::new(snapshot(*content));
        match self {
            Self::IterationBegan => state.begin_iteration(),
            Self::WorkBegan(found, is_beside) => state.begin_work(found.as_ref().map(seen), *is_beside),
            Self::WorkEnded(changed) => {
                state.clear_lost_work();
                state.record_work(&worker_finished(*changed));
            }
            Self::WorkLost => state.record_lost_worker(),
            Self::Abandoned(left) => state.record_abandonment(&seen(left)),
            Self::TurnEnded(now) => {
                state.end_turn();
                state.record_snapshot(&seen(now));
            }
            Self::CheckEnded(writes) => state.record_check(&check_finished(*writes)),
        }
    }
}

/// Returns the end of a process of a step.
fn end_of(is_check: bool) -> Observation {
    let due = TurnId { step: "s".into(), iteration: Iteration(1), attempt: Attempt(1) };
    finished_event(&due, is_check, &Behavior::Exits(0, String::new()), None)
}

fn check_finished(writes: bool) -> CheckFinished {
    let ended = end_of(true);
    let Observation::CheckFinished(ended) = ended else { panic!("{ended:?} is no end of a check") };
    let files = if writes { vec!["report.xml".to_owned()] } else { Vec::new() };
    let drift = StepChanges { files: files.clone(), by_check: files.clone(), ..StepChanges::default() };
    CheckFinished { changed: files, drift: Some(Box::new(drift)), ..ended }
}

fn worker_finished(changed: Option<bool>) -> WorkerFinished {
    let ended = end_of(false);
    let Observation::WorkerFinished(ended) = ended else { panic!("{ended:?} is no end of a worker") };
    let drift = changed.map(|changed| {
        let files = if changed { vec!["src/a".to_owned()] } else { Vec::new() };
        Box::new(StepChanges { files, ..StepChanges::default() })
    });
    WorkerFinished { changed, drift, ..ended }
}

/// Random events of a workspace, in any order.
pub fn workspace_events() -> impl Strategy<Value = Vec<WorkspaceEvent>> {
    use WorkspaceEvent::{Abandoned, CheckEnded, IterationBegan, TurnEnded, WorkBegan, WorkEnded, WorkLost};
    let event = prop_oneof![
        Just(IterationBegan),
        (proptest::option::of(0..4_u8), any::<bool>()).prop_map(|(found, beside)| WorkBegan(found, beside)),
        any::<Option<bool>>().prop_map(WorkEnded),
        Just(WorkLost),
        (0..4_u8).prop_map(Abandoned),
        (0..4_u8).prop_map(TurnEnded),
        any::<bool>().prop_map(CheckEnded),
    ];
    vec(event, 0..24)
}

/// Workspace states after random events.
pub fn workspaces() -> impl Strategy<Value = WorkspaceState> {
    workspace_events().prop_map(|events| {
        let mut state = WorkspaceState::default();
        events.iter().for_each(|event| event.fold(&mut state));
        state
    })
}

/// Fingerprints of verdicts, each set with its source.
pub fn verdict_events() -> impl Strategy<Value = Vec<(Vec<String>, DecisionSource)>> {
    let known = ["a", "b", "c", "format:#:type", "declared:complete-but:tests-pass"];
    let fingerprints = vec(proptest::sample::select(known.to_vec()).prop_map(str::to_owned), 0..4);
    let sources = [DecisionSource::Validators, DecisionSource::Answer, DecisionSource::FileJson];
    vec((fingerprints, proptest::sample::select(sources.to_vec())), 0..12)
}

/// Verdict states after random verdicts.
pub fn verdicts() -> impl Strategy<Value = VerdictState> {
    verdict_events().prop_map(|events| {
        let mut state = VerdictState::default();
        events.iter().for_each(|(fingerprints, source)| state.count(fingerprints, *source));
        state
    })
}

/// Reasons to wait, each with its time.
pub fn waits() -> impl Strategy<Value = Vec<(WaitReason, Timestamp)>> {
    use crate::event::ErrorClass::RetryableNetwork as CLASS;
    let reasons = [
        WaitReason::Retry(CLASS),
        WaitReason::CheckRetry(CLASS),
        WaitReason::Weather(CLASS),
        WaitReason::ExternalJob,
    ];
    vec((proptest::sample::select(reasons.to_vec()), (0..1000_u64).prop_map(Timestamp)), 0..12)
}

/// Try states after random waits.
pub fn tries() -> impl Strategy<Value = TryState> {
    waits().prop_map(|waits| {
        let mut state = TryState::default();
        waits.iter().for_each(|(why, now)| state.waits(*why, *now));
        state
    })
}

/// Results of checks of the baseline and of iterations.
pub fn checks() -> impl Strategy<Value = Vec<(Iteration, Vec<CommandResult>)>> {
    let result = (0..3_u8)
        .prop_map(|which| command_result("check", &Exit::Code(1), &format!("not ok 1 - test {which}")));
    vec(((0..3_u32).prop_map(Iteration), vec(result, 0..3)), 0..6)
}

/// Evidence states after random checks.
pub fn evidence() -> impl Strategy<Value = EvidenceState> {
    checks().prop_map(|checks| {
        let mut state = EvidenceState::default();
        checks.iter().for_each(|(iteration, results)| state.record_check(*iteration, results));
        state
    })
}

/// Call states after random fallbacks.
pub fn calls() -> impl Strategy<Value = CallState> {
    vec((any::<bool>(), 0..4_u32), 0..6).prop_map(|turns| {
        let mut state = CallState::default();
        for (is_work, to) in turns {
            state.switch_to(if is_work { TurnKind::Work } else { TurnKind::Check }, to);
        }
        state
    })
}

/// Feedback after random messages.
pub fn feedbacks() -> impl Strategy<Value = Feedback> {
    (any::<String>(), any::<String>()).prop_map(|(said, printed)| {
        let mut state = Feedback::default();
        state.record_worker_message(&said);
        state.record_check_output(&Outcome { answer: printed, ..Outcome::from_exit(Exit::Code(1)) });
        state
    })
}

/// An event of an [`IterationState`].
#[derive(Clone, Debug)]
pub enum IterationEvent {
    /// The next iteration begins.
    IterationBegan,
    /// An attempt of the work is due.
    WorkRequested(Attempt, Purpose),
    /// An attempt of the check is due.
    CheckRequested(Attempt),
    /// A worker begins.
    WorkBegan,
    /// A worker or a check ends, or is lost.
    AttemptEnded,
    /// The work ends in this event.
    WorkEnded(Seq),
}

impl IterationEvent {
    /// Folds the event.
    pub fn fold(&self, state: &mut IterationState) {
        match self {
            Self::IterationBegan => state.begin_iteration(),
            Self::WorkRequested(attempt, purpose) => state.request_work(*attempt, *purpose),
            Self::CheckRequested(attempt) => state.request_check(*attempt),
            Self::WorkBegan => state.begin_work(),
            Self::AttemptEnded => state.end_attempt(),
            Self::WorkEnded(seq) => state.end_work(*seq),
        }
    }
}

/// Random events of an iteration, in any order.
pub fn iteration_events() -> impl Strategy<Value = Vec<IterationEvent>> {
    use IterationEvent::{AttemptEnded, CheckRequested, IterationBegan, WorkBegan, WorkEnded, WorkRequested};
    let purposes = proptest::sample::select(vec![Purpose::Work, Purpose::Diagnosis]);
    let event = prop_oneof![
        Just(IterationBegan),
        (1..9_u32, purposes).prop_map(|(attempt, purpose)| WorkRequested(Attempt(attempt), purpose)),
        (1..9_u32).prop_map(|attempt| CheckRequested(Attempt(attempt))),
        Just(WorkBegan),
        Just(AttemptEnded),
        any::<u64>().prop_map(|seq| WorkEnded(Seq(seq))),
    ];
    vec(event, 0..24)
}

/// Iteration states after random events.
pub fn iterations() -> impl Strategy<Value = IterationState> {
    iteration_events().prop_map(|events| {
        let mut state = IterationState::default();
        events.iter().for_each(|event| event.fold(&mut state));
        state
    })
}

/// An event of a [`SpendingState`].
#[derive(Clone, Debug)]
pub enum SpendingEvent {
    /// A call ends; `None` if it reports nothing.
    CallEnded(Option<Box<CallReport>>),
    /// A child run ends; with its spending since its last end.
    ChildEnded(RunId, Spend),
    /// The run is resumed.
    Resumed(RunResumed),
}

impl SpendingEvent {
    /// Folds the event.
    pub fn fold(&self, state: &mut SpendingState) {
        match self {
            Self::CallEnded(report) => state.add_call(None, report.as_deref(), None),
            Self::ChildEnded(run, more) => {
                let before = state.ledger.spent_in(Some(run));
                state.ledger.add_child(run, before.plus(more));
            }
            Self::Resumed(order) => state.resume(order),
        }
    }
}

/// Reports of calls, each with its own tokens and money.
fn call_reports() -> impl Strategy<Value = CallReport> {
    (0..1000_u64, proptest::option::of(0..1000_u64)).prop_map(|(input, micro_usd)| CallReport {
        end: CallEnd::Done,
        trouble: None,
        usage: Some(Usage { input, scope: UsagePeriod::Call, ..Usage::default() }),
        cost: micro_usd.map(|micro_usd| Cost { micro_usd, scope: UsagePeriod::Call }),
        ..Progress::default().so_far("claude")
    })
}

/// Budgets with limits that may be missing.
pub fn budgets() -> impl Strategy<Value = Budget> {
    (any::<Option<u64>>(), any::<Option<u64>>(), any::<bool>())
        .prop_map(|(micro_usd, tokens, accepts_unknown)| Budget { micro_usd, tokens, accepts_unknown })
}

/// Resumes that add a budget; a child run gets an allowance, too.
pub fn resumes() -> impl Strategy<Value = RunResumed> {
    (any::<u64>(), any::<u64>(), any::<bool>(), proptest::option::of(budgets())).prop_map(
        |(add_micro_usd, add_tokens, accept_unknown_cost, allowance)| RunResumed {
            add_micro_usd,
            add_tokens,
            accept_unknown_cost,
            allowance,
            ..RunResumed::default()
        },
    )
}

/// Random events of the spending of a run.
pub fn spending_events() -> impl Strategy<Value = Vec<SpendingEvent>> {
    use SpendingEvent::{CallEnded, ChildEnded, Resumed};
    let child = (0..3_u8, 1..9_u64).prop_map(|(name, calls)| {
        ChildEnded(RunId::new(name.to_string()), Spend { calls, tokens_unknown: calls, ..Spend::default() })
    });
    let event = prop_oneof![
        proptest::option::of(call_reports()).prop_map(|report| CallEnded(report.map(Box::new))),
        child,
        resumes().prop_map(Resumed),
    ];
    vec(event, 0..24)
}

/// Spending states after random events.
pub fn spending() -> impl Strategy<Value = SpendingState> {
    spending_events().prop_map(|events| {
        let mut state = SpendingState::default();
        events.iter().for_each(|event| event.fold(&mut state));
        state
    })
}
