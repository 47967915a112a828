//! Properties of the controller, over generated loops and generated histories of whole workflows.
//!
//! `PROPTEST_CASES` says how many of each; `fuzz/` looks for more of them.

use std::collections::BTreeSet;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::test_runner::FileFailurePersistence;
use unstuck_core::event::{Exit, Fact, Observation, StallCause};
use unstuck_core::testing::{World, command_result, fold, histories};
use unstuck_core::{Conclusion, Event, RunState};
use unstuck_tests::naive_controller::{complete_without_evidence, difference};
use unstuck_tests::scripted_loop::play;

/// A loop is dozens of decisions, so fewer cases than usual do.
fn config() -> ProptestConfig {
    let asked = std::env::var("PROPTEST_CASES").ok().and_then(|text| text.parse().ok());
    let regressions = FileFailurePersistence::Direct("tests/controller.proptest-regressions");
    ProptestConfig {
        cases: asked.unwrap_or(64),
        failure_persistence: Some(Box::new(regressions)),
        ..ProptestConfig::default()
    }
}

/// Loops that go round, as loops that get nowhere do: a few iterations over and over, with some changed.
fn loops() -> impl Strategy<Value = Vec<u8>> {
    let settings = vec(any::<u8>(), 2);
    let round = vec((any::<u8>(), prop_oneof![Just(0_u8), Just(2), any::<u8>()]), 1..5);
    let strays = vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (settings, round, 1_usize..7, strays).prop_map(|(settings, round, times, strays)| {
        let mut iterations: Vec<(u8, u8)> = std::iter::repeat_n(round, times).flatten().collect();
        for (at, says) in strays {
            let at = at.index(iterations.len());
            iterations[at].0 = says;
        }
        settings.into_iter().chain(iterations.into_iter().flat_map(|(says, leaves)| [says, leaves])).collect()
    })
}

/// Decides the recorded observations again, each changed by `change`, and returns what was concluded.
fn concluded(events: &[Event], mut change: impl FnMut(&mut Observation)) -> Vec<Conclusion> {
    let mut state = RunState::default();
    let mut concluded = Vec::new();
    for event in events {
        let Fact::Observed(observation) = &event.fact else { continue };
        let mut observation = observation.clone();
        change(&mut observation);
        let batch = state.decide(observation, event.at).expect("the same is admitted again");
        state = batch.iter().fold(state, RunState::evolve);
        concluded.extend(batch.into_iter().filter_map(|event| match event.fact {
            Fact::Concluded(conclusion) => Some(conclusion),
            Fact::Observed(_) => None,
        }));
    }
    concluded
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_loop_stalls_where_the_naive_controller_says_so(bytes in loops()) {
        prop_assert_eq!(difference(&play(&bytes).history.events), None);
    }

    #[test]
    fn a_loop_of_anything_stalls_where_the_naive_controller_says_so(bytes in vec(any::<u8>(), 0..40)) {
        prop_assert_eq!(difference(&play(&bytes).history.events), None);
    }

    #[test]
    fn complete_means_no_new_failure_no_violation_and_nothing_changed_since(bytes in loops()) {
        prop_assert_eq!(complete_without_evidence(&play(&bytes).history.events), None);
    }

    #[test]
    fn earlier_flaky_failures_change_no_decision(bytes in loops(), noise in vec(0_u8..4, 1..20)) {
        let world = play(&bytes);
        let mut noise = noise.into_iter().cycle();
        let flaky = |which: std::ops::Range<u8>| {
            let said: String = which.map(|which| format!("not ok {which} - sometimes {which}\n")).collect();
            command_result("check", &Exit::Code(1), &said).failures
        };
        let noisy = concluded(&world.history.events, |observation| {
            let Observation::CheckFinished(event) = observation else { return };
            for result in &mut event.commands {
                let which = noise.next().expect("noise without an end");
                result.flaky = flaky(if event.iteration.0 == 0 { 0..4 } else { which..which + 1 });
            }
        });
        prop_assert_eq!(noisy, concluded(&world.history.events, |_| {}));
    }

    #[test]
    fn new_flaky_failures_are_noted_and_change_no_decision(bytes in loops()) {
        let world = play(&bytes);
        let bare = |mut conclusions: Vec<Conclusion>| {
            for conclusion in &mut conclusions {
                if let Conclusion::VerdictReached(verdict) = conclusion {
                    verdict.problems.retain(|problem| !problem.starts_with("flaky: "));
                }
            }
            conclusions
        };
        let noisy = concluded(&world.history.events, |observation| {
            let Observation::CheckFinished(event) = observation else { return };
            for result in event.commands.iter_mut().filter(|_| event.iteration.0 > 0) {
                result.flaky = command_result("check", &Exit::Code(1), "not ok 1 - sometimes").failures;
            }
        });
        prop_assert_eq!(bare(noisy), concluded(&world.history.events, |_| {}));
    }

    #[test]
    fn every_step_of_a_workflow_stalls_where_the_naive_controller_says_so(history in histories()) {
        prop_assert_eq!(difference(&history.events), None);
        prop_assert_eq!(complete_without_evidence(&history.events), None);
    }

    #[test]
    fn a_resume_at_any_point_decides_the_same(bytes in loops(), cut in any::<prop::sample::Index>()) {
        // After a crash the supervisor has the saved fold and the tail of the log.
        let events = play(&bytes).history.events;
        let cut = cut.index(events.len() + 1);
        let saved = serde_json::to_vec(&fold(&events[..cut])).expect("a state can be saved");
        let restored: RunState = serde_json::from_slice(&saved).expect("a saved state can be read");
        let resumed = events[cut..].iter().fold(restored, RunState::evolve);
        let again = unstuck_replay::recheck(events.iter().cloned().map(Ok::<_, std::convert::Infallible>), None);
        let Ok(again) = again;
        prop_assert_eq!(resumed, fold(&events));
        prop_assert!(again.first_difference.is_none(), "{:?}", again.first_difference);
    }
}

/// The generated loops are worth something only if they get everywhere.
#[test]
fn the_seeds_reach_every_cause_of_a_stall_and_every_end() {
    let reached: BTreeSet<String> = seeds().iter().flat_map(|bytes| causes(&play(bytes))).collect();
    let every = [
        StallCause::SameFailures,
        StallCause::Cycle(2),
        StallCause::Cycle(3),
        StallCause::NoReasons,
        StallCause::NoChange,
        StallCause::Growing,
        StallCause::Diverging,
    ];
    for cause in every {
        assert!(reached.contains(&format!("{cause:?}")), "no seed stalls for {cause:?}: {reached:?}");
    }
    for outcome in ["Complete", "Stuck", "IterationLimit", "NotComplete"] {
        assert!(reached.contains(outcome), "no seed ends {outcome}: {reached:?}");
    }
}

fn seeds() -> Vec<Vec<u8>> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../fuzz/seeds/controller");
    let entries = std::fs::read_dir(folder).expect("the seeds are committed");
    entries.map(|entry| std::fs::read(entry.expect("an entry").path()).expect("a seed")).collect()
}

fn causes(world: &World) -> Vec<String> {
    let raised = world.history.events.iter().filter_map(|event| match &event.fact {
        Fact::Concluded(Conclusion::StageRaised(raised)) => Some(format!("{:?}", raised.cause)),
        _ => None,
    });
    let outcome = world.state.outcome().map(|outcome| format!("{outcome:?}"));
    raised.chain(outcome).collect()
}
