//! Stopping, starting again, and logs of other days: S56, S58, S60, S61, S62.

use std::fs;
use std::path::{Path, PathBuf};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::stage::{Stage, claims, repository, tell, wait_until, worker};

/// Returns what `unstuck runs --json` says of a run.
fn listed(stage: &Stage, run: &str) -> Value {
    let ended = stage.unstuck(&["runs", "--json"]).with_status(0);
    let list: Vec<Value> = serde_json::from_str(&ended.out).expect("JSON");
    list.into_iter().find(|entry| entry["run"] == run).expect("it is listed")
}

/// Returns the folder of the project's runs.
fn project_of(stage: &Stage) -> PathBuf {
    let is_project = |path: &PathBuf| path.ends_with("index") && path.with_file_name("runs").is_dir();
    let index = stage.kept().into_iter().find(is_project).expect("there are runs");
    index.parent().expect("a folder").to_owned()
}

#[test]
fn s58_after_a_stall_a_new_run_starts_and_the_old_one_is_one_line() {
    let stage = Stage::repository();
    let step = format!(
        "worker: COMMAND\ncommand: {}\ninstructions: Mend it.\ncompletion_check: {{self_report: true}}\nmax_iterations: 9\n\
         convergence: {{enabled: true, stall_threshold: 1, max_stage: 2}}",
        worker("same-failure.sh")
    );
    stage.workflow("", &step);
    stage.unstuck(&["run", "flow.yaml"]).with_status(3);
    let old = stage.run();

    let fix = ["run", "mend add", "--with", &worker("fix.sh"), "--check", "sh tests/run.sh"];
    stage.unstuck(&fix).with_status(0).says(&format!("before run {} ended STUCK", &old[..4]));
    assert_ne!(stage.run(), old);
    let after_a_good_end = stage.unstuck(&fix).with_status(0);
    assert!(!after_a_good_end.out.contains("before run"), "{after_a_good_end:#?}");
    let overview = stage.unstuck(&[]).with_status(0).says("and 1 more: unstuck runs");
    assert!(!overview.out.contains("STUCK"), "{overview:#?}");
    stage.unstuck(&["runs"]).with_status(0).says(&format!("unstuck diagnose {}", &old[..4]));
}

#[test]
fn changes_of_a_lost_attempt_count_for_its_replacement() {
    let stage = Stage::repository();
    let work = "test -e \"$SCRATCH/go\" || { echo x >made; echo call >>\"$SCRATCH/calls\"; sleep 600; }; unstuck verdict complete";
    let keys = claims(&format!("{work:?}"), "require_change: true\nmax_iterations: 2");
    stage.workflow("", &keys);
    let live = stage.start(&["run", "flow.yaml"]);
    wait_until("it works", || stage.calls() == 1);
    live.crash();
    tell(&stage.scratch("go"));
    stage.unstuck(&["resume"]).with_status(0);
    let finished = &stage.facts("worker_finished")[0];
    assert_eq!(
        (&finished["changed"], &finished["diffstat"]["files"][0]["path"]),
        (&true.into(), &"made".into())
    );
    stage.unstuck(&["report"]).with_status(0).says("+1 −0 (1 file)");
    stage.verify();
}

#[test]
fn lost_payload_is_reported_by_verify_unless_an_export_omits_it() {
    let stage = Stage::repository();
    stage
        .unstuck(&["run", "go", "--trust-worker", "--max-iterations", "1", "--with", "echo not yet"])
        .with_status(2);
    let file = stage.scratch("log.jsonl");
    let exported = stage.unstuck(&["export", "@last"]).with_status(0).out;
    fs::write(&file, exported).expect("the scratch folder is ours");
    let blob =
        stage.kept().into_iter().find(|path| path.parent().is_some_and(|parent| parent.ends_with("blobs")));
    fs::remove_file(blob.expect("there are payloads")).expect("it is there");
    stage.unstuck(&["verify"]).with_status(6).complains("is damaged or lost: blob");
    let other = Stage::repository();
    other.unstuck(&["import", &file.to_string_lossy()]).with_status(0);
    other.unstuck(&["verify"]).with_status(0).says("which an export leaves out");
}

#[test]
fn s60_a_run_that_was_stopped_is_not_resumed_by_anything_but_a_person() {
    let stage = Stage::repository().with_variable("HOLD_AT", "2").with_variable("DONE_AT", "4");
    let command = worker("count.sh");
    let live = stage.start(&["run", "count", "--trust-worker", "--with", &command]);
    wait_until("the second iteration works", || stage.calls() == 2);
    live.signal(Signal::SIGTERM);
    live.wait().with_status(143).says("INTERRUPTED");
    let stopped = stage.run();
    let before = stage.events_of(&stopped);
    stage.leaves_nothing_running();

    tell(&stage.scratch("go"));
    stage.unstuck(&["run", "count", "--trust-worker", "--with", &command]).with_status(0);
    for arguments in [&["runs"][..], &[], &["show", &stopped], &["verify", &stopped], &["why", &stopped]] {
        stage.unstuck(arguments).with_status(0);
    }
    assert_ne!(stage.run(), stopped);
    assert_eq!(stage.events_of(&stopped), before, "nobody has touched it");
    let entry = listed(&stage, &stopped);
    assert_eq!(entry["status"], "INTERRUPTED");
    assert!(entry["next"].as_str().is_some_and(|next| next.starts_with("unstuck resume")), "{entry:#}");

    stage.unstuck(&["resume", &stopped, "--accept-changes"]).with_status(0);
    assert_eq!(listed(&stage, &stopped)["status"], "COMPLETE");
}

