//! Asks every piece of a sentence whether it says something good: `the parser works; the printer is another matter`.
//!
//! One good word does not speak for its neighbours. Only a list of what was done may go on without a word of its own:
//! `added tests, docs and examples`.

use super::affirm::{DOES, is_achieved, is_good};
use super::good_news::unabsorbed;
use crate::verdict::tokens::{Token, is_in, is_number};

/// Words of which a piece may be made that says nothing of its own: kinds of checks, tools, figures, what leads in.
const KINDS: &[&str] = &[
    "unit", "integration", "e2e", "end", "to", "ui", "functional", "smoke", "lint", "linter", "types",
    "type", "typecheck", "fmt", "format", "formatting", "clippy", "build", "builds", "test", "tests",
    "suite", "suites", "snapshot", "property", "doctest", "doctests", "docs", "doc", "check", "checks",
    "coverage", "ci", "the", "all", "and", "both", "too", "also", "as", "well", "of", "in", "on", "at",
    "total", "cargo", "nextest", "run", "pytest", "jest", "vitest", "npm", "yarn", "pnpm", "go", "make",
    "mvn", "gradle", "mypy", "ruff", "eslint", "tsc", "workspace", "features", "targets", "release", "linux",
    "macos", "windows", "mac", "backend", "frontend", "took", "after", "commit", "see", "log", "above",
    "below", "thanks", "great", "summary", "verdict", "final", "result", "results", "status", "ok", "yes",
    "so", "hence", "thus", "now", "again", "seconds", "second", "minutes", "minute", "ms", "s", "i", "it",
    "rs", "py", "ts", "js", "md", "safe", "merge", "proceed", "ship", "close", "for", "me", "requested",
    "asked", "expected", "api", "cli", "server", "client", "code", "web", "database", "debug",
];

/// Words that begin a piece which goes on about the one before it.
const LEADS: &[&str] = &[
    "including", "incl", "even", "which", "that", "who", "where", "e", "i", "namely", "see", "such", "like",
    "plus", "also", "using", "via", "with", "so", "as", "thus", "hence", "based", "per", "following",
];

const BEINGS: &[&str] = &[
    "is", "are", "was", "were", "has", "have", "had", "do", "does", "did", "can", "gets", "got", "goes",
    "stays", "comes", "waits", "wait", "follows", "follow", "am", "want", "wants", "see", "know",
];

/// Says so of a text in which something is good. A ratio that is met is good wherever a figure stands.
pub(in crate::verdict) fn all_speak(tokens: &[Token], has_met_ratio: bool) -> bool {
    let mut is_free = vec![false; tokens.len()];
    unabsorbed(tokens).iter().for_each(|at| is_free[*at] = true);
    let is_figure = |at: usize| has_met_ratio && is_number(Some(&tokens[at]));
    let is_good = |at: usize| !is_free[at] || is_figure(at) || is_good(tokens, at);
    let mut was = Was::Nothing;
    let mut start = 0;
    while start < tokens.len() {
        let clause = tokens[start].clause;
        let end = start + tokens[start..].iter().take_while(|t| t.clause == clause).count();
        let goods = (start..end).filter(|at| is_good(*at)).collect::<Vec<_>>();
        if goods.is_empty() {
            if !goes_on(&tokens[start..end], was) {
                return false;
            }
        } else {
            let does = tokens[start..end].iter().any(is_deed);
            was = if does { Was::Deed } else { Was::State };
            if !ends_well(&tokens[start..end], &goods, start, does) {
                return false;
            }
        }
        start = end;
    }
    true
}

/// What the pieces before have said.
#[derive(Clone, Copy, PartialEq)]
enum Was {
    Nothing,
    State,
    Deed,
}

/// What somebody did, or what something does.
pub(in crate::verdict) fn is_deed(token: &Token) -> bool {
    const STATES: &[&str] = &["passed", "passes", "works", "succeeds", "holds", "completed", "succeeded"];
    (is_achieved(&token.text) || is_in(token, DOES)) && !is_in(token, STATES)
}

/// Says so of a piece in which nothing is good.
fn goes_on(piece: &[Token], was: Was) -> bool {
    let says_nothing = names_kinds(piece);
    let has_verb = piece.iter().any(|t| is_in(t, BEINGS) || t.text.ends_with("'s"));
    // "which is odd" is said of a state, and "which was slow" of what was mended.
    let is_relative = is_in(&piece[0], &["which", "that", "who", "where"]);
    let leads = is_in(&piece[0], LEADS) && !(is_relative && was == Was::State);
    says_nothing || leads || !has_verb && was != Was::State
}

/// `unit, integration and e2e`, against `now to the UI`.
fn names_kinds(piece: &[Token]) -> bool {
    let turns = piece.len() > 1 && is_in(&piece[0], &["now", "then"]);
    !turns && piece.iter().all(is_kind)
}

fn is_kind(token: &Token) -> bool {
    is_in(token, KINDS) || is_number(Some(token)) || token.text.starts_with(|c: char| c.is_ascii_digit())
}

/// Says so of a piece in which something is good up to its end: `all tests pass and the docs wait` is none.
fn ends_well(piece: &[Token], goods: &[usize], start: usize, does: bool) -> bool {
    let is_joint = |t: &Token| is_in(t, &["while", "whereas"]) || !does && is_in(t, &["and", "then"]);
    let Some(joint) = piece.iter().rposition(is_joint).filter(|at| *at > 0) else { return true };
    let rest = &piece[joint + 1..];
    let is_good = goods.last().is_some_and(|last| *last > start + joint);
    let goes_on =
        rest.len() < 2 || rest[0].text.ends_with("ing") || rest[0].text == "after" || names_kinds(rest);
    let nothing_before = goods.first().is_none_or(|first| *first > start + joint);
    is_good || goes_on || nothing_before
}
