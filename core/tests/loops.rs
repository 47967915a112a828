//! Tables of complete loops: the steps for a list of answers, and the graph for a list of outcomes. Rows with `differs`
//! deviate from existing tools; the reason is in the row.

use serde_json::Value;
use unstuck_core::RunState;
use unstuck_core::call_report::{CallEnd, CallError, CallReport, Progress, ToolCounts, Usage, UsagePeriod};
use unstuck_core::event::{Conclusion, DecisionFile, Exit, Fact, Observation, RunOutcome, StepEnd};
use unstuck_core::evidence::Decision;
use unstuck_core::id::{Stage, StepId};
use unstuck_core::state::{StepPhase, StepState};
use unstuck_core::testing::{Behavior, Script, World, script_worker, step};
use unstuck_core::workflow::{
    Baseline, CheckCommand, CheckMethod, ConvergencePolicy, Gate, OnFailure, OnIterationsExhausted, Step,
    StepKind, WorkerKind, Workflow,
};

fn rows(text: &str) -> Vec<Value> {
    text.lines().map(|line| serde_json::from_str(line).expect("a fixture is JSON lines")).collect()
}

fn act(row: &Value) -> Behavior {
    let code = row["exit"].as_i64().unwrap_or(0) as i32;
    if row["missing"] == true {
        Behavior::IsMissing
    } else if let Some(text) = row["text"].as_str() {
        Behavior::Writes(code, text.to_owned())
    } else if row["file"].is_object() {
        Behavior::Writes(code, row["file"].to_string())
    } else {
        Behavior::Exits(code, row["says"].as_str().unwrap_or_default().to_owned())
    }
}

fn acts(rows: &Value) -> Vec<Behavior> {
    rows.as_array().expect("a list").iter().map(act).collect()
}

fn number(value: &Value, default: u32) -> u32 {
    value.as_u64().map_or(default, |n| u32::try_from(n).expect("small"))
}

fn step_of(row: &Value, id: &str, looped: bool) -> Step {
    let mut made = step(id);
    // The tables are about clients; the check judges a command line whatever its exit code is.
    made.work = StepKind::Worker(script_worker(WorkerKind::CodexCli, "do it"));
    if looped {
        let checker = script_worker(WorkerKind::Command, "check it");
        made = made.with_check(CheckMethod::Agent(checker), number(&row["max_iterations"], 2));
    }
    made.max_retries = number(&row["max_retries"], 0);
    made.on_failure = match row["on_failure"].as_str() {
        Some("retry") => OnFailure::Retry,
        Some("continue") => OnFailure::Continue,
        _ => OnFailure::Abort,
    };
    if row["on_iterations_exhausted"] == "continue" {
        made.on_exhausted = OnIterationsExhausted::Continue;
    }
    made.depends_on = row["depends_on"]
        .as_array()
        .map(|ids| ids.iter().map(|id| StepId::from(id.as_str().expect("a name"))).collect())
        .unwrap_or_default();
    let policy = &row["convergence"];
    if policy["enabled"] == true {
        made.convergence = Some(ConvergencePolicy {
            stall_threshold: number(&policy["stall_threshold"], 2),
            max_stage: Stage(number(&policy["max_stage"], 3)),
            fail_on_max_stage: policy["fail_on_max_stage"].as_bool().unwrap_or(true),
            ..ConvergencePolicy::default()
        });
    }
    made
}

/// The status names of the format that the tables are about.
fn status(at: &StepState) -> &'static str {
    match at.phase.end() {
        Some(StepEnd::Complete) => "SUCCEEDED",
        Some(StepEnd::Incomplete) => "INCOMPLETE",
        Some(StepEnd::Skipped(_)) => "SKIPPED",
        Some(_) => "FAILED",
        None => "RUNNING",
    }
}

fn run_status(world: &World) -> &'static str {
    if world.state.outcome() == Some(RunOutcome::Complete) { "SUCCEEDED" } else { "FAILED" }
}

