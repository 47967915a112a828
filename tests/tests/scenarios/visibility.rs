//! Output for people and for scripts: S71, S72, S73, S75, S79, S85.

use std::fs;

use expect_test::expect_file;
use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::schema;
use crate::stage::{Ended, Live, Stage, claims, kind, repository, tell, wait_until, worker};

/// Returns the keys of a step whose worker judges itself, three times at most.
fn claims_thrice(command: &str, more: &str) -> String {
    claims(command, &format!("max_iterations: 3\n{more}"))
}

fn summary_schema() -> Value {
    let text = fs::read(repository("docs/summary.schema.json")).expect("it is there");
    serde_json::from_slice(&text).expect("a schema is JSON")
}

/// Checks the last lines: the word for the end and the status, the evidence, the next command. Also checks that
/// scripts get the same.
#[track_caller]
fn explains(stage: &Stage, ended: Ended, status: i32, word: &str, next: &str) {
    let ended = ended.with_status(status);
    let lines: Vec<&str> = ended.last_lines().lines().collect();
    assert!(lines[0].starts_with(word) && lines[0].ends_with(&format!("exit {status}")), "{lines:#?}");
    assert!(lines.iter().any(|line| line.contains("evidence") && line.contains("event ")), "{lines:#?}");
    let at = lines.iter().position(|line| *line == "next:").unwrap_or_else(|| panic!("no next: {lines:#?}"));
    assert!(lines[at + 1].contains(next), "{lines:#?}");
    assert!(lines[at + 1..].iter().any(|line| line.contains("unstuck why")), "{lines:#?}");
    stage.unstuck(&["why"]).with_status(0).says(word);

    let summary = stage.unstuck(&["show", "--json"]).with_status(0);
    let summary: Value = serde_json::from_str(&summary.out).expect("JSON");
    assert_eq!(schema::complaints(&summary_schema(), &summary), [""; 0], "{summary:#}");
    assert_eq!((&summary["outcome"], &summary["exit"]), (&word.into(), &status.into()));
}

fn held(stage: &Stage) -> Live {
    let live = stage.start(&["run", "count", "--trust-worker", "--with", &worker("count.sh")]);
    wait_until("a worker works", || stage.calls() == 1);
    live
}

#[test]
fn s71_an_end_after_which_the_run_went_on_explains_nothing() {
    let stage = Stage::repository();
    let work = "if [ -e \"$SCRATCH/first\" ]; then : >\"$SCRATCH/second\"; sleep 60; fi; : >\"$SCRATCH/first\"; echo not yet";
    stage.unstuck(&["run", "go", "--trust-worker", "--max-iterations", "1", "--with", work]).with_status(2);
    stage.unstuck(&["why"]).says("OUT OF ITERATIONS");
    let live = stage.start(&["resume", "--add-iterations", "1"]);
    wait_until("it works again", || stage.scratch("second").exists());
    let why = stage.unstuck(&["why"]).with_status(0).says("the run went on after it (event");
    assert!(!why.out.contains("OUT OF ITERATIONS"), "{}", why.out);
    live.crash();
}

