//! Possible ends of each kind of loop.

use std::fmt::Write as _;

use expect_test::{Expect, expect};
use unstuck_core::testing::{script_worker, step};
use unstuck_core::workflow::{CheckCommand, Gate, StagePrompt, WorkerKind};

use super::*;

fn policy(stall_threshold: u32, max_stage: u32) -> ConvergencePolicy {
    ConvergencePolicy { stall_threshold, max_stage: Stage(max_stage), ..ConvergencePolicy::default() }
}

fn commands(gate: Gate) -> CheckMethod {
    CheckMethod::Commands(vec![CheckCommand { run: "make test".to_owned(), gate, reports: Vec::new() }])
}

fn looped(by: CheckMethod, max_iterations: u32, threshold: u32) -> Step {
    Step { convergence: Some(policy(threshold, 3)), ..step("a").with_check(by, max_iterations) }
}

fn describe(step: Step) -> String {
    let explored = &explore(&Workflow::of_steps(vec![step]))[0];
    let mut text = format!(
        "{} iterations, {} calls, {} checks, {} commands; stages {:?}, not {:?}\n",
        explored.worst.iterations,
        explored.worst.worker_calls,
        explored.worst.checks,
        explored.worst.command_runs,
        explored.stages.iter().map(|stage| stage.0).collect::<Vec<_>>(),
        explored.unreached_stages.iter().map(|stage| stage.0).collect::<Vec<_>>(),
    );
    for end in &explored.ends {
        let history: Vec<&str> = end.history.iter().map(|outcome| outcome.as_str()).collect();
        let line = format!("{}: {}: {}", end.outcome, end.why, history.join(", "));
        let _infallible = writeln!(text, "{}", line.trim_end_matches(": "));
    }
    text
}

#[track_caller]
fn check(step: Step, expected: &Expect) {
    expected.assert_eq(&describe(step));
}