#[test]
fn s61_resume_uses_the_recorded_workflow_and_reports_a_changed_file() {
    let stage = Stage::repository().with_variable("HOLD_AT", "2");
    let step = |most: u32| {
        format!(
            "worker: COMMAND\ncommand: {}\ninstructions: Count.\ncompletion_check: {{self_report: true}}\nmax_iterations: {most}",
            worker("count.sh")
        )
    };
    stage.workflow("", &step(3));
    let live = stage.start(&["run", "flow.yaml"]);
    wait_until("the second iteration works", || stage.calls() == 2);
    live.crash();

    stage.workflow("", &step(7));
    tell(&stage.scratch("go"));
    let resumed = stage.unstuck(&["resume"]).with_status(2);
    resumed.says("the workflow file has changed since; this run uses what it read");
    assert_eq!(stage.verdicts().len(), 3, "the bound is the recorded one");
    let (started, resumed) = (stage.facts("run_started"), stage.facts("run_resumed"));
    let (then, now) = (&started[0]["workflow_digest"], &resumed[0]["workflow_digest"]);
    assert!(then.is_string() && now.is_string() && then != now, "{then} {now}");
    stage.verify();
    let shown = stage.unstuck(&["show"]).with_status(0).says("the workflow file has changed since");
    assert!(shown.last_lines().contains("anew, with the workflow as it is now"), "{shown:#?}");

    // A file that has not changed is not talked about.
    let stage = Stage::repository();
    stage.workflow("", &step(2));
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    let again = stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    assert!(!again.out.contains("has changed") && !again.out.contains("anew"), "{again:#?}");
    // Nor is the file needed.
    fs::remove_file(stage.workspace().join("flow.yaml")).expect("it is there");
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    assert_eq!(stage.verdicts().len(), 4);
    // The workspace is.
    let moved = stage.scratch("moved");
    fs::rename(stage.workspace(), &moved).expect("the workspace is ours");
    let store = format!("sled:{}", project_of(&stage).display());
    let arguments =
        ["-C", moved.to_str().expect("a plain path"), "--store", &store, "resume", "--add-iterations", "1"];
    let refused = stage.unstuck_in(&moved, &arguments).with_status(64);
    refused.complains("is not there any more").complains(&format!("--store {store}"));
}

/// Logs with one decision that is another one today, with what is decided now. Such a change has a line in CHANGELOG.md.
const CHANGED: [(&str, &str); 1] = [("v1/answered.jsonl", "overloaded (RETRYABLE_SERVICE)")];

#[test]
fn s62_logs_of_every_released_format_are_read_and_decided_the_same_for_ever() {
    let mut files: Vec<_> = crate::stage::files(&repository("tests/golden"));
    files.retain(|path| path.extension().is_some_and(|extension| extension == "jsonl"));
    files.sort();
    assert!(files.len() >= 3, "{files:?}");
    for file in files {
        let stage = Stage::new();
        let path = file.to_str().expect("a plain path");
        stage.unstuck(&["import", path]).with_status(0);
        match CHANGED.iter().find(|(name, _)| file.ends_with(name)) {
            None => {
                stage.unstuck(&["replay"]).with_status(0).says("all the same");
                stage.verify();
            }
            Some((_, now)) => {
                let replayed = stage.unstuck(&["replay"]).with_status(1).says(now);
                assert_eq!(replayed.out.matches("would be another one today").count(), 1, "{replayed:#?}");
            }
        }
        for command in ["show", "report", "why", "events"] {
            let shown = stage.unstuck(&[command]).with_status(0);
            assert!(!shown.out.is_empty(), "{command} {path}");
        }
        let exported = stage.unstuck(&["export"]).with_status(0);
        assert_eq!(
            exported.out,
            fs::read_to_string(&file).expect("it is there"),
            "the same lines, the same hashes"
        );
    }
}

#[test]
fn s56_a_tail_that_is_torn_is_noticed_and_nothing_whole_is_lost() {
    let stage = Stage::repository().with_variable("DONE_AT", "4");
    stage
        .unstuck(&["run", "count", "--trust-worker", "--with", &worker("count.sh"), "--max-iterations", "2"])
        .with_status(2);
    let events = stage.events().len();
    let mirror = stage.kept().into_iter().find(|path| path.ends_with("events.jsonl")).expect("a mirror");
    let whole = fs::read(&mirror).expect("it is ours");
    for lost in [1, 40, 700] {
        fs::write(&mirror, &whole[..whole.len() - lost]).expect("it is ours");
        stage.unstuck(&["verify"]).with_status(0);
        assert_eq!(stage.events().len(), events, "{lost} bytes of the mirror");
    }
    // The store has lost all, the mirror its last line.
    let store = mirror.with_file_name("store");
    fs::remove_dir_all(&store).expect("it is ours");
    let resumed = stage.unstuck(&["resume", "--add-iterations", "2"]).with_status(0);
    assert_eq!(stage.calls(), 4, "{resumed:#?}");
    assert_eq!(stage.facts("log_repaired").len(), 1);
    stage.verify();
}

#[test]
fn gc_forgets_runs_without_a_workspace_or_a_log_with_their_snapshots_and_says_what_stays() {
    let stage = Stage::repository();
    let go = ["run", "go", "--check", "false", "--with", "sh -c 'date +%N >> f'", "--max-iterations", "1"];
    let mut runs = Vec::new();
    for _ in 0..3 {
        stage.unstuck(&go).with_status(2);
        runs.push(stage.run());
    }
    let project = project_of(&stage);
    let of = |run: &str| project.join("runs").join(run);
    let mut refs = fs::read_dir(project.join("snapshots.git/refs/unstuck")).expect("there are snapshots");
    assert!(refs.all(|name| runs.contains(&name.expect("a name").file_name().into_string().expect("an id"))));

    // One run has no readable log, another is locked by an unknown process, and the workspace is gone.
    fs::write(of(&runs[0]).join("events.jsonl"), "no event\n").expect("it is ours");
    let lease = of(&runs[1]).join("lease");
    fs::write(&lease, "").expect("it is ours");
    let held = fs::File::open(&lease).expect("it is there");
    held.lock().expect("nobody has it");
    fs::create_dir_all(of(".tmp-1-0").join("blobs")).expect("it is ours");
    let moved = stage.scratch("moved");
    fs::rename(stage.workspace(), &moved).expect("the workspace is ours");
    let store = format!("sled:{}", project.display());
    let gc = || {
        let arguments = ["--store", &store, "gc", "--older-than", "0d", "--yes", "--json"];
        let ended = stage.unstuck_in(&moved, &arguments).with_status(0);
        let told: Value = serde_json::from_str(&ended.out).expect("JSON");
        let mut forgotten: Vec<String> = serde_json::from_value(told["runs"].clone()).expect("names");
        forgotten.sort();
        (forgotten, ended.err)
    };
    let (forgotten, said) = gc();
    let mut want = vec![runs[0].clone(), runs[2].clone()];
    want.sort();
    assert_eq!(forgotten, want);
    assert!(said.contains(&format!("run {} stays: somebody works on it", &runs[1][..4])), "{said}");
    assert!(!of(".tmp-1-0").exists() && of(&runs[1]).exists());
    assert!(project.join("snapshots.git/refs/unstuck").join(&runs[1]).exists());

    drop(held);
    assert_eq!(gc(), (vec![runs[1].clone()], String::new()));
    assert_eq!(fs::read_dir(project.join("runs")).expect("a folder").count(), 0);
    let refs = fs::read_dir(project.join("snapshots.git/refs/unstuck"));
    assert!(refs.map_or(0, Iterator::count) == 0, "nothing names a snapshot any more");
}