#[test]
fn s71_every_end_has_its_exit_status_its_evidence_and_a_next_command() {
    let stage = Stage::repository();
    let run = |arguments: &[&str]| stage.unstuck(&[&["run"], arguments].concat());
    let of_file = |step: String| {
        stage.workflow("", &step);
        run(&["flow.yaml"])
    };
    explains(
        &stage,
        run(&["mend add", "--with", &worker("fix.sh"), "--check", "sh tests/run.sh"]),
        0,
        "COMPLETE",
        "unstuck show",
    );
    explains(
        &stage,
        run(&["mend add", "--trust-worker", "--with", "true"]),
        1,
        "NOT COMPLETE",
        "unstuck resume",
    );
    explains(
        &stage,
        run(&["x", "--with", "true", "--check", "false", "--max-iterations", "1"]),
        2,
        "OUT OF ITERATIONS",
        "--add-iterations",
    );
    explains(
        &stage,
        run(&["x", "--trust-worker", "--with", "sleep 600", "--max-time", "300ms"]),
        2,
        "OUT OF TIME",
        "--add-time",
    );
    let convergence = "convergence: {enabled: true, stall_threshold: 1, max_stage: 2}";
    explains(
        &stage,
        of_file(claims_thrice(&worker("same-failure.sh"), convergence)),
        3,
        "STUCK",
        "unstuck diagnose",
    );
    let blocked = claims_thrice("unstuck verdict blocked --needs 'npm login'", "");
    let ended = of_file(blocked);
    assert!(ended.last_lines().contains("npm login"), "{ended:#?}");
    explains(&stage, ended, 4, "BLOCKED", "unstuck answer");
    explains(&stage, of_file(claims_thrice("echo no luck >&2; exit 9", "")), 5, "FAILED", "unstuck resume");

    let bad = run(&["x", "--trust-worker", "--with", "true", "--max-iterations", "0"]).with_status(64);
    assert!(bad.err.contains("--max-iterations"), "{bad:#?}");
    for file in ["no-such-file.yaml", "no-such-file.yml"] {
        let refused = run(&[file]).with_status(64).complains(file);
        assert!(!refused.err.contains("goal"), "{refused:#?}");
    }

    for (signal, status) in [(Signal::SIGINT, 130), (Signal::SIGTERM, 143)] {
        let stage = Stage::repository().with_variable("HOLD_AT", "1");
        let live = held(&stage);
        live.signal(signal);
        explains(&stage, live.wait(), status, "INTERRUPTED", "unstuck resume");
        stage.leaves_nothing_running();
    }

    let nowhere = Stage::new();
    let no_folder = nowhere.scratch("a file");
    fs::write(&no_folder, "").expect("the scratch folder is ours");
    let nowhere = nowhere.with_state(no_folder);
    let ended = nowhere.unstuck(&["run", "x", "--trust-worker", "--with", "true"]).with_status(6);
    assert!(
        ended.err.contains("a file is a file, and has to be a folder")
            && ended.err.contains("next: ")
            && ended.err.contains("--store"),
        "{ended:#?}"
    );
}

#[test]
fn s71_nor_does_the_status_depend_on_who_reads() {
    let stage = Stage::repository();
    let summary = stage.scratch("summary.json");
    let path = summary.to_str().expect("a plain path");
    let run = ["run", "x", "--with", "true", "--check", "false", "--max-iterations", "2", "--summary", path];
    for more in [&[][..], &["--json"], &["--quiet"]] {
        stage.unstuck_unheard(&[&run, more].concat()).with_status(2);
        assert!(fs::remove_file(&summary).is_ok(), "the summary is written");
        stage.verify();
    }
    for command in [
        &["runs"][..],
        &[],
        &["show"],
        &["report"],
        &["why"],
        &["events"],
        &["replay"],
        &["verify"],
        &["export"],
    ] {
        let ended = stage.unstuck_unheard(command).with_status(0);
        assert_eq!(ended.err, "", "{command:?}");
    }
}

#[test]
fn worker_gets_verbosity_in_its_environment() {
    for (more, told) in [(&[][..], ""), (&["--verbose"], "1 1 1\n")] {
        let stage = Stage::repository();
        let work = "[ -z \"$VERBOSE$UNSTUCK_VERBOSE$ROBOPPI_VERBOSE\" ] || \
                    echo \"$UNSTUCK_VERBOSE $ROBOPPI_VERBOSE $AGENTCORE_VERBOSE\" >\"$SCRATCH/told\"";
        stage.write("../scratch/worker.sh", work);
        let worker = format!("sh {}", stage.scratch("worker.sh").display());
        stage.unstuck(&[more, &["run", "go", "--with", &worker, "--check", "true"]].concat()).with_status(0);
        assert_eq!(stage.noted("told"), told);
    }
}

