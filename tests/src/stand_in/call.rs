//! One call as the client finds it: prompt, decision file, conversation; and the log of it.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};

use serde_json::json;
use unstuck_core::id::Digest;

use super::flags::{Flags, Refused};
use super::plan::{Tokens, beside};
use super::stage::uuid;

/// So much of a prompt is kept in the log.
const PROMPT_CHARS_MAX: usize = 20_000;

/// The conversations that a client knows, one file each.
pub(super) struct Sessions {
    folder: PathBuf,
    client: &'static str,
}

impl Sessions {
    pub fn new(plan: &Path, client: &'static str) -> Self {
        Self { folder: beside(plan, "sessions"), client }
    }

    fn file(&self, session: &str) -> PathBuf {
        let name: String = session.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        self.folder.join(format!("{}-{name}", self.client))
    }

    /// Returns what a conversation has counted and cost; nothing if there is none of this name.
    pub fn load(&self, session: &str) -> Option<(Tokens, u64)> {
        serde_json::from_slice(&fs::read(self.file(session)).ok()?).ok()
    }

    pub fn save(&self, session: &str, counted: (Tokens, u64)) -> io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        fs::write(self.file(session), serde_json::to_vec(&counted)?)
    }

    /// Returns the conversation of a call, and what it has counted before.
    pub fn open(&self, flags: &Flags, plan: &Path, number: u64) -> Result<(String, (Tokens, u64)), Refused> {
        // Goose names the conversation with one flag and resumes it with another.
        let name = flags.get("--name").filter(|_| self.client == "goose").unwrap_or_default();
        let goes_on = match self.client {
            "codex" => flags.words.get(1).filter(|word| *word == "resume").and_then(|_| flags.words.get(2)),
            _ => None,
        };
        let goes_on = goes_on
            .map(String::as_str)
            .or_else(|| flags.get("--resume").map(|id| if self.client == "goose" { name } else { id }))
            .or_else(|| flags.get("--session"))
            .or_else(|| flags.get("--fork").filter(|session| !session.is_empty()));
        let fresh = || self.name(&format!("{} {} {number}", plan.display(), self.client));
        match goes_on {
            Some(session) => {
                let before = self.load(session).ok_or_else(|| self.unknown(session))?;
                let forks = flags.has("--fork-session") || flags.has("--fork");
                Ok((if forks { fresh() } else { session.to_owned() }, before))
            }
            None if !name.is_empty() => Ok((name.to_owned(), Default::default())),
            None => match flags.get("--session-id") {
                Some(taken) if self.load(taken).is_some() => {
                    let says = format!("Error: Session ID {taken} is already in use.");
                    Err(Refused { status: 1, says })
                }
                Some(preset) => Ok((preset.to_owned(), Default::default())),
                None => Ok((fresh(), Default::default())),
            },
        }
    }

    /// Returns a new name in the form of the client.
    fn name(&self, seed: &str) -> String {
        match self.client {
            "opencode" => format!("ses_{}", &Digest::sha256(seed.as_bytes()).to_string()[..26]),
            "codex" | "pi" => uuid(seed, '7'),
            _ => uuid(seed, '4'),
        }
    }

    fn unknown(&self, session: &str) -> Refused {
        let (status, says) = match self.client {
            "claude" => (1, format!("No conversation found with session ID: {session}")),
            "codex" => (1, format!("Error: thread/resume failed: no rollout found for thread id {session}")),
            "opencode" => (1, "\u{1b}[91m\u{1b}[1mError: \u{1b}[0mSession not found".to_owned()),
            "gemini" => {
                (42, "Error resuming session: No previous sessions found for this project.".to_owned())
            }
            "qwen" => (1, format!("No saved session found with ID {session}.")),
            "goose" => (1, format!("Error: No session found with name '{session}'")),
            _ => (1, format!("No session found matching '{session}'")),
        };
        Refused { status, says }
    }
}

/// Reads the prompt from standard input to its end. Like the clients, it waits forever if the input stays open.
pub(super) fn prompt(client: &str, flags: &Flags) -> io::Result<String> {
    let mut text = String::new();
    match flags.get("--message-file").filter(|_| client == "aider") {
        Some(file) => text = fs::read_to_string(file)?,
        None => {
            let mut bytes = Vec::new();
            io::stdin().lock().read_to_end(&mut bytes)?;
            text.push_str(&String::from_utf8_lossy(&bytes));
        }
    }
    Ok(text)
}

/// Returns the check id that a prompt, or else the environment, tells.
pub(super) fn check_id(prompt: &str) -> Option<String> {
    let told = prompt.rsplit_once("CompletionCheckID:").map(|(_, rest)| rest);
    let told = told.and_then(|rest| rest.split_whitespace().next()).map(str::to_owned);
    told.or_else(|| std::env::var("UNSTUCK_CHECK_ID").ok())
}

/// Returns the path of the decision file that a prompt, or else the environment, tells.
pub(super) fn decision_file(prompt: &str) -> Option<String> {
    let named = |before: &str| {
        let (_, rest) = prompt.rsplit_once(before)?;
        let end = rest.find(" (or end").or_else(|| rest.find(char::is_whitespace)).unwrap_or(rest.len());
        Some(rest[..end].trim_end_matches(':').to_owned())
    };
    named("to the file ")
        .or_else(|| named("When finished write "))
        .or_else(|| std::env::var("UNSTUCK_DECISION_FILE").ok())
}

/// Adds a line to the log of the test, if there is one.
pub(super) fn log(
    client: &str,
    number: u64,
    arguments: &[String],
    prompt: &str,
    session: &str,
) -> io::Result<()> {
    let Some(path) = std::env::var_os("STAND_IN_LOG") else { return Ok(()) };
    let line = json!({
        "client": client,
        "call": number,
        "argv": arguments,
        "env": environment(),
        "cwd": std::env::current_dir().unwrap_or_default(),
        "stdin_bytes": prompt.len(),
        "stdin_sha256": Digest::sha256(prompt.as_bytes()).to_string(),
        "prompt": prompt.chars().take(PROMPT_CHARS_MAX).collect::<String>(),
        "session": session,
        "check_id": check_id(prompt),
        "decision_file": decision_file(prompt),
    });
    // One write, so that calls at the same time do not mix their lines.
    OpenOptions::new().append(true).create(true).open(path)?.write_all(format!("{line}\n").as_bytes())
}

/// Returns the variables that clients and their keepers look at.
fn environment() -> BTreeMap<String, String> {
    const BEGINNINGS: [&str; 10] = [
        "ANTHROPIC_", "CLAUDE", "CODEX_", "OPENAI_", "OPENCODE_", "GEMINI_", "GOOGLE_", "QWEN_", "PI_",
        "UNSTUCK_",
    ];
    const NAMES: [&str; 4] = ["TERM", "NO_COLOR", "IS_SANDBOX", "HOME"];
    std::env::vars()
        .filter(|(name, _)| {
            NAMES.contains(&name.as_str()) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        })
        .collect()
}
