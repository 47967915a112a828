//! Child runs and the money of their parent.

use proptest::prelude::*;
use unstuck_core::cost::{CostTotal, Spend};
use unstuck_core::decide::Rejection;
use unstuck_core::effect::Turn;
use unstuck_core::event::{
    AnswerGiven, ChildEnd, DecisionFile, Exit, Outcome, RunOutcome, RunResumed, RunStarted, WorkerFinished,
};
use unstuck_core::id::{CheckId, Digest, Iteration, RunId, StepId, Timestamp};
use unstuck_core::testing::{run_started, started_event, step};
use unstuck_core::workflow::{Budget, OnFailure, Step, StepKind, Subworkflow, Workflow};
use unstuck_core::{Effect, Observation, RunState, TurnId};

const NAMES: [&str; 2] = ["a", "b"];

/// Returns a run with this budget and two steps that are child runs, at the same time.
fn parent(micro_usd: u64) -> RunState {
    let budget = Budget { micro_usd: Some(micro_usd), ..Budget::default() };
    run(Workflow { budget, ..Workflow::of_steps(NAMES.iter().map(|id| calls(id)).collect()) })
}

/// Returns a step that is a child run.
fn calls(id: &str) -> Step {
    let workflow = Box::new(Workflow::of_steps(vec![step("inner")]));
    let work = Subworkflow {
        path: "child.yaml".to_owned(),
        workflow,
        exports: Vec::new(),
        exports_replace: false,
        event_prefix: None,
    };
    Step { work: StepKind::Subworkflow(work), ..step(id) }
}

fn run(workflow: Workflow) -> RunState {
    let begun: RunStarted = run_started(workflow);
    give(RunState::default(), Observation::RunStarted(Box::new(begun))).expect("it begins")
}

fn give(state: RunState, command: Observation) -> Result<RunState, Rejection> {
    let events = state.decide(command, Timestamp(1))?;
    Ok(events.iter().fold(state, RunState::evolve))
}

/// Starts everything that is due.
fn begin(mut state: RunState) -> RunState {
    while let Some(Effect::Perform(_, due)) = state.pending_effects().into_iter().next() {
        let begun = started_event(&state, &due, false, CheckId::new("none"), Digest::sha256(b""));
        state = give(state, begun).expect("it is due");
    }
    state
}

/// Ends the child run of a step with this lifetime spending.
fn end(state: RunState, name: &str, end: RunOutcome, micro_usd: u64) -> RunState {
    let (_, at) = state.step(&StepId::from(name)).expect("a step");
    let TurnId { step, iteration, attempt } =
        TurnId { step: name.into(), iteration: at.iteration(), attempt: at.attempt() };
    let spent = Spend { calls: 1, reported: CostTotal { micro_usd, calls: 1 }, ..Spend::default() };
    let outcome = Outcome {
        answer: "a login".to_owned(),
        ..Outcome::from_exit(Exit::Child(ChildEnd { run: RunId::new(name), end, spent }))
    };
    let finished = WorkerFinished {
        step,
        iteration,
        attempt,
        outcome,
        decision_file: DecisionFile::NotConfigured,
        changed: None,
        snapshot: None,
        drift: None,
        diffstat: None,
        answer: None,
        wants_repeat: false,
    };
    give(state, Observation::WorkerFinished(finished)).expect("it is in flight")
}

#[test]
fn a_child_that_needs_a_person_or_iterations_ends_its_parent_so_and_is_taken_up_again() {
    let more = || Observation::RunResumed(RunResumed { add_iterations: 2, ..RunResumed::default() });
    let answer = || Observation::AnswerGiven(AnswerGiven { text: "done".to_owned(), steps: Vec::new() });
    for (ended, outcome, on) in [
        (RunOutcome::Blocked, RunOutcome::Blocked, answer()),
        (RunOutcome::IterationLimit, RunOutcome::IterationLimit, more()),
        (RunOutcome::NotComplete, RunOutcome::WorkerFailed, Observation::RunResumed(RunResumed::default())),
    ] {
        let state = end(end(begin(parent(100)), "a", ended, 40), "b", RunOutcome::Complete, 0);
        assert_eq!(state.outcome(), Some(outcome));
        let needs: Vec<_> = state.blocked_steps().collect();
        assert_eq!(!needs.is_empty(), ended == RunOutcome::Blocked, "{needs:?}");
        let state = give(state, on).expect("it goes on");
        let due: Vec<Effect> = state.pending_effects();
        assert!(
            matches!(&due[..], [Effect::Perform(Turn::Work, due)] if due.iteration == Iteration(1)),
            "{due:?}"
        );
        let state = end(begin(state), "a", RunOutcome::Complete, 50);
        assert_eq!(state.outcome(), Some(RunOutcome::Complete));
    }
}

