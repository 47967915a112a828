//! Tells whether a text behind a complete word says that the work is done.
//!
//! What stands behind the word has to be known to be harmless: bad news come in more words than any list has. So a text
//! counts only where it names something that was achieved, a good state, or a bad thing that is gone.

use super::cjk;
use super::clauses::all_speak;
use super::good_news::unabsorbed;
use super::ratio::has_met_ratio;
use crate::verdict::tokens::{
    Token, ahead_in_clause, before_in_clause, is_in, is_number, next_in_clause, tokens,
};
use crate::verdict::words::is_assent;

/// What is done to a piece of work that gets done. Their past says so: `added`, `was fixed`.
const ACHIEVEMENTS: &[&str] = &[
    "accept", "achieve", "adapt", "add", "address", "adjust", "adopt", "align", "answer", "apply", "approve",
    "assert", "attach", "automate", "balance", "benchmark", "bump", "cache", "check", "clarify", "clean",
    "clear", "close", "combine", "commit", "compile", "complete", "compress", "configure", "confirm",
    "connect", "consolidate", "convert", "copy", "correct", "cover", "create", "debug", "deduplicate",
    "define", "delete", "deliver", "deploy", "derive", "design", "document", "eliminate", "enable", "encode",
    "encrypt", "enforce", "ensure", "establish", "exercise", "expand", "export", "expose", "extend",
    "extract", "finalise", "finalize", "finish", "fix", "format", "fulfil", "fulfill", "generate", "group",
    "guard", "handle", "harden", "implement", "import", "improve", "include", "increase", "index", "inline",
    "insert", "install", "integrate", "introduce", "land", "link", "load", "localise", "localize", "lower",
    "mend", "merge", "migrate", "modernise", "modernize", "modify", "move", "normalise", "normalize",
    "optimise", "optimize", "order", "parse", "pass", "patch", "persist", "pin", "polish", "port", "prevent",
    "print", "produce", "prove", "provide", "publish", "push", "reduce", "refactor", "refine", "regenerate",
    "register", "release", "remove", "rename", "render", "reorganise", "reorganize", "repair", "replace",
    "resolve", "restore", "restructure", "review", "revise", "rework", "sanitise", "sanitize", "satisfy",
    "save", "secure", "separate", "serialise", "serialize", "ship", "shorten", "show", "sign", "simplify",
    "solve", "sort", "speed", "stabilise", "stabilize", "standardise", "standardize", "store", "stream",
    "streamline", "strengthen", "succeed", "support", "switch", "sync", "test", "tidy", "tighten",
    "translate", "trim", "unify", "update", "upgrade", "validate", "verify", "wire", "wrap",
];

/// The past of those that are not regular.
const ACHIEVED: &[&str] =
    &["wrote", "written", "rewrote", "rewritten", "built", "rebuilt", "met", "kept", "split", "made"];

/// What it does now. None of these is the plural of a noun that could be a part of the work.
pub(in crate::verdict) const DOES: &[&str] = &[
    "accepts", "adds", "defines", "describes", "documents", "explains", "lists", "rejects", "shows", "uses",
    "agrees", "allows", "behaves", "builds", "compiles", "complies", "conforms", "contains", "covers",
    "creates", "deletes", "emits", "enforces", "ensures", "exists", "fulfills", "fulfils", "handles",
    "holds", "implements", "improves", "includes", "introduces", "keeps", "matches", "meets", "parses",
    "passes", "prevents", "prints", "provides", "removes", "renders", "replaces", "resolves", "returns",
    "satisfies", "succeeds", "supports", "validates", "verifies", "works", "writes",
];

/// What several of them do; as a noun it says nothing, so something that does it has to stand before it.
pub(in crate::verdict) const DO: &[&str] = &[
    "agree", "behave", "build", "cover", "compile", "comply", "conform", "exist", "hold", "match", "meet",
    "pass", "render", "run", "satisfy", "succeed", "work",
];

/// What may stand before one of these beside a plural: `all pass`, `the checks now pass`.
const DOERS: &[&str] = &["all", "both", "they", "now", "everything", "that", "which", "ci", "also", "again"];

/// States that are good wherever they stand.
const GOOD: &[&str] = &[
    "green", "gone", "done", "finished", "ok", "okay", "perfectly", "excellent", "safe", "valid",
    "successful", "successfully", "success", "working", "passing", "lgtm", "yes", "true", "correctly",
    "properly", "flawless", "flawlessly", "identical", "consistent", "functional", "operational",
    "compliant",
];

