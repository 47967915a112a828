//! A strategy for each part of the state of a step: its state after random events.

use std::sync::Arc;

use proptest::collection::vec;
use proptest::prelude::*;

use super::world::{Behavior, finished_event, snapshot};
use crate::Observation;
use crate::effect::TurnId;
use crate::event::{CheckFinished, DecisionSource, Exit, Outcome, TurnKind, WaitReason, WorkerFinished};
use crate::evidence::CommandResult;
use crate::id::{Attempt, Iteration, Timestamp};
use crate::judge::scope::StepChanges;
use crate::state::{CallState, EvidenceState, Feedback, TryState, VerdictState, WorkspaceState};
use crate::testing::command_result;

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