#[test]
fn s71_the_last_lines_are_about_the_run_and_not_about_a_child_of_it() {
    let stage = Stage::repository();
    stage.workflow("", &claims_thrice(&worker("same-failure.sh"), ""));
    let top = "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  outer: {workflow: flow.yaml}\n";
    stage.write("parent.yaml", top);
    let ended = stage.unstuck(&["run", "parent.yaml"]).with_status(2);
    let last = ended.last_lines();
    assert!(last.contains("outer") && last.contains("ended OUT OF ITERATIONS"), "{ended:#?}");

    let ended = stage.unstuck(&["run", "parent.yaml", "--json"]).with_status(2);
    let (lines, summary) = ended.out.trim_end().rsplit_once('\n').expect("lines");
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let summary: Value = serde_json::from_str(summary).expect("JSON");
    assert_eq!(schema::complaints(&summary_schema(), &summary), [""; 0], "{summary:#}");
    assert_eq!((&summary["workflow"], &summary["steps"][0]["id"]), (&"parent".into(), &"outer".into()));
    assert_eq!(lines, stage.events_of(summary["run"].as_str().expect("a name")));
}

#[test]
fn s71_the_steps_of_a_child_run_are_shown_below_their_prefix_where_that_is_asked_for() {
    let bubbles = ", bubble_subworkflow_events: true";
    let named = ", bubble_subworkflow_events: true, subworkflow_event_prefix: inner";
    for (more, want) in [("", None), (bubbles, Some("outer/work")), (named, Some("inner/work"))] {
        let stage = Stage::repository();
        stage.workflow("", &claims_thrice(&worker("same-failure.sh"), ""));
        let top = "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n";
        stage.write("parent.yaml", format!("{top}  outer: {{workflow: flow.yaml{more}}}\n"));
        let ended = stage.unstuck(&["run", "parent.yaml"]).with_status(2);
        let shown: Vec<&str> = ended.out.lines().filter(|line| line.contains("work #")).collect();
        let wanted: Vec<String> =
            (1..=3).filter_map(|n| want.map(|name| format!("{name} #{n}  00:"))).collect();
        assert_eq!(shown.len(), wanted.len(), "{ended:#?}");
        for (line, wanted) in shown.iter().zip(&wanted) {
            assert!(line.starts_with(wanted) && line.contains("incomplete"), "{ended:#?}");
        }
        assert!(!ended.err.contains("warning"), "{ended:#?}");
        let quiet = stage.unstuck(&["run", "parent.yaml", "--quiet"]).with_status(2);
        assert!(!quiet.out.contains("work #"), "{quiet:#?}");
    }
}

#[test]
fn s72_a_script_gets_json_lines_and_a_summary_that_keeps_its_shape() {
    let schema = summary_schema();
    let cases: &[(&str, &[&str], i32)] = &[
        ("sh tests/run.sh", &["--with", "true", "--max-iterations", "2"], 2),
        ("sh tests/run.sh || exit 1", &["--with", "sh -c 'echo INCOMPLETE: no; exit 9'"], 5),
        ("true", &["--with", "true"], 0),
    ];
    for (check, arguments, status) in cases {
        let stage = Stage::repository();
        let summary = stage.scratch("summary.json");
        let fixed = [
            "run",
            "mend add",
            "--json",
            "--check",
            check,
            "--summary",
            summary.to_str().expect("a plain path"),
        ];
        let ended = stage.unstuck(&[&fixed, *arguments].concat()).with_status(*status);
        let lines: Vec<Value> =
            ended.out.lines().map(|line| serde_json::from_str(line).expect("every line is JSON")).collect();
        let (last, events) = lines.split_last().expect("lines");
        assert_eq!(events, stage.events(), "the lines of the log");
        assert_eq!(schema::complaints(&schema, last), [""; 0], "{last:#}");
        let written: Value =
            serde_json::from_slice(&fs::read(&summary).expect("it was written")).expect("JSON");
        assert_eq!(written, *last);
        assert_eq!(
            (&last["type"], &last["v"], &last["exit"]),
            (&"summary".into(), &1.into(), &(*status).into())
        );
        let shown = stage.unstuck(&["show", "--json"]).with_status(0);
        assert_eq!(serde_json::from_str::<Value>(&shown.out).expect("JSON"), *last, "show says the same");
    }
    let stage = Stage::repository();
    let step = claims_thrice("unstuck verdict blocked --needs 'npm login'", "convergence: {enabled: true}");
    stage.workflow("", &step);
    let ended = stage.unstuck(&["run", "flow.yaml", "--json"]).with_status(4);
    let last: Value = serde_json::from_str(ended.out.lines().last().expect("lines")).expect("JSON");
    assert_eq!(schema::complaints(&schema, &last), [""; 0], "{last:#}");
    assert_eq!(last["needs"], "npm login");
    // A resumed run prints only its new events, and a summary of all of them.
    let before = stage.events().len();
    let ended = stage.unstuck(&["answer", "@last", "done", "--json"]).with_status(4);
    let (events, last) = ended.out.trim_end().rsplit_once('\n').expect("lines");
    let events: Vec<Value> = events.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    assert_eq!(events, stage.events()[before..]);
    let last: Value = serde_json::from_str(last).expect("JSON");
    assert_eq!(schema::complaints(&schema, &last), [""; 0], "{last:#}");
    assert_eq!(last["steps"][0]["iterations"].as_array().map(Vec::len), Some(2));

    let broken = serde_json::json!({ "type": "summary", "v": 2, "steps": [{}], "more": 1 });
    assert!(schema::complaints(&schema, &broken).len() > 5, "the check sees what is wrong");
}

