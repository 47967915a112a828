//! Finds what bounds a good state: `all tests pass under the old config`, `works for small inputs`, `green now and then`.
//!
//! There are more bounds than any list has. So what follows a state behind a preposition or a conjunction has to be known
//! to leave it whole: `on all platforms`, `as asked`, `after the fix`. What was achieved is free of this: there the same
//! words only say where and for what: `fixed the parser for nested lists`.

use super::affirm::{DO, DOES, PARTS, is_achieved, is_good, is_whole};
use super::good_news::ABSENCES;
use crate::verdict::tokens::{Token, ahead_in_clause, before_in_clause, is_in, is_number, next_in_clause};

/// Verbs that say that something is in order.
const STATE_VERBS: &[&str] = &[
    "pass", "passes", "passed", "passing", "work", "works", "working", "succeed", "succeeds", "succeeded",
    "behave", "behaves", "compile", "compiles", "build", "builds", "hold", "holds", "run", "runs",
];

/// Words that say so behind a verb of being.
const STATES: &[&str] = &[
    "green", "ok", "okay", "fine", "good", "great", "clean", "correct", "right", "perfect", "safe",
    "complete", "completed", "done", "finished", "functional", "operational", "successful", "success",
    "gone", "approved",
];

/// What was achieved, and nothing behind it that it was done to: `fixed for small inputs`.
const BARE: &[&str] = &[
    "fixed", "implemented", "completed", "finished", "solved", "resolved", "supported", "handled",
    "verified", "validated", "tested", "checked", "confirmed", "satisfied", "fulfilled", "met", "proven",
];

/// Of a verb with a sentence behind it the sentence says the state: `verified that all tests pass`.
const TELLS: &[&str] = &[
    "made", "verified", "confirmed", "checked", "validated", "ensured", "proved", "tested", "showed",
    "shows", "verifies", "ensures", "proves",
];

/// What begins a bound, unless it is known to leave the state whole.
const JOINTS: &[&str] = &[
    "for", "on", "in", "under", "at", "with", "within", "during", "against", "from", "before", "after", "as",
    "while", "when", "whenever", "where", "wherever", "whereas", "because", "since", "given", "until",
    "till", "despite", "by", "via", "using", "through", "throughout", "across", "inside", "outside",
    "behind", "due", "provided", "between", "among", "beyond", "around", "near", "like", "towards", "toward",
    "about", "over", "per", "past", "once", "assuming", "considering", "ignoring", "only", "following",
    "prior", "ahead", "owing", "whatever",
];

/// Words that begin another piece of a sentence.
const BREAKS: &[&str] = &["and", "so", "that", "which", "now", "then", "is", "are", "all", "everything"];

/// Says so of a text; `free` are the words that no harmless phrase has in it.
pub(in crate::verdict) fn is_bounded(tokens: &[Token], free: &[usize]) -> bool {
    let mut clause = None;
    let mut hold = Hold::Nothing;
    let mut is_free = vec![false; tokens.len()];
    free.iter().for_each(|at| is_free[*at] = true);
    for (at, token) in tokens.iter().enumerate() {
        if clause != Some(token.clause) {
            clause = Some(token.clause);
            // "all tests pass (on Linux)"
            hold = if hold == Hold::State && is_in(token, JOINTS) { Hold::State } else { Hold::Nothing };
        }
        if hold == Hold::Nothing && !is_free[at] && is_in(token, ABSENCES) {
            hold = Hold::State;
        }
        let bounds = match hold {
            Hold::State => is_free[at] && (begins_bound(tokens, at, &is_free) || is_often(tokens, at)),
            Hold::Bare => {
                is_in(token, &["for", "under", "on", "at", "only"]) && begins_bound(tokens, at, &is_free)
            }
            Hold::Nothing | Hold::Deed => false,
        };
        if bounds {
            return true;
        }
        hold = hold.behind(tokens, at);
    }
    false
}

/// What the words of a clause have said so far.
#[derive(Clone, Copy, PartialEq)]
enum Hold {
    Nothing,
    /// Something is in order.
    State,
    /// Something was done, and the next word may say to what.
    Bare,
    /// Something was done, or does something.
    Deed,
}

impl Hold {
    fn behind(self, tokens: &[Token], at: usize) -> Self {
        let token = &tokens[at];
        let can_hold = self != Self::Deed && self != Self::Bare;
        let is_state = is_in(token, STATES) && is_said(tokens, at)
            || is_in(token, STATE_VERBS) && (!is_in(token, DO) || is_good(tokens, at));
        if can_hold && is_state {
            return Self::State;
        }
        if is_in(token, TELLS)
            && next_in_clause(tokens, at).is_some_and(|t| is_whole(t) || is_in(t, &["that", "the", "it"]))
        {
            return Self::Nothing;
        }
        if is_in(token, BARE) {
            return Self::Bare;
        }
        let does = is_in(token, DOES) && !is_in(token, STATE_VERBS);
        match self {
            Self::Bare if is_in(token, &["now", "again"]) => Self::Bare,
            Self::Deed | Self::Bare if is_in(token, BREAKS) => Self::Nothing,
            _ if does || is_achieved(&token.text) => Self::Deed,
            Self::Bare => Self::Deed,
            other => other,
        }
    }
}

