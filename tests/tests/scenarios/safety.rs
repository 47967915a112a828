//! Damage by a worker to the work of the user and to the record, and secrets in the record: S59, S66 to S70, S83.

use std::fs;

use serde_json::{Value, json};

use crate::stage::{Stage, holds, wait_until, worker};
use crate::verification;

#[test]
fn s67_a_worker_that_empties_its_workspace_does_not_reach_the_record() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "tidy up", "--trust-worker", "--with", &worker("clean-out.sh")]).with_status(0);
    assert_eq!((stage.calls(), stage.verdicts().len()), (3, 3));
    stage.verify();
    assert!(stage.kept().iter().all(|path| !path.starts_with(stage.workspace())));

    // Not even without a workspace: the next worker cannot start, and that is said.
    let command = "rm -rf \"$PWD\"; echo INCOMPLETE";
    stage
        .unstuck(&["run", "tidy up", "--trust-worker", "--with", command])
        .with_status(5)
        .says("does not exist any more");
    fs::create_dir_all(stage.workspace()).expect("the scratch folder is ours");
    stage.verify();
}

#[test]
fn s67_a_worker_that_removes_the_record_itself_is_not_complete() {
    let stage = Stage::repository();
    let command = "echo work >>notes.txt; rm -rf \"$XDG_STATE_HOME\"; echo COMPLETE";
    let ended = stage.unstuck(&["run", "tidy up", "--trust-worker", "--with", command]).with_status(6);
    assert!(!ended.out.contains("exit 0") && ended.err.contains("is gone"), "{ended:#?}");
    stage.leaves_nothing_running();
}

#[test]
fn s69_the_values_of_secrets_are_nowhere_in_the_record_and_counted() {
    const KEY: &str = "sk-live-4f9a \"quoted\" \\ 77aa01";
    const TOKEN: &str = "tok_Zx81Qqqw77";
    let stage = Stage::repository()
        .with_variable("API_KEY", KEY)
        .with_variable("DEPLOY_TOKEN", TOKEN)
        // Names from the log format as values break nothing.
        .with_variable("DB_PASSWORD", "decision_file")
        .with_variable("ROOT_PASSWORD", "worker_finished");
    let check =
        "echo \"checked with $API_KEY\"; [ -e \"$SCRATCH/second\" ] && grep -q 'work' notes.txt && exit 1";
    stage
        .unstuck(&[
            "run",
            "deploy it",
            "--trust-worker",
            "--with",
            &worker("leaky.sh"),
            "--max-iterations",
            "2",
        ])
        .with_status(0);
    let claimed = stage.facts("worker_finished");
    stage
        .unstuck(&[
            "run",
            "deploy it",
            "--with",
            &worker("leaky.sh"),
            "--check",
            check,
            "--max-iterations",
            "2",
        ])
        .with_status(2);
    let hint = format!("log in with {KEY} first");
    stage.unstuck(&["resume", "--add-iterations", "1", "--hint", &hint]).with_status(2);
    let checked = stage.facts("check_finished");
    for finished in claimed.iter().chain(&checked) {
        assert!(finished["outcome"]["redactions"].as_u64() > Some(0), "{finished:#}");
    }
    assert!(claimed[0]["outcome"]["answer"].as_str().is_some_and(|text| text.contains("[redacted:API_KEY]")));
    stage.verify();

    let forms = [KEY, TOKEN, &KEY.replace('\\', "\\\\").replace('"', "\\\""), "sk-live-4f9a"];
    let hex: Vec<String> =
        forms.iter().map(|form| form.bytes().map(|byte| format!("{byte:02x}")).collect()).collect();
    let kept = stage.kept();
    assert!(kept.len() > 5, "{kept:?}");
    for path in kept {
        let bytes = fs::read(&path).expect("it can be read");
        let name = path.to_string_lossy().into_owned();
        for form in forms.into_iter().chain(hex.iter().map(String::as_str)) {
            assert!(!holds(&bytes, form.as_bytes()) && !name.contains(form), "{form} is in {name}");
        }
    }
}

#[test]
fn s69_secret_of_a_run_stays_secret_on_resume_and_in_background() {
    let value = "correct-horse-battery";
    let is_nowhere = |stage: &Stage| {
        for path in stage.kept() {
            let bytes = fs::read(&path).expect("it can be read");
            assert!(!holds(&bytes, value.as_bytes()), "{}", path.display());
        }
    };
    let says = "echo value $MYPASS";
    let first = format!("cat >/dev/null; {says}; test -e \"$SCRATCH/goes\"");
    let stage = Stage::repository().with_variable("MYPASS", value);
    let run =
        ["run", "go", "--trust-worker", "--max-iterations", "1", "--secret", "MYPASS", "--with", &first];
    stage.unstuck(&run);
    is_nowhere(&stage);
    fs::write(stage.scratch("goes"), "").expect("the scratch folder is ours");
    stage.unstuck(&["resume", "--add-iterations", "1", "--hint", value]);
    is_nowhere(&stage);
    assert_eq!(stage.facts("run_started")[0]["secrets"], serde_json::json!(["MYPASS"]));
    assert!(stage.events().len() > 10, "it went on");

    let stage = Stage::repository().with_variable("MYPASS", value);
    stage.unstuck(&[&run[..], &["-d"]].concat()).with_status(0);
    wait_until("it has ended", || !stage.facts("run_ended").is_empty());
    wait_until("it is gone", || stage.processes().is_empty());
    is_nowhere(&stage);
}

#[test]
fn s69_secret_in_a_script_is_reported_with_place_and_without_value() {
    let stage = Stage::repository().with_variable("API_KEY", "supersecret99");
    let step =
        "  a:\n    worker: CUSTOM\n    instructions: curl -H supersecret99 x\n    capabilities: [READ]\n";
    let file = |steps: &str| format!("name: t\nversion: \"1\"\ntimeout: 1m\nsteps:\n{steps}");
    stage.write("child.yaml", file(step));
    for (steps, place) in
        [(step, "flow.yaml:7:27: step a"), ("  b:\n    workflow: child.yaml\n", "child.yaml:7:27: step a")]
    {
        stage.write("flow.yaml", file(steps));
        let refused = stage.unstuck(&["run", "flow.yaml"]).with_status(64).complains(place);
        let refused = refused.complains("instructions: curl -H [redacted:API_KEY] x");
        assert!(!refused.err.contains("supersecret99"), "{}", refused.err);
    }
}

#[test]
fn s69_secret_in_a_client_or_validator_description_is_reported_with_place() {
    let stage = Stage::repository().with_variable("API_KEY", "supersecret99");
    let refuses = |words: &[&str], place: &str, line: &str| {
        let refused = stage.unstuck(words).with_status(64).complains(place).complains(line);
        assert!(!refused.err.contains("supersecret99"), "{}", refused.err);
    };
    let run = ["run", "do it", "--trust-worker", "--with", "house", "--yes"];
    let env =
        "workers:\n  house:\n    like: gemini\n    program: cat\n    launch: {env: {A: supersecret99}}\n";
    for (launch, place) in [
        ("      args:\n      - --token=supersecret99\n", ".unstuck/workers.yaml:7:17: step work"),
        ("      env: {A: supersecret99}\n", ".unstuck/workers.yaml:6:16: step work"),
    ] {
        let file = format!("workers:\n  house:\n    like: gemini\n    program: cat\n    launch:\n{launch}");
        stage.write(".unstuck/workers.yaml", file);
        refuses(&run, place, "[redacted:API_KEY]");
    }
    fs::remove_file(stage.workspace().join(".unstuck/workers.yaml")).expect("it is there");
    let toml = "[workers.house]\nlike = \"gemini\"\nprogram = \"cat\"\nlaunch.args = [\"supersecret99\"]\n";
    stage.write(".unstuck/workers.toml", toml);
    refuses(&run, ".unstuck/workers.toml:4:17: step work", "launch.args = [\"[redacted:API_KEY]\"]");
    fs::remove_file(stage.workspace().join(".unstuck/workers.toml")).expect("it is there");
    let head = |more: &str| format!("name: t\nversion: \"1\"\ntimeout: 1m\n{more}steps:\n  a:\n");
    let by = "    worker: CLIENT\n    client: house\n    instructions: x\n    capabilities: [READ]\n";
    stage.write("flow.yaml", head(env) + by);
    refuses(&["run", "flow.yaml", "--yes"], "flow.yaml:8:23: step a", "[redacted:API_KEY]");
    let validators =
        json!({"v": {"type": "command", "command": "echo supersecret99", "successWhen": "exitCode:0"}});
    verification::registry(&stage, &validators, &json!({}));
    let script = "    worker: CUSTOM\n    instructions: x\n    capabilities: [READ]\n    max_iterations: 2\n    completion_conditions: [v]\n";
    stage.write("flow.yaml", head("steps_registry: .agent/fixer/steps_registry.json\n") + script);
    refuses(&["run", "flow.yaml"], ".agent/fixer/steps_registry.json:", "[redacted:API_KEY]");
}

