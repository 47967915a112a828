//! An undo takes back what the run did, and nothing else.

use std::fs;

use crate::stage::{Stage, wait_until};

/// Runs a worker that changes `src/add.sh`.
fn changed(stage: &Stage) {
    let work = "echo by the run >src/add.sh; echo new >of-run; echo COMPLETE";
    stage.unstuck(&["run", "go", "--trust-worker", "--with", work]).with_status(0);
}

fn file(stage: &Stage, name: &str) -> String {
    fs::read_to_string(stage.workspace().join(name)).unwrap_or_default()
}

#[test]
fn undo_keeps_what_changed_after_the_run_unless_all_is_wanted_and_the_way_back_has_everything() {
    for all in [false, true] {
        let stage = Stage::repository();
        stage.write("notes", "mine\n");
        let before = file(&stage, "src/add.sh");
        changed(&stage);
        stage.write("notes", "mine\nlater\n");
        stage.write("of-mine", "new\n");
        stage.write("of-run", "new\nand edited\n");
        fs::create_dir(stage.workspace().join("empty")).expect("the workspace is ours");
        let options: &[&str] = if all { &["--all"] } else { &[] };
        let undone = stage.unstuck(&[&["undo", "@last@first"][..], options].concat());
        let undone = undone.with_status(if all { 0 } else { 1 }).says("reverts  1 file: src/add.sh");
        assert_eq!(file(&stage, "src/add.sh"), before);
        if all {
            assert_eq!(
                (&*file(&stage, "notes"), &*file(&stage, "of-mine"), &*file(&stage, "of-run")),
                ("mine\n", "", "")
            );
        } else {
            let told = undone.out.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(told.contains("keeps 2 files: notes, of-mine (changed after the run"), "{told}");
            assert!(told.contains("keeps 1 file: of-run (changed by the run and after it"), "{told}");
            assert_eq!((&*file(&stage, "notes"), &*file(&stage, "of-mine")), ("mine\nlater\n", "new\n"));
            assert_eq!(file(&stage, "of-run"), "new\nand edited\n");
            assert!(stage.workspace().join("empty").exists());
            // It is the same when it is asked for again.
            stage.unstuck(&["undo", "@last@first"]).with_status(1);
            assert_eq!(file(&stage, "notes"), "mine\nlater\n");
        }
        let back = undone
            .out
            .lines()
            .find_map(|line| line.strip_prefix("to undo this: unstuck "))
            .expect("a way back");
        stage.unstuck(&back.split(' ').collect::<Vec<_>>()).with_status(0);
        assert_eq!((&*file(&stage, "notes"), &*file(&stage, "of-mine")), ("mine\nlater\n", "new\n"));
        assert_eq!(
            (&*file(&stage, "src/add.sh"), &*file(&stage, "of-run")),
            ("by the run\n", "new\nand edited\n")
        );
        stage.verify();
    }
}

#[test]
fn undo_in_another_repository_or_on_another_branch_changes_nothing_unless_that_is_wanted() {
    for (change, told) in [
        (
            "rm -rf .git *; git init -qb work; echo other >other; git add .; git commit -qm other",
            "another repository",
        ),
        ("git switch -qc feature", "it is on feature, and the run left it on work"),
        ("git checkout -q --detach", "it is on no branch, and the run left it on work"),
    ] {
        let stage = Stage::repository();
        changed(&stage);
        let made = stage.shell(&stage.workspace(), change);
        assert!(made.status.success(), "{made:?}");
        let (before, events) = (stage.git(&["status", "--porcelain"]), stage.events().len());
        stage.unstuck(&["undo"]).with_status(64).complains(told).complains("--yes");
        assert_eq!(
            (stage.git(&["status", "--porcelain"]), stage.events().len()),
            (before, events),
            "{change}"
        );
        stage.unstuck(&["undo", "--yes"]);
        assert_eq!(file(&stage, "other").is_empty(), !change.contains("other"), "{change}");
        assert_eq!(stage.events().len(), events + 2, "{change}");
    }
}

#[test]
fn undo_git_keeps_commits_that_were_made_after_the_run() {
    let stage = Stage::repository();
    changed(&stage);
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "of a person"]);
    let head = stage.git(&["rev-parse", "HEAD"]);
    stage.unstuck(&["undo", "--git"]).with_status(1).says("keeps    .git as it is").says("--all");
    assert_eq!(stage.git(&["rev-parse", "HEAD"]), head);
    assert!(file(&stage, "of-run").is_empty());
    stage.unstuck(&["undo", "@last@first", "--git", "--all"]).with_status(0);
    assert_ne!(stage.git(&["rev-parse", "HEAD"]), head);
}

