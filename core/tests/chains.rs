//! Fallback chains: which worker is called, which one the run waits for, and the end if none is available.

use unstuck_core::RunState;
use unstuck_core::event::{Conclusion, Fact, Observation, StepEnd};
use unstuck_core::id::{Millis, StepId};
use unstuck_core::testing::{Behavior, Script, World, script_worker, step};
use unstuck_core::workflow::{CheckMethod, OnFailure, OutagePolicy, Step, StepKind, WorkerKind, Workflow};

/// Reaction of a worker in a chain.
#[derive(Clone, Copy)]
enum Says {
    /// It is limited for this number of seconds.
    Limited(u32),
    /// It is limited, and does not report for how long.
    LimitedForSomeTime,
    /// It does its work.
    Done,
}

use Says::{Done, Limited, LimitedForSomeTime};

fn act(says: Says) -> Behavior {
    match says {
        Limited(seconds) => Behavior::Exits(1, format!("error: rate limit exceeded, retry after {seconds}s")),
        LimitedForSomeTime => Behavior::Exits(1, "error: rate limit exceeded".to_owned()),
        Done => Behavior::Exits(0, "done".to_owned()),
    }
}

/// Plays a chain of three with these reactions, one after the other, and returns the workers called, and each wait in
/// seconds; a short one is a pause.
fn played(says: &[Says], kicks: bool) -> String {
    let mut chain = step("a");
    let StepKind::Worker(worker) = &mut chain.work else { panic!("a worker does it") };
    worker.fallback = vec![worker.clone(), worker.clone()];
    let workflow =
        Workflow { outage_budget: Millis::from_secs(1_000_000), ..Workflow::of_steps(vec![chain]) };
    let work = [(StepId::from("a"), says.iter().copied().map(act).collect())].into();
    let mut world = World::start(workflow, Script { work, ..Script::default() });
    if kicks {
        world.play_until(RunState::is_waiting);
        world.give(Observation::Kicked).expect("it waits");
    }
    world.play();
    let mut place = 0;
    let told = world.history.events.iter().filter_map(|event| match &event.fact {
        Fact::Concluded(Conclusion::FallbackTaken(taken)) => {
            place = taken.to;
            None
        }
        Fact::Observed(Observation::Kicked) => {
            place = 0;
            None
        }
        Fact::Concluded(Conclusion::WaitRequested(wait)) => {
            let seconds = (wait.until.since(event.at).0 + 500) / 1000;
            Some(if seconds < 60 { "pause".to_owned() } else { format!("{seconds}s") })
        }
        Fact::Observed(Observation::WorkerStarted(_)) => Some(["a", "b", "c"][place as usize].to_owned()),
        _ => None,
    });
    told.collect::<Vec<_>>().join(" ")
}

#[test]
fn run_waits_for_the_chain_member_that_is_free_first() {
    let cases: &[(&[Says], &str)] = &[
        (&[Limited(3600), Done], "a b"),
        (&[Limited(7200), Limited(3600), Limited(9000), Done], "a b c 3600s b"),
        (&[Limited(3600), Limited(7200), Limited(9000), Done], "a b c 3600s a"),
        (&[Limited(9000), Limited(7200), Limited(3600), Done], "a b c 3600s c"),
        (&[Limited(3600), Limited(3600), Limited(3600), Done], "a b c 3600s a"),
        // A worker without a reset time is called after a pause, the first one first.
        (&[Limited(3600), LimitedForSomeTime, LimitedForSomeTime, Done], "a b c pause b"),
        (&[LimitedForSomeTime, LimitedForSomeTime, LimitedForSomeTime, Done], "a b c pause a"),
        // A worker that is known to be limited is not called meanwhile.
        (&[Limited(7200), Limited(3600), Limited(9000), Limited(100), Done], "a b c 3600s b 100s b"),
        (&[Limited(7200), Limited(3600), Limited(9000), Limited(9000), Done], "a b c 3600s b 3600s a"),
        (&[Limited(7200), Limited(3600), Limited(3600), Limited(9000), Done], "a b c 3600s b c"),
        // A past time is ignored, and no round goes without a pause.
        (&[Limited(0), Limited(0), Limited(0), Limited(0), Done], "a b c pause a b"),
    ];
    for (says, expected) in cases {
        assert_eq!(played(says, false), *expected);
    }
}

#[test]
fn a_service_that_is_not_waited_for_is_named_as_the_end() {
    for (on_outage, budget, says, expected) in [
        (OutagePolicy::Stop, 1000, &[LimitedForSomeTime][..], "not waited for: on_outage: fail"),
        (
            OutagePolicy::Wait,
            1000,
            &[Limited(3600)],
            "not waited for: 1 h is longer than the outage budget of 16 min 40 s",
        ),
        (
            OutagePolicy::Wait,
            1000,
            &[Limited(600), Limited(600)],
            "not waited for: another 10 min does not fit in the outage budget of 16 min 40 s: 10 min of it are used up",
        ),
    ] {
        let outage_budget = Millis::from_secs(budget);
        // Without waiting there is no other call, even if failures are retried.
        let step = Step { on_failure: OnFailure::Retry, max_retries: 3, ..step("a") };
        let workflow = Workflow { on_outage, outage_budget, ..Workflow::of_steps(vec![step]) };
        let more = [Done].iter();
        let work = [(StepId::from("a"), says.iter().chain(more).copied().map(act).collect())].into();
        let mut world = World::start(workflow, Script { work, ..Script::default() });
        world.play();
        let ended = world.history.events.iter().find_map(|event| match &event.fact {
            Fact::Concluded(Conclusion::StepEnded(ended)) => Some(&ended.end),
            _ => None,
        });
        let Some(StepEnd::WorkerFailed(failure)) = ended else { panic!("{ended:?}") };
        assert!(failure.message.contains(expected), "{}", failure.message);
    }
}

#[test]
fn a_checker_that_is_not_waited_for_is_asked_once() {
    let by = CheckMethod::Agent(script_worker(WorkerKind::Command, "check it"));
    let step = Step { on_failure: OnFailure::Retry, max_retries: 3, ..step("a").with_check(by, 3) };
    let workflow = Workflow { on_outage: OutagePolicy::Stop, ..Workflow::of_steps(vec![step]) };
    let checks = [(StepId::from("a"), vec![act(LimitedForSomeTime), act(Done)])].into();
    let mut world = World::start(workflow, Script { checks, ..Script::default() });
    world.play();
    let (_, at) = world.state.step(&StepId::from("a")).expect("a step");
    let Some(StepEnd::CheckCouldNotRun(failure)) = at.phase.end() else { panic!("{:?}", at.phase) };
    assert!(failure.message.contains("not waited for: on_outage: fail"), "{}", failure.message);
}

#[test]
fn a_kick_has_all_of_the_chain_tried() {
    let at_first = [Limited(7200), Limited(3600), Limited(9000)];
    for (then, expected) in [
        (&[Done][..], "a b c 3600s a"),
        (&[Limited(7200), Limited(3600), Done], "a b c 3600s a b c"),
        (&[Limited(7200), Limited(3600), Limited(60), Done], "a b c 3600s a b c 60s c"),
    ] {
        assert_eq!(played(&[&at_first, then].concat(), true), expected);
    }
}