#[test]
fn s75_a_bad_base_branch_ends_the_run_before_it_begins() {
    let stage = Stage::repository();
    stage.workflow("", &claims_thrice(&worker("claim.sh"), ""));
    let ended = stage.unstuck(&["run", "flow.yaml", "--base-branch", "no-such-branch"]).with_status(64);
    assert!(ended.err.contains("no-such-branch") && ended.err.contains("next: "), "{ended:#?}");
    stage.unstuck(&["run", "flow.yaml", "--base-branch=-x"]).with_status(64).complains("-x");

    stage.workflow("expected_work_branch: elsewhere\n", &claims_thrice(&worker("claim.sh"), ""));
    stage.unstuck(&["run", "flow.yaml"]).with_status(64).complains("git switch elsewhere");

    assert_eq!((stage.calls(), stage.processes()), (0, Vec::new()), "nothing has run");
    assert!(stage.unstuck(&["runs"]).with_status(0).out.contains("nothing has run here yet"));
    // A refused run does not block the next one.
    stage.workflow("", &claims_thrice(&worker("claim.sh"), ""));
    stage.unstuck(&["run", "flow.yaml", "--base-branch", "work"]).with_status(0);
    let view = fs::read(stage.workspace().join("context/_workflow.json")).expect("a view");
    let view: Value = serde_json::from_slice(&view).expect("JSON");
    let of_branch = [
        "create_branch",
        "expected_current_branch",
        "startup_toplevel",
        "startup_branch",
        "startup_head_sha",
        "effective_base_branch",
        "effective_base_branch_source",
        "effective_base_sha",
        "protected_branches",
        "protected_branches_source",
        "allow_protected_branch",
        "branch_lock_enabled",
    ];
    assert_eq!(of_branch.into_iter().find(|key| view.get(key).is_none()), None, "{view:#}");
    let source = |of: &str| view[format!("{of}_source")].clone();
    assert_eq!(
        (source("effective_base_branch"), source("protected_branches")),
        ("cli".into(), "default".into())
    );
}

#[test]
fn s73_the_next_morning_a_run_is_one_screen() {
    let stage = Stage::new();
    let recorded = repository("tests/fixtures/report/stuck.jsonl");
    stage.unstuck(&["import", recorded.to_str().expect("a plain path")]).with_status(0);
    let ended = stage.unstuck(&["report"]).with_status(0);
    expect_file!["../../fixtures/report/stuck.txt"].assert_eq(&ended.out);
    let short = &stage.run()[..4];
    assert_eq!(stage.unstuck(&["report", &short[..3]]).out, ended.out, "half an id is enough");
    stage.unstuck(&["report", "x"]).with_status(64).complains("unstuck runs");
    stage.unstuck(&["show"]).with_status(0).says(&format!("unstuck report {short}"));
}

