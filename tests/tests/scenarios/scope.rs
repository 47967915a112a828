//! Scope of a worker: allowed changes, reverts, and diagnosis when the loop is stuck.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::stage::{Ended, Stage, wait_until};

/// Where the files of all cases are, in a repository with one commit.
fn repository() -> Stage {
    let stage = Stage::new();
    for (path, text) in [
        ("src/a.rs", "a\n"),
        ("src/b.rs", "b\n"),
        ("docs/d.md", "d\n"),
        ("charts/c.yaml", "c\n"),
        (".gitignore", "*.log\n"),
    ] {
        stage.write(path, text);
    }
    stage.git(&["init", "-q", "-b", "work"]);
    commit(&stage);
    stage
}

fn commit(stage: &Stage) {
    stage.git(&["add", "-A"]);
    stage.git(&["-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "init"]);
}

/// Lets a script change files once, below these rules.
fn change(stage: &Stage, folder: &str, script: &str, rules: &str) -> Ended {
    let script = script.replace('\n', "\n    ");
    let rest = format!(
        "worker: CUSTOM\ncapabilities: [EDIT]\ninstructions: |\n    {script}\nmax_iterations: 2\n\
         completion_check: {{commands: [\"true\"]}}\n\
         convergence: {{enabled: true, {rules}}}"
    );
    stage.workflow("", &rest);
    let folder = stage.workspace().join(folder);
    let flow = stage.scratch("flow.yaml");
    fs::rename(stage.workspace().join("flow.yaml"), &flow).expect("the workspace is ours");
    stage.unstuck_in(&folder, &["run", &flow.to_string_lossy(), "--max-iterations", "1"])
}

/// Returns what the view of the scope says.
fn scope(stage: &Stage, folder: &str) -> Value {
    let file = stage.workspace().join(folder).join("context/work/_convergence/scope.json");
    serde_json::from_str(&fs::read_to_string(file).expect("a view")).expect("JSON")
}

/// Returns the paths that strayed.
fn strayed(stage: &Stage, folder: &str) -> Vec<String> {
    let violations = scope(stage, folder)["violations"].as_array().cloned().unwrap_or_default();
    violations.iter().filter_map(Value::as_str).map(str::to_owned).collect()
}

const SRC: &str = "allowed_paths: [\"src/**\"]";

#[test]
fn s63_what_is_out_of_scope_is_named_whatever_git_makes_of_it() {
    let based = "allowed_paths: [\"src/**\"], diff_base_ref: \"HEAD~1\"";
    let commit = "git add -A; git -c user.name=t -c user.email=t@t commit -qm oops";
    for (folder, script, rules, expected) in [
        ("", "echo x >>charts/c.yaml", SRC, &["charts/c.yaml"][..]),
        ("", "echo x >build.log", SRC, &[]),
        ("", "echo x >>charts/c.yaml; git add charts/c.yaml", SRC, &["charts/c.yaml"]),
        ("", &format!("echo x >>charts/c.yaml; {commit}"), SRC, &["charts/c.yaml"]),
        ("", &format!("echo x >>charts/c.yaml; {commit}"), based, &["charts/c.yaml"]),
        ("", "rm charts/c.yaml", SRC, &["charts/c.yaml"]),
        ("", "git mv charts/c.yaml src/c.yaml", SRC, &["charts/c.yaml"]),
        ("", "echo x >'src/a b.md'", SRC, &[]),
        ("", "echo x >'src/ x.md'; echo x >' top.md'", SRC, &[" top.md"]),
        ("", "printf x >\"$(printf 'src/a\\nb.md')\"", SRC, &[]),
        ("src", "echo x >>a.rs", "allowed_paths: [a.rs]", &[]),
        ("", "mkdir -p context .roboppi-loop; echo x >context/x; echo y >.roboppi-loop/v.json", SRC, &[]),
        ("", "chmod +x charts/c.yaml", SRC, &["charts/c.yaml"]),
        ("", "echo x >>src/a.rs; echo x >>src/b.rs", "protected_paths: [\"src/b*\"]", &["src/b.rs"]),
        ("", "echo '*' >.git/info/exclude; echo x >docs/new", SRC, &["docs/new"]),
        ("", "git update-index --assume-unchanged docs/d.md; echo x >>docs/d.md", SRC, &["docs/d.md"]),
        ("", "truncate -s 101M docs/large", SRC, &["docs/large"]),
        ("", "rm docs/d.md; mkfifo docs/d.md", SRC, &["docs/d.md"]),
        ("", "echo x >build.log", "protected_paths: [\"*.log\"]", &["build.log"]),
        ("", "echo x >>src/a.rs", "protected_paths: [\".\"]", &["src/a.rs"]),
        ("", "echo x >docs/ä", SRC, &["docs/ä"]),
    ] {
        let stage = repository();
        let ended =
            change(&stage, folder, script, rules).with_status(if expected.is_empty() { 0 } else { 2 });
        assert_eq!(strayed(&stage, folder), expected, "{script}: {ended:?}");
    }
}

#[test]
fn s63_a_base_is_a_commit_and_what_was_uncommitted_before_is_not_the_workers() {
    let based = "allowed_paths: [\"src/**\"], diff_base_ref: main";
    let stage = repository();
    stage.git(&["branch", "main"]);
    stage.write("docs/before.md", "committed before the step\n");
    commit(&stage);
    stage.write("charts/mine.yaml", "in no commit\n");
    change(&stage, "", "echo x >>src/a.rs", based);
    assert_eq!(strayed(&stage, ""), ["docs/before.md"]);
    let scope = scope(&stage, "");
    assert_eq!(scope["baseRef"].as_str(), Some(stage.git(&["rev-parse", "main"]).trim()));
    assert_eq!(scope["violations"].as_array().map(Vec::len), Some(1));

    for (rules, complaint) in [
        ("allowed_paths: [\"src/**\"], diff_base_ref: nowhere", "there is no commit \"nowhere\""),
        (
            "allowed_paths: [\"src/**\"], diff_base_ref_file: nope.txt",
            "nope.txt does not exist, or is not a file",
        ),
    ] {
        let stage = repository();
        change(&stage, "", "echo x >>src/a.rs", rules).with_status(5).says(complaint);
    }
    let stage = repository();
    stage.write("src/base", "work\n");
    change(&stage, "", "echo x >>docs/d.md", "allowed_paths: [\"src/**\"], diff_base_ref_file: src/base");
    assert_eq!(strayed(&stage, ""), ["docs/d.md"]);
}

#[test]
fn s63_a_base_that_cannot_be_had_is_found_before_anybody_works() {
    for (base, complaint) in [
        ("diff_base_ref: nowhere", "there is no commit \"nowhere\""),
        ("diff_base_ref: \"work^{tree}\"", "there is no commit \"work^{tree}\""),
        ("diff_base_ref: \"@{u}\"", "there is no commit \"@{u}\""),
        ("diff_base_ref: HEAD~99", "there is no commit \"HEAD~99\""),
        ("diff_base_ref: HEAD~2", "there is no commit \"HEAD~2\""),
        ("diff_base_ref_file: none", "diff_base_ref_file none does not exist"),
        ("diff_base_ref_file: docs/d.md", "there is no commit \"d\""),
    ] {
        let stage = repository();
        let ended = change(&stage, "", "echo x >>src/a.rs", &format!("{SRC}, {base}")).with_status(5);
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(said.contains(complaint) && said.contains("unstuck resume"), "{base}: {said}");
        assert_eq!(stage.facts("worker_started").len(), 0, "{base}: {said}");
        assert!(!said.contains("after 1 iteration"), "{base}: {said}");
        stage.verify();
    }
    // A step before it may make it, and so may a person.
    let stage = repository();
    let step = format!(
        "worker: CUSTOM, capabilities: [EDIT], instructions: 'echo x >>src/a.rs', max_iterations: 2, \
         completion_check: {{commands: ['true']}}, convergence: {{enabled: true, {SRC}, diff_base_ref: base}}"
    );
    let flow = |steps: &str| format!("name: flow\nversion: \"1\"\ntimeout: 5m\nsteps:\n{steps}");
    let make = "  make: {worker: CUSTOM, capabilities: [EDIT], instructions: git branch base}\n";
    stage.write("flow.yaml", flow(&format!("{make}  work: {{depends_on: [make], {step}}}\n")));
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    let stage = repository();
    stage.write("flow.yaml", flow(&format!("  work: {{{step}}}\n")));
    stage.unstuck(&["run", "flow.yaml"]).with_status(5);
    stage.git(&["branch", "base"]);
    stage.unstuck(&["resume"]).with_status(0);
    stage.verify();
}

/// Checks a worker that changes nothing, by a check that changes a tracked file as it goes.
fn checked_by(script: &str, more: &[&str]) -> (Stage, Ended) {
    let stage = repository();
    stage
        .write("t.sh", "grep -q d docs/d.md && { echo 'FAILED t.py::a - assert 1 == 2'; exit 1; }; exit 0\n");
    stage.write("format.sh", "grep -q tidy src/a.rs || echo tidy >>src/a.rs\n");
    commit(&stage);
    let run = ["run", "go", "--check", script, "--with", "true", "--max-iterations", "2"];
    let ended = stage.unstuck(&[&run[..], more].concat());
    (stage, ended)
}

#[test]
fn s31_what_a_check_changes_itself_is_said_and_makes_nothing_flaky() {
    let empties = "sh t.sh; r=$?; : > docs/d.md; exit $r";
    for (check, more, files, fails) in [
        (empties, &["--baseline", "off"][..], Some("docs/d.md"), true),
        (empties, &["--baseline", "off", "--allow", "**"], Some("docs/d.md"), true),
        ("sh format.sh; true", &[], Some("src/a.rs"), false),
        // A check may write files that no commit has.
        ("date >report.log; date >report.txt", &[], None, false),
    ] {
        let (stage, ended) = checked_by(check, more);
        assert_eq!(ended.status, Some(0), "{check}: {ended:?}");
        let said = ended.out.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(!said.contains("flaky"), "{check}: {said}");
        let first = &stage.verdicts()[0];
        assert_eq!(first["decision"] == "incomplete", fails, "{check}: {first}");
        if let Some(file) = files {
            let note = format!("the check itself changed {file}");
            assert!(said.contains(&note) && first["problems"].to_string().contains(&note), "{check}: {said}");
            assert!(!said.contains("nothing was changed"), "{check}: {said}");
            let diff = stage.unstuck(&["diff", "--name-only"]).with_status(0);
            assert!(diff.out.contains(file) && !diff.err.contains("no difference"), "{check}: {diff:?}");
        } else {
            assert!(!said.contains("the check itself"), "{check}: {said}");
        }
        stage.verify();
    }
}

#[test]
fn s63_neither_a_check_nor_a_moved_base_nor_a_lost_worker_leads_out_of_the_scope() {
    // A check may run code that the worker wrote.
    let stage = repository();
    stage.git(&["branch", "main"]);
    stage.workflow(
        "",
        "worker: COMMAND\ncommand: echo 'echo ok >docs/d.md' >src/a.rs\ninstructions: go\nmax_iterations: 2\n\
         completion_check: {commands: [\"sh src/a.rs; grep -q ok docs/d.md\"]}\n\
         convergence: {enabled: true, allowed_paths: [\"src/**\"]}",
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    assert_eq!(strayed(&stage, ""), ["docs/d.md"]);

    // Moving the base branch does not change the commit that was resolved before.
    let commit = "git add -A; git -c user.name=t -c user.email=t@t commit -qm evil; git branch -f main HEAD";
    let stage = repository();
    stage.git(&["branch", "main"]);
    change(
        &stage,
        "",
        &format!("echo x >docs/d.md; {commit}"),
        "allowed_paths: [\"src/**\"], diff_base_ref: main",
    );
    assert_eq!(strayed(&stage, ""), ["docs/d.md"]);

    // Changes of a worker count even if its supervisor died.
    let stage = repository();
    let work = "[ -e \"$SCRATCH/again\" ] && exit 0; touch \"$SCRATCH/again\"; echo x >docs/d.md; touch \"$SCRATCH/did\"; sleep 60";
    fs::write(stage.scratch("work.sh"), work).expect("the scratch folder is ours");
    let work = format!("sh {}", stage.scratch("work.sh").display());
    let run = ["run", "go", "--with", &work, "--check", "true", "--allow", "src/**", "--max-iterations", "1"];
    let live = stage.start(&run);
    wait_until("it has changed a file", || stage.scratch("did").exists());
    live.crash();
    stage.unstuck(&["resume"]).with_status(2);
    assert!(stage.verdicts()[0]["fingerprints"].to_string().contains("scope:file:docs/d.md"));
}

#[test]
fn s63_what_only_a_check_writes_is_not_the_workers() {
    let work = "echo call >>\"$SCRATCH/calls\"; echo x >>src/a.rs";
    let green = "echo >>report.xml; mkdir -p src/cache tests/cache; date +%N >tests/cache/t; seq 9 >src/cache/s; \
                 test $(wc -l <src/a.rs) -ge 4";
    let counted = "allowed_paths: [\"src/**\"], max_changed_files: 1, max_changed_lines: 3";
    for (work, check, rules, strayed) in [
        (work, green, SRC, &[][..]),
        (work, green, counted, &[]),
        (work, green, "protected_paths: [\"tests/**\"]", &[]),
        (work, green, "allowed_paths: [\"src/**\"], diff_base_ref: work", &[]),
        // A file that the work created or changed still counts if a check writes it too.
        (&*format!("{work}; echo >>report.xml"), green, SRC, &["report.xml"]),
        (&*format!("{work}; [ -e report.xml ] && echo >report.xml"), green, SRC, &["report.xml"]),
        (
            &*format!("{work}; [ -e done ] || echo >report.xml; touch done"),
            green,
            SRC,
            &["done", "report.xml"],
        ),
        // A check may run what was written: what a commit has, the worker may have changed by it.
        (work, &*format!("echo >>docs/d.md; {green}"), SRC, &["docs/d.md"]),
        (work, &*format!("echo >>.gitignore; {green}"), "protected_paths: [\"*\"]", &[".gitignore"]),
    ] {
        let stage = repository();
        fs::write(stage.scratch("work.sh"), format!("{work}\ntrue\n")).expect("the scratch folder is ours");
        let rest = format!(
            "worker: COMMAND\ncommand: sh {}\ninstructions: go\nmax_iterations: 4\n\
             completion_check: {{{{commands: ['{check}']}}}}\nconvergence: {{{{enabled: true, fail_on_max_stage: false, {rules}}}}}",
            stage.scratch("work.sh").display()
        );
        stage.workflow("", &rest.replace("{{", "{").replace("}}", "}"));
        let ended = stage.unstuck(&["run", "flow.yaml"]);
        assert_eq!(
            ended.status,
            Some(if strayed.is_empty() { 0 } else { 2 }),
            "{work}; {check}; {rules}: {ended:?}"
        );
        assert_eq!(self::strayed(&stage, ""), strayed, "{work}; {check}; {rules}");
        stage.verify();
    }
}

#[test]
fn s63_claim_is_void_after_a_revert() {
    // A step with rules works alone, so changes of other steps are never reverted.
    for beside in ["", "  beside: {worker: CUSTOM, instructions: \"true\", capabilities: [READ]}\n"] {
        let stage = repository();
        let work = "echo call >>\"$SCRATCH/calls\"; echo x >>docs/d.md; \
                    [ $(wc -l <\"$SCRATCH/calls\") -ge 3 ] && unstuck verdict complete || unstuck verdict incomplete --fingerprint f";
        fs::write(stage.scratch("work.sh"), work).expect("the scratch folder is ours");
        stage.workflow(
            "",
            &format!(
                "worker: COMMAND\ncommand: sh {}\ninstructions: go\nmax_iterations: 4\ncompletion_check: {{self_report: true}}\n\
                 require_change: true\nconvergence: {{enabled: true, {SRC}, revert_out_of_scope: true, fail_on_max_stage: false}}",
                stage.scratch("work.sh").display()
            ),
        );
        let steps = fs::read_to_string(stage.workspace().join("flow.yaml")).expect("it is there");
        stage.write("flow.yaml", steps + beside);
        stage.unstuck(&["run", "flow.yaml"]).with_status(2);
        let d = fs::read_to_string(stage.workspace().join("docs/d.md")).expect("it is there");
        assert_eq!(d, "d\n", "{beside}");
    }
}

#[test]
fn s63_a_protected_path_that_no_file_has_is_named_at_the_start() {
    let stage = repository();
    for (path, is_empty) in [
        ("doc/**", true),
        ("docs/**", false),
        ("docs", false),
        ("build.log", true),
        ("!docs/x", false),
        (".", false),
    ] {
        let with = ["--check", "true", "--protect", path, "--max-iterations", "1", "--with", "true"];
        let ended = stage.unstuck(&[&["run", "go"], &with[..]].concat());
        let said = ended.out.contains("no file that git tracks is protected by");
        assert_eq!(said, is_empty, "{path}: {ended:?}");
    }
}

#[test]
fn s63_the_file_of_a_verdict_is_in_every_scope() {
    for file in [".loop/decision.json", "v-{{completion_check_id}}.json"] {
        let stage = repository();
        stage.workflow(
            "",
            &format!(
                "worker: COMMAND\ncommand: echo x >>src/a.rs; unstuck verdict complete\ninstructions: go\nmax_iterations: 2\n\
                 completion_check: {{self_report: true, decision_file: \"{file}\"}}\nconvergence: {{enabled: true, {SRC}}}"
            ),
        );
        stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        assert_eq!(stage.verdicts().len(), 1, "{file}");
    }
}

#[test]
fn s65_added_and_removed_lines_have_a_separate_budget() {
    for (script, expected) in [
        ("seq 1 9 >src/new", None),
        ("seq 1 10 >src/new", Some("diff_budget: 10 lines were added or removed, and 9 may")),
        ("seq 1 9 >src/new; rm src/a.rs", Some("diff_budget: 10 lines")),
        ("seq 1 4 >src/new; seq 1 4 >>src/a.rs; rm src/b.rs", None),
        ("head -c 100000 /dev/zero >src/new", None),
    ] {
        let stage = repository();
        let ended = change(&stage, "", script, "max_changed_lines: 9");
        let reasons = stage.verdicts()[0]["reasons"].to_string();
        match expected {
            Some(reason) => assert!(reasons.contains(reason), "{script}: {reasons}"),
            None => assert_eq!(stage.verdicts()[0]["decision"], "complete", "{script}: {ended:?}"),
        }
    }
}

#[test]
fn s63_out_of_scope_changes_are_reverted_and_reported_from_stage_2() {
    let stage = repository();
    stage.write("mine.txt", "in no commit\n");
    let worker = "cat >\"$SCRATCH/prompt\"; echo call >>\"$SCRATCH/calls\"\n\
                  echo more >>charts/c.yaml; rm -f docs/d.md; mkdir -p new/deep; echo x >new/deep/file; echo x >>mine.txt\n\
                  [ $(wc -l <\"$SCRATCH/calls\") -ge 4 ] && echo done >src/done; true\n";
    fs::write(stage.scratch("worker.sh"), worker).expect("the scratch folder is ours");
    let command = format!("sh {}", stage.scratch("worker.sh").display());
    let ended = stage.unstuck(&[
        "run",
        "go on",
        "--with",
        &command,
        "--check",
        "test -e src/done",
        "--allow",
        "src/**",
        "--revert-out-of-scope",
    ]);
    let ended = ended.with_status(0);
    assert_eq!(stage.calls(), 4, "{ended:?}");
    let file = |path: &str| fs::read_to_string(stage.workspace().join(path)).unwrap_or_default();
    assert_eq!(
        (&*file("charts/c.yaml"), &*file("docs/d.md"), &*file("mine.txt")),
        ("c\n", "d\n", "in no commit\n")
    );
    assert!(!stage.workspace().join("new").exists());
    let put_back = stage.facts("worker_finished").last().expect("work")["drift"]["put_back"].to_string();
    assert!(put_back.contains("new/deep/file"), "{put_back}");
    stage.unstuck(&["artifacts"]).with_status(0).says("; put back: charts/c.yaml, docs/d.md");
    stage.verify();
}

/// Runs a step within these rules to its bound of two iterations, and a second step after it. Each call of the first one
/// counts up in `src/a.rs`, which has to reach five, and does `extra`, which knows the number of the call as `$n`.
fn bounded(stage: &Stage, rules: &str, extra: &str) -> Ended {
    let work = format!(
        "echo call >>\"$SCRATCH/calls\"; n=$(wc -l <\"$SCRATCH/calls\"); echo $n >src/a.rs\n{extra}\ntrue\n"
    );
    fs::write(stage.scratch("work.sh"), work).expect("the scratch folder is ours");
    let steps = format!(
        "  work:\n    worker: COMMAND\n    command: sh {}\n    instructions: go\n    max_iterations: 2\n    \
         completion_check: {{commands: [\"test $(cat src/a.rs) -ge 5\"]}}\n    \
         convergence: {{enabled: true, stall_threshold: 2, fail_on_max_stage: false, {rules}}}\n  \
         other: {{worker: CUSTOM, instructions: echo of-b >docs/b.md, capabilities: [EDIT]}}\n",
        stage.scratch("work.sh").display()
    );
    let head = "name: flow\nversion: \"1\"\ntimeout: 5m\nsteps:\n";
    let flow = stage.scratch("flow.yaml");
    fs::write(&flow, format!("{head}{steps}")).expect("the scratch folder is ours");
    stage.unstuck(&["run", &flow.to_string_lossy()]).with_status(2)
}

#[test]
fn s63_changes_of_another_step_are_neither_counted_nor_reverted() {
    let reverts = "allowed_paths: [\"src/**\"], revert_out_of_scope: true";
    for (rules, extra, status, strayed) in [
        (reverts, "", 0, None),
        (reverts, "[ $n -ge 3 ] && echo of-a >>docs/b.md", 0, None),
        (reverts, "[ $n -ge 3 ] && rm docs/b.md", 0, None),
        (SRC, "", 0, None),
        (SRC, "[ $n -ge 5 ] && echo of-a >>docs/b.md", 2, Some("scope:file:docs/b.md")),
        (SRC, "[ $n -ge 5 ] && rm docs/b.md", 2, Some("scope:file:docs/b.md")),
        // Its changes from before the other step count, and are reverted.
        (reverts, "[ $n -le 1 ] && echo x >>docs/d.md", 0, None),
        (SRC, "[ $n -le 1 ] && echo x >>docs/d.md", 2, Some("scope:file:docs/d.md")),
    ] {
        let stage = repository();
        bounded(&stage, rules, extra);
        let ended = stage.unstuck(&["resume", "--add-iterations", "3"]).with_status(status);
        let file = |path: &str| fs::read_to_string(stage.workspace().join(path)).unwrap_or_default();
        if rules == reverts {
            assert_eq!((&*file("docs/b.md"), &*file("docs/d.md")), ("of-b\n", "d\n"), "{extra}: {ended:#?}");
        }
        let found = stage.verdicts().last().expect("verdicts")["fingerprints"].to_string();
        match strayed {
            Some(strayed) => assert!(found.contains(strayed), "{extra}: {found}"),
            None => assert!(!found.contains("scope:"), "{extra}: {found}"),
        }
        stage.verify();
    }
}

#[test]
fn s63_what_a_person_changed_while_a_step_rested_and_accepted_stays() {
    let reverts = "allowed_paths: [\"src/**\"], revert_out_of_scope: true";
    for (rules, extra) in [
        (reverts, ""),
        (&*format!("{reverts}, diff_base_ref: work"), ""),
        // A change by the worker to a file that a person edited is reverted to the version of the person.
        (reverts, "[ $n -ge 3 ] && echo of-a >>docs/notes.md"),
        (reverts, "[ $n -ge 3 ] && rm docs/notes.md"),
    ] {
        let stage = repository();
        bounded(&stage, rules, extra);
        stage.write("docs/notes.md", "notes\n");
        stage.write("docs/d.md", "edited\n");
        fs::remove_file(stage.workspace().join("charts/c.yaml")).expect("it is there");
        let ended = stage.unstuck(&["resume", "--add-iterations", "3", "--accept-changes"]).with_status(0);
        let file = |path: &str| fs::read_to_string(stage.workspace().join(path)).unwrap_or_default();
        assert_eq!(
            (&*file("docs/notes.md"), &*file("docs/d.md"), &*file("docs/b.md")),
            ("notes\n", "edited\n", "of-b\n"),
            "{rules} {extra}: {ended:#?}"
        );
        assert!(!stage.workspace().join("charts/c.yaml").exists(), "{rules} {extra}");
        stage.verify();
    }
}

/// Returns a worker that changes a file and keeps running, and changes another file when it is called again. The first
/// call also leaves its scope if `strays` is set.
fn lost_worker(stage: &Stage, strays: bool) -> String {
    let work = "[ -e \"$SCRATCH/again\" ] && { echo two >src/two.rs; exit 0; }; touch \"$SCRATCH/again\"\n\
                echo one >src/one.rs; [ -z \"$STRAYS\" ] || echo of-worker >docs/d.md; touch \"$SCRATCH/did\"; sleep 60";
    fs::write(stage.scratch("work.sh"), work).expect("the scratch folder is ours");
    let strays = if strays { "STRAYS=1 " } else { "" };
    format!("{strays}sh {}", stage.scratch("work.sh").display())
}

/// Kills the supervisor of such a worker; returns the files in which its guard has noted what is left, as many as there are
/// to be.
fn killed_in(stage: &Stage, run: &[&str], notes: usize) -> Vec<PathBuf> {
    let live = stage.start(run);
    wait_until("it has changed files", || stage.scratch("did").exists());
    live.crash();
    let noted = || {
        let kept = stage.kept().into_iter();
        kept.filter(|path| path.ends_with("abandoned")).collect::<Vec<_>>()
    };
    wait_until("its guard has looked", || noted().len() == notes && stage.processes().is_empty());
    noted()
}

fn killed(stage: &Stage, strays: bool) -> PathBuf {
    let work = lost_worker(stage, strays);
    let run = ["run", "go", "--with", &work, "--check", "true", "--allow", "src/**", "--max-iterations", "1"];
    killed_in(stage, &run, 1).remove(0)
}

#[test]
fn s59_what_a_person_changed_after_a_kill_is_not_the_lost_workers() {
    let stage = repository();
    killed(&stage, false);
    stage.write("docs/d.md", "by hand\n");
    stage.unstuck(&["resume"]).with_status(64).complains("docs/d.md").complains("--accept-changes");
    stage.unstuck(&["resume", "--accept-changes"]).with_status(0);
    assert_eq!(fs::read_to_string(stage.workspace().join("docs/d.md")).unwrap(), "by hand\n");
    let moments: Vec<Value> =
        stage.facts("snapshot_taken").iter().map(|fact| fact["moment"].clone()).collect();
    assert_eq!(moments[..2], ["abandoned", "resumed"]);
    let finished = &stage.facts("worker_finished")[0];
    let files: Vec<&Value> =
        finished["diffstat"]["files"].as_array().expect("files").iter().map(|file| &file["path"]).collect();
    assert_eq!(files, ["src/one.rs", "src/two.rs"], "the lost work counts, and no other");
    stage.verify();

    // Changes of the lost worker count as its work if no person has touched the files since.
    let stage = repository();
    killed(&stage, true);
    stage.unstuck(&["resume"]).with_status(2);
    assert!(stage.verdicts()[0]["fingerprints"].to_string().contains("scope:file:docs/d.md"));
    stage.verify();
}

#[test]
fn s59_what_changed_while_the_guard_was_at_work_counts_as_the_lost_work_and_that_is_said() {
    let stage = repository();
    let work =
        "cat >/dev/null; (trap '' TERM; sleep 60) & echo one >src/one.rs; touch \"$SCRATCH/did\"; wait";
    fs::write(stage.scratch("work.sh"), work).expect("the scratch folder is ours");
    let work = format!("[ -e \"$SCRATCH/did\" ] || sh {}", stage.scratch("work.sh").display());
    let live = stage.start(&["run", "go", "--with", &work, "--check", "true", "--allow", "src/**"]);
    wait_until("it has changed files", || stage.scratch("did").exists());
    live.crash();
    // The clock of files may be a few milliseconds behind; the guard waits for a second.
    std::thread::sleep(std::time::Duration::from_millis(50));
    stage.write("docs/d.md", "by hand\n");
    wait_until("its guard has looked", || stage.kept().iter().any(|path| path.ends_with("abandoned")));
    let ended = stage.unstuck(&["resume"]).complains("while the guard of the lost attempt was at work");
    assert!(ended.err.contains("docs/d.md") && !ended.err.contains("src/one.rs"), "{}", ended.err);
    stage.verify();
}

/// Checks that a person's change counts as the lost worker's once something has become of the note.
fn is_not_believed_after(spoil: impl Fn(&Stage, &Path)) {
    let stage = repository();
    let note = killed(&stage, false);
    spoil(&stage, &note);
    stage.write("docs/d.md", "by hand\n");
    stage.unstuck(&["resume"]).with_status(2).complains("counts as its work, whoever changed it");
    assert!(stage.verdicts()[0]["fingerprints"].to_string().contains("scope:file:docs/d.md"));
    stage.verify();
}

#[test]
fn a_note_of_a_guard_that_is_damaged_or_old_is_not_believed() {
    is_not_believed_after(|_, note| {
        let mut bytes = fs::read(note).expect("it is there");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(note, bytes).expect("the state folder is ours");
    });
    // It is of the other one's log.
    let other = repository();
    let old = killed(&other, false);
    is_not_believed_after(|_, note| {
        fs::copy(&old, note).expect("the state folder is ours");
    });
}

#[test]
fn s59_what_a_person_changed_after_a_kill_is_taken_back_without_the_lost_work() {
    let stage = repository();
    killed(&stage, false);
    stage.write("docs/d.md", "by hand\n");
    let file = |path: &str| fs::read_to_string(stage.workspace().join(path)).unwrap_or_default();
    // As the refusal says, and without having asked before.
    for asks in [true, false] {
        if asks {
            stage.unstuck(&["resume"]).with_status(64).complains("put it back: unstuck undo");
        }
        stage.unstuck(&["undo", "@last@last", "--all"]).with_status(0);
        assert_eq!((&*file("docs/d.md"), &*file("src/one.rs")), ("d\n", "one\n"), "{asks}");
        stage.write("docs/d.md", "by hand again\n");
    }
    stage.unstuck(&["undo", "@last@last"]).with_status(0).says("keeps    1 file: docs/d.md");
    assert_eq!(file("docs/d.md"), "by hand again\n", "it is a person's");
    stage.unstuck(&["undo", "@last@last", "--all"]).with_status(0);
    stage.unstuck(&["resume"]).with_status(0);
    stage.verify();
}

#[test]
fn s59_what_a_person_changed_after_a_kill_is_not_the_lost_workers_of_a_child_run_either() {
    for strays in [false, true] {
        let stage = repository();
        let work = lost_worker(&stage, strays);
        let child = format!(
            "name: child\nversion: \"1\"\ntimeout: 5m\nsteps:\n  fix:\n    worker: CUSTOM\n    instructions: {work}\n    \
             capabilities: [EDIT]\n    max_iterations: 2\n    completion_check: {{worker: CUSTOM, instructions: exit 0, \
             capabilities: [READ]}}\n    convergence: {{enabled: true, allowed_paths: [\"src/**\"]}}\n"
        );
        stage.write("child.yaml", &child);
        let parent = "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  all: {workflow: child.yaml}\n";
        stage.write("flow.yaml", parent);
        killed_in(&stage, &["run", "flow.yaml"], 2);
        if !strays {
            stage.write("docs/d.md", "by hand\n");
            stage.unstuck(&["resume"]).with_status(64).complains("docs/d.md").complains("--accept-changes");
        }
        stage.unstuck(&["resume", "--accept-changes"]).with_status(if strays { 2 } else { 0 });
        stage.verify();
    }
}

#[test]
fn s28_diagnosis_runs_once_before_a_run_ends_as_stuck() {
    let stage = Stage::repository();
    let look = "cat >\"$SCRATCH/asked\"; echo look >>\"$SCRATCH/looks\"; echo ruined >src/add.sh; \
                echo 'The minus in src/add.sh has to be a plus.'";
    fs::write(stage.scratch("look.sh"), look).expect("the scratch folder is ours");
    fs::write(stage.scratch("work.sh"), "cat >/dev/null; echo '# try' >>src/add.sh; echo I am done\n")
        .expect("ours");
    let (work, look) = (stage.scratch("work.sh"), stage.scratch("look.sh"));
    let ended = stage
        .unstuck(&[
            "run",
            "make the tests pass",
            "--with",
            &format!("sh {}", work.display()),
            "--check",
            "sh tests/run.sh",
            "--diagnose-with",
            &format!("sh {}", look.display()),
        ])
        .with_status(3);
    assert_eq!(stage.noted("looks"), "look\n");
    let asked = stage.noted("asked");
    for part in ["Diagnose, do not edit", "make the tests pass", "expected 5, got -1", "I am done"] {
        assert!(asked.contains(part), "{part}: {asked}");
    }
    assert!(!asked.contains("minimal fix"), "{asked}");
    let source = fs::read_to_string(stage.workspace().join("src/add.sh")).expect("it is there");
    assert!(source.contains("# try") && !source.contains("ruined"), "{source}");
    assert!(ended.out.contains("has to be a plus"), "{ended:?}");
    stage.unstuck(&["artifacts"]).with_status(0).says("has to be a plus");
    // The next worker gets the diagnosis in its prompt.
    fs::write(
        stage.scratch("work.sh"),
        "cat >\"$SCRATCH/prompt\"; echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh\n",
    )
    .expect("ours");
    stage.unstuck(&["resume"]).with_status(0);
    assert!(stage.noted("prompt").contains("has to be a plus"), "{}", stage.noted("prompt"));
    stage.verify();
}

#[test]
fn a_pattern_on_the_command_line_is_what_it_is_in_a_file() {
    let stage = Stage::repository();
    for (pattern, why) in
        [("!", "there is no path behind"), ("!../x", "leads out"), ("../x", "leads out"), ("", "it is empty")]
    {
        let run = ["run", "go", "--with", "sh -c true", "--check", "true", "--allow", pattern];
        stage.unstuck(&run).with_status(64).complains(why);
    }
}

#[test]
fn output_of_unstuck_in_the_workspace_is_never_out_of_scope() {
    for (first, then) in [
        ("unstuck run flow.yaml >out.txt", "unstuck resume --add-iterations 1"),
        ("echo old >out.txt; unstuck run flow.yaml", "unstuck resume --add-iterations 1 >>out.txt"),
        ("unstuck run flow.yaml", "unstuck resume --add-iterations 1 >out.txt"),
    ] {
        let stage = repository();
        stage.workflow(
            "",
            "worker: CUSTOM\ncapabilities: [EDIT]\ninstructions: echo x >>src/a.rs\nmax_iterations: 2\n\
             completion_check: {commands: ['test $(wc -l <src/a.rs) -ge 4']}\n\
             convergence: {enabled: true, allowed_paths: [src/a.rs], max_changed_files: 1}",
        );
        let typed = |line: &str| stage.shell(&stage.workspace(), line).status.code();
        assert_eq!((typed(first), typed(then)), (Some(2), Some(0)), "{first}; {then}");
        assert_eq!(strayed(&stage, ""), [""; 0], "{first}; {then}");
    }
}

#[test]
fn a_pattern_that_would_allow_or_protect_nothing_is_refused_and_the_right_one_named() {
    let stage = Stage::repository();
    let absolute = stage.workspace().join("tests/**").display().to_string();
    let all = stage.workspace().display().to_string();
    for (pattern, says) in [
        (absolute.as_str(), "'tests/**'"),
        (&all, "'**'"),
        (" tests/**", "a blank"),
        ("! tests/**", "a blank"),
    ] {
        for option in ["--allow", "--protect"] {
            let run = ["run", "go", "--with", "true", "--check", "true", option, pattern];
            stage.unstuck(&run).with_status(64).complains(option).complains(says);
        }
    }
    stage.unstuck(&["runs"]).says("nothing has run here yet");
}
