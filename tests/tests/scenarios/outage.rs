//! Rate limits, outages, and problems that only a person can fix: S25, S26, S41 to S44.

use std::fs;
use std::sync::LazyLock;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::clients::{CHECK, mends, run, with};
use crate::stage::{Ended, Live, Stage, claims, kind, wait_until};

const HOUR: u64 = 3_600_000;

/// Has a run try at once what it waits for, each time it waits, and returns its end.
fn kick(stage: &Stage, live: Live, waits: usize) -> Ended {
    for wait in 1..=waits {
        let said = |live: &Live| live.so_far().split_whitespace().collect::<Vec<_>>().join(" ");
        wait_until("it waits", || said(&live).matches("unstuck retry").count() >= wait);
        stage.unstuck(&["kick"]).with_status(0).says("tries now");
    }
    live.wait()
}

/// Returns for each wait when it began and until when it was to last.
fn waits(stage: &Stage) -> Vec<(u64, u64)> {
    let events = stage.events();
    let waits = events.iter().filter(|event| kind(event) == "wait_requested");
    waits
        .map(|event| {
            (event["at"].as_u64().expect("a moment"), event["event"]["until"].as_u64().expect("a moment"))
        })
        .collect()
}

/// Checks that a run waited once, until the moment of [`limit`], and was complete in its first iteration.
#[track_caller]
fn waited_for_the_limit(stage: &Stage, who: &str) {
    let waits = waits(stage);
    let [(at, until)] = waits[..] else { panic!("{who}: {waits:?}") };
    let in_seoul = (until + 9 * HOUR) % (24 * HOUR);
    assert!(until > at && in_seoul / HOUR == *RESETS && in_seoul % HOUR < 10_000, "{who}: {until}");
    assert_eq!(stage.verdict()["iteration"], 1, "{who}");
    stage.verify();
}

/// The hour in Seoul at which a limit ends: always four to five hours ahead, since Unstuck does not wait for a time
/// that has just passed. Seoul has no daylight saving time.
static RESETS: LazyLock<u64> = LazyLock::new(|| {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    (now / 3600 + 5 + 9) % 24
});

/// Returns a limit with the moment at which it ends, in the words of each client: `1pm (Asia/Seoul)`.
pub fn limit() -> String {
    let (hour, half) = (*RESETS % 12, if *RESETS < 12 { "am" } else { "pm" });
    format!("{}{half} (Asia/Seoul)", if hour == 0 { 12 } else { hour })
}

fn flow(stage: &Stage, worker: &str) {
    let step = format!(
        "{worker}\ninstructions: Mend it.\ncompletion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 3"
    );
    stage.workflow("max_outage_wait: 25h\n", &step);
}

#[test]
fn s41_a_limit_is_waited_for_until_the_moment_that_it_names() {
    let stage = Stage::repository();
    stage.write(
        "worker.sh",
        format!(
            "if [ -e $SCRATCH/calls ]; then echo mended >notes; else echo call >$SCRATCH/calls; echo \"You've hit your \
             limit · resets {}\"; fi",
            limit()
        ),
    );
    flow(&stage, "worker: COMMAND\ncommand: sh worker.sh");
    let live = stage.start(&["run", "flow.yaml"]);
    kick(&stage, live, 1).with_status(0);
    waited_for_the_limit(&stage, "a command");
}

#[test]
fn s41_so_is_the_limit_of_each_client() {
    for client in ["claude", "codex", "opencode", "gemini", "qwen", "pi", "goose"] {
        let stage = with(client, &json!([[{"rate_limit": {"resets": limit()}}], mends()]));
        flow(&stage, &format!("worker: CLIENT\nclient: {client}\ncapabilities: [READ, EDIT]"));
        let live = stage.start(&["run", "flow.yaml", "--yes"]);
        kick(&stage, live, 1).with_status(0);
        waited_for_the_limit(&stage, client);
    }
}

#[test]
fn s41_kick_resumes_a_waiting_run_whose_supervisor_died() {
    let stage = with("claude", &json!([[{"rate_limit": {"resets": limit()}}], mends()]));
    flow(&stage, "worker: CLAUDE_CODE\ncapabilities: [READ, EDIT]");
    let live = stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("it waits", || live.so_far().contains("waits for a service"));
    live.crash();
    stage.unstuck(&["kick"]).with_status(0).says("COMPLETE");
    waited_for_the_limit(&stage, "claude");
    stage.unstuck(&["kick"]).with_status(64).complains("does not wait for anything");
}