#[test]
fn s69_a_secret_in_the_goal_is_not_in_the_index() {
    let stage = Stage::repository().with_variable("API_KEY", "supersecret99");
    stage
        .unstuck(&[
            "run",
            "use supersecret99 now",
            "--trust-worker",
            "--with",
            "true",
            "--max-iterations",
            "1",
        ])
        .with_status(2);
    for path in stage.kept() {
        assert!(!holds(&fs::read(&path).expect("it can be read"), b"supersecret99"), "{}", path.display());
    }
}

#[test]
fn s66_what_a_worker_throws_away_is_noticed_and_comes_back_with_one_command() {
    let throw_away = [
        "git reset -q --hard",
        "git clean -qfdx",
        "git stash -qu",
        "git checkout -q -f -b elsewhere HEAD && git clean -qfd",
        "rm -rf .git notes.txt",
        "rm -r notes.txt src; mkfifo notes.txt src",
        "rm notes.txt; ln -s src/add.sh notes.txt",
    ];
    for command in throw_away {
        let stage = Stage::repository();
        stage.write("src/add.sh", "add() { echo mended by hand; }\n");
        stage.write("notes.txt", "not added to git\n");
        let mess = format!("echo more >>src/new.sh; {command}; echo COMPLETE");
        let ended = stage.unstuck(&["run", "tidy up", "--trust-worker", "--with", &mess]);
        let put_back = format!("put it back: unstuck undo {} 1", stage.run());
        assert!(notes(&stage).contains(&put_back), "{command}: {ended:#?}");
        let restored = if command.contains(".git") { &["undo", "--git"][..] } else { &["undo"] };
        stage.unstuck(restored).with_status(0).says("to undo this");
        for (name, text) in
            [("src/add.sh", "add() { echo mended by hand; }\n"), ("notes.txt", "not added to git\n")]
        {
            let found = fs::read_to_string(stage.workspace().join(name)).unwrap_or_default();
            assert_eq!(found, text, "{command}: {name}");
        }
        assert!(!stage.workspace().join("src/new.sh").exists(), "{command}");
        assert!(stage.workspace().join(".git/HEAD").exists(), "{command}");
        stage.verify();
    }
}

/// Files that Unstuck creates in these directories are exempt, but the files of the user are not.
#[test]
fn s66_files_of_the_user_in_folders_that_runs_write_to_are_seen_and_come_back() {
    for folder in ["context", ".unstuck"] {
        let stage = Stage::repository();
        let [kept, new] = ["a.txt", "new.txt"].map(|name| format!("{folder}/{name}"));
        stage.write(&kept, "mine\n");
        stage.write(&new, "not added to git\n");
        let stray = format!("echo taken >{kept}; rm {new}; echo more >>notes.txt");
        let pattern = format!("{folder}/**");
        let options = ["--check", "true", "--protect", &pattern, "--with", &stray, "--max-iterations", "1"];
        let ended = stage.unstuck(&[&["run", "tidy up"][..], &options].concat());
        ended.with_status(2).says(&kept).says(&new);
        stage.unstuck(&["diff", "--name-only"]).says(&kept).says(&new);
        stage.unstuck(&["undo", "@last", "1"]).with_status(0);
        for (name, text) in [(&kept, "mine\n"), (&new, "not added to git\n")] {
            assert_eq!(fs::read_to_string(stage.workspace().join(name)).expect("it came back"), text);
        }
    }
}

#[test]
fn s66_what_was_staged_is_missed_as_well_wherever_head_is_then() {
    const LOST: &str =
        "threw away 2 changes that no commit has: notes.txt, src/add.sh; put it back: unstuck undo $RUN 1";
    for (command, told) in [
        ("git reset -q --hard", LOST),
        ("git stash -q", LOST),
        ("git reset -q --hard; git commit -q --allow-empty -m x", LOST),
        (
            "rm -rf .git; git init -q; git checkout -q -b x",
            "that it was at (work, at $HEAD): made anew, or pruned; put it back: unstuck undo $RUN 1 --git",
        ),
        ("git commit -qm all", ""),
        ("echo more >>notes.txt; git add -A; git commit -qm all", ""),
        ("echo more >>notes.txt; git add -A; git reset -q", ""),
    ] {
        let stage = Stage::repository();
        stage.write("src/add.sh", "add() { echo mended by hand; }\n");
        stage.write("notes.txt", "only staged\n");
        stage.git(&["add", "-A"]);
        let head = stage.git(&["rev-parse", "--short=12", "HEAD"]);
        let command = format!("{command}; touch new; echo COMPLETE");
        stage.unstuck(&["run", "tidy up", "--trust-worker", "--with", &command]);
        let (notes, run) = (notes(&stage), stage.run());
        let told = told.replace("$RUN", run.as_str()).replace("$HEAD", head.trim());
        assert!(notes.contains(&told) && told.is_empty() == notes.is_empty(), "{command}: {notes}");
        stage.unstuck(&["undo", "--git"]).with_status(0);
        assert_eq!(stage.git(&["status", "--porcelain"]), "A  notes.txt\nM  src/add.sh\n", "{command}");
    }
}

/// Returns what a person should know of the work, a line each.
fn notes(stage: &Stage) -> String {
    let finished = stage.facts("worker_finished");
    let notes = finished.iter().flat_map(|fact| fact["outcome"]["notes"].as_array().into_iter().flatten());
    notes.filter_map(Value::as_str).map(|note| format!("{note}\n")).collect()
}

#[test]
fn s66_the_command_that_is_named_brings_back_what_an_earlier_iteration_threw_away() {
    let stage = Stage::repository();
    stage.write("notes.txt", "not added to git\n");
    stage.write("worker.sh", "if [ -e $SCRATCH/calls ]; then echo mended >work.txt; else rm notes.txt; fi; echo call >>$SCRATCH/calls");
    let check = ["--check", "test -e work.txt"];
    stage.unstuck(&[&["run", "tidy up", "--with", "sh worker.sh"], &check[..]].concat()).with_status(0);
    let notes = notes(&stage);
    let (_, named) = notes.split_once("put it back: unstuck ").expect("it is named");
    let words: Vec<&str> = named.split_whitespace().collect();
    assert_eq!(words[..], ["undo", stage.run().as_str(), "1"], "{notes}");
    stage.unstuck(&words).with_status(0);
    let found = fs::read_to_string(stage.workspace().join("notes.txt")).unwrap_or_default();
    assert_eq!(found, "not added to git\n");
    stage.verify();
}

#[test]
fn s66_repository_changes_are_reported_with_a_command_that_reverts_them() {
    for (command, told) in [
        ("git checkout -q -b elsewhere", "to elsewhere; go back: git switch work"),
        ("git branch -qD keep", "the branch keep was deleted; put it back: git branch keep $KEEP"),
        ("git branch -qf keep HEAD", "the branch keep was moved from $KEEP to"),
        ("git reset -q --hard HEAD~1", "took commits off that were there before the run, up to $HEAD"),
        ("git checkout -qf keep; git commit -q --amend -m other", "the branch keep was moved from $KEEP to"),
        ("git reset -q --hard HEAD~1; git checkout -qf keep", "the branch work was moved from $HEAD to"),
        (
            "git add -A",
            "threw away what was staged in a form of its own: src/add.sh; put it back: $UNDO --git",
        ),
        (
            "git reset -q",
            "threw away what was staged in a form of its own: src/add.sh; put it back: $UNDO --git",
        ),
        ("rm src/add.sh; git add -A", "threw away what was staged in a form of its own: src/add.sh"),
        (
            "git config core.fsmonitor x",
            "changed what git runs and how it works: .git/config; look at it, or put it back: $UNDO --git",
        ),
        ("git commit -qam all", ""),
    ] {
        let stage = Stage::repository();
        stage.git(&["branch", "keep"]);
        stage.git(&["commit", "-q", "--allow-empty", "-m", "of a person"]);
        stage.write("src/add.sh", "add() { echo half; }\n");
        stage.git(&["add", "src/add.sh"]);
        stage.write("src/add.sh", "add() { echo half and more; }\n");
        let state = || {
            let all = [
                &["rev-parse", "HEAD", "keep"][..],
                &["status", "--porcelain", "--branch"],
                &["ls-files", "-s"],
            ];
            all.map(|question| stage.git(question))
        };
        let before = state();
        let (head, keep) = before[0].split_once('\n').expect("two commits");
        stage.unstuck(&[
            "run",
            "stray",
            "--trust-worker",
            "--with",
            &format!("{command}; touch new; echo COMPLETE"),
        ]);
        let (notes, undo) = (notes(&stage), format!("unstuck undo {} 1", stage.run()));
        let told = told.replace("$HEAD", head).replace("$KEEP", keep.trim()).replace("$UNDO", &undo);
        assert!(notes.contains(&told), "{command}: {notes}");
        assert_eq!(told.is_empty(), notes.is_empty(), "{command}: {notes}");
        if !told.contains("was moved") {
            stage.unstuck(&["undo", "--git"]).with_status(0).says("  .git     ");
            assert_eq!(state(), before, "{command}");
        }
        stage.verify();
    }
}

