//! The stand-in prints what the real clients print, and takes what they take.
//!
//! `fixtures/clients/` holds lines of the real clients, with long texts and lists cut, and for pi without the
//! pieces of a message that it repeats while it grows.

use std::fmt;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};

use serde::de::{Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value, json};
use unstuck_tests::stand_in::{CLIENTS, install};

const PROMPT: &str = "Mend it.\n\nWrite one JSON object to the file .loop/decision.json (or end your answer with it):\n\n\
    {}\n\nCompletionCheckID: 01234567-89ab-7cde-8f01-23456789abcd";
const CLAUDE: &[&str] =
    &["-p", "--output-format", "stream-json", "--verbose", "--model", "claude-sonnet-4-5"];
const CODEX: &[&str] = &["exec", "--json", "--skip-git-repo-check", "-m", "m", "-s", "workspace-write", "-"];
const OPENCODE: &[&str] = &["run", "--format", "json", "-m", "p/m", "--auto"];
const GEMINI: &[&str] =
    &["--output-format", "stream-json", "-m", "gemini-2.5-flash", "--skip-trust", "--approval-mode", "yolo"];
const QWEN: &[&str] = &["--output-format", "stream-json", "-m", "m", "--auth-type", "openai"];
const GOOSE: &[&str] = &["run", "-i", "-", "--output-format", "stream-json", "-q"];
const PI: &[&str] = &["-p", "--mode", "json", "--model", "m"];

/// The stand-in under all names, with a plan.
struct Stand {
    folder: tempfile::TempDir,
}

/// A call that has ended.
#[derive(Debug)]
struct Ended {
    status: ExitStatus,
    out: String,
    err: String,
}

impl Stand {
    fn new(plan: &Value) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let program = Path::new(env!("CARGO_BIN_EXE_stand-in"));
        install(program, &folder.path().join("bin"), &CLIENTS).expect("the folder is ours");
        std::fs::create_dir(folder.path().join("work")).expect("the folder is ours");
        std::fs::write(folder.path().join("plan"), plan.to_string()).expect("the folder is ours");
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn start(&self, client: &str, arguments: &[&str]) -> Child {
        let mut child = Command::new(self.path("bin").join(client))
            .args(arguments)
            .current_dir(self.path("work"))
            .env("STAND_IN_PLAN", self.path("plan"))
            .env("STAND_IN_LOG", self.path("log"))
            .env_remove("IS_SANDBOX")
            .env("CLAUDE_CODE_MAX_RETRIES", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("it was installed");
        // It need not be read: a client that refuses its flags ends before.
        let _unread = child.stdin.take().expect("a pipe").write_all(PROMPT.as_bytes());
        child
    }

    fn call(&self, client: &str, arguments: &[&str]) -> Ended {
        let output = self.start(client, arguments).wait_with_output().expect("it ends");
        Ended {
            status: output.status,
            out: String::from_utf8_lossy(&output.stdout).into_owned(),
            err: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    fn log(&self) -> Vec<Value> {
        let log = std::fs::read_to_string(self.path("log")).expect("the folder is ours");
        log.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

impl Ended {
    fn lines(&self) -> Vec<Value> {
        self.out.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }

    fn last(&self) -> Value {
        self.lines().pop().expect("a line")
    }
}

/// The keys of a value in their order, and the types below them; of a list each shape once.
struct Shape(String);

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Shape;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }
            fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
                Ok(Shape("bool".to_owned()))
            }
            fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
                Ok(Shape("number".to_owned()))
            }
            fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
                Ok(Shape("number".to_owned()))
            }
            fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
                Ok(Shape("number".to_owned()))
            }
            fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
                Ok(Shape("text".to_owned()))
            }
            fn visit_unit<E>(self) -> Result<Shape, E> {
                Ok(Shape("null".to_owned()))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
                let mut shapes: Vec<String> = Vec::new();
                while let Some(Shape(shape)) = items.next_element()? {
                    if !shapes.contains(&shape) {
                        shapes.push(shape);
                    }
                }
                Ok(Shape(format!("[{}]", shapes.join(","))))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Shape, A::Error> {
                let mut shapes = Vec::new();
                while let Some((key, Shape(shape))) = entries.next_entry::<String, Shape>()? {
                    shapes.push(format!("{key}:{shape}"));
                }
                Ok(Shape(format!("{{{}}}", shapes.join(","))))
            }
        }
        deserializer.deserialize_any(Reader)
    }
}

