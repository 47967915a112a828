//! Plays the examples of `docs/convergence.md` against the core.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use unstuck_core::Effect;
use unstuck_core::event::{Conclusion, Fact, Observation, StallCause, StepEnd};
use unstuck_core::evidence::Tests;
use unstuck_core::id::{CheckId, Digest, Stage, StepId};
use unstuck_core::testing::{Act, Script, World, finished, started, step};
use unstuck_core::workflow::{CheckBy, CheckCommand, Convergence, Gate, Step, Workflow};

#[test]
fn the_examples_of_the_page_are_what_the_core_does() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/convergence.md");
    let page = fs::read_to_string(page).unwrap();
    let rows: Vec<Vec<&str>> = page
        .split_once("## Examples")
        .unwrap()
        .1
        .lines()
        .filter(|line| line.starts_with('|'))
        .skip(2)
        .map(|line| line.trim_matches('|').split('|').map(str::trim).collect())
        .collect();
    assert!(rows.len() >= 8, "the table was not found");
    for row in rows {
        let [example, threshold, max_stage, there, verdicts, expected] = row[..] else { panic!("{row:?}") };
        let policy = Convergence {
            stall_threshold: threshold.parse().unwrap(),
            max_stage: Stage(max_stage.parse().unwrap()),
            fail_on_max_stage: there == "stop",
            ..Convergence::default()
        };
        let verdicts: Vec<&str> = verdicts.split('→').map(str::trim).collect();
        assert_eq!(what_happens(policy, &verdicts), expected, "{example}");
    }
}

/// Plays a step whose verdicts are these, and says how its strategy changed.
fn what_happens(policy: Convergence, verdicts: &[&str]) -> String {
    let bound = u32::try_from(verdicts.len()).unwrap();
    if verdicts.iter().any(|verdict| verdict.contains(['!', '+', '*'])) {
        let command = CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
        let by = CheckBy::Commands(vec![command]);
        let looped = Step { convergence: Some(policy), ..step("a").checked(by, bound) };
        return told(&play_commands(looped, verdicts), verdicts.len());
    }
    let looped = Step { convergence: Some(policy), ..step("a").checked(CheckBy::Claim, bound) };
    let acts = verdicts.iter().map(|verdict| Act::Writes(0, decision_file(verdict))).collect();
    let script = Script { work: BTreeMap::from([(StepId::from("a"), acts)]), ..Script::default() };
    let mut world = World::start(Workflow::of_steps(vec![looped]), script);
    world.play();
    told(&world, verdicts.len())
}

/// Plays a step whose command shows these failures: `!` stands before one that keeps tests from being run,
/// `+` before how many were left out, and `*` before how many tests passed.
fn play_commands(looped: Step, verdicts: &[&str]) -> World {
    let mut world = World::start(Workflow::of_steps(vec![looped]), Script::default());
    let mut verdicts = verdicts.iter();
    while let Some(effect) = world.state.pending_effects().into_iter().next() {
        let (due, is_check) = match effect {
            Effect::RunWorker(due) => (due, false),
            Effect::RunCheck(due) => (due, true),
            Effect::Stop(step) => panic!("nobody asked to stop {step}"),
        };
        let id = CheckId::new(format!("0190a000-0000-7000-8000-{:012x}", world.state.version().0));
        world.give(started(&world.state, &due, is_check, id.clone(), Digest::of(b""))).unwrap();
        let verdict = if is_check { verdicts.next().unwrap() } else { "" };
        let (verdict, passed) = verdict.split_once('*').unwrap_or((verdict, "0"));
        let (names, left_out) = verdict.split_once('+').unwrap_or((verdict, "0"));
        let names: Vec<&str> = names.split(',').map(str::trim).collect();
        let lines: Vec<String> =
            names.iter().map(|name| format!("not ok 1 - {}", name.trim_matches('!'))).collect();
        let act = Act::Exits(i32::from(is_check), lines.join("\n"));
        let mut ended = finished(&due, is_check, &act, Some(&id));
        if let Observation::CheckFinished(event) = &mut ended {
            event.commands[0].failures_left_out = left_out.parse().unwrap();
            let passed = passed.parse().unwrap();
            event.commands[0].tests = Some(Tests { passed, ..Tests::default() });
            let early = names.iter().zip(&mut event.commands[0].failures);
            early
                .filter(|(name, _)| name.starts_with('!'))
                .for_each(|(_, it)| it.kind = "SyntaxError".to_owned());
        }
        world.give(ended).unwrap();
    }
    world
}

/// Says how the strategy of the only step changed.
fn told(world: &World, verdicts: usize) -> String {
    let mut iteration = 0;
    let mut told = Vec::new();
    for event in &world.history.events {
        match &event.fact {
            Fact::Concluded(Conclusion::VerdictReached(_)) => iteration += 1,
            Fact::Concluded(Conclusion::StageRaised(raised)) => {
                let cause = match raised.cause {
                    StallCause::SameFailures => "same failures".to_owned(),
                    StallCause::Cycle(period) => format!("cycle of {period}"),
                    StallCause::PersistentFailure => "persistent failure".to_owned(),
                    StallCause::NoReasons => "no reasons".to_owned(),
                    StallCause::NoChange => "no change".to_owned(),
                    StallCause::Growing => "growing".to_owned(),
                    StallCause::Diverging => "diverging".to_owned(),
                };
                told.push(format!("{iteration}: stage {}, {cause}, {} times", raised.to, raised.count));
            }
            Fact::Concluded(Conclusion::StepEnded(ended)) if matches!(ended.end, StepEnd::Stuck(_)) => {
                told.push(format!("{iteration}: stuck"));
            }
            _ => {}
        }
    }
    assert_eq!(iteration, verdicts, "every verdict of the row was given");
    if told.is_empty() { "goes on".to_owned() } else { told.join("; ") }
}

/// Writes a verdict as a decision file.
fn decision_file(verdict: &str) -> String {
    let signals = match verdict {
        "-" => String::new(),
        _ if verdict.starts_with('"') => format!(r#", "reasons": [{verdict}]"#),
        _ => {
            let names: Vec<String> = verdict.split(',').map(|name| format!("{name:?}")).collect();
            format!(r#", "fingerprints": [{}]"#, names.join(", "))
        }
    };
    format!(r#"{{"decision": "incomplete", "check_id": "{{id}}"{signals}}}"#)
}