#[test]
fn s83_what_a_person_has_not_committed_stays_as_it_is() {
    let stage = Stage::repository();
    stage.write(".gitignore", ".env\n");
    stage.write(".env", "PORT=8080\n");
    stage.write("src/add.sh", "add() { echo half done; }\n");
    let index = || fs::read(stage.workspace().join(".git/index")).expect("an index");
    let (before, head) = (index(), stage.git(&["rev-parse", "HEAD"]));
    stage
        .unstuck(&["run", "add notes", "--trust-worker", "--with", "echo note >>notes.txt; echo COMPLETE"])
        .with_status(0);
    assert_eq!(index(), before, "nothing is staged");
    assert_eq!(stage.git(&["rev-parse", "HEAD"]), head, "nothing is committed");
    assert_eq!(stage.git(&["for-each-ref"]).lines().count(), 1, "no ref of ours");
    stage.unstuck(&["undo"]).with_status(0);
    assert_eq!(index(), before, "an undo stages nothing, either");
    let kept = |name: &str| fs::read_to_string(stage.workspace().join(name)).unwrap_or_default();
    assert_eq!(
        (kept(".env").as_str(), kept("src/add.sh").as_str()),
        ("PORT=8080\n", "add() { echo half done; }\n")
    );
    assert!(!stage.workspace().join("notes.txt").exists());
}

#[test]
fn s59_what_a_person_changed_meanwhile_is_shown_and_has_to_be_accepted() {
    let stage = Stage::repository().with_variable("DONE_AT", "3");
    let command = worker("count.sh");
    stage
        .unstuck(&["run", "count", "--trust-worker", "--with", &command, "--max-iterations", "2"])
        .with_status(2);
    stage.write("src/add.sh", "add() { echo by hand; }\n");
    let resume = ["resume", "--add-iterations", "2"];
    stage.unstuck(&resume).with_status(64).complains("src/add.sh").complains("--accept-changes");
    assert_eq!(stage.calls(), 2);
    stage.unstuck(&["diff", "@last", "@last", "@now"]).with_status(0).says("+add() { echo by hand; }");
    stage.unstuck(&[&resume[..], &["--accept-changes"]].concat()).with_status(0);
    assert_eq!(stage.calls(), 3);
    stage.verify();
}

#[test]
fn s59_edit_after_the_last_check_requires_accept_drift() {
    let stage = Stage::repository();
    let worker = "sh -c 'date +%N >> f'";
    stage
        .unstuck(&["run", "go", "--check", "false", "--with", worker, "--max-iterations", "2"])
        .with_status(2);
    stage.write("src/add.sh", "add() { echo by hand; }\n");
    let resume = ["resume", "--add-iterations", "1"];
    stage.unstuck(&resume).with_status(64).complains("src/add.sh").complains("--accept-changes");
    stage.unstuck(&[&resume[..], &["--accept-changes"]].concat()).with_status(2);
    stage.verify();
}

#[test]
fn s68_a_worker_that_moves_the_main_checkout_from_its_worktree_is_noticed() {
    let stage = Stage::repository();
    let main = stage.workspace();
    let worktree = stage.scratch("worktree");
    let place = worktree.to_str().expect("a plain path");
    stage.git(&["worktree", "add", "-q", "-b", "side", place]);
    let command = format!(
        "git -C {} checkout -q -b strayed && git -C {0} commit -q --allow-empty -m x; echo COMPLETE",
        main.display()
    );
    let ended = stage.unstuck_in(
        &worktree,
        &["run", "stray", "--trust-worker", "--with", &command, "--max-iterations", "1"],
    );
    assert!(ended.out.contains("moved the main checkout of the repository"), "{ended:#?}");
}

#[test]
fn branch_switch_is_reported_except_for_the_branch_transition_step() {
    let goes = |step: &str, more: &str| {
        format!(
            "  {step}: {{worker: CUSTOM, instructions: git switch -q -c w-{step}, capabilities: [EDIT]{more}}}\n"
        )
    };
    for (top, is_told) in [
        ("create_branch: true\nbranch_transition_step: a\n", false),
        // Without `create_branch` no step may change the branch.
        ("branch_transition_step: a\n", true),
        ("create_branch: true\nbranch_transition_step: b\n", true),
        ("", true),
    ] {
        let stage = Stage::repository();
        let steps = format!("{}{}", goes("a", ""), goes("b", ", depends_on: [a]"));
        stage.write("flow.yaml", format!("name: t\nversion: \"1\"\ntimeout: 1m\n{top}steps:\n{steps}"));
        let ended = stage.unstuck(&["run", "flow.yaml"]);
        assert_eq!(ended.out.contains("a #1: the worker went from"), is_told, "{top}: {ended:#?}");
        assert!(ended.out.contains("w-a"), "{ended:#?}");
    }
}

#[test]
fn s70_a_worker_that_edits_its_workflow_file_changes_nothing_about_its_run() {
    let stage = Stage::repository();
    let raise = "sed -i 's/max_iterations: 2/max_iterations: 99/' flow.yaml; echo call >>$SCRATCH/calls";
    stage.workflow(
        "",
        &format!(
            "worker: CUSTOM\ninstructions: \"{raise}\"\ncapabilities: [EDIT]\ncompletion_check: {{worker: CUSTOM, \
             instructions: \"false\", capabilities: [READ]}}\nmax_iterations: 2"
        ),
    );
    let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    // Unstuck does not know whether the worker or the user edited the file.
    ended.says("work #1: flow.yaml was edited during the iteration, but the workflow file was read when the run began");
    assert_eq!(stage.calls(), 2);
    stage.unstuck(&["resume"]).with_status(64).complains("--add-iterations");
    assert_eq!(stage.calls(), 2);
}