#[test]
fn a_kick_that_comes_too_late_does_not_end_the_next_wait() {
    let stage = with("claude", &json!([[{"rate_limit": {"resets": limit()}}], mends()]));
    flow(&stage, "worker: CLAUDE_CODE\ncapabilities: [READ, EDIT]");
    let live = stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("it waits", || live.so_far().contains("waits for a service"));
    // The kick was sent for the first event of the run, long before this wait.
    let mirror = stage.kept().into_iter().find(|path| path.ends_with("events.jsonl")).expect("a mirror");
    let sign = mirror.with_file_name("artifacts").join("kick");
    fs::write(&sign, "1").expect("the folder is ours");
    wait_until("the sign is taken", || !sign.exists());
    stage.unstuck(&["show"]).with_status(0);
    assert_eq!(stage.facts("kicked").len(), 0);
    kick(&stage, live, 1).with_status(0);
    assert_eq!(stage.facts("kicked").len(), 1);
}

#[test]
fn s41_kick_resumes_a_waiting_run_that_was_interrupted() {
    let stage = with("claude", &json!([[{"rate_limit": {"resets": limit()}}], mends()]));
    flow(&stage, "worker: CLAUDE_CODE\ncapabilities: [READ, EDIT]");
    let live = stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("it waits", || live.so_far().contains("waits for a service"));
    live.signal(Signal::SIGINT);
    live.wait().with_status(130);
    stage.unstuck(&["kick"]).with_status(0).says("COMPLETE");
    waited_for_the_limit(&stage, "claude");
}

#[test]
fn s41_a_kick_of_a_run_that_was_ended_while_it_worked_names_the_resume() {
    let stage = with("claude", &json!([[{"hang": {}}]]));
    flow(&stage, "worker: CLAUDE_CODE\ncapabilities: [READ, EDIT]");
    let live = stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("it works", || !stage.client_calls().is_empty());
    live.signal(Signal::SIGTERM);
    live.wait().with_status(143);
    let refused = stage.unstuck(&["kick"]).with_status(64);
    refused.complains("does not wait for anything").complains("unstuck resume");
}

#[test]
fn s41_a_resume_says_until_when_the_run_still_waits() {
    let stage = with("claude", &json!([[{"rate_limit": {"resets": limit()}}], mends()]));
    flow(&stage, "worker: CLAUDE_CODE\ncapabilities: [READ, EDIT]");
    let live = stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("it waits", || live.so_far().contains("waits for a service"));
    live.crash();
    let live = stage.start(&["resume"]);
    wait_until("it says so", || live.so_far().contains("still waits"));
    let ended = kick(&stage, live, 1).with_status(0);
    ended.says(&limit()).says("· until");
    waited_for_the_limit(&stage, "claude");
}

#[test]
fn s41_who_takes_a_run_over_does_not_wait_for_the_limit_of_the_one_before() {
    let plan = json!([[{"rate_limit": {"resets": limit()}}], mends()]);
    let stage = Stage::repository().with_clients(&["claude", "codex"], &plan);
    flow(&stage, "worker: CLAUDE_CODE\ncapabilities: [READ, EDIT]");
    let live = stage.start(&["run", "flow.yaml", "--yes"]);
    wait_until("it waits", || live.so_far().contains("waits for a service"));
    live.signal(Signal::SIGINT);
    live.wait().with_status(130);
    stage.unstuck(&["resume", "--with", "codex", "--yes"]).with_status(0).says("COMPLETE");
    assert_eq!(stage.client_calls().len(), 2);
    stage.verify();
}

/// A moment that is later than [`limit`], whenever it is read.
const LATER: &str = "tomorrow at 11pm (UTC)";

