//! State and output that all clients share: templates, token counts, costs.

use std::io::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::Value;
use unstuck_core::id::Digest;

use super::plan::{Fault, Tokens};

/// A call on its way.
pub(super) struct Stage {
    /// The templates of the client.
    templates: &'static str,
    /// The output is a stream of JSON; or else only the answer is printed, at the end.
    pub streams: bool,
    pub session: String,
    pub model: String,
    pub prompt: String,
    pub cwd: String,
    /// Permission mode, as the client names it.
    pub permission: String,
    /// Tokens of the messages of this call; `micro_usd` is their cost.
    pub usage: Tokens,
    pub micro_usd: u64,
    /// Tokens and cost of the earlier calls of this conversation.
    pub before: (Tokens, u64),
    /// The message that is being said.
    pub message: (Tokens, u64),
    /// Messages so far.
    pub turns: u64,
    /// The last words.
    pub text: String,
    pub structured: Option<String>,
    ids: u64,
    time: u64,
}

/// A use of a tool.
pub(super) struct Tool {
    pub id: String,
    pub kind: Kind,
}

pub(super) enum Kind {
    Write { path: String, content: String },
    Shell { command: String },
}

/// Result of a tool call.
pub(super) struct Outcome {
    /// The exit code of a command, 0 for a file that was written.
    pub exit: i32,
    pub output: String,
    /// Whether the file existed before.
    pub existed: bool,
}

/// Why the service fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Why {
    RateLimit,
    Auth,
    Credit,
    Overloaded,
    Server,
    Network,
    Context,
}

/// A failure of the service: why, and how.
pub(super) struct Failure {
    pub why: Why,
    pub fault: Fault,
}

impl Failure {
    /// Returns the status of the service's answer.
    pub fn status(&self) -> Option<u16> {
        match self.why {
            // An empty account is refused as a limit is.
            Why::RateLimit | Why::Credit => Some(429),
            Why::Auth => Some(401),
            Why::Overloaded => Some(529),
            Why::Server => Some(500),
            Why::Network => None,
            Why::Context => Some(400),
        }
    }

    /// Returns what the service says.
    pub fn message(&self) -> String {
        let usual = match self.why {
            Why::RateLimit => "scripted rate limit",
            Why::Auth => "scripted bad key",
            Why::Credit => "You exceeded your current quota, please check your plan and billing details.",
            Why::Overloaded => "scripted overload",
            Why::Server => "scripted internal error",
            Why::Network => "Connection error.",
            Why::Context => "prompt is too long: 250000 tokens > 200000 maximum",
        };
        self.fault.message.clone().unwrap_or_else(|| usual.to_owned())
    }

    /// Returns the type that the service gives the error.
    pub fn error_type(&self) -> &'static str {
        match self.why {
            Why::RateLimit => "rate_limit_error",
            Why::Auth => "authentication_error",
            Why::Credit => "insufficient_quota",
            Why::Overloaded => "overloaded_error",
            Why::Server | Why::Network => "api_error",
            Why::Context => "invalid_request_error",
        }
    }

    /// Returns how long a client says that it waits.
    pub fn delay_ms(&self) -> u64 {
        self.fault.retry_after.map_or(500, |seconds| seconds.saturating_mul(1000))
    }
}

/// How a call ends.
pub(super) enum End {
    Done,
    Failed(String),
    MaxTurns(u64),
    MaxBudget(String),
}

/// Output of a client. Each function prints the lines for one kind of event.
pub(super) trait Voice {
    fn begin(&mut self, stage: &mut Stage);
    fn say(&mut self, stage: &mut Stage, text: &str);
    fn use_tool(&mut self, stage: &mut Stage, tool: &Tool);
    fn used_tool(&mut self, stage: &mut Stage, tool: &Tool, outcome: &Outcome);
    fn retry(&mut self, stage: &mut Stage, failure: &Failure, attempt: u32);
    /// Returns the exit status.
    fn fail(&mut self, stage: &mut Stage, failure: &Failure) -> u8;
    /// Returns the exit status.
    fn end(&mut self, stage: &mut Stage, end: &End) -> u8;
}

/// Returns a text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// Returns dollars as JSON.
pub(super) fn dollars(micro_usd: u64) -> String {
    #[expect(clippy::cast_precision_loss, reason = "as imprecise as the clients")]
    let dollars = micro_usd as f64 / 1e6;
    if micro_usd == 0 { "0".to_owned() } else { Value::from(dollars).to_string() }
}

impl Stage {
    pub fn new(templates: &'static str, session: String) -> Self {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let cwd = std::env::current_dir().unwrap_or_default();
        Self {
            templates,
            streams: true,
            session,
            model: "scripted-1".to_owned(),
            prompt: String::new(),
            cwd: cwd.to_string_lossy().into_owned(),
            permission: String::new(),
            usage: Tokens::default(),
            micro_usd: 0,
            before: Default::default(),
            message: Default::default(),
            turns: 0,
            text: String::new(),
            structured: None,
            ids: 0,
            time: u64::try_from(time.as_millis()).unwrap_or(u64::MAX),
        }
    }

