//! Clients at work: how each is called, what is read of what it prints, and how it may fail.

use std::os::unix::fs::PermissionsExt as _;

use serde_json::{Value, json};

use crate::stage::{Ended, Stage};

/// A check that passes once a worker has written the fix.
pub const CHECK: &str = "grep mended notes";

/// Sets up a repository with one client, which does in each call what the plan says.
pub fn with(client: &str, plan: &Value) -> Stage {
    Stage::repository().with_clients(&[client], plan)
}

/// A call that makes [`CHECK`] pass.
pub fn mends() -> Value {
    json!([{"write": {"path": "notes", "content": "mended\n"}}, {"say": "I mended it."}])
}

/// Runs until [`CHECK`] passes, with these options.
pub fn run(stage: &Stage, who: &str, options: &[&str]) -> Ended {
    let words = ["run", "mend it", "--check", CHECK, "--yes", "--with", who];
    stage.unstuck(&[&words[..], options].concat())
}

/// Returns what was read of each call.
pub fn readings(stage: &Stage) -> Vec<Value> {
    stage.facts("worker_finished").into_iter().map(|mut fact| fact["outcome"]["reading"].take()).collect()
}

/// Returns the words that a client was called with, but for names of conversations and folders.
fn argv(call: &Value) -> String {
    let words = call["argv"].as_array().expect("words").iter().map(|word| word.as_str().expect("a word"));
    let session = call["session"].as_str().expect("a name");
    words
        .map(|word| match word {
            _ if word == session => "SESSION",
            _ if word.starts_with('/') => "FILE",
            _ => word,
        })
        .collect::<Vec<_>>()
        .join(" ")
}

/// Plays two calls, of which the second does the work, and returns what there is to know of it.
fn plays(client: &str) -> String {
    let usage = json!({"usage": {"input": 100, "cached": 50, "output": 10}});
    let stage = with(
        client,
        &json!([
            [usage, {"cost": 0.1}, {"say": "I have only looked."}],
            [usage, {"cost": 0.2}, {"write": {"path": "notes", "content": "mended\n"}}, usage, {"cost": 0.1}, {"say": "I mended it."}],
        ]),
    );
    run(&stage, client, &["--model", "scripted/one"]).with_status(0);
    let (calls, finished, readings) =
        (stage.client_calls(), stage.facts("worker_finished"), readings(&stage));
    assert_eq!((calls.len(), finished.len()), (2, 2), "{client}");
    for call in &calls {
        assert!(
            call["prompt"].as_str().is_some_and(|prompt| prompt.contains("mend it")),
            "{client} knows its task: {call}"
        );
    }
    let second = calls[1]["prompt"].as_str().expect("a prompt");
    assert!(second.contains("I have only looked."), "{client} is told what it said: {second}");
    assert!(!second.contains("\"type\""), "{client} is not told how it said it: {second}");
    let reading = &readings[1];
    let number = |key: &str| reading["usage"][key].as_u64().expect("a number");
    let session = match reading["session"].as_str() {
        Some(name) if name == calls[1]["session"] => "its own session",
        Some(_) => "another session",
        None => "no session",
    };
    let cost = match reading["cost"]["micro_usd"].as_u64() {
        Some(cost) => format!("{cost} of the {}", reading["cost"]["scope"].as_str().expect("a word")),
        None => "-".to_owned(),
    };
    let (argv, answer) = (argv(&calls[1]), finished[1]["outcome"]["answer"].as_str().expect("an answer"));
    // Other output of Aider cannot be distinguished from its answer.
    let answer = answer.lines().last().unwrap_or_default().to_owned();
    let (input, cached, output) = (number("input"), number("cached"), number("output"));
    let scope = reading["usage"]["scope"].as_str().expect("a word");
    stage.verify();
    format!(
        "{argv}\n{answer}\n{session}, {input} {cached} {output} tokens of the {scope}, {cost} micro-dollars"
    )
}