fn shapes(lines: &str) -> Vec<String> {
    let shape = |line| serde_json::from_str::<Shape>(line).expect("JSON").0;
    // The value of `type` is part of a shape.
    let kind = |line| serde_json::from_str::<Value>(line).expect("JSON")["type"].to_string();
    lines.lines().map(|line| format!("{} {}", kind(line), shape(line))).collect()
}

/// Checks that the acts print lines with the same shape as the lines of the real client.
fn check(fixture: &str, arguments: &[&str], more: &[&str], acts: &Value, status: i32) {
    let (client, _) = fixture.split_once('-').expect("client and case");
    let stand = Stand::new(&json!([acts]));
    std::fs::write(stand.path("work/there.txt"), "there before").expect("the folder is ours");
    let ended = stand.call(client, &[arguments, more].concat());
    assert_eq!(ended.status.code(), Some(status), "{fixture}: {}", ended.err);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/clients");
    let real =
        std::fs::read_to_string(folder.join(fixture).with_extension("jsonl")).expect("the folder is ours");
    let (real, played) = (shapes(&real), shapes(&ended.out));
    for (real, played) in real.iter().zip(&played) {
        assert_eq!(played, real, "{fixture}");
    }
    assert_eq!(played.len(), real.len(), "{fixture}: {}", ended.out);
}

#[test]
fn it_prints_what_claude_prints() {
    let shell = json!({"shell": "echo again"});
    let check =
        |fixture: &str, more: &[&str], acts: Value, status| check(fixture, CLAUDE, more, &acts, status);
    let there = json!({"write": {"path": "there.txt", "content": ""}});
    check("claude-refused", &[], json!([shell, there, {"say": "INCOMPLETE"}]), 0);
    let decide = json!({"decide": {"decision": "complete"}});
    check("claude-written", &[], json!([shell, decide, {"say": "COMPLETE"}]), 0);
    check("claude-failing", &[], json!([shell, {"shell": "echo two >&2; exit 3"}, {"say": "COMPLETE"}]), 0);
    check("claude-auth", &[], json!([{"auth_error": {"retries": 1}}]), 1);
    check("claude-turns", &["--max-turns", "3"], json!([shell, shell, shell, shell]), 1);
    let value = r#"{"status":"completed","next_action":{"action":"complete"},"reasons":["x"]}"#;
    check("claude-schema", &["--json-schema", "{}"], json!([shell, {"structured": value}]), 0);
}

#[test]
fn it_prints_what_codex_prints() {
    let acts = json!([{"shell": "exit 1"}, {"decide": {"decision": "incomplete"}}, {"say": "INCOMPLETE"}]);
    check("codex-work", CODEX, &[], &acts, 0);
    check("codex-auth", CODEX, &[], &json!([{"auth_error": {"retries": 5}}]), 1);
}

#[test]
fn it_prints_what_opencode_prints() {
    let write = json!([{"decide": {"decision": "complete"}}, {"say": "COMPLETE"}]);
    check("opencode-write", OPENCODE, &[], &write, 0);
    check("opencode-shell", OPENCODE, &[], &json!([{"shell": "true"}, {"say": "COMPLETE"}]), 0);
    let limit = json!([{"rate_limit": {"retry_after": 2, "retries": 6}}]);
    check("opencode-limit", OPENCODE, &[], &limit, 1);
}

#[test]
fn it_prints_what_gemini_prints() {
    let write = json!([{"decide": {"decision": "complete"}}, {"say": "COMPLETE"}]);
    check("gemini-write", GEMINI, &[], &write, 0);
    check("gemini-shell", GEMINI, &[], &json!([{"shell": "echo 1"}, {"say": "COMPLETE"}]), 0);
    check("gemini-auth", GEMINI, &[], &json!([{"auth_error": {}}]), 145);
    let shell = json!({"shell": "echo again"});
    check("gemini-turns", GEMINI, &[], &json!([shell, shell, shell, shell, {"end_max_turns": {}}]), 0);
}

#[test]
fn it_prints_what_qwen_prints() {
    let shell = json!({"shell": "echo again"});
    check("qwen-shell", QWEN, &[], &json!([shell, {"say": "COMPLETE"}]), 0);
    check("qwen-server", QWEN, &[], &json!([{"server_error": {"retries": 6}}]), 1);
    check("qwen-turns", QWEN, &["--max-session-turns", "3"], &json!([shell, shell, shell, shell]), 53);
    check(
        "qwen-limit",
        QWEN,
        &[],
        &json!([{"rate_limit": {"retries": 1, "recovers": true}}, {"exit": 1}]),
        1,
    );
}