#[test]
fn s41_run_with_all_fallbacks_limited_waits_for_the_first_free_one() {
    let soon = &*limit();
    for (claude, codex, awaited) in [(soon, soon, 0), (soon, LATER, 0), (LATER, soon, 1)] {
        let limited = |resets: &str| json!([{"rate_limit": {"resets": resets}}]);
        let plan = json!({"claude": [limited(claude), limited(claude)], "codex": [limited(codex), mends()]});
        let stage = Stage::repository().with_clients(&["claude", "codex"], &plan);
        flow(&stage, "worker: CLAUDE_CODE\nfallback: [codex]\ncapabilities: [READ, EDIT]");
        let live = stage.start(&["run", "flow.yaml", "--yes"]);
        kick(&stage, live, 1).with_status(0);
        let events = stage.events();
        let before = events.iter().take_while(|event| kind(event) != "wait_requested");
        let taken: Vec<Value> = before
            .filter(|event| kind(event) == "fallback_taken")
            .map(|event| event["event"]["to"].clone())
            .collect();
        assert_eq!(taken.last().and_then(Value::as_u64), Some(awaited), "{taken:?}");
        // The kick has both tried, and none waited for.
        let called: Vec<Value> = stage.client_calls().iter().map(|call| call["client"].clone()).collect();
        assert_eq!(called, ["claude", "codex", "claude", "codex"]);
        waited_for_the_limit(&stage, ["claude", "codex"][usize::try_from(awaited).expect("a place")]);
    }
}

#[test]
fn s42_outages_are_waited_for_ever_longer_and_cost_no_iteration() {
    let overloaded = json!([{"overloaded": {}}]);
    let plan = json!([overloaded, overloaded, overloaded, [{"network_error": {}}], mends()]);
    let stage = with("claude", &plan);
    let words = ["run", "mend it", "--check", CHECK, "--yes", "--with", "claude", "--max-iterations", "1"];
    let live = stage.start(&words);
    kick(&stage, live, 4).with_status(0);
    let pauses: Vec<u64> = waits(&stage).iter().map(|(at, until)| until - at).collect();
    for (pause, least) in pauses.iter().zip([2_000, 4_000, 8_000, 16_000]) {
        assert!((least..=least * 6 / 5).contains(pause), "{pauses:?}");
    }
    assert_eq!((pauses.len(), stage.facts("kicked").len()), (4, 4));
    assert_eq!(stage.verdict()["iteration"], 1);
    stage.verify();
}

#[test]
fn s42_a_client_that_only_tries_again_until_it_is_ended_for_idleness_waited_for_its_service() {
    for (client, fault, why) in
        [("codex", "network_error", "retryable_network"), ("claude", "server_error", "retryable_service")]
    {
        let tries = json!({fault: {"retries": 3, "pause_ms": 10, "recovers": true}});
        let stage = with(client, &json!([[tries, {"hang": {}}], mends()]));
        let rest =
            format!("completion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 2\nidle_timeout: 1s");
        stage.workflow(
            "",
            &format!(
                "worker: CLIENT\nclient: {client}\ninstructions: Mend it.\ncapabilities: [READ, EDIT]\n{rest}"
            ),
        );
        // The wait is two seconds, so the run needs no kick.
        stage.unstuck(&["run", "flow.yaml", "--yes"]).with_status(0);
        let waits = stage.facts("wait_requested");
        assert_eq!((waits.len(), &waits[0]["why"]["weather"]), (1, &why.into()), "{client}: {waits:#?}");
        assert_eq!(stage.facts("worker_finished")[0]["outcome"]["exit"], "idle", "{client}");
        assert_eq!(stage.verdict()["iteration"], 1, "{client}");
        stage.verify();
    }
}

#[test]
fn s42_a_service_that_is_not_waited_for_is_asked_once() {
    for (top, fault, why) in [
        ("on_outage: fail\n", json!({"overloaded": {}}), "on_outage: fail"),
        (
            "max_outage_wait: 1s\n",
            json!({"rate_limit": {"resets": limit()}}),
            "is longer than the outage budget of 1 s",
        ),
    ] {
        let stage = with("claude", &json!([[fault], mends()]));
        stage.workflow(
            top,
            &format!("worker: CLAUDE_CODE\ninstructions: Mend it.\ncapabilities: [READ, EDIT]\ncompletion_check: {{commands: [\"{CHECK}\"]}}\nmax_iterations: 3\non_failure: retry\nmax_retries: 3"),
        );
        stage.unstuck(&["run", "flow.yaml", "--yes"]).with_status(5).says("it is not waited for").says(why);
        assert_eq!(stage.client_calls().len(), 1, "{top}");
        stage.verify();
    }
}