#[test]
fn each_client_is_called_in_its_own_way_and_read_the_same() {
    const CLAUDE: &str = "-p --output-format stream-json --verbose --model scripted/one --dangerously-skip-permissions \
                          --session-id SESSION";
    const CODEX: &str = "exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -m scripted/one --dangerously-bypass-approvals-and-sandbox -";
    const GEMINI: &str =
        "--output-format stream-json --skip-trust -m scripted/one --approval-mode yolo --session-id SESSION";
    const QWEN: &str =
        "--output-format stream-json -m scripted/one --approval-mode yolo --session-id SESSION";
    const AIDER: &str = "--yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls \
                         --no-auto-commits --chat-history-file FILE --input-history-file FILE --message-file FILE --model scripted/one";
    const IN_FULL: &str = "its own session, 200 100 20 tokens of the call";
    for (client, argv, numbers, cost) in [
        ("claude", CLAUDE, IN_FULL, "300000 of the call"),
        ("codex", CODEX, "its own session, 200 100 20 tokens of the session", "-"),
        ("opencode", "run --format json -m scripted/one --auto", IN_FULL, "300000 of the call"),
        ("gemini", GEMINI, IN_FULL, "-"),
        ("qwen", QWEN, "its own session, 200 100 20 tokens of the session", "-"),
        ("pi", "-p --mode json --model scripted/one", IN_FULL, "300000 of the call"),
        (
            "goose",
            "run -i - --output-format stream-json -q --model scripted/one -n SESSION",
            "no session, 200 100 20 tokens of the session",
            "-",
        ),
        // It tells only what its last words took.
        ("aider", AIDER, "no session, 150 0 10 tokens of the call", "-"),
    ] {
        let expected = format!("{argv}\nI mended it.\n{numbers}, {cost} micro-dollars");
        assert_eq!(plays(client), expected, "{client}");
    }
}

/// How a run continues after a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum GoesOn {
    /// With another attempt of the same iteration.
    Retried,
    /// With the check, and another iteration.
    Checked,
}
use GoesOn::{Checked, Retried};

/// Plays a call that does not do its work and one that does, and returns what came of the first.
#[track_caller]
fn after(client: &str, first: &Value, expected: GoesOn) -> Value {
    let stage = with(client, &json!([first, mends()]));
    let rest = format!(
        "completion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 2\nidle_timeout: 1s\non_failure: retry\nmax_retries: 1"
    );
    stage.workflow(
        "",
        &format!(
            "worker: CLIENT\nclient: {client}\ninstructions: Mend it.\ncapabilities: [READ, EDIT]\n{rest}"
        ),
    );
    let ended = stage.unstuck(&["run", "flow.yaml", "--yes"]).with_status(0);
    let mut finished = stage.facts("worker_finished");
    let goes_on = if finished[1]["iteration"] == 1 { Retried } else { Checked };
    assert_eq!((goes_on, finished.len()), (expected, 2), "{client} {first}: {ended:#?}");
    stage.verify();
    stage.leaves_nothing_running();
    finished[0]["outcome"].take()
}

#[test]
fn call_without_reported_end_fails_with_any_exit_code() {
    let last = |line: &Value| json!([{"say": "Nearly."}, {"line": line.to_string()}, {"exit": 0}]);
    let api_error = json!({"message": "Unexpected end.", "statusCode": null});
    let error = json!({"type": "error", "sessionID": "s", "error": {"name": "APIError", "data": api_error}});
    for (client, first, trouble, goes_on) in [
        // It told what it used, so it worked. Its last line says subtype success, and is_error.
        ("claude", json!([{"say": "Nearly."}, {"end_error": "nothing came"}]), "unknown", Checked),
        ("claude", json!([{"say": "Nearly."}, {"end_max_turns": {}}]), "turn_limit", Checked),
        ("claude", json!([{"say": "Nearly."}, {"partial": "It is do"}, {"kill": 9}]), "crashed", Retried),
        ("claude", json!([{"say": "Nearly."}, {"partial": "It is do"}, {"end_none": {}}]), "no_end", Retried),
        ("claude", json!([]), "empty_answer", Checked),
        (
            "codex",
            last(&json!({"type": "turn.failed", "error": {"message": "it broke"}})),
            "unknown",
            Retried,
        ),
        ("opencode", last(&error), "unknown", Checked),
        ("gemini", json!([{"say": "Nearly."}, {"end_none": {}}]), "no_end", Retried),
        ("qwen", json!([{"say": "Nearly."}, {"end_max_turns": {}}]), "turn_limit", Checked),
        ("pi", json!([{"say": "Nearly."}, {"end_none": {}}]), "no_end", Checked),
        ("goose", json!([{"say": "Nearly."}, {"end_none": {}}]), "no_end", Retried),
        ("goose", json!([{"say": "Nearly."}, {"end_max_turns": {}}]), "turn_limit", Checked),
        ("goose", json!([{"say": "Nearly."}, {"end_error": "it broke"}]), "unknown", Retried),
        ("goose", json!([{"say": "Nearly."}, {"context_overflow": {}}]), "context_overflow", Retried),
    ] {
        let outcome = after(client, &first, goes_on);
        assert_eq!(outcome["reading"]["trouble"], trouble, "{client} {first}: {outcome:#}");
    }
}

