//! Before a run begins: detected test commands, saved command lines, `check --explore`, and errors in files.

use serde_json::Value;

use crate::stage::{Stage, repository, worker};

#[test]
fn a_run_without_a_check_uses_the_command_that_tests_the_project() {
    let stage = Stage::repository();
    let run = ["run", "mend add", "--with", &worker("fix.sh"), "--max-iterations", "2"];
    stage.unstuck(&run).with_status(64).complains("--check CMD").complains("--trust-worker");

    stage.write("Makefile", "test:\n\tsh tests/run.sh\n");
    let said = "check: make test (found Makefile)";
    // It is shown before the run, and as any other check is.
    stage.unstuck(&run).with_status(0).complains(said).says("make test");
}

#[test]
fn a_command_line_that_is_saved_runs_as_a_file() {
    let stage = Stage::repository();
    let run =
        ["run", "mend add", "--with", &worker("fix.sh"), "--check", "sh tests/run.sh", "--save", "flow.yaml"];
    stage.unstuck(&run).with_status(0).complains("unstuck run flow.yaml");
    stage.git(&["checkout", "-q", "."]);
    stage.unstuck(&["check", "flow.yaml", "--strict"]).with_status(0);
    stage.unstuck(&["run", "flow.yaml"]).with_status(0).says("COMPLETE");
    stage.unstuck(&run).with_status(64).complains("flow.yaml is there already");
}

#[test]
fn check_explore_lists_possible_ends_of_a_loop() {
    let stage = Stage::new();
    let convergence = "convergence: {enabled: true, stall_threshold: 4, max_stage: 2}";
    let step = format!(
        "worker: COMMAND\ncommand: cat\ninstructions: Go.\ntimeout: 10s\ncompletion_check: {{commands: [make], timeout: 10s}}\nmax_iterations: 3\n{convergence}"
    );
    stage.workflow("", &step);
    let told = stage.unstuck(&["check", "flow.yaml", "--explore"]).with_status(0);
    for line in [
        "at most    3 iterations, 3 worker calls, 9 checks, 9 command runs, 2 min",
        "never      a worker in stage 2",
        "COMPLETE · after complete",
        "no client that is paid for",
        "warning: flow.yaml:12: steps.work.convergence.stall_threshold: 4 iterations",
    ] {
        assert!(told.out.contains(line), "{line}\n{}", told.out);
    }
    assert!(!told.out.contains("STUCK"), "no stage can be raised: {}", told.out);
    let json = stage.unstuck(&["check", "flow.yaml", "--explore", "--json"]).with_status(0);
    let json: Value = serde_json::from_str(&json.out).expect("JSON");
    assert_eq!(json["steps"][0]["worst"]["iterations"], 3);
    assert_eq!(json["contradictions"][0]["line"], 12);
    let again = stage.unstuck(&["check", "flow.yaml", "--explore", "--json"]).with_status(0);
    assert_eq!(serde_json::from_str::<Value>(&again.out).expect("JSON"), json);
    let paid = step.replace("worker: COMMAND\ncommand: cat", "worker: CODEX_CLI\ncapabilities: [READ]");
    for (head, cost) in [("max_usd: 5\n", "cost at most $5.00 (max_usd)"), ("", "nothing bounds the cost")] {
        stage.workflow(head, &paid);
        stage.unstuck(&["check", "flow.yaml", "--explore"]).with_status(0).says(cost);
    }
}

#[test]
fn example_without_a_file_fixes_one_failure_after_the_other() {
    let stage = Stage::new();
    let example = |file: &str| repository("examples/fix-the-bug").join(file).display().to_string();
    let made = std::process::Command::new("sh")
        .args([&example("prepare.sh"), &stage.scratch("shop").display().to_string()])
        .output()
        .expect("there is a shell");
    assert!(made.status.success(), "{made:?}");
    let worker = format!("sh {}", example("agent.sh"));
    let run =
        ["run", "make the tests pass", "--check", "sh tests/run.sh", "--allow", "src/**", "--with", &worker];
    let ended = stage.unstuck_in(&stage.scratch("shop"), &run).with_status(0);
    let moved: Vec<&str> = ended.out.match_indices("fail ").map(|(at, _)| &ended.out[at..at + 10]).collect();
    assert!(ended.out.contains("3 failures, 3 tests"), "{ended:?}");
    assert!(moved.iter().any(|line| line.starts_with("fail 1 →")), "{moved:?}");
    assert!(ended.out.contains("COMPLETE after 3 iterations"), "{ended:?}");
}

#[test]
fn problems_of_a_file_are_reported_as_json_too() {
    let stage = Stage::repository();
    stage.write("flow.yaml", "name: x\nversion: \"1\"\ntimeout: 1h\nstepz: {}\n");
    let ended = stage.unstuck(&["check", "flow.yaml", "--json"]).with_status(64);
    let told: Value = serde_json::from_str(&ended.out).expect("JSON");
    let named = &told["problems"][1];
    assert_eq!(
        (&named["line"], &named["path"]),
        (&serde_json::json!(4), &serde_json::json!("stepz")),
        "{told}"
    );
    ended.complains("did you mean \"steps\"?");
}

#[test]
fn missing_file_gets_a_suggestion_of_a_similar_name() {
    let stage = Stage::repository();
    stage.write("flows/fix-it.yaml", "name: x\nversion: \"1\"\ntimeout: 1h\nsteps: {}\n");
    stage.write("plan.md", "- [ ] one\n");
    for (command, file, next) in [
        ("run", "flows/fix_it.yml", "did you mean flows/fix-it.yaml? unstuck run flows/fix-it.yaml"),
        ("check", "flows/fixit.yaml", "did you mean flows/fix-it.yaml? unstuck check flows/fix-it.yaml"),
        ("import", "plans.md", "did you mean plan.md? unstuck import plan.md"),
        ("run", "other.yaml", "unstuck init   writes a workflow to begin with"),
        ("check", "nowhere/other.yaml", "unstuck init   writes a workflow to begin with"),
    ] {
        let refused = stage.unstuck(&[command, file]).with_status(64);
        refused.complains(&format!("error: there is no file {file}\n  next: {next}\n"));
    }
}
