//! How calls are started: the command line of a request for each client, compared to another tool.

use expect_test::{Expect, expect};
use unstuck_core::workflow::Capability::{self, Edit, Read, RunCommands, RunTests};
use unstuck_workers::launch::{self, CallPlan, CallRequest, CallSession, LaunchError};

const REQUEST: CallRequest<'_> = CallRequest {
    prompt: "Do the thing\nline 2",
    folder: "/calls/1",
    model: None,
    variant: None,
    capabilities: &[Read],
    turns: None,
    micro_usd: None,
    session: CallSession::New(None),
    schema: None,
    extra: &[],
    isolated: false,
};

fn plan(client: &str, request: &CallRequest<'_>) -> CallPlan {
    let client = unstuck_workers::find(client).unwrap();
    launch::plan(&client.program, &client.launch, request).unwrap()
}

/// Compares the command lines of a request for each client, with the features that the client does not have.
fn check(request: &CallRequest<'_>, expected: Expect) {
    let line = |name| {
        let plan = plan(name, request);
        let unmet: Vec<&str> = plan.unmet.iter().map(|feature| feature.as_str()).collect();
        let unmet = if unmet.is_empty() { String::new() } else { format!("   not: {}", unmet.join(", ")) };
        format!("{}{unmet}\n", plan.argv.join(" "))
    };
    expected.assert_eq(&unstuck_workers::names().map(line).collect::<String>());
}