#[test]
fn it_prints_what_pi_prints() {
    check("pi-shell", PI, &[], &json!([{"shell": "true"}, {"say": "COMPLETE"}]), 0);
    check("pi-limit", PI, &[], &json!([{"rate_limit": {"retries": 3}}]), 0);
}

#[test]
fn a_flag_that_a_client_does_not_know_is_its_own_failure_and_no_call() {
    let stand = Stand::new(&json!([]));
    for (client, arguments, status, says) in [
        ("claude", CLAUDE, 1, "unknown option '--no-such-option'"),
        ("codex", CODEX, 2, "unexpected argument '--no-such-option' found"),
        ("opencode", OPENCODE, 1, "opencode run [message..]"),
        ("gemini", GEMINI, 1, "no-such-option"),
        ("qwen", QWEN, 1, "no-such-option"),
        ("pi", PI, 1, "Unknown option: --no-such-option"),
        ("goose", GOOSE, 2, "unexpected argument '--no-such-option' found"),
        ("aider", &["--yes-always"], 2, "unrecognized arguments: --no-such-option"),
    ] {
        let ended = stand.call(client, &[arguments, &["--no-such-option"]].concat());
        assert_eq!(ended.status.code(), Some(status), "{client}");
        assert!(ended.err.contains(says), "{client}: {}", ended.err);
    }
    assert!(
        stand.call("claude", &["-p", "--output-format", "stream-json"]).err.contains("requires --verbose")
    );
    assert!(stand.call("codex", &["exec", "--json", "-"]).err.contains("--skip-git-repo-check"));
    assert_eq!(stand.call("claude", &["--version"]).out, "2.1.330 (Claude Code)\n");
    assert!(!stand.path("log").exists());
}

#[test]
fn a_fault_of_the_test_is_said() {
    let stand = Stand::new(&json!([[{"structured": "{}"}], [{"no_such_act": {}}]]));
    assert!(stand.call("claude", CLAUDE).err.contains("unknown variant `no_such_act`"));
    let stand = Stand::new(&json!([[{"structured": "{}"}]]));
    let ended = stand.call("claude", CLAUDE);
    assert_eq!((ended.status.code(), ended.err.contains("no structured answer")), (Some(97), true));
    let ended = stand.call("claude", CLAUDE);
    assert!(ended.err.contains("the plan has no call 2 of claude"), "{}", ended.err);
}

#[test]
fn a_call_is_logged_with_the_prompt_and_what_it_names() {
    let decide = json!({"decide": {"decision": "complete", "reasons": ["all pass"]}});
    let stand = Stand::new(&json!({"codex": [[decide, {"say": "COMPLETE"}], [{"say": "no"}]], "pi": [[]]}));
    stand.call("codex", CODEX);
    stand.call("pi", PI);
    let log = stand.log();
    let told: Vec<_> = log.iter().map(|line| (line["client"].clone(), line["call"].clone())).collect();
    assert_eq!(told, [(json!("codex"), json!(1)), (json!("pi"), json!(1))]);
    assert_eq!(log[0]["argv"], json!(CODEX));
    assert_eq!(log[0]["stdin_bytes"], PROMPT.len());
    assert_eq!(log[0]["check_id"], "01234567-89ab-7cde-8f01-23456789abcd");
    assert_eq!(log[0]["env"]["CLAUDE_CODE_MAX_RETRIES"], "1");
    let decision = std::fs::read_to_string(stand.path("work/.loop/decision.json")).unwrap();
    let decision: Value = serde_json::from_str(&decision).unwrap();
    assert_eq!(decision["check_id"], log[0]["check_id"]);
    assert_eq!(decision["reasons"], json!(["all pass"]));
}

#[test]
fn conversations_resume_and_count_like_the_client() {
    let say = json!([{"usage": {"input": 100, "output": 10}}, {"say": "a"}]);
    let stand = Stand::new(&json!([say, say, say, say, say, say]));
    const ID: &str = "7d9f1c52-3a44-4e0b-9c1d-5b8f0a6e2d11";
    let call = |more: &[&str]| stand.call("claude", &[CLAUDE, more].concat());
    let first = call(&["--session-id", ID]).last();
    let second = call(&["--resume", ID]).last();
    // Tokens of this call, dollars of the conversation.
    let numbers = |line: &Value| (line["usage"]["input_tokens"].clone(), line["total_cost_usd"].clone());
    assert_eq!(numbers(&first), (json!(100), json!(0.00045)));
    assert_eq!(numbers(&second), (json!(100), json!(0.0009)));
    assert_eq!((&first["session_id"], &second["session_id"]), (&json!(ID), &json!(ID)));
    assert!(call(&["--session-id", ID]).err.contains("already in use"));
    let unknown = call(&["--resume", "no-such"]);
    assert_eq!((unknown.status.code(), unknown.err.contains("No conversation found")), (Some(1), true));

    let first = stand.call("codex", CODEX);
    let thread = first.lines()[0]["thread_id"].as_str().unwrap().to_owned();
    let second = stand.call("codex", &["exec", "resume", &thread, "--json", "--skip-git-repo-check", "-"]);
    assert_eq!(second.last()["usage"]["input_tokens"], 200);
}

