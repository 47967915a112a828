//! Spending limits of a run: S37, S38.

use std::fs::File;
use std::io::Read as _;
use std::sync::{Arc, Mutex};
use std::thread;

use serde_json::{Value, json};

use crate::clients::{CHECK, mends, readings, run, with};
use crate::stage::{Stage, wait_until};

/// A call that costs so many dollars and gets nowhere.
fn costs(dollars: f64) -> Value {
    json!([{"cost": dollars}, {"say": "I have only looked."}])
}

#[test]
fn s37_run_out_of_money_stops_and_is_resumed_with_more() {
    let stage = with("claude", &json!([costs(0.6), costs(0.6), mends()]));
    let ended = run(&stage, "claude", &["--max-usd", "1"]).with_status(2).says("OUT OF MONEY");
    assert!(ended.last_lines().contains("--add-usd"), "{ended:?}");
    assert_eq!(stage.client_calls().len(), 2);
    assert_eq!(stage.facts("run_ended")[0]["outcome"], "spend_limit");
    stage.unstuck(&["resume"]).with_status(64).complains("--add-usd");
    // `resume` accepts the same options as `run` in a script.
    stage.unstuck(&["resume", "--add-usd", "1", "--yes"]).with_status(0);
    let calls = stage.client_calls();
    assert_eq!(calls.len(), 3);
    // The client also gets the remaining budget as its own limit.
    let bounds: Vec<&str> = calls.iter().filter_map(bound).collect();
    assert_eq!(bounds, ["1", "0.4", "0.8"]);
    stage.verify();
}

/// Returns what a call of Claude Code may cost.
fn bound(call: &Value) -> Option<&str> {
    let words = call["argv"].as_array()?;
    let at = words.iter().position(|word| word == "--max-budget-usd")?;
    words[at + 1].as_str()
}

#[test]
fn s37_a_call_that_tells_what_it_costs_while_it_runs_is_ended_at_the_bound() {
    for (client, option, most) in [
        ("opencode", "--max-usd", "1"),
        ("pi", "--max-tokens", "2000"),
        ("claude", "--max-tokens", "2000"),
        ("qwen", "--max-tokens", "2000"),
    ] {
        let turn = json!({"shell": "true"});
        let stage = with(client, &json!([[{"cost": 0.6}, turn, {"cost": 0.6}, turn, {"hang": {}}]]));
        run(&stage, client, &[option, most]).with_status(2).says("OUT OF MONEY");
        let outcome = stage.facts("worker_finished")[0]["outcome"].take();
        assert_eq!(outcome["exit"], "stopped", "{client}: {outcome:#}");
        stage.leaves_nothing_running();
        stage.verify();
    }
}

#[test]
fn s37_spending_is_shown_during_a_run_and_after_a_kill() {
    let turn = json!({"shell": "true"});
    for (client, plan, shown) in [
        ("opencode", json!([[{"cost": 0.6}, turn, {"cost": 0.6}, turn, {"hang": {}}]]), "$1.20"),
        ("claude", json!([[{"hang": {}}]]), "cost unknown"),
    ] {
        let stage = with(client, &plan).with_variable("TERM", "xterm");
        let words = ["run", "mend it", "--check", CHECK, "--yes", "--with", client];
        let (live, terminal) = stage.start_on_terminal(&words);
        let seen = Arc::new(Mutex::new(String::new()));
        let reader = thread::spawn({
            let seen = Arc::clone(&seen);
            move || {
                let (mut terminal, mut bytes) = (File::from(terminal), [0; 4096]);
                while let Ok(count @ 1..) = terminal.read(&mut bytes) {
                    seen.lock().expect("nobody panics").push_str(&String::from_utf8_lossy(&bytes[..count]));
                }
            }
        });
        let is_seen = || seen.lock().expect("nobody panics").contains(&format!("({shown}"));
        wait_until("the live line tells what was spent", is_seen);
        thread::sleep(std::time::Duration::from_millis(1100));
        let runs = stage.unstuck(&["runs"]).with_status(0).says("RUNNING").says(shown);
        assert!(!runs.out.contains("0.0 s"), "{runs:#?}");
        for words in [&[][..], &["show"]] {
            stage.unstuck(words).with_status(0).says(shown);
        }
        live.crash();
        reader.join().expect("nobody panics");
        for words in [&["runs"][..], &[], &["show"]] {
            stage.unstuck(words).with_status(0).says("INTERRUPTED").says(shown);
        }
    }
}

