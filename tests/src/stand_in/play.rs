//! Carries out the acts of one call.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use serde_json::json;

use super::call::{self, Sessions};
use super::flags::{Flags, Refused};
use super::plan::{Act, Decision, Fault, Flood, Fork, Plan, Tokens};
use super::stage::{End, Failure, Kind, Outcome, Stage, Tool, Voice, Why, quoted, write};
use super::{CLIENTS, aider, claude, codex, gemini, goose, opencode, pi, qwen};

/// Tokens of a message if the plan has none.
const USUAL: Tokens = Tokens { input: 400, cached: 800, cache_write: 0, output: 40, reasoning: 0 };

/// Plays a call with the words of its command line. Returns its exit status.
pub(super) fn play(words: Vec<String>) -> Result<u8, String> {
    let (program, arguments) = words.split_first().ok_or("no name to be called by")?;
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let client = CLIENTS.into_iter().find(|client| *client == name);
    let client = client.ok_or_else(|| format!("no client is called {name}: make a link to it"))?;
    if arguments.iter().any(|word| word == "--version") {
        println!("{}", version(client));
        return Ok(0);
    }
    let flags = match Flags::read(client, arguments) {
        Ok(flags) => flags,
        Err(refused) => return Ok(say(&refused)),
    };
    let prompt = call::prompt(client, &flags).map_err(|error| format!("no prompt: {error}"))?;
    let plan = plan_file()?;
    let (number, acts) = Plan::next(&plan, client)?;
    let sessions = Sessions::new(&plan, client);
    let opened = sessions.open(&flags, &plan, number);
    let session = opened.as_ref().map_or("", |(session, _)| session);
    call::log(client, number, arguments, &prompt, session).map_err(|error| format!("the log: {error}"))?;
    let (session, before) = match opened {
        Ok(opened) => opened,
        Err(refused) => return Ok(say(&refused)),
    };
    let stage = stage(client, &flags, session, prompt, before);
    Call {
        stage,
        voice: voice(client),
        client,
        flags,
        sessions,
        usage: None,
        cost: None,
        written: Vec::new(),
    }
    .play(acts)
}

fn plan_file() -> Result<PathBuf, String> {
    if let Some(path) = std::env::var_os("STAND_IN_PLAN") {
        return Ok(path.into());
    }
    let program = std::env::current_exe().map_err(|error| format!("where am I? {error}"))?;
    Ok(program.with_file_name("stand-in.json"))
}

fn say(refused: &Refused) -> u8 {
    eprintln!("{}", refused.says);
    refused.status
}

fn version(client: &str) -> &'static str {
    match client {
        "claude" => "2.1.330 (Claude Code)",
        "codex" => "codex-cli 0.169.0",
        "opencode" => "1.18.33",
        "gemini" => "0.61.0",
        "qwen" => "0.24.4",
        "pi" => "0.73.1",
        "goose" => "1.52.0",
        _ => "aider 0.86.2",
    }
}

fn voice(client: &str) -> Box<dyn Voice> {
    match client {
        "claude" => Box::new(claude::Claude::default()),
        "codex" => Box::new(codex::Codex::default()),
        "opencode" => Box::new(opencode::OpenCode::default()),
        "gemini" => Box::new(gemini::Gemini::default()),
        "qwen" => Box::new(qwen::Qwen),
        "pi" => Box::new(pi::Pi::default()),
        "goose" => Box::new(goose::Goose),
        _ => Box::new(aider::Aider),
    }
}

fn stage(
    client: &'static str,
    flags: &Flags,
    session: String,
    prompt: String,
    before: (Tokens, u64),
) -> Stage {
    let templates = match client {
        "claude" => include_str!("claude.txt"),
        "codex" => include_str!("codex.txt"),
        "opencode" => include_str!("opencode.txt"),
        "gemini" => include_str!("gemini.txt"),
        "qwen" => include_str!("qwen.txt"),
        "pi" => include_str!("pi.txt"),
        "goose" => include_str!("goose.txt"),
        _ => "",
    };
    let mut stage = Stage::new(templates, session);
    stage.streams = flags.streams(client);
    stage.prompt = prompt;
    stage.before = before;
    if let Some(model) = flags.get("--model") {
        model.clone_into(&mut stage.model);
    }
    stage.permission = match (client, flags.get("--permission-mode").or(flags.get("--approval-mode"))) {
        (_, Some(mode)) => mode.to_owned(),
        ("claude", None) if flags.has("--dangerously-skip-permissions") => "bypassPermissions".to_owned(),
        _ => "default".to_owned(),
    };
    stage
}

/// A call that is being played.
struct Call {
    stage: Stage,
    voice: Box<dyn Voice>,
    client: &'static str,
    flags: Flags,
    sessions: Sessions,
    /// Tokens of the next message, if the plan has them; `cost` is its cost.
    usage: Option<Tokens>,
    cost: Option<u64>,
    /// Files that were written in this call.
    written: Vec<PathBuf>,
}

