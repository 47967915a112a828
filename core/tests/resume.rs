//! Resuming a run after each kind of end, and what must not count while the run is stopped.

use std::collections::BTreeMap;

use unstuck_core::decide::Rejection;
use unstuck_core::event::{
    AttemptLost, Conclusion, Exit, Fact, LogRepaired, MachineSuspended, Outcome, RunInterrupted, RunOutcome,
    RunResumed, SnapshotMoment, SnapshotTaken, StepEnd, WaitReason, WorkerFinished, WorkerStarted,
    WorkflowChange,
};
use unstuck_core::id::{Attempt, Blob, CheckId, Digest, Iteration, Millis, StepId, Timestamp};
use unstuck_core::state::{RunPhase, WorkspaceChange};
use unstuck_core::testing::{Behavior, Script, World, run_started, script_worker, snapshot, step};
use unstuck_core::workflow::{CheckMethod, ConvergencePolicy, Step, WorkerKind, Workflow};
use unstuck_core::{Observation, RunState};

const ID: &str = "0190a000-0000-7000-8000-000000000001";

fn incomplete() -> Behavior {
    Behavior::Writes(0, r#"{"decision":"incomplete","check_id":"{id}"}"#.to_owned())
}

fn complete() -> Behavior {
    Behavior::Writes(0, r#"{"decision":"complete","check_id":"{id}"}"#.to_owned())
}

fn scripted(work: &[(&str, Vec<Behavior>)]) -> Script {
    let work: BTreeMap<StepId, Vec<Behavior>> =
        work.iter().map(|(id, acts)| (StepId::from(*id), acts.clone())).collect();
    Script { work, ..Script::default() }
}

fn resumed(add_iterations: u32) -> Observation {
    Observation::RunResumed(RunResumed { add_iterations, ..RunResumed::default() })
}

fn begin(world: &mut World, id: &str) {
    begin_with(world, id, None);
}

fn begin_with(world: &mut World, id: &str, content: Option<u8>) {
    let (_, at) = world.state.step(&StepId::from(id)).expect("a step");
    let started = WorkerStarted {
        step: StepId::from(id),
        iteration: at.iteration(),
        attempt: at.attempt(),
        prompt: Blob { digest: Digest::sha256(b""), size: 0 },
        limit: Millis(1),
        check_id: Some(CheckId::new(ID)),
        moved_aside: None,
        templates: Vec::new(),
        call: None,
        registry: None,
        snapshot: content.map(|content| Box::new(snapshot(content))),
    };
    world.give(Observation::WorkerStarted(started)).expect("work is due");
}

fn stop(world: &mut World, id: &str, changed: Option<bool>) {
    stop_with(world, id, changed, None);
}

fn stop_with(world: &mut World, id: &str, changed: Option<bool>, content: Option<u8>) {
    let (_, at) = world.state.step(&StepId::from(id)).expect("a step");
    let (step, iteration, attempt) = (StepId::from(id), at.iteration(), at.attempt());
    let outcome = Outcome::from_exit(Exit::Stopped);
    let decision_file = unstuck_core::event::DecisionFile::NotConfigured;
    let finished = WorkerFinished {
        step,
        iteration,
        attempt,
        outcome,
        decision_file,
        changed,
        snapshot: content.map(|content| Box::new(snapshot(content))),
        drift: None,
        diffstat: None,
        answer: None,
        wants_repeat: false,
    };
    world.give(Observation::WorkerFinished(finished)).expect("a worker is in flight");
}

#[test]
fn a_change_that_a_stopped_worker_made_is_a_change() {
    let looped = Step { require_change: true, ..step("a").with_check(CheckMethod::Claim, 3) };
    let mut world = World::start(Workflow::of_steps(vec![looped]), scripted(&[("a", vec![complete()])]));
    begin(&mut world, "a");
    world.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).expect("a run can be interrupted");
    stop(&mut world, "a", Some(true));
    assert_eq!(world.state.outcome(), Some(RunOutcome::Interrupted(2)));
    assert_eq!(world.state.steps().next().expect("a step").1.workspace.changed, WorkspaceChange::Yes);
}

#[test]
fn interrupted_run_resumes_although_another_step_is_at_its_limit() {
    let steps = vec![step("a").with_check(CheckMethod::Claim, 2), step("b")];
    let mut world = World::start(Workflow::of_steps(steps), scripted(&[("a", vec![incomplete()])]));
    begin(&mut world, "b");
    // Play a to its limit by hand: b stays in flight.
    for _ in 0..2 {
        begin(&mut world, "a");
        finish(&mut world, "a", &incomplete());
    }
    world.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).expect("a run can be interrupted");
    stop(&mut world, "b", None);
    assert_eq!(world.state.outcome(), Some(RunOutcome::Interrupted(2)));
    world.give(resumed(0)).expect("b can go on");
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::IterationLimit));
    assert_eq!(world.give(resumed(0)), Err(Rejection::NeedsIterations));
    world.give(resumed(1)).expect("with an iteration more a can go on");
}