#[test]
fn s37_what_a_conversation_has_counted_before_is_not_counted_again() {
    let thousand = json!([
        {"usage": {"input": 900, "output": 100}}, {"shell": "echo more >>log"}, {"usage": {}}, {"say": "I go on."}
    ]);
    let stage = with("codex", &json!([thousand, thousand, thousand]));
    run(&stage, "codex", &["--continue-session", "--max-tokens", "2500"]).with_status(2).says("OUT OF MONEY");
    let told: Vec<u64> =
        readings(&stage).iter().filter_map(|reading| reading["usage"]["input"].as_u64()).collect();
    assert_eq!(told, [900, 1800, 2700], "it counts the conversation");
    stage.verify();
}

/// Writes `parent.yaml`, whose step `first` is a child run in which a client works.
fn parent(stage: &Stage, top_of_child: &str, more_steps: &str) {
    let check = "{worker: CUSTOM, instructions: test -e notes, capabilities: [READ]}";
    stage.workflow(
        top_of_child,
        &format!("worker: CLAUDE_CODE\ninstructions: Mend it.\ncapabilities: [READ, EDIT]\nmax_iterations: 9\ncompletion_check: {check}"),
    );
    let head = "name: parent\nversion: \"1\"\ntimeout: 5m\nsteps:\n  first: {workflow: flow.yaml}\n";
    stage.write("parent.yaml", format!("{head}{more_steps}"));
}

#[test]
fn s37_child_runs_spend_what_their_parent_has_left() {
    let mends = |dollars: f64| json!([{"cost": dollars}, {"write": {"path": "notes", "content": "mended\n"}}, {"say": "I mended it."}]);
    let stage = with("claude", &json!([costs(0.6), costs(0.6), mends(0.3), mends(0.2)]));
    parent(&stage, "", "  second: {workflow: flow.yaml, depends_on: [first]}\n");
    let run = ["run", "parent.yaml", "--yes", "--max-usd", "1"];
    stage.unstuck(&run).with_status(2).says("OUT OF MONEY").says("cost $1.20 (reported)");
    stage.unstuck(&["resume"]).with_status(64).complains("--add-usd");
    stage.unstuck(&["resume", "--add-usd", "1"]).with_status(0).says("cost $1.70 (reported)");
    let calls = stage.client_calls();
    let bounds: Vec<&str> =
        calls.iter().filter_map(bound).map(|amount| amount.get(..4).unwrap_or(amount)).collect();
    assert_eq!(bounds, ["1", "0.4", "0.8", "0.49"]);
    let told = stage.facts("worker_finished");
    let children = told.iter().map(|fact| &fact["outcome"]["exit"]["child"]);
    let cents =
        children.map(|child| child["spent"]["reported"]["micro_usd"].as_u64().map(|amount| amount / 10_000));
    assert_eq!(cents.collect::<Vec<_>>(), [Some(120), Some(150), Some(20)]);
    stage.unstuck(&["report"]).with_status(0).says("cost $1.70 (reported)");
    stage.verify();
}

#[test]
fn s37_limit_of_a_child_run_is_raised_with_the_limit_of_its_parent() {
    for (top, more, cost) in
        [("max_usd: 1\n", "--add-usd", "1"), ("max_tokens: 1000\n", "--add-tokens", "9000")]
    {
        let looks =
            json!([{"cost": 0.6}, {"usage": {"input": 500, "output": 100}}, {"say": "I have only looked."}]);
        let stage = with("claude", &json!([looks, looks, mends()]));
        parent(&stage, top, "");
        stage.unstuck(&["run", "parent.yaml", "--yes"]).with_status(2).says("OUT OF MONEY");
        assert_eq!(stage.client_calls().len(), 2, "{top}");
        stage.unstuck(&["resume"]).with_status(2);
        assert_eq!(stage.client_calls().len(), 2, "{top}");
        stage.unstuck(&["resume", more, cost]).with_status(0);
        stage.verify();
    }
}

