//! A run continues with a workflow that a person changed, and in a workspace that was moved.

use std::fs;

use crate::stage::Stage;

/// Counts its calls in `n`.
const COUNTS: &str = "n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n";

/// A loop that is complete at `goal`, and that gives up after two iterations.
fn counting(goal: u32, more: &str) -> String {
    format!(
        "worker: COMMAND\ncommand: '{COUNTS}'\ninstructions: Count.\ncompletion_check: {{commands: ['test $(cat n) -ge {goal}'], baseline: off}}\nmax_iterations: 2\n{more}"
    )
}

/// A run that is out of iterations.
fn exhausted() -> Stage {
    let stage = Stage::repository();
    stage.workflow("", &counting(4, ""));
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "the workflow"]);
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    stage
}

#[test]
fn resume_set_changes_the_workflow_of_a_run_by_an_event() {
    let stage = exhausted();
    stage.unstuck(&["resume"]).with_status(64).complains("the last allowed iteration is over");
    for (setting, why) in [
        ("steps.work.max_iteration=9", "did you mean steps.work.max_iterations?"),
        ("steps.work.max_iterations=x", "cannot be \"x\""),
        ("max_iterations", "is not of the form KEY=VALUE"),
    ] {
        stage.unstuck(&["resume", "--set", setting]).with_status(64).complains(why);
    }
    assert!(stage.facts("run_resumed").is_empty(), "a refused change is not recorded");
    let ended = stage.unstuck(&["resume", "--set", "steps.work.max_iterations=9"]).with_status(0);
    ended.says("the workflow was changed: steps.work.max_iterations=9");
    let resumed = &stage.facts("run_resumed")[0];
    assert_eq!(resumed["changes"], serde_json::json!(["steps.work.max_iterations=9"]));
    stage.verify();
    stage.unstuck(&["replay"]).with_status(0).says("all the same");
    // A what-if changes the new workflow as well.
    let asked = stage.unstuck(&["replay", "--what-if", "steps.work.max_iterations=3"]).with_status(0);
    asked.says("OUT OF ITERATIONS");
}

#[test]
fn accepted_changes_of_the_workflow_file_are_used_and_are_no_work_of_the_run() {
    let stage = exhausted();
    stage.workflow("", &counting(3, ""));
    let note = "To use it: unstuck resume";
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2).says(note);
    stage.unstuck(&["resume", "--accept-changes", "--add-iterations", "1"]).with_status(0).says("flow.yaml");
    stage.unstuck(&["diff", "--name-only"]).with_status(0).says("n").complains("flow.yaml");
    stage.verify();
}

#[test]
fn a_changed_workflow_keeps_the_steps_that_have_begun_and_may_have_others() {
    let stage = exhausted();
    stage.write("flow.yaml", "name: scenario\nversion: \"1\"\ntimeout: 5m\nsteps:\n  other: {worker: CUSTOM, instructions: 'true', capabilities: [EDIT]}\n");
    let refused = stage.unstuck(&["resume", "--accept-changes"]).with_status(64);
    refused.complains("step work has begun").complains("unstuck run");
    stage.write("flow.yaml", "not a workflow\n");
    stage.unstuck(&["resume", "--accept-changes"]).with_status(64).complains("flow.yaml");
    assert!(stage.facts("run_resumed").is_empty());
    stage.workflow("", &counting(3, ""));
    let text = fs::read_to_string(stage.workspace().join("flow.yaml")).expect("it was written");
    let next =
        "  next: {worker: CUSTOM, instructions: touch second, capabilities: [EDIT], depends_on: [work]}\n";
    stage.write("flow.yaml", format!("{text}{next}"));
    stage.unstuck(&["resume", "--accept-changes", "--set", "steps.work.max_iterations=5"]).with_status(0);
    assert!(stage.workspace().join("second").exists());
    stage.unstuck(&["show"]).with_status(0).says("next");
    stage.verify();
}

#[test]
fn a_workflow_file_that_is_read_again_raises_no_budget_and_keeps_earlier_settings() {
    let stage = Stage::repository();
    stage.workflow("max_usd: 20\n", &counting(9, ""));
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "the workflow"]);
    let options = ["--max-usd", "5", "--accept-unknown-cost"];
    stage.unstuck(&[&["run", "flow.yaml"], &options[..]].concat()).with_status(2);
    stage.unstuck(&["resume", "--set", "steps.work.max_iterations=3"]).with_status(2);
    stage.workflow("max_usd: 20\n", &counting(8, ""));
    stage.unstuck(&["resume", "--accept-changes", "--add-iterations", "1"]).with_status(2);
    let resumed = stage.facts("run_resumed").remove(1);
    let workflow: serde_json::Value =
        serde_json::from_str(resumed["workflow_json"].as_str().expect("a workflow")).expect("JSON");
    assert_eq!(workflow["budget"]["micro_usd"], 5_000_000);
    assert_eq!(workflow["steps"][0]["max_iterations"], 3);
}

#[test]
fn a_run_continues_in_a_workspace_that_was_moved() {
    let stage = exhausted();
    let moved = stage.scratch("moved");
    fs::rename(stage.workspace(), &moved).expect("the scratch folder is ours");
    let refused = stage.unstuck_in(&moved, &["resume", "@last"]).with_status(64);
    let (_, command) = refused.err.split_once("moved here: unstuck ").expect("the command is named");
    assert!(refused.err.contains(&stage.workspace().display().to_string()), "{}", refused.err);
    let words: Vec<&str> = command.split_whitespace().collect();
    stage.unstuck_in(&moved, &[&words[..], &["--add-iterations", "2"]].concat()).with_status(0);
    let ask = |command: &[&str]| stage.unstuck_in(&moved, &[&words[..2], command].concat());
    ask(&["diff", "--name-only"]).with_status(0).says("n");
    ask(&["verify"]).with_status(0);
    ask(&["undo", "@last@first", "--yes"]).with_status(0);
    assert!(!moved.join("n").exists());
    let nowhere = ask(&["resume", "--workspace", "no/such"]);
    nowhere.with_status(0).says("is complete");
}
