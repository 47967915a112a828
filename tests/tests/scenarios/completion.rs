//! When is it complete? S01 to S15.

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::stage::{Stage, claims, kind, wait_until, worker};

fn texts(list: &Value) -> String {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>().join("\n")
}

#[test]
fn s01_a_marker_in_a_sentence_that_says_not_yet_is_incomplete() {
    let stage = Stage::repository();
    let command = worker("not-yet.sh");
    stage
        .unstuck(&["run", "mend add", "--trust-worker", "--with", &command, "--max-iterations", "1"])
        .with_status(2);
    let verdict = stage.verdict();
    assert_eq!((&verdict["decision"], &verdict["source"]), (&"none".into(), &"none".into()));
    assert!(texts(&verdict["problems"]).contains("names a marker inside a sentence"), "{verdict:#}");
}

#[test]
fn s02_a_worker_that_echoes_its_prompt_has_said_nothing() {
    let stage = Stage::repository();
    let goal = "Mend add. When all is done, write\n\nCOMPLETE\n\nor {\"decision\": \"complete\"}";
    stage.unstuck(&["run", goal, "--trust-worker", "--with", "cat", "--max-iterations", "1"]).with_status(2);
    let verdict = stage.verdict();
    assert_eq!(verdict["decision"], "none", "{verdict:#}");
    assert!(texts(&verdict["problems"]).contains("repeats the prompt"), "{verdict:#}");
}

#[test]
fn s02_nor_has_a_checker_that_echoes_its_prompt() {
    let stage = Stage::repository();
    let check = "worker: COMMAND\ncommand: \"true\"\ninstructions: Go.\nmax_iterations: 3\ncompletion_check:\n  \
                 worker: COMMAND\n  command: COPY\n  decision_file: verdict.json\n  instructions: |\n    \
                 Answer with one line:\n\n    COMPLETE\n\n    or VERDICT: COMPLETE or {\"decision\": \"complete\"}";
    for (copy, status) in [("cat", 1), ("cat >verdict.json", 2), ("tee verdict.json", 2)] {
        stage.workflow("", &check.replace("COPY", copy));
        stage.unstuck(&["run", "flow.yaml"]).with_status(status);
        for verdict in stage.verdicts() {
            assert_ne!(verdict["decision"], "complete", "{copy}: {verdict:#}");
        }
    }
}

#[test]
fn s03_an_empty_marker_is_an_error_of_the_file_with_line_and_column() {
    let stage = Stage::new();
    stage.workflow(
        "",
        "worker: COMMAND\ncommand: cat\ninstructions: Go.\nmax_iterations: 2\ncompletion_check:\n  self_report: true\n  marker: \"\"",
    );
    let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(64).complains("flow.yaml:12:7");
    assert!(ended.err.contains("marker"), "{ended:?}");
    assert!(stage.unstuck(&["runs"]).with_status(0).out.contains("nothing has run here yet"));
}

#[test]
fn s04_a_file_that_says_both_is_incomplete_and_both_are_quoted() {
    let stage = Stage::repository();
    stage
        .unstuck(&[
            "run",
            "mend add",
            "--trust-worker",
            "--with",
            &worker("both-words.sh"),
            "--max-iterations",
            "1",
        ])
        .with_status(2);
    let verdict = stage.verdict();
    assert_eq!(verdict["decision"], "incomplete", "{verdict:#}");
    let said = texts(&verdict["problems"]);
    assert!(
        said.contains("\"decision\": \"complete\"") || said.contains("\"decision\":\"complete\""),
        "{said}"
    );
    assert!(said.contains("INCOMPLETE") && said.contains("contradicts"), "{said}");
}

#[test]
fn s05_changelog_full_of_done_and_complete_is_not_a_verdict() {
    let stage = Stage::repository();
    stage
        .unstuck(&[
            "run",
            "mend add",
            "--trust-worker",
            "--with",
            &worker("changelog.sh"),
            "--max-iterations",
            "1",
        ])
        .with_status(2);
    let verdict = stage.verdict();
    assert_eq!((&verdict["decision"], &verdict["source"]), (&"none".into(), &"none".into()), "{verdict:#}");
}