#[test]
fn a_client_that_hangs_is_ended_when_it_is_silent_for_too_long() {
    let outcome = after("codex", &json!([{"say": "Nearly."}, {"hang": {}}]), Checked);
    assert_eq!(
        (&outcome["exit"], &outcome["reading"]["end"]),
        (&"idle".into(), &"stopped".into()),
        "{outcome:#}"
    );
}

#[test]
fn processes_left_by_a_client_are_killed_and_counted() {
    let first = json!([{"fork": {"seconds": 600, "holds_output": true}}, {"fork": {"seconds": 600}}, {"say": "Done."}]);
    for client in ["claude", "gemini"] {
        let outcome = after(client, &first, Checked);
        assert_eq!(
            (&outcome["processes_ended"], &outcome["answer"]),
            (&2.into(), &"Done.".into()),
            "{outcome:#}"
        );
    }
}

#[test]
fn s53_however_much_a_client_prints_the_memory_of_the_supervisor_is_bounded() {
    // A program that is not optimized has 30 MB more from its start.
    const PEAK_MAX_KB: u64 = if cfg!(debug_assertions) { 90_000 } else { 70_000 };
    // Nor is it fast.
    const BYTES: u64 = if cfg!(debug_assertions) { 40_000_000 } else { 200_000_000 };
    let flood = json!({"flood": {"bytes": BYTES, "line": 1_000_000}});
    let stage = with(
        "claude",
        &json!([[flood, {"write": {"path": "notes", "content": "mended\n"}}, {"say": "I mended it."}]]),
    );
    let check = format!("grep VmHWM /proc/$PPID/status >$SCRATCH/peak; {CHECK}");
    let words = ["run", "mend it", "--check", &check, "--yes", "--with", "claude", "--baseline", "off"];
    stage.unstuck(&words).with_status(0);
    let outcome = stage.facts("worker_finished")[0]["outcome"].take();
    assert!(outcome["stdout"]["size"].as_u64().is_some_and(|size| size > BYTES), "{outcome:#}");
    assert_eq!(outcome["answer"], "I mended it.");
    let peak = stage.noted("peak");
    let peak: u64 = peak.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number");
    assert!(peak < PEAK_MAX_KB, "{peak} kB");
}

#[test]
fn s52_a_client_gets_a_prompt_of_a_megabyte_whole() {
    let goal = format!("Mend it. {}", "All work and no play. ".repeat(46_000));
    let stage = with("codex", &json!([mends()]));
    stage.workflow("", &format!("worker: CODEX_CLI\ninstructions: {goal}\ncapabilities: [READ, EDIT]\ncompletion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 2"));
    stage.unstuck(&["run", "flow.yaml", "--yes"]).with_status(0);
    let call = &stage.client_calls()[0];
    assert!(
        call["stdin_bytes"].as_u64().is_some_and(|size| size >= goal.len() as u64),
        "{}",
        call["stdin_bytes"]
    );
    assert_eq!(
        argv(call),
        "exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -s workspace-write -"
    );
    stage.verify();
}

/// Makes a program of the workspace of a script.
fn program(stage: &Stage, name: &str, script: &str) -> String {
    stage.write(name, format!("#!/bin/sh\n{script}\n"));
    let path = stage.workspace().join(name);
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("the workspace is ours");
    path.display().to_string()
}