/// A run of two iterations; what it prints, asks for and writes is full of markup.
fn hostile_night(stage: &Stage) {
    let worker = "cat >/dev/null; echo 'a <script>claim()</script>'; touch 'src/<script>x'; if grep -q '# again' src/add.sh
        then echo 'add() { echo $(( $1 + $2 )); }' >src/add.sh; else echo '# again' >>src/add.sh; fi";
    stage.write("../scratch/worker.sh", worker);
    let worker = format!("sh {}", stage.scratch("worker.sh").display());
    let check =
        "sh tests/run.sh || not='not '; echo \"${not}ok 2 - <script>alert(1)</script>\"; [ -z \"$not\" ]";
    stage.unstuck(&["run", "mend <script>add</script>", "--with", &worker, "--check", check]).with_status(0);
}

#[test]
fn s73_report_counts_changes_per_iteration_and_unknowns_are_not_zero() {
    let stage = Stage::repository();
    hostile_night(&stage);
    let shown = stage.unstuck(&["report"]).with_status(0);
    let rows: Vec<&str> = shown.out.lines().filter(|line| line.contains("file")).collect();
    assert!(rows[0].contains("+1 −0 (2 files)") && rows[0].contains("2 → 2"), "{shown:#?}");
    assert!(rows[1].contains("+1 −2 (1 file)") && rows[1].contains("2 → 0"), "{shown:#?}");
    assert!(rows.iter().take(2).all(|row| row.contains("  ?  ")), "nobody tells what it cost: {shown:#?}");
    assert!(shown.out.contains("COMPLETE after 2 iterations") && shown.out.contains("cost unknown"));
    assert!(shown.out.contains("b 1 2"), "the baseline and two looks: {shown:#?}");

    let told = stage.unstuck(&["report", "--json"]).with_status(0);
    let told: Value = serde_json::from_str(&told.out).expect("JSON");
    let first = &told["steps"][0]["iterations"][0];
    assert_eq!((&first["cost_usd"], &first["diff"]["files"]), (&Value::Null, &2.into()), "{first:#}");
    assert_eq!(told["steps"][0]["history"]["columns"].as_array().map(Vec::len), Some(3));
}

#[test]
fn s73_the_same_is_one_file_that_loads_nothing_and_runs_nothing() {
    let stage = Stage::repository();
    hostile_night(&stage);
    let file = stage.scratch("night.html");
    let path = file.to_str().expect("a plain path");
    stage.unstuck(&["report", "@last", "--html", path]).with_status(0).says(path);
    let page = fs::read_to_string(&file).expect("it was written");
    let again = stage.unstuck(&["report", &stage.run(), "--html", "-"]).with_status(0);
    assert!(page == again.out, "the same log gives the same bytes");
    assert!(page.contains("default-src 'none'") && !page.contains("<script"), "{page}");
    for text in [
        "mend &lt;script&gt;add&lt;/script&gt;",
        "&lt;script&gt;alert(1)&lt;/script&gt;",
        "a &lt;script&gt;claim()&lt;/script&gt;",
        "<code>src/&lt;script&gt;x</code>",
        "<span class=\"remove\">-# again</span>",
        "<svg ",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
    let nowhere = stage.scratch("no folder/night.html");
    let nowhere = nowhere.to_str().expect("a plain path");
    stage.unstuck(&["report", "--html", nowhere]).with_status(64).complains("night.html");
}

#[test]
fn s79_four_runs_at_a_time_share_a_store_and_lose_nothing() {
    let home = Stage::new();
    let url = format!("sled:{}", home.state().join("shared").display());
    let stages: Vec<Stage> =
        (0..4).map(|_| Stage::repository().with_variable("UNSTUCK_STORE", &url)).collect();
    let command = "echo \"$UNSTUCK_RUN_ID $UNSTUCK_ITERATION\" >>notes.txt";
    let live: Vec<Live> = stages
        .iter()
        .map(|stage| {
            stage.start(&["run", "count", "--with", command, "--check", "false", "--max-iterations", "6"])
        })
        .collect();
    for live in live {
        live.wait().with_status(2);
    }
    let listed = home.unstuck(&["runs", "--json", "--store", &url]).with_status(0);
    let runs: Vec<Value> = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(runs.len(), 4, "{runs:#?}");
    for entry in runs {
        let run = entry["run"].as_str().expect("a name");
        let workspace = entry["workspace"].as_str().expect("a path");
        let log = stages[0].events_of(run);
        let seqs: Vec<u64> = log.iter().filter_map(|event| event["seq"].as_u64()).collect();
        assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>());
        let verdicts = log.iter().filter(|event| kind(event) == "verdict_reached").count();
        let last = log.iter().rev().map(kind).find(|kind| *kind != "snapshot_taken");
        assert_eq!((verdicts, last), (6, Some("run_ended")));
        let notes = fs::read_to_string(format!("{workspace}/notes.txt")).expect("the worker wrote it");
        let expected: String = (1..=6).map(|n| format!("{run} {n}\n")).collect();
        assert_eq!(notes, expected, "a run works in its own workspace");
        home.unstuck(&["verify", run, "--store", &url]).with_status(0).says("all the same");
    }
}

