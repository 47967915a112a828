//! The public generators reach every cause of a stall, every end of a step and every outcome of a run.

use std::collections::{BTreeMap, BTreeSet};

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;
use unstuck_core::event::Fact;
use unstuck_core::testing::histories;
use unstuck_core::{Conclusion, Event};

const HISTORIES: u32 = 2000;

/// All of them but the stall `PersistentFailure`, which only older programs conclude.
const ALL: [&str; 31] = [
    "run Blocked",
    "run Complete",
    "run Interrupted",
    "run IterationLimit",
    "run NotComplete",
    "run SpendLimit",
    "run Stuck",
    "run TimeLimit",
    "run WorkerFailed",
    "stall Cycle",
    "stall Diverging",
    "stall Growing",
    "stall NoChange",
    "stall NoReasons",
    "stall SameFailures",
    "step AttemptsExhausted",
    "step Blocked",
    "step CheckCouldNotRun",
    "step CheckFailed",
    "step Complete",
    "step ConditionFailed",
    "step Fatal",
    "step Incomplete",
    "step IterationsExhausted",
    "step NoBaseline",
    "step Skipped",
    "step Stuck",
    "step Undecidable",
    "step WaitExpired",
    "step WorkerFailed",
    "verdict out of scope",
];

/// Returns the name of a variant.
fn variant(value: &impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.split(['(', ' ']).next().unwrap_or_default().to_owned()
}

fn reached(events: &[Event]) -> BTreeSet<String> {
    let conclusion = |event: &Event| match &event.fact {
        Fact::Concluded(Conclusion::StageRaised(raised)) => Some(format!("stall {}", variant(&raised.cause))),
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => {
            let is_scope = |text: &String| text.starts_with("scope:");
            verdict.fingerprints.iter().any(is_scope).then(|| "verdict out of scope".to_owned())
        }
        Fact::Concluded(Conclusion::StepEnded(ended)) => Some(format!("step {}", variant(&ended.end))),
        Fact::Concluded(Conclusion::RunEnded(ended)) => Some(format!("run {}", variant(&ended.outcome))),
        _ => None,
    };
    events.iter().filter_map(conclusion).collect()
}

/// The seed is fixed, so the page has the same shares unless the generators change.
#[test]
fn the_public_generators_reach_every_stall_and_every_end() {
    let mut runner = TestRunner::deterministic();
    let mut counts: BTreeMap<String, u32> = BTreeMap::new();
    for _ in 0..HISTORIES {
        let history = histories().new_tree(&mut runner).expect("a history").current();
        for what in reached(&history.events) {
            *counts.entry(what).or_default() += 1;
        }
    }
    let share = |count: &u32| f64::from(*count) * 100.0 / f64::from(HISTORIES);
    let table: String =
        counts.iter().map(|(what, count)| format!("| {what} | {:.1} % |\n", share(count))).collect();
    println!("{table}");
    let found: Vec<&str> = counts.keys().map(String::as_str).collect();
    assert_eq!(found, ALL);
    let page = include_str!("../../docs/testing.md");
    assert!(page.contains(&table), "docs/testing.md has another table than:\n{table}");
}