#[test]
fn custom_client_is_called_by_its_program_and_its_stderr_is_ignored() {
    let stage = with(
        "claude",
        &json!([[{"say": "I have only looked."}], [{"write": {"path": "notes", "content": "x"}}, {"decide": {"decision": "complete"}}, {"say": "Done."}]]),
    );
    let own = program(&stage, "agent.sh", "echo COMPLETE >&2\ntouch \"$SCRATCH/own\"\nexec claude \"$@\"");
    stage.write(".unstuck/workers.yaml", format!("workers:\n  at-work: {{like: claude, program: {own}}}\n"));
    stage.unstuck(&["workers", "at-work"]).with_status(0).says(&own);
    stage.unstuck(&["probe", "worker", "at-work"]).with_status(1).says("failed");
    let output = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"1","name":"B\u001b[2Ja\u0000sh\nend      done","input":{"command":"x"}}]}}
{"type":"result","subtype":"success","is_error":false,"result":"\u001b]0;owned\u0007I am\u001b[1;32m done\u001b[0m"}"#;
    std::fs::write(stage.scratch("output"), output).expect("the scratch folder is ours");
    let probed = stage.shell(&stage.workspace(), "unstuck debug worker claude <\"$SCRATCH/output\"");
    let shown = String::from_utf8(probed.stdout).expect("text");
    assert!(
        shown.contains("tool B␛[2Ja␀sh end      done") && shown.contains("␛]0;owned␇I am␛[1;32m done"),
        "{shown}"
    );
    assert!(!shown.contains(|c: char| c.is_control() && c != '\n'), "{shown:?}");
    stage.unstuck(&["probe", "worker", "at-wrok"]).with_status(64).complains("did you mean at-work?");
    stage
        .unstuck(&["run", "mend it", "--trust-worker", "--with", "at-work"])
        .with_status(64)
        .complains("agent.sh, as .unstuck/workers.yaml describes it)");
    stage.unstuck(&["run", "mend it", "--trust-worker", "--with", "at-work", "--yes"]).with_status(0);
    let verdicts: Vec<Value> = stage.verdicts().iter().map(|verdict| verdict["decision"].clone()).collect();
    assert_eq!(verdicts, ["none", "complete"]);
    assert!(stage.scratch("own").exists());
    let readings = readings(&stage);
    assert_eq!((&readings[0]["client"], readings.len()), (&"at-work".into(), 2));
    stage.verify();
}

#[test]
fn fallback_is_called_at_once_and_the_limit_is_shared() {
    let limited =
        json!([{"cost": 0.6}, {"say": "I begin."}, {"rate_limit": {"resets": crate::outage::limit()}}]);
    let looks = json!([{"cost": 0.6}, {"say": "I have only looked."}]);
    let plan = json!({"claude": [limited], "opencode": [looks]});
    let stage = Stage::repository().with_clients(&["claude", "opencode"], &plan);
    run(&stage, "claude,opencode", &["--max-usd", "1"]).with_status(2).says("OUT OF MONEY");
    let called: Vec<Value> = stage.client_calls().iter().map(|call| call["client"].clone()).collect();
    assert_eq!(called, ["claude", "opencode"]);
    let taken = stage.facts("fallback_taken");
    assert_eq!((taken.len(), &taken[0]["to"]), (1, &1.into()), "{taken:#?}");
    assert_eq!(stage.facts("wait_requested").len(), 0, "nobody waits");
    assert!(stage.facts("worker_started").iter().all(|fact| fact["iteration"] == 1));
    stage.verify();
}

/// Returns the value behind a word of a call.
fn behind<'a>(call: &'a Value, word: &str) -> Option<&'a str> {
    let words = call["argv"].as_array()?;
    let at = words.iter().position(|entry| entry == word)?;
    words[at + 1].as_str()
}

#[test]
fn conversation_is_resumed_only_in_the_same_run() {
    let looks = json!([{"say": "I have only looked."}]);
    let stage = with("claude", &json!([looks, looks, mends(), mends()]));
    run(&stage, "claude", &["--continue-session"]).with_status(0);
    std::fs::remove_file(stage.workspace().join("notes")).expect("it was written");
    run(&stage, "claude", &["--continue-session"]).with_status(0);
    let calls = stage.client_calls();
    let [first, second, third, other] = &calls[..] else { panic!("{calls:#?}") };
    let session = behind(first, "--session-id");
    for call in [second, third] {
        assert_eq!((behind(call, "--resume"), behind(call, "--session-id")), (session, None), "{call:#}");
    }
    assert_eq!(behind(other, "--resume"), None);
    assert!(behind(other, "--session-id").is_some_and(|id| Some(id) != session), "{other:#}");
    stage.verify();
}

#[test]
fn client_without_conversations_reports_keep_session_as_unsupported() {
    let stage = with("aider", &json!([mends()]));
    run(&stage, "aider", &["--continue-session"]).with_status(0).says("Aider cannot be told: to go on");
}