#[test]
fn s06_a_decision_file_of_an_earlier_run_is_kept_and_does_not_count() {
    let stage = Stage::repository();
    let old = r#"{"decision": "complete", "check_id": "01890000-0000-7000-8000-000000000000"}"#;
    stage.write(".unstuck/decision.json", old);
    stage
        .unstuck(&[
            "run",
            "mend add",
            "--trust-worker",
            "--with",
            "echo work >>notes.txt",
            "--max-iterations",
            "1",
        ])
        .with_status(2);
    let verdict = stage.verdict();
    assert_eq!(verdict["decision"], "none", "{verdict:#}");
    assert!(texts(&verdict["problems"]).contains("missing"), "{verdict:#}");
    let started = stage.facts("worker_started");
    assert_eq!(stage.blob(&started[0]["moved_aside"]), old.as_bytes());

    // The same id once more, but written by this worker.
    let copy = format!("echo work >>notes.txt; printf '%s' '{old}' >$UNSTUCK_DECISION_FILE");
    stage
        .unstuck(&["run", "mend add", "--trust-worker", "--with", &copy, "--max-iterations", "1"])
        .with_status(2);
    let verdict = stage.verdict();
    let expected = verdict["check_id"].as_str().expect("an id");
    let said = texts(&verdict["problems"]);
    assert_eq!(verdict["decision"], "none", "{verdict:#}");
    assert!(
        said.contains(&format!("expected={expected} got=01890000-0000-7000-8000-000000000000")),
        "{said}"
    );
}

#[test]
fn s07_the_name_of_the_id_instead_of_the_id_is_accepted_and_told() {
    let stage = Stage::repository();
    let command = worker("unexpanded-id.sh");
    stage.unstuck(&["run", "mend add", "--trust-worker", "--with", &command]).with_status(0);
    let verdict = stage.verdict();
    assert_eq!((&verdict["decision"], &verdict["source"]), (&"complete".into(), &"file_json".into()));
    assert!(texts(&verdict["problems"]).contains("placeholder"), "{verdict:#}");

    let stage = Stage::repository().with_variable("SAYS", "incomplete");
    stage
        .unstuck(&["run", "mend add", "--trust-worker", "--with", &command, "--max-iterations", "2"])
        .with_status(2);
    let verdicts = stage.verdicts();
    let prompts = stage.noted("prompts");
    let real = verdicts[1]["check_id"].as_str().expect("an id");
    assert!(prompts.contains(real) && prompts.contains("is a placeholder"), "{prompts}");
}

#[test]
fn s08_each_unreadable_verdict_is_named_and_so_many_in_a_row_end_the_step() {
    // What `unreadable.sh` leaves at its n-th call, and by what it is named.
    const TABLE: [(&str, &str); 12] = [
        ("nothing", "missing"),
        ("an empty file", "(empty)"),
        ("blanks", "holds no verdict: \"\""),
        ("50 MB", "too_large"),
        ("a folder", "not_regular"),
        ("a link", "not_regular"),
        ("JSON that breaks off", "invalid JSON"),
        ("a code fence, and no decision in it", "no key \"decision\""),
        ("a mark before, text behind, and no known word", "\"fertig\""),
        ("the id of another check", "got=01890000"),
        ("half a UTF-16 character", "UTF-16"),
        ("a link in place of the folder", "outside_workspace"),
    ];
    let stage = Stage::repository();
    let more = "max_iterations: 20";
    let keys = claims(&worker("unreadable.sh"), more)
        .replace("self_report: true", "self_report: true, max_parse_failures: 12");
    stage.workflow("", &keys);
    let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(1);
    let verdicts = stage.verdicts();
    assert_eq!(verdicts.len(), TABLE.len());
    for ((what, named), (verdict, n)) in TABLE.iter().zip(verdicts.iter().zip(1..)) {
        let said = texts(&verdict["problems"]);
        assert!(verdict["decision"] == "none" && said.contains(named), "{what}: {verdict:#}");
        assert_eq!(verdict["parse_failures"], n, "{what}");
    }
    assert!(texts(&verdicts[8]["problems"]).contains("byte order mark"));
    let end = &stage.facts("step_ended")[0]["end"];
    let said = end["undecidable"].as_str().expect("a text");
    assert!(said.starts_with("12 checks in a row gave no readable verdict: ...; #8: "), "{said}");
    let ended = TABLE[7..10].iter().fold(ended, |ended, (_, named)| ended.says(named));
    ended.says("gave no readable verdict");
    // Each of them is evidence, and says what was read.
    let read = stage.events().into_iter().filter(|event| event["type"] == "verdict_reached");
    let why = stage.unstuck(&["why", "@last"]).with_status(0);
    read.fold(why, |why, event| why.says(&format!("event {} ", event["seq"])));
    // The link that the worker has left does not keep a later run from its verdict, nor lead it astray.
    stage.verify();
}