#[test]
fn s85_a_run_whose_supervisor_is_gone_is_shown_as_interrupted() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1");
    let live = held(&stage);
    stage.unstuck(&["runs"]).with_status(0).says("RUNNING");
    live.crash();
    let run = stage.run();
    for arguments in [&["runs"][..], &[], &["show"]] {
        let shown = stage
            .unstuck(arguments)
            .with_status(0)
            .says("INTERRUPTED")
            .says(&format!("unstuck resume {}", &run[..4]));
        assert!(!shown.out.contains("RUNNING"), "{shown:#?}");
    }
    let shown: Value = serde_json::from_str(&stage.unstuck(&["show", "--json"]).out).expect("JSON");
    assert_eq!((&shown["status"], &shown["exit"]), (&"INTERRUPTED".into(), &Value::Null), "{shown:#}");
    assert_eq!(schema::complaints(&summary_schema(), &shown), [""; 0]);
    assert_eq!(stage.events().last().map(kind), Some("worker_started"), "looking changes nothing");

    // Its number may belong to another process by now: to this one, for instance.
    let leases: Vec<_> = stage.kept().into_iter().filter(|path| path.ends_with("lease")).collect();
    assert_eq!(leases.len(), 1, "{leases:?}");
    let mut holder: Value =
        serde_json::from_slice(&fs::read(&leases[0]).expect("it is there")).expect("JSON");
    holder["pid"] = std::process::id().into();
    fs::write(&leases[0], holder.to_string()).expect("the scratch folder is ours");
    stage.unstuck(&["runs"]).with_status(0).says("INTERRUPTED");
}

#[test]
fn s85_a_child_of_a_dead_run_is_not_taken_for_a_run() {
    let stage = Stage::repository().with_variable("HOLD_AT", "2").with_variable("DONE_AT", "3");
    stage.workflow("", &claims_thrice(&worker("count.sh"), ""));
    let top = "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  outer: {workflow: flow.yaml}\n";
    stage.write("parent.yaml", top);
    let live = stage.start(&["run", "parent.yaml"]);
    wait_until("the child is in its second iteration", || stage.calls() == 2);
    live.crash();

    let listed = stage.unstuck(&["runs", "--json"]).with_status(0);
    let runs: Vec<Value> = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(runs.len(), 1, "{runs:#?}");
    assert_eq!((&runs[0]["workflow"], &runs[0]["status"]), (&"parent".into(), &"INTERRUPTED".into()));

    tell(&stage.scratch("go"));
    stage.unstuck(&["resume"]).with_status(0).says("COMPLETE");
    assert_eq!(stage.facts("step_ended")[0]["step"], "outer", "the last run is the parent");
    assert_eq!(stage.calls(), 3, "the call that was lost, and no other, is made again");
    stage.leaves_nothing_running();
    stage.verify();
    let again = stage.unstuck(&["run", "parent.yaml"]).with_status(0);
    assert!(!again.out.contains("before"), "{again:#?}");
}