impl Call {
    fn play(mut self, acts: Vec<Act>) -> Result<u8, String> {
        self.voice.begin(&mut self.stage);
        let mut status = None;
        for act in acts {
            status = self.act(act)?;
            if status.is_some() {
                break;
            }
        }
        let status = match status {
            Some(status) => status,
            None => self.voice.end(&mut self.stage, &End::Done),
        };
        let counted = self.stage.conversation();
        self.sessions.save(&self.stage.session, counted).map_err(|error| format!("the session: {error}"))?;
        if !self.stage.streams && self.client != "aider" {
            write(&[self.stage.text.as_bytes(), b"\n"]);
        }
        Ok(status)
    }

    /// Returns the exit status, if this ends the call.
    fn act(&mut self, act: Act) -> Result<Option<u8>, String> {
        match act {
            Act::Say(text) => return Ok(self.say(text)),
            Act::Write(file) => return Ok(self.write(file.path, file.content)),
            Act::Shell(command) => return Ok(self.shell(command)),
            Act::Decide(decision) => return self.decide(&decision),
            Act::Structured(value) => return self.structured(value),
            Act::Usage(tokens) => self.usage = Some(tokens),
            Act::Cost(dollars) => self.cost = Some(micro(dollars)),
            Act::RateLimit(fault) => return Ok(self.fault(Why::RateLimit, fault)),
            Act::AuthError(fault) => return Ok(self.fault(Why::Auth, fault)),
            Act::Credit(fault) => return Ok(self.fault(Why::Credit, fault)),
            Act::Overloaded(fault) => return Ok(self.fault(Why::Overloaded, fault)),
            Act::ServerError(fault) => return Ok(self.fault(Why::Server, fault)),
            Act::NetworkError(fault) => return Ok(self.fault(Why::Network, fault)),
            Act::ContextOverflow(fault) => return Ok(self.fault(Why::Context, fault)),
            Act::Line(line) => write(&[line.as_bytes(), b"\n"]),
            Act::Partial(text) => partial(&text),
            Act::Flood(flood) => return Ok(self.flood(flood)),
            Act::Sleep(millis) => thread::sleep(Duration::from_millis(millis)),
            Act::Hang {} => loop {
                thread::sleep(Duration::from_secs(3600));
            },
            Act::Fork(fork) => leave_behind(fork)?,
            Act::Kill(signal) => return kill(signal),
            Act::EndSuccess {} => return Ok(Some(self.end(&End::Done))),
            Act::EndError(text) => return Ok(Some(self.end(&End::Failed(text)))),
            Act::EndMaxTurns {} => {
                let turns = self.turns_max().unwrap_or(self.stage.turns);
                return Ok(Some(self.end(&End::MaxTurns(turns))));
            }
            Act::EndNone {} => return Ok(Some(0)),
            Act::Exit(status) => return Ok(Some(status)),
        }
        Ok(None)
    }

    fn end(&mut self, end: &End) -> u8 {
        self.voice.end(&mut self.stage, end)
    }

    /// Counts the message that comes next, by the prices of the scripted model: $3, $0.30, $3.75 and $15.
    fn count(&mut self) {
        let tokens = self.usage.take().unwrap_or(USUAL);
        let nano =
            tokens.input * 3000 + tokens.cached * 300 + tokens.cache_write * 3750 + tokens.output * 15_000;
        let cost = self.cost.take().unwrap_or(nano / 1000);
        self.stage.count(tokens, cost);
    }

    fn say(&mut self, text: String) -> Option<u8> {
        self.count();
        self.voice.say(&mut self.stage, &text);
        self.stage.text = text;
        self.over_budget()
    }

    fn shell(&mut self, command: String) -> Option<u8> {
        self.tool(Kind::Shell { command }, |_, kind| match kind {
            Kind::Shell { command } => run(command),
            Kind::Write { .. } => unreachable!("it is a command"),
        })
    }

    fn write(&mut self, path: String, content: String) -> Option<u8> {
        let path = Path::new(&self.stage.cwd).join(path);
        let kind = Kind::Write { path: path.to_string_lossy().into_owned(), content: content.clone() };
        self.tool(kind, |call, _| call.put(&path, &content))
    }

    fn tool(&mut self, kind: Kind, perform: impl FnOnce(&mut Self, &Kind) -> Outcome) -> Option<u8> {
        self.count();
        let id = self.stage.id();
        let id = match self.client {
            "claude" => format!("toolu_stub{id:06}"),
            _ => format!("call_stub{id:06}"),
        };
        let tool = Tool { id, kind };
        self.voice.use_tool(&mut self.stage, &tool);
        let outcome = if self.flags.reads_only(self.client) {
            Outcome { exit: 1, output: "not allowed while reading only".to_owned(), existed: false }
        } else {
            perform(self, &tool.kind)
        };
        self.voice.used_tool(&mut self.stage, &tool, &outcome);
        self.stage.text.clear(); // Words before the last use of a tool are no answer.
        self.over_turns().or_else(|| self.over_budget())
    }