#[test]
fn s09_complete_on_the_last_allowed_iteration_is_complete() {
    let stage = Stage::repository();
    stage
        .unstuck(&["run", "mend add", "--trust-worker", "--with", &worker("fix.sh"), "--max-iterations", "1"])
        .with_status(0);
    let stage = Stage::repository().with_variable("DONE_AT", "3");
    stage
        .unstuck(&["run", "count", "--trust-worker", "--with", &worker("count.sh"), "--max-iterations", "3"])
        .with_status(0);
    assert_eq!(stage.verdicts().len(), 3);
}

#[test]
fn s10_the_same_words_mean_the_same_through_every_channel() {
    for (decision, status) in [("complete", 0), ("incomplete", 2), ("blocked", 4)] {
        let words = format!(r#"{{"decision": "{decision}", "needs": "a login", "reasons": ["as seen"]}}"#);
        let verdict_of = |channel: &str| {
            let stage = Stage::repository();
            let command = format!("echo work >>notes.txt; echo '{words}' {channel}");
            stage
                .unstuck(&["run", "mend add", "--trust-worker", "--with", &command, "--max-iterations", "1"])
                .with_status(status);
            stage.verify();
            let mut verdict = stage.verdict();
            for of_its_own in ["check_id", "source", "problems"] {
                verdict[of_its_own].take();
            }
            verdict
        };
        assert_eq!(verdict_of(">$UNSTUCK_DECISION_FILE"), verdict_of(""), "{decision}");
    }
}

#[test]
fn s11_the_tests_outrank_a_worker_that_says_complete_and_the_next_prompt_names_the_failure() {
    let stage = Stage::repository();
    let check = "sh tests/run.sh";
    stage
        .unstuck(&[
            "run",
            "mend add",
            "--with",
            "cat >>$SCRATCH/prompts; echo COMPLETE",
            "--check",
            check,
            "--max-iterations",
            "2",
        ])
        .with_status(2);
    for verdict in stage.verdicts() {
        assert_eq!((&verdict["decision"], &verdict["source"]), (&"incomplete".into(), &"exit_code".into()));
    }
    assert!(
        stage.noted("prompts").contains("not ok 1 - add: expected 5, got -1"),
        "{}",
        stage.noted("prompts")
    );
}

#[test]
fn s12_complete_with_nothing_changed_is_incomplete_unless_the_step_allows_it() {
    let stage = Stage::repository();
    let ended = stage
        .unstuck(&[
            "run",
            "mend add",
            "--trust-worker",
            "--with",
            &worker("claim.sh"),
            "--max-iterations",
            "1",
        ])
        .with_status(2);
    ended.says("no_observable_change");
    let verdict = stage.verdict();
    assert_eq!((&verdict["decision"], &verdict["claimed"]), (&"incomplete".into(), &"complete".into()));
    assert!(texts(&verdict["reasons"]).starts_with("no_observable_change"), "{verdict:#}");

    stage.workflow("", &claims(&worker("claim.sh"), "max_iterations: 2"));
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    stage.workflow("", &claims(&worker("claim.sh"), "max_iterations: 2\nrequire_change: true"));
    stage.unstuck(&["run", "flow.yaml"]).with_status(2);
}

#[test]
fn s12_the_file_of_a_verdict_is_no_change_of_the_workspace_wherever_it_is() {
    for file in ["decision.json", ".roboppi-loop/decision.json", "out/{{completion_check_id}}.json"] {
        let stage = Stage::repository();
        stage.workflow(
            "",
            &format!(
                "worker: COMMAND\ncommand: cat >/dev/null; unstuck verdict complete\ninstructions: go\nmax_iterations: 2\n\
                 require_change: true\ncompletion_check: {{self_report: true, decision_file: \"{file}\"}}"
            ),
        );
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(2);
        let ended = ended.says("no_observable_change");
        assert!(!format!("{ended:?}").contains("threw away"), "{file}: {ended:?}");
    }
}

#[test]
fn s13_a_worker_that_is_done_at_once_is_done() {
    let stage = Stage::repository();
    let check = "sh tests/run.sh";
    stage.unstuck(&["run", "mend add", "--with", &worker("fix.sh"), "--check", check]).with_status(0);
    assert_eq!(stage.verdict()["decision"], "complete");
    assert_eq!(stage.facts("worker_started").len(), 1);
}

#[test]
fn s14_complete_from_a_worker_that_failed_is_incomplete() {
    let stage = Stage::repository();
    let command = format!("{}; exit 3", worker("fix.sh"));
    stage
        .unstuck(&["run", "mend add", "--trust-worker", "--with", &command, "--max-iterations", "1"])
        .with_status(2);
    let verdict = stage.verdict();
    assert_eq!(verdict["decision"], "incomplete");
    let reason = texts(&verdict["reasons"]);
    assert!(reason.starts_with("worker_failed") && reason.contains("exit code 3"), "{reason}");
}

#[test]
fn s15_a_service_that_is_out_of_order_costs_no_iteration() {
    let stage = Stage::repository();
    stage.workflow("on_outage: fail\n", &claims(&worker("overloaded.sh"), "max_iterations: 2"));
    let stopped = stage.unstuck(&["run", "flow.yaml"]).with_status(5).says("RETRYABLE_SERVICE");
    stopped.says("it is not waited for: on_outage: fail");
    assert_eq!((stage.verdicts().len(), stage.calls()), (0, 1));

    stage.workflow("on_outage: wait\n", &claims(&worker("overloaded.sh"), "max_iterations: 2"));
    let live = stage.start(&["run", "flow.yaml"]);
    wait_until("it waits", || live.so_far().contains("waits for a service"));
    let events = stage.events();
    let wait = events.iter().find(|event| kind(event) == "wait_requested").expect("it waits");
    assert_eq!(wait["event"]["why"]["weather"], "retryable_service", "{wait:#}");
    let seconds =
        wait["event"]["until"].as_u64().zip(wait["at"].as_u64()).map(|(until, at)| (until - at) / 1000);
    assert!((2..=120).contains(&seconds.expect("moments")), "{wait:#}");
    live.signal(Signal::SIGINT);
    live.wait().with_status(130);
    assert!(stage.verdicts().is_empty());
}

#[test]
fn claim_is_never_credited_to_a_parallel_step() {
    let stage = Stage::repository();
    stage.write(
        "flow.yaml",
        r#"name: beside
version: "1"
timeout: 1m
steps:
  a:
    worker: COMMAND
    command: printf '{"decision":"complete"}' > "$UNSTUCK_DECISION_FILE"; sleep 0.5
    instructions: Do it.
    completion_check: {self_report: true}
    max_iterations: 2
  b:
    worker: COMMAND
    command: sleep 0.2; echo "I did nothing"
    instructions: Do it.
    completion_check: {self_report: true, max_parse_failures: 1}
    max_iterations: 2
"#,
    );
    stage.unstuck(&["run", "flow.yaml", "--allow-protected-branch"]).with_status(1);
    let decisions: Vec<String> = stage
        .facts("verdict_reached")
        .iter()
        .map(|fact| format!("{} {}", fact["step"], fact["decision"]))
        .collect();
    assert!(
        decisions
            .iter()
            .any(|decision| decision.contains('a') && decision.to_lowercase().contains("complete")),
        "{decisions:?}"
    );
    assert!(
        decisions
            .iter()
            .all(|decision| !(decision.starts_with("\"b\"") && decision.to_lowercase().contains("complete"))),
        "{decisions:?}"
    );
}

#[test]
fn a_check_that_is_asked_again_still_sees_what_the_worker_wrote() {
    let stage = Stage::repository();
    stage.write(
        "flow.yaml",
        r#"name: again
version: "1"
timeout: 1m
steps:
  a:
    worker: CUSTOM
    instructions: mkdir -p .unstuck; printf '{"decision":"incomplete","reasons":["one is left"]}' > .unstuck/d.json
    capabilities: [EDIT]
    completion_check:
      worker: CUSTOM
      instructions: if [ ! -e tried ]; then touch tried; kill -9 $$; fi
      capabilities: [READ]
      decision_file: .unstuck/d.json
    max_iterations: 2
"#,
    );
    stage.unstuck(&["run", "flow.yaml", "--allow-protected-branch"]).with_status(2);
    let first = &stage.facts("verdict_reached")[0];
    assert!(first["fingerprints"].to_string().contains("verdict:conflict"), "{first}");
}

#[test]
fn a_script_that_checks_and_is_blocked_is_so_whatever_it_exits_with() {
    for code in [0, 1] {
        let stage = Stage::repository();
        let script = format!("unstuck verdict blocked --needs 'a login' >said 2>&1; exit {code}");
        let check = format!(
            "{{worker: CUSTOM, instructions: {script:?}, capabilities: [EDIT], decision_file: v.json}}"
        );
        let keys = format!(
            "worker: CUSTOM\ninstructions: \"true\"\ncapabilities: [READ]\nmax_iterations: 2\ncompletion_check: {check}"
        );
        stage.workflow("", &keys);
        stage.unstuck(&["run", "flow.yaml"]).with_status(4).says("a login").says("unstuck answer");
        // An invalid verdict is refused and not written.
        for (arguments, said) in [
            (&["verdict", "blocked", "--needs", " ", "--file", "w.json"][..], "what a person must do"),
            (
                &["verdict", "complete", "--needs", "x", "--file", "w.json"],
                "--needs goes with the verdict blocked",
            ),
            (
                &["verdict", "complete", "--retry-after", "5", "--file", "w.json"],
                "goes with the verdict waiting",
            ),
            (&["verdict", "complete", "--file", ""], "no run asks for a verdict here"),
        ] {
            stage.unstuck(arguments).with_status(64).complains(said);
        }
        assert!(!stage.workspace().join("w.json").exists());
    }
}

#[test]
fn a_worker_that_commits_all_that_it_finds_commits_nothing_of_ours() {
    let stage = Stage::repository();
    let work = "'echo x >>made; git add -A; git commit -qm all; unstuck verdict complete'";
    let more = "completion_conditions: [git-clean]\nmax_iterations: 3";
    stage.workflow("", &claims(work, more));
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    assert_eq!(stage.facts("verdict_reached").len(), 1);
    assert_eq!(stage.git(&["show", "--name-only", "--format="]), "flow.yaml\nmade\n");
    stage.verify();
}

#[test]
fn parent_resumes_with_a_child_that_was_completed_separately() {
    let stage = Stage::repository();
    stage.write(
        "child.yaml",
        "name: child\nversion: \"1\"\ntimeout: 1m\nsteps:\n  c: {worker: CUSTOM, instructions: \"test -e ready\", capabilities: [READ]}\n",
    );
    stage.write(
        "flow.yaml",
        "name: parent\nversion: \"1\"\ntimeout: 1m\nsteps:\n  p: {workflow: child.yaml}\n",
    );
    stage.unstuck(&["run", "flow.yaml", "--allow-protected-branch"]).with_status(5);
    let finished = &stage.facts("worker_finished")[0];
    let child = finished["outcome"]["exit"].to_string();
    let child: String =
        child.split('"').find(|part| part.len() == 12).expect("the child is named").to_owned();
    stage.write("ready", "");
    stage.unstuck(&["resume", &child, "--accept-changes"]).with_status(0);
    stage.unstuck(&["resume", "--accept-changes"]).with_status(0);
}

#[test]
fn unrequested_verdict_is_harmless_and_waiting_verdict_has_a_delay() {
    let stage = Stage::repository();
    let binary = env!("CARGO_BIN_EXE_unstuck");
    let worker =
        format!("cat >/dev/null; echo x >notes; {binary} verdict incomplete --reason 'two tests fail'");
    stage.unstuck(&["run", "mend it", "--check", "test -e notes", "--with", &worker]).with_status(0);
    let file = stage.scratch("decision.json");
    let path = file.to_str().expect("a path of ours");
    stage.unstuck(&["verdict", "waiting", "--reason", "CI runs", "--file", path]).with_status(0);
    let written: Value = serde_json::from_slice(&std::fs::read(&file).expect("it is written")).expect("JSON");
    assert_eq!(written["retry_after"], 60);
    let old = Stage::repository().with_variable("ROBOPPI_COMPLETION_CHECK_ID", "old-name");
    let said = old
        .shell(&old.workspace(), "unstuck verdict incomplete --reason \"$(printf 'a\\377')\" --file v.json");
    assert_eq!(said.status.code(), Some(0), "{said:?}");
    let written = std::fs::read(old.workspace().join("v.json")).expect("it is written");
    let written: Value = serde_json::from_slice(&written).expect("JSON");
    assert_eq!((&written["check_id"], &written["reasons"][0]), (&json!("old-name"), &json!("a\u{fffd}")));
}

#[test]
fn a_script_that_checks_again_finds_what_the_worker_left_and_not_what_it_wrote_itself() {
    let says =
        |decision: &str| format!("echo '{{\"decision\":\"{decision}\",\"retry_after\":1}}' >verdict.json");
    let waits = says("waiting");
    for (worker, first, then, status, decisions) in [
        // The second attempt ignores the decision file of the first one.
        ("true", format!("{waits}; exit 1"), "exit 0", 0, &["complete"][..]),
        ("true", format!("{waits}; exit 1"), "exit 1", 2, &["incomplete", "incomplete"]),
        ("true", format!("{}; kill -9 $$", says("incomplete")), "exit 0", 0, &["complete"]),
        // The decision file of the worker exists in each attempt.
        (
            &*waits,
            format!("{}; exit 1", says("waiting")),
            "grep -q waiting verdict.json && rm verdict.json",
            0,
            &["complete"],
        ),
    ] {
        let stage = Stage::repository();
        let check = format!("[ -e \"$SCRATCH/again\" ] || {{ : >\"$SCRATCH/again\"; {first}; }}; {then}");
        stage.workflow(
            "",
            &format!(
                "worker: CUSTOM\ncapabilities: [EDIT]\ninstructions: |\n  {worker}\nmax_iterations: 2\ncompletion_check:\n  worker: CUSTOM\n  \
                 capabilities: [READ]\n  decision_file: verdict.json\n  instructions: |\n    {check}"
            ),
        );
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(status);
        let found = stage.verdicts().into_iter().map(|mut verdict| verdict["decision"].take());
        let found: Vec<Value> = found.filter(|decision| decision != "waiting").collect();
        assert!(!ended.out.contains("no new failure"), "a try before does not count: {}", ended.out);
        assert_eq!(found, decisions, "{first}; {then}: {ended:#?}");
        stage.verify();
    }
}

#[test]
fn conditions_that_hold_while_nothing_was_changed_are_a_completion_with_a_note() {
    for (capability, is_told) in [("EDIT", true), ("READ", false)] {
        let stage = Stage::repository();
        stage.workflow(
            "",
            &format!("worker: CUSTOM\ncapabilities: [{capability}]\ninstructions: 'true'\ncompletion_conditions: [git-clean]\nmax_iterations: 2"),
        );
        stage.git(&["add", "-A"]);
        stage.git(&["commit", "-qm", "the workflow"]);
        let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(0);
        assert_eq!(ended.out.contains("unchanged: nothing in the workspace"), is_told, "{ended:?}");
    }
}
