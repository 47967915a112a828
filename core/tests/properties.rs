//! Properties that every reducer has, over generated histories and over events in any order.

use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use unstuck_core::event::{Fact, Purpose, RunOutcome, StepEnd, VerdictReached};
use unstuck_core::id::{Seq, Stage};
use unstuck_core::state::{RunPhase, StepPhase};
use unstuck_core::testing::{Script, World, events, fold, histories, scripts, workflows};
use unstuck_core::workflow::{CheckMethod, Workflow};
use unstuck_core::{Conclusion, Event, Observation, RunState};

/// Splits a history into its batches.
fn batches<'a>(events: &'a [Event], sizes: &'a [usize]) -> impl Iterator<Item = &'a [Event]> {
    let mut rest = events;
    sizes.iter().map(move |size| {
        let (batch, after) = rest.split_at(*size);
        rest = after;
        batch
    })
}

/// Returns the state of a run without its anomalies, version and clock.
fn stands(state: &RunState) -> serde_json::Value {
    let mut stands = serde_json::to_value(state).expect("a state can be saved");
    let fields = stands.as_object_mut().expect("a state has fields");
    for position in ["version", "last_at", "anomalies", "clock"] {
        fields.remove(position).expect("a state has a position");
    }
    stands
}

/// Returns the verdicts of a log, each with its position.
fn verdicts(events: &[Event]) -> Vec<(Seq, &VerdictReached)> {
    events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Concluded(Conclusion::VerdictReached(verdict)) => Some((event.seq, verdict)),
            _ => None,
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: Some(Box::new(FileFailurePersistence::Direct("tests/properties.proptest-regressions"))),
        ..ProptestConfig::default()
    })]

    #[test]
    fn folding_a_prefix_and_then_the_rest_equals_folding_all(events in events(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(events.len() + 1);
        let resumed = events[cut..].iter().fold(fold(&events[..cut]), RunState::evolve);
        prop_assert_eq!(resumed, fold(&events));
    }

    #[test]
    fn a_checkpoint_and_the_tail_equal_the_whole(history in histories(), cut in any::<prop::sample::Index>()) {
        let cut = cut.index(history.events.len() + 1);
        let saved = serde_json::to_vec(&fold(&history.events[..cut])).expect("a state can be saved");
        let restored: RunState = serde_json::from_slice(&saved).expect("a saved state can be read");
        let resumed = history.events[cut..].iter().fold(restored, RunState::evolve);
        prop_assert_eq!(resumed, fold(&history.events));
    }

    #[test]
    fn deciding_again_from_recorded_observations_gives_the_recorded_decisions(history in histories()) {
        let mut state = RunState::default();
        for batch in batches(&history.events, &history.batches) {
            let Fact::Observed(command) = &batch[0].fact else { panic!("a batch begins with an observation") };
            let again = state.decide(command.clone(), batch[0].at).expect("what was admitted is admitted again");
            prop_assert_eq!(&again, batch);
            state = batch.iter().fold(state, RunState::evolve);
        }
    }

    #[test]
    fn only_the_first_event_of_a_batch_is_an_observation(history in histories()) {
        for batch in batches(&history.events, &history.batches) {
            prop_assert!(matches!(batch[0].fact, Fact::Observed(_)));
            prop_assert!(batch[1..].iter().all(|event| matches!(event.fact, Fact::Concluded(_))));
        }
    }

    #[test]
    fn decided_events_are_never_impossible(history in histories()) {
        let mut state = RunState::default();
        for event in &history.events {
            state = state.evolve(event);
            prop_assert_eq!(state.anomalies(), 0, "{:?}", event);
        }
    }

    #[test]
    fn impossible_events_change_nothing(events in events()) {
        let mut state = RunState::default();
        for event in &events {
            let (before, anomalies) = (stands(&state), state.anomalies());
            state = state.evolve(event);
            if state.anomalies() > anomalies {
                prop_assert_eq!(stands(&state), before, "{:?}", event);
            }
        }
    }

    #[test]
    fn events_in_any_order_neither_panic_nor_break_a_bound(events in events()) {
        let mut state = RunState::default();
        for event in &events {
            state = state.evolve(event);
            let _what_is_owed = (state.pending_effects(), state.next_deadline());
            for (step, at) in state.steps() {
                prop_assert!(at.iteration() <= state.max_iterations(step, at));
            }
        }
    }

    #[test]
    fn any_command_in_any_state_is_decided_or_refused(events in events(), commands in events()) {
        let state = fold(&events);
        for event in commands {
            if let Fact::Observed(command) = event.fact
                && let Ok(batch) = state.decide(command, event.at)
            {
                let after = batch.iter().fold(state.clone(), RunState::evolve);
                prop_assert_eq!(after.anomalies(), state.anomalies(), "a decision is possible where it was taken: {:?}", batch);
            }
        }
    }

    #[test]
    fn stages_stay_within_their_bound_and_fall_to_1_only(history in histories()) {
        let mut state = RunState::default();
        for event in &history.events {
            let before: Vec<_> = state.steps().map(|(_, at)| at.convergence.stage()).collect();
            state = state.evolve(event);
            for ((step, at), before) in state.steps().zip(before) {
                let now = at.convergence.stage();
                prop_assert!(now >= before || now == Stage(1), "only an improvement lowers a stage");
                let max = step.convergence.as_ref().map_or(1, |policy| policy.max_stage.0);
                prop_assert!(now.0 <= max.max(1));
            }
        }
    }

    #[test]
    fn every_run_ends_and_names_evidence_that_exists(history in histories()) {
        let last = history.events.last().expect("a run has events");
        let Fact::Concluded(Conclusion::RunEnded(ended)) = &last.fact else { panic!("{last:?} ends no run") };
        prop_assert!(!ended.evidence.is_empty());
        prop_assert!(ended.evidence.iter().all(|seq| *seq < last.seq));
    }

    #[test]
    fn complete_means_that_every_step_is(history in histories()) {
        let state = fold(&history.events);
        if state.outcome() == Some(RunOutcome::Complete) {
            for (step, at) in state.steps() {
                let end = at.phase.end();
                prop_assert!(matches!(end, Some(StepEnd::Complete | StepEnd::Incomplete)), "{}: {:?}", step.id, end);
            }
        }
    }

    #[test]
    fn a_finished_iteration_is_never_run_again(history in histories()) {
        // Once an iteration is judged, no worker starts for it again, except after a verdict that waits for a job, by a
        // person, or for a diagnosis.
        let mut judged = std::collections::BTreeSet::new();
        for event in &history.events {
            match &event.fact {
                Fact::Concluded(Conclusion::WorkRequested(w)) if w.purpose == Purpose::Diagnosis => {
                    judged.remove(&(w.step.clone(), w.iteration));
                }
                Fact::Concluded(Conclusion::VerdictReached(v)) if v.decision != unstuck_core::evidence::Decision::Waiting => {
                    judged.insert((v.step.clone(), v.iteration));
                }
                Fact::Observed(Observation::WorkerStarted(w)) => {
                    prop_assert!(!judged.contains(&(w.step.clone(), w.iteration)), "{:?}", event);
                }
                Fact::Observed(Observation::RunResumed(_)) => judged.clear(),
                _ => {}
            }
        }
    }

    #[test]
    fn every_iteration_begins_with_attempt_1(history in histories()) {
        let mut newest = std::collections::BTreeMap::new();
        for event in &history.events {
            if let Fact::Concluded(Conclusion::WorkRequested(work)) = &event.fact
                && newest.insert(work.step.clone(), work.iteration) != Some(work.iteration)
            {
                prop_assert_eq!(work.attempt.0, 1, "event {}", event.seq.0);
            }
        }
    }

    #[test]
    fn a_prompt_that_was_given_is_answered_or_lost_before_the_next(history in histories()) {
        let mut given = std::collections::BTreeMap::new();
        for event in &history.events {
            let gone = match &event.fact {
                Fact::Observed(Observation::WorkerStarted(work)) => {
                    let before = given.insert(work.step.clone(), (work.iteration, work.attempt));
                    prop_assert_eq!(before, None, "event {} is asked while another is open", event.seq.0);
                    continue;
                }
                Fact::Observed(Observation::WorkerFinished(event)) => (&event.step, event.iteration, event.attempt),
                Fact::Observed(Observation::WorkerLost(event)) => (&event.step, event.iteration, event.attempt),
                _ => continue,
            };
            prop_assert_eq!(given.remove(gone.0), Some((gone.1, gone.2)), "event {}", event.seq.0);
        }
        let open = fold(&history.events).steps().filter(|(_, at)| at.phase.end().is_none()).count();
        prop_assert!(given.len() <= open, "a step came to its end with a prompt that nobody answered");
    }

    #[test]
    fn no_more_processes_are_in_flight_than_allowed(workflow in workflows(), script in scripts()) {
        let allowed = workflow.concurrency.map_or(usize::MAX, |n| n as usize);
        let mut world = World::start(workflow, script);
        world.play();
        prop_assert!(world.most_in_flight <= allowed);
    }

    #[test]
    fn every_verdict_depends_on_observations_only(workflow in workflows(), script in scripts()) {
        // Every conclusion is dropped and derived again from the observations.
        let mut world = World::start(workflow, script);
        world.play();
        let recorded = world.history.events;
        let mut again = Vec::new();
        let mut state = RunState::default();
        for event in &recorded {
            if let Fact::Observed(command) = &event.fact {
                let batch = state.decide(command.clone(), event.at).expect("what was admitted is admitted again");
                state = batch.iter().fold(state, RunState::evolve);
                again.extend(batch);
            }
        }
        prop_assert_eq!(verdicts(&again), verdicts(&recorded));
    }
}

