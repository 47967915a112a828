//! The real clients, called by the real binary, work with a model on this machine that answers by a script.
//!
//! They run where `UNSTUCK_TEST_REAL_WORKERS=1` is set and the client is installed; docs/workers.md says how.

use std::path::Path;

use serde_json::{Value, json};

use crate::model_stub::{Fault, Tokens, Turn};
use crate::real_clients::RealClient;
use crate::stage::{Ended, Stage, wait_until};

const MENDED: &str = "add() { echo $(( $1 + $2 )); }\n";
const MEND: &str = "sed 's/ - / + /' src/add.sh >mended && mv mended src/add.sh";

/// The work is done when the test passes.
const CHECK: &str =
    "completion_check: {worker: CUSTOM, instructions: 'sh tests/run.sh || exit 1', capabilities: [READ]}\n";

/// Tokens of each answer in tests that count tokens.
const COUNTED: Tokens = Tokens { input: 1000, cached: 200, output: 30 };

macro_rules! clients {
    ($($client:ident),*) => {
        $(mod $client {
            const NAME: &str = stringify!($client);

            #[test]
            fn mends_a_file() {
                super::mends_a_file(NAME);
            }

            #[test]
            fn is_not_called_again_and_again_with_a_bad_key() {
                super::is_not_called_again_and_again_with_a_bad_key(NAME);
            }

            #[test]
            fn waits_for_a_limit_to_pass() {
                super::waits_for_a_limit_to_pass(NAME);
            }

            #[test]
            fn goes_on_after_a_crash() {
                super::goes_on_after_a_crash(NAME);
            }

            #[test]
            fn resumes_its_conversation() {
                super::resumes_its_conversation(NAME);
            }

            #[test]
            fn answers_in_the_form_that_is_asked_for() {
                super::answers_in_the_form_that_is_asked_for(NAME);
            }

            #[test]
            fn gets_over_a_connection_that_breaks() {
                super::gets_over_a_connection_that_breaks(NAME);
            }

            #[test]
            fn gets_over_an_overload() {
                super::gets_over_an_overload(NAME);
            }

            #[test]
            fn does_what_its_rights_allow() {
                super::does_what_its_rights_allow(NAME);
            }

            #[test]
            fn leaves_nothing_running() {
                super::leaves_nothing_running(NAME);
            }
        })*
    };
}

clients!(claude, codex, opencode, gemini, qwen, pi, goose);

#[test]
fn codex_thinks_as_hard_as_it_is_asked_to() {
    let Some(real) = RealClient::new("codex", |_| mend("codex")) else { return };
    // It tells its service so of models only that it knows.
    real.stage.workflow(
        "",
        &format!(
            "worker: CLIENT\nclient: codex\nmodel: gpt-5.1-codex\nvariant: high\ninstructions: Make tests/run.sh pass.\n\
             capabilities: [READ, EDIT, RUN_COMMANDS]\nmax_iterations: 3\n{CHECK}"
        ),
    );
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    assert_eq!(real.stub.asked()[0]["reasoning"]["effort"], "high");
}

/// Those that have a key in the environment, and need nothing else of the configuration of their user.
mod isolated {
    #[test]
    fn claude_is_kept_from_what_its_user_told_it() {
        super::is_kept_from_what_its_user_told_it("claude", "CLAUDE.md");
    }

    #[test]
    fn goose_is_kept_from_what_its_user_told_it() {
        super::is_kept_from_what_its_user_told_it("goose", "config/.goosehints");
    }

    #[test]
    fn qwen_is_kept_from_what_its_user_told_it() {
        super::is_kept_from_what_its_user_told_it("qwen", "QWEN.md");
    }
}

/// It has neither tools nor conversations: its edits are words.
mod aider {
    const NAME: &str = "aider";

    #[test]
    fn mends_a_file_by_words() {
        super::mends_a_file_by_words(NAME);
    }

    #[test]
    fn is_not_called_again_and_again_with_a_bad_key() {
        super::is_not_called_again_and_again_with_a_bad_key(NAME);
    }

