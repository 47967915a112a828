//! Report of a worker's client on one call: the answer, the cost, and the reason of a failure.
//!
//! A *client* is the program that does the work: Claude Code, Codex CLI, or any other with a description. The rules of
//! that description parse its output.

use serde::{Deserialize, Serialize};

use crate::evidence::Tokens;
pub use crate::evidence::{Cost, Usage, UsagePeriod};
use crate::id::Millis;

/// Report of a client on one call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallReport {
    /// Client name from its description.
    pub client: String,
    /// How the call ended, as reported by the client.
    pub end: CallEnd,
    /// Reason of a failure; [`CallError::EmptyAnswer`] and the turn limits are also set without one.
    pub trouble: Option<CallError>,
    /// Message about the trouble; at most [`CallReport::MESSAGE_MAX`] bytes.
    pub message: String,
    /// HTTP status of the service's answer.
    pub http_status: Option<u16>,
    /// Requested delay before a retry.
    pub retry_after: Option<Millis>,
    /// Time when a limit resets, as written by the client.
    pub resets: Option<String>,
    /// Conversation, by the client's name for it.
    pub session: Option<String>,
    /// Model that answered, by the client's name for it.
    pub model: Option<String>,
    /// Structured value that the client returned apart from the text: JSON as a string.
    pub structured: Option<String>,
    /// Tokens, if reported.
    pub usage: Option<Usage>,
    /// Tokens of requests that no reported sum includes: a minimum in addition to [`Self::usage`].
    pub at_least: Option<Tokens>,
    /// Money, if reported.
    pub cost: Option<Cost>,
    /// Counts from before the client restarted its counters.
    pub earlier: PriorUsage,
    /// Counts of the client's activity.
    pub counts: ToolCounts,
    /// Files that the client reports as changed; at most [`CallReport::FILES_MAX`].
    pub files: Vec<String>,
}

impl CallReport {
    /// Maximum length of a message, in bytes.
    pub const MESSAGE_MAX: usize = 1000;
    /// Maximum number of named files.
    pub const FILES_MAX: usize = 100;
}

/// How a call ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallEnd {
    /// The client reported that it is done.
    Done,
    /// The client reported a failure, or did not report how it ended.
    Failed,
    /// Unstuck stopped it.
    Stopped,
}

/// Why a call failed, or what is wrong with its end: a closed set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CallError {
    /// A rate or usage limit was reached.
    RateLimit,
    /// The service is overloaded.
    Overloaded,
    /// The service answered with a server error.
    Server,
    /// The service cannot be reached, or the connection broke.
    Network,
    /// The key or the login is invalid.
    Auth,
    /// The account has no money left.
    Credit,
    /// The conversation is longer than the model accepts.
    ContextOverflow,
    /// The service rejected the request.
    BadRequest,
    /// The turn limit is reached.
    TurnLimit,
    /// A money or time limit that the client enforces is reached.
    BudgetLimit,
    /// The conversation to continue does not exist.
    NoSession,
    /// The client was called with invalid arguments, or is not set up.
    Config,
    /// The client was ended by a signal, or ended without output.
    Crashed,
    /// The output stops before its end.
    NoEnd,
    /// The client reported that it is done, and gave no answer.
    EmptyAnswer,
    /// The call was interrupted.
    Interrupted,
    /// Something else.
    Unknown,
}

impl CallError {
    /// Returns the readable name.
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

/// Sums that a client had counted in a call before a counter went down, which means that the counter restarted.
/// The last number counts in full in addition to them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct PriorUsage {
    /// The tokens.
    pub usage: Option<Usage>,
    /// The money, in millionths of a US dollar.
    pub micro_usd: Option<u64>,
}

impl PriorUsage {
    /// Returns the cost of a call including the earlier counts, in millionths of a US dollar.
    pub fn with(&self, cost: Cost) -> u64 {
        self.micro_usd.unwrap_or_default().saturating_add(cost.micro_usd)
    }
}

/// Counts of a client's activity in a call.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ToolCounts {
    /// Tool uses.
    pub tools: u32,
    /// Failed tool uses.
    pub tools_failed: u32,
    /// Retried requests.
    pub retries: u32,
    /// Tool uses that the client's permissions denied.
    pub denied: u32,
    /// Output lines in an unexpected format.
    pub unparsed: u32,
}

/// Progress of a running call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The conversation.
    pub session: Option<String>,
    /// The model that answers.
    pub model: Option<String>,
    /// Last text of the model; at most [`Progress::TEXT_MAX`] bytes.
    pub text: String,
    /// Current activity: the last tool use, such as `Bash: cargo test`; at most [`Progress::TEXT_MAX`] bytes.
    pub doing: String,
    /// Counts of the client's activity.
    pub counts: ToolCounts,
    /// Files that the client reports as changed; at most [`CallReport::FILES_MAX`].
    pub files: Vec<String>,
    /// Tokens so far, if reported.
    pub usage: Option<Usage>,
    /// Tokens of requests that no reported sum includes: a minimum in addition to [`Self::usage`].
    pub at_least: Option<Tokens>,
    /// Money so far, if reported.
    pub cost: Option<Cost>,
    /// Counts from before the client restarted its counters.
    pub earlier: PriorUsage,
    /// Retry that the client is waiting for, if any.
    pub retrying: Option<ClientRetry>,
}

impl Progress {
    /// Maximum length of a text, in bytes.
    pub const TEXT_MAX: usize = 200;

    /// Returns the report of the call as if it ended now.
    pub fn so_far(&self, client: &str) -> CallReport {
        CallReport {
            client: client.to_owned(),
            end: CallEnd::Failed,
            trouble: Some(CallError::NoEnd),
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

/// Wait of a client before a retry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClientRetry {
    /// Reason for the retry.
    pub trouble: CallError,
    /// Attempt number, starting at 1.
    pub attempt: u32,
    /// Maximum number of attempts, if reported.
    pub most: Option<u32>,
    /// Delay before the retry, if reported.
    pub delay: Option<Millis>,
}
