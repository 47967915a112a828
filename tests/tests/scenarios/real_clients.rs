//! The real clients, where they are installed, and how each is pointed at a model on this machine.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use crate::model_stub::{ModelStub, Turn};
use crate::stage::Stage;

/// Says that the real clients are to be tested.
const ASKED_FOR: &str = "UNSTUCK_TEST_REAL_WORKERS";

/// A client may try again for a while, and some need ten seconds of a processor for the first word.
const DEADLINE: Duration = Duration::from_secs(240);

/// A client that talks to a model of ours, on a stage.
pub struct RealClient {
    name: &'static str,
    model: &'static str,
    pub stage: Stage,
    pub stub: ModelStub,
}

impl RealClient {
    /// Sets up a client in a repository with a failing test. The script may name files of the workspace.
    ///
    /// Returns `None` and prints the reason if the client was not requested or is not installed.
    pub fn new(name: &'static str, script: impl FnOnce(&Path) -> Vec<Turn>) -> Option<Self> {
        if std::env::var_os(ASKED_FOR).is_none_or(|value| value != "1") {
            eprintln!("skipped: {ASKED_FOR}=1 is not set, so {name} is not called");
            return None;
        }
        let paths = std::env::var_os("PATH").unwrap_or_default();
        if !std::env::split_paths(&paths).any(|folder| folder.join(name).exists()) {
            eprintln!("skipped: {name} is not on PATH");
            return None;
        }
        let stage = Stage::repository().with_deadline(DEADLINE);
        let script = script(&stage.workspace());
        let stub = match name {
            "aider" => ModelStub::start_without_tools(script),
            _ => ModelStub::start(script),
        };
        let (model, variables) = set_up(name, &stub.url(), &stage.scratch("client"));
        let stage = variables.iter().fold(stage, |stage, (name, value)| stage.with_variable(name, value));
        Some(Self { name, model, stage, stub })
    }

    /// Writes a workflow in which this client works, with these keys besides: of the workflow, and of its step.
    pub fn workflow(&self, top: &str, rest: &str) {
        self.workflow_with("READ, EDIT, RUN_COMMANDS", top, rest);
    }

    /// The same with other capabilities.
    pub fn workflow_with(&self, capabilities: &str, top: &str, rest: &str) {
        let Self { name, model, .. } = self;
        let work = format!(
            "worker: CLIENT\nclient: {name}\nmodel: {model}\ninstructions: Make tests/run.sh pass.\n\
             capabilities: [{capabilities}]\nmax_iterations: 3\n{rest}"
        );
        self.stage.workflow(top, &work);
    }
}

impl Drop for RealClient {
    /// Shows of a test that failed what the client asked last: there is what its tools said.
    fn drop(&mut self) {
        const SHOWN: usize = 1000;
        if std::thread::panicking() {
            for asked in self.stub.asked() {
                let mut asked = asked;
                asked.as_object_mut().map(|object| object.remove("tools"));
                let asked = asked.to_string();
                eprintln!(
                    "asked: …{}",
                    &asked[asked.ceil_char_boundary(asked.len().saturating_sub(SHOWN))..]
                );
            }
        }
    }
}