#[test]
fn a_client_that_can_do_everything_is_let_to_by_a_person_only() {
    let stage = with("claude", &json!([mends()]));
    let words = ["run", "mend it", "--check", CHECK, "--with", "claude"];
    let refused = stage.unstuck(&words).with_status(64);
    refused
        .complains("claude runs with --dangerously-skip-permissions")
        .complains("unstuck workers claude --trust");
    assert_eq!(stage.client_calls().len(), 0);
    stage.unstuck(&["workers", "claude", "--trust"]).with_status(0);
    stage.unstuck(&words).with_status(0);
    assert_eq!(stage.client_calls().len(), 1);
}

#[test]
fn a_client_is_never_run_without_what_wraps_it() {
    let stage = with("claude", &json!([mends()]));
    let words = ["run", "mend it", "--check", CHECK, "--with", "claude", "--wrap-checks=false", "--wrapper"];
    let by = |wrap: &str, more: &[&str]| stage.unstuck(&[&words[..], &[wrap], more].concat());
    by("no-such-container run", &["--yes"]).with_status(5).says("not set up");
    let failed = by("sh -c 'echo no daemon here >&2; exit 125'", &["--yes"]).with_status(5);
    failed.says("not set up").says("which runs it, exited with 125: no daemon here");
    assert_eq!(stage.client_calls().len(), 0);
    // A contained worker needs no acknowledgment. Not every wrapper contains the worker.
    by("env WRAPPED=yes", &[]).with_status(64).complains("nobody has said yet");
    let docker = program(&stage, "docker", "shift 2; exec \"$@\"");
    by(&format!("{docker} run image"), &[]).with_status(0);
    assert_eq!(stage.client_calls().len(), 1);
}

#[test]
fn a_prompt_that_is_too_long_for_an_argument_is_a_matter_of_the_setting() {
    let stage = Stage::repository();
    let own = program(&stage, "agent.sh", "echo called >>\"$SCRATCH/calls\"\necho mended >notes; echo Done.");
    let launch = "{args: [\"${prompt}\"], prompt: argument, read: {description: reads}, edit: {description: edits}, unrestricted: {description: works}}";
    let rules = "[{when: {line: never}, done: true}]";
    let client = format!("{{title: House, program: {own}, launch: {launch}, stream: text, rules: {rules}}}");
    stage.write(".unstuck/workers.yaml", format!("workers:\n  house: {client}\n"));
    let flow = |bytes: usize| {
        let step = format!(
            "worker: CLIENT\nclient: house\ncapabilities: [READ, EDIT]\ninstructions: {}\ncompletion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 2",
            "x".repeat(bytes)
        );
        stage.workflow("", &step);
        stage.unstuck(&["run", "flow.yaml", "--yes"])
    };
    let refused = flow(120_000).with_status(64);
    refused.complains("the prompt has 120000 bytes").complains("prompt: stdin");
    // The limit also applies to text that is added to the instructions, which is known only at the call.
    flow(100_000).with_status(5).says("FAILED").says("an argument takes at most 100000");
    assert_eq!(stage.calls(), 0);
    flow(50_000).with_status(0);
    assert_eq!(stage.calls(), 1);
    stage.verify();
}

#[test]
fn workers_are_described_in_toml_as_in_yaml() {
    let stage = Stage::repository();
    let own = program(&stage, "agent.sh", "cat >/dev/null; echo mended >notes; echo Done.");
    let described = format!(
        "[workers.house]\ntitle = 'House'\nprogram = '{own}'\nstream = 'text'\nrules = [{{when = {{line = 'never'}}, done = true}}]\n\
         [workers.house.launch]\nread = {{description = 'reads'}}\nedit = {{description = 'edits'}}\nunrestricted = {{description = 'works'}}\n"
    );
    stage.write(".unstuck/workers.toml", &described);
    run(&stage, "house", &[]).with_status(0);
    stage.unstuck(&["workers", "house"]).with_status(0).says("House");

    let run =
        |stage: &Stage| stage.unstuck(&["run", "mend it", "--check", CHECK, "--with", "house", "--yes"]);
    stage.write(".unstuck/workers.toml", described.replace("title", "titel"));
    run(&stage).with_status(64).complains(".unstuck/workers.toml:2:1: workers.house.titel: unknown key");
    stage.write(".unstuck/workers.toml", &described);
    stage.write(".unstuck/workers.yaml", "workers:\n  house: {like: claude}\n");
    run(&stage).with_status(64).complains("describes \"house\", as").complains("workers.toml does");
}