#[test]
fn a_step_without_a_check_is_worked_once() {
    check(
        step("a"),
        &expect![[r#"
        1 iterations, 1 calls, 0 checks, 0 commands; stages [1], not []
        COMPLETE: complete: complete
        FAILED: the worker failed: worker fails
    "#]],
    );
}

#[test]
fn a_loop_of_commands_is_looked_at_as_a_whole_where_it_is_short() {
    check(
        looped(commands(Gate::Pass), 6, 2),
        &expect![[r#"
            6 iterations, 6 calls, 18 checks, 18 commands; stages [1, 2], not [3]
            COMPLETE: complete: complete
            FAILED: the check could not run: check cannot run
            FAILED: the worker failed: worker fails
            OUT OF ITERATIONS: its last allowed iteration is over: other failures, same failures, same failures, fewer failures, same failures, same failures
            OUT OF TIME: the time of the run is over before its iterations are
            STUCK: it goes in a circle: other failures, same failures, more failures, fewer failures
            STUCK: nothing in the workspace changes: other failures, same failures, nothing changed, nothing changed
            STUCK: the same failures again: other failures, same failures, same failures, same failures
        "#]],
    );
}

#[test]
fn loop_without_convergence_runs_to_its_limit() {
    let endless = Step { convergence: None, ..looped(commands(Gate::Pass), 25, 2) };
    check(
        endless,
        &expect![[r#"
            25 iterations, 25 calls, 75 checks, 75 commands; stages [1], not []
            COMPLETE: complete: complete
            FAILED: the check could not run: check cannot run
            FAILED: the worker failed: worker fails
            OUT OF ITERATIONS: its last allowed iteration is over: other failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures, same failures
            OUT OF TIME: the time of the run is over before its iterations are
        "#]],
    );
}

#[test]
fn a_gate_that_compares_can_end_before_anybody_works() {
    let mut compares = looped(commands(Gate::NoNewFailures), 4, 2);
    if let Some(check) = &mut compares.check {
        (check.baseline, check.observations) = (Baseline::Gate, 2);
    }
    check(
        compares,
        &expect![[r#"
            4 iterations, 4 calls, 13 checks, 28 commands; stages [1, 2], not [3]
            COMPLETE: complete: complete
            FAILED: the check could not run: check cannot run
            FAILED: the worker failed: worker fails
            FAILED: there is no baseline to compare with: no usable baseline
            OUT OF ITERATIONS: its last allowed iteration is over: other failures, same failures, same failures, fewer failures
            OUT OF TIME: the time of the run is over before its iterations are
            STUCK: it goes in a circle: other failures, same failures, more failures, fewer failures
            STUCK: nothing in the workspace changes: other failures, same failures, nothing changed, nothing changed
            STUCK: the same failures again: other failures, same failures, same failures, same failures
        "#]],
    );
}

#[test]
fn a_claim_can_be_blocked_unreadable_or_wait_for_ever() {
    check(
        looped(CheckMethod::Claim, 5, 2),
        &expect![[r#"
            5 iterations, 5 calls, 0 checks, 0 commands; stages [1, 2], not [3]
            BLOCKED: a person must act: blocked
            COMPLETE: complete: complete
            FAILED: the worker failed: worker fails
            NOT COMPLETE: no readable verdict, again and again: no readable verdict, no readable verdict, no readable verdict
            OUT OF ITERATIONS: its last allowed iteration is over: other failures, same failures, same failures, fewer failures, same failures
            OUT OF TIME: an external job takes longer than the step may: waits for a job
            OUT OF TIME: the time of the run is over before its iterations are
            STUCK: it goes in a circle: other failures, same failures, more failures, fewer failures
            STUCK: nothing in the workspace changes: other failures, same failures, nothing changed, nothing changed
            STUCK: the same failures again: other failures, same failures, same failures, same failures
        "#]],
    );
}

#[test]
fn a_threshold_above_the_bound_never_raises_a_stage() {
    check(
        looped(CheckMethod::Exit(script_worker(WorkerKind::Custom, "true")), 2, 3),
        &expect![[r#"
        2 iterations, 2 calls, 6 checks, 0 commands; stages [1], not [2, 3]
        COMPLETE: complete: complete
        FAILED: the check could not run: check cannot run
        FAILED: the check exited with a code that is no verdict: check exits with another code
        FAILED: the worker failed: worker fails
        OUT OF ITERATIONS: its last allowed iteration is over: other failures, same failures
        OUT OF TIME: the time of the run is over before its iterations are
    "#]],
    );
}

#[test]
fn every_way_to_stall_is_found_for_which_the_bounds_leave_room() {
    let always = [
        "the same failures again",
        "it goes in a circle",
        "nothing in the workspace changes",
        "more failures than at best, and nothing gets better",
        "other failures each time, and nothing gets better",
    ];
    for (threshold, max_stage, max_iterations) in
        [(2, 2, 10), (2, 3, 25), (3, 4, 25), (5, 3, 60), (12, 3, 100)]
    {
        for by in [commands(Gate::Pass), CheckMethod::Claim] {
            let mut step = looped(by, max_iterations, threshold);
            step.convergence = Some(policy(threshold, max_stage));
            let explored = &explore(&Workflow::of_steps(vec![step]))[0];
            let is_stuck = |end: &&ReachableEnd| end.outcome == "STUCK";
            let stuck: Vec<&str> =
                explored.ends.iter().filter(is_stuck).map(|end| end.why.as_str()).collect();
            for why in always {
                assert!(stuck.contains(&why), "{threshold} {max_stage} {why}: {stuck:?}");
            }
        }
    }
}

#[test]
fn only_a_loop_without_rules_reaches_a_bound_too_large_to_play() {
    for (max_iterations, threshold, goes_on) in
        [(100_000, 0, true), (u32::MAX, 0, true), (100_000, 2, false), (100_000, 70, false)]
    {
        let mut step = looped(commands(Gate::Pass), max_iterations, threshold);
        step.convergence = Some(policy(threshold, 3)).filter(|_| threshold > 0);
        let explored = &explore(&Workflow::of_steps(vec![step]))[0];
        let end = explored.ends.iter().find(|end| end.outcome == "OUT OF ITERATIONS");
        assert_eq!(end.is_some(), goes_on, "{max_iterations} {threshold}: {end:?}");
        assert!(end.is_none_or(|end| end.goes_on && end.history.len() < 10), "{end:?}");
        assert_eq!(explored.worst.iterations, max_iterations);
    }
}

#[test]
fn diagnosis_counts_as_a_worker_call() {
    let calls = |change: &dyn Fn(&mut ConvergencePolicy), max_iterations| {
        let mut policy = policy(2, 2);
        policy.diagnose_with = Some(script_worker(WorkerKind::Command, "look for it"));
        change(&mut policy);
        let step = Step { convergence: Some(policy), ..looped(commands(Gate::Pass), max_iterations, 2) };
        explore(&Workflow::of_steps(vec![step]))[0].worst.worker_calls
    };
    assert_eq!(calls(&|_| {}, 2), 3);
    assert_eq!(calls(&|policy| policy.diagnose_with = None, 2), 2);
    assert_eq!(calls(&|policy| policy.fail_on_max_stage = false, 2), 2);
    // A loop cannot be stuck after one iteration.
    assert_eq!(calls(&|_| {}, 1), 1);
    assert_eq!(calls(&|_| {}, 100), 101);
}

#[test]
fn unused_setting_is_a_contradiction() {
    let keys = |change: &dyn Fn(&mut Step)| {
        let mut step = looped(commands(Gate::Pass), 3, 2);
        change(&mut step);
        let workflow = Workflow::of_steps(vec![step]);
        let conflicts = contradictions(&workflow, &explore(&workflow));
        conflicts.into_iter().map(|conflict| conflict.key).collect::<Vec<_>>()
    };
    let rules = |step: &mut Step, change: &dyn Fn(&mut ConvergencePolicy)| {
        change(step.convergence.as_mut().expect("the step has a controller"));
    };
    let overlay = |stage| StagePrompt { stage: Stage(stage), append_instructions: None };
    let texts = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).collect::<Vec<_>>();
    assert_eq!(keys(&|_| {}), [""; 0]);
    assert_eq!(keys(&|step| step.max_iterations = 1), ["convergence.stall_threshold"]);
    assert_eq!(keys(&|step| rules(step, &|policy| policy.overlays = vec![overlay(2)])), [""; 0]);
    assert_eq!(
        keys(&|step| rules(step, &|policy| policy.overlays = vec![overlay(3)])),
        ["convergence.stages"]
    );
    assert_eq!(
        keys(&|step| rules(step, &|policy| policy.overlays = vec![overlay(4)])),
        ["convergence.stages"]
    );
    let ignored = |allowed: &[&str], ignored: &[&str]| {
        keys(&|step| {
            rules(step, &|policy| {
                (policy.allowed_paths, policy.ignored_paths) = (texts(allowed), texts(ignored))
            });
        })
    };
    assert_eq!(ignored(&["src/**"], &["docs/**"]), [""; 0]);
    assert_eq!(ignored(&["src/**", "docs"], &["docs"]), ["convergence.allowed_paths"]);
    assert_eq!(ignored(&["src/*.rs"], &["src/**"]), ["convergence.allowed_paths"]);
    let protected = |allowed: &[&str], protected: &[&str]| {
        keys(&|step| {
            rules(step, &|policy| {
                (policy.allowed_paths, policy.protected_paths) = (texts(allowed), texts(protected))
            });
        })
    };
    assert_eq!(protected(&["src/**"], &["src/**"]), ["convergence.allowed_paths"]);
    assert_eq!(protected(&["src"], &["src/**"]), ["convergence.allowed_paths"]);
    assert_eq!(protected(&["src/a/*.rs", "docs"], &["**/*.rs"]), ["convergence.allowed_paths"]);
    assert_eq!(protected(&["src/**"], &["src/generated/**"]), [""; 0]);
    assert_eq!(protected(&["src/**"], &["**/*.lock"]), [""; 0]);
    let budget = |ignored: &[&str], files, lines| {
        keys(&|step| {
            rules(step, &|policy| {
                policy.ignored_paths = texts(ignored);
                (policy.max_changed_files, policy.max_changed_lines) = (files, lines);
            });
        })
    };
    let both = ["convergence.max_changed_files", "convergence.max_changed_lines"];
    assert_eq!(budget(&["**"], Some(3), Some(10)), both);
    assert_eq!(budget(&["**"], None, Some(10)), both[1..]);
    assert_eq!(budget(&["**"], None, None), [""; 0]);
    assert_eq!(budget(&["docs/**", "*.lock"], Some(3), Some(10)), [""; 0]);
    assert_eq!(
        keys(&|step| {
            step.require_change = true;
            rules(step, &|policy| policy.max_changed_files = Some(0));
        }),
        ["convergence.max_changed_files"]
    );
    let shut = |require_change, protected: &[&str]| {
        keys(&|step| {
            step.require_change = require_change;
            rules(step, &|policy| policy.protected_paths = texts(protected));
        })
    };
    assert_eq!(shut(true, &["**"]), ["convergence.protected_paths"]);
    assert_eq!(shut(true, &["src/**", "docs/**"]), [""; 0]);
    assert_eq!(shut(true, &["*/**"]), [""; 0]);
    assert_eq!(shut(false, &["**"]), [""; 0]);
    assert_eq!(
        keys(&|step| step.check.as_mut().expect("the step is checked").timeout = Workflow::DEFAULT_TIMEOUT),
        ["completion_check.timeout"]
    );
}

#[test]
fn every_history_that_is_named_leads_where_it_is_said_to() {
    let step = looped(CheckMethod::Claim, 4, 2);
    let explored = &explore(&Workflow::of_steps(vec![step.clone()]))[0];
    let is_played = |end: &&ReachableEnd| end.outcome != "OUT OF TIME" && !end.goes_on;
    for end in explored.ends.iter().filter(is_played) {
        let mut simulator = StepSimulator::new(&step);
        let sim = end.history.iter().fold(simulator.begin(), |sim, outcome| {
            simulator.play(&sim, *outcome).expect("the outcome can be played").0
        });
        assert_eq!(sim.state.outcome().map(|outcome| outcome.as_str()), Some(end.outcome));
    }
}

#[test]
fn retries_beyond_the_played_ones_are_counted() {
    for max_retries in [0, 3, 10, 11, 1000, u32::MAX] {
        let on_failure = unstuck_core::workflow::OnFailure::Retry;
        let step = Step { max_retries, on_failure, ..looped(commands(Gate::Pass), 2, 2) };
        let explored = &explore(&Workflow::of_steps(vec![step]))[0];
        let calls = u64::from(explored.worst.iterations) * (u64::from(max_retries) + 1);
        assert_eq!(explored.worst.worker_calls, calls, "{max_retries}");
    }
}
