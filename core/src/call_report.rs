//! What a worker's client told of one call: its answer, what it cost, and why it failed.
//!
//! A *client* is the program that works: Claude Code, Codex CLI, or any that has a description. What its
//! output says is read by the rules of that description.

use serde::{Deserialize, Serialize};

use crate::evidence::Tokens;
pub use crate::evidence::{Cost, Scope, Usage};
use crate::id::Millis;

/// What a client told of one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reading {
    /// The client, by the name of its description.
    pub client: String,
    /// How the call ended, as far as the client tells.
    pub end: CallEnd,
    /// Why it failed, where it did; [`Trouble::EmptyAnswer`] and the limits of turns also where it did not.
    pub trouble: Option<Trouble>,
    /// What it says about that; at most [`Reading::MESSAGE_MAX`] bytes.
    pub message: String,
    /// The status of the service's answer.
    pub http_status: Option<u16>,
    /// How long it asks to wait.
    pub retry_after: Option<Millis>,
    /// When a limit ends, as it is written.
    pub resets: Option<String>,
    /// The conversation, by the name that the client has for it.
    pub session: Option<String>,
    /// The model that answered, as the client names it.
    pub model: Option<String>,
    /// A value that the client gave apart from its words: JSON as text.
    pub structured: Option<String>,
    /// The tokens, where it tells.
    pub usage: Option<Usage>,
    /// Tokens of requests that are in no sum that was told: it used no less beside [`Self::usage`].
    pub at_least: Option<Tokens>,
    /// The money, where it tells.
    pub cost: Option<Cost>,
    /// What it had counted when it began to count anew.
    pub earlier: Earlier,
    /// What it did.
    pub counts: Counts,
    /// Files that it says it changed, at most [`Reading::FILES_MAX`].
    pub files: Vec<String>,
}

impl Reading {
    /// Most bytes of a message.
    pub const MESSAGE_MAX: usize = 1000;
    /// Most files that are named.
    pub const FILES_MAX: usize = 100;
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// The client says that it is done.
    Done,
    /// It says that it failed, or it does not say how it ended.
    Failed,
    /// We ended it.
    Stopped,
}

/// Why a call failed, or what is wrong with its end: a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Trouble {
    /// A rate or usage limit was reached.
    RateLimit,
    /// The service has too much to do.
    Overloaded,
    /// The service answered with an error of its own.
    Server,
    /// The service cannot be reached, or the connection broke.
    Network,
    /// The key or the login is not good.
    Auth,
    /// There is no money left.
    Credit,
    /// The conversation is longer than the model takes.
    ContextOverflow,
    /// The service refuses what was asked.
    BadRequest,
    /// The bound of turns is reached.
    TurnLimit,
    /// A bound of money or time that the client keeps itself is reached.
    BudgetLimit,
    /// The conversation that was to go on is not there.
    NoSession,
    /// The client was called in a way that it does not take, or is not set up.
    Config,
    /// It ended by a signal or without a word.
    Crashed,
    /// Its output stops before its end.
    NoEnd,
    /// It says that it is done, and gives no answer.
    EmptyAnswer,
    /// It was interrupted.
    Interrupted,
    /// Something else.
    Unknown,
}

impl Trouble {
    /// Returns the words for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RateLimit => "limit reached",
            Self::Overloaded => "service overloaded",
            Self::Server => "service failed",
            Self::Network => "no connection",
            Self::Auth => "not logged in",
            Self::Credit => "no credit",
            Self::ContextOverflow => "conversation too long",
            Self::BadRequest => "request refused",
            Self::TurnLimit => "out of turns",
            Self::BudgetLimit => "out of the client's own budget",
            Self::NoSession => "conversation not found",
            Self::Config => "not set up",
            Self::Crashed => "crashed",
            Self::NoEnd => "output without an end",
            Self::EmptyAnswer => "no answer",
            Self::Interrupted => "interrupted",
            Self::Unknown => "failed",
        }
    }
}

/// What a client had counted in a call when one of its numbers went down, which says that it counts anew; added up.
/// Beside it, the last number counts whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Earlier {
    /// The tokens.
    pub usage: Option<Usage>,
    /// The money, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

impl Earlier {
    /// Returns the money of a call with what was counted before, in millionths of a US dollar.
    pub fn with(&self, cost: Cost) -> u64 {
        self.micro_usd.unwrap_or_default().saturating_add(cost.micro_usd)
    }
}

/// What a client did in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    /// Uses of a tool.
    pub tools: u32,
    /// Uses that failed.
    pub tools_failed: u32,
    /// Requests that it tried again.
    pub retries: u32,
    /// Uses of a tool that its permissions denied.
    pub denied: u32,
    /// Lines of its output that are not what it should write.
    pub unparsed: u32,
}

/// Where a call stands while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The conversation.
    pub session: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Its last words; at most [`Progress::TEXT_MAX`] bytes.
    pub text: String,
    /// What it does: the last use of a tool, such as `Bash: cargo test`; at most [`Progress::TEXT_MAX`] bytes.
    pub doing: String,
    /// What it did.
    pub counts: Counts,
    /// Files that it says it changed, at most [`Reading::FILES_MAX`].
    pub files: Vec<String>,
    /// The tokens so far, where it tells.
    pub usage: Option<Usage>,
    /// Tokens of requests that are in no sum that was told: it used no less beside [`Self::usage`].
    pub at_least: Option<Tokens>,
    /// The money so far, where it tells.
    pub cost: Option<Cost>,
    /// What it had counted when it began to count anew.
    pub earlier: Earlier,
    /// What it waits for before it tries again, if it does.
    pub retrying: Option<Retrying>,
}

impl Progress {
    /// Most bytes of a text.
    pub const TEXT_MAX: usize = 200;

    /// Returns what would be known of the call if it ended now.
    pub fn so_far(&self, client: &str) -> Reading {
        Reading {
            client: client.to_owned(),
            end: CallEnd::Failed,
            trouble: Some(Trouble::NoEnd),
            message: String::new(),
            http_status: None,
            retry_after: None,
            resets: None,
            session: self.session.clone(),
            model: self.model.clone(),
            structured: None,
            usage: self.usage,
            at_least: self.at_least,
            cost: self.cost,
            earlier: self.earlier,
            counts: self.counts,
            files: self.files.clone(),
        }
    }
}

/// A client waits before it tries again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Retrying {
    /// Why.
    pub trouble: Trouble,
    /// The try, from 1.
    pub attempt: u32,
    /// How many there will be at most, if it says.
    pub most: Option<u32>,
    /// How long it waits, if it says.
    pub delay: Option<Millis>,
}
