//! The table of keys of the description of a client.
//!
//! The page that tells their meaning is `docs/workers.md`.

use unstuck_document::keys::{FileFormat, Key, KeyContext, KeyType, optional, required};

/// Files that describe workers.
pub static WORKERS: FileFormat = FileFormat {
    page: "docs/workers.md",
    schema: None,
    levels: &[
        &FILE, &CLIENT, &LAUNCH, &GRANT, &ISOLATED, &RULE, &TOOL, &USAGE, &COST, &RETRY, &PROBLEM_KEYS,
        &MEANING,
    ],
};

/// The page that explains all keys.
const MEANING_PAGE: &str = "See docs/workers.md.";

const TEXTS: KeyType = KeyType::List(&KeyType::AnyText);

/// The names of all troubles.
pub const TROUBLES: &[&str] = &[
    "rate_limit", "overloaded", "server", "network", "auth", "credit", "context_overflow", "bad_request",
    "turn_limit", "budget_limit", "no_session", "config", "crashed", "no_end", "empty_answer", "interrupted",
    "unknown",
];

const fn key(name: &'static str, kind: KeyType) -> Key {
    optional(name, kind, "none", MEANING_PAGE)
}

const fn needed(name: &'static str, kind: KeyType) -> Key {
    required(name, kind, MEANING_PAGE)
}

const fn texts(name: &'static str) -> Key {
    key(name, TEXTS)
}

const fn flag(name: &'static str) -> Key {
    key(name, KeyType::Flag)
}

/// One source or a list of them.
const fn pick(name: &'static str) -> Key {
    key(name, KeyType::Anything)
}

const fn part(name: &'static str, level: &'static KeyContext) -> Key {
    key(name, KeyType::Map(level))
}

/// Keys of the top level of a file of workers.
pub static FILE: KeyContext = KeyContext {
    title: "the top level of a file of workers",
    definition: "client_file",
    format: &WORKERS,
    is_inert: false,
    keys: &[needed("workers", KeyType::Named(&CLIENT))],
};

// `like` gives what is left out, so that nothing can be required before it was looked at.
/// Keys of the description of a worker.
pub static CLIENT: KeyContext = KeyContext {
    title: "the description of a worker",
    definition: "client",
    format: &WORKERS,
    is_inert: false,
    keys: &[
        key("like", KeyType::Text),
        key("title", KeyType::Text),
        key("program", KeyType::Text),
        part("launch", &LAUNCH),
        key("stop", KeyType::List(&KeyType::Word(&["int", "term"]))),
        key("login", KeyType::Text),
        key("credit", KeyType::Text),
        key("stream", KeyType::Word(&["jsonl", "text"])),
        flag("structured_text"),
        key("ignore_prefixes", KeyType::List(&KeyType::Text)).was("ignore"),
        key("rules", KeyType::List(&KeyType::Map(&RULE))),
        key("exit_codes", KeyType::Open).was("exits"),
        key("stderr", KeyType::List(&KeyType::Map(&MEANING))),
        key("error_patterns", KeyType::List(&KeyType::Map(&MEANING))).was("troubles"),
    ],
};

/// Keys of launch of a worker.
pub static LAUNCH: KeyContext = KeyContext {
    title: "launch of a worker",
    definition: "client_launch",
    format: &WORKERS,
    is_inert: false,
    keys: &[
        texts("args"),
        key("prompt", KeyType::Word(&["stdin", "file", "argument"])),
        texts("model"),
        key("model_prefix", KeyType::Text),
        key("same", KeyType::Texts),
        key("rewritten", KeyType::Texts),
        texts("variant"),
        key("variants", KeyType::Texts),
        texts("max_turns").was("turns"),
        texts("max_cost").was("usd"),
        texts("new_session").was("preset"),
        texts("resume"),
        texts("schema"),
        flag("strict_schema"),
        part("read", &GRANT),
        part("edit", &GRANT),
        part("unrestricted", &GRANT).was("all"),
        part("run", &GRANT),
        texts("tests"),
        texts("trailing_args").was("last"),
        key("env", KeyType::Texts),
        key("settings", KeyType::Text),
        part("isolated", &ISOLATED),
    ],
};