#[test]
fn suggested_commands_include_given_directory_and_store() {
    let stage = Stage::repository();
    let elsewhere = stage.scratch("");
    let store = format!("sled:{}", stage.scratch("the store").display());
    let place = stage.workspace().display().to_string();
    let given = ["-C", &place, "--store", &store];
    let run = ["run", "go", "--check", "false", "--with", "sh -c 'date +%N >> f'", "--max-iterations", "1"];
    let ended = stage.unstuck_in(&elsewhere, &[&given[..], &run].concat()).with_status(2);
    let begins = format!("unstuck --store '{store}' -C {place} ");
    let lines: Vec<&str> = ended.last_lines().lines().filter(|line| line.contains("unstuck ")).collect();
    assert!(lines.len() >= 2 && lines.iter().all(|line| line.trim().starts_with(&begins)), "{ended:#?}");
    let why = lines.iter().find(|line| line.contains(" why "));
    let typed = why.and_then(|line| line.split("the evidence").next());
    let output = stage.shell(&elsewhere, typed.expect("why is named"));
    assert!(output.status.success(), "{output:?}");
    let refused = stage.unstuck_in(&elsewhere, &[&given[..], &["resume"]].concat()).with_status(64);
    refused.complains(&format!("next: {begins}resume"));

    let in_memory = ["-C", &place, "--store", "memory:"];
    let ended = stage.unstuck_in(&elsewhere, &[&in_memory[..], &run].concat()).with_status(2);
    assert!(!ended.out.contains("unstuck resume") && !ended.out.contains("unstuck events"), "{ended:#?}");
    assert!(!ended.out.contains("next:"), "{ended:#?}");
}

#[test]
fn control_characters_from_a_worker_are_escaped() {
    let stage = Stage::repository();
    let says = "unstuck verdict blocked --needs \"$(printf 'x\\033[1A\\033[2KCOMPLETE')\"";
    let ended = stage.unstuck(&["run", "go", "--trust-worker", "--with", says]).with_status(4);
    let shown = ["show", "why", "report", "runs", "artifacts"].map(|command| stage.unstuck(&[command]).out);
    let all = shown.into_iter().chain([ended.out, stage.unstuck(&[]).out]);
    for text in all {
        assert!(text.contains("␛[1A␛[2KCOMPLETE") && !text.contains(['\x1b', '\r']), "{text}");
    }
    // Data is as it is, since JSON has its own way to write that.
    assert!(stage.unstuck(&["show", "--json"]).out.contains("x\\u001b[1A"));
}

#[test]
fn a_script_reads_the_overview_and_the_diagnosis_too() {
    let stage = Stage::repository();
    let json = |words: &[&str]| -> Value {
        let ended = stage.unstuck(words).with_status(0);
        serde_json::from_str(&ended.out).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
    };
    assert_eq!(json(&["--json"]), json!([]));
    stage.workflow("", &claims_thrice("exit 0", ""));
    let ended = stage.unstuck(&["run", "flow.yaml"]);
    assert_ne!(ended.status, Some(0));
    assert_eq!(json(&["--json"]), json(&["runs", "--json"]));
    assert_eq!(json(&["--json"])[0]["workflow"], "scenario");
    let of_steps = json(&["artifacts", "--json"]);
    assert_eq!(of_steps[0]["step"], "work");
    assert!(of_steps[0]["files"]["state.json"].is_object(), "{of_steps:#}");
    assert!(of_steps[0]["files"]["diagnosis.md"].as_str().is_some_and(|page| page.starts_with("# Run")));
    stage.unstuck(&["--json", "show"]).with_status(64).complains("unstuck COMMAND --json");
}