#[test]
fn run_without_explicit_limits_uses_the_defaults() {
    let step =
        unstuck_core::testing::step("work").with_check(CheckMethod::Claim, Workflow::DEFAULT_MAX_ITERATIONS);
    let mut world = World::start(Workflow::of_steps(vec![step.clone()]), incomplete_for_ever(&step.id));
    world.play();
    assert_eq!(world.worker_calls[&step.id], 25);
    assert_eq!(world.state.outcome(), Some(RunOutcome::IterationLimit));
}

#[test]
fn time_that_passes_while_a_run_is_paused_does_not_count() {
    let step = unstuck_core::testing::step("work").with_check(CheckMethod::Claim, 2);
    let world = World::start(Workflow::of_steps(vec![step]), Script::default());
    let state = world.state;
    let before = state.time_limit().expect("a run has a limit");
    let a_day_later = unstuck_core::id::Timestamp(state.last_at().0 + 86_400_000);
    let batch =
        state.decide(Observation::RunResumed(Default::default()), a_day_later).expect("a run can be resumed");
    let state = batch.iter().fold(state, RunState::evolve);
    assert_eq!(*state.phase(), RunPhase::Active);
    assert!(matches!(state.steps().next().expect("one step").1.phase, StepPhase::WorkDue));
    assert!(
        state.time_limit().expect("a run has a limit") >= before.after(unstuck_core::id::Millis(86_399_000))
    );
}

fn incomplete_for_ever(step: &unstuck_core::id::StepId) -> Script {
    let act = unstuck_core::testing::Behavior::Writes(
        0,
        r#"{"decision":"incomplete","check_id":"{id}"}"#.to_owned(),
    );
    Script { work: [(step.clone(), vec![act])].into(), ..Script::default() }
}