    #[test]
    fn waits_for_a_limit_to_pass() {
        super::waits_for_a_limit_to_pass(NAME);
    }

    #[test]
    fn goes_on_after_a_crash() {
        super::goes_on_after_a_crash(NAME);
    }

    #[test]
    fn gets_over_an_overload() {
        super::gets_over_an_overload(NAME);
    }
}

fn mends_a_file(client: &'static str) {
    let script = |workspace: &Path| {
        let file = workspace.join("src/add.sh").display().to_string();
        let turns = [Turn::read(&file), Turn::write(&file, MENDED), Turn::say("Mended.")];
        turns.map(|turn| turn.counting(COUNTED)).into()
    };
    let Some(real) = RealClient::new(client, script) else { return };
    real.workflow("", CHECK);
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    assert_eq!(real.stage.git(&["diff", "--stat"]).lines().count(), 2, "one file is changed");
    let readings = readings(&real);
    let reading = &readings[0];
    assert_eq!((readings.len(), &reading["end"]), (1, &json!("done")), "{reading:#}");
    assert_eq!(reading["counts"]["tools"], 2, "{reading:#}");
    counts(reading, 3);
    costs(client, reading, 3);
    real.stage.verify();
}

fn mends_a_file_by_words(client: &'static str) {
    let Some(real) = RealClient::new(client, |_| mend(client)) else { return };
    real.workflow("", CHECK);
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    let readings = readings(&real);
    assert_eq!((readings.len(), &readings[0]["end"]), (1, &json!("done")), "{readings:#?}");
    assert_eq!(readings[0]["files"], json!(["src/add.sh"]), "{readings:#?}");
    real.stage.verify();
}

/// Returns the answers of a model that fixes the file.
fn mend(client: &str) -> Vec<Turn> {
    match client {
        // It asks again once it has taken the file that is named into the conversation.
        "aider" => vec![Turn::say(&format!("Mended.\n\nsrc/add.sh\n```\n{MENDED}```\n")); 2],
        _ => vec![Turn::run(MEND), Turn::say("Mended.")],
    }
}

/// Returns a fault, and then the answers that fix the file.
fn mend_behind(client: &str, fault: Fault) -> Vec<Turn> {
    [vec![Turn::fail(fault)], mend(client)].concat()
}

fn is_not_called_again_and_again_with_a_bad_key(client: &'static str) {
    let refused = Fault::Status { status: 401, retry_after: None };
    let Some(real) = RealClient::new(client, |_| vec![Turn::fail(refused)]) else { return };
    real.workflow("", CHECK);
    let login =
        unstuck_workers::all().find(|worker| worker.name == client).expect("a client of ours").login.clone();
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(4).says("BLOCKED").says(&login);
    let readings = readings(&real);
    assert_eq!((readings.len(), &readings[0]["trouble"]), (1, &json!("auth")), "{readings:#?}");
}

fn waits_for_a_limit_to_pass(client: &'static str) {
    let limited = Fault::Status { status: 429, retry_after: Some(1) };
    let Some(real) = RealClient::new(client, |_| mend_behind(client, limited)) else { return };
    real.workflow("", CHECK);
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    assert_eq!(real.stage.verdict()["iteration"], 1);
}

fn goes_on_after_a_crash(client: &'static str) {
    let Some(real) = RealClient::new(client, |_| mend_behind(client, Fault::Silence)) else { return };
    real.workflow("", CHECK);
    let live = real.stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("the client has asked", || real.stub.asked().len() == 1);
    live.crash();
    run(&real, &["resume"]).with_status(0);
    assert_eq!(real.stage.verdict()["iteration"], 1);
    assert_eq!(real.stub.asked().len(), 1 + mend(client).len());
    real.stage.leaves_nothing_running();
    real.stage.verify();
}