#[test]
fn workflow_file_that_is_edited_after_a_kill_is_neither_held_against_the_worker_nor_shown_as_its_work() {
    let stage = Stage::repository();
    let check = "touch $SCRATCH/checks; while [ -e $SCRATCH/hold ]; do sleep 0.05; done; test -e work";
    let step = format!(
        "    worker: CUSTOM\n    instructions: touch work\n    capabilities: [EDIT]\n    max_iterations: 3\n    \
         completion_check: {{commands: [\"{check}\"]}}\n    convergence: {{enabled: true, allowed_paths: [work]}}\n"
    );
    let flow = format!("name: flow\nversion: \"1\"\ntimeout: 5m\nsteps:\n  fix:\n{step}");
    stage.write("flow.yaml", &flow);
    fs::write(stage.scratch("hold"), "").expect("the scratch folder is ours");
    let live = stage.start(&["run", "flow.yaml"]);
    wait_until("it checks", || stage.scratch("checks").exists());
    live.crash();
    wait_until("what it had started has ended", || stage.processes().is_empty());
    fs::remove_file(stage.scratch("hold")).expect("it is there");
    stage.write("flow.yaml", format!("{flow}# edited\n"));
    stage.unstuck(&["resume"]).with_status(0);
    let diff = stage.unstuck(&["diff", "--name-only"]).with_status(0);
    assert!(diff.out.contains("work") && !diff.out.contains("flow.yaml"), "{diff:?}");
    assert!(diff.err.contains("changed while the run was stopped: 1 file: flow.yaml"), "{diff:?}");
    stage.unstuck(&["undo", "@last@first"]).with_status(0).says("keeps    1 file: flow.yaml");
    assert!(file(&stage, "flow.yaml").ends_with("# edited\n") && !stage.workspace().join("work").exists());
    stage.verify();
}

#[test]
fn home_directory_is_no_workspace_unless_that_is_wanted() {
    let stage = Stage::new();
    let home = stage.scratch("../home");
    fs::create_dir_all(&home).expect("the stage is ours");
    let run = ["run", "go", "--trust-worker", "--with", "echo x >x; echo COMPLETE"];
    stage.unstuck_in(&home, &run).with_status(64).complains("it is your home directory").complains("--here");
    assert!(!home.join("x").exists());
    stage.unstuck_in(&home, &[&run[..], &["--here"]].concat()).with_status(0);
    assert!(home.join("x").exists());
}

#[test]
fn undo_neither_empties_nor_fills_what_is_mounted_in_the_workspace() {
    let stage = Stage::repository();
    let mounts = "mount --bind $SCRATCH/other data && exec \"$0\" \"$@\"";
    let below = ["unshare", "-rm", "sh", "-c", mounts];
    stage.write("data/keep", "x\n");
    fs::create_dir(stage.scratch("other")).expect("the scratch folder is ours");
    let other = |name: &str| stage.scratch("other").join(name).exists();
    fs::write(stage.scratch("other/photo"), "x").expect("the scratch folder is ours");
    changed(&stage);
    // Mounted after the run.
    let Some(undone) = stage.unstuck_below(&below, &["undo"]) else { return };
    undone.with_status(1).says("data: has another file system mounted on it now");
    assert!(other("photo") && !other("keep"));
    stage.unstuck_below(&below, &["undo", "--all"]);
    assert!(other("photo") && !other("keep") && stage.workspace().join("data/keep").exists());
    // Mounted during the run.
    let work = "echo more >data/more; echo by the run >src/add.sh; echo COMPLETE";
    let ran = stage
        .unstuck_below(&below, &["run", "go", "--trust-worker", "--with", work])
        .expect("it can be mounted");
    ran.with_status(0).says("data (on another file system that is mounted there)");
    stage.unstuck(&["undo"]);
    assert!(other("more") && !stage.workspace().join("data/photo").exists());
    assert!(stage.workspace().join("data/keep").exists());
}

#[test]
fn branch_that_the_worker_made_in_a_worktree_is_named_at_the_end() {
    let stage = Stage::repository();
    let work = "git switch -qc of-worker; echo x >x; echo COMPLETE";
    let ended = stage.unstuck(&["run", "go", "--trust-worker", "--with", work, "--worktree"]).with_status(0);
    let told = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(told.contains("where its work is, on branch of-worker"), "{told}");
}
