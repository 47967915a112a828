//! Plan of a stand-in: a list of calls, each a list of acts.

use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Seek as _, Write as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;

/// The acts of every call.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub enum Plan {
    /// One list of calls for all clients.
    All(Vec<Vec<Act>>),
    /// A list of calls for each client.
    Each(BTreeMap<String, Vec<Vec<Act>>>),
}

/// One thing to do.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Act {
    /// Says a text; the last one is the answer.
    Say(String),
    /// Writes a file with the tool for files.
    Write(Write),
    /// Runs a command with the tool for commands.
    Shell(String),
    /// Writes the decision file that the prompt names, with the tool for files.
    Decide(Decision),
    /// Gives a value apart from the words, JSON as text; only where the call asks for one by a schema.
    Structured(String),
    /// Sets the tokens of the next message.
    Usage(Tokens),
    /// Sets the cost of the next message, in dollars.
    Cost(f64),
    /// Status 429.
    RateLimit(Fault),
    /// Status 401.
    AuthError(Fault),
    /// No money left.
    Credit(Fault),
    /// Status 529.
    Overloaded(Fault),
    /// Status 500.
    ServerError(Fault),
    /// No connection.
    NetworkError(Fault),
    /// The conversation is too long for the model.
    ContextOverflow(Fault),
    /// Prints this line as it is.
    Line(String),
    /// Prints the first half of a line that says this, without an end.
    Partial(String),
    /// Says much.
    Flood(Flood),
    /// Waits so many milliseconds.
    Sleep(u64),
    /// Never ends by itself; holds its output open.
    Hang {},
    /// Starts a process and leaves it behind.
    Fork(Fork),
    /// Ends itself by this signal.
    Kill(i32),
    /// Ends as the client does when it is done; what a list without an end ends with.
    EndSuccess {},
    /// Ends as the client does when it has failed.
    EndError(String),
    /// Ends as the client does when its turns are used up.
    EndMaxTurns {},
    /// Ends without output.
    EndNone {},
    /// Ends with this status, whatever was said before.
    Exit(u8),
}

/// A file to write.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Write {
    /// Where, from the folder of the call.
    pub path: String,
    /// What.
    pub content: String,
}

/// A decision to write.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Decision {
    /// `complete`, `incomplete` and so on.
    pub decision: String,
    /// Why.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The open problems.
    #[serde(default)]
    pub fingerprints: Vec<String>,
    /// In place of the id in the prompt.
    #[serde(default)]
    pub check_id: Option<String>,
    /// By the tool for commands, which overwrites what the tool for files refuses to.
    #[serde(default)]
    pub by_shell: bool,
}

/// Tokens of a message. `input` is without the cached ones, whatever the client prints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, serde::Serialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Tokens {
    pub input: u64,
    pub cached: u64,
    pub cache_write: u64,
    pub output: u64,
    pub reasoning: u64,
}

/// How the service fails.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Fault {
    /// Message of the service; each kind has a default.
    pub message: Option<String>,
    /// Delay until a retry, in seconds.
    pub retry_after: Option<u64>,
    /// End of the limit, as the client prints it. If set, the limit belongs to a subscription.
    pub resets: Option<String>,
    /// Number of retries of the client.
    pub retries: u32,
    /// Actual wait before each retry, in milliseconds.
    pub pause_ms: u64,
    /// Whether the last retry works and the next act follows. Otherwise the call ends.
    pub recovers: bool,
}

/// How much to say.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Flood {
    /// In all.
    pub bytes: usize,
    /// In one text.
    #[serde(default = "Flood::line")]
    pub line: usize,
}

impl Flood {
    fn line() -> usize {
        64 * 1024
    }
}

/// A process that is left behind.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fork {
    /// How long it lives.
    pub seconds: u64,
    /// It holds the output open.
    #[serde(default)]
    pub holds_output: bool,
}

impl Plan {
    /// Returns the acts of the next call of a client, with the number of the call, from 1.
    ///
    /// # Errors
    ///
    /// Where there is no such call.
    pub(super) fn next(path: &Path, client: &str) -> Result<(u64, Vec<Act>), String> {
        let text =
            fs::read_to_string(path).map_err(|error| format!("no plan {}: {error}", path.display()))?;
        // The untagged plan says of a wrong act only that it is wrong.
        let plan: Self = if text.trim_start().starts_with('[') {
            serde_json::from_str(&text).map(Self::All)
        } else {
            serde_json::from_str(&text).map(Self::Each)
        }
        .map_err(|error| format!("the plan {}: {error}", path.display()))?;
        let (mut calls, counter) = match plan {
            Self::All(calls) => (calls, beside(path, "calls")),
            Self::Each(mut of) => {
                (of.remove(client).unwrap_or_default(), beside(path, &format!("{client}.calls")))
            }
        };
        let number = count(&counter).map_err(|error| format!("{}: {error}", counter.display()))?;
        let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
        if index >= calls.len() {
            return Err(format!("the plan has no call {number} of {client}"));
        }
        Ok((number, calls.swap_remove(index)))
    }
}

/// Returns the file `<plan>.<what>`.
pub(super) fn beside(path: &Path, what: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{what}"));
    name.into()
}

/// Counts a call: each appends one byte, so that calls at the same time get different numbers.
fn count(counter: &Path) -> io::Result<u64> {
    let mut file = OpenOptions::new().append(true).create(true).open(counter)?;
    file.write_all(b".")?;
    file.stream_position()
}