/// Keys of read, edit, unrestricted and run of launch.
pub static GRANT: KeyContext = KeyContext {
    title: "read, edit, unrestricted and run of launch",
    definition: "client_grant",
    format: &WORKERS,
    is_inert: false,
    keys: &[texts("args"), needed("description", KeyType::Text).was("words"), flag("any_command")],
};

/// Keys of launch.isolated.
pub static ISOLATED: KeyContext = KeyContext {
    title: "launch.isolated",
    definition: "client_isolated",
    format: &WORKERS,
    is_inert: false,
    keys: &[texts("args"), key("env", KeyType::Texts)],
};

/// Keys of a rule.
pub static RULE: KeyContext = KeyContext {
    title: "a rule",
    definition: "client_rule",
    format: &WORKERS,
    is_inert: false,
    keys: &[
        needed("when", KeyType::Open),
        key("each", KeyType::Text),
        key("item", KeyType::Open),
        flag("restart").was("begin"),
        pick("session"),
        pick("model"),
        pick("text"),
        flag("delta"),
        pick("structured"),
        part("tool", &TOOL),
        flag("tool_failed"),
        flag("permission_denied").was("denied"),
        pick("file"),
        part("usage", &USAGE),
        part("cost", &COST),
        part("retry", &RETRY),
        part("error", &PROBLEM_KEYS),
        flag("done"),
        part("failed", &PROBLEM_KEYS),
    ],
};

/// Keys of tool of a rule.
pub static TOOL: KeyContext = KeyContext {
    title: "tool of a rule",
    definition: "client_tool",
    format: &WORKERS,
    is_inert: false,
    keys: &[needed("name", KeyType::Anything), pick("detail")],
};

const SCOPE: Key = needed("scope", KeyType::Word(&["request", "call", "session"]));

/// Keys of usage of a rule.
pub static USAGE: KeyContext = KeyContext {
    title: "usage of a rule",
    definition: "client_usage",
    format: &WORKERS,
    is_inert: false,
    keys: &[
        needed("scope", KeyType::Word(&["request", "call", "session", "at_least"])),
        pick("request"),
        pick("input"),
        pick("cached"),
        pick("cache_write"),
        pick("output"),
        pick("reasoning"),
        flag("input_includes_cached"),
    ],
};

/// Keys of cost of a rule.
pub static COST: KeyContext = KeyContext {
    title: "cost of a rule",
    definition: "client_cost",
    format: &WORKERS,
    is_inert: false,
    keys: &[SCOPE, needed("usd", KeyType::Anything)],
};

/// Keys of retry of a rule.
pub static RETRY: KeyContext = KeyContext {
    title: "retry of a rule",
    definition: "client_retry",
    format: &WORKERS,
    is_inert: false,
    keys: &[pick("attempt"), pick("most"), pick("delay_ms"), key("why", KeyType::Map(&PROBLEM_KEYS))],
};

/// Keys of error, failed and retry.why of a rule.
pub static PROBLEM_KEYS: KeyContext = KeyContext {
    title: "error, failed and retry.why of a rule",
    definition: "client_problem",
    format: &WORKERS,
    is_inert: false,
    keys: &[pick("message"), pick("code"), pick("status"), pick("retry_after"), pick("resets")],
};

/// Keys of an entry of stderr and of error_patterns.
pub static MEANING: KeyContext = KeyContext {
    title: "an entry of stderr and of error_patterns",
    definition: "client_meaning",
    format: &WORKERS,
    is_inert: false,
    keys: &[
        needed("re", KeyType::Text),
        needed("trouble", KeyType::Word(TROUBLES)),
        key("help", KeyType::Text),
    ],
};
