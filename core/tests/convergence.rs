//! Properties of the two rules of convergence, with the public generators only.
//!
//! `tests/tests/mutants.rs` plants faults into the rules and requires that one of these fails.

use proptest::prelude::*;
use unstuck_core::event::{Fact, StallCause, StepEnd};
use unstuck_core::id::Stage;
use unstuck_core::testing::{Findings, Script, Work, World, failing, fold, loops, step, steps};
use unstuck_core::workflow::{CheckCommand, CheckMethod, ConvergencePolicy, Gate, Step, Workflow};
use unstuck_core::{Conclusion, Event};

/// A step of up to 200 iterations, checked by one command.
fn looped(stall_threshold: u32, max_stage: u32) -> Step {
    let command = CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
    let policy =
        ConvergencePolicy { stall_threshold, max_stage: Stage(max_stage), ..ConvergencePolicy::default() };
    Step { convergence: Some(policy), ..step("s").with_check(CheckMethod::Commands(vec![command]), 200) }
}

/// Plays iterations, each with new files, that show these; then a check passes.
fn play(step: Step, shown: &[Findings]) -> Vec<Event> {
    let work: Vec<_> =
        (0..=shown.len()).map(|at| Work::to(u8::try_from(at % 256).expect("a byte")).into()).collect();
    let checks = shown.iter().chain([&Findings::Passed]).map(|findings| findings.check(&step));
    let script = Script::default().with_work("s", work).with_checks("s", checks.collect::<Vec<_>>());
    let mut world = World::start(Workflow::of_steps(vec![step]), script);
    world.play();
    world.history.events
}

/// Returns the iterations in which the stage rose, each with the new stage and the cause.
fn raises(events: &[Event]) -> Vec<(u32, u32, StallCause)> {
    let raised = |event: &Event| match &event.fact {
        Fact::Concluded(Conclusion::StageRaised(raised)) => {
            Some((raised.iteration.0, raised.to.0, raised.cause))
        }
        _ => None,
    };
    events.iter().filter_map(raised).collect()
}

/// Returns the iteration and the stage of each request for work.
fn stages(events: &[Event]) -> Vec<(u32, u32)> {
    let stage = |event: &Event| match &event.fact {
        Fact::Concluded(Conclusion::WorkRequested(work)) => Some((work.iteration.0, work.stage.0)),
        _ => None,
    };
    events.iter().filter_map(stage).collect()
}

fn is_complete(events: &[Event]) -> bool {
    events.iter().any(|event| {
        matches!(&event.fact, Fact::Concluded(Conclusion::StepEnded(ended)) if ended.end == StepEnd::Complete)
    })
}

fn names(count: u32) -> Vec<String> {
    (0..count).map(|at| format!("failure {at}")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_same_failures_raise_the_stage_every_threshold(threshold in 1_u32..6, max_stage in 3_u32..5, count in 1_u32..4) {
        let events = play(looped(threshold, max_stage), &vec![failing(names(count)); 60]);
        let expected: Vec<(u32, u32, StallCause)> = (2..=max_stage)
            .map(|stage| {
                // With a threshold of 1, the first set is a stall, and is new.
                let is_new = threshold == 1 && stage == 2;
                let cause = if is_new { StallCause::Diverging } else { StallCause::SameFailures };
                ((stage - 1) * threshold, stage, cause)
            })
            .collect();
        prop_assert_eq!(raises(&events), expected);
    }

    #[test]
    fn a_cycle_of_any_period_raises_the_stage(threshold in 2_u32..6, period in 2_u32..6) {
        let shown: Vec<Findings> = (0..60).map(|at| failing([format!("failure {}", at % period)])).collect();
        let first = raises(&play(looped(threshold, 2), &shown));
        let by_repeats = period + threshold - 1;
        let (at, cause) = if by_repeats <= 3 * threshold {
            (by_repeats, StallCause::Cycle(period))
        } else {
            (3 * threshold, StallCause::Diverging)
        };
        prop_assert_eq!(first, vec![(at, 2, cause)]);
    }

    #[test]
    fn nothing_better_three_times_the_threshold_raises_the_stage(threshold in 1_u32..6) {
        let shown: Vec<Findings> = (0..60).map(|at| failing([format!("failure {at}")])).collect();
        let raised = raises(&play(looped(threshold, 2), &shown));
        // An iteration that shows something new counts 1, which is a threshold of 1.
        let at = if threshold == 1 { 1 } else { 3 * threshold };
        prop_assert_eq!(raised.first().map(|raised| raised.0), Some(at), "{:?}", raised);
    }

    #[test]
    fn a_set_that_grows_is_growing(threshold in 2_u32..6) {
        let shown: Vec<Findings> = (1..40).map(|count| failing(names(count))).collect();
        prop_assert_eq!(raises(&play(looped(threshold, 2), &shown)), vec![(3 * threshold, 2, StallCause::Growing)]);
    }

    #[test]
    fn a_failure_less_within_each_threshold_is_never_a_stall(threshold in 2_u32..6, count in 1_u32..8) {
        let pause = usize::try_from(threshold - 1).expect("a small number");
        let shown: Vec<Findings> =
            (1..=count).rev().flat_map(|count| vec![failing(names(count)); pause]).collect();
        let events = play(looped(threshold, 2), &shown);
        prop_assert_eq!(raises(&events), vec![]);
        prop_assert!(is_complete(&events));
    }

    #[test]
    fn a_later_place_a_closer_number_and_more_passed_tests_are_better(which in 0_u8..3, gains in 1_u32..20) {
        let shown: Vec<Findings> = (0..gains)
            .map(|at| match which {
                0 => failing(["a"]).at_place(90 - at),
                1 => failing(["a"]).with_number(90 - i64::from(at)),
                _ => failing([format!("failure {at}")]).with_passed(at.into()),
            })
            .collect();
        let events = play(looped(2, 2), &shown);
        prop_assert_eq!(raises(&events), vec![]);
        prop_assert!(is_complete(&events));
    }

    #[test]
    fn a_number_that_creeps_ends(threshold in 2_u32..4) {
        let shown: Vec<Findings> = (0..100).map(|at| failing(["a"]).with_number(1_000 - at)).collect();
        prop_assert_eq!(raises(&play(looped(threshold, 2), &shown)).len(), 1);
    }

    #[test]
    fn an_improvement_returns_the_stage_to_1(threshold in 2_u32..5, count in 2_u32..6) {
        let before = usize::try_from(threshold).expect("a small number");
        let mut shown = vec![failing(names(count)); before];
        shown.push(failing(names(count - 1)));
        let events = play(looped(threshold, 3), &shown);
        let stages: Vec<u32> = stages(&events).into_iter().map(|(_, stage)| stage).collect();
        let mut expected = vec![1; before];
        expected.extend([2, 1]);
        prop_assert_eq!(stages, expected);
    }

    #[test]
    fn a_loop_ends_within_its_iterations_and_stages(
        (policy, run) in steps().prop_flat_map(|step| (Just(step.convergence.clone()), loops(step))),
    ) {
        let state = fold(&run.events);
        for (step, at) in state.steps() {
            prop_assert!(at.iteration() <= state.max_iterations(step, at));
        }
        let max_stage = policy.map_or(1, |policy| policy.max_stage.0);
        prop_assert!(raises(&run.events).iter().all(|(_, to, _)| *to <= max_stage));
        prop_assert!(state.outcome().is_some());
    }
}
