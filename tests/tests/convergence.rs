//! Plays the histories of `docs/convergence.md`, and recorded loops, against the core.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::Value;
use unstuck_core::Effect;
use unstuck_core::event::{Conclusion, Exit, Fact, Observation, StallCause, StepEnd};
use unstuck_core::evidence::CommandResult;
use unstuck_core::evidence::{
    Confidence, Failure, FailureSubject, Fingerprint, Location, Number, NumberLine, Tests, UNPARSED,
};
use unstuck_core::id::{CheckId, Digest, Stage, StepId};
use unstuck_core::snapshot::Snapshot;
use unstuck_core::testing::{
    Behavior, Script, World, command_result, finished_event, script_worker, snapshot, started_event, step,
};
use unstuck_core::workflow::{
    Baseline, CheckCommand, CheckMethod, ConvergencePolicy, Gate, Step, WorkerKind, Workflow,
};
use unstuck_failures::number_lines;

/// One iteration: the results of its commands, the digest of the workspace, and its open check boxes.
struct Iteration {
    commands: Vec<CommandResult>,
    workspace: Digest,
    open_boxes: Option<u32>,
}

/// Returns the rows of the table below a headline of the page.
fn rows<'a>(page: &'a str, headline: &str) -> Vec<Vec<&'a str>> {
    let (_, below) = page.split_once(headline).unwrap();
    let section = below.split("\n## ").next().unwrap();
    let rows = section.lines().filter(|line| line.starts_with('|')).skip(2);
    rows.map(|line| line.trim_matches('|').split('|').map(str::trim).collect()).collect()
}

/// Plays what a row shows, and compares what happens.
fn difference(policy: ConvergencePolicy, shown: &str, expected: &str) -> Option<String> {
    let shown: Vec<&str> = shown.split('→').map(str::trim).collect();
    let is_words = shown[0].starts_with('"');
    let world = if is_words { play_words(policy, &shown) } else { play(policy, iterations(&shown)) };
    Some(what_happens(&world)).filter(|what| what != expected)
}

#[test]
fn the_histories_of_the_page_are_what_the_core_does() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/convergence.md");
    let page = fs::read_to_string(page).unwrap();
    let (histories, smallest) = (rows(&page, "## Histories"), rows(&page, "## The smallest values"));
    assert!(histories.len() >= 15 && smallest.len() >= 8, "the tables were not found");
    let policy = |threshold: &str, max_stage: &str| ConvergencePolicy {
        stall_threshold: threshold.parse().unwrap(),
        max_stage: Stage(max_stage.parse().unwrap()),
        ..ConvergencePolicy::default()
    };
    let of_history = histories.iter().filter_map(|row| {
        let [example, threshold, shown, expected] = row[..] else { panic!("{row:?}") };
        difference(policy(threshold, "3"), shown, expected).map(|what| format!("{example}: {what}"))
    });
    let of_smallest = smallest.iter().filter_map(|row| {
        let [threshold, max_stage, shown, expected] = row[..] else { panic!("{row:?}") };
        let what = difference(policy(threshold, max_stage), shown, expected)?;
        Some(format!("{threshold}, {max_stage}, {shown}: {what}"))
    });
    let different: Vec<String> = of_history.chain(of_smallest).collect();
    assert!(different.is_empty(), "{}", different.join("\n"));
}

#[test]
fn fewer_failures_than_in_the_baseline_are_better() {
    let impatient = || ConvergencePolicy { stall_threshold: 1, ..ConvergencePolicy::default() };
    for (baseline, expected) in [("a,b", "continues"), ("a", "1: stage 2, nothing better; continues")] {
        let mut iterations = iterations(&["a"]);
        iterations[0].commands = vec![shown_by_command(baseline)];
        assert_eq!(what_happens(&play(impatient(), iterations)), expected, "{baseline}");
    }
}

#[test]
fn recorded_loops_that_make_progress_end_complete_and_others_stuck() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/convergence/histories.json");
    let histories: BTreeMap<String, Vec<Value>> =
        serde_json::from_str(&fs::read_to_string(file).unwrap()).unwrap();
    assert_eq!(histories.len(), 21);
    for (name, history) in histories {
        let policy = ConvergencePolicy { stall_threshold: 3, ..ConvergencePolicy::default() };
        let what = what_happens(&play(policy, history.iter().map(recorded).collect()));
        let expected = if name.starts_with('h') { "complete" } else { "stuck" };
        assert!(what.ends_with(expected), "{name}: {what}");
    }
}