#[test]
fn s38_unenforceable_limit_is_refused_or_acknowledged() {
    let stage = Stage::repository();
    let run = ["run", "mend it", "--check", CHECK, "--with", "echo mended >notes", "--max-usd", "1"];
    stage
        .unstuck(&run)
        .with_status(64)
        .complains("do not tell what they spend")
        .complains("--accept-unknown-cost");
    assert!(!stage.workspace().join("notes").exists());
    stage.unstuck(&[&run[..], &["--accept-unknown-cost"]].concat()).with_status(0).says("cost unknown");
    stage.unstuck(&["report"]).with_status(0).says("cost unknown");
    stage.verify();
}

#[test]
fn s38_prices_make_money_of_the_tokens_of_a_client_that_tells_no_cost() {
    let usage = json!({"usage": {"input": 1_000_000, "cached": 1_000_000, "output": 100_000}});
    let stage = with("codex", &json!([[usage, {"say": "I have only looked."}]]));
    run(&stage, "codex", &["--max-usd", "5"]).with_status(64).complains("do not tell what they spend");
    stage.write(
        ".unstuck/prices.yaml",
        "prices:\n  - {model: \"*\", input: 3, cached: 0.3, cache_write: 3.75, output: 15}\n",
    );
    run(&stage, "codex", &["--max-usd", "4", "--model", "scripted"])
        .with_status(2)
        .says("cost $4.80 (derived from prices)");
    stage.unstuck(&["report"]).with_status(0).says("cost $4.80 (derived from prices)").says("00:00 $4.80");
    assert_eq!(readings(&stage)[0]["cost"], Value::Null);
    stage.verify();
}

/// Puts a program that only prints these lines in the place of a client.
#[cfg(unix)]
fn prints(stage: &Stage, client: &str, lines: &[String]) {
    use std::os::unix::fs::PermissionsExt as _;
    let lines: String = lines.iter().map(|line| format!("echo '{line}'\n")).collect();
    stage.write("fake.sh", format!("#!/bin/sh\ncat >/dev/null\n{lines}"));
    let program = stage.workspace().join("fake.sh");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let own = format!("workers: {{{client}: {{like: {client}, program: {}}}}}\n", program.display());
    stage.write(".unstuck/workers.yaml", &own);
}

#[cfg(unix)]
#[test]
fn s37_conversations_that_begin_under_the_same_name_are_counted_whole() {
    let stage = Stage::repository();
    let told = r#"{"type":"result","subtype":"success","is_error":false,"session_id":"s","total_cost_usd":0.6,"result":"I have only looked."}"#;
    prints(&stage, "claude", &[told.to_owned()]);
    run(&stage, "claude", &["--max-usd", "1"]).with_status(2).says("OUT OF MONEY");
    assert_eq!(stage.facts("worker_finished").len(), 2);
    stage.verify();
}

#[cfg(unix)]
#[test]
fn s37_a_total_that_goes_down_within_a_call_takes_nothing_back() {
    let stage = Stage::repository();
    let told = |usd: &str| {
        format!(
            r#"{{"type":"result","subtype":"success","is_error":false,"session_id":"s","total_cost_usd":{usd},"usage":{{"input_tokens":7000,"output_tokens":400}},"result":"I have only looked."}}"#
        )
    };
    prints(&stage, "claude", &[told("0.9"), told("0.2")]);
    run(&stage, "claude", &["--max-usd", "1"])
        .with_status(2)
        .says("OUT OF MONEY")
        .says("$1.10 · 7.4k tokens")
        .says("cost $1.10 (reported), 7.4k tokens");
    assert_eq!(stage.facts("worker_finished").len(), 1);
    stage.unstuck(&["report"]).says("$1.10  7.4k");
    stage.verify();
}

