//! Who does the work of a step, or checks it.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::client::Client;

/// A process that does the work, or that checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// What kind of program it is.
    pub kind: WorkerKind,
    /// The script of a `CUSTOM` worker, the prompt of any other.
    pub instructions: String,
    /// The command line of a [`WorkerKind::Command`], run by `sh -c`.
    #[serde(default)]
    pub command: Option<String>,
    /// What it may do.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// Model to ask for.
    #[serde(default)]
    pub model: Option<String>,
    /// Effort to ask for.
    #[serde(default)]
    pub variant: Option<String>,
    /// Extra arguments.
    #[serde(default)]
    pub default_args: Vec<String>,
    /// Working folder, from the workspace root.
    pub workspace: String,
    /// Bound of its turns.
    #[serde(default)]
    pub max_steps: Option<u32>,
    /// The client that is called; `None` for a script and for a command.
    #[serde(default)]
    pub client: Option<Box<Client>>,
    /// A command line that the client, or the command, is run by, such as `docker run ...`.
    #[serde(default)]
    pub wrap: Option<String>,
    /// The commands that check its work are run by that command line, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wraps_checks: bool,
    /// It is kept from the configuration of the user, where the client can do that.
    #[serde(default)]
    pub isolated: bool,
    /// Who takes over, one after the other, while its service is limited or out of order.
    #[serde(default)]
    pub fallback: Vec<Worker>,
}

impl Worker {
    /// Returns a worker of whom nothing else is said: it may do nothing yet, and works in the workspace root.
    pub fn new(kind: WorkerKind, instructions: impl Into<String>) -> Self {
        Self {
            kind,
            instructions: instructions.into(),
            command: None,
            capabilities: Vec::new(),
            model: None,
            variant: None,
            default_args: Vec::new(),
            workspace: ".".to_owned(),
            max_steps: None,
            client: None,
            wrap: None,
            wraps_checks: false,
            isolated: false,
            fallback: Vec::new(),
        }
    }

    /// Returns who does the same in its place, with its instructions, rights and bounds. What was said of the model and the
    /// arguments of the one means nothing to the other.
    #[must_use]
    pub fn handed_to(&self, other: &Self) -> Self {
        Self {
            kind: other.kind,
            command: other.command.clone(),
            model: other.model.clone(),
            variant: other.variant.clone(),
            default_args: other.default_args.clone(),
            client: other.client.clone(),
            fallback: other.fallback.iter().map(|next| self.handed_to(next)).collect(),
            ..self.clone()
        }
    }

    /// Says whether it is known what is to be started for it. Never run what this says no to: the prompt of an agent
    /// is no script.
    pub fn can_be_started(&self) -> bool {
        self.client.is_some() || self.command.is_some() || self.kind == WorkerKind::Custom
    }

    /// Says whether somebody has to be paid for what it does: a script of one's own costs nothing.
    pub fn is_paid(&self) -> bool {
        self.kind != WorkerKind::Custom
    }

    /// Returns what it is called: its client, its command line, or its kind.
    pub fn name(&self) -> &str {
        match (&self.client, &self.command) {
            (Some(client), _) => &client.name,
            (None, Some(command)) => command,
            (None, None) => self.kind.as_str(),
        }
    }

    /// Returns who does its work at this place of the chain: itself at 0.
    pub fn at(&self, place: u32) -> &Self {
        self.chain().nth(place as usize).unwrap_or(self)
    }

    /// Returns itself and all who may take over.
    pub fn chain(&self) -> impl Iterator<Item = &Self> {
        std::iter::once(self).chain(&self.fallback)
    }
}

/// The kinds of program that can work or check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[strum(serialize_all = "SCREAMING_SNAKE_CASE")]
pub enum WorkerKind {
    /// A shell script; as a check its exit code is the verdict.
    Custom,
    /// Any command line that reads a prompt on standard input and prints an answer.
    Command,
    /// Claude Code.
    ClaudeCode,
    /// Codex CLI.
    CodexCli,
    /// OpenCode.
    #[serde(rename = "OPENCODE")]
    #[strum(serialize = "OPENCODE")]
    OpenCode,
    /// Any other client that has a description.
    Client,
}

impl WorkerKind {
    /// Returns the name used in workflow files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// The kinds that have a client of their own, and its name.
    const OF_CLIENTS: [(Self, &str); 3] =
        [(Self::ClaudeCode, "claude"), (Self::CodexCli, "codex"), (Self::OpenCode, "opencode")];

    /// Returns the kind that a client of this name is recorded as.
    pub fn of_client(name: &str) -> Self {
        let own = Self::OF_CLIENTS.into_iter().find(|(_, client)| *client == name);
        own.map_or(Self::Client, |(kind, _)| kind)
    }

    /// Returns the name of the client that such a worker always is.
    pub fn client_name(self) -> Option<&'static str> {
        Self::OF_CLIENTS.into_iter().find(|(kind, _)| *kind == self).map(|(_, client)| client)
    }
}

/// What a worker may do.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Capability {
    Read,
    Edit,
    RunTests,
    RunCommands,
    Mailbox,
    Tasks,
}

/// What the worker of an iteration knows of the one before, beside its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    /// Nothing: each begins a conversation of its own.
    #[default]
    Fresh,
    /// The conversation goes on, where the client can do that.
    Continue,
}
