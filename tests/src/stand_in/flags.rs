//! The flags that each client takes, and how it fails when it is called in another way.

use std::collections::BTreeMap;

/// How a client was called.
#[derive(Debug, Default)]
pub(super) struct Flags {
    /// Values of the flags that were given. The last value of a flag counts.
    values: BTreeMap<&'static str, String>,
    /// Flags that were given more than once.
    twice: Vec<&'static str>,
    /// The other words.
    pub words: Vec<String>,
}

/// A way of calling that the client refuses: its status, and what it says on standard error.
#[derive(Debug)]
pub(super) struct Refused {
    pub status: u8,
    pub says: String,
}

/// The flags of one client. The first name of each is the one it is asked for by; `=` stands for a value.
type Table = &'static [&'static [&'static str]];

const CLAUDE: Table = &[
    &["--print", "-p"],
    &["--output-format="],
    &["--input-format="],
    &["--verbose"],
    &["--model="],
    &["--fallback-model="],
    &["--dangerously-skip-permissions"],
    &["--permission-mode="],
    &["--session-id="],
    &["--resume=", "-r"],
    &["--continue", "-c"],
    &["--fork-session"],
    &["--max-turns="],
    &["--max-budget-usd="],
    &["--json-schema="],
    &["--bare"],
    &["--strict-mcp-config"],
    &["--mcp-config="],
    &["--setting-sources="],
    &["--settings="],
    &["--allowedTools=", "--allowed-tools"],
    &["--disallowedTools=", "--disallowed-tools"],
    &["--append-system-prompt="],
    &["--system-prompt="],
    &["--add-dir="],
    &["--include-partial-messages"],
];

const CODEX: Table = &[
    &["--json"],
    &["--skip-git-repo-check"],
    &["--model=", "-m"],
    &["--sandbox=", "-s"],
    &["--dangerously-bypass-approvals-and-sandbox"],
    &["--config=", "-c"],
    &["--output-schema="],
    &["--output-last-message=", "-o"],
    &["--cd=", "-C"],
    &["--add-dir="],
    &["--profile=", "-p"],
    &["--color="],
    &["--ephemeral"],
    &["--ignore-user-config"],
];

const OPENCODE: Table = &[
    &["--print-logs"],
    &["--log-level="],
    &["--pure"],
    &["--command="],
    &["--continue", "-c"],
    &["--session=", "-s"],
    &["--fork"],
    &["--share"],
    &["--model=", "-m"],
    &["--agent="],
    &["--format="],
    &["--file=", "-f"],
    &["--title="],
    &["--attach="],
    &["--dir="],
    &["--port="],
    &["--variant="],
    &["--thinking"],
    &["--auto"],
];

const GEMINI: Table = &[
    &["--prompt=", "-p"],
    &["--output-format=", "-o"],
    &["--model=", "-m"],
    &["--skip-trust"],
    &["--approval-mode="],
    &["--yolo", "-y"],
    &["--session-id="],
    &["--resume=", "-r"],
    &["--sandbox", "-s"],
    &["--include-directories="],
    &["--allowed-tools="],
    &["--extensions=", "-e"],
    &["--debug", "-d"],
];

const QWEN: Table = &[
    &["--prompt=", "-p"],
    &["--output-format=", "-o"],
    &["--model=", "-m"],
    &["--auth-type="],
    &["--approval-mode="],
    &["--yolo", "-y"],
    &["--session-id="],
    &["--resume=", "-r"],
    &["--fork-session"],
    &["--max-session-turns="],
    &["--max-tool-calls="],
    &["--max-wall-time="],
    &["--json-schema="],
    &["--include-partial-messages"],
    &["--include-directories="],
];

const PI: Table = &[
    &["--print", "-p"],
    &["--mode="],
    &["--provider="],
    &["--model="],
    &["--tools="],
    &["--session="],
    &["--fork="],
    &["--no-session"],
    &["--thinking="],
    &["--system-prompt="],
    &["--append-system-prompt="],
];

const GOOSE: Table = &[
    &["--instructions=", "-i"],
    &["--text=", "-t"],
    &["--output-format="],
    &["--quiet", "-q"],
    &["--provider="],
    &["--model="],
    &["--no-session"],
    &["--name=", "-n"],
    &["--session-id="],
    &["--resume", "-r"],
    &["--max-turns="],
    &["--max-tool-repetitions="],
    &["--system="],
    &["--debug"],
];

const AIDER: Table = &[
    &["--message-file=", "-f"],
    &["--message=", "-m"],
    &["--yes-always"],
    &["--no-pretty"],
    &["--no-stream"],
    &["--model="],
    &["--no-analytics"],
    &["--no-check-update"],
    &["--no-show-model-warnings"],
    &["--no-show-release-notes"],
    &["--no-auto-commits"],
    &["--no-dirty-commits"],
    &["--no-gitignore"],
    &["--no-git"],
    &["--no-fancy-input"],
    &["--no-detect-urls"],
    &["--no-suggest-shell-commands"],
    &["--dry-run"],
    &["--edit-format="],
    &["--file="],
    &["--read="],
    &["--map-tokens="],
    &["--chat-history-file="],
    &["--input-history-file="],
];

fn table(client: &str) -> Table {
    match client {
        "claude" => CLAUDE,
        "codex" => CODEX,
        "opencode" => OPENCODE,
        "gemini" => GEMINI,
        "qwen" => QWEN,
        "pi" => PI,
        "goose" => GOOSE,
        _ => AIDER,
    }
}

impl Flags {
    /// Reads the words behind the name of the program.
    pub fn read(client: &str, arguments: &[String]) -> Result<Self, Refused> {
        let mut flags = Self::default();
        let mut rest = arguments.iter();
        while let Some(word) = rest.next() {
            if word == "--" {
                flags.words.extend(rest.by_ref().cloned());
            } else if word == "-" || !word.starts_with('-') {
                flags.words.push(word.clone());
            } else {
                flags.flag(client, word, &mut rest)?;
            }
        }
        flags.check(client)?;
        Ok(flags)
    }

    fn flag<'a>(
        &mut self,
        client: &str,
        word: &str,
        rest: &mut impl Iterator<Item = &'a String>,
    ) -> Result<(), Refused> {
        let (name, attached) =
            word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value.to_owned())));
        let known =
            table(client).iter().find(|names| names.iter().any(|flag| flag.trim_end_matches('=') == name));
        let Some(first) = known.map(|names| names[0]) else { return Err(unknown(client, word)) };
        let value = match (first.ends_with('='), attached) {
            (true, Some(value)) => value,
            (true, None) => rest.next().cloned().ok_or_else(|| unknown(client, word))?,
            (false, _) => String::new(),
        };
        if self.values.insert(first.trim_end_matches('='), value).is_some() {
            self.twice.push(first.trim_end_matches('='));
        }
        Ok(())
    }

    /// Returns the value of a flag, which is empty if the flag takes none.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.values.get(name).map(String::as_str)
    }

    pub fn has(&self, name: &str) -> bool {
        self.values.contains_key(name)
    }

    /// Says whether the output is a stream of JSON. Gemini and Qwen take a format that is given twice for none.
    pub fn streams(&self, client: &str) -> bool {
        match client {
            "claude" => self.get("--output-format") == Some("stream-json"),
            "codex" => self.has("--json"),
            "opencode" => self.get("--format") == Some("json"),
            "gemini" | "qwen" => {
                self.get("--output-format") == Some("stream-json") && !self.twice.contains(&"--output-format")
            }
            "pi" => self.get("--mode") == Some("json"),
            "goose" => self.get("--output-format") == Some("stream-json"),
            _ => false,
        }
    }

    /// Says whether nothing may be changed.
    pub fn reads_only(&self, client: &str) -> bool {
        match client {
            "claude" => self.get("--permission-mode") == Some("plan"),
            "codex" => match self.get("--sandbox") {
                Some(sandbox) => sandbox == "read-only",
                None => !self.has("--dangerously-bypass-approvals-and-sandbox"),
            },
            "opencode" => self.get("--agent") == Some("plan"),
            "gemini" | "qwen" => self.get("--approval-mode") == Some("plan"),
            "pi" => self.get("--tools").is_some_and(|tools| !tools.split(',').any(|tool| tool == "write")),
            // By its mode, which no flag is for.
            "goose" => false,
            _ => self.has("--dry-run"),
        }
    }

    /// Refuses flags that a client does not accept together.
    fn check(&self, client: &str) -> Result<(), Refused> {
        let refuse = |says: &str| Err(Refused { status: 1, says: says.to_owned() });
        match client {
            "claude" if self.has("--print") && self.streams(client) && !self.has("--verbose") => {
                refuse("Error: When using --print, --output-format=stream-json requires --verbose")
            }
            "claude"
                if self.has("--dangerously-skip-permissions")
                    && is_root()
                    && std::env::var_os("IS_SANDBOX").is_none_or(|value| value != "1") =>
            {
                refuse(
                    "--dangerously-skip-permissions cannot be used with root/sudo privileges for security reasons",
                )
            }
            "codex" if self.words.first().is_none_or(|word| word != "exec") => {
                Err(Refused { status: 1, says: "Error: stdin is not a terminal".to_owned() })
            }
            "codex" if !self.has("--skip-git-repo-check") && !in_repository() => {
                refuse("Not inside a trusted directory and --skip-git-repo-check was not specified.")
            }
            "qwen" if self.get("--session-id").is_some_and(|id| !is_old_uuid(id)) => {
                refuse("Invalid --session-id: it must be a valid UUID")
            }
            "opencode" if self.words.first().is_none_or(|word| word != "run") => refuse("opencode [project]"),
            "goose" if self.words.first().is_none_or(|word| word != "run") => {
                refuse("error: unrecognized subcommand")
            }
            _ => Ok(()),
        }
    }
}