/// Those that are good at the end of what they are said of: `all clean`, against `clean room`.
const GOOD_AT_THE_END: &[&str] = &[
    "good", "fine", "great", "clean", "correct", "right", "perfect", "complete", "live", "available",
    "present", "fully", "entirely", "thoroughly",
];

/// Pairs of words that are a good state at the end.
const GOOD_PAIRS: &[(&str, &str)] =
    &[("to", "date"), ("in", "place"), ("in", "order"), ("to", "go"), ("and", "running")];

const BEHIND_GOOD: &[&str] =
    &["to", "on", "for", "with", "and", "in", "now", "after", "across", "everywhere"];

/// The whole of these: `all checks`, `every acceptance criterion`.
const WHOLES: &[&str] = &["all", "every", "both", "each", "entire", "whole"];
pub(in crate::verdict) const PARTS: &[&str] = &[
    "test", "tests", "check", "checks", "item", "items", "step", "steps", "task", "tasks", "criterion",
    "criteria", "requirement", "requirements", "goal", "goals", "point", "points", "condition", "conditions",
    "assertion", "assertions", "suite", "suites", "gate", "gates", "work", "feature", "features", "case",
    "cases", "spec", "specs", "target", "targets", "job", "jobs", "build", "builds",
];

/// Says so of a text that nothing limits.
pub(in crate::verdict) fn affirms(text: &str) -> bool {
    let tokens = tokens(text);
    let has_good_news = unabsorbed(&tokens).len() < tokens.len();
    let has_met = has_met_ratio(text);
    let has_good = has_good_news || (0..tokens.len()).any(|at| is_good(&tokens, at));
    is_assent(text)
        || refers(&tokens)
        || cjk::affirms(text)
        || (has_good || has_met) && all_speak(&tokens, has_met)
}

/// Says whether a word names the whole of something: `all`, `everything`.
pub(in crate::verdict) fn is_whole(token: &Token) -> bool {
    is_in(token, WHOLES) || is_in(token, &["everything", "everyone", "everybody"])
}

/// Says whether a word is the past of what gets work done.
pub(in crate::verdict) fn is_achieved(word: &str) -> bool {
    if ACHIEVED.contains(&word) {
        return true;
    }
    let Some(stem) = word.strip_suffix("ed") else { return false };
    is_stem(stem)
        || word.strip_suffix('d').is_some_and(is_achievement)
        || stem.strip_suffix('i').is_some_and(|stem| is_achievement(&format!("{stem}y")))
}

/// Says whether a word is what gets work done while it is under way: `adding`.
pub(in crate::verdict) fn is_achieving(word: &str) -> bool {
    let Some(stem) = word.strip_suffix("ing") else { return false };
    is_stem(stem) || is_achievement(&format!("{stem}e"))
}

/// Says whether a word is what gets work done, in the form that an order or a plan has.
pub(in crate::verdict) fn is_achievement(word: &str) -> bool {
    ACHIEVEMENTS.contains(&word)
}

/// `fix`, and `trimm` of `trimmed`.
fn is_stem(stem: &str) -> bool {
    let doubled = || {
        let mut letters = stem.chars().rev();
        let last = letters.next()?;
        (letters.next() == Some(last)).then(|| &stem[..stem.len() - last.len_utf8()])
    };
    is_achievement(stem) || doubled().is_some_and(is_achievement)
}