#[test]
fn s63_a_change_outside_of_the_allowed_paths_is_incomplete_and_has_to_be_undone() {
    let stage = Stage::repository();
    stage.write("charts/c.yaml", "replicas: 1\n");
    // The worker leaves its scope, commits that, claims completion, and reverts the change once the prompt requires it.
    let script = "cat >\"$SCRATCH/prompt\"; echo call >>\"$SCRATCH/calls\"; echo more >>src/add.sh\n\
                  if grep -q 'outside of the allowed paths' \"$SCRATCH/prompt\"; then printf 'replicas: 1\\n' >charts/c.yaml\n\
                  else echo 'replicas: 9' >>charts/c.yaml; git add -A; git commit -qm oops; fi\n\
                  unstuck verdict complete\n";
    fs::write(stage.scratch("worker.sh"), script).expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    let rules = "convergence: {enabled: true, allowed_paths: [\"src/**\"]}";
    stage.workflow(
        "",
        &format!("worker: COMMAND\ncommand: {command}\ninstructions: Mend it.\ncompletion_check: {{self_report: true}}\nmax_iterations: 4\n{rules}"),
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let verdicts = stage.verdicts();
    assert_eq!(
        (verdicts[0]["decision"].as_str(), verdicts[0]["claimed"].as_str()),
        (Some("incomplete"), Some("complete"))
    );
    let fingerprints = verdicts[0]["fingerprints"].to_string();
    assert!(fingerprints.contains("scope:file:charts/c.yaml"), "{fingerprints}");
    assert_eq!(stage.calls(), 2, "the second one put it back");
    stage.verify();
}

#[test]
fn undo_of_a_running_run_and_checkout_to_a_full_directory_are_refused() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "1");
    let live = stage.start(&["run", "count", "--trust-worker", "--with", &worker("count.sh")]);
    wait_until("it works", || stage.calls() == 1);
    stage.unstuck(&["undo"]).with_status(64).complains("is being worked on by process");
    crate::stage::tell(&stage.scratch("go"));
    live.wait().with_status(0);
    let here = stage.workspace();
    let to = ["checkout", "@last@last", "--to", here.to_str().expect("a plain path")];
    stage.unstuck(&to).with_status(64).complains("not an empty folder");
    let there = stage.scratch("there");
    let to = ["checkout", "@last@first", "--to", there.to_str().expect("a plain path")];
    stage.unstuck(&to).with_status(0);
    assert!(there.join("src/add.sh").exists() && !there.join("notes.txt").exists());
    stage.unstuck(&["diff", "@last", "1", "--name-only"]).with_status(0).says("added notes.txt");

    // A step or event that the run does not have is an error.
    for wrong in [&["undo", "--step", "wrok"][..], &["diff", "@last", "1", "--step", "wrok"]] {
        stage.unstuck(wrong).with_status(64).complains("no step wrok; its steps are: ");
    }
    for wrong in [&["undo", "@last@999"][..], &["diff", "@last@999"]] {
        stage.unstuck(wrong).with_status(64).complains("has no event 999; its last is ");
    }
    let nowhere = stage.scratch("nowhere");
    let to = ["checkout", "@last@999", "--to", nowhere.to_str().expect("a plain path")];
    stage.unstuck(&to).with_status(64).complains("has no event 999");
    assert!(here.join("notes.txt").exists(), "nothing was put back");
}

#[test]
fn end_and_show_count_net_changes_of_a_run() {
    let stage = Stage::repository();
    stage.write("tried", "");
    // The first adds lines that the second takes back.
    let agent = "sh -c 'if test -s tried; then : >tried; printf \"1\\n2\\n\" >made; else seq 9 >tried; fi'";
    let run = ["run", "make it", "--check", "test -e made", "--with", agent];
    let ended = stage.unstuck(&run).with_status(0);
    for said in [&ended, &stage.unstuck(&["show"])] {
        let line = said.out.lines().find(|line| line.starts_with("  changed")).unwrap_or_default();
        assert!(line.starts_with("  changed   +2 −0 (1 file) · unstuck diff "), "{line}");
    }
    assert_eq!(stage.unstuck(&["diff", "--stat"]).out, "+2 −0        made\n+2 −0 (1 file) in all\n");
    let first = stage.unstuck(&["diff", "@last", "1", "--stat"]).out;
    assert_eq!(first, "+9 −0        tried\n+9 −0 (1 file) in all\n");
    stage.shell(&stage.workspace(), "chmod +x made; printf 'a\\0b' >binary");
    let now = stage.unstuck(&["diff", "@last", "@last", "@now", "--stat"]).out;
    assert_eq!(now, "added        binary\nmode         made\n+0 −0 (2 files) in all\n");
    let receipt = stage.unstuck(&["report", "--md"]).with_status(0);
    let receipt = receipt.says("Checked:\n\n- test -e made: passes\n");
    receipt.says("Changed, +2 −0 (1 file):\n\n- made +2 −0\n");
    stage.verify();
}

/// Cleans its workspace, and all of the checkout, as some workers do.
const CLEANS_ALL: &str = "sh -c 'git reset -q --hard; top=$(git rev-parse --show-toplevel); git clean -fdxq $top; echo x > out.txt'";

#[test]
fn loss_of_files_without_snapshot_is_announced_and_reported() {
    let stage = Stage::repository();
    stage.write(".gitignore", "dev.sqlite\nbuild/\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "rules"]);
    let large = |name: &str, bytes: u64| {
        let file = fs::File::create(stage.workspace().join(name)).expect("the workspace is ours");
        file.set_len(bytes).expect("it is sparse");
    };
    large("huge", 101 << 20);
    large("dev.sqlite", 2 << 20);
    stage.write("build/out.o", vec![7; 5 << 20]);
    let ended =
        stage.unstuck(&["run", "go", "--check", "test -f out.txt", "--with", CLEANS_ALL]).with_status(0);
    let ended = ended.says("huge (larger than a snapshot takes); dev.sqlite (ignored and large)");
    let ended = ended.says("build (ignored and full; what changes there is not seen)");
    ended.says("removed what no snapshot holds and nothing brings back: build, dev.sqlite, huge");
    stage.unstuck(&["undo", "@last@first"]).with_status(1).says("lost 3 files: build, dev.sqlite, huge");
}

#[test]
fn the_beginning_names_the_ignored_folders_in_which_no_change_is_seen() {
    let stage = Stage::repository();
    stage.write(".gitignore", "target\nnode_modules/\n");
    // A virtual environment brings its own rules: all that is in it is ignored, and not the folder itself.
    stage.write(".venv/.gitignore", "*\n");
    for folder in ["target/debug", "node_modules", ".venv/lib"] {
        (0..150).for_each(|number| stage.write(&format!("{folder}/{number}/file"), "made by a tool"));
    }
    let changes =
        "echo x >node_modules/7/file; echo x >.venv/lib/7/file; echo x >target/debug/new; echo x >done";
    let ended = stage.unstuck(&["run", "go", "--check", "test -e done", "--with", changes]).with_status(0);
    let ended =
        ended.says(".venv/lib, node_modules, target (ignored and full; what changes there is not seen)");
    ended.says("(1 file)");
}

#[test]
fn changes_of_files_without_snapshot_are_reported_once_and_by_diff_and_undo() {
    const AGAIN: &str = "test -e second && touch done; touch second";
    for (change, told, undone) in [
        ("true", None, ""),
        ("date >data/1; echo new >data/new; rm -f data/2", None, ""),
        (
            "rm -rf data",
            Some("removed what no snapshot holds and nothing brings back: data"),
            "lost 1 file: data",
        ),
        ("rm -f data/*", Some("nothing brings back what it was: data (emptied)"), "data: emptied"),
        (
            "mv data old; mkdir data; for i in $(seq 200); do echo $i >data/$i; done",
            Some("nothing brings back what it was: data (replaced)"),
            "data: replaced",
        ),
        (
            "rm -rf data; ln -s \"$SCRATCH\" data",
            Some("nothing brings back what it was: data (replaced)"),
            "data: replaced",
        ),
        ("date >huge", Some("nothing brings back what it was: huge"), "huge"),
        (
            "printf x | dd of=huge conv=notrunc; touch -r stamp huge",
            Some("or only touched it; nothing brings back what it was: huge"),
            "huge: perhaps changed",
        ),
        ("touch huge", Some("or only touched it"), "huge: perhaps changed"),
        ("printf x >>huge", Some("changed what no snapshot holds, so"), "huge: changed"),
        (
            "printf x | dd of=db conv=notrunc; touch -r stamp db",
            Some("what it was: db"),
            "db: perhaps changed",
        ),
    ] {
        let stage = Stage::repository();
        stage.write(".gitignore", "data/\ndb\n");
        (0..150).for_each(|number| stage.write(&format!("data/{number}"), "of a person"));
        for (name, bytes) in [("huge", 101 << 20), ("db", 2 << 20)] {
            let file = fs::File::create(stage.workspace().join(name)).expect("the workspace is ours");
            file.set_len(bytes).expect("it is sparse");
        }
        stage.shell(&stage.workspace(), "touch -r huge stamp");
        let command = format!("{AGAIN}; {change}");
        let ended =
            stage.unstuck(&["run", "go", "--check", "test -e done", "--with", &command]).with_status(0);
        let notes = notes(&stage);
        let about: Vec<&str> = notes.lines().filter(|note| note.contains("no snapshot holds")).collect();
        match told {
            // In the second iteration what it changes is its own.
            Some(told) => assert!(matches!(about[..], [note] if note.contains(told)), "{change}: {notes}"),
            None => assert!(about.is_empty(), "{change}: {ended:#?}"),
        }
        let diff = stage.unstuck(&["diff"]).with_status(0);
        assert_eq!(diff.err.contains("note: "), told.is_some(), "{change}: {diff:#?}");
        let status = if told.is_some() { 1 } else { 0 };
        stage.unstuck(&["undo", "@last@first"]).with_status(status).says(undone);
    }
}

#[test]
fn removed_nested_repository_is_reported_and_restored_with_its_history() {
    for (change, told) in [
        ("rm -rf vendor", "removed"),
        ("rm -rf vendor/.git; git init -q vendor; git -C vendor commit -qm x --allow-empty", "replaced"),
    ] {
        let stage = Stage::repository();
        let git = |arguments: &[&str]| stage.git(&[&["-C", "vendor"], arguments].concat());
        stage.git(&["init", "-q", "vendor"]);
        stage.write("vendor/v.txt", "v\n");
        git(&["add", "v.txt"]);
        git(&["commit", "-qm", "nowhere else"]);
        let with = format!("{change}; touch new; echo COMPLETE");
        let ended = stage.unstuck(&["run", "go", "--trust-worker", "--with", &with]).with_status(0);
        ended.says(&format!("{told} the repository vendor/.git; put it back: unstuck undo"));
        let diff = stage.unstuck(&["diff"]).with_status(0);
        let note = format!("the repository vendor/.git was {told}; put it back: unstuck undo");
        assert!(diff.err.contains(&note), "{diff:#?}");
        let left = format!("vendor/.git: {told}; with --git it comes back");
        stage.unstuck(&["undo"]).with_status(1).says("but for what is named here").says(&left);
        assert!(stage.workspace().join("vendor/v.txt").exists());
        stage.unstuck(&["undo", "@last@first", "--git"]).with_status(0).says("vendor/.git");
        assert_eq!(git(&["log", "--format=%s"]), "nowhere else\n");
        assert_eq!(git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn changed_gitdir_file_is_reported_and_restored() {
    for (change, told) in [
        ("rm tree/.git", "threw away 1 change that no commit has: tree/.git; put it back: unstuck undo"),
        (
            "echo 'gitdir: ../evil' >tree/.git",
            "changed what git runs and how it works: tree/.git; look at it",
        ),
        ("rm tree/.git; mkfifo tree/.git", "tree/.git"),
    ] {
        let stage = Stage::repository();
        stage.git(&["worktree", "add", "-q", "tree"]);
        let leads = || fs::read_to_string(stage.workspace().join("tree/.git")).unwrap_or_default();
        let before = leads();
        stage
            .unstuck(&["run", "go", "--trust-worker", "--with", &format!("{change}; echo COMPLETE")])
            .with_status(0);
        assert!(notes(&stage).contains(told), "{change}: {}", notes(&stage));
        stage.unstuck(&["undo"]).with_status(0);
        assert!(before.starts_with("gitdir: ") && leads() == before, "{change}");
    }
}

#[test]
fn a_stash_that_is_dropped_is_named() {
    let stage = Stage::repository();
    stage.write("src/add.sh", "add() { echo on the stash; }\n");
    stage.git(&["stash", "-q"]);
    let stash = stage.git(&["rev-parse", "refs/stash"]);
    stage
        .unstuck(&[
            "run",
            "go",
            "--trust-worker",
            "--with",
            "git stash drop -q; echo n >n.txt; echo COMPLETE",
        ])
        .with_status(0);
    let command = format!("git stash store {}", stash.trim());
    assert!(notes(&stage).contains(&command), "{}", notes(&stage));
}

#[test]
fn diff_shows_changes_of_a_run_after_undo() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "go", "--trust-worker", "--with", "echo n >n.txt; echo COMPLETE"]).with_status(0);
    stage.unstuck(&["artifacts"]).with_status(0).says("| complete |").says("unstuck show");
    stage.unstuck(&["undo"]).with_status(0);
    stage.unstuck(&["diff", "--name-only"]).with_status(0).says("n.txt");
    stage.unstuck(&["diff", "@last", "@last", "@now"]).with_status(0).complains("no difference");
}

#[test]
fn the_runs_of_a_project_that_was_moved_are_found_again() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "go", "--trust-worker", "--with", "echo n >n.txt; echo COMPLETE"]).with_status(0);
    let moved = stage.scratch("moved");
    fs::rename(stage.workspace(), &moved).expect("the scratch folder is ours");
    let shown = stage.unstuck_in(&moved, &["runs"]).with_status(0);
    let (_, command) = shown.out.split_once("elsewhere: unstuck ").expect("it is named");
    let words: Vec<&str> = command.split_whitespace().take(3).collect();
    stage.unstuck_in(&moved, &words).with_status(0).says("COMPLETE");
    let ask = |command: &[&str]| stage.unstuck_in(&moved, &[&words[..2], command].concat());
    ask(&["diff"]).with_status(0).says("+++ b/n.txt");
    // A comparison with the workspace requires its directory, which may be empty.
    let now = ["diff", "@last", "@first", "@now"];
    let refused = ask(&now).with_status(6);
    let (_, command) = refused.err.split_once("next: ").expect("it is named");
    stage.shell(&moved, command.split_once("    ").expect("and what then").0);
    ask(&now).with_status(0);
}

