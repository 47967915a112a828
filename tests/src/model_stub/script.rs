//! Script for a model: its answers and faults.

use serde_json::Value;

/// One answer of a model, or what goes wrong in its place.
#[derive(Clone, Debug)]
pub struct Turn {
    pub(super) act: Act,
    pub(super) tokens: Tokens,
}

#[derive(Clone, Debug)]
pub(super) enum Act {
    Say(String),
    Read(String),
    Write { path: String, text: String },
    Run(String),
    Value(Value),
    Fault(Fault),
}

/// Token counts of an answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// Read by the model, those from a cache not included.
    pub input: u64,
    /// Read from a cache.
    pub cached: u64,
    /// Written by the model.
    pub output: u64,
}

/// A fault that replaces an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// The service refuses, and may say for how many seconds.
    Status {
        /// The status, such as 429.
        status: u16,
        /// The seconds to wait.
        retry_after: Option<u32>,
    },
    /// The connection breaks in the middle of a streamed answer. An answer that is not streamed arrives in full.
    Cut,
    /// Nothing comes, and the connection stays.
    Silence,
}

impl Turn {
    /// Says something.
    pub fn say(text: &str) -> Self {
        Act::Say(text.to_owned()).into()
    }

    /// Reads a file with the tool that is offered for it.
    pub fn read(path: &str) -> Self {
        Act::Read(path.to_owned()).into()
    }

    /// Writes a file with the tool that is offered for it.
    pub fn write(path: &str, text: &str) -> Self {
        Act::Write { path: path.to_owned(), text: text.to_owned() }.into()
    }

    /// Runs a command of the shell with the tool that is offered for it.
    pub fn run(command: &str) -> Self {
        Act::Run(command.to_owned()).into()
    }

    /// Gives a value with the tool that is offered for it, or else as text.
    pub fn value(value: Value) -> Self {
        Act::Value(value).into()
    }

    /// Fails.
    pub fn fail(fault: Fault) -> Self {
        Act::Fault(fault).into()
    }

    /// Counts so many tokens.
    #[must_use]
    pub fn counting(self, tokens: Tokens) -> Self {
        Self { tokens, ..self }
    }
}

impl From<Act> for Turn {
    fn from(act: Act) -> Self {
        Self { act, tokens: Tokens::default() }
    }
}