#[test]
fn gc_says_what_goes_and_keeps_what_waits_for_a_person() {
    let stage = Stage::repository();
    let blocked = ["run", "ask", "--trust-worker", "--with", "echo 'Database password:'"];
    stage.unstuck(&blocked).with_status(4);
    let waiting = stage.run()[..4].to_owned();
    stage.shell(&stage.workspace(), "echo '*.db' >.gitignore; git add -A; git commit -qm ignored");
    let ignored = [
        "run",
        "go",
        "--check",
        "true",
        "--worktree",
        "--with",
        "sh -c 'echo result >out.db; mkdir t.db; echo 1 >t.db/a'",
    ];
    stage.unstuck(&ignored).with_status(0);
    stage.unstuck(&["doctor"]).says("but for what git ignores: ").says("out.db (1 kB)");
    let dry = stage.unstuck(&["gc", "--older-than", "0d"]).with_status(0);
    for told in [
        "COMPLETE",
        "in its worktree, in no commit because git ignores it: ",
        "t.db/ (1 kB)",
        "out.db (1 kB)",
        "of snapshots that no other run needs",
        &format!("1 run waits for a person, and stays: {waiting}"),
        &format!("unstuck gc {waiting}"),
    ] {
        assert!(dry.out.contains(told), "{told}: {dry:?}");
    }
    let done = stage.unstuck(&["gc", "--older-than", "0d", "--yes"]).with_status(0);
    assert!(done.out.contains("1 run forgotten") && done.out.contains("out.db"), "{done:?}");

    // A run that is named is deleted although it is blocked. Then nothing of any workspace is left.
    let packs = project_of(&stage).join("snapshots.git/objects/pack");
    assert_ne!(fs::read_dir(&packs).expect("there are snapshots").count(), 0);
    let project = project_of(&stage);
    stage.unstuck(&["gc", &waiting, "--yes"]).with_status(0).says("BLOCKED").says("1 run forgotten");
    assert_eq!(fs::read_dir(&packs).expect("a folder").count(), 0);
    let own = project.join("snapshots.git/unstuck");
    assert_eq!(fs::read_dir(own).map_or(0, Iterator::count), 0, "no names of files stay either");
}

#[test]
fn run_without_snapshots_is_resumed_only_with_accept_drift() {
    let stage = Stage::repository();
    stage.write("tests/t", "test\n");
    let script = "n=$(cat ../n 2>/dev/null || echo 0); echo $((n+1)) >../n; echo $n >>x; if [ $n = 2 ]; then echo cheat >tests/t; fi";
    let with = format!("sh -c '{script}'");
    let go = [
        "run", "go", "--check", "test -e done", "--protect", "tests/**", "--max-iterations", "1", "--with",
        &with,
    ];
    stage.unstuck(&go).with_status(2);
    fs::remove_dir_all(project_of(&stage).join("snapshots.git")).expect("it is ours");

    stage.unstuck(&["doctor"]).with_status(1).says("snapshots.git is not there");
    stage.unstuck(&["verify"]).with_status(6).complains("no snapshots of this run are kept here");
    let more = ["resume", "--add-iterations", "1"];
    let refused = stage.unstuck(&more).with_status(6);
    assert!(refused.err.contains("next: look at what the run has changed yourself"), "{refused:?}");
    assert!(refused.err.contains("--accept-changes"), "{refused:?}");

    let accepted = stage.unstuck(&[&more[..], &["--accept-changes"]].concat()).with_status(2);
    assert!(accepted.err.contains("no undo, diff or scope reaches further back than now"), "{accepted:?}");
    // The next supervisor knows the accepted files, and detects changes to them.
    let strayed = stage.unstuck(&more).with_status(2);
    assert!(strayed.out.contains("scope: undo what was changed in protected paths: tests/t"), "{strayed:?}");
    stage.unstuck(&["diff", "@last", "3"]).with_status(0).says("+cheat");
    stage.unstuck(&["undo", "@last", "2"]).with_status(0);
    assert_eq!(fs::read_to_string(stage.workspace().join("x")).expect("it is back"), "0\n");
    stage.unstuck(&["undo", "@last", "1"]).with_status(6).complains("there is no object");
}

#[test]
fn verify_reads_the_snapshots_and_doctor_the_last_ones() {
    let stage = Stage::repository();
    let go = ["run", "go", "--check", "false", "--max-iterations", "1", "--with", "sh -c 'date +%N >>f'"];
    stage.unstuck(&go).with_status(2);
    stage.unstuck(&["verify"]).with_status(0).says("snapshots of the workspace, all of their ");
    stage.unstuck(&["doctor"]).with_status(0).says("ok    snapshots");
    let packs = fs::read_dir(project_of(&stage).join("snapshots.git/objects/pack")).expect("there are some");
    for pack in packs
        .map(|entry| entry.expect("a name").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "pack"))
    {
        let mut bytes = fs::read(&pack).expect("it is there");
        bytes[20..24].copy_from_slice(b"XXXX");
        fs::remove_file(&pack).expect("it is ours");
        fs::write(&pack, bytes).expect("it is ours");
    }
    stage.unstuck(&["verify"]).with_status(6).says("the chain is unbroken").complains("is damaged: ");
    stage.unstuck(&["doctor"]).with_status(1).says("BAD   snapshots");
}