#[test]
fn loss_of_work_outside_of_the_workspace_is_announced_and_reported() {
    let stage = Stage::repository();
    stage.write("part/a", "a\n");
    stage.git(&["add", "-A"]);
    stage.git(&["commit", "-qm", "a part"]);
    stage.write("src/add.sh", "mine\n");
    stage.write("new", "mine\n");
    let part = stage.workspace().join("part");
    let arguments = ["run", "go", "--check", "test -f out.txt", "--with", CLEANS_ALL];
    let ended = stage.unstuck_in(&part, &arguments).with_status(0);
    let ended = ended.says("all committed; kept as they are now, within the limits of a snapshot");
    let ended = ended.says("not kept: 2 uncommitted outside of the workspace");
    ended.says("outside of the workspace, which no snapshot holds, was changed: new, src/add.sh");
}

#[test]
fn two_runs_whose_workspaces_overlap_do_not_work_at_the_same_time() {
    for (busy, refused) in [("", "part"), ("part", "")] {
        let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "1");
        stage.write("part/a", "a\n");
        let folder = |name: &str| stage.workspace().join(name);
        let arguments = ["run", "count", "--trust-worker", "--with", &worker("count.sh")];
        let place = folder(busy).display().to_string();
        let live = stage.start(&[&["-C", &place][..], &arguments].concat());
        wait_until("it works", || stage.calls() == 1);
        let second = stage.unstuck_in(&folder(refused), &arguments).with_status(64);
        second.complains("another run works in").complains("unstuck stop");
        crate::stage::tell(&stage.scratch("go"));
        live.wait().with_status(0);
        stage.unstuck_in(&folder(refused), &arguments).with_status(0);
    }
}

#[test]
fn s66_a_workspace_that_was_removed_as_a_whole_comes_back_with_one_line() {
    let stage = Stage::repository();
    let place = stage.workspace();
    let script = format!("sh -c 'rm -rf {}'", place.display());
    let elsewhere = stage.scratch("");
    let arguments = ["-C", &place.display().to_string(), "run", "go", "--check", "true", "--with", &script];
    let ended = stage.unstuck_in(&elsewhere, &arguments).with_status(5);
    let line = ended.out.split("put it back: ").nth(1).unwrap_or_else(|| panic!("{ended:#?}"));
    let line = line.split("(event").next().expect("the event is named");
    let line: Vec<&str> = line.split_whitespace().collect();
    let output = stage.shell(&elsewhere, &line.join(" "));
    assert!(output.status.success(), "{output:?}");
    assert!(place.join("src/add.sh").exists());
    assert_eq!(stage.git(&["status", "--porcelain"]), "");
}