/// A price file for one model.
const ONE_PRICE: &str =
    "prices:\n  - {model: \"priced-*\", input: 3, cached: 0.3, cache_write: 3.75, output: 15}\n";

#[test]
fn s38_a_model_without_a_price_is_refused_or_ends_the_run_after_its_first_call() {
    let usage = json!({"usage": {"input": 1000, "output": 100}});
    let looks = json!([usage, {"say": "I have only looked."}]);
    let stage = with("codex", &json!([looks, looks, mends()]));
    stage.write(".unstuck/prices.yaml", ONE_PRICE);
    run(&stage, "codex", &["--max-usd", "5", "--model", "other"])
        .with_status(64)
        .complains(".unstuck/prices.yaml has no price for these models: step work: other (codex)")
        .complains("--accept-unknown-cost");
    assert_eq!(stage.client_calls().len(), 0);
    run(&stage, "codex", &["--max-usd", "5"])
        .with_status(2)
        .says("nobody knows what was spent: a model without a name has no price")
        .says("--accept-unknown-cost");
    assert_eq!(stage.client_calls().len(), 1);
    stage.unstuck(&["resume", "--add-usd", "5"]).with_status(64).complains("--accept-unknown-cost");
    stage.unstuck(&["resume", "--accept-unknown-cost"]).with_status(0);
    assert_eq!(stage.client_calls().len(), 3);
    stage.verify();
}

#[cfg(unix)]
#[test]
fn s38_a_call_that_tells_no_tokens_ends_a_run_that_is_bound_by_them() {
    let stage = with("codex", &json!([]));
    let told = [
        json!({"type": "thread.started", "thread_id": "0199"}),
        json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": "I have looked."}}),
        json!({"type": "turn.completed", "usage": null}),
    ];
    prints(&stage, "codex", &told.map(|line| line.to_string()));
    run(&stage, "codex", &["--max-tokens", "1000"])
        .with_status(2)
        .says("nobody knows what was used: codex told no tokens of a call that was done")
        .says("--accept-unknown-cost");
    assert_eq!(stage.facts("worker_finished").len(), 1);
    stage.verify();
}

#[cfg(unix)]
#[test]
fn s38_calls_that_break_off_in_their_work_without_a_number_are_three_at_most() {
    let stage = with("codex", &json!([]));
    let told = [
        json!({"type": "thread.started", "thread_id": "0199"}),
        json!({"type": "item.started", "item": {"id": "i", "type": "command_execution", "command": "ls",
            "aggregated_output": "", "exit_code": null, "status": "in_progress"}}),
    ];
    prints(&stage, "codex", &told.map(|line| line.to_string()));
    let script = std::fs::read_to_string(stage.workspace().join("fake.sh")).expect("it was written");
    stage.write("fake.sh", script + "echo more >>work.txt\n");
    run(&stage, "codex", &["--max-tokens", "1000"])
        .with_status(2)
        .says("nobody knows what was spent: 3 calls broke off in their work and told no number")
        .says("--accept-unknown-cost");
    assert_eq!(stage.facts("worker_finished").len(), 3);
    stage.unstuck(&["resume", "--add-tokens", "500"]).with_status(64).complains("--accept-unknown-cost");
    stage.verify();
}

#[test]
fn s38_a_cost_that_may_stay_unknown_ends_nothing() {
    for options in [&["--max-usd", "5", "--accept-unknown-cost"][..], &[]] {
        let stage =
            with("codex", &json!([[{"usage": {"input": 9, "output": 9}}, {"say": "I look."}], mends()]));
        stage.write(".unstuck/prices.yaml", ONE_PRICE);
        run(&stage, "codex", options).with_status(0);
        assert_eq!(stage.client_calls().len(), 2, "{options:?}");
    }
}