#[test]
fn parent_may_continue_after_child_without_iterations_left() {
    let child = Step { on_failure: OnFailure::Continue, ..calls("a") };
    let workflow = Workflow::of_steps(vec![child, Step { depends_on: vec!["a".into()], ..calls("b") }]);
    let state = begin(run(workflow));
    let state = end(begin(end(state, "a", RunOutcome::IterationLimit, 0)), "b", RunOutcome::Complete, 0);
    assert_eq!(state.outcome(), Some(RunOutcome::WorkerFailed));
}

/// Ends the stopped child runs.
fn stop(mut state: RunState, told: &[u64; 2]) -> RunState {
    while let Some(Effect::Stop(step)) = state.pending_effects().into_iter().next() {
        let at = NAMES.iter().position(|name| *name == step.as_str()).expect("one of them");
        state = end(state, step.as_str(), RunOutcome::Interrupted(15), told[at]);
    }
    state
}

fn allowance(state: &RunState, name: &str) -> Option<u64> {
    state.allowance_of(&RunId::new(name)).micro_usd
}

#[test]
fn child_out_of_money_ends_parent_and_both_resume_with_more() {
    let state = end(begin(parent(100)), "a", RunOutcome::SpendLimit, 40);
    assert_eq!((allowance(&state, "a"), allowance(&state, "b")), (Some(100), Some(60)));
    let state = stop(state, &[40, 70]);
    assert_eq!((state.outcome(), state.spent().micro_usd()), (Some(RunOutcome::SpendLimit), 110));
    let more = |add_micro_usd| Observation::RunResumed(RunResumed { add_micro_usd, ..RunResumed::default() });
    assert!(matches!(give(state.clone(), more(10)), Err(Rejection::NeedsMoney(_))));
    let state = begin(give(state, more(50)).expect("there is enough now"));
    assert_eq!((allowance(&state, "a"), allowance(&state, "b")), (Some(80), Some(110)));
    let state = end(end(state, "a", RunOutcome::Complete, 45), "b", RunOutcome::Complete, 70);
    assert_eq!((state.outcome(), state.spent().micro_usd()), (Some(RunOutcome::Complete), 115));
    let child =
        state.step(&StepId::from("a")).and_then(|(_, at)| at.calls.child.clone()).expect("it was one");
    assert_eq!((child.run, child.end), (RunId::new("a"), RunOutcome::Complete), "the last one");
}

proptest! {
    #[test]
    fn a_child_never_gets_what_others_have_spent_and_each_counts_once(
        bound in 1..100_u64,
        ends in proptest::collection::vec((0..2_usize, 0..60_u64, any::<bool>(), 0..100_u64), 1..12),
    ) {
        let (mut state, mut given, mut spent) = (begin(parent(bound)), bound, [0; 2]);
        for (which, more, is_out, add_micro_usd) in ends {
            if state.in_flight().any(|(step, _)| step.id.as_str() == NAMES[which]) {
                spent[which] += more;
                let outcome = if is_out { RunOutcome::SpendLimit } else { RunOutcome::NotComplete };
                state = stop(end(state, NAMES[which], outcome, spent[which]), &spent);
            }
            prop_assert_eq!(state.spent().micro_usd(), spent[0] + spent[1]);
            for (name, others) in NAMES.iter().zip([spent[1], spent[0]]) {
                prop_assert_eq!(allowance(&state, name), Some(given.saturating_sub(others)));
            }
            let order = RunResumed { add_micro_usd, ..RunResumed::default() };
            if state.outcome().is_some()
                && let Ok(on) = give(state.clone(), Observation::RunResumed(order))
            {
                given += add_micro_usd;
                state = begin(on);
                prop_assert!(state.spent().micro_usd() < given || state.in_flight().next().is_none());
            }
        }
    }
}