#[test]
fn s66_link_in_place_of_the_context_directory_is_not_followed() {
    let stage = Stage::repository();
    let outside = stage.scratch("outside");
    fs::create_dir_all(outside.join("work/o")).expect("the scratch folder is ours");
    fs::write(outside.join("work/o/precious"), "hours").expect("the scratch folder is ours");
    fs::write(outside.join("_workflow.json"), "mine").expect("the scratch folder is ours");
    stage.workflow(
        "context_dir: ctx\n",
        "worker: COMMAND\ncommand: 'rm -rf ctx; ln -s \"$SCRATCH/outside\" ctx; echo out >o'\ninstructions: Mend it.\noutputs:\n  - {name: o, path: o, type: code}",
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(5).says("ctx is a link").says("remove it first");
    let there = |file: &str| fs::read_to_string(outside.join(file)).unwrap_or_default();
    assert_eq!((there("work/o/precious"), there("_workflow.json")), ("hours".to_owned(), "mine".to_owned()));
    assert_eq!(fs::read_dir(&outside).expect("it is there").count(), 2);
}

#[test]
fn links_and_pipes_in_place_of_unstuck_files_are_not_followed_and_do_not_block() {
    for plant in [
        "ln -s \"$SCRATCH/mine\" ctx/work/_meta.json.new",
        "rm -f ctx/work/_meta.json; ln -s \"$SCRATCH/mine\" ctx/work/_meta.json",
        "rm -f ctx/_workflow.json; ln -s \"$SCRATCH/mine\" ctx/_workflow.json",
        "rm -rf ctx/work; ln -s \"$SCRATCH/outside\" ctx/work",
        "rm -rf ctx/work/_convergence; ln -s \"$SCRATCH/outside\" ctx/work/_convergence",
        "rm -rf ctx; ln -s \"$SCRATCH/outside\" ctx",
        "mkdir -p ctx/work/_convergence; mkfifo ctx/work/_meta.json.new ctx/work/_convergence/state.json.new ctx/_workflow.json.new",
        "rm -f ctx/work/*.json ctx/*.json; mkfifo ctx/work/_meta.json ctx/_workflow.json",
        "rm -rf ctx/work; mkfifo ctx/work",
        "rm -rf ctx; mkfifo ctx",
    ] {
        let stage = Stage::repository();
        fs::create_dir(stage.scratch("outside")).expect("the scratch folder is ours");
        fs::write(stage.scratch("mine"), "mine").expect("the scratch folder is ours");
        fs::write(stage.scratch("agent.sh"), format!("echo x >>f.txt\n{plant}\ntrue\n"))
            .expect("the scratch folder is ours");
        stage.workflow(
            "context_dir: ctx\n",
            "worker: COMMAND\ncommand: sh \"$SCRATCH/agent.sh\"\ninstructions: Mend it.\nmax_iterations: 2\n\
             convergence: {enabled: true}\n\
             completion_check: {worker: CUSTOM, instructions: exit 1, capabilities: [READ]}",
        );
        stage.unstuck(&["run", "flow.yaml"]).with_status(2);
        assert_eq!(fs::read_to_string(stage.scratch("mine")).expect("it is there"), "mine", "{plant}");
        let outside = fs::read_dir(stage.scratch("outside")).expect("it is there");
        assert_eq!(outside.count(), 0, "{plant}");
        stage.verify();
    }
}

#[test]
fn file_in_place_of_the_decision_directory_costs_an_iteration_only() {
    const CLAIM: &str =
        r#"printf '{"decision":"complete","check_id":"%s"}' "$UNSTUCK_CHECK_ID" >"$UNSTUCK_DECISION_FILE""#;
    for (folder, plant, mends) in [
        (".unstuck", "rm -rf .unstuck; echo hi >.unstuck", ":"),
        (".unstuck", "rm -rf .unstuck; mkfifo .unstuck", ":"),
        ("verdicts", "rm -rf verdicts; echo hi >verdicts", "rm -rf verdicts; mkdir verdicts"),
        ("verdicts", "rm -rf verdicts; mkfifo verdicts", "rm -rf verdicts; mkdir verdicts"),
    ] {
        let stage = Stage::repository();
        let agent = format!(
            "cat >>\"$SCRATCH/prompt\"; echo call >>\"$SCRATCH/calls\"\n\
             if [ $(wc -l <\"$SCRATCH/calls\") = 1 ]; then {plant}; else {mends}; {CLAIM}; fi\n"
        );
        fs::write(stage.scratch("agent.sh"), agent).expect("the scratch folder is ours");
        stage.workflow(
            "",
            &format!(
                "worker: COMMAND\ncommand: sh \"$SCRATCH/agent.sh\"\ninstructions: Mend it.\nmax_iterations: 3\n\
                 completion_check: {{self_report: true, decision_file: {folder}/d.json}}"
            ),
        );
        stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        let decisions: Vec<String> =
            stage.verdicts().iter().map(|verdict| verdict["decision"].to_string()).collect();
        assert_eq!(decisions, ["\"none\"", "\"complete\""], "{plant}");
        assert!(stage.noted("prompt").contains("unreadable"), "{plant}: {}", stage.noted("prompt"));
        stage.verify();
    }
}

#[test]
fn a_link_on_the_way_to_the_decision_file_is_refused_and_the_next_worker_can_take_it_away() {
    const WRITES: &str =
        r#"printf "{\"decision\":\"complete\",\"check_id\":\"$CHECK_ID\"}" >verdicts/v.json"#;
    for (worker, check) in [
        (
            "true",
            format!(
                "{{worker: CUSTOM, instructions: '{WRITES}', decision_file: verdicts/v.json, capabilities: [READ]}}"
            ),
        ),
        (WRITES, "{self_report: true, decision_file: verdicts/v.json}".to_owned()),
    ] {
        let stage = Stage::repository();
        let plant = "cat >>\"$SCRATCH/prompt\"; echo call >>\"$SCRATCH/calls\"; rm -rf verdicts\n\
                     if [ $(wc -l <\"$SCRATCH/calls\") = 1 ]; then ln -s \"$SCRATCH\" verdicts; else mkdir verdicts; fi";
        fs::write(stage.scratch("worker.sh"), format!("{plant}\n{worker}\n"))
            .expect("the scratch folder is ours");
        let command = format!("sh {}", stage.scratch("worker.sh").display());
        stage.workflow(
            "",
            &format!("worker: COMMAND\ncommand: {command}\ninstructions: Mend it.\ncompletion_check: {check}\nmax_iterations: 3"),
        );
        stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        let decisions: Vec<String> =
            stage.verdicts().iter().map(|verdict| verdict["decision"].to_string()).collect();
        assert_eq!(decisions, ["\"none\"", "\"complete\""], "{check}");
        assert!(stage.noted("prompt").contains("outside_workspace"), "{check}: {}", stage.noted("prompt"));
        stage.verify();
    }
}

#[test]
fn planted_filter_or_pipe_neither_blocks_nor_runs_in_the_next_run() {
    let stage = Stage::repository();
    let filter = "echo '* filter=evil' >.git/info/attributes; \
                  git config filter.evil.clean 'echo ran >>\"$SCRATCH/ran\"; cat'; \
                  git config filter.evil.smudge 'echo ran >>\"$SCRATCH/ran\"; cat'";
    stage.unstuck(&["run", "x", "--check", "true", "--with", filter]).with_status(0);
    for file in stage.git(&["ls-files"]).lines() {
        let touched = fs::File::options().append(true).open(stage.workspace().join(file));
        touched.and_then(|file| file.set_modified(std::time::UNIX_EPOCH)).expect("the file is ours");
    }
    // An index that is older than its files says nothing of them, so git reads them.
    let index = fs::File::options().append(true).open(stage.workspace().join(".git/index"));
    index.and_then(|index| index.set_modified(std::time::UNIX_EPOCH)).expect("the index is ours");
    let made = std::process::Command::new("mkfifo").arg(stage.workspace().join("Makefile")).status();
    assert!(made.expect("mkfifo is there").success());
    stage
        .unstuck(&["run", "x", "--with", "true"])
        .with_status(64)
        .complains("not clear how this project is tested");
    stage.unstuck(&["run", "x", "--check", "true", "--with", "true", "--baseline", "off"]).with_status(0);
    assert!(!stage.scratch("ran").exists(), "a planted filter has run");
}

#[test]
fn changes_of_a_nested_repository_are_reported_and_its_config_is_restored() {
    let stage = Stage::repository();
    let make =
        "git init -q inner; cd inner; git commit -q --allow-empty -m x; git branch keep; git rev-parse HEAD";
    let commit = String::from_utf8(stage.shell(&stage.workspace(), make).stdout).expect("a name of a commit");
    let spoil =
        "git -C inner branch -qD keep; git -C inner config core.fsmonitor x; touch new; echo COMPLETE";
    stage.unstuck(&["run", "stray", "--trust-worker", "--with", spoil]);
    let said = notes(&stage);
    let back = format!("git --git-dir=inner/.git branch keep {}", commit.trim());
    let deleted = format!("the branch keep of inner/.git was deleted; put it back: {back}");
    assert!(said.contains(&deleted), "{said}");
    assert!(said.contains("changed what git runs and how it works: inner/.git/config"), "{said}");
    stage.unstuck(&["undo", "--git"]).with_status(0).says("the hooks that it had in inner/.git");
    assert_eq!(stage.git(&["-C", "inner", "rev-parse", "keep"]), commit);
    let left = stage.shell(&stage.workspace(), "git -C inner config core.fsmonitor");
    assert!(left.stdout.is_empty(), "{left:?}");
    stage.verify();
}

#[test]
fn a_pipe_where_git_reads_a_file_is_named_and_not_waited_at() {
    for (pipe, told) in [
        (".gitignore", "what is uncommitted is not known"),
        ("src/.gitignore", "what is uncommitted is not known"),
        (".git/info/exclude", "what is uncommitted is not known"),
        (".git/config", ""),
        (".git/index", ""),
    ] {
        let stage = Stage::repository();
        let plant = format!("rm -f {pipe}; mkfifo {pipe}; echo >>src/add.sh");
        let begun = std::time::Instant::now();
        let arguments = ["run", "x", "--check", "true", "--baseline", "off", "--with"];
        stage.unstuck(&[&arguments[..], &[&plant]].concat());
        let ended = stage.unstuck(&[&arguments[..], &["true"]].concat());
        assert!(begun.elapsed() < std::time::Duration::from_secs(60), "{pipe}: {ended:#?}");
        let said = format!("{}{}", ended.out, ended.err);
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(&format!("{pipe} is a pipe where git reads a file")), "{ended:#?}");
        assert!(said.contains(told), "{ended:#?}");
    }
}