/// Writes the configuration of a client into a folder, and returns the model to ask for and what goes into the
/// environment.
fn set_up(name: &str, url: &str, home: &Path) -> (&'static str, Vec<(&'static str, String)>) {
    let folder = home.display().to_string();
    let file = |name: &str, text: String| write(&home.join(name), &text);
    match name {
        // Root may not skip permissions unless it is said to be in a sandbox.
        "claude" => (
            "claude-sonnet-4-5",
            vec![
                ("ANTHROPIC_BASE_URL", url.to_owned()),
                ("ANTHROPIC_API_KEY", "key".to_owned()),
                ("CLAUDE_CONFIG_DIR", folder),
                ("IS_SANDBOX", "1".to_owned()),
            ],
        ),
        "codex" => {
            file("config.toml", codex(url));
            ("stub-model", vec![("CODEX_HOME", folder), ("STUB_KEY", "key".to_owned())])
        }
        "opencode" => {
            let config = file("opencode.json", opencode(url).to_string());
            ("stub/stub-model", vec![("OPENCODE_CONFIG", config)])
        }
        "gemini" => {
            file(".gemini/settings.json", settings("gemini-api-key").to_string());
            (
                "gemini-2.5-flash",
                vec![
                    ("GOOGLE_GEMINI_BASE_URL", url.to_owned()),
                    ("GEMINI_API_KEY", "key".to_owned()),
                    ("GEMINI_CLI_HOME", folder),
                ],
            )
        }
        "qwen" => {
            file("settings.json", settings("openai").to_string());
            (
                "stub-model",
                vec![
                    ("OPENAI_BASE_URL", format!("{url}/v1")),
                    ("OPENAI_API_KEY", "key".to_owned()),
                    // Without settings that say so, it is what tells how to log in.
                    ("OPENAI_MODEL", "stub-model".to_owned()),
                    ("QWEN_HOME", folder),
                ],
            )
        }
        "pi" => {
            file("models.json", pi(url).to_string());
            ("stub/stub-model", vec![("PI_CODING_AGENT_DIR", folder), ("STUB_KEY", "key".to_owned())])
        }
        "goose" => {
            file("config/config.yaml", GOOSE.to_owned());
            (
                "stub-model",
                vec![
                    ("GOOSE_PATH_ROOT", folder),
                    ("GOOSE_PROVIDER", "openai".to_owned()),
                    ("GOOSE_DISABLE_KEYRING", "1".to_owned()),
                    ("OPENAI_HOST", url.to_owned()),
                    ("OPENAI_API_KEY", "key".to_owned()),
                ],
            )
        }
        "aider" => (
            "openai/stub-model",
            vec![("OPENAI_API_BASE", format!("{url}/v1")), ("OPENAI_API_KEY", "key".to_owned())],
        ),
        _ => panic!("nobody knows how {name} is pointed at a model"),
    }
}

/// Without the tools that it has of itself it can do nothing.
const GOOSE: &str = "extensions:\n  developer: {enabled: true, type: builtin, name: developer}\n";

fn codex(url: &str) -> String {
    format!(
        "model_provider = \"stub\"\ncheck_for_update_on_startup = false\n\n[analytics]\nenabled = false\n\n\
         [model_providers.stub]\nname = \"stub\"\nbase_url = \"{url}/v1\"\nenv_key = \"STUB_KEY\"\n\
         wire_api = \"responses\"\n"
    )
}

/// Dollars for a million tokens.
fn opencode(url: &str) -> Value {
    let model = json!({
        "name": "stub",
        "tool_call": true,
        "limit": {"context": 128_000, "output": 8_000},
        "cost": {"input": 1, "output": 10, "cache_read": 0.1, "cache_write": 0},
    });
    json!({
        "provider": {"stub": {
            "npm": "@ai-sdk/openai-compatible",
            "name": "stub",
            "options": {"baseURL": format!("{url}/v1"), "apiKey": "key"},
            "models": {"stub-model": model},
        }},
        "autoupdate": false,
        "share": "disabled",
    })
}

fn pi(url: &str) -> Value {
    let model = json!({
        "id": "stub-model",
        "name": "stub",
        "reasoning": false,
        "input": ["text"],
        "contextWindow": 128_000,
        "maxTokens": 8_000,
        "cost": {"input": 1, "output": 10, "cacheRead": 0.1, "cacheWrite": 0},
    });
    json!({"providers": {"stub": {
        "baseUrl": format!("{url}/v1"),
        "api": "openai-completions",
        "apiKey": "STUB_KEY",
        "models": [model],
    }}})
}

/// Gemini CLI and Qwen Code are of one family.
fn settings(login: &str) -> Value {
    json!({
        "security": {"auth": {"selectedType": login}},
        "privacy": {"usageStatisticsEnabled": false},
        "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "disableAutoUpdate": true},
        // It would ask the model for memories after each answer, and use up a turn.
        "memory": {"enableManagedAutoMemory": false},
    })
}

fn write(path: &Path, text: &str) -> String {
    let folder: PathBuf = path.parent().expect("a folder").to_owned();
    std::fs::create_dir_all(folder).expect("the scratch folder is ours");
    std::fs::write(path, text).expect("the scratch folder is ours");
    path.display().to_string()
}