#[test]
fn diff_and_checkout_work_without_the_workspace() {
    let stage = Stage::repository();
    let go = ["run", "go", "--check", "false", "--max-iterations", "1", "--with", "sh -c 'echo new >f'"];
    stage.unstuck(&go).with_status(2);
    let store = format!("sled:{}", project_of(&stage).display());
    let moved = stage.scratch("moved");
    fs::rename(stage.workspace(), &moved).expect("the workspace is ours");
    let ask = |arguments: &[&str]| stage.unstuck_in(&moved, &[&["--store", &store], arguments].concat());
    ask(&["diff"]).with_status(0).says("+new");
    let to = stage.scratch("copy").to_string_lossy().into_owned();
    ask(&["checkout", "@last@last", "--to", &to]).with_status(0);
    assert_eq!(fs::read_to_string(stage.scratch("copy").join("f")).expect("it is there"), "new\n");
    ask(&["undo"]).with_status(64).complains("is not there any more").complains("mkdir -p ");
    ask(&["undo", "@last@999"]).with_status(64).complains("next: unstuck ");
}

#[test]
fn an_undo_that_was_ended_half_way_is_named() {
    let stage = Stage::repository();
    let go = ["run", "go", "--check", "false", "--max-iterations", "1", "--with", "sh -c 'echo new >f'"];
    stage.unstuck(&go).with_status(2);
    let run = stage.run();
    stage.unstuck(&["undo", "@last", "1"]).with_status(0);
    let whole = stage.unstuck(&["export"]).with_status(0).out;
    let half = whole.trim_end().rsplit_once('\n').expect("there are several lines").0.to_owned() + "\n";
    // The same log without its last event, in a store that has its snapshots.
    let project = project_of(&stage);
    fs::remove_dir_all(project.join("runs").join(&run)).expect("it is ours");
    let file = stage.scratch("half.jsonl");
    fs::write(&file, half).expect("the scratch folder is ours");
    stage.unstuck(&["import", &file.to_string_lossy()]).with_status(0);
    stage.unstuck(&["doctor"]).says("was ended half-way");
    stage.unstuck(&["undo", "@last", "1"]).with_status(0).complains("was ended half-way");
    assert!(!stage.unstuck(&["doctor"]).out.contains("half-way"));
}

#[test]
fn damaged_store_is_rebuilt_from_an_intact_mirror_on_request() {
    let stage = Stage::repository();
    let go = |iterations| {
        let work = ["run", "go", "--check", "false", "--with", "sh -c 'date +%N >> f'", "--max-iterations"];
        stage.unstuck(&[&work[..], &[iterations]].concat()).with_status(2);
        project_of(&stage).join("runs").join(stage.run()).join("events.jsonl")
    };
    let (other, mirror) = (go("1"), go("2"));
    let events = stage.events().len();
    // The store holds another run, which no missing tail explains.
    let database = |mirror: &PathBuf| mirror.with_file_name("store").join("db");
    let damage = || {
        fs::copy(database(&other), database(&mirror)).expect("both are ours");
    };

    damage();
    for command in [&["verify"][..], &["resume", "--add-iterations", "1"]] {
        stage.unstuck(command).with_status(6).complains("--rebuild-store");
    }
    stage.unstuck(&["verify", "--rebuild-store"]).with_status(0).complains("written anew from events.jsonl");
    assert_eq!((stage.events().len(), stage.facts("log_repaired").len()), (events + 1, 1));
    stage.verify();
    stage.unstuck(&["verify", "--rebuild-store"]).with_status(0);
    assert_eq!(stage.events().len(), events + 1, "a store that is whole stays as it is");

    // Where the mirror is damaged too, what can be had is less, and nothing is changed before that is accepted.
    damage();
    let whole = fs::read_to_string(&mirror).expect("it is there");
    let torn = whole.replacen("\"iteration\":2", "\"iteration\":3", 1);
    assert_ne!(torn, whole, "there is a second iteration");
    fs::write(&mirror, &torn).expect("it is ours");
    stage.unstuck(&["verify"]).with_status(6).complains("--salvage").complains("--rebuild-store");
    assert_eq!(fs::read_to_string(&mirror).expect("it is there"), torn);
    fs::write(&mirror, &whole).expect("it is ours");
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(6).complains("--rebuild-store");
    stage.unstuck(&["verify", "--rebuild-store"]).with_status(0);
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    stage.verify();
}

/// Returns the last command that a message names.
fn named(said: &str) -> Vec<String> {
    let hint = said.rsplit_once("next: ").expect("a next command").1.replace('\n', "  ");
    let (_, last) = hint.rsplit_once("unstuck ").expect("a command of ours");
    last.split("  ").next().unwrap_or_default().split_whitespace().map(str::to_owned).collect()
}