#[test]
fn run_is_resumed_only_on_its_branch() {
    let stage = Stage::repository();
    let flag = stage.scratch("flag");
    stage.workflow("", "worker: CUSTOM\ncapabilities: [READ]\ninstructions: 'git branch --show-current >>\"$SCRATCH/on\"; test -e \"$SCRATCH/flag\"'");
    stage.unstuck(&["run", "flow.yaml"]).with_status(5);
    fs::write(&flag, "").expect("the scratch folder is ours");
    stage.git(&["switch", "-qc", "main-line"]);
    let elsewhere = "the run works on branch work, but the workspace is on main-line";
    stage.unstuck(&["resume"]).with_status(64).complains(elsewhere).complains("git switch work");
    stage.git(&["branch", "-qf", "release/1"]);
    stage.git(&["switch", "-q", "release/1"]);
    stage.unstuck(&["resume", "--accept-changes"]).with_status(64).complains("which is protected");
    stage.git(&["switch", "-q", "work"]);
    stage.unstuck(&["resume", "--accept-changes"]).with_status(0);
    assert_eq!(fs::read_to_string(stage.scratch("on")).unwrap_or_default(), "work\nwork\n");
    stage.verify();
}

#[test]
fn link_in_place_of_the_workspace_is_not_followed() {
    let moves = "mv \"$PWD\" \"$SCRATCH/aside\"; ln -s \"$SCRATCH/outside\" \"$PWD\"; echo COMPLETE";
    for (moves, judged) in [
        (moves, &["--trust-worker"][..]),
        (moves, &["--check", "touch \"$SCRATCH/ran\"; touch here", "--baseline", "off"]),
        ("rm -r \"$PWD\"; ln -s \"$SCRATCH/nowhere\" \"$PWD\"; echo COMPLETE", &["--trust-worker"]),
    ] {
        let stage = Stage::repository();
        let outside = stage.scratch("outside");
        fs::create_dir(&outside).expect("the scratch folder is ours");
        fs::write(outside.join("precious"), "hours").expect("the scratch folder is ours");
        let (place, elsewhere) = (stage.workspace().display().to_string(), stage.scratch(""));
        let arguments = [&["-C", &place, "run", "go", "--with", moves], judged].concat();
        let ended = stage.unstuck_in(&elsewhere, &arguments).with_status(5);
        let ended = ended.says("a link was put in its place, so nothing is run, read or written there");
        let line =
            ended.out.split("put the folder back, or: ").nth(1).unwrap_or_else(|| panic!("{ended:#?}"));
        let line: Vec<&str> = line.split(" --git").next().unwrap_or_default().split_whitespace().collect();
        assert_eq!(fs::read_dir(&outside).expect("it is there").count(), 1, "{judged:?}");

        // Nor does what comes later write there.
        let run = line.iter().find_map(|word| word.strip_suffix("@last")).expect("it is named").to_owned();
        let projects = fs::read_dir(stage.state().join("unstuck")).expect("it is there");
        let project = projects.flatten().next().expect("there is one").path();
        let state = ["--store", &format!("sled:{}", project.display())];
        for command in [&["undo", &run][..], &["resume", &run], &["diff", &run, "@last", "@now"]] {
            let arguments = [&state[..], command].concat();
            let refused = stage.unstuck_in(&elsewhere, &arguments).complains("mkdir -p");
            assert!(refused.out.is_empty() && matches!(refused.status, Some(64 | 6)), "{refused:#?}");
        }
        assert_eq!(fs::read_dir(&outside).expect("it is there").count(), 1, "{judged:?}");
        let output = stage.shell(&elsewhere, &format!("{} --git", line.join(" ")));
        assert!(output.status.success(), "{output:?}");
        assert!(stage.workspace().join("src/add.sh").exists() && !stage.workspace().is_symlink());
        assert_eq!(stage.git(&["status", "--porcelain"]), "");
    }
}

#[test]
fn link_in_place_of_a_parent_directory_is_not_followed() {
    let stage = Stage::repository();
    stage.write("part/a", "a\n");
    let (root, part) = (stage.workspace(), stage.workspace().join("part"));
    fs::create_dir_all(stage.scratch("outside/part")).expect("the scratch folder is ours");
    let moves =
        format!("mv {0} \"$SCRATCH/aside\"; ln -s \"$SCRATCH/outside\" {0}; echo COMPLETE", root.display());
    let place = part.display().to_string();
    let arguments = ["-C", &place, "run", "go", "--trust-worker", "--with", &moves];
    let ended = stage.unstuck_in(&stage.scratch(""), &arguments).with_status(5);
    ended.says("a link was put in the place of a folder above it, so nothing is run, read or written there");
    let projects = fs::read_dir(stage.state().join("unstuck")).expect("it is there");
    // The subdirectory has a separate lease, but the project of the repository holds the runs.
    let has_runs = |project: &std::path::PathBuf| project.join("runs").is_dir();
    let project = projects.flatten().map(|entry| entry.path()).find(has_runs).expect("there is one");
    let store = format!("sled:{}", project.display());
    let refused = stage.unstuck_in(&stage.scratch(""), &["--store", &store, "undo"]).with_status(64);
    refused.complains("leads to").complains("checkout");
    let copy = stage.scratch("copy").display().to_string();
    let checkout = ["--store", &store, "checkout", "@last@last", "--to", &copy];
    stage.unstuck_in(&stage.scratch(""), &checkout).with_status(0);
    assert_eq!(fs::read_dir(stage.scratch("outside/part")).expect("it is there").count(), 0);
    assert!(stage.scratch("copy/a").exists());
}

#[test]
fn a_repository_of_another_kind_is_named() {
    let stage = Stage::new();
    let made = stage.shell(
        &stage.workspace(),
        "git init -q --ref-format=reftable -b work && git commit -q --allow-empty -m x",
    );
    if made.status.success() {
        let delete = "git branch -qD keep; git checkout -q -b other; touch new; echo COMPLETE";
        stage.git(&["branch", "keep"]);
        let ended = stage.unstuck(&["run", "go", "--trust-worker", "--with", delete]).with_status(0);
        ended
            .says("in tables (reftable)")
            .says("the branch keep was deleted")
            .says("go back: git switch work");
        stage.unstuck(&["undo", "--git"]).with_status(0).says("has the branch keep again");
        assert_eq!(stage.git(&["branch", "--show-current"]), "work\n");
    } else {
        println!("skipped: this git keeps no refs in tables");
    }

    let stage = Stage::new();
    stage.git(&["init", "-q", "--bare", "."]);
    let refused = stage.unstuck(&["run", "go", "--trust-worker", "--with", "true"]).with_status(64);
    refused.complains("is a bare repository").complains("git worktree add");
}

#[test]
fn artifacts_take_the_place_of_nothing_that_is_the_user_s() {
    let stage = Stage::repository();
    let keys =
        "worker: CUSTOM\ninstructions: echo made >f\ncapabilities: [EDIT]\noutputs: [{name: site, path: f}]";
    stage.workflow("", keys);
    let notes = stage.workspace().join("context/work/notes.md");
    let site = stage.workspace().join("context/work/site");
    fs::create_dir_all(&site).expect("the scratch folder is ours");
    stage
        .unstuck(&["run", "flow.yaml"])
        .with_status(64)
        .complains("context/work/site is there")
        .complains("context_dir");
    fs::remove_dir(&site).expect("nothing was put into it");

    // Other files in the directory of a step belong to the user, and snapshots keep and restore them.
    fs::write(&notes, "mine\n").expect("the scratch folder is ours");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    fs::remove_file(&notes).expect("it is still there");
    stage.unstuck(&["undo", "@last", "--all"]).with_status(0).says("context/work/notes.md");
    assert_eq!(fs::read_to_string(&notes).expect("it is put back"), "mine\n");
    assert!(site.join("f").exists(), "artifacts stay");
}