/// Plays a loop whose first check throws.
fn play_to_a_check_that_throws(world: &mut World, sentence: &str) {
    use unstuck_core::event::{CheckFinished, CheckStarted, WorkerFinished, WorkerStarted};
    use unstuck_core::id::{Blob, CheckId, Digest, Millis};
    let blob = Blob { digest: Digest::sha256(b""), size: 0 };
    let (step, iteration, attempt) =
        (StepId::from("A"), unstuck_core::id::Iteration(1), unstuck_core::id::Attempt(1));
    let finished = |fatal: Option<&str>| {
        let due = unstuck_core::TurnId { step: StepId::from("A"), iteration, attempt };
        let act = Behavior::Exits(0, String::new());
        let Observation::WorkerFinished(WorkerFinished { mut outcome, .. }) =
            unstuck_core::testing::finished_event(&due, false, &act, None)
        else {
            unreachable!("a worker finished")
        };
        outcome.fatal = fatal.map(str::to_owned);
        outcome.exit = Exit::Code(0);
        outcome
    };
    let check_id = CheckId::new("0190a000-0000-7000-8000-000000000001");
    let commands = [
        Observation::WorkerStarted(WorkerStarted {
            step: step.clone(),
            iteration,
            attempt,
            prompt: blob,
            limit: Millis(1),
            check_id: None,
            moved_aside: None,
            templates: Vec::new(),
            call: None,
            registry: None,
            snapshot: None,
        }),
        Observation::WorkerFinished(WorkerFinished {
            step: step.clone(),
            iteration,
            attempt,
            outcome: finished(None),
            decision_file: DecisionFile::NotConfigured,
            changed: None,
            snapshot: None,
            drift: None,
            diffstat: None,
            answer: None,
            wants_repeat: false,
        }),
        Observation::CheckStarted(CheckStarted {
            step: step.clone(),
            iteration,
            attempt,
            check_id: check_id.clone(),
            prompt: blob,
            limit: Millis(1),
            moved_aside: None,
            templates: Vec::new(),
            call: None,
        }),
        Observation::CheckFinished(CheckFinished {
            step,
            iteration,
            attempt,
            check_id,
            outcome: finished(Some(sentence)),
            decision_file: DecisionFile::NotConfigured,
            commands: Vec::new(),
            drift: None,
            validators: Vec::new(),
            snapshot: None,
            stamp: None,
            answer: None,
            unsettled_after: None,
            changed: Vec::new(),
        }),
    ];
    for command in commands {
        world.give(command).expect("the loop is where the table says");
    }
    world.worker_calls.insert(StepId::from("A"), 1);
    world.check_calls.insert(StepId::from("A"), 1);
    world.play();
}