#[test]
fn capabilities_become_what_a_client_may_do() {
    let with = |capabilities| CallRequest { capabilities, ..REQUEST };
    check(
        &with(&[]),
        expect![[r#"
            claude -p --output-format stream-json --verbose --permission-mode plan
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -s read-only -
            opencode run --format json --agent plan
            gemini --output-format stream-json --skip-trust --approval-mode plan
            qwen --output-format stream-json --approval-mode plan
            pi -p --mode json --tools read,grep,find,ls
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md --dry-run
            goose run -i - --output-format stream-json -q
        "#]],
    );
    check(
        &with(&[Read, Edit]),
        expect![[r#"
            claude -p --output-format stream-json --verbose --permission-mode acceptEdits
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -s workspace-write -
            opencode run --format json
            gemini --output-format stream-json --skip-trust --approval-mode auto_edit
            qwen --output-format stream-json --approval-mode auto-edit
            pi -p --mode json --tools read,grep,find,ls,edit,write
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md
            goose run -i - --output-format stream-json -q
        "#]],
    );
    check(
        &with(&[Read, Edit, RunTests]),
        expect![[r#"
            claude -p --output-format stream-json --verbose --permission-mode acceptEdits --allowedTools Bash(npm test:*),Bash(bun test:*),Bash(jest:*),Bash(pytest:*),Bash(cargo test:*),Bash(go test:*),Bash(make test:*)
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -s workspace-write -
            opencode run --format json
            gemini --output-format stream-json --skip-trust --approval-mode auto_edit --allowed-tools run_shell_command(npm test),run_shell_command(bun test),run_shell_command(jest),run_shell_command(pytest),run_shell_command(cargo test),run_shell_command(go test),run_shell_command(make test)
            qwen --output-format stream-json --approval-mode auto-edit
            pi -p --mode json --tools read,grep,find,ls,edit,write
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md
            goose run -i - --output-format stream-json -q
        "#]],
    );
    check(
        &with(&[Read, Edit, RunTests, RunCommands]),
        expect![[r#"
            claude -p --output-format stream-json --verbose --dangerously-skip-permissions
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false --dangerously-bypass-approvals-and-sandbox -
            opencode run --format json --auto
            gemini --output-format stream-json --skip-trust --approval-mode yolo
            qwen --output-format stream-json --approval-mode yolo
            pi -p --mode json
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md
            goose run -i - --output-format stream-json -q
        "#]],
    );
}

#[test]
fn text_of_permissions_includes_tests() {
    let words =
        |client: &str, capabilities| unstuck_workers::find(client).unwrap().launch.words(capabilities);
    for (client, capabilities, expected) in [
        (
            "claude",
            &[Read, Edit][..],
            "may edit in the workspace, and run no commands but those for files (touch, mv, rm and the like)",
        ),
        (
            "claude",
            &[Read, Edit, RunTests],
            "may edit in the workspace, and run no commands but those for files (touch, mv, rm and the like); but may run tests",
        ),
        ("gemini", &[Read, Edit, RunTests], "may edit, and run no commands; but may run tests"),
        ("qwen", &[Read, Edit, RunTests], "may edit, and run no commands"),
        (
            "claude",
            &[Read, Edit, RunTests, RunCommands],
            "runs with --dangerously-skip-permissions and can do anything that you can",
        ),
    ] {
        assert_eq!(words(client, capabilities), expected, "{client} {capabilities:?}");
    }
}

#[test]
fn requested_feature_is_passed_on_or_reported_as_unmet() {
    let all: &[Capability] = &[Edit, RunCommands];
    let asked = CallRequest {
        model: Some("m1"),
        variant: Some("xhigh"),
        turns: Some(30),
        micro_usd: Some(2_500_000),
        schema: Some("{}"),
        capabilities: all,
        ..REQUEST
    };
    check(
        &asked,
        expect![[r#"
            claude -p --output-format stream-json --verbose --model m1 --max-turns 30 --max-budget-usd 2.5 --dangerously-skip-permissions --json-schema {}   not: a variant of the model
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false -m m1 -c model_reasoning_effort="xhigh" --dangerously-bypass-approvals-and-sandbox --output-schema /calls/1/schema.json -   not: a bound of turns, a bound of money
            opencode run --format json -m m1 --variant high --auto   not: a bound of turns, a bound of money, a schema of the answer
            gemini --output-format stream-json --skip-trust -m m1 --approval-mode yolo   not: a variant of the model, a bound of turns, a bound of money, a schema of the answer
            qwen --output-format stream-json -m m1 --max-session-turns 30 --approval-mode yolo --json-schema {}   not: a variant of the model, a bound of money
            pi -p --mode json --model m1   not: a variant of the model, a bound of turns, a bound of money, a schema of the answer
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md --model m1   not: a variant of the model, a bound of turns, a bound of money, a schema of the answer
            goose run -i - --output-format stream-json -q --model m1 --max-turns 30   not: a variant of the model, a bound of money, a schema of the answer
        "#]],
    );
    check(
        &CallRequest { session: CallSession::New(Some("U")), capabilities: all, ..REQUEST },
        expect![[r#"
            claude -p --output-format stream-json --verbose --dangerously-skip-permissions --session-id U
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false --dangerously-bypass-approvals-and-sandbox -
            opencode run --format json --auto
            gemini --output-format stream-json --skip-trust --approval-mode yolo --session-id U
            qwen --output-format stream-json --approval-mode yolo --session-id U
            pi -p --mode json
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md
            goose run -i - --output-format stream-json -q -n U
        "#]],
    );
    check(
        &CallRequest { session: CallSession::Continued("S"), capabilities: all, ..REQUEST },
        expect![[r#"
            claude -p --output-format stream-json --verbose --dangerously-skip-permissions --resume S
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false --dangerously-bypass-approvals-and-sandbox resume S -
            opencode run --format json --auto --session S
            gemini --output-format stream-json --skip-trust --approval-mode yolo --resume S
            qwen --output-format stream-json --approval-mode yolo --resume S
            pi -p --mode json --session S
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md   not: to go on with a conversation
            goose run -i - --output-format stream-json -q -r -n S
        "#]],
    );
    let extra = ["--x".to_owned(), "${model}".to_owned()];
    check(
        &CallRequest { extra: &extra, isolated: true, capabilities: all, ..REQUEST },
        expect![[r#"
            claude -p --output-format stream-json --verbose --dangerously-skip-permissions --strict-mcp-config --x ${model}
            codex exec --json --skip-git-repo-check -c check_for_update_on_startup=false -c analytics.enabled=false --dangerously-bypass-approvals-and-sandbox --ignore-user-config --x ${model} -
            opencode run --format json --auto --x ${model}
            gemini --output-format stream-json --skip-trust --approval-mode yolo --x ${model}
            qwen --output-format stream-json --approval-mode yolo --x ${model}
            pi -p --mode json --x ${model}
            aider --yes-always --no-pretty --no-stream --no-analytics --no-check-update --no-show-model-warnings --no-show-release-notes --no-detect-urls --no-auto-commits --chat-history-file /calls/1/aider.chat.history.md --input-history-file /calls/1/aider.input.history --message-file /calls/1/prompt.md --x ${model}   not: a configuration of its own
            goose run -i - --output-format stream-json -q --x ${model}
        "#]],
    );
}

#[test]
fn the_prompt_goes_in_by_standard_input_or_by_a_file() {
    for name in unstuck_workers::names() {
        let plan = plan(name, &REQUEST);
        let by_file = vec![("/calls/1/prompt.md".to_owned(), REQUEST.prompt.to_owned())];
        match name {
            "aider" => assert_eq!((plan.stdin, plan.files), (None, by_file)),
            _ => {
                assert_eq!(plan.stdin.as_deref(), Some(REQUEST.prompt));
                assert!(plan.files.iter().all(|(path, _)| path == SETTINGS), "{:?}", plan.files);
            }
        }
        assert!(plan.argv.iter().all(|argument| !argument.contains("Do the thing")));
    }
}

const SETTINGS: &str = "/calls/1/settings.json";

#[test]
fn setting_without_a_variable_is_in_the_settings_file() {
    let plan = plan("qwen", &REQUEST);
    assert_eq!(plan.env["QWEN_CODE_SYSTEM_DEFAULTS_PATH"], SETTINGS);
    let [(path, settings)] = &plan.files[..] else { panic!("{:?}", plan.files) };
    let settings: serde_json::Value = serde_json::from_str(settings).expect("JSON");
    assert_eq!((path.as_str(), &settings["privacy"]["usageStatisticsEnabled"]), (SETTINGS, &false.into()));
}

#[test]
fn schema_is_in_a_file_if_the_client_requires_one() {
    let codex = plan("codex", &CallRequest { schema: Some("{\"a\":1}"), ..REQUEST });
    assert_eq!(codex.files, [("/calls/1/schema.json".to_owned(), "{\"a\":1}".to_owned())]);
    assert_eq!(plan("claude", &CallRequest { schema: Some("{}"), ..REQUEST }).files, []);
}

#[test]
fn conversation_has_a_preset_name_if_the_client_accepts_one() {
    let session = |client, session| plan(client, &CallRequest { session, ..REQUEST }).session;
    assert_eq!(session("claude", CallSession::New(Some("U"))).as_deref(), Some("U"));
    assert_eq!(session("codex", CallSession::New(Some("U"))), None);
    assert_eq!(session("codex", CallSession::Continued("S")).as_deref(), Some("S"));
    assert_eq!(session("aider", CallSession::Continued("S")), None);
}

#[test]
fn the_environment_keeps_a_client_quiet_and_apart() {
    let plan = plan("claude", &CallRequest { isolated: true, ..REQUEST });
    assert_eq!(plan.env["DISABLE_AUTOUPDATER"], "1");
    assert_eq!(plan.env["CLAUDE_CONFIG_DIR"], "/calls/1/claude");
}

#[test]
fn a_prompt_is_an_argument_only_if_it_is_short() {
    let text = "workers:\n  mine:\n    program: mine\n    stream: text\n    launch: { args: [\"${prompt}\"], prompt: argument }\n";
    let mine = &unstuck_workers::read("workers.yaml", text).unwrap()["mine"];
    let plan = |prompt| launch::plan(&mine.program, &mine.launch, &CallRequest { prompt, ..REQUEST });
    assert_eq!(plan("do ${model}").unwrap().argv, ["mine", "do ${model}"], "a value is not filled again");
    let long = "x".repeat(launch::ARGUMENT_BYTES_MAX + 1);
    assert_eq!(plan(&long), Err(LaunchError::PromptTooLong(long.len())));
}