#[test]
fn suggested_commands_repair_any_damage_of_a_run() {
    let stage = Stage::repository();
    let go = ["run", "go", "--check", "false", "--with", "sh -c 'date +%N >> f'", "--max-iterations", "2"];
    stage.unstuck(&go).with_status(2);
    let export = stage.scratch("run.jsonl");
    let export = export.to_str().expect("a plain path");
    stage.unstuck(&["export", "-o", export]).with_status(0);
    let all = stage.events().len();
    let folder = project_of(&stage).join("runs").join(stage.run());
    let (mirror, database) = (folder.join("events.jsonl"), folder.join("store/db"));
    let whole = [&mirror, &database].map(|path| fs::read(path).expect("it is ours"));
    let flipped = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 1;
        bytes
    };
    let damaged = |bytes: &[u8]| {
        let half = bytes.len() / 2;
        let behind = [bytes, b"garbage\n"].concat();
        let cut = bytes[..half].to_vec();
        [None, Some(Vec::new()), Some(cut), Some(flipped(bytes, half)), Some(behind), Some(bytes.to_vec())]
    };
    let put = |path: &PathBuf, bytes: &Option<Vec<u8>>| match bytes {
        Some(bytes) => fs::write(path, bytes).expect("it is ours"),
        None => fs::remove_file(path).expect("it is ours"),
    };
    let aside = stage.scratch("aside");
    let copy = |from: &Path, to: &Path| {
        let _may_not_be_there = fs::remove_dir_all(to);
        stage.shell(&stage.scratch(""), &format!("cp -a '{}' '{}'", from.display(), to.display()));
    };
    copy(&folder, &aside);
    for (first, lines) in damaged(&whole[0]).iter().enumerate() {
        for (second, records) in damaged(&whole[1]).iter().enumerate() {
            let case = format!("case {first} {second}");
            copy(&aside, &folder);
            put(&mirror, lines);
            put(&database, records);
            let (mut done, mut said) = (Vec::new(), String::new());
            let mut command = vec!["verify".to_owned()];
            let whole = loop {
                let typed: Vec<&str> = command.iter().map(String::as_str).collect();
                let ended = stage.unstuck(&typed);
                said.push_str(&ended.err);
                if ended.status == Some(0) && command[0] == "verify" {
                    break ended.out;
                }
                assert!(!done.contains(&command), "{case}: {command:?} once more, after {done:?}: {said}");
                done.push(command.clone());
                command = match ended.status {
                    Some(0) => vec!["verify".to_owned()],
                    _ => named(&ended.err),
                };
                command.iter_mut().filter(|word| *word == "FILE").for_each(|word| export.clone_into(word));
            };
            assert!(whole.contains("the chain is unbroken"), "{case}: {whole}");
            let seen = stage.events().len();
            let repairs = stage.facts("log_repaired").len();
            let is_named = said.contains("lost") || said.contains("were read in");
            assert!(seen - repairs == all || is_named, "{case}: {seen} of {all}: {done:?} {said}");
            stage.unstuck(&["show"]).with_status(0);
        }
    }
}

#[test]
fn log_with_outdated_mirror_is_used_in_full() {
    let stage = Stage::repository();
    let worker = "sh -c 'date +%N >> f'";
    stage
        .unstuck(&["run", "go", "--check", "false", "--with", worker, "--max-iterations", "3"])
        .with_status(2);
    let folder = project_of(&stage).join("runs").join(stage.run());
    let (mirror, store, aside) = (folder.join("events.jsonl"), folder.join("store"), folder.join("aside"));
    let whole = fs::read_to_string(&mirror).expect("it is there");
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let cut = |kept: usize| fs::write(&mirror, lines[..kept].concat()).expect("it is ours");

    for kept in [0, 9] {
        cut(kept);
        for command in ["show", "report", "why", "replay"] {
            stage.unstuck(&[command]).with_status(0);
        }
        // It prints the lines of the mirror.
        stage.unstuck(&["events"]).with_status(6).complains("unstuck verify");
        stage.unstuck(&["show"]).says("OUT OF ITERATIONS after 3 iterations");
        // Where the store cannot tell them either, it is known that they are missing.
        fs::rename(&store, &aside).expect("it is ours");
        let (word, next) =
            if kept > 0 { ("DAMAGED", "unstuck verify") } else { ("UNREADABLE", "unstuck import") };
        for command in ["show", "report", "why", "events", "replay"] {
            stage.unstuck(&[command]).with_status(6).complains(next);
        }
        stage.unstuck(&["runs"]).with_status(0).says(word);
        fs::rename(&aside, &store).expect("it is ours");
        assert!(stage.unstuck(&["export"]).with_status(0).out.starts_with(&whole));
        cut(kept);
        stage.unstuck(&["undo"]).with_status(0).says("before iteration 3");
        stage.unstuck(&["show"]).with_status(0);
    }
    fs::remove_file(&mirror).expect("it is there");
    stage.unstuck(&["show"]).with_status(6).complains("unstuck verify");
    stage.unstuck(&["resume", "--add-iterations", "1", "--accept-changes"]).with_status(2);
    stage.verify();

    // Nor is damage in the middle taken for the end.
    let mut bytes = fs::read(&mirror).expect("it is there");
    bytes[whole.len() / 2] ^= 1;
    fs::write(&mirror, bytes).expect("it is ours");
    stage.unstuck(&["undo"]).with_status(0).says("before iteration 4");
    stage.verify();
}

/// Returns how many lines of a log there are up to the end of a batch that is not the last one.
fn batches(lines: &str) -> usize {
    let ends = |line: &&str| line.contains("\"more\":0");
    let lines: Vec<&str> = lines.lines().collect();
    lines[..lines.len() - 2].iter().rposition(ends).expect("there are batches") + 1
}

/// Writes what is made of a file.
fn rewrite(file: &Path, change: impl FnOnce(Vec<u8>) -> Vec<u8>) {
    let changed = change(fs::read(file).expect("it is there"));
    fs::write(file, changed).expect("it is ours");
}