fn resumes_its_conversation(client: &'static str) {
    let turns = ["I looked around.", MEND, "Mended."];
    let script = vec![Turn::say(turns[0]), Turn::run(turns[1]), Turn::say(turns[2])];
    let script = script.into_iter().map(|turn| turn.counting(COUNTED)).collect();
    let Some(real) = RealClient::new(client, |_| script) else { return };
    real.workflow("", &format!("{CHECK}session: continue\n"));
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    let calls = real.stage.facts("worker_started");
    let continues: Vec<&Value> = calls.iter().map(|call| &call["call"]["continues"]).collect();
    assert_eq!(continues, [false, true]);
    assert!(real.stub.asked()[1].to_string().contains(turns[0]), "what was said before is known");
    let readings = readings(&real);
    assert_eq!(readings[0]["session"], readings[1]["session"]);
    counts(&readings[0], 1);
    // A count for the full conversation is larger.
    counts(&readings[1], if readings[1]["usage"]["scope"] == "session" { 3 } else { 2 });
}

/// Checks that a client sends the global instructions of the user, unless it is isolated.
fn is_kept_from_what_its_user_told_it(client: &'static str, file: &str) {
    const TOLD: &str = "The magic word is xyzzy.";
    for is_isolated in [false, true] {
        let Some(real) = RealClient::new(client, |_| mend(client)) else { return };
        let home = real.stage.scratch("client");
        std::fs::create_dir_all(&home).expect("the folder is ours");
        std::fs::write(home.join(file), TOLD).expect("the folder is ours");
        real.workflow("", &format!("{CHECK}isolated: {is_isolated}\n"));
        run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
        let asked: Vec<String> = real.stub.asked().iter().map(Value::to_string).collect();
        assert_eq!(
            asked.iter().any(|request| request.contains(TOLD)),
            !is_isolated,
            "{client}, {is_isolated}"
        );
    }
}

fn answers_in_the_form_that_is_asked_for(client: &'static str) {
    let answer = json!({"status": "completed"});
    let script = vec![Turn::run(MEND), Turn::value(answer.clone())];
    let Some(real) = RealClient::new(client, |_| script) else { return };
    registry(&real.stage);
    real.workflow("steps_registry: .agent/fixer/steps_registry.json\n", "registry_step: issue");
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    let finished = real.stage.facts("worker_finished");
    let seen = &finished[0]["answer"];
    let value: Value = serde_json::from_str(seen["value"].as_str().unwrap_or_default()).unwrap_or_default();
    assert_eq!((finished.len(), value), (1, answer), "{:#}", finished[0]);
    // The client accepts no schema, and its text is not taken for a value.
    let from =
        if matches!(client, "gemini" | "goose") { json!({"message": 1}) } else { json!("structured_output") };
    assert_eq!(seen["from"], from, "{:#}", finished[0]);
}

fn gets_over_a_connection_that_breaks(client: &'static str) {
    let Some(real) = RealClient::new(client, |_| mend_behind(client, Fault::Cut)) else { return };
    real.workflow("", CHECK);
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    assert_eq!(real.stage.verdict()["iteration"], 1, "what the network does is no iteration");
}

fn gets_over_an_overload(client: &'static str) {
    let overloaded = Fault::Status { status: 503, retry_after: None };
    let Some(real) = RealClient::new(client, |_| mend_behind(client, overloaded)) else { return };
    real.workflow("", CHECK);
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
    assert_eq!(real.stage.verdict()["iteration"], 1, "what the service does is no iteration");
}

fn leaves_nothing_running(client: &'static str) {
    let command = format!("(setsid sleep 600 >/dev/null 2>&1 &); {MEND}");
    let Some(real) = RealClient::new(client, |_| vec![Turn::run(&command), Turn::say("Mended.")]) else {
        return;
    };
    real.workflow("", CHECK);
    run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
}