#[test]
fn s43_problem_only_a_person_can_fix_ends_the_run_with_instructions() {
    let auth = json!([[{"say": "I begin."}, {"auth_error": {}}]]);
    let credit = json!([[{"credit": {}}]]);
    for (client, plan, says) in [
        ("claude", &auth, "run claude and type /login"),
        ("claude", &credit, "add credit to the account"),
        ("codex", &auth, "run codex login"),
        ("opencode", &auth, "run opencode auth login"),
        ("gemini", &auth, "run gemini and choose how to sign in"),
        ("qwen", &auth, "set OPENAI_API_KEY"),
        ("pi", &auth, "run pi and type /login"),
        ("goose", &auth, "run goose configure"),
        ("aider", &auth, "set the key of the provider"),
        ("codex", &credit, "add credit to the account"),
        ("opencode", &credit, "add credit to the account"),
        ("gemini", &credit, "raise the quota of the account"),
        ("qwen", &credit, "add credit to the account"),
        ("pi", &credit, "add credit to the account"),
        ("goose", &credit, "add credit to the account"),
        ("aider", &credit, "add credit to the account"),
    ] {
        let stage = with(client, plan);
        let begun = Instant::now();
        run(&stage, client, &[]).with_status(4).says("BLOCKED").says(says);
        assert!(begun.elapsed().as_secs() < 15, "{client}");
        assert_eq!(stage.client_calls().len(), 1, "{client}");
    }
    let stage = Stage::repository();
    let worker = "echo 'API Error: 401 invalid x-api-key' >&2; exit 1";
    run(&stage, worker, &[]).with_status(4).says("BLOCKED").says("invalid x-api-key");
    stage.verify();
}

#[test]
fn s44_a_worker_that_talks_about_limits_has_none() {
    let talk = "We hit a rate limit in the API design: 429 Too Many Requests is now answered with a retry.";
    let stage = Stage::repository();
    run(&stage, &format!("echo mended >notes; echo '{talk}'"), &[]).with_status(0);
    assert_eq!(waits(&stage), []);
    let stage =
        with("claude", &json!([[{"write": {"path": "notes", "content": "mended\n"}}, {"say": talk}]]));
    run(&stage, "claude", &[]).with_status(0);
    assert_eq!(waits(&stage), []);
}

#[test]
fn s44_a_worker_that_did_its_work_and_ends_with_the_words_of_an_outage_has_none() {
    let limit = "You have hit your limit · resets 1pm (Asia/Seoul)";
    for work in [
        "echo mended >notes; echo 'I fixed the message. It was:'; echo 'API Error: 529 overloaded_error'",
        "echo mended >notes; echo 'API Error: 429 rate_limit_error, retrying (1/5)' >&2",
        &format!("echo mended >notes; echo '{limit}'"),
    ] {
        let stage = Stage::repository();
        run(&stage, work, &[]).with_status(0);
        assert_eq!((waits(&stage), stage.facts("worker_finished").len()), (vec![], 1), "{work}");
    }
    let stage = Stage::repository();
    let decides = format!("echo '{{\"decision\":\"complete\"}}' >\"$UNSTUCK_DECISION_FILE\"; echo '{limit}'");
    stage.write("worker.sh", decides);
    stage.workflow("", "worker: COMMAND\ncommand: sh worker.sh\ninstructions: Look.\ncompletion_check: {self_report: true}\nmax_iterations: 2");
    stage.unstuck(&["run", "flow.yaml"]).with_status(0);
    assert_eq!(waits(&stage), []);
    stage.verify();
}

/// A worker whose verdict is this, as long as there is no file `go`.
fn says(stage: &Stage, verdict: &Value, rest: &str) {
    let verdict = verdict.to_string();
    stage.write(
        "worker.sh",
        format!("cat >/dev/null; echo call >>$SCRATCH/calls; echo x >>notes; if [ -e $SCRATCH/go ]; then echo '{{\"decision\":\"complete\"}}'; else echo '{verdict}'; fi >\"$UNSTUCK_DECISION_FILE\""),
    );
    stage.workflow("", &format!("worker: COMMAND\ncommand: sh worker.sh\ninstructions: Deploy.\ncompletion_check: {{self_report: true}}\nmax_iterations: 2\n{rest}"));
}