    /// Writes a file; Claude Code and Qwen Code refuse to overwrite one that they have not read.
    fn put(&mut self, path: &Path, content: &str) -> Outcome {
        let existed = path.exists();
        let unread = existed && !self.written.iter().any(|written| written == path);
        if unread && matches!(self.client, "claude" | "qwen") {
            let output = "File has not been read yet. Read it first before writing to it.".to_owned();
            return Outcome { exit: 1, output, existed };
        }
        self.written.push(path.to_owned());
        let folder = path.parent().map_or(Ok(()), std::fs::create_dir_all);
        match folder.and_then(|()| std::fs::write(path, content)) {
            Ok(()) => Outcome { exit: 0, output: String::new(), existed },
            Err(error) => Outcome { exit: 1, output: error.to_string(), existed },
        }
    }

    fn decide(&mut self, decision: &Decision) -> Result<Option<u8>, String> {
        let path = call::decision_file(&self.stage.prompt).ok_or("the prompt names no decision file")?;
        let id = decision.check_id.clone().or_else(|| call::check_id(&self.stage.prompt));
        let content = json!({
            "decision": decision.decision,
            "check_id": id.ok_or("the prompt names no check id")?,
            "reasons": decision.reasons,
            "fingerprints": decision.fingerprints,
        });
        Ok(if decision.by_shell {
            self.shell(format!("cat > '{path}' <<'END'\n{content}\nEND"))
        } else {
            self.write(path, format!("{content}\n"))
        })
    }

    fn structured(&mut self, value: String) -> Result<Option<u8>, String> {
        let asked = ["--json-schema", "--output-schema"].iter().any(|flag| self.flags.has(flag));
        match self.client {
            _ if !asked => Err(format!("{} was asked for no structured answer", self.client)),
            // The answer itself is the value.
            "codex" => Ok(self.say(value)),
            _ => {
                self.stage.structured = Some(value);
                Ok(None)
            }
        }
    }

    fn fault(&mut self, why: Why, fault: Fault) -> Option<u8> {
        let (retries, pause, recovers) = (fault.retries, fault.pause_ms, fault.recovers);
        let failure = Failure { why, fault };
        for attempt in 1..=retries {
            self.voice.retry(&mut self.stage, &failure, attempt);
            thread::sleep(Duration::from_millis(pause));
        }
        (!recovers).then(|| self.voice.fail(&mut self.stage, &failure))
    }

    fn flood(&mut self, flood: Flood) -> Option<u8> {
        let text = "x".repeat(flood.line.max(1));
        for _ in 0..flood.bytes.div_ceil(text.len()) {
            if let Some(status) = self.say(text.clone()) {
                return Some(status);
            }
        }
        None
    }

    fn turns_max(&self) -> Option<u64> {
        let flag = match self.client {
            "claude" => "--max-turns",
            "qwen" => "--max-session-turns",
            _ => return None,
        };
        self.flags.get(flag)?.parse().ok()
    }

    fn over_turns(&mut self) -> Option<u8> {
        let most = self.turns_max().filter(|most| self.stage.turns >= *most)?;
        Some(self.end(&End::MaxTurns(most)))
    }

    fn over_budget(&mut self) -> Option<u8> {
        let most = self.flags.get("--max-budget-usd")?.to_owned();
        let over = self.stage.micro_usd > micro(most.parse().ok()?);
        over.then(|| self.end(&End::MaxBudget(most)))
    }
}

fn micro(dollars: f64) -> u64 {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small amounts of tests")]
    let micro = (dollars * 1e6).round() as u64;
    micro
}

/// Runs a command as the clients do, with both outputs in one.
fn run(command: &str) -> Outcome {
    let output = Command::new("sh").arg("-c").arg(command).stdin(Stdio::null()).output();
    match output {
        Ok(output) => {
            let both = [output.stdout, output.stderr].concat();
            let output_text = String::from_utf8_lossy(&both).into_owned();
            Outcome { exit: output.status.code().unwrap_or(137), output: output_text, existed: false }
        }
        Err(error) => Outcome { exit: 127, output: error.to_string(), existed: false },
    }
}

/// Prints the first half of a line.
fn partial(text: &str) {
    let line = format!("{{\"type\":\"assistant\",\"text\":{}", quoted(text));
    let half = line.floor_char_boundary(line.len().div_ceil(2).max(12));
    write(&[&line.as_bytes()[..half]]);
}

/// Starts a process in a separate group, as the tools of the clients do.
fn leave_behind(fork: Fork) -> Result<(), String> {
    let mut command = Command::new("sleep");
    command.arg(fork.seconds.to_string()).stdin(Stdio::null());
    if !fork.holds_output {
        command.stdout(Stdio::null()).stderr(Stdio::null());
    }
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn().map(drop).map_err(|error| format!("sleep: {error}"))
}

fn kill(signal: i32) -> Result<Option<u8>, String> {
    let own = std::process::id().to_string();
    Command::new("kill").arg(format!("-{signal}")).arg(own).status().map_err(|error| error.to_string())?;
    thread::sleep(Duration::from_secs(60));
    Err(format!("the signal {signal} did not come"))
}