#[test]
fn damaged_log_shows_intact_events_and_is_repaired_or_names_the_loss() {
    type Damage = fn(&Path);
    let cut: Damage = |run| {
        rewrite(&run.join("events.jsonl"), |lines| {
            let text = String::from_utf8(lines).expect("it is text");
            let kept: usize = text.split_inclusive('\n').take(batches(&text)).map(str::len).sum();
            text.as_bytes()[..kept + 40].to_vec()
        });
    };
    let garbage: Damage = |run| {
        rewrite(&run.join("events.jsonl"), |mut lines| {
            lines.extend_from_slice(b"garbage\n");
            lines
        });
    };
    let flip: Damage = |run| {
        rewrite(&run.join("store/db"), |mut bytes| {
            let first = bytes.windows(4).position(|window| window == b"UNST").expect("there is a record");
            bytes[first + 60] ^= 1;
            bytes
        });
    };
    let wipe: Damage = |run| rewrite(&run.join("store/db"), |bytes| bytes[..bytes.len() / 100].to_vec());
    let no_format: Damage = |run| fs::remove_file(run.join("format")).expect("it is there");
    let bad_format: Damage = |run| fs::write(run.join("format"), "xx").expect("it is ours");

    let stage = Stage::repository();
    let work = format!(
        "{:?}",
        "echo call >>\"$SCRATCH/calls\"; test $(wc -l <\"$SCRATCH/calls\") -lt 3 || sleep 600"
    );
    stage.workflow("", &claims(&work, "max_iterations: 3"));
    let live = stage.start(&["run", "flow.yaml"]);
    wait_until("it works", || stage.calls() == 3);
    live.crash();
    let run = project_of(&stage).join("runs").join(stage.run());
    let whole = stage.unstuck(&["events", "--json"]).with_status(0).out;
    let all = whole.lines().count();
    let noted = || run.join("abandoned").exists();
    wait_until("its guard is done", noted);
    let kept = stage.scratch("kept");
    let put = |from: &Path, to: &Path| {
        let copied = std::process::Command::new("cp").arg("-a").args([from, to]).status();
        assert!(copied.is_ok_and(|status| status.success()));
    };
    put(&run, &kept);
    let check = |damages: &[Damage], shown: usize, status: i32, says: &str, mended: &str| {
        fs::remove_dir_all(&run).expect("it is ours");
        put(&kept, &run);
        damages.iter().for_each(|damage| damage(&run));
        let lines = stage.unstuck(&["events", "--json"]);
        assert!(whole.starts_with(&lines.out), "whole lines only: {}", lines.out);
        stage.unstuck(&["show"]).with_status(status).complains(says);
        stage.unstuck(&["verify"]).with_status(0).complains(mended);
        let exported = stage.unstuck(&["export"]).with_status(0).out;
        let good: String = whole.split_inclusive('\n').take(shown).collect();
        assert!(exported.starts_with(&good), "{exported}");
        assert!(exported.lines().skip(shown).all(|line| line.contains("log_repaired")), "{exported}");
        let again = stage.unstuck(&["verify"]).with_status(0);
        assert_eq!(again.err, "", "once mended it stays so");
    };
    let good = batches(&whole);
    let added = format!("events {} to {all} were added", good + 1);
    check(&[cut], all, 0, "", &added);
    check(&[cut, flip], all, 0, "", &added);
    let (lacks, lost) = (format!("lacks event {} at least", good + 1), format!("after event {good} is lost"));
    check(&[cut, wipe], good, 6, &lacks, &lost);
    let last = format!("event {0} is damaged: line {0} of events.jsonl", all + 1);
    check(&[garbage], all, 6, &last, "and the store knows nothing of it");
    for format in [no_format, bad_format] {
        check(&[format], all, 0, "format is missing or damaged", "was written anew");
    }
}

#[test]
fn a_log_that_is_gone_says_so_and_is_read_in_again_from_an_export() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "go", "--check", "true", "--with", &worker("count.sh")]).with_status(0);
    let run = project_of(&stage).join("runs").join(stage.run());
    let export = stage.scratch("run.jsonl");
    let export = export.to_str().expect("a plain path");
    stage.unstuck(&["export", "-o", export]).with_status(0);
    fs::remove_dir_all(run.join("store")).expect("it is ours");
    fs::remove_file(run.join("events.jsonl")).expect("it is ours");
    for command in ["show", "events", "export", "resume", "verify"] {
        let refused = stage.unstuck(&[command]).with_status(6);
        let refused =
            refused.complains("store/db is missing, and events.jsonl is missing or empty; left are ");
        refused.complains("next: put events.jsonl").complains("unstuck import FILE");
    }
    stage.unstuck(&["import", export]).with_status(0).says("the chain is unbroken");
    stage.unstuck(&["verify"]).with_status(0);
}

#[test]
fn an_import_is_done_although_the_index_cannot_be_written() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "go", "--trust-worker", "--with", "true"]).with_status(1);
    let export = stage.scratch("run.jsonl");
    let export = export.to_str().expect("a plain path");
    stage.unstuck(&["export", "-o", export]).with_status(0);
    let elsewhere = stage.scratch("elsewhere");
    fs::create_dir_all(elsewhere.join("index")).expect("the scratch folder is ours");
    let store = format!("sled:{}", elsewhere.display());
    stage
        .unstuck(&["--store", &store, "import", export])
        .with_status(0)
        .says("the chain is unbroken")
        .complains("the index was not written");
    stage.unstuck(&["--store", &store, "verify"]).with_status(0).says("all the same");
}