/// Plays a step whose commands show these, the baseline first. The last one stays.
fn play(policy: ConvergencePolicy, mut iterations: Vec<Iteration>) -> World {
    let command =
        |_: &CommandResult| CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
    let by = CheckMethod::Commands(iterations[0].commands.iter().map(command).collect());
    let bound = u32::try_from(iterations.len() - 1).unwrap();
    let mut looped = Step { convergence: Some(policy), ..step("a").with_check(by, bound) };
    let has_baseline = iterations[0].commands[0].exit != NOT_RUN;
    looped.check.as_mut().unwrap().baseline = if has_baseline { Baseline::Report } else { Baseline::Off };
    let mut world = World::start(Workflow::of_steps(vec![looped]), Script::default());
    let mut before = iterations[0].workspace;
    while let Some(effect) = world.state.pending_effects().into_iter().next() {
        let Effect::Perform(turn, due) = effect else { panic!("nobody asked to stop: {effect:?}") };
        let is_check = turn.is_check();
        let id = CheckId::new(format!("0190a000-0000-7000-8000-{:012x}", world.state.version().0));
        world.give(started_event(&world.state, &due, is_check, id.clone(), Digest::sha256(b""))).unwrap();
        let now = &mut iterations[usize::try_from(due.iteration.0).unwrap()];
        let workspace =
            Some(Box::new(Snapshot { work: now.workspace, open_boxes: now.open_boxes, ..snapshot(0) }));
        let mut ended = finished_event(&due, is_check, &Behavior::Exits(0, String::new()), Some(&id));
        match &mut ended {
            Observation::CheckFinished(event) => {
                event.outcome.exit = now.commands[0].exit.clone();
                (event.commands, event.snapshot) = (std::mem::take(&mut now.commands), workspace);
            }
            Observation::WorkerFinished(event) => {
                (event.changed, event.snapshot) = (Some(now.workspace != before), workspace);
                before = now.workspace;
            }
            _ => {}
        }
        world.give(ended).unwrap();
    }
    world
}