#[test]
fn nothing_is_written_into_the_repository_itself() {
    let stage = Stage::repository();
    let asks = "worker: CUSTOM\ninstructions: \"true\"\ncapabilities: [READ]\nmax_iterations: 2\ncompletion_check: {worker: CUSTOM, \
                instructions: \"true\", capabilities: [READ], decision_file: .git/config}";
    for (top, keys) in
        [("context_dir: .git\n", "worker: CUSTOM\ninstructions: \"true\"\ncapabilities: [READ]"), ("", asks)]
    {
        stage.workflow(top, keys);
        let said = "it is in the repository itself";
        stage.unstuck(&["check", "flow.yaml"]).with_status(64).complains(said);
        stage.unstuck(&["run", "flow.yaml"]).with_status(64).complains(said);
    }
}

#[test]
fn s69_a_secret_in_a_file_of_the_workspace_is_in_no_report_and_no_difference() {
    const KEY: &str = "sk-live/0123<456>789ABCDEF";
    let stage = Stage::repository().with_variable("API_KEY", KEY);
    let command = "cat >/dev/null; printf 'API_KEY=%s\\n' \"$API_KEY\" >.env.local; echo x >\"$(basename \"$API_KEY\")\"";
    stage
        .unstuck(&["run", "do it", "--check", "false", "--with", command, "--max-iterations", "1"])
        .with_status(2);
    let escaped =
        [KEY.to_owned(), KEY.replace('<', "&lt;").replace('>', "&gt;"), "0123<456>789ABCDEF".to_owned()];
    let is_clean = |text: &str, of: &str| {
        for form in &escaped[..2] {
            assert!(!text.contains(form), "{form} is in {of}: {text}");
        }
    };
    for words in
        [&["diff"][..], &["diff", "--json"], &["report", "--html", "-"], &["report", "--md"], &["show"]]
    {
        is_clean(&stage.unstuck(words).out, words[0]);
    }
    assert!(stage.unstuck(&["diff"]).out.contains("+API_KEY=[redacted:API_KEY]"));
    stage.unstuck(&["report", "--html", "night.html"]).with_status(0);
    is_clean(
        &fs::read_to_string(stage.workspace().join("night.html")).expect("it was written"),
        "night.html",
    );
}

#[test]
fn s69_a_value_that_the_project_shows_anyway_stays_and_the_start_says_so() {
    let stage = Stage::repository()
        .with_variable("DB_PASSWORD", "tests/run.sh")
        .with_variable("API_KEY", "sk-99-abc");
    let command = "cat >\"$SCRATCH/prompt\"; echo \"$API_KEY\"";
    let check = ["--check", "sh ./tests/run.sh", "--max-iterations", "1"];
    let words = [&["run", "let tests/run.sh pass with sk-99-abc", "--with", command][..], &check].concat();
    let ended = stage.unstuck(&words).with_status(2);
    let shown = format!("{}{}", ended.out, ended.err);
    assert!(shown.contains("the value of DB_PASSWORD is not removed"), "{shown}");
    assert!(!shown.contains("the value of API_KEY"), "{shown}");
    let prompt = fs::read_to_string(stage.scratch("prompt")).expect("it was asked");
    assert!(prompt.contains("let tests/run.sh pass with [redacted:API_KEY]"), "{prompt}");
    assert!(stage.unstuck(&["show"]).out.contains("tests/run.sh"));
}

#[test]
fn variables_of_a_surrounding_git_agent_or_make_reach_neither_worker_nor_check_nor_hook() {
    let surrounding = [
        ("GIT_DIR", "/nowhere"),
        ("GIT_WORK_TREE", "/nowhere"),
        ("GIT_INDEX_FILE", "/nowhere"),
        ("GIT_PREFIX", "sub/"),
        ("CLAUDECODE", "1"),
        ("MAKEFLAGS", "n"),
        ("MAKELEVEL", "1"),
        ("NODE_TEST_CONTEXT", "child-v8"),
        ("GIT_SSH_COMMAND", "kept"),
    ];
    let stage = Stage::repository();
    let stage = surrounding.iter().fold(stage, |stage, (name, value)| stage.with_variable(name, value));
    let note = |name: &str| format!("env >\"$SCRATCH/{name}\"");
    let worker =
        format!("cat >/dev/null; {}; git rev-parse --show-toplevel >\"$SCRATCH/top\"", note("worker"));
    let (check, hook) = (note("check"), note("hook"));
    stage
        .unstuck(&[
            "run", "do it", "--with", &worker, "--check", &check, "--baseline", "off", "--notify", &hook,
            "--max-iterations", "1",
        ])
        .with_status(0);
    for name in ["worker", "check", "hook"] {
        let found = fs::read_to_string(stage.scratch(name)).expect("it was run");
        for (variable, value) in surrounding {
            let is_there = found.lines().any(|line| line == format!("{variable}={value}"));
            assert_eq!(is_there, value == "kept", "{name} {variable}");
        }
    }
    let top = fs::read_to_string(stage.scratch("top")).expect("it was run");
    assert_eq!(fs::canonicalize(top.trim()).unwrap(), fs::canonicalize(stage.workspace()).unwrap());
}

#[test]
fn links_that_a_repository_planted_are_not_written_through() {
    use std::os::unix::fs::symlink;
    let stage = Stage::repository();
    let victim = stage.scratch("victim");
    fs::create_dir(&victim).expect("the scratch folder is ours");
    fs::write(victim.join("rc"), "precious").expect("the scratch folder is ours");
    let plant =
        |target: &str, name: &str| symlink(victim.join(target), stage.workspace().join(name)).unwrap();
    plant("new", "unstuck.yaml");
    stage.unstuck(&["init", "x", "--with", "sh a"]).with_status(64).complains("unstuck.yaml is a link to");
    stage
        .unstuck(&["init", "x", "--with", "sh a", "--force"])
        .with_status(64)
        .complains("unstuck.yaml is a link to");
    fs::remove_file(stage.workspace().join("unstuck.yaml")).unwrap();
    plant("", ".agent");
    stage
        .unstuck(&["init", "x", "--with", "sh a", "--registry"])
        .with_status(64)
        .complains(".agent is a link");
    plant("rc", "night.html");
    let worker = "cat >/dev/null; echo done >>notes.txt";
    stage.unstuck(&["run", "x", "--with", worker, "--check", "true", "--max-iterations", "1"]).with_status(0);
    stage.unstuck(&["report", "--html", "night.html"]).with_status(64).complains("night.html is a link to");
    plant("", "man");
    stage.unstuck(&["man", "man"]).with_status(64).complains("man is a link");
    plant("new", "x.jsonl");
    stage.unstuck(&["export", "-o", "x.jsonl"]).with_status(64).complains("x.jsonl is a link to");
    assert_eq!(fs::read_to_string(victim.join("rc")).unwrap(), "precious");
    assert_eq!(fs::read_dir(&victim).unwrap().count(), 1, "nothing new is there");
    assert!(!stage.workspace().join("unstuck.yaml").exists(), "all or nothing");
}

#[test]
fn checks_are_run_by_the_wrapper_of_the_worker_unless_that_is_turned_off() {
    let stage = Stage::repository();
    let wrap = "env WRAPPED=yes";
    let worker = "cat >/dev/null; echo \"worker $WRAPPED\" >>notes.txt";
    let check = "echo \"check $WRAPPED\" >>\"$SCRATCH/checks\"";
    let run = |more: &[&str]| {
        let words =
            ["run", "x", "--with", worker, "--check", check, "--baseline", "off", "--max-iterations", "1"];
        stage.unstuck(&[&words[..], &["--wrapper", wrap], more].concat()).with_status(0);
        let found = fs::read_to_string(stage.scratch("checks")).expect("it was run");
        fs::remove_file(stage.scratch("checks")).expect("it is there");
        found
    };
    assert_eq!(run(&[]), "check yes\n");
    assert_eq!(run(&["--wrap-checks=false"]), "check \n");
}