/// Says whether a name is a UUID of a version that is older than the 7th.
fn is_old_uuid(id: &str) -> bool {
    id.len() == 36 && matches!(id.as_bytes()[14], b'1'..=b'5')
}

/// Returns how a client refuses a flag.
fn unknown(client: &str, word: &str) -> Refused {
    let (status, says) = match client {
        "claude" => (1, format!("error: unknown option '{word}'")),
        "codex" => (
            2,
            format!(
                "error: unexpected argument '{word}' found\n\n  tip: to pass '{word}' as a value, use '-- {word}'\n\n\
                 Usage: codex exec [OPTIONS] [PROMPT]\n       codex exec [OPTIONS] <COMMAND> [ARGS]\n\n\
                 For more information, try '--help'."
            ),
        ),
        "opencode" => (1, "opencode run [message..]\n\nrun opencode with a message".to_owned()),
        "gemini" | "qwen" => {
            let name = word.trim_start_matches('-');
            (1, format!("Unknown argument: {name}\nUsage: {client} [options] [command]"))
        }
        "pi" => (1, format!("Error: Unknown option: {word}")),
        "goose" => (2, format!("error: unexpected argument '{word}' found\n\nUsage: goose run [OPTIONS]")),
        _ => (2, format!("usage: aider [-h]\naider: error: unrecognized arguments: {word}")),
    };
    Refused { status, says }
}

#[cfg(unix)]
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    // The folder of a process belongs to its effective user.
    std::fs::metadata("/proc/self").is_ok_and(|process| process.uid() == 0)
}

#[cfg(not(unix))]
fn is_root() -> bool {
    false
}

fn in_repository() -> bool {
    let here = std::env::current_dir().unwrap_or_default();
    here.ancestors().any(|folder| folder.join(".git").exists())
}
