//! Unattended runs: in the background, stopped from elsewhere, with a notification at the end.

use std::fs;
use std::io::Write as _;

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::schema;
use crate::stage::{Stage, claims, repository, tell, wait_until, worker};

/// Starts a run in the background whose worker waits, and returns when it does.
fn detached(stage: &Stage, options: &[&str]) {
    let with = worker("count.sh");
    let words = ["run", "-d", "count", "--trust-worker", "--with", &with];
    stage.unstuck(&[&words[..], options].concat()).with_status(0).says("works in the background");
    wait_until("a worker works", || stage.calls() == 1);
}

#[test]
fn run_continues_if_its_terminal_is_closed_without_a_signal() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1").with_variable("DONE_AT", "2");
    let (live, terminal) =
        stage.start_on_terminal(&["run", "count", "--trust-worker", "--with", &worker("count.sh")]);
    wait_until("a worker works", || stage.calls() == 1);
    drop(terminal);
    stage.write("../scratch/go", "");
    live.wait().with_status(0);
    assert_eq!(stage.verdicts().len(), 2);
    stage.verify();
}

#[test]
fn a_terminal_that_is_halted_holds_neither_the_time_limit_nor_a_signal() {
    const SLEEPS: &str = "echo call >>\"$SCRATCH/calls\"; exec sleep 50";
    for (limit, signal, status) in [("4s", None, 2), ("40s", Some(Signal::SIGTERM), 143)] {
        let stage = Stage::repository();
        let words = ["run", "sleep", "--trust-worker", "--with", SLEEPS, "--max-time", limit];
        let (live, terminal) = stage.start_on_terminal(&words);
        wait_until("a worker works", || stage.calls() == 1);
        // What Ctrl-S sends.
        let mut terminal = fs::File::from(terminal);
        terminal.write_all(b"\x13").expect("a terminal");
        if let Some(signal) = signal {
            live.signal(signal);
        }
        live.wait().with_status(status);
        stage.verify();
    }
}

fn output(stage: &Stage) -> String {
    let path = stage.kept().into_iter().find(|path| path.ends_with("artifacts/output.log"));
    fs::read_to_string(path.expect("its output is kept")).expect("it is text")
}

#[test]
fn detached_run_continues_without_its_terminal_and_is_stopped_from_another() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1");
    detached(&stage, &[]);
    stage.unstuck(&["status"]).with_status(0).says("RUNNING");
    stage.unstuck(&["stop"]).with_status(0).says("INTERRUPTED").says("unstuck resume");
    let output = output(&stage);
    assert!(output.contains("exit 130") && !output.contains('\x1b'), "{output}");
    assert_eq!(stage.facts("run_interrupted")[0]["signal"], 2);
    stage.unstuck(&["stop"]).with_status(64).complains("nobody works on run");
    stage.verify();
    stage.leaves_nothing_running();
}

#[test]
fn run_with_a_blocked_step_and_a_working_step_can_be_stopped() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1");
    let step = |command: &str| {
        format!(
            "worker: COMMAND, command: {command:?}, instructions: Go., capabilities: [EDIT], max_iterations: 2, \
             completion_check: {{self_report: true}}"
        )
    };
    let blocked = step("cat >/dev/null; echo '{\"decision\":\"blocked\",\"needs\":\"a key\"}'");
    let steps = format!("steps:\n  ask: {{{blocked}}}\n  long: {{{}}}\n", step(&worker("count.sh")));
    stage.write("flow.yaml", format!("name: two\nversion: \"1\"\ntimeout: 5m\n{steps}"));
    let live = stage.start(&["run", "flow.yaml"]);
    wait_until("it needs a person", || stage.calls() == 1 && stage.facts("run_stopping").len() == 1);
    stage.unstuck(&["stop"]).with_status(0).says("INTERRUPTED");
    live.wait().with_status(130);
    stage.verify();
    stage.leaves_nothing_running();
}

#[test]
fn detached_run_ends_and_notifies() {
    let stage = Stage::repository();
    let (fix, told) = (worker("fix.sh"), stage.scratch("told").display().to_string());
    let notify = format!("echo done >'{told}'");
    let words = ["run", "--detach", "mend add", "--with", &fix, "--check", "sh tests/run.sh", "--notify"];
    stage.unstuck(&[&words[..], &[&notify]].concat()).with_status(0);
    wait_until("its end is told", || !stage.noted("told").is_empty());
    stage.unstuck(&["show"]).with_status(0).says("COMPLETE");
    wait_until("it is gone", || stage.processes().is_empty());
}

#[test]
fn output_of_the_detaching_command_is_not_a_change() {
    let stage = Stage::repository();
    let work = "until grep -q output d.log; do sleep 0.02; done; unstuck verdict complete";
    let keys = claims(&format!("{work:?}"), "require_change: true\nmax_iterations: 2");
    stage.workflow("", &keys);
    stage.shell(&stage.workspace(), "unstuck run -d flow.yaml >d.log");
    wait_until("it is gone", || stage.processes().is_empty());
    stage.unstuck(&["show"]).with_status(0).says("no_observable_change");
    stage.verify();
}

