//! Given, when, then: single decisions in the form that a user of the crate writes them.

use unstuck_core::event::{RunOutcome, StallCause, StepEnd};
use unstuck_core::evidence::Decision;
use unstuck_core::id::Stage;
use unstuck_core::state::StepPhase;
use unstuck_core::testing::{
    Behavior, Findings, Happening, Script, Work, World, check_finished, check_requested, failing, given,
    run_ended, stage_raised, started, step, step_ended, verdict, work_requested, worker_finished,
};
use unstuck_core::workflow::{CheckCommand, CheckMethod, ConvergencePolicy, Gate, Workflow};

fn fix(stall_threshold: u32) -> Workflow {
    let command = CheckCommand { run: "cargo test".to_owned(), gate: Gate::Pass, reports: Vec::new() };
    let mut fix = step("fix").with_check(CheckMethod::Commands(vec![command]), 10);
    fix.convergence =
        Some(ConvergencePolicy { stall_threshold, max_stage: Stage(2), ..ConvergencePolicy::default() });
    Workflow::of_steps(vec![fix])
}

fn works(content: u8) -> Happening {
    worker_finished("fix", Work::to(content))
}

#[test]
fn work_that_is_done_is_checked() {
    given([started(fix(2))]).when(works(1)).then([check_requested("fix", 1)]);
}

#[test]
fn a_check_that_passes_ends_the_run() {
    let passes = check_finished("fix", Findings::Passed);
    given([started(fix(2)), works(1)]).when(passes).then([
        verdict("fix", Decision::Complete),
        step_ended("fix", StepEnd::Complete),
        run_ended(RunOutcome::Complete),
    ]);
}

#[test]
fn the_same_failure_twice_ends_a_loop_of_two_stages_as_stuck() {
    let fails = || check_finished("fix", failing(["a"]));
    given([started(fix(2)), works(1), fails(), works(2)]).when(fails()).then([
        verdict("fix", Decision::Incomplete),
        stage_raised("fix", 2),
        step_ended("fix", StepEnd::Stuck(StallCause::SameFailures)),
        run_ended(RunOutcome::Stuck),
    ]);
}

#[test]
fn a_recorded_run_continues_with_another_check() {
    let mut world = World::start(fix(3), Script::default().with_work("fix", [Behavior::from(Work::to(1))]));
    world.play_until(|state| state.steps().any(|(_, at)| at.phase == StepPhase::CheckDue));
    let recorded = world.history.events.into_iter().map(Happening::from);
    given(recorded)
        .when(check_finished("fix", failing(["a"])))
        .then([verdict("fix", Decision::Incomplete), work_requested("fix", 2)]);
}

#[test]
fn a_check_that_is_not_due_is_refused() {
    let refused = given([started(fix(2))]).when(check_finished("fix", Findings::Passed));
    assert!(refused.conclusions.is_err());
    assert_eq!(refused.state.version().0, 2);
}

#[test]
#[should_panic(expected = "concluded")]
fn another_conclusion_fails_the_test() {
    given([started(fix(2))]).when(works(1)).then([work_requested("fix", 2)]);
}