/// Says whether a word, where it stands, names something achieved or a good state.
pub(in crate::verdict) fn is_good(tokens: &[Token], at: usize) -> bool {
    const WHOLE_AHEAD_MAX: usize = 3;
    let token = &tokens[at];
    let before = before_in_clause(tokens, at);
    let next = next_in_clause(tokens, at);
    if is_look(tokens, at) || token.text == "done" && before.is_some_and(|t| is_in(t, &["to", "as"])) {
        return false;
    }
    if is_in(token, GOOD) || is_in(token, DOES) || is_achieved(&token.text) || is_fulfilled(tokens, at) {
        return true;
    }
    if is_in(token, DO) {
        // "the files exist" says so, and "all tests exist" nothing of how they end.
        let is_there = |t: &Token| token.text == "exist" && is_in(t, PARTS);
        return before.is_some_and(|t| (is_in(t, DOERS) || is_plural(&t.text)) && !is_there(t));
    }
    if is_in(token, WHOLES) {
        // "all checks" says so, and "all tests ran" does not.
        let ahead = ahead_in_clause(tokens, at, WHOLE_AHEAD_MAX);
        let part = ahead.enumerate().find(|(_, t)| is_in(t, PARTS));
        return part.is_some_and(|(ahead, _)| next_in_clause(tokens, at + 1 + ahead).is_none());
    }
    if is_in(token, &["0", "zero"]) {
        return ends_with_zero(tokens, at) || next.is_some_and(|t| is_plural(&t.text) && !is_in(t, PARTS));
    }
    if token.text == "everything" {
        // "it is everything", against "looked at everything".
        return next.is_none() && before.is_none_or(|t| is_in(t, &["is", "was", "for"]));
    }
    let is_pair = before.is_some_and(|t| GOOD_PAIRS.contains(&(t.text.as_str(), token.text.as_str())));
    (is_pair || is_in(token, GOOD_AT_THE_END)) && next.is_none_or(|t| is_in(t, BEHIND_GOOD))
}

/// `reviewed the code`, `checked out the branch`: looked at, whatever was seen.
fn is_look(tokens: &[Token], at: usize) -> bool {
    const LOOKS: &[&str] = &["reviewed", "checked", "debugged", "benchmarked", "designed", "tested"];
    const OBJECTS: &[&str] = &["the", "a", "an", "this", "my", "our", "its", "it", "out", "in", "for"];
    let is_before = |t: &Token| is_in(t, &["and", "is", "are", "was", "were", "been"]);
    is_in(&tokens[at], LOOKS)
        && next_in_clause(tokens, at).is_some_and(|t| is_in(t, OBJECTS))
        && !before_in_clause(tokens, at).is_some_and(is_before)
}

/// `does what was asked`, `requires a password now`; a review that is requested or required is still to come.
fn is_fulfilled(tokens: &[Token], at: usize) -> bool {
    const AROUND_MAX: usize = 8;
    let token = &tokens[at];
    let around = &tokens[at.saturating_sub(AROUND_MAX)..tokens.len().min(at + AROUND_MAX)];
    let in_clause = |list: &[&str]| around.iter().any(|t| t.clause == token.clause && is_in(t, list));
    match token.text.as_str() {
        "asked" | "requested" | "required" | "needed" => {
            let before = at.checked_sub(1).map(|before| &tokens[before]);
            in_clause(&["that", "what"]) && before.is_some_and(|t| is_in(t, &["was", "were", "is"]))
        }
        "reached" => before_in_clause(tokens, at)
            .is_some_and(|t| is_in(t, &["is", "are", "was", "were"]) || is_in(t, PARTS)),
        "requires" => in_clause(&["now"]),
        _ => false,
    }
}

/// `exit code 0`, `exits with 0`.
fn ends_with_zero(tokens: &[Token], zero: usize) -> bool {
    let ends = |t: &Token| is_in(t, &["code", "exit", "exits", "status"]);
    match &tokens[..zero] {
        [.., before] if ends(before) => true,
        [.., before, with] => with.text == "with" && ends(before),
        _ => false,
    }
}

/// `tests`, by its last letter.
fn is_plural(word: &str) -> bool {
    const NONE: &[&str] = &["this", "is", "was", "has", "less", "as", "plus", "its", "minus", "does", "us"];
    word == "criteria"
        || word.len() > 2 && word.ends_with('s') && !word.ends_with("ss") && !NONE.contains(&word)
}

/// `commit 3f2b8c1`, `in 40 s`, `final`: only says which or when.
fn refers(tokens: &[Token]) -> bool {
    const HEADS: &[&str] =
        &["commit", "sha", "revision", "pr", "version", "tag", "in", "at", "took", "final"];
    const UNITS: &[&str] = &[
        "s", "ms", "sec", "secs", "second", "seconds", "min", "mins", "minute", "minutes", "iteration",
        "iterations", "attempt", "attempts", "round", "rounds", "utc", "a", "one",
    ];
    let names = |t: &Token| {
        is_in(t, HEADS) || is_in(t, UNITS) || is_number(Some(t)) || t.text.chars().any(|c| c.is_ascii_digit())
    };
    tokens.first().is_some_and(|first| is_in(first, HEADS)) && tokens.iter().all(names)
}