#[test]
fn unseen_changes_after_a_worker_may_be_its_own() {
    let mut world = World::start(Workflow::of_steps(vec![step("a")]), Script::default());
    let look = |content, moment| {
        Observation::SnapshotTaken(SnapshotTaken { snapshot: Box::new(snapshot(content)), moment })
    };
    world.give(look(1, SnapshotMoment::Resumed)).expect("always");
    assert!(!world.state.may_have_changed_workspace(), "nothing has run");
    begin(&mut world, "a");
    assert!(world.state.may_have_changed_workspace(), "it is under way");
    stop(&mut world, "a", None);
    assert!(world.state.may_have_changed_workspace(), "no snapshot was taken after it");
    world.give(look(2, SnapshotMoment::Ended)).expect("always");
    assert!(!world.state.may_have_changed_workspace(), "now somebody has looked");
}

#[test]
fn changes_by_others_between_turns_are_kept_apart() {
    let rules = ConvergencePolicy { allowed_paths: vec!["src".to_owned()], ..ConvergencePolicy::default() };
    let ruled = Step { convergence: Some(rules), ..step("a") };
    let look = |content, moment| {
        Observation::SnapshotTaken(SnapshotTaken { snapshot: Box::new(snapshot(content)), moment })
    };
    for (what, first, left, at_rest, accepted, found, expected) in [
        ("nobody changed anything", &ruled, Some(2), None, None, 2, &[][..]),
        ("a person, accepted", &ruled, Some(2), None, Some(3), 3, &[(2, 3)]),
        ("a person, found by the worker", &ruled, Some(2), None, None, 3, &[(2, 3)]),
        ("nobody could look when it ended", &ruled, None, Some(2), Some(3), 3, &[(2, 3)]),
        ("nobody looked, so it is the step's", &ruled, None, None, None, 3, &[]),
        ("it has no rules", &step("a"), Some(2), None, Some(3), 3, &[]),
    ] {
        let mut world = World::start(Workflow::of_steps(vec![first.clone()]), Script::default());
        begin_with(&mut world, "a", Some(1));
        world.give(Observation::RunInterrupted(RunInterrupted { signal: 2 })).expect("it can be interrupted");
        stop_with(&mut world, "a", None, left);
        at_rest
            .into_iter()
            .for_each(|content| world.give(look(content, SnapshotMoment::Ended)).expect("always"));
        world.give(resumed(0)).expect("it was interrupted");
        accepted
            .into_iter()
            .for_each(|content| world.give(look(content, SnapshotMoment::Resumed)).expect("always"));
        begin_with(&mut world, "a", Some(found));
        assert_eq!(gaps(&world, "a"), named(expected), "{what}");
    }

    // Changes by a lost attempt belong to its step.
    let mut world = World::start(Workflow::of_steps(vec![ruled.clone()]), Script::default());
    begin_with(&mut world, "a", Some(1));
    world.give(resumed(0)).expect("its supervisor died");
    world.give(look(2, SnapshotMoment::Resumed)).expect("always");
    let (step_id, iteration, attempt) = (StepId::from("a"), Iteration(1), Attempt(1));
    let lost = AttemptLost { step: step_id, iteration, attempt, processes_ended: 0 };
    world.give(Observation::WorkerLost(lost)).expect("it is in flight");
    begin_with(&mut world, "a", Some(2));
    assert_eq!(gaps(&world, "a"), []);

    // Another step starts after its end.
    let ruled = ruled.with_check(CheckMethod::Claim, 1);
    let mut world = World::start(Workflow::of_steps(vec![ruled, step("b")]), Script::default());
    begin_with(&mut world, "a", Some(1));
    finish(&mut world, "a", &incomplete());
    begin_with(&mut world, "b", Some(2));
    finish(&mut world, "b", &complete());
    world.give(look(3, SnapshotMoment::Ended)).expect("always");
    world.give(resumed(1)).expect("it has an iteration more");
    begin_with(&mut world, "a", Some(3));
    assert_eq!(gaps(&world, "a"), named(&[(2, 3)]));
}