#[test]
fn described_worker_without_stated_rights_needs_acknowledgment() {
    let stage = Stage::repository();
    let own = program(&stage, "agent.sh", "echo called >>\"$SCRATCH/calls\"; echo mended >notes; echo Done.");
    let described = format!(
        "workers:\n  claude: {{title: Claude Code, program: {own}, stream: text, launch: {{args: [-p]}}, rules: [{{when: {{line: never}}, done: true}}]}}\n"
    );
    stage.write(".unstuck/workers.yaml", described);
    let words = ["run", "mend it", "--check", CHECK, "--with", "claude"];
    stage.unstuck(&words).with_status(64).complains("does not say what it may do").complains("--trust");
    assert_eq!(stage.calls(), 0);
    stage.unstuck(&[&words[..], &["--yes"]].concat()).with_status(0).says("does not say what it may do");
}

/// A description by which a repository names its own program.
const EVIL: &str = "{like: claude, program: ./evil.sh}";

#[test]
fn program_named_by_a_repository_is_not_started_for_its_version() {
    let stage = with("claude", &json!([mends()]));
    program(&stage, "evil.sh", "echo called >>\"$SCRATCH/calls\"; echo 6.6.6; exec claude \"$@\"");
    let house = "{title: House, program: ./evil.sh, stream: text, launch: {args: [work]}, rules: [{when: {line: never}, done: true}]}";
    stage.write(".unstuck/workers.yaml", format!("workers:\n  claude: {EVIL}\n  house: {house}\n"));
    let not_asked = "not asked: named by this repository";
    let listed = stage.unstuck(&["workers"]).with_status(0).says(not_asked).says("evil.sh");
    assert_eq!(listed.out.matches(not_asked).count(), 2, "{listed:#?}");
    stage.unstuck(&["workers", "claude"]).with_status(0).says(not_asked).says(".unstuck/workers.yaml");
    let told: Value =
        serde_json::from_str(&stage.unstuck(&["workers", "house", "--json"]).out).expect("JSON");
    assert_eq!(told["version"], json!({"not_asked": "named by this repository"}), "{told:#}");
    assert_eq!(
        (&told["program"], &told["described_in"]),
        (&"./evil.sh".into(), &".unstuck/workers.yaml".into())
    );
    assert_eq!(told["login"], json!({"state": "unknown"}));
    stage.unstuck(&["doctor"]);
    stage.unstuck(&["run", "mend it", "--check", CHECK]).with_status(64);
    assert_eq!(stage.calls(), 0, "nobody has agreed");
    stage.unstuck(&["workers", "claude", "--trust"]).with_status(0).says("6.6.6");
    assert_eq!(stage.calls(), 1);
    stage.unstuck(&["workers", "house"]).with_status(0).says(not_asked);
}

#[test]
fn program_named_by_the_user_is_started_for_its_version() {
    let stage = Stage::repository();
    let own = stage.scratch("own.sh").display().to_string();
    std::fs::write(&own, "#!/bin/sh\necho 7.7.7\n").expect("the scratch folder is ours");
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o755))
        .expect("the scratch folder is ours");
    let described = format!("workers:\n  mine: {{like: claude, program: {own}}}\n");
    let settings = stage.scratch("settings/unstuck");
    std::fs::create_dir_all(&settings).expect("the scratch folder is ours");
    std::fs::write(settings.join("workers.yaml"), &described).expect("the scratch folder is ours");
    let stage = {
        let settings = stage.scratch("settings").display().to_string();
        stage.with_variable("XDG_CONFIG_HOME", &settings)
    };
    stage.unstuck(&["workers", "mine"]).with_status(0).says("7.7.7").says("settings/unstuck/workers.yaml");
    stage.write(".unstuck/workers.yaml", described.replace("mine: {", "mine: {title: Mine, "));
    stage.unstuck(&["workers", "mine"]).with_status(0).says("not asked: named by this repository");
}

