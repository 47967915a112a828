//! The table of keys of the description of a client.
//!
//! The page that tells their meaning is `docs/workers.md`.

use crate::workflow_file::keys::{Key, Kind, Level, optional, required};

/// A place in a file of descriptions that holds a map with known keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[expect(missing_docs, reason = "the titles say it")]
pub enum Part {
    File,
    Client,
    Launch,
    Grant,
    Isolated,
    Rule,
    Tool,
    Usage,
    Cost,
    Retry,
    Problem,
    Meaning,
}

/// Where the meaning of all keys is told.
const MEANING_PAGE: &str = "See docs/workers.md.";

const TEXTS: Kind = Kind::List(&Kind::AnyText);
const MEANINGS: Kind = Kind::List(&Kind::Map(Level::Client(Part::Meaning)));
const PROBLEM: Kind = Kind::Map(Level::Client(Part::Problem));

/// The names of all troubles.
pub const TROUBLES: &[&str] = &[
    "rate_limit", "overloaded", "server", "network", "auth", "credit", "context_overflow", "bad_request",
    "turn_limit", "budget_limit", "no_session", "config", "crashed", "no_end", "empty_answer", "interrupted",
    "unknown",
];

const fn key(name: &'static str, kind: Kind) -> Key {
    optional(name, kind, "none", MEANING_PAGE)
}

const fn needed(name: &'static str, kind: Kind) -> Key {
    required(name, kind, MEANING_PAGE)
}

const fn texts(name: &'static str) -> Key {
    key(name, TEXTS)
}

const fn flag(name: &'static str) -> Key {
    key(name, Kind::Flag)
}

/// One source or a list of them.
const fn pick(name: &'static str) -> Key {
    key(name, Kind::Anything)
}

const fn part(name: &'static str, part: Part) -> Key {
    key(name, Kind::Map(Level::Client(part)))
}

const FILE: &[Key] = &[needed("workers", Kind::Named(Level::Client(Part::Client)))];

// `like` gives what is left out, so that nothing can be required before it was looked at.
const CLIENT: &[Key] = &[
    key("like", Kind::Text),
    key("title", Kind::Text),
    key("program", Kind::Text),
    part("launch", Part::Launch),
    key("stop", Kind::List(&Kind::Word(&["int", "term"]))),
    key("login", Kind::Text),
    key("credit", Kind::Text),
    key("stream", Kind::Word(&["jsonl", "text"])),
    flag("structured_text"),
    key("ignore", Kind::List(&Kind::Text)),
    key("rules", Kind::List(&Kind::Map(Level::Client(Part::Rule)))),
    key("exits", Kind::Open),
    key("stderr", MEANINGS),
    key("troubles", MEANINGS),
];

const LAUNCH: &[Key] = &[
    texts("args"),
    key("prompt", Kind::Word(&["stdin", "file", "argument"])),
    texts("model"),
    key("model_prefix", Kind::Text),
    key("same", Kind::Texts),
    key("rewritten", Kind::Texts),
    texts("variant"),
    key("variants", Kind::Texts),
    texts("turns"),
    texts("usd"),
    texts("preset"),
    texts("resume"),
    texts("schema"),
    flag("strict_schema"),
    part("read", Part::Grant),
    part("edit", Part::Grant),
    part("all", Part::Grant),
    part("run", Part::Grant),
    texts("tests"),
    texts("last"),
    key("env", Kind::Texts),
    key("settings", Kind::Text),
    part("isolated", Part::Isolated),
];

const GRANT: &[Key] = &[texts("args"), needed("words", Kind::Text), flag("any_command")];

const ISOLATED: &[Key] = &[texts("args"), key("env", Kind::Texts)];

const RULE: &[Key] = &[
    needed("when", Kind::Open),
    key("each", Kind::Text),
    key("item", Kind::Open),
    flag("begin"),
    pick("session"),
    pick("model"),
    pick("text"),
    flag("delta"),
    pick("structured"),
    part("tool", Part::Tool),
    flag("tool_failed"),
    flag("denied"),
    pick("file"),
    part("usage", Part::Usage),
    part("cost", Part::Cost),
    part("retry", Part::Retry),
    part("error", Part::Problem),
    flag("done"),
    part("failed", Part::Problem),
];

const TOOL: &[Key] = &[needed("name", Kind::Anything), pick("detail")];

const SCOPE: Key = needed("scope", Kind::Word(&["request", "call", "session"]));

const USAGE: &[Key] = &[
    needed("scope", Kind::Word(&["request", "call", "session", "at_least"])),
    pick("request"),
    pick("input"),
    pick("cached"),
    pick("cache_write"),
    pick("output"),
    pick("reasoning"),
    flag("input_includes_cached"),
];

const COST: &[Key] = &[SCOPE, needed("usd", Kind::Anything)];

const RETRY: &[Key] = &[pick("attempt"), pick("most"), pick("delay_ms"), key("why", PROBLEM)];

const PROBLEM_KEYS: &[Key] =
    &[pick("message"), pick("code"), pick("status"), pick("retry_after"), pick("resets")];

const MEANING: &[Key] =
    &[needed("re", Kind::Text), needed("trouble", Kind::Word(TROUBLES)), key("help", Kind::Text)];

impl Part {
    /// All of them.
    pub const ALL: &[Self] = &[
        Self::File,
        Self::Client,
        Self::Launch,
        Self::Grant,
        Self::Isolated,
        Self::Rule,
        Self::Tool,
        Self::Usage,
        Self::Cost,
        Self::Retry,
        Self::Problem,
        Self::Meaning,
    ];

    /// Returns its keys.
    pub const fn keys(self) -> &'static [Key] {
        match self {
            Self::File => FILE,
            Self::Client => CLIENT,
            Self::Launch => LAUNCH,
            Self::Grant => GRANT,
            Self::Isolated => ISOLATED,
            Self::Rule => RULE,
            Self::Tool => TOOL,
            Self::Usage => USAGE,
            Self::Cost => COST,
            Self::Retry => RETRY,
            Self::Problem => PROBLEM_KEYS,
            Self::Meaning => MEANING,
        }
    }

    /// Returns the name of its definition in the schema of workflow files.
    pub const fn definition(self) -> &'static str {
        match self {
            Self::File => "client_file",
            Self::Client => "client",
            Self::Launch => "client_launch",
            Self::Grant => "client_grant",
            Self::Isolated => "client_isolated",
            Self::Rule => "client_rule",
            Self::Tool => "client_tool",
            Self::Usage => "client_usage",
            Self::Cost => "client_cost",
            Self::Retry => "client_retry",
            Self::Problem => "client_problem",
            Self::Meaning => "client_meaning",
        }
    }

    /// Returns where it stands, in words.
    pub const fn title(self) -> &'static str {
        match self {
            Self::File => "the top level of a file of workers",
            Self::Client => "the description of a worker",
            Self::Launch => "launch of a worker",
            Self::Grant => "read, edit and all of launch",
            Self::Isolated => "launch.isolated",
            Self::Rule => "a rule",
            Self::Tool => "tool of a rule",
            Self::Usage => "usage of a rule",
            Self::Cost => "cost of a rule",
            Self::Retry => "retry of a rule",
            Self::Problem => "error, failed and retry.why of a rule",
            Self::Meaning => "an entry of stderr and of troubles",
        }
    }
}