/// Checks which acts a client carries out with each set of rights. Each act creates a file with its name.
fn does_what_its_rights_allow(client: &'static str) {
    const RIGHTS: [&str; 4] =
        ["READ", "READ, EDIT", "READ, EDIT, RUN_TESTS", "READ, EDIT, RUN_TESTS, RUN_COMMANDS"];
    let done = |rights: &str| {
        let script = |workspace: &Path| {
            let written = workspace.join("written").display().to_string();
            let commands = ["touch touched", "make test", "sh -c 'touch ran'"].map(Turn::run);
            [[Turn::write(&written, "x\n")].as_slice(), &commands, &[Turn::say("Done.")]].concat()
        };
        let real = RealClient::new(client, script)?;
        real.stage.write("Makefile", "test:\n\ttouch tested\n");
        real.workflow_with(rights, "", "completion_check: {commands: [\"true\"]}");
        run(&real, &["run", "flow.yaml", "--yes"]).with_status(0);
        let there = |file: &&str| real.stage.workspace().join(file).exists();
        Some(["written", "touched", "tested", "ran"].into_iter().filter(there).collect::<Vec<_>>().join(" "))
    };
    let Some(seen) = RIGHTS.iter().map(|rights| done(rights)).collect::<Option<Vec<String>>>() else {
        return;
    };
    let all = "written touched tested ran";
    let expected = match client {
        // Commands for files are edits to it.
        "claude" => ["", "written touched", "written touched tested", all],
        "codex" => ["", all, all, all],
        "gemini" => ["", "written", "written tested", all],
        // Nothing keeps it from anything, as it says.
        "goose" => [all; 4],
        // Its plan agent has no tool for edits.
        "opencode" => ["touched tested ran", all, all, all],
        _ => ["", "written", "written", all],
    };
    assert_eq!(seen, expected);
}

/// Writes a registry whose step asks for an answer with a status.
fn registry(stage: &Stage) {
    let form = json!({"file": "issue.schema.json", "schema": "answer"});
    let registry = json!({
        "agentId": "fixer",
        "completionPatterns": {"red": {"description": "Tests fail", "edition": "failed", "adaptation": "red"}},
        "validators": {"tests-pass": {
            "type": "command", "command": "sh tests/run.sh", "successWhen": "exitCode:0", "failurePattern": "red",
        }},
        "steps": {"initial.issue": {"c2": "initial", "c3": "issue", "outputSchemaRef": form}},
        "completionSteps": {"complete.issue": {
            "c2": "retry", "c3": "issue", "completionConditions": [{"validator": "tests-pass"}], "outputSchemaRef": form,
        }},
    });
    let schema = json!({"$defs": {"answer": {
        "type": "object",
        "required": ["status"],
        "properties": {"status": {"enum": ["in_progress", "completed"]}},
    }}});
    let files = [
        ("steps_registry.json", registry.to_string()),
        ("schemas/issue.schema.json", schema.to_string()),
        ("prompts/steps/initial/issue/f_default.md", "Make tests/run.sh pass.\n".to_owned()),
        ("prompts/steps/retry/issue/f_failed_red.md", "It still fails.\n".to_owned()),
    ];
    for (name, text) in files {
        stage.write(&format!(".agent/fixer/{name}"), text);
    }
}

/// Runs to the end, and lets nothing run on.
fn run(real: &RealClient, arguments: &[&str]) -> Ended {
    let ended = real.stage.unstuck(arguments);
    real.stage.leaves_nothing_running();
    ended
}

fn readings(real: &RealClient) -> Vec<Value> {
    let finished = real.stage.facts("worker_finished").into_iter();
    finished.map(|mut event| event["outcome"]["reading"].take()).collect()
}

/// Checks that so many answers were counted.
#[track_caller]
fn counts(reading: &Value, answers: u64) {
    let usage = &reading["usage"];
    let counted =
        [&usage["input"], &usage["cached"], &usage["output"]].map(|count| count.as_u64().unwrap_or_default());
    let each = [COUNTED.input, COUNTED.cached, COUNTED.output];
    assert_eq!(counted, each.map(|tokens| tokens * answers), "{reading:#}");
}

/// Checks what so many answers cost.
#[track_caller]
fn costs(client: &str, reading: &Value, answers: u64) {
    let told = reading["cost"]["micro_usd"].as_u64();
    let expected = match client {
        // Claude Code has a built-in price list.
        "claude" => return assert!(told > Some(0), "{reading:#}"),
        "opencode" | "pi" => Some((1000 + 20 + 300) * answers),
        _ => None,
    };
    assert_eq!(told, expected, "{reading:#}");
}
