//! Plays the table of `docs/checks.md` against the core.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use unstuck_core::event::{Conclusion, Fact, StepEnd};
use unstuck_core::evidence::Decision;
use unstuck_core::id::StepId;
use unstuck_core::testing::{Behavior, Script, World, step};
use unstuck_core::workflow::{Baseline, CheckCommand, CheckMethod, Gate, Workflow};

#[test]
fn the_table_of_the_page_is_what_the_core_does() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/checks.md");
    let page = fs::read_to_string(page).expect("a file of the repository");
    let (_, table) = page.split_once("## What a gate lets through").expect("the table");
    let rows: Vec<Vec<&str>> = table
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() > 10, "the table was not found");
    for row in rows {
        let [gate, baseline, now, want] = row[..] else { panic!("{row:?}") };
        assert_eq!(verdict(gate, baseline, now), want, "{row:?}");
    }
}

/// Plays one iteration, and says what came of it.
fn verdict(gate: &str, baseline: &str, now: &str) -> String {
    let gate = if gate == "pass" { Gate::Pass } else { Gate::NoNewFailures };
    let command = CheckCommand { run: "check".to_owned(), gate, reports: Vec::new() };
    let mut looped = step("a").with_check(CheckMethod::Commands(vec![command]), 1);
    if let Some(check) = &mut looped.check {
        check.baseline = Baseline::Gate;
    }
    let checks = BTreeMap::from([(StepId::from("a"), vec![act(baseline), act(now)])]);
    let mut world = World::start(Workflow::of_steps(vec![looped]), Script { checks, ..Script::default() });
    world.play();
    let told = world.history.events.iter().find_map(|event| match &event.fact {
        Fact::Concluded(Conclusion::VerdictReached(verdict)) if verdict.decision == Decision::Complete => {
            let doubt = verdict.problems.iter().find_map(|problem| problem.split_once("`check` "));
            Some(doubt.map_or_else(|| "complete".to_owned(), |(what, why)| format!("complete, {what}{why}")))
        }
        Fact::Concluded(Conclusion::VerdictReached(verdict)) => {
            let reason = verdict.reasons.first().map_or("", String::as_str);
            Some(format!("incomplete: {}", said(reason)))
        }
        Fact::Concluded(Conclusion::StepEnded(ended)) => match ended.end {
            StepEnd::NoBaseline(_) | StepEnd::CheckCouldNotRun(_) => Some("no worker starts".to_owned()),
            _ => None,
        },
        _ => None,
    });
    told.expect("something came of it")
}

/// Returns a sentence without the command that it is about.
fn said(reason: &str) -> &str {
    reason.rsplit("`check` ").next().unwrap_or(reason)
}

/// Returns the act that a cell of the table names.
fn act(cell: &str) -> Behavior {
    match cell {
        "quiet" => Behavior::Exits(1, String::new()),
        "empty" => Behavior::Exits(0, String::new()),
        "missing" => Behavior::Exits(127, String::new()),
        "hangs" => Behavior::Hangs,
        "dies" => Behavior::Dies(9),
        "3 pass" => Behavior::Exits(0, tests(&["a", "b", "c"], &[])),
        "3 counted" => Behavior::Exits(0, "3 passed".to_owned()),
        "2 counted" => Behavior::Exits(0, "2 passed".to_owned()),
        "1 of 3" => Behavior::Exits(1, "not ok 1 - t.py::test_a\n2 passed".to_owned()),
        "2 pass" => Behavior::Exits(0, tests(&["a", "b"], &[])),
        failing => {
            let (steady, at_times): (Vec<_>, Vec<_>) =
                failing.split(", ").partition(|name| !name.ends_with(" at times"));
            let said = |failing: &[&str]| tests(&["a", "b", "c"], failing);
            let all: Vec<&str> =
                at_times.iter().map(|line| &line[..1]).chain(steady.iter().copied()).collect();
            Behavior::Twice(said(&all), i32::from(!steady.is_empty()), said(&steady))
        }
    }
}

/// Prints tests as TAP.
fn tests(all: &[&str], failing: &[&str]) -> String {
    let line = |(at, name): (usize, &&str)| {
        let not = if failing.contains(name) { "not " } else { "" };
        format!("{not}ok {} - {name}\n", at + 1)
    };
    format!("1..{}\n{}", all.len(), all.iter().enumerate().map(line).collect::<String>())
}