#[test]
fn small_mistakes_at_the_keyboard_are_answered_with_what_to_do() {
    let stage = Stage::repository().with_variable("UNSTUCK_STORE", "");
    let run = ["run", "go", "--check", "false", "--with", "true", "--max-iterations", "1"];
    stage.unstuck(&run).with_status(2);
    let file = stage.scratch("run.jsonl").display().to_string();
    stage.unstuck(&["export", "-o", &file]).with_status(0);
    stage.unstuck(&["export", "-o", &file]).with_status(64).complains(&format!("next: remove {file}"));
    // A check that is blank would always pass, an answer that is would be used up.
    for blank in [
        &["answer", "@last", "  "][..],
        &["run", "go", "--check", " "],
        &["run", "go", "--trust-worker", "--with", " "],
        &["init", "--with", "\t"],
        &["import", "PROMPT.md", "--with", " "],
    ] {
        stage.unstuck(blank).with_status(64).complains("it is blank");
    }
    stage.unstuck(&["replay", "--json", "--step"]).with_status(64).complains("cannot be used with");
    for beyond in [
        &["replay", "--to", "999"][..],
        &["replay", "--step", "--to", "999"],
        &["why", "@last", "--at", "999"],
        &["events", "--from", "999"],
        &["events", "--from", "999", "--json"],
    ] {
        stage.unstuck(beyond).with_status(64).complains("has no event 999; its last is");
    }
    let last = stage.events().len().to_string();
    for there in [
        &["events", "--from", &last][..],
        &["events", "--from", &last, "--json"],
        &["events", "-f", "--from", "999"],
    ] {
        let printed = stage.unstuck(there).with_status(0).out.lines().count();
        assert_eq!(printed, usize::from(!there.contains(&"-f")), "{there:?}");
    }
    stage.unstuck(&["run", " "]).with_status(64).complains("the goal is empty");
    let unheard = stage.unstuck_unheard(&["completions", "bash"]).with_status(0);
    assert!(!unheard.err.contains("panicked"), "{unheard:?}");
}

#[test]
fn a_variable_that_says_nothing_is_named_and_never_without_effect() {
    for (name, value, says) in [
        (
            "UNSTUCK_MAX_SUBWORKFLOW_DEPTH",
            "x",
            "UNSTUCK_MAX_SUBWORKFLOW_DEPTH is \"x\"; expected a whole number",
        ),
        ("ROBOPPI_MAX_SUBWORKFLOW_DEPTH", "-1", "ROBOPPI_MAX_SUBWORKFLOW_DEPTH is \"-1\""),
        ("UNSTUCK_ALLOW_PROTECTED_BRANCH", "perhaps", "is \"perhaps\"; expected true or false"),
        ("UNSTUCK_REUSE_BASELINE", "perhaps", "'perhaps' for '--reuse-baseline'"),
        ("UNSTUCK_SECRETS", "A B", "expected names of variables"),
        ("UNSTUCK_AGENTS_FILE", "nope.yaml", "nope.yaml: cannot read the agent catalog"),
        ("UNSTUCK_STORE", "nope", "names no store"),
    ] {
        let stage = Stage::repository().with_variable(name, value);
        stage.workflow("", "worker: CUSTOM\ncapabilities: [READ]\ninstructions: 'true'");
        stage.unstuck(&["run", "flow.yaml"]).with_status(64).complains(says);
    }
    let stage = Stage::repository().with_variable("UNSTUCK_LOG", "a=b=c");
    stage.unstuck(&["runs"]).with_status(0).complains("which is no filter");
    for (name, value) in [
        ("UNSTUCK_MAX_SUBWORKFLOW_DEPTH", " 3 "),
        ("UNSTUCK_MAX_SUBWORKFLOW_DEPTH", ""),
        ("UNSTUCK_ALLOW_PROTECTED_BRANCH", "off"),
        ("UNSTUCK_REUSE_BASELINE", "yes"),
        ("UNSTUCK_SECRETS", "A, B"),
        ("UNSTUCK_LOG", "debug"),
        ("UNSTUCK_LOG", ""),
        ("UNSTUCK_OF_SOMEBODY_ELSE", "x"),
    ] {
        let stage = Stage::repository().with_variable(name, value);
        stage.workflow("", "worker: CUSTOM\ncapabilities: [READ]\ninstructions: 'true'");
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        assert!(!ended.err.contains(name), "{ended:?}");
    }
}
