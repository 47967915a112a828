//! Concurrent steps: which steps run alone, and what happens to the others when one needs a person.

use std::collections::BTreeMap;

use unstuck_core::call_report::{Progress, Usage};
use unstuck_core::effect::{Effect, TurnId};
use unstuck_core::event::{AnswerGiven, Call, RunInterrupted, RunOutcome, RunResumed, WorkerProgressed};
use unstuck_core::id::{Attempt, CheckId, Digest, Iteration, StepId, Timestamp};
use unstuck_core::state::{RunPhase, StepPhase};
use unstuck_core::testing::{Behavior, Script, World, finished_event, started_event, step};
use unstuck_core::workflow::{Budget, CheckMethod, ConvergencePolicy, Step, StepKind, Subworkflow, Workflow};
use unstuck_core::{Observation, Rejection};

fn says(verdict: &str) -> Behavior {
    Behavior::Writes(0, format!(r#"{{"decision":"{verdict}","check_id":"{{id}}","needs":"a login"}}"#))
}

fn script(work: &[(&str, Vec<Behavior>)]) -> Script {
    let work: BTreeMap<StepId, Vec<Behavior>> =
        work.iter().map(|(id, acts)| (StepId::from(*id), acts.clone())).collect();
    Script { work, ..Script::default() }
}

fn needs_change(id: &str) -> Step {
    Step { require_change: true, ..step(id) }
}

fn ruled(id: &str, rules: ConvergencePolicy) -> Step {
    Step { convergence: Some(rules), ..step(id) }
}

fn calls(id: &str, steps: Vec<Step>) -> Step {
    let workflow = Box::new(Workflow::of_steps(steps));
    let child = Subworkflow {
        path: "child.yaml".to_owned(),
        workflow,
        exports: Vec::new(),
        exports_replace: false,
        event_prefix: None,
    };
    Step { work: StepKind::Subworkflow(child), ..step(id) }
}

#[test]
fn step_judged_by_its_changes_runs_alone() {
    let within =
        || ConvergencePolicy { allowed_paths: vec!["src/**".to_owned()], ..ConvergencePolicy::default() };
    for (steps, most) in [
        (vec![step("a"), step("b"), step("c")], 3),
        (vec![step("a"), ruled("b", ConvergencePolicy::default()), step("c")], 3),
        (vec![step("a"), needs_change("b"), step("c")], 2),
        (vec![needs_change("a"), step("b"), step("c")], 2),
        (vec![needs_change("a"), needs_change("b")], 1),
        (vec![step("a"), ruled("b", within())], 1),
        (
            vec![
                ruled("a", ConvergencePolicy { max_changed_files: Some(1), ..ConvergencePolicy::default() }),
                step("b"),
            ],
            1,
        ),
        (vec![step("a"), calls("b", vec![needs_change("x")])], 1),
        (vec![step("a"), calls("b", vec![step("x")])], 2),
    ] {
        let names: Vec<&str> = steps.iter().map(|step| step.id.as_str()).collect();
        let shown = format!("{names:?} {most}");
        let mut world = World::start(Workflow::of_steps(steps), Script::default());
        world.play();
        assert_eq!(
            (world.most_in_flight, world.state.outcome()),
            (most, Some(RunOutcome::Complete)),
            "{shown}"
        );
    }
}

#[test]
fn step_judged_by_its_changes_also_runs_alone_after_resume() {
    let fails_once = || vec![Behavior::Exits(3, String::new()), Behavior::Exits(0, String::new())];
    let steps = vec![needs_change("a"), step("b"), needs_change("c")];
    let all = [("a", fails_once()), ("b", fails_once()), ("c", fails_once())];
    let mut world = World::start(Workflow::of_steps(steps), script(&all));
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::WorkerFailed));
    world.give(Observation::RunResumed(RunResumed::default())).expect("it can go on");
    world.play();
    assert_eq!((world.most_in_flight, world.state.outcome()), (1, Some(RunOutcome::Complete)));
}