/// `is correct`, `all green`, `done`: said of something, against `the right status`.
fn is_said(tokens: &[Token], at: usize) -> bool {
    const ARTICLES: &[&str] = &["the", "a", "an", "this", "that", "our", "my", "its"];
    !before_in_clause(tokens, at).is_some_and(|t| is_in(t, ARTICLES))
}

/// Words that say how often, or that it was luck.
fn is_often(tokens: &[Token], at: usize) -> bool {
    const OFTEN: &[&str] = &[
        "often", "sometimes", "lucky", "luck", "alone", "today", "tonight", "lately", "elsewhere", "enough",
        "twice", "thrice", "eventually", "individually", "mornings", "here", "upstream",
    ];
    let next = next_in_clause(tokens, at).map_or("", |t| t.text.as_str());
    match tokens[at].text.as_str() {
        "that" if matches!(next, "i" | "we") => true,
        "this" | "that" | "one" | "another" | "some" | "every" | "each" | "most" | "half" | "any" => {
            matches!(
                next,
                "time" | "times" | "at" | "day" | "days" | "other" | "second" | "third" | "few" | "once"
            ) && !matches!((tokens[at].text.as_str(), next), ("every" | "each", "time" | "day"))
        }
        "up" | "thanks" => next == "to",
        "last" => matches!(next, "week" | "night" | "time" | "run" | "month" | "year" | "sprint"),
        "to" => tokens[at + 1..].iter().take(3).any(|t| is_in(t, &["extent", "degree", "point", "me"])),
        "now" => next == "and" && tokens.get(at + 2).is_some_and(|t| is_in(t, &["then", "again"])),
        "so" => matches!(next, "long" | "far"),
        _ => is_in(&tokens[at], OFTEN),
    }
}

/// A preposition or a conjunction, and behind it nothing that is known to leave the state whole.
fn begins_bound(tokens: &[Token], at: usize, is_free: &[bool]) -> bool {
    let token = &tokens[at];
    if !is_in(token, JOINTS) {
        return false;
    }
    let Some(next) = next_in_clause(tokens, at) else {
        let closes = before_in_clause(tokens, at).is_some_and(|t| t.text == "and");
        return !is_in(token, &["before", "in"]) && !closes;
    };
    let is_absorbed = !is_free[at + 1] && is_in(token, &["with", "on", "in", "for", "at", "under"]);
    let wholes = is_whole(next) || is_in(next, &["any", "either", "anyone", "anybody", "everywhere"]);
    let wholes = wholes && !tokens[at + 2..].iter().take(2).any(|t| is_in(t, NARROW));
    let article = is_in(next, &["the", "this", "our", "my", "these", "a", "an", "your"]);
    let head = if article { next_in_clause(tokens, at + 1) } else { Some(next) };
    let of_whole = head.is_some_and(|t| is_in(t, &["whole", "entire", "full", "complete", "board"]));
    !(is_absorbed || wholes || of_whole || leaves_whole(tokens, at, head, article))
}

/// A whole of these is a part: `for all small inputs`.
const NARROW: &[&str] = &[
    "my", "small", "simple", "easy", "common", "typical", "old", "good", "lucky", "short", "few", "tested",
    "known", "usual", "normal", "local", "given", "recent", "one",
];