    /// Counts a message of the model, which says something or uses a tool.
    pub fn count(&mut self, tokens: Tokens, micro_usd: u64) {
        self.message = (tokens, micro_usd);
        self.usage = sum(self.usage, tokens);
        self.micro_usd += micro_usd;
        self.turns += 1;
    }

    /// Returns what the whole conversation counts and costs.
    pub fn conversation(&self) -> (Tokens, u64) {
        (sum(self.before.0, self.usage), self.before.1 + self.micro_usd)
    }

    /// Returns a number that no other thing of the call has.
    pub fn id(&mut self) -> u64 {
        self.ids += 1;
        self.ids
    }

    /// Prints the line of a template, see [`Self::fill`].
    pub fn line(&mut self, template: &str, values: &[(&str, String)]) {
        let line = self.fill(template, values);
        self.print(&line);
    }

    /// Prints a line of the stream.
    pub fn print(&self, line: &str) {
        if self.streams {
            write(&[line.as_bytes(), b"\n"]);
        }
    }

    /// Returns a template with the values put in for `"$name"`: JSON each. What every line may have is known:
    /// session, model and so on.
    pub fn fill(&mut self, template: &str, values: &[(&str, String)]) -> String {
        let mut lines = self.templates.lines().filter_map(|line| line.split_once(' '));
        let (_, mut rest) = lines.find(|(name, _)| *name == template).expect("a template of this client");
        let mut line = String::new();
        while let Some((head, tail)) = rest.split_once("\"$") {
            let (name, tail) = tail.split_once('"').expect("a placeholder ends");
            line.push_str(head);
            match values.iter().find(|(known, _)| *known == name) {
                Some((_, value)) => line.push_str(value),
                None => line.push_str(&self.known(name)),
            }
            rest = tail;
        }
        line.push_str(rest);
        line.replace("\"@model\"", &quoted(&self.model))
    }

    fn known(&mut self, name: &str) -> String {
        match name {
            "session" => quoted(&self.session),
            "model" => quoted(&self.model),
            "cwd" => quoted(&self.cwd),
            "prompt" => quoted(&self.prompt),
            "permission" => quoted(&self.permission),
            "turns" => self.turns.to_string(),
            "uuid" => {
                let id = self.id();
                quoted(&uuid(&format!("{} {id}", self.session), '4'))
            }
            "time" => quoted(&moment(self.time)),
            "millis" => self.time.to_string(),
            "seconds" => (self.time / 1000).to_string(),
            _ => panic!("the value {name} of a template"),
        }
    }

    /// Returns the numbers of tokens under the names that templates have for them.
    pub fn numbers(tokens: Tokens, micro_usd: u64) -> Vec<(&'static str, String)> {
        let read = tokens.input + tokens.cached + tokens.cache_write;
        vec![
            ("input", tokens.input.to_string()),
            ("input_total", read.to_string()),
            ("cached", tokens.cached.to_string()),
            ("cache_write", tokens.cache_write.to_string()),
            ("output_tokens", tokens.output.to_string()),
            ("reasoning", tokens.reasoning.to_string()),
            ("total", (read + tokens.output).to_string()),
            ("cost", dollars(micro_usd)),
        ]
    }
}

/// Writes to standard output and flushes. Exits with status 141 if the reader is gone.
pub(super) fn write(parts: &[&[u8]]) {
    let mut out = io::stdout().lock();
    let written = parts.iter().try_for_each(|part| out.write_all(part)).and_then(|()| out.flush());
    if written.is_err() {
        std::process::exit(141);
    }
}

fn sum(a: Tokens, b: Tokens) -> Tokens {
    Tokens {
        input: a.input + b.input,
        cached: a.cached + b.cached,
        cache_write: a.cache_write + b.cache_write,
        output: a.output + b.output,
        reasoning: a.reasoning + b.reasoning,
    }
}

/// Returns an id in the form of a UUID of a version, the same for the same text.
pub(super) fn uuid(text: &str, version: char) -> String {
    let hex = Digest::sha256(text.as_bytes()).to_string();
    format!("{}-{}-{version}{}-8{}-{}", &hex[..8], &hex[8..12], &hex[13..16], &hex[17..20], &hex[20..32])
}

/// Returns a time as `2026-11-21T20:51:24.495Z`.
fn moment(millis: u64) -> String {
    let (days, rest) = (millis / 86_400_000, millis % 86_400_000);
    // Civil from days, as in Howard Hinnant's paper; for days after 1970.
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year = (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + era * 400 + u64::from(month <= 2);
    let (hours, minutes, seconds) = (rest / 3_600_000, rest / 60_000 % 60, rest / 1000 % 60);
    format!("{year:04}-{month:02}-{day:02}T{hours:02}:{minutes:02}:{seconds:02}.{:03}Z", rest % 1000)
}