/// Plays a step whose judge gives these reasons.
fn play_words(policy: ConvergencePolicy, reasons: &[&str]) -> World {
    let bound = u32::try_from(reasons.len()).unwrap();
    let judge = script_worker(WorkerKind::Command, "judge it");
    let looped = Step { convergence: Some(policy), ..step("a").with_check(CheckMethod::Agent(judge), bound) };
    let file =
        |reason: &&str| format!(r#"{{"decision":"incomplete","check_id":"{{id}}","reasons":[{reason}]}}"#);
    let acts = reasons.iter().map(|reason| Behavior::Writes(0, file(reason))).collect();
    let script = Script { checks: BTreeMap::from([(StepId::from("a"), acts)]), ..Script::default() };
    let mut world = World::start(Workflow::of_steps(vec![looped]), script);
    world.play();
    world
}

/// Says how the stage changed, and how the step ended.
fn what_happens(world: &World) -> String {
    let (mut iteration, mut stage, mut told) = (0, Stage(1), Vec::new());
    for event in &world.history.events {
        match &event.fact {
            Fact::Concluded(Conclusion::VerdictReached(_)) => iteration += 1,
            Fact::Concluded(Conclusion::WorkRequested(work)) => {
                if work.stage < stage {
                    told.push(format!("{iteration}: stage {}", work.stage));
                }
                stage = work.stage;
            }
            Fact::Concluded(Conclusion::StageRaised(raised)) => {
                let cause = match raised.cause {
                    StallCause::SameFailures => "same failures".to_owned(),
                    StallCause::Cycle(period) => format!("cycle of {period}"),
                    StallCause::NoReasons => "no reasons".to_owned(),
                    StallCause::NoChange => "no change".to_owned(),
                    StallCause::Growing => "growing".to_owned(),
                    StallCause::Diverging => "nothing better".to_owned(),
                    StallCause::PersistentFailure => panic!("only older programs conclude this"),
                };
                told.push(format!("{iteration}: stage {}, {cause}", raised.to));
            }
            Fact::Concluded(Conclusion::StepEnded(ended)) => match ended.end {
                StepEnd::Stuck(_) => told.push("stuck".to_owned()),
                StepEnd::Complete => told.push("complete".to_owned()),
                _ => told.push("continues".to_owned()),
            },
            _ => {}
        }
    }
    told.join("; ")
}

/// How the command ends that stands for no baseline.
const NOT_RUN: Exit = Exit::Code(127);

/// Reads what a row of the page shows. It has no baseline.
fn iterations(shown: &[&str]) -> Vec<Iteration> {
    let nothing = CommandResult { exit: NOT_RUN, ..command_result("check", &Exit::Code(1), "") };
    let mut all =
        vec![Iteration { commands: vec![nothing], workspace: Digest::sha256(b"0"), open_boxes: None }];
    for (at, text) in shown.iter().enumerate() {
        let (text, is_changed) = text.strip_prefix('=').map_or((*text, true), |text| (text, false));
        let workspace = if is_changed { Digest::sha256(&at.to_le_bytes()) } else { all[at].workspace };
        let (text, open_boxes) =
            text.split_once('☐').map_or((text, None), |(text, open)| (text, open.parse().ok()));
        all.push(Iteration { commands: vec![shown_by_command(text)], workspace, open_boxes });
    }
    all
}

fn shown_by_command(text: &str) -> CommandResult {
    if text == "ok" {
        return command_result("check", &Exit::Code(0), "");
    }
    let (text, count) = text.split_once('#').map_or((text, None), |(text, count)| (text, count.parse().ok()));
    let (text, passed) =
        text.split_once('*').map_or((text, None), |(text, passed)| (text, passed.parse().ok()));
    let mut result = CommandResult { failures: Vec::new(), ..command_result("check", &Exit::Code(1), "") };
    for name in text.split(',').map(str::trim).filter(|name| *name != "-") {
        let (name, remaining) =
            name.split_once('@').map_or((name, None), |(name, left)| (name, left.parse().ok()));
        let kind = if name.starts_with('!') { "SyntaxError" } else { "failed" };
        let mut failure = Failure::synthetic("check", kind, FailureSubject::Item(name, "tests"), name);
        let line = remaining.map(|left: u32| 100 - left);
        failure.location = Some(Location { file: "tests".to_owned(), line });
        result.failures.push(Failure { remaining, ..failure });
    }
    result.failures.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
    result.confidence = Confidence::High;
    result.tests = passed.map(|passed| Tests { passed, ..Tests::default() });
    let number = |count: i64| Number { value: count, bound: Some(0) };
    let line = |count| NumberLine { frame: Digest::sha256(b"# left"), numbers: vec![number(count)] };
    result.numbers = count.map(line).into_iter().collect();
    result
}

/// Reads a recorded iteration.
fn recorded(entry: &Value) -> Iteration {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let number = |value: &Value| value.as_u64().and_then(|count| u32::try_from(count).ok());
    let failures = entry["failures"].as_array().unwrap().iter().map(|failure| {
        let message = failure["message"].as_str().unwrap();
        let is_test = message.starts_with("test_");
        let kind = if failure["file"].is_null() { UNPARSED } else { "failed" };
        let remaining =
            number(&failure["total"]).zip(number(&failure["line"])).map(|(total, line)| total - line);
        let fingerprint = Fingerprint::from_recorded(text(&failure["fingerprint"]).unwrap());
        let location = text(&failure["file"]).map(|file| Location { file, line: number(&failure["line"]) });
        let test = is_test.then(|| message.to_owned());
        Failure {
            fingerprint,
            test,
            location,
            remaining,
            ..Failure::synthetic("check", kind, FailureSubject::Whole, message)
        }
    });
    let mut failures: Vec<Failure> = failures.collect();
    failures.sort_by(|a, b| a.fingerprint.cmp(&b.fingerprint));
    let out = entry["out"].as_str().unwrap();
    let passed = out.rsplit_once(" passed").and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
    let parsed = failures.iter().all(|failure| failure.kind != UNPARSED);
    let exits =
        entry["rc"].as_array().unwrap().iter().map(|code| i32::try_from(code.as_i64().unwrap()).unwrap());
    let command = |(at, exit): (usize, i32)| {
        // All failures are recorded together, so one command shows them.
        let is_first = at == 0;
        let bare = command_result("check", &Exit::Code(exit), "");
        if !is_first {
            return bare;
        }
        CommandResult {
            failures: failures.clone(),
            confidence: if parsed { Confidence::High } else { Confidence::Low },
            numbers: number_lines([out.as_bytes()]),
            tests: passed.map(|passed| Tests { passed, ..Tests::default() }),
            exit: if failures.is_empty() { bare.exit.clone() } else { Exit::Code(1) },
            ..bare
        }
    };
    Iteration {
        commands: exits.enumerate().map(command).collect(),
        workspace: Digest::sha256(entry["ws"].as_str().unwrap().as_bytes()),
        open_boxes: number(&entry["boxes"]),
    }
}