#[test]
fn the_program_that_a_file_describes_is_named_wherever_a_person_is_asked() {
    let stage = with("claude", &json!([mends(), mends(), mends()]));
    program(&stage, "evil.sh", "exec claude \"$@\"");
    stage.git(&["add", "-A"]);
    let who = "claude (./evil.sh, as .unstuck/workers.yaml describes it)";
    stage.write(".unstuck/workers.yaml", format!("workers:\n  claude: {EVIL}\n"));
    let words = ["run", "mend it", "--check", CHECK];
    stage
        .unstuck(&words)
        .with_status(64)
        .complains(&format!("worker: {who}"))
        .complains(&format!("{who} runs with"));
    let yes = stage.unstuck(&[&words[..], &["--yes"]].concat()).with_status(0);
    yes.says(&format!("worker   {who} runs with"));
    std::fs::remove_file(stage.workspace().join(".unstuck/workers.yaml")).expect("it was written");

    // A workflow, or one that it calls, can also describe a worker, even with the name of a built-in one.
    let step = format!(
        "worker: CLAUDE_CODE\ninstructions: Mend it.\ncapabilities: [READ, EDIT]\ncompletion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 2"
    );
    stage.workflow(&format!("workers: {{claude: {EVIL}}}\n"), &step);
    std::fs::rename(stage.workspace().join("flow.yaml"), stage.workspace().join("child.yaml"))
        .expect("it was written");
    stage
        .unstuck(&["run", "child.yaml"])
        .with_status(64)
        .complains("claude (./evil.sh, as child.yaml describes it)");
    stage.write(
        "flow.yaml",
        format!("name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  own:\n    {}\n  work:\n    workflow: ./child.yaml\n", step.replace('\n', "\n    ")),
    );
    let run = stage.unstuck(&["run", "flow.yaml", "--yes"]).with_status(0);
    run.says("worker   claude (./evil.sh, as ./child.yaml describes it)").says("worker   claude 2.1.330 ");
}

#[test]
fn s17_a_judge_has_the_last_word_and_changes_nothing() {
    let judges = |done: bool| {
        let item = json!({"id": "docs", "description": "The page is written", "completed": done, "evidence": "no page"});
        let answer = json!({"checklist": [item], "allComplete": done, "summary": "I looked."});
        json!([{"write": {"path": "meddled", "content": "x"}}, {"structured": answer.to_string()}])
    };
    let more = json!([{"shell": "echo more >>notes"}, {"say": "I wrote the page."}]);
    let plan = json!({"codex": [mends(), more], "claude": [judges(false), judges(true)]});
    let stage = Stage::repository().with_clients(&["claude", "codex"], &plan);
    run(&stage, "codex", &["--reviewer", "claude"]).with_status(0);
    let calls = stage.client_calls();
    let called: Vec<&Value> = calls.iter().map(|call| &call["client"]).collect();
    assert_eq!(called, ["codex", "claude", "codex", "claude"]);
    assert_eq!(behind(&calls[1], "--permission-mode"), Some("plan"));
    assert!(calls[2]["prompt"].as_str().is_some_and(|prompt| prompt.contains("The page is written")));
    assert!(!stage.workspace().join("meddled").exists());
    assert!(stage.verdicts().iter().all(|verdict| verdict["source"] == "closer"));
    stage.verify();
}

#[test]
fn s76_all_commands_find_the_same_workers() {
    let named = ["run", "mend it", "--check", "true", "--yes", "--with", "codex"];
    let first = ["run", "mend it", "--check", "true", "--yes"];
    let flow = |stage: &Stage| {
        let check = format!("completion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 2");
        stage.workflow(
            "",
            &format!("worker: CODEX_CLI\ninstructions: Mend it.\ncapabilities: [READ, EDIT]\n{check}"),
        );
    };
    // Only the programs of the system, and no worker.
    let stage = Stage::repository().with_variable("PATH", "/usr/bin:/bin");
    flow(&stage);
    stage.unstuck(&["doctor"]).says("no worker is installed that is known by name");
    stage.unstuck(&["workers", "codex"]).with_status(0).says("not installed");
    stage.unstuck(&["check", "flow.yaml"]).with_status(0).complains("Codex CLI is not installed");
    stage.unstuck(&["run", "flow.yaml"]).with_status(64).complains("Codex CLI is not installed");
    stage.unstuck(&named).with_status(64).complains("Codex CLI is not installed");
    stage.unstuck(&first).with_status(64).complains("no worker is installed that is known by name");

    let stage = with("codex", &json!([mends()]));
    flow(&stage);
    stage.unstuck(&["doctor"]).says("codex works where none is named");
    let shown = stage.unstuck(&["workers", "codex"]).with_status(0).says("codex-cli 0.169.0");
    assert!(!shown.out.contains("not installed"), "{shown:#?}");
    let checked = stage.unstuck(&["check", "flow.yaml"]).with_status(0);
    assert!(!checked.err.contains("not installed"), "{checked:#?}");
    let words = ["run", "mend it", "--check", CHECK, "--yes"];
    let run = stage.unstuck(&words).with_status(0);
    run.complains("worker: codex (the first that is installed").says("  worker   codex 0.169.0 ");
}