#[test]
fn an_export_that_was_cut_short_is_completed_by_a_longer_one_and_by_no_other() {
    let stage = Stage::repository();
    let step = format!(
        "worker: COMMAND\ncommand: {}\ninstructions: Count.\ncompletion_check: {{self_report: true}}\nmax_iterations: 2\n\
         convergence: {{enabled: true, allowed_paths: [notes.txt]}}",
        worker("count.sh")
    );
    stage.workflow("", &step);
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
    let whole = stage.unstuck(&["export"]).with_status(0).out;
    let other = stage.scratch("other");
    fs::create_dir(&other).expect("the scratch folder is ours");
    let import = |text: &str| {
        let file = stage.scratch("run.jsonl");
        fs::write(&file, text).expect("the scratch folder is ours");
        stage.unstuck_in(&other, &["import", file.to_str().expect("a plain path")])
    };
    // The last line of a batch has nothing after it.
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let ends = |line: &&str| serde_json::from_str::<Value>(line).is_ok_and(|line| line["more"] == 0);
    let batch = lines[..lines.len() / 2].iter().rposition(ends).expect("there are batches") + 1;
    import(&lines[..batch].concat()).with_status(0).complains("it has not ended");
    import(&lines[..batch].concat()).with_status(64).complains("is here already");
    let added = format!("events {} to {} were added, the chain is unbroken", batch + 1, lines.len());
    let ended = import(&whole).with_status(0).says(&added);
    assert!(!ended.err.contains("has not ended"), "{ended:?}");
    assert_eq!(stage.unstuck_in(&other, &["export"]).with_status(0).out, whole);
    stage.unstuck_in(&other, &["verify"]).with_status(0).says("all the same");

    // There are no snapshots of it, which is said before anything is recorded.
    stage.unstuck_in(&other, &["undo", "@last@first"]).with_status(6).complains("exports hold no snapshots");
    let resumed = stage.unstuck_in(&other, &["resume", "--add-iterations", "1"]);
    resumed.with_status(64).complains("--accept-changes");
    assert_eq!(stage.unstuck_in(&other, &["export"]).with_status(0).out, whole);

    // The import also adds events that were recorded there since.
    stage.unstuck(&["resume", "--add-iterations", "1"]).with_status(2);
    let longer = stage.unstuck(&["export"]).with_status(0).out;
    import(&longer).with_status(0).says(&format!("events {} to", lines.len() + 1));
}

#[test]
fn imported_unfinished_run_is_resumed_only_with_accept_drift() {
    let stage = Stage::repository();
    let go = ["run", "go", "--trust-worker", "--with", &worker("count.sh"), "--max-iterations", "2"];
    stage.unstuck(&go).with_status(2);
    let whole = stage.unstuck(&["export"]).with_status(0).out;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let is_of = |kind: &str| lines.iter().position(|line| line.contains(kind)).expect("there is one");
    let file = stage.scratch("run.jsonl");
    let path = file.to_str().expect("a plain path");
    let store = format!("sled:{}", stage.scratch("elsewhere").display());
    let elsewhere = |rest: &[&str]| stage.unstuck(&[&["--store", &store], rest].concat());
    let cut = is_of("\"type\":\"worker_started\"") + 1;
    fs::write(&file, lines[..cut].concat()).expect("the scratch folder is ours");
    elsewhere(&["import", path]).with_status(0).complains("it has not ended");
    let calls = stage.calls();
    let refused =
        elsewhere(&["resume"]).with_status(64).complains(&format!("after event {cut} is not known here"));
    refused.complains(stage.workspace().to_str().expect("a plain path")).complains("--accept-changes");
    assert_eq!(stage.calls(), calls, "nobody works before that is accepted");
    // A longer export says what was done, and that it has ended.
    fs::write(&file, &whole).expect("the scratch folder is ours");
    elsewhere(&["import", path]).with_status(0).says("were added");
    elsewhere(&["resume", "--add-iterations", "1"]).with_status(64).complains("--accept-changes");
    // Once it was accepted, it is not asked for again.
    let store = format!("sled:{}", stage.scratch("third").display());
    let third = |rest: &[&str]| stage.unstuck(&[&["--store", &store], rest].concat());
    fs::write(&file, lines[..cut].concat()).expect("the scratch folder is ours");
    third(&["import", path]).with_status(0);
    third(&["resume", "--accept-changes"]).with_status(2);
    third(&["resume", "--add-iterations", "1"]).with_status(2);
}

#[test]
fn import_error_names_the_file_or_the_local_run() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "go", "--check", "true", "--with", &worker("count.sh")]).with_status(0);
    let whole = stage.unstuck(&["export"]).with_status(0).out;
    let lines: Vec<&str> = whole.split_inclusive('\n').collect();
    let file = stage.scratch("run.jsonl");
    let path = file.to_str().expect("a plain path");
    let damaged = format!("{}{}", lines[3].replacen("\"at\":1", "\"at\":2", 1), lines[4..].concat());
    let import = |store: &str, text: String| {
        fs::write(&file, text).expect("the scratch folder is ours");
        let store = format!("sled:{}", stage.scratch(store).display());
        stage.unstuck(&["--store", &store, "import", path])
    };
    let told_of_the_file = |store: &str, text: String, line: usize, why: &str| {
        let refused = import(store, text).with_status(64);
        assert!(!refused.err.contains("events.jsonl") && !refused.err.contains(".tmp-"), "{}", refused.err);
        refused.complains(&format!("{path}:{line}: {why}")).complains("nothing was imported");
    };
    let wrong_hash = "its content does not match its hash";
    told_of_the_file("new", format!("{}{damaged}", lines[..3].concat()), 4, wrong_hash);
    // A line on which there is nothing counts, as in every editor.
    told_of_the_file("new", format!("{}\n\n{damaged}", lines[..3].concat()), 6, wrong_hash);
    told_of_the_file("new", lines[0].to_owned(), 1, "the first batch of events is not whole");
    import("longer", lines[..2].concat()).with_status(0);
    told_of_the_file("longer", format!("{}{damaged}", lines[..3].concat()), 4, wrong_hash);
    // If the local log is damaged, the error does not blame the imported file.
    let database = stage.scratch("longer").join("runs").join(stage.run()).join("store/db");
    let mirror = database.with_file_name("../events.jsonl");
    fs::write(&mirror, lines[1]).expect("it is ours");
    let mut bytes = fs::read(&database).expect("it is ours");
    bytes[5] ^= 1;
    fs::write(&database, bytes).expect("it is ours");
    let refused = import("longer", whole.clone());
    assert!(refused.status == Some(0) || !refused.err.contains(&format!("{path}:")), "{}", refused.err);
}