#[test]
fn changes_of_a_lost_attempt_and_of_a_person_are_kept_apart() {
    let rules = ConvergencePolicy { allowed_paths: vec!["src".to_owned()], ..ConvergencePolicy::default() };
    let look = |content, moment| {
        Observation::SnapshotTaken(SnapshotTaken { snapshot: Box::new(snapshot(content)), moment })
    };
    for (convergence, expected) in [(Some(rules), &[(2, 3)][..]), (None, &[])] {
        let of_step = Step { convergence, ..step("a") };
        let mut world = World::start(Workflow::of_steps(vec![of_step]), Script::default());
        begin_with(&mut world, "a", Some(1));
        assert!(world.state.may_have_changed_workspace(), "it is under way");
        world.give(look(2, SnapshotMoment::Abandoned)).expect("always");
        assert!(!world.state.may_have_changed_workspace(), "what changes now is of somebody else");
        world.give(resumed(0)).expect("its supervisor died");
        let (step_id, iteration, attempt) = (StepId::from("a"), Iteration(1), Attempt(1));
        let lost = AttemptLost { step: step_id, iteration, attempt, processes_ended: 0 };
        world.give(Observation::WorkerLost(lost)).expect("it is in flight");
        world.give(look(3, SnapshotMoment::Resumed)).expect("always");
        begin_with(&mut world, "a", Some(3));
        assert!(world.state.may_have_changed_workspace(), "another attempt is under way");
        assert_eq!(gaps(&world, "a"), named(expected));
        let at = |world: &World| world.state.step(&StepId::from("a")).expect("a step").1.clone();
        let work: Vec<_> =
            at(&world).workspace.lost_work.iter().map(|lost| (lost.before.work, lost.after.work)).collect();
        assert_eq!(work, named(&[(1, 2)]));
        assert_eq!(at(&world).workspace.works_from.map(|snapshot| snapshot.work), Some(snapshot(3).work));
        assert_eq!(
            at(&world).workspace.changed,
            WorkspaceChange::default(),
            "what it changed is known, and counts later"
        );
        stop(&mut world, "a", Some(true));
        assert_eq!(at(&world).workspace.lost_work, []);
    }
}

fn finish(world: &mut World, id: &str, act: &Behavior) {
    let (_, at) = world.state.step(&StepId::from(id)).expect("a step");
    let due =
        unstuck_core::TurnId { step: StepId::from(id), iteration: at.iteration(), attempt: at.attempt() };
    let finished = unstuck_core::testing::finished_event(&due, false, act, Some(&CheckId::new(ID)));
    world.give(finished).expect("a worker is in flight");
}

fn gaps(world: &World, id: &str) -> Vec<(Digest, Digest)> {
    let (_, at) = world.state.step(&StepId::from(id)).expect("a step");
    at.workspace.gaps.iter().map(|gap| (gap.left.work, gap.found.work)).collect()
}

fn named(gaps: &[(u8, u8)]) -> Vec<(Digest, Digest)> {
    gaps.iter().map(|&(left, found)| (snapshot(left).work, snapshot(found).work)).collect()
}

#[test]
fn a_pause_counts_neither_as_time_of_the_run_nor_when_its_log_is_repaired() {
    let workflow = Workflow { timeout: Millis::from_secs(12), ..Workflow::of_steps(vec![step("a")]) };
    let mut world = World::start(workflow, Script::default());
    world.pass_to(Timestamp(world.state.last_at().0 + 1_000_000));
    world.give(Observation::LogRepaired(LogRepaired { what: "a tail".to_owned() })).expect("always");
    assert_eq!(*world.state.phase(), RunPhase::Active, "a repair ends nothing");
    world.give(resumed(0)).expect("the run was left");
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::Complete));
}

/// Suspends the machine, with or without an event.
fn suspend(world: &mut World, secs: u64, is_told: bool) {
    let length = Millis::from_secs(secs);
    world.pass_to(world.state.last_at().after(length));
    if is_told {
        world.give(Observation::Suspended(MachineSuspended { length })).expect("the run is under way");
    }
}