#[test]
fn an_output_that_counts_passed_tests_alone_is_probed_as_one_that_passed() {
    let stage = Stage::repository();
    let probe = |text: &str, more: &[&str]| {
        stage.write("out.txt", text);
        stage.unstuck(&[&["probe", "failures", "--stdout", "out.txt"], more].concat()).with_status(0)
    };
    let green = "collected 3 items\n\ntest_a.py ...\n\n====== 3 passed in 0.02s ======\n";
    probe(green, &[]).says("no failures");
    probe(green, &["--exit-code", "1"]).says("1 failure");
    probe("Something is amiss\n", &[]).says("1 failure");
}

#[test]
fn unreadable_line_of_a_batch_does_not_affect_the_others() {
    let stage = Stage::repository();
    stage.write("out.txt", "3 passed in 0.02s\n");
    let lines = [
        r#"{"id": "first", "exit_code": 0, "stdout": "out.txt"}"#,
        "no request",
        r#"{"id": "gone", "exit_code": 1, "stdout": "gone.txt"}"#,
        r#"{"id": "last", "exit_code": 1, "stdout": "out.txt"}"#,
    ];
    stage.write("batch.jsonl", lines.join("\n"));
    let ended = stage.shell(&stage.workspace(), "unstuck debug failures --batch <batch.jsonl");
    let answers: Vec<Value> = String::from_utf8_lossy(&ended.stdout)
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect();
    let ids: Vec<Option<&str>> = answers.iter().map(|answer| answer["id"].as_str()).collect();
    assert_eq!(ids, [Some("first"), None, None, Some("last")], "{answers:?}");
    assert_eq!((&answers[1]["line"], &answers[2]["line"]), (&json!(2), &json!(3)), "{answers:?}");
    assert!(answers[2]["error"].as_str().is_some_and(|error| error.contains("gone.txt")), "{answers:?}");
    assert_eq!(ended.status.code(), Some(64));
}

#[test]
fn stuck_run_is_resumed_with_another_worker() {
    let idle = json!([{"say": "I see nothing to do."}]);
    let stage = Stage::repository()
        .with_clients(&["claude", "codex"], &json!([idle, idle, idle, idle, idle, idle, mends()]));
    let stuck = run(&stage, "claude", &["--max-iterations", "6"]);
    stuck.with_status(3).says("STUCK").says("--with codex");
    stage
        .unstuck(&["resume", "--with", "codx"])
        .with_status(64)
        .complains("no program codx")
        .complains("did you mean codex?");
    stage.unstuck(&["resume", "--with", "codex"]).with_status(64).complains("--yes");
    assert_eq!(stage.events().iter().filter(|event| event["event"]["type"] == "run_resumed").count(), 0);
    let ended = stage.unstuck(&["resume", "--with", "codex", "--yes", "--add-iterations", "1"]);
    ended.with_status(0).says("note      codex works now");
    stage.unstuck(&["report", "--md"]).with_status(0).says("codex works now");
    let who: Vec<Value> = readings(&stage).iter().map(|reading| reading["client"].clone()).collect();
    assert_eq!(who.last(), Some(&json!("codex")), "{who:?}");
    let calls = stage.client_calls();
    let prompt = calls.last().expect("a call")["prompt"].as_str().expect("a prompt").to_owned();
    assert!(
        prompt.contains("mend it") && prompt.contains("I see nothing to do."),
        "it knows what was tried: {prompt}"
    );
    stage.unstuck(&["replay"]).with_status(0);
    stage.verify();
}

#[test]
fn resume_with_another_worker_is_refused_for_a_script() {
    let stage = Stage::repository().with_clients(&["codex"], &json!([]));
    stage.workflow("", "worker: CUSTOM\ninstructions: exit 1\ncapabilities: [READ]");
    stage.unstuck(&["run", "flow.yaml"]).with_status(5);
    stage.unstuck(&["resume", "--with", "codex", "--yes"]).with_status(64).complains("no step of this run");
}