#[test]
fn an_export_with_a_key_that_no_event_has_is_refused_with_the_line_and_the_key() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "go", "--check", "true", "--with", &worker("count.sh")]).with_status(0);
    let whole = stage.unstuck(&["export"]).with_status(0).out;
    let lines: Vec<&str> = whole.lines().collect();
    let of_type = |kind: &str| {
        let sought = format!("\"type\":\"{kind}\"");
        lines.iter().position(|line| line.contains(&sought)).expect("there is one")
    };
    let (first, work, last) = (0, of_type("worker_finished"), lines.len() - 1);
    let file = stage.scratch("run.jsonl");
    let path = file.to_str().expect("a plain path");
    for (at, from, to, key) in [
        (first, "\"event\":{", "\"event\":{\"more_of_it\":1,", "more_of_it"),
        (work, "\"event\":{", "\"event\":{\"more_of_it\":1,", "more_of_it"),
        (last, "\"event\":{", "\"event\":{\"more_of_it\":1,", "more_of_it"),
        (work, "\"outcome\":{", "\"outcome\":{\"more_of_it\":{\"a\":[]},", "outcome.more_of_it"),
        (work, "{\"seq\":", "{\"more_of_it\":1,\"seq\":", "more_of_it"),
        (work, ",\"event\":{", ",\"more_of_it\":null,\"event\":{", "more_of_it"),
        (last, "}\n", ",\"more_of_it\":1}\n", "more_of_it"),
    ] {
        let line = format!("{}\n", lines[at]).replacen(from, to, 1);
        assert!(line.contains("more_of_it"), "{line}");
        let text: String = (0..)
            .zip(&lines)
            .map(|(now, other)| if now == at { line.clone() } else { format!("{other}\n") })
            .collect();
        fs::write(&file, text).expect("the scratch folder is ours");
        let other = Stage::repository();
        let refused = other.unstuck(&["import", path]).with_status(64);
        let refused = refused.complains(&format!("{path}:{}: ", at + 1));
        refused.complains(&format!("no key \"{key}\"; nothing was imported"));
        other.unstuck(&["show"]).with_status(64);
    }
}

#[test]
fn gc_leaves_a_child_run_with_a_parent_that_is_worked_on() {
    let stage = Stage::repository();
    stage.write(
        "kid.yaml",
        "name: kid\nversion: \"1\"\ntimeout: 5m\nsteps:\n  one:\n    worker: CUSTOM\n    capabilities: [READ]\n    instructions: \"true\"\n",
    );
    stage.write(
        "parent.yaml",
        "name: parent\nversion: \"1\"\ntimeout: 5m\nconcurrency: 2\nsteps:\n  kid:\n    workflow: kid.yaml\n  long:\n    depends_on: [kid]\n    \
         worker: CUSTOM\n    capabilities: [READ]\n    instructions: \"echo call >>$SCRATCH/calls; while [ ! -e $SCRATCH/go ]; do sleep 0.1; done\"\n",
    );
    let live = stage.start(&["run", "parent.yaml"]);
    wait_until("the parent works", || stage.calls() == 1);
    stage.unstuck(&["gc", "--older-than", "0d", "--yes"]).with_status(0).says("no run at rest");
    tell(&stage.scratch("go"));
    live.wait().with_status(0);
    let told: Value =
        serde_json::from_str(&stage.unstuck(&["gc", "--older-than", "0d", "--yes", "--json"]).out)
            .expect("JSON");
    assert_eq!(told["runs"].as_array().map(Vec::len), Some(2), "{told}");
}

#[test]
fn step_depending_on_a_failed_child_run_does_not_start() {
    let stage = Stage::repository();
    let kid = |more: &str| {
        format!(
            "name: kid\nversion: \"1\"\ntimeout: 5m\nsteps:\n  one:\n    worker: CUSTOM\n    capabilities: [READ]\n    instructions: \"exit 3\"\n{more}"
        )
    };
    stage.write(
        "parent.yaml",
        "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  kid:\n    workflow: kid.yaml\n    on_failure: continue\n  after:\n    depends_on: [kid]\n    \
         worker: CUSTOM\n    capabilities: [READ]\n    instructions: \"echo call >>$SCRATCH/calls\"\n",
    );
    for (more, calls) in [("", 1), ("    workspace: nowhere\n", 1)] {
        stage.write("kid.yaml", kid(more));
        stage.unstuck(&["run", "parent.yaml"]).with_status(5);
        assert_eq!(stage.calls(), calls, "{more}");
    }
    stage.unstuck(&["why", "@last", "kid"]).with_status(0).says("step one of child run");
}

#[test]
fn a_run_of_another_project_is_named_with_the_folder_that_it_is_in() {
    let stage = Stage::repository();
    stage.unstuck(&["run", "x", "--check", "true", "--with", "true"]);
    let other = stage.scratch("other");
    fs::create_dir(&other).expect("the scratch folder is ours");
    let run = stage.run();
    for id in [&run[..], &run[..6]] {
        let refused = stage.unstuck_in(&other, &["resume", id]).with_status(64);
        let there = format!(
            "unstuck -C {} show {id}",
            stage.workspace().canonicalize().expect("it is there").display()
        );
        refused.complains(&there);
    }
    stage.unstuck_in(&other, &["resume"]).with_status(64).complains("there are no runs here");
}

#[test]
fn settings_that_are_a_link_to_nothing_are_refused_by_name() {
    for target in ["nothing", "prices.yaml"] {
        let stage = Stage::repository();
        stage.write(".unstuck/keep", "");
        std::os::unix::fs::symlink(target, stage.workspace().join(".unstuck/prices.yaml"))
            .expect("the workspace is ours");
        let refused = stage.unstuck(&["run", "x", "--check", "true", "--with", "true"]).with_status(64);
        refused.complains("prices.yaml");
    }
}

#[test]
fn doctor_knows_the_limit_of_file_size() {
    let stage = Stage::repository();
    for (blocks, word) in [("20000", "BAD"), ("500000", "weak"), ("99000000", "ok")] {
        let limit = format!("ulimit -f {blocks}; exec \"$0\" \"$@\"");
        let told = stage.unstuck_below(&["bash", "-c", &limit], &["doctor"]).expect("bash is there").out;
        let line = told.lines().find(|line| line.contains("no file may be larger than"));
        assert!(line.is_some_and(|line| line.starts_with(word)), "{blocks}: {told}");
    }
    assert!(!stage.unstuck(&["doctor"]).out.contains("no file may be larger than"));
}
