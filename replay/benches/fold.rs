//! How fast a log is folded, and decided again. `cargo bench -p unstuck-replay`.

use std::hint::black_box;
use std::time::Instant;

use unstuck_core::event::Fact;
use unstuck_core::id::StepId;
use unstuck_core::testing::{Behavior, Script, World, script_worker, step};
use unstuck_core::workflow::{CheckMethod, WorkerKind, Workflow};
use unstuck_core::{Event, RunState};

/// Iterations of the loop whose log is folded: a million events.
const ITERATIONS: u32 = 143_000;

fn main() {
    let history = history(ITERATIONS);
    let bytes: usize =
        history.iter().map(|event| serde_json::to_vec(event).map_or(0, |json| json.len())).sum();
    println!("log of {} events, {} bytes of JSON each on average", history.len(), bytes / history.len());

    let folded = best_of(5, || {
        let state = history.iter().fold(RunState::default(), RunState::evolve);
        assert_eq!(state.anomalies(), 0, "every event does its work");
        black_box(state.version());
    });
    report("fold", history.len(), folded);

    let copied = best_of(5, || {
        black_box(history.clone());
    });
    report("limit: copying the same events", history.len(), copied);
    println!("  fold / copy: {:.2}", copied / folded);

    let decisions = history.iter().filter(|event| matches!(event.fact, Fact::Observed(_))).count();
    let decided = best_of(3, || {
        let mut state = RunState::default();
        let mut at = 0;
        while at < history.len() {
            let Fact::Observed(command) = &history[at].fact else {
                panic!("a batch begins with an observation")
            };
            let batch = state.decide(command.clone(), history[at].at).expect("it was admitted before");
            at += batch.len();
            state = batch.iter().fold(state, RunState::evolve);
        }
        black_box(state.version());
    });
    report("decide again", decisions, decided);
}

/// A loop of so many iterations with a check that finds something else each time.
fn history(iterations: u32) -> Vec<Event> {
    let id = StepId::from("fix");
    let looped = step("fix")
        .with_check(CheckMethod::Agent(script_worker(WorkerKind::Command, "check it")), iterations);
    let verdict = r#"{"decision":"incomplete","check_id":"{id}","reasons":["2 tests fail"],"fingerprints":["test:a","test:b"]}"#;
    let script =
        Script { checks: [(id, vec![Behavior::Writes(0, verdict.to_owned())])].into(), ..Script::default() };
    let mut world = World::start(Workflow::of_steps(vec![looped]), script);
    world.play();
    world.history.events
}

fn best_of(times: u32, mut work: impl FnMut()) -> f64 {
    (0..times)
        .map(|_| {
            let begun = Instant::now();
            work();
            begun.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn report(what: &str, count: usize, seconds: f64) {
    println!("{what}: {:.2} M/s ({count} in {:.0} ms)", count as f64 / seconds / 1e6, seconds * 1e3);
}