#[test]
fn s25_an_external_job_is_asked_for_again_and_has_a_deadline() {
    let stage = Stage::repository();
    says(&stage, &json!({"decision": "waiting", "retry_after": "1s"}), "timeout: 1m");
    let live = stage.start(&["run", "flow.yaml"]);
    // A call is counted as it begins: the third shows that two have said that they wait.
    wait_until("it asks for the third time", || stage.calls() >= 3);
    crate::stage::tell(&stage.scratch("go"));
    live.wait().with_status(0);
    let verdicts = stage.verdicts();
    assert!(verdicts.len() >= 3 && verdicts.iter().all(|verdict| verdict["iteration"] == 1), "{verdicts:#?}");
    stage.verify();

    let later = SystemTime::now() + std::time::Duration::from_secs(600);
    let later = later.duration_since(UNIX_EPOCH).expect("it is after 1970").as_secs();
    for pause in [json!({"retry_after": "10m"}), json!({"until": later}), json!({"until": later.to_string()})]
    {
        let stage = Stage::repository();
        let mut verdict = json!({"decision": "waiting"});
        verdict.as_object_mut().expect("an object").extend(pause.as_object().expect("an object").clone());
        says(&stage, &verdict, "timeout: 1m");
        stage.unstuck(&["run", "flow.yaml"]).with_status(2);
        assert_eq!(stage.calls(), 1, "{pause}");
        stage.verify();
    }
}

#[test]
fn s26_a_worker_that_needs_a_person_blocks_the_run_and_says_what_it_needs() {
    let stage = Stage::repository();
    says(&stage, &json!({"decision": "blocked", "needs": "a login for the registry"}), "");
    let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(4).says("a login for the registry");
    assert!(ended.last_lines().contains("unstuck answer"), "{ended:?}");
    assert_eq!(stage.calls(), 1);
    stage.verify();
}

#[test]
fn s26_a_judge_that_asked_gets_the_answer() {
    let stage = Stage::repository();
    let asks = "unstuck verdict blocked --needs \\\"which color\\\"";
    let judge = format!(
        "cat >judge.told; if grep -q blue judge.told; then unstuck verdict complete; else {asks}; fi"
    );
    let keys = "worker: COMMAND\ncommand: \"date +%N >work.txt\"\ninstructions: paint it\ncapabilities: [EDIT, RUN_COMMANDS]\nmax_iterations: 3\n\
         completion_check:\n  worker: COMMAND\n  command: ";
    stage.workflow(
        "",
        &format!("{keys}\"{judge}\"\n  instructions: judge it\n  decision_file: v.json\n  capabilities: [READ, RUN_COMMANDS]\n"),
    );
    stage.unstuck(&["run", "flow.yaml"]).with_status(4).says("which color");
    stage.unstuck(&["answer", "@last", "it is blue"]).with_status(0);
    stage.verify();
}

#[test]
fn s26_several_blocked_steps_get_separate_answers() {
    let stage = Stage::repository();
    let step = |id: &str| {
        let asks = format!("touch {id}.asked; unstuck verdict blocked --needs \"the key of {id}\"");
        let work = format!(
            "'cat > {id}.told; if test -e {id}.asked; then unstuck verdict complete; else {asks}; fi'"
        );
        claims(&work, "max_iterations: 4")
            .lines()
            .fold(format!("  {id}:\n"), |step, line| format!("{step}    {line}\n"))
    };
    let head = "name: keys\nversion: \"1\"\ntimeout: 5m\nconcurrency: 2\nsteps:\n";
    stage.write("flow.yaml", format!("{head}{}{}", step("a"), step("b")));
    let ended = stage.unstuck(&["run", "flow.yaml"]).with_status(4);
    for (id, needs) in [("a", "the key of a"), ("b", "the key of b")] {
        let row = format!("--step {id} \"done\"");
        assert!(
            ended.last_lines().lines().any(|line| line.contains(&row) && line.ends_with(needs)),
            "{ended:?}"
        );
    }
    let told = |id: &str| fs::read_to_string(stage.workspace().join(format!("{id}.told"))).expect("a prompt");
    let unclear = stage.unstuck(&["answer", "@last", "it is blue"]).with_status(64);
    assert!(
        unclear.err.contains("2 steps wait for an answer") && unclear.err.contains("--step a"),
        "{unclear:?}"
    );
    stage.unstuck(&["answer", "@last", "it is blue", "--step", "c"]).with_status(64).complains("no step c");
    let ended = stage.unstuck(&["answer", "@last", "it is blue", "--step", "a"]).with_status(4);
    assert!(ended.last_lines().contains("the key of b"), "{ended:?}");
    assert!(told("a").contains("it is blue") && !told("b").contains("blue"));
    stage
        .unstuck(&["answer", "@last", "x", "--step", "a"])
        .with_status(64)
        .complains("does not wait for an answer");
    stage.unstuck(&["answer", "@last", "it is red"]).with_status(0);
    assert!(told("b").contains("it is red") && !told("a").contains("red"));
    stage.verify();
}
