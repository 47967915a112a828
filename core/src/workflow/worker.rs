//! Worker: the program that does the work of a step, or checks it.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::client::Client;

/// A process that does the work, or that checks it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worker {
    /// Kind of program.
    pub kind: WorkerKind,
    /// The script of a `CUSTOM` worker, the prompt of any other.
    pub instructions: String,
    /// The command line of a [`WorkerKind::Command`], run by `sh -c`.
    #[serde(default)]
    pub command: Option<String>,
    /// Permissions.
    #[serde(default)]
    pub capabilities: Vec<Capability>,
    /// Requested model.
    #[serde(default)]
    pub model: Option<String>,
    /// Requested effort.
    #[serde(default)]
    pub variant: Option<String>,
    /// Extra arguments.
    #[serde(default)]
    pub default_args: Vec<String>,
    /// Working directory, relative to the workspace root.
    pub workspace: String,
    /// Maximum turns.
    #[serde(default)]
    pub max_steps: Option<u32>,
    /// Client to call; `None` for a script and for a command.
    #[serde(default)]
    pub client: Option<Box<Client>>,
    /// Command line that runs the client, or the command, such as `docker run ...`.
    #[serde(default)]
    pub wrap: Option<String>,
    /// Whether that command line also runs the commands that check the work.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub wraps_checks: bool,
    /// Whether it ignores the user's configuration, if the client supports that.
    #[serde(default)]
    pub isolated: bool,
    /// Replacements, in order, while its service is rate limited or unavailable.
    #[serde(default)]
    pub fallback: Vec<Worker>,
}

impl Worker {
    /// Returns a worker with defaults: it has no permissions, and works in the workspace root.
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

    /// Returns the worker that replaces it, with its instructions, permissions and limits. Model and arguments come
    /// from `other`, because those values mean nothing to another client.
    #[must_use]
    pub fn with_worker(&self, other: &Self) -> Self {
        Self {
            kind: other.kind,
            command: other.command.clone(),
            model: other.model.clone(),
            variant: other.variant.clone(),
            default_args: other.default_args.clone(),
            client: other.client.clone(),
            fallback: other.fallback.iter().map(|next| self.with_worker(next)).collect(),
            ..self.clone()
        }
    }

    /// Returns whether the program to start is known. If not, it must not run: the prompt of an agent is not a script.
    pub fn can_be_started(&self) -> bool {
        self.client.is_some() || self.command.is_some() || self.kind == WorkerKind::Custom
    }

    /// Returns whether its calls cost anything: a local script costs nothing.
    pub fn is_paid(&self) -> bool {
        self.kind != WorkerKind::Custom
    }

    /// Returns its name: its client, its command line, or its kind.
    pub fn name(&self) -> &str {
        match (&self.client, &self.command) {
            (Some(client), _) => &client.name,
            (None, Some(command)) => command,
            (None, None) => self.kind.as_str(),
        }
    }

    /// Returns the worker at this place of its chain, starting at 0 with itself.
    pub fn at(&self, place: u32) -> &Self {
        self.chain().nth(place as usize).unwrap_or(self)
    }

    /// Returns itself and all of its replacements.
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
    /// Any other client with a description.
    Client,
}

impl WorkerKind {
    /// Returns the name used in workflow files.
    pub fn as_str(self) -> &'static str {
        self.into()
    }

    /// Kinds with a dedicated client, and its name.
    const OF_CLIENTS: [(Self, &str); 3] =
        [(Self::ClaudeCode, "claude"), (Self::CodexCli, "codex"), (Self::OpenCode, "opencode")];

    /// Returns the kind that is recorded for a client of this name.
    pub fn of_client(name: &str) -> Self {
        let own = Self::OF_CLIENTS.into_iter().find(|(_, client)| *client == name);
        own.map_or(Self::Client, |(kind, _)| kind)
    }

    /// Returns the name of the fixed client of this kind.
    pub fn client_name(self) -> Option<&'static str> {
        Self::OF_CLIENTS.into_iter().find(|(kind, _)| *kind == self).map(|(_, client)| client)
    }
}

/// Permission of a worker.
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

/// Knowledge of a worker about the previous iteration, in addition to its prompt.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Session {
    /// None: each iteration starts a separate conversation.
    #[default]
    Fresh,
    /// The conversation continues, if the client supports that.
    Continue,
}