#[test]
fn an_end_without_an_end_a_half_line_and_much_output() {
    let stand = Stand::new(&json!([
        [{"say": "a"}, {"end_none": {}}],
        [{"partial": "half"}, {"exit": 3}],
        [{"usage": {}}, {"flood": {"bytes": 1_000_000, "line": 100_000}}],
        [{"network_error": {}}],
        [{"rate_limit": {"resets": "7:30am (UTC)"}}],
        [{"say": "a"}, {"end_error": "made up"}],
    ]));
    assert_eq!(stand.call("claude", CLAUDE).last()["type"], "assistant");
    let half = stand.call("claude", CLAUDE);
    assert_eq!(half.status.code(), Some(3));
    assert!(half.out.ends_with("\n{\"type\":\"assistan"), "{}", half.out);
    assert_eq!(stand.call("claude", CLAUDE).lines().len(), 12);
    let cut = stand.call("gemini", GEMINI);
    assert_eq!((cut.status.code(), &cut.last()["status"]), (Some(0), &json!("error")));
    let limit = stand.call("claude", CLAUDE).last();
    assert_eq!(limit["result"], "You've hit your limit · resets 7:30am (UTC)");
    assert_eq!((&limit["subtype"], &limit["is_error"]), (&json!("success"), &json!(true)));
    assert_eq!(stand.call("claude", CLAUDE).status.code(), Some(1));
}

#[test]
fn reading_only_changes_nothing_and_plain_output_is_the_answer() {
    let acts = json!([{"write": {"path": "new.txt", "content": "x"}}, {"say": "not allowed"}]);
    let stand = Stand::new(&json!([acts, acts, acts]));
    stand.call("claude", &[CLAUDE, &["--permission-mode", "plan"]].concat());
    stand.call("codex", &["exec", "--json", "--skip-git-repo-check", "-"]);
    assert!(!stand.path("work/new.txt").exists());
    // A format that is given twice is none for Gemini.
    let twice = stand.call("gemini", &[GEMINI, &["--output-format", "json"]].concat());
    assert_eq!(twice.out, "not allowed\n");
}

#[cfg(unix)]
#[test]
fn it_hangs_dies_and_leaves_a_process_behind() {
    use std::os::unix::process::ExitStatusExt as _;

    let stand = Stand::new(&json!([
        [{"partial": "half"}, {"kill": 9}],
        [{"fork": {"seconds": 2}}, {"say": "COMPLETE"}],
        [{"hang": {}}],
    ]));
    let killed = stand.call("codex", CODEX);
    assert_eq!(killed.status.signal(), Some(9));
    assert!(!killed.out.ends_with('\n'));
    assert_eq!(stand.call("codex", CODEX).status.code(), Some(0));
    let mut hanging = stand.start("codex", CODEX);
    while stand.log_len() < 3 {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    assert_eq!(hanging.try_wait().unwrap(), None);
    hanging.kill().unwrap();
    hanging.wait().unwrap();
}

#[cfg(unix)]
impl Stand {
    fn log_len(&self) -> usize {
        std::fs::read_to_string(self.path("log")).unwrap_or_default().lines().count()
    }
}

#[test]
fn aider_speaks_text_and_always_ends_with_nothing() {
    let stand = Stand::new(&json!([[{"say": "Done."}], [{"rate_limit": {"retries": 1}}]]));
    std::fs::write(stand.path("work/prompt"), PROMPT).unwrap();
    let arguments = ["--message-file", "prompt", "--yes-always", "--no-pretty", "--no-stream"];
    let done = stand.call("aider", &arguments);
    assert!(done.out.contains("Tokens: 1.2k sent, 40 received."), "{}", done.out);
    let limit = stand.call("aider", &arguments);
    assert_eq!((limit.status.code(), limit.out.contains("RateLimitError")), (Some(0), true));
}