/// `in CI`, `on main`, `under 2 seconds`, `after the fix`, `as the task asks`.
fn leaves_whole(tokens: &[Token], at: usize, head: Option<&Token>, article: bool) -> bool {
    let is = |list: &[&str]| head.is_some_and(|t| is_in(t, list));
    let measured = || is_measure(tokens, at + 1);
    match tokens[at].text.as_str() {
        "for" => is(&["real", "good", "sure", "release", "production", "merge", "merging"]),
        "on" => {
            is(&["ci", "main", "master", "trunk", "head", "production", "time", "schedule"])
                || names_systems(tokens, at)
        }
        "in" => {
            measured()
                || is(&["debug", "release"])
                    && tokens.get(at + 3).is_some_and(|t| is_in(t, &["debug", "release"]))
                || is_number(head) && tokens.get(at + 2).is_some_and(|t| is_in(t, PARTS))
                || is(&[
                    "ci", "place", "order", "full", "total", "parallel", "both", "production", "sync",
                    "commit", "pipeline", "time", "under", "code", "codebase", "implementation", "diff",
                    "changes", "project", "workspace", "repo", "repository", "output", "task", "spec",
                    "issue", "ticket", "plan",
                ]) && !is_in(&tokens[at + 1], &["that", "this"])
        }
        "under" => measured() || is(&["load"]) && !article || names_systems(tokens, at),
        "within" => measured() || article && is(&["limits", "limit", "budget", "spec", "bounds"]),
        "at" => is(&["head", "commit", "revision", "tip"]),
        "with" | "using" => {
            is(&["cargo", "nextest", "pytest", "npm", "jest", "make", "go", "coverage", "clippy", "flying"])
                || article && is(CHANGES)
                || article && tokens[at + 1].text == "the" && is(&["new", "latest", "real", "actual"])
        }
        "against" => {
            is(&["spec", "schema", "new", "real", "requirements", "criteria", "reference", "golden"])
        }
        "from" => is(&["scratch", "end", "start", "top", "clean", "fresh"]),
        // "done after the merge" is to come.
        "after" | "following" => is(CHANGES) && !before_in_clause(tokens, at).is_some_and(is_end),
        "before" => is(&["and"]),
        "across" | "throughout" => article,
        "while" => is(&["keeping", "preserving", "maintaining", "retaining"]),
        "as" => is_asked(tokens, at),
        "by" => is(&["design"]) || before_in_clause(tokens, at).is_some_and(|t| t.text == "off"),
        "like" => is(&["before"]),
        _ => false,
    }
}

/// What was done to the code, behind which it is to be looked at: `after the fix`, `after adding the index`.
const CHANGES: &[&str] = &[
    "fix", "fixes", "change", "changes", "refactor", "refactoring", "refactors", "patch", "update",
    "updates", "upgrade", "migration", "rewrite", "rename", "renaming", "merge", "rebase", "cleanup", "edit",
    "edits", "correction", "corrections", "rework", "implementation", "fixing", "adding", "updating",
    "implementing", "applying", "migrating", "correcting", "rewriting", "merging", "rebasing", "upgrading",
];

fn is_end(token: &Token) -> bool {
    is_in(token, &["done", "complete", "completed", "finished", "ok", "approved", "good", "safe"])
}

/// `as asked`, `as before`, `as the task describes`.
fn is_asked(tokens: &[Token], at: usize) -> bool {
    const MANNERS: &[&str] = &[
        "asked", "before", "expected", "intended", "requested", "specified", "described", "designed",
        "required", "documented", "planned", "desired", "wanted", "promised", "agreed", "advertised", "well",
        "defined", "stated", "outlined", "instructed",
    ];
    const TASKS: &[&str] = &[
        "task", "spec", "specification", "issue", "ticket", "goal", "goals", "requirements", "requirement",
        "request", "instructions", "design", "plan", "criteria", "you", "readme", "docs",
    ];
    const REACH_MAX: usize = 5;
    let reach = || ahead_in_clause(tokens, at, REACH_MAX);
    reach().next().is_some_and(|t| is_in(t, MANNERS))
        || reach().next().is_some_and(|t| is_in(t, &["the", "per", "you", "in"]))
            && reach().any(|t| is_in(t, TASKS))
}

/// `3 s`, `3s`, `two minutes`: how long it took.
fn is_measure(tokens: &[Token], at: usize) -> bool {
    const UNITS: &[&str] = &[
        "s", "ms", "us", "ns", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "h",
        "hour", "hours", "iteration", "iterations", "round", "rounds", "mb", "gb", "kb",
    ];
    const COUNTS: &[&str] = &["a", "one", "two", "three", "four", "five", "six", "seven", "ten"];
    let Some(count) = tokens.get(at) else { return false };
    let unit = next_in_clause(tokens, at);
    let glued = count.text.starts_with(|c: char| c.is_ascii_digit()) && !is_number(Some(count));
    let counted = is_number(Some(count)) || is_in(count, COUNTS);
    // Of `3.2s` the point ends a clause.
    let is_cut = is_number(Some(count)) && unit.is_none() && tokens.get(at + 1).is_some_and(starts_in_digit);
    glued || is_cut || counted && unit.is_some_and(|t| is_in(t, UNITS))
}

fn starts_in_digit(token: &Token) -> bool {
    token.text.starts_with(|c: char| c.is_ascii_digit())
}

/// `on Linux, macOS and Windows`: all that there are.
fn names_systems(tokens: &[Token], at: usize) -> bool {
    const REACH_MAX: usize = 8;
    let ahead = &tokens[at + 1..tokens.len().min(at + REACH_MAX)];
    let names = |list: &[&str]| ahead.iter().any(|t| is_in(t, list));
    names(&["linux"]) && names(&["macos", "mac", "osx", "darwin"]) && names(&["windows"])
}