#[test]
fn a_run_whose_machine_is_suspended_uses_no_time() {
    for (is_told, end) in [(true, RunOutcome::Complete), (false, RunOutcome::TimeLimit)] {
        let workflow = Workflow { timeout: Millis::from_secs(12), ..Workflow::of_steps(vec![step("a")]) };
        let mut world = World::start(workflow, Script::default());
        begin(&mut world, "a");
        suspend(&mut world, 1_000, is_told);
        stop(&mut world, "a", None);
        world.play();
        assert_eq!(world.state.outcome(), Some(end), "told: {is_told}");
    }
}

#[test]
fn suspend_during_a_wait_is_not_counted_twice() {
    let limited = Behavior::Exits(1, "error: rate limit exceeded, retry after 60s".to_owned());
    let workflow = Workflow { timeout: Millis::from_secs(600), ..Workflow::of_steps(vec![step("a")]) };
    let acts = vec![limited, Behavior::Exits(0, String::new())];
    let mut world = World::start(workflow, scripted(&[("a", acts)]));
    world.play_until(RunState::is_waiting);
    // The scripted world takes a little time for each command.
    let is_about = |span: Millis, other: Millis| span.0.abs_diff(other.0) <= 50;
    let left = |world: &World| world.state.time_limit().expect("a limit").since(world.state.last_at());
    let before = left(&world);
    let waits = world.state.next_deadline().expect("a wait").since(world.state.last_at());

    suspend(&mut world, 20, true);
    assert!(
        is_about(left(&world), before.minus(Millis::from_secs(20))),
        "twenty seconds of the wait are over"
    );
    suspend(&mut world, 1_000, true);
    assert!(is_about(left(&world), before.minus(waits)), "and then all of it");
    assert!(world.state.next_deadline() <= Some(world.state.last_at()), "it is over now");
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::Complete));
}

#[test]
fn a_service_that_says_retry_at_once_is_asked_less_and_less_and_not_for_ever() {
    let limited = Behavior::Exits(1, "error: rate limit exceeded, retry after 0s".to_owned());
    let workflow = Workflow { outage_budget: Millis::from_secs(60), ..Workflow::of_steps(vec![step("a")]) };
    let mut world = World::start(workflow, scripted(&[("a", vec![limited])]));
    world.play();
    let waits: Vec<u64> = world
        .history
        .events
        .iter()
        .filter_map(|event| match &event.fact {
            Fact::Concluded(Conclusion::WaitRequested(wait))
                if matches!(wait.why, WaitReason::Weather(_)) =>
            {
                Some(wait.until.since(event.at).0)
            }
            _ => None,
        })
        .collect();
    assert!(waits.len() < 5 && waits.windows(2).all(|pair| pair[1] > pair[0]), "{waits:?}");
    assert!(waits.iter().sum::<u64>() <= 60_000, "{waits:?}");
    assert_eq!(world.state.outcome(), Some(RunOutcome::WorkerFailed));
}

