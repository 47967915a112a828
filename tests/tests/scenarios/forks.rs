//! From a what-if to a run: a fork continues a recorded run under another policy.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::stage::{Ended, Stage};

/// Counts its calls in `n`, and fails in the same way until there are ten.
const LOOP: &str = "worker: COMMAND
command: 'n=$(cat n 2>/dev/null || echo 0); echo $((n + 1)) >n'
instructions: Count.
completion_check: {commands: ['test $(cat n) -ge 10 || { echo \"FAILED a.py::t - AssertionError\"; exit 1; }'], baseline: off}
max_iterations: 30
convergence: {enabled: true, stall_threshold: 2}
";

const HIGHER: [&str; 2] = ["--set", "steps.work.convergence.stall_threshold=20"];
const KEY: &str = "--what-if steps.work.convergence.stall_threshold";

/// A run that is stuck, with everything committed.
fn stuck() -> (Stage, String) {
    let stage = Stage::repository();
    stage.workflow("", LOOP);
    stage.write(".gitignore", "context\n");
    commit(&stage);
    stage.unstuck(&["run", "flow.yaml"]).with_status(3);
    let run = stage.facts("run_started")[0]["run"].as_str().expect("a name").to_owned();
    (stage, run)
}

fn commit(stage: &Stage) {
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "as it is"]);
}

fn fork(stage: &Stage, more: &[&str]) -> Ended {
    stage.unstuck(&[&["fork"], more].concat())
}

fn count(folder: &Path) -> String {
    fs::read_to_string(folder.join("n")).expect("it was counted").trim().to_owned()
}

#[test]
fn a_stuck_run_is_asked_what_if_and_forked_and_completes() {
    let (stage, parent) = stuck();
    let asked = stage.unstuck(&["replay", "--what-if", HIGHER[1]]).with_status(0);
    asked.says("recorded STUCK, then not known");
    let why = stage.unstuck(&["why"]).with_status(0);
    why.says("the limit is 2 = stall_threshold of work, flow.yaml:11").says(&format!("{}=3", KEY));
    let (before, stuck_at) =
        (stage.unstuck(&["export", &parent]).with_status(0).out, count(&stage.workspace()));
    let ended = fork(&stage, &HIGHER).with_status(0);
    ended.says("forked from run").says("the workflow was changed");
    assert_eq!(count(&stage.workspace()), "10");

    let started = &stage.facts("run_started")[0];
    assert_eq!(started["forked_from"]["run"].as_str(), Some(&*parent));
    let shared = started["forked_from"]["event"].as_u64().expect("an event");
    let parts = |events: &[Value]| -> Vec<Value> {
        let shared =
            events.iter().filter(|event| (2..=shared).contains(&event["seq"].as_u64().expect("a number")));
        shared
            .map(|event| serde_json::json!([event["at"], event["type"], event["v"], event["event"]]))
            .collect()
    };
    assert_eq!(parts(&stage.events()), parts(&stage.events_of(&parent)));
    assert_eq!(stage.unstuck(&["export", &parent]).with_status(0).out, before, "the parent is untouched");
    stage.verify();
    stage.unstuck(&["replay"]).with_status(0).says("all the same");
    stage.unstuck(&["show"]).with_status(0);
    let why = stage.unstuck(&["why"]).with_status(0);
    why.says("counts no tests").says("unstuck diff").says("--what-if steps.work.require_change=true");
    let compared = stage.unstuck(&["replay", "--against"]).with_status(0);
    compared.says(&format!("share events 1 to {shared}")).says("end: STUCK").says("end: COMPLETE");
    let differs = stage.unstuck(&["diff", &parent, &started["run"].as_str().expect("a name")[..12]]);
    differs.with_status(0).says(&format!("-{stuck_at}")).says("+10");
    // An undo of the fork leads back to the files of its parent.
    stage.unstuck(&["undo", &format!("@last@{shared}"), "--yes"]).with_status(0);
    assert_eq!(count(&stage.workspace()), stuck_at);
}

#[test]
fn a_fork_in_a_worktree_begins_at_any_event_and_leaves_the_workspace_alone() {
    let (stage, parent) = stuck();
    stage.write("src/add.sh", "mine\n");
    let at = format!("{parent}@8");
    let refused = fork(&stage, &[&at, HIGHER[0], HIGHER[1]]).with_status(64);
    refused.complains("src/add.sh").complains("--worktree");
    let worked = count(&stage.workspace());
    fork(&stage, &[&at, "--worktree", "--hint", "count faster", HIGHER[0], HIGHER[1]]).with_status(0);
    assert_eq!(count(&stage.workspace()), worked);
    let place = stage.facts("run_started")[0]["workspace"].as_str().expect("a path").to_owned();
    assert_eq!(count(Path::new(&place)), "10");
    let fork_of_a_fork = ["@last@8", "--worktree", "--set", "steps.work.max_iterations=3"];
    fork(&stage, &fork_of_a_fork).with_status(2);
    stage.verify();
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    stage.unstuck(&["gc", &parent, "--yes"]).with_status(0);
    stage.verify();
}

#[test]
fn a_fork_leaves_what_a_person_committed_and_what_git_ignores() {
    let (stage, _) = stuck();
    stage.write(".gitignore", "context\n.env\n");
    stage.write(".env", "mine\n");
    stage.write("src/add.sh", "mine too\n");
    commit(&stage);
    fork(&stage, &["@last@8", HIGHER[0], HIGHER[1]]).with_status(0);
    let read = |name: &str| fs::read_to_string(stage.workspace().join(name)).expect("it is there");
    assert_eq!((read(".env").as_str(), read("src/add.sh").as_str()), ("mine\n", "mine too\n"));
    assert_eq!(count(&stage.workspace()), "10");
}

#[test]
fn a_fork_on_a_protected_branch_is_refused_before_anything_changes() {
    let (stage, _) = stuck();
    commit(&stage);
    stage.git(&["switch", "-qc", "main"]);
    let worked = count(&stage.workspace());
    fork(&stage, &["@last@8", HIGHER[0], HIGHER[1]]).with_status(64);
    assert_eq!(count(&stage.workspace()), worked);
    assert_eq!(stage.unstuck(&["runs", "--json"]).out.matches("\"run\"").count(), 1);
}

#[test]
fn a_fork_that_cannot_be_says_why_and_leaves_no_run() {
    let (stage, parent) = stuck();
    let runs = || stage.unstuck(&["runs", "--json"]).with_status(0).out.matches("\"run\"").count();
    for (more, why) in [
        (&["@last@999"][..], "has no event 999"),
        (&["@last@now"], "a fork begins after an event"),
        (&["--set", "steps.work.nothing=1"], "the workflow has no key"),
        (&["--set", "steps.work.max_iterations=2"], "cannot continue"),
    ] {
        fork(&stage, more).with_status(64).complains(why);
    }
    assert_eq!(runs(), 1);
    stage.unstuck(&["resume", &parent, "--set", HIGHER[1]]).with_status(0);
    fork(&stage, &[]).with_status(64).complains("the run is complete").complains("unstuck fork");
    assert_eq!(runs(), 1);
}