#[test]
fn a_loop_does_what_the_table_says() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("fixtures/loop-traces.jsonl")) {
        let a = step_of(&row["step"], "A", true);
        let b = Step { depends_on: vec![StepId::from("A")], ..step("B") };
        let script = Script {
            work: [(StepId::from("A"), acts(&row["work"]))].into(),
            checks: [(StepId::from("A"), acts(&row["checks"]))].into(),
        };
        let mut world = World::start(Workflow::of_steps(vec![a, b]), script);
        match row["checks"][0]["fatal"].as_str() {
            Some(sentence) => play_to_a_check_that_throws(&mut world, sentence),
            None => world.play(),
        }
        let (_, a) = world.state.step(&StepId::from("A")).expect("step A");
        let (_, b) = world.state.step(&StepId::from("B")).expect("step B");
        let calls = |calls: &std::collections::BTreeMap<StepId, u32>| {
            calls.get(&StepId::from("A")).copied().unwrap_or(0)
        };
        let got = serde_json::json!({
            "run": run_status(&world),
            "step": status(a),
            "iteration": a.iteration(),
            "worker_calls": calls(&world.worker_calls),
            "check_calls": calls(&world.check_calls),
            "stage": a.convergence.stage(),
            "dependent": status(b),
        });
        if got != row["want"] {
            wrong.push(format!("{}\n  want {}\n  got  {got}", row["id"], row["want"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_graph_does_what_the_table_says() {
    let mut wrong = Vec::new();
    for row in rows(include_str!("fixtures/dag-policy.jsonl")) {
        let mut script = Script::default();
        let mut steps = Vec::new();
        for of in row["steps"].as_array().expect("a list") {
            let id = of["id"].as_str().expect("a name");
            steps.push(step_of(of, id, of["check"] == true));
            let (work, checks) = outcome(of["outcome"].as_str().expect("a word"));
            script.work.insert(StepId::from(id), work);
            script.checks.insert(StepId::from(id), checks);
        }
        let concurrency = row["concurrency"].as_u64().map(|n| u32::try_from(n).expect("small"));
        let mut world = World::start(Workflow { concurrency, ..Workflow::of_steps(steps) }, script);
        world.play();
        let ends: serde_json::Map<String, Value> = world
            .state
            .steps()
            .map(|(step, at)| {
                let calls = world.worker_calls.get(&step.id).copied().unwrap_or(0);
                (step.id.to_string(), serde_json::json!([status(at), at.iteration(), calls]))
            })
            .collect();
        let got = serde_json::json!({"run": run_status(&world), "steps": ends});
        let want = serde_json::json!({"run": row["want"]["run"], "steps": row["want"]["steps"]});
        let most = usize::try_from(row["want"]["max_running"].as_u64().expect("a number")).expect("small");
        if got != want || (concurrency.is_some() && world.most_in_flight > most) {
            wrong.push(format!(
                "{}\n  want {want}\n  got  {got} with {} in flight",
                row["id"], world.most_in_flight
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Returns the acts of workers and checks for a word of the table.
fn outcome(word: &str) -> (Vec<Behavior>, Vec<Behavior>) {
    let exits = |code| vec![Behavior::Exits(code, String::new())];
    let says = |verdict: &str| {
        vec![Behavior::Writes(0, format!(r#"{{"decision":"{verdict}","check_id":"{{id}}"}}"#))]
    };
    // 137 is the exit code of a worker whose failure may pass.
    match word {
        "ok" => (exits(0), says("complete")),
        "fail" => (exits(137), says("complete")),
        "fail-once" => {
            (vec![Behavior::Exits(137, String::new()), Behavior::Exits(0, String::new())], says("complete"))
        }
        "fatal" => (vec![Behavior::IsMissing], says("complete")),
        "incomplete" => (exits(0), says("incomplete")),
        "check-failed" => (exits(0), exits(2)),
        other => panic!("the table has a word {other} that the test does not know"),
    }
}

#[test]
fn a_lost_worker_runs_again_and_costs_no_retry() {
    let id = StepId::from("A");
    let lost_once = vec![Behavior::IsLost, Behavior::Exits(0, String::new())];
    let script = Script { work: [(id.clone(), lost_once)].into(), ..Script::default() };
    let mut world = World::start(Workflow::of_steps(vec![step("A")]), script);
    world.play();
    let (_, at) = world.state.step(&id).expect("step A");
    assert_eq!((at.tries.work, world.worker_calls[&id]), (0, 2));
    assert!(matches!(at.phase, StepPhase::Ended(StepEnd::Complete)));
}

/// Returns the report of a client on a call that failed in this way.
fn told(trouble: CallError, tools: u32, tokens: u64, scope: UsagePeriod) -> Behavior {
    let reading = CallReport {
        trouble: Some(trouble),
        message: "EPIPE".to_owned(),
        usage: Some(Usage { output: tokens, scope, ..Usage::default() }),
        counts: ToolCounts { tools, ..ToolCounts::default() },
        ..Progress::default().so_far("claude")
    };
    Behavior::Tells(1, Box::new(reading))
}

#[test]
fn step_keeps_usage_of_its_newest_worker() {
    let id = StepId::from("A");
    let call = |tokens| told(CallError::Unknown, 1, tokens, UsagePeriod::Call);
    for (acts, tokens) in [
        (vec![Behavior::Exits(0, String::new())], 0),
        (vec![call(70)], 70),
        (vec![call(70), call(90)], 90),
        (vec![call(70), Behavior::Exits(0, String::new())], 0),
    ] {
        let by = CheckMethod::Exit(script_worker(WorkerKind::Command, "check it"));
        let iterations = u32::try_from(acts.len()).expect("few");
        let step = step("A").with_check(by, iterations);
        let fails = vec![Behavior::Exits(1, String::new())];
        let script = Script { work: [(id.clone(), acts)].into(), checks: [(id.clone(), fails)].into() };
        let mut world = World::start(Workflow::of_steps(vec![step]), script);
        world.play();
        let (_, at) = world.state.step(&id).expect("step A");
        assert_eq!((at.calls.tokens, at.iteration().0), (tokens, iterations));
    }
}

fn changed(act: Behavior) -> Behavior {
    let Behavior::Tells(code, reading) = act else { return act };
    Behavior::Tells(code, Box::new(CallReport { files: vec!["a.rs".to_owned()], ..*reading }))
}

/// A step whose check is a command that was run before the work, too.
fn with_baseline(checks: &[Behavior], work: Behavior) -> World {
    let command = CheckCommand { run: "check".to_owned(), gate: Gate::Pass, reports: Vec::new() };
    let mut one = step("a").with_check(CheckMethod::Commands(vec![command]), 2);
    if let Some(check) = &mut one.check {
        check.baseline = Baseline::Gate;
    }
    let script =
        Script { work: [("a".into(), vec![work])].into(), checks: [("a".into(), checks.to_vec())].into() };
    let mut world = World::start(Workflow::of_steps(vec![one]), script);
    world.play();
    world
}

/// Returns a worker that changes nothing, and one that changes a file.
fn idle_and_busy() -> [Behavior; 2] {
    let mut reading = Progress::default().so_far("claude");
    (reading.end, reading.trouble) = (CallEnd::Done, None);
    let idle = Behavior::Tells(0, Box::new(reading));
    [idle.clone(), changed(idle)]
}

#[test]
fn a_completion_without_a_change_says_so() {
    let [idle, busy] = idle_and_busy();
    let (passes, fails) =
        (Behavior::Exits(0, "1 passed in 0.1s".to_owned()), Behavior::Exits(1, String::new()));
    for (checks, work, told) in [
        (vec![passes.clone()], idle.clone(), &["unchanged: the checks passed before"][..]),
        (vec![passes.clone()], busy.clone(), &[]),
        (
            vec![fails.clone(), passes.clone()],
            idle,
            &["unchanged: what failed before the work began passes now"],
        ),
        (vec![fails, passes], busy, &[]),
    ] {
        let world = with_baseline(&checks, work);
        let facts = world.history.events.iter().map(|event| &event.fact);
        let mut verdicts = facts.filter_map(|fact| match fact {
            Fact::Concluded(Conclusion::VerdictReached(verdict)) => Some(verdict),
            _ => None,
        });
        let verdict = verdicts.next_back().expect("it was judged");
        assert_eq!(verdict.decision, Decision::Complete, "{checks:?}");
        let said: Vec<&String> =
            verdict.problems.iter().filter(|problem| problem.starts_with("unchanged: ")).collect();
        assert_eq!(said.len(), told.len(), "{checks:?}: {said:?}");
        assert!(said.iter().zip(told).all(|(said, told)| said.starts_with(told)), "{checks:?}: {said:?}");
    }
}

#[test]
fn check_broken_by_the_work_counts_as_incomplete() {
    let [idle, busy] = idle_and_busy();
    let (fails, passes) = (Behavior::Exits(1, String::new()), Behavior::Exits(0, String::new()));
    let missing = |code| Behavior::Exits(code, "bash: ./t.sh: Permission denied".to_owned());
    for code in [126, 127] {
        let world = with_baseline(&[fails.clone(), missing(code), passes.clone()], busy.clone());
        assert_eq!(world.state.outcome(), Some(RunOutcome::Complete), "{code}");
        // Only the machine can be the cause.
        for world in [
            with_baseline(&[fails.clone(), missing(code), passes.clone()], idle.clone()),
            with_baseline(&[missing(code), passes.clone()], busy.clone()),
        ] {
            assert_eq!(world.state.outcome(), Some(RunOutcome::WorkerFailed), "{code}");
        }
    }
}

#[test]
fn a_client_that_broke_off_in_its_work_is_not_asked_for_the_same_again() {
    use CallError::{Auth, Config, Crashed, NoEnd, Unknown};
    for (act, goes_on) in [
        (told(NoEnd, 1, 0, UsagePeriod::Call), true),
        (told(Unknown, 0, 100, UsagePeriod::Call), true),
        (told(Crashed, 2, 100, UsagePeriod::Session), true),
        (changed(told(Crashed, 0, 0, UsagePeriod::Call)), true),
        // It did nothing, according to its report.
        (told(Unknown, 0, 0, UsagePeriod::Call), false),
        (told(Unknown, 0, 100, UsagePeriod::Session), false),
        (Behavior::Exits(137, String::new()), false),
        // The cause is known.
        (told(Config, 1, 100, UsagePeriod::Call), false),
        (told(Auth, 1, 100, UsagePeriod::Call), false),
    ] {
        for by in ["exit", "claim", "agent"] {
            let id = StepId::from("A");
            let checker = || script_worker(WorkerKind::Command, "check it");
            let by = match by {
                "exit" => CheckMethod::Exit(checker()),
                "claim" => CheckMethod::Claim,
                _ => CheckMethod::Agent(checker()),
            };
            let is_claim = by == CheckMethod::Claim;
            let says = |decision: &str| {
                Behavior::Writes(0, format!(r#"{{"decision":"{decision}","check_id":"{{id}}"}}"#))
            };
            let work = vec![
                act.clone(),
                if is_claim { says("complete") } else { Behavior::Exits(0, String::new()) },
            ];
            let checks = vec![
                if matches!(by, CheckMethod::Agent(_)) {
                    says("incomplete")
                } else {
                    Behavior::Exits(1, String::new())
                },
                says("complete"),
            ];
            let script = Script { work: [(id.clone(), work)].into(), checks: [(id.clone(), checks)].into() };
            let mut world = World::start(Workflow::of_steps(vec![step("A").with_check(by, 5)]), script);
            world.play();
            let verdicts = world.history.events.iter().filter_map(|event| match &event.fact {
                Fact::Concluded(Conclusion::VerdictReached(verdict)) => Some(verdict),
                _ => None,
            });
            let verdicts: Vec<_> = verdicts.collect();
            if !goes_on {
                assert!(verdicts.is_empty(), "{act:?}");
                continue;
            }
            let [first, second] = &verdicts[..] else { panic!("{act:?}: {verdicts:?}") };
            let (decision, said, unread) = if is_claim {
                (Decision::None, first.problems.last(), 1)
            } else {
                (Decision::Incomplete, first.reasons.first(), 0)
            };
            assert_eq!((first.decision, first.parse_failures), (decision, unread));
            assert!(
                said.is_some_and(|text| text.contains("broke off") && text.contains("EPIPE")),
                "{first:?}"
            );
            assert_eq!(second.decision, Decision::Complete, "{second:?}");
            assert_eq!(world.worker_calls[&id], 2);
        }
    }
}

#[test]
fn a_kick_ends_a_wait_for_whatever_it_is() {
    let waits = r#"{"decision":"waiting","check_id":"{id}","retry_after":100}"#;
    let done = || vec![Behavior::Exits(0, "done".to_owned())];
    let cases = [
        ("an external job", done(), vec![Behavior::Writes(0, waits.to_owned())]),
        ("a retry", vec![Behavior::Hangs], done()),
        ("a service", vec![Behavior::Exits(1, "error: rate limit exceeded".to_owned())], done()),
    ];
    for (name, work, checks) in cases {
        let mut one =
            step("a").with_check(CheckMethod::Agent(script_worker(WorkerKind::Command, "check it")), 2);
        (one.max_retries, one.on_failure) = (2, OnFailure::Retry);
        let script = Script { work: [("a".into(), work)].into(), checks: [("a".into(), checks)].into() };
        let mut world = World::start(Workflow::of_steps(vec![one]), script);
        world.play_until(RunState::is_waiting);
        assert_eq!(world.state.pending_effects().len(), 0, "{name}");
        world.give(Observation::Kicked).expect("it waits");
        assert!(!world.state.is_waiting(), "{name}");
        assert_eq!(world.state.pending_effects().len(), 1, "{name}");
    }
}