#[test]
fn blocked_names_the_step_that_is_and_a_plain_resume_asks_for_the_answer() {
    let blocked =
        Behavior::Writes(0, r#"{"decision":"blocked","check_id":"{id}","needs":"login"}"#.to_owned());
    let steps = vec![step("a"), step("b").with_check(CheckMethod::Claim, 3)];
    let script = scripted(&[("a", vec![Behavior::Exits(127, String::new())]), ("b", vec![blocked])]);
    let mut world = World::start(Workflow::of_steps(steps), script);
    world.play();
    let Some(Fact::Concluded(Conclusion::RunEnded(ended))) =
        world.history.events.last().map(|event| &event.fact)
    else {
        panic!("the run has ended")
    };
    assert_eq!((ended.outcome, ended.step.as_ref().map(StepId::as_str)), (RunOutcome::Blocked, Some("b")));
    assert_eq!(world.give(resumed(5)), Err(Rejection::NeedsAnswer));
}

#[test]
fn a_failed_checker_without_the_id_costs_no_iteration() {
    let says = |text: &str| Behavior::Exits(1, text.to_owned());
    let by = CheckMethod::Agent(script_worker(WorkerKind::Command, "check it"));
    let script = Script {
        checks: [(StepId::from("a"), vec![says("error: connect ECONNREFUSED\nINCOMPLETE"), complete()])]
            .into(),
        ..Script::default()
    };
    let mut world = World::start(Workflow::of_steps(vec![step("a").with_check(by, 3)]), script);
    world.play();
    let (_, at) = world.state.step(&StepId::from("a")).expect("a step");
    assert_eq!((at.iteration(), at.phase.end()), (Iteration(1), Some(&StepEnd::Complete)));
}

#[test]
fn a_check_that_a_signal_ended_is_asked_again_however_the_shell_reports_it() {
    let by = || CheckMethod::Exit(script_worker(WorkerKind::Custom, "true"));
    for first in [Behavior::Dies(9), Behavior::Exits(137, String::new()), Behavior::Exits(143, String::new())]
    {
        let checks = vec![first.clone(), Behavior::Exits(0, String::new())];
        let script = Script { checks: [(StepId::from("a"), checks)].into(), ..Script::default() };
        let mut world = World::start(Workflow::of_steps(vec![step("a").with_check(by(), 3)]), script);
        world.play();
        assert_eq!(world.state.outcome(), Some(RunOutcome::Complete), "{first:?}");
    }
}

#[test]
fn run_out_of_time_resumes_with_added_or_renewed_time() {
    let order = |add_time, renews_time| RunResumed {
        add_time: Millis(add_time),
        renews_time,
        ..RunResumed::default()
    };
    for (order, expected) in [
        (order(0, false), Err(Rejection::NeedsTime)),
        (order(500, false), Ok(500)),
        (order(0, true), Ok(60_000)),
        (order(500, true), Ok(60_500)),
    ] {
        let mut world = World::start(
            Workflow { timeout: Millis(60_000), ..Workflow::of_steps(vec![step("a")]) },
            scripted(&[]),
        );
        begin(&mut world, "a");
        let limit = world.state.time_limit().expect("it has one");
        world.pass_to(limit);
        world.give(Observation::DeadlinePassed).expect("it runs");
        stop(&mut world, "a", None);
        assert_eq!(world.state.outcome(), Some(RunOutcome::TimeLimit));
        let late = world.state.last_at().since(limit);
        let went_on = world.give(Observation::RunResumed(order.clone()));
        let left = world.state.time_limit().expect("it has one").since(world.state.last_at());
        assert_eq!(went_on.map(|()| left.plus(late).0), expected, "{order:?}");
    }
}

fn changed(change: impl FnOnce(&mut Workflow)) -> Observation {
    let mut workflow = loop_of_two();
    change(&mut workflow);
    let change = WorkflowChange { workflow, made: vec!["by a person".to_owned()], digest: None };
    Observation::RunResumed(RunResumed { change: Some(Box::new(change)), ..RunResumed::default() })
}

/// A loop that may have two iterations, and a step that never begins before its end.
fn loop_of_two() -> Workflow {
    let after = Step { depends_on: vec!["work".into()], ..step("after") };
    Workflow::of_steps(vec![step("work").with_check(CheckMethod::Claim, 2), after])
}

#[test]
fn a_resume_may_change_the_workflow_but_not_what_has_begun() {
    let mut world = World::start(loop_of_two(), scripted(&[("work", vec![incomplete(); 9])]));
    world.play();
    assert_eq!(world.state.outcome(), Some(RunOutcome::IterationLimit));
    let conflict = Err(Rejection::StepConflict("work".into()));
    assert_eq!(world.give(changed(|_| {})), Err(Rejection::NeedsIterations));
    assert_eq!(world.give(changed(|workflow| workflow.steps[0].id = "other".into())), conflict);
    assert_eq!(world.give(changed(|workflow| workflow.steps[0].check = None)), conflict);
    let order = changed(|workflow| {
        workflow.steps[0].max_iterations = 4;
        workflow.steps[1].id = "instead".into();
        workflow.steps.rotate_left(1);
    });
    world.give(order).expect("what has begun stays");
    world.play();
    let steps: Vec<&str> = world.state.steps().map(|(step, _)| step.id.as_str()).collect();
    assert_eq!(steps, ["instead", "work"]);
    let (_, at) = world.state.step(&"work".into()).expect("it stays");
    assert_eq!(at.iteration(), Iteration(4));
}

#[test]
fn a_workspace_that_moves_takes_its_workflow_file_along() {
    for (file, expected) in [("/w/flow.yaml", "/new/flow.yaml"), ("/wide/flow.yaml", "/wide/flow.yaml")] {
        let mut started = run_started(loop_of_two());
        "/w".clone_into(&mut started.workspace);
        started.workflow_file = Some(file.to_owned());
        started.move_workspace("/new");
        assert_eq!((&*started.workspace, started.workflow_file.as_deref()), ("/new", Some(expected)));
    }
}