#[test]
fn a_run_that_cannot_begin_in_the_background_says_why_and_leaves_nothing() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1");
    detached(&stage, &[]);
    let second = ["run", "-d", "more", "--trust-worker", "--with", "true"];
    stage.unstuck(&second).with_status(64).complains("another run works in").complains(&stage.run()[..4]);
    let listed = stage.unstuck(&["runs", "--json"]).with_status(0);
    let listed: Value = serde_json::from_str(&listed.out).expect("JSON");
    assert_eq!(listed.as_array().map(Vec::len), Some(1), "{listed:#}");
    stage
        .unstuck(&["run", "-d", "x", "--trust-worker", "--with", "true", "--store", "memory:"])
        .with_status(64);
    stage.unstuck(&["stop"]).with_status(0);
}

/// Notify command that records its input and its variables.
const NOTIFY: &str =
    "cat >>\"$SCRATCH/told\"; echo \"$UNSTUCK_EXIT $UNSTUCK_OUTCOME: $UNSTUCK_NEEDS\" >>\"$SCRATCH/words\"";

#[test]
fn every_end_except_interruption_is_notified_once() {
    for (command, status, words) in [
        ("touch new; unstuck verdict complete", 0, "0 COMPLETE: \n"),
        ("unstuck verdict blocked --needs 'npm login'", 4, "4 BLOCKED: npm login\n"),
        ("unstuck verdict incomplete --reason 'not yet'", 2, "2 OUT OF ITERATIONS: \n"),
        ("exit 9", 5, "5 FAILED: \n"),
        ("kill -INT $PPID; sleep 600", 130, ""),
    ] {
        let stage = Stage::repository();
        let keys = format!(
            "worker: COMMAND\ncommand: {command:?}\ninstructions: Go.\ncompletion_check: {{self_report: true}}\nmax_iterations: 2"
        );
        stage.workflow(&format!("notify: '{NOTIFY}'\n"), &keys);
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(status);
        let errors = if status == 130 { "stopping ... again to kill\n" } else { "" };
        assert_eq!((stage.noted("words").as_str(), ended.err.as_str()), (words, errors), "{command}");
        if !words.is_empty() {
            let told: Value = serde_json::from_str(&stage.noted("told")).expect("one summary");
            let schema = fs::read(repository("docs/summary.schema.json")).expect("it is there");
            let schema: Value = serde_json::from_slice(&schema).expect("a schema is JSON");
            assert_eq!(schema::complaints(&schema, &told), [""; 0], "{told:#}");
            assert_eq!(told["exit"], status);
        }
    }
}

#[test]
fn unwritable_summary_hides_neither_the_end_nor_the_notification() {
    for (command, status, exit) in
        [("unstuck verdict complete", 0, 6), ("unstuck verdict incomplete --reason 'not yet'", 2, 2)]
    {
        let stage = Stage::repository();
        let summary = stage.scratch("summary");
        let path = summary.to_str().expect("a plain path");
        let work = format!("rm -f {path}; mkdir -p {path}; {command}");
        let keys = format!(
            "worker: COMMAND\ncommand: {work:?}\ninstructions: Go.\ncompletion_check: {{self_report: true}}\nmax_iterations: 2"
        );
        stage.workflow(&format!("notify: '{NOTIFY}'\n"), &keys);
        let ended = stage.unstuck(&["run", "flow.yaml", "--summary", path]).with_status(exit);
        ended.complains("error: cannot write the summary to");
        assert!(stage.noted("words").starts_with(&format!("{status} ")), "{command}");
        stage.verify();
    }
}

#[test]
fn crash_sends_no_notification_and_the_resume_does() {
    let stage = Stage::repository().with_variable("HOLD_AT", "1");
    let live =
        stage.start(&["run", "count", "--trust-worker", "--with", &worker("count.sh"), "--notify", NOTIFY]);
    wait_until("a worker works", || stage.calls() == 1);
    live.crash();
    assert_eq!(stage.noted("words"), "");
    tell(&stage.scratch("go"));
    let ended = stage.unstuck(&["resume"]);
    let status = ended.status.expect("it exits");
    assert_eq!(stage.noted("words").lines().count(), 1, "{ended:#?}");
    assert!(stage.noted("words").starts_with(&status.to_string()));
}

#[test]
fn a_command_that_cannot_tell_changes_nothing() {
    let stage = Stage::repository();
    let run = |notify: &str| {
        let fix = worker("fix.sh");
        stage.unstuck(&["run", "x", "--with", &fix, "--check", "true", "--notify", notify])
    };
    run("echo no luck >&2; exit 3").with_status(0).complains("exited with 3").complains("no luck");
    run("no-such-program-here").with_status(0).complains("exited with 127");
    let secret = Stage::repository().with_variable("HOOK_TOKEN", "sesame-open-now");
    let words = ["run", "x", "--with", "true", "--check", "true", "--notify", "echo sesame-open-now"];
    secret.unstuck(&words).with_status(64).complains("is secret by its name");
}