#[test]
fn a_step_that_has_not_begun_waits_for_those_before_it_or_at_work() {
    let after = |on: &str, id: &str| Step { depends_on: vec![StepId::from(on)], ..step(id) };
    for (steps, concurrency, want) in [
        (vec![step("a"), step("b"), after("b", "c")], None, ["", "", "b"]),
        (vec![step("a"), step("b"), step("c")], Some(2), ["", "", "a b"]),
        (vec![needs_change("a"), step("b"), after("b", "c")], None, ["", "a", "b"]),
        (vec![step("a"), needs_change("b"), step("c")], None, ["", "a c", ""]),
    ] {
        let workflow = Workflow { concurrency, ..Workflow::of_steps(steps.clone()) };
        let world = World::start(workflow, Script::default());
        let waits = |step: &Step| {
            world.state.waits_for(step).into_iter().map(StepId::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(steps.iter().map(waits).collect::<Vec<_>>(), want, "{steps:?}");
    }
}

const ID: &str = "0190a000-0000-7000-8000-000000000001";

/// Ends the first attempt of a step with this act.
fn end(world: &mut World, id: &str, act: &Behavior) {
    let due = TurnId { step: StepId::from(id), iteration: Iteration(1), attempt: Attempt(1) };
    world.give(finished_event(&due, false, act, Some(&CheckId::new(ID)))).expect("it is in flight");
}

#[test]
fn a_verdict_without_an_id_in_a_file_of_two_is_nobodys() {
    let bare = || Behavior::Writes(0, r#"{"decision":"complete"}"#.to_owned());
    let claims = |id: &str| step(id).with_check(CheckMethod::Claim, 1);
    let after = |on: &str, id: &str| Step { depends_on: vec![StepId::from(on)], ..claims(id) };
    for (act, second, concurrency, want) in [
        (bare(), claims("b"), None, RunOutcome::IterationLimit),
        (says("complete"), claims("b"), None, RunOutcome::Complete),
        (bare(), claims("b"), Some(1), RunOutcome::Complete),
        (bare(), after("a", "b"), None, RunOutcome::Complete),
        (bare(), Step { require_change: true, ..claims("b") }, None, RunOutcome::Complete),
        (bare(), calls("b", vec![claims("x")]), None, RunOutcome::IterationLimit),
        (says("complete"), calls("b", vec![claims("x")]), None, RunOutcome::Complete),
    ] {
        let steps = vec![claims("a"), second];
        let workflow = Workflow { concurrency, ..Workflow::of_steps(steps) };
        let mut world = World::start(workflow, script(&[("a", vec![act.clone()]), ("b", vec![act.clone()])]));
        world.play();
        assert_eq!(world.state.outcome(), Some(want), "{act:?} {concurrency:?}");
    }
}

/// Returns a run with this token budget in which `a` needs a person while `b` is running.
fn blocked_beside_work(tokens: Option<u64>) -> World {
    let steps = vec![
        step("a").with_check(CheckMethod::Claim, 3),
        step("b").with_check(CheckMethod::Claim, 3),
        Step { depends_on: vec![StepId::from("b")], ..step("c") },
    ];
    let all = [("a", vec![says("complete")]), ("b", vec![says("complete")])];
    let budget = Budget { tokens, accepts_unknown: true, ..Budget::default() };
    let mut world = World::start(Workflow { budget, ..Workflow::of_steps(steps) }, script(&all));
    for effect in world.state.pending_effects() {
        let Effect::Perform(_, due) = effect else { continue };
        let mut begun = started_event(&world.state, &due, false, CheckId::new(ID), Digest::sha256(b""));
        if let Observation::WorkerStarted(begun) = &mut begun {
            let (client, argv) = ("claude".to_owned(), Vec::new());
            begun.call = Some(Box::new(Call { client, session: None, continues: false, argv }));
        }
        world.give(begun).expect("it is due");
    }
    end(&mut world, "a", &says("blocked"));
    assert!(matches!(world.state.phase(), RunPhase::Stopping(RunOutcome::Blocked, _)));
    world
}

#[test]
fn running_step_finishes_while_another_needs_a_person() {
    let mut world = blocked_beside_work(None);
    assert!(world.state.in_flight().map(|(step, _)| step.id.as_str()).eq(["b"]));
    assert_eq!(world.state.pending_effects(), []);
    end(&mut world, "b", &says("complete"));
    assert_eq!(world.state.outcome(), Some(RunOutcome::Blocked));
    let pending = world.state.steps().filter(|(_, at)| at.phase == StepPhase::Pending);
    assert!(pending.map(|(step, _)| step.id.as_str()).eq(["c"]), "nothing new begins");
    world
        .give(Observation::AnswerGiven(AnswerGiven { text: "done".to_owned(), steps: Vec::new() }))
        .expect("it was asked");
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::Complete));
    assert_eq!(world.worker_calls.get(&StepId::from("b")), None, "what it did is not done again");
}

#[test]
fn an_answer_goes_to_the_blocked_step_that_it_is_for() {
    let mut world = blocked_beside_work(None);
    end(&mut world, "b", &says("blocked"));
    let answer = |steps: &[&str]| {
        let steps = steps.iter().copied().map(StepId::from).collect();
        Observation::AnswerGiven(AnswerGiven { text: "the key is blue".to_owned(), steps })
    };
    for other in ["c", "d"] {
        assert_eq!(world.give(answer(&["a", other])), Err(Rejection::NotBlocked(StepId::from(other))));
    }
    world.give(answer(&["a"])).expect("it was asked");
    let told = world.state.steps().filter(|(_, at)| !at.feedback.from_person.is_empty());
    assert!(told.map(|(step, _)| step.id.as_str()).eq(["a"]), "nobody else is told");
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::Blocked), "the other one still waits");
    let calls = |world: &World, id| world.worker_calls.get(&StepId::from(id)).copied();
    assert_eq!((calls(&world, "a"), calls(&world, "b")), (Some(1), None));
    world.give(answer(&[])).expect("it was asked");
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::Complete));
    assert_eq!((calls(&world, "a"), calls(&world, "b")), (Some(1), Some(1)));
}

#[test]
fn it_is_still_stopped_by_a_person_and_by_the_bounds_of_the_run() {
    let stop_b = [Effect::Stop(StepId::from("b"))];
    let mut world = blocked_beside_work(None);
    world.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).expect("it runs");
    assert_eq!(world.state.pending_effects(), stop_b);

    let mut world = blocked_beside_work(None);
    let limit = world.state.next_deadline().expect("the time of the run has an end");
    world.pass_to(Timestamp(limit.0 + 1));
    world.give(Observation::DeadlinePassed).expect("it runs");
    assert_eq!(world.state.pending_effects(), stop_b);
    assert!(matches!(world.state.phase(), RunPhase::Stopping(RunOutcome::TimeLimit, _)));
    assert_eq!(world.state.next_deadline(), None);

    for (used, expected) in [(90, &[][..]), (110, &stop_b)] {
        let mut world = blocked_beside_work(Some(100));
        let usage = Some(Usage { output: used, ..Usage::default() });
        let told = WorkerProgressed {
            step: StepId::from("b"),
            iteration: Iteration(1),
            attempt: Attempt(1),
            progress: Box::new(Progress { usage, ..Progress::default() }),
        };
        world.give(Observation::WorkerProgressed(told)).expect("it is in flight");
        assert_eq!(world.state.pending_effects(), expected, "{used} tokens");
    }
}
