//! Tells good news about bad things from bad news: `no failures`, `fixed the failing test`, `no longer occurs`.

use super::shortfall::{OPEN, STAND_INS, THINGS};
use crate::verdict::tokens::{Token, is_in, is_number, next_in_clause};

/// Bad things: their absence is good news.
pub(in crate::verdict) const BAD: &[&str] = &[
    "fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "issue", "issues",
    "problem", "problems", "warning", "warnings", "regression", "regressions", "bug", "bugs", "defect",
    "defects", "blocker", "blockers", "finding", "findings", "todo", "todos", "missing", "broken",
    "remaining", "remain", "remains", "left", "outstanding", "pending", "unresolved", "crash", "crashes",
    "conflict", "conflicts", "needed", "skipped", "ignored", "caveat", "caveats", "reservation",
    "reservations", "concern", "concerns", "deadlock", "deadlocks", "leak", "leaks", "vulnerability",
    "vulnerabilities", "violation", "violations", "mistake", "mistakes", "typo", "typos", "mismatch",
    "mismatches", "discrepancy", "discrepancies", "flaw", "flaws", "weakness", "weaknesses", "drawback",
    "drawbacks", "shortcoming", "shortcomings", "trouble", "obstacle", "obstacles", "objection",
    "objections", "risk", "risks", "nit", "nits", "complaint", "complaints", "deviation", "deviations",
    "omission", "omissions",
];

/// Words that may stand between "no" and the bad thing.
const BETWEEN: &[&str] = &[
    "any", "more", "further", "new", "other", "remaining", "open", "known", "outstanding", "critical",
    "test", "tests", "lint", "type", "build", "compile", "compiler", "longer", "single", "blocking",
    "additional", "unresolved", "changes", "the", "all", "both", "every", "two", "three", "last", "that",
    "was", "were", "previously", "formerly", "flaky", "work", "else", "items", "steps", "are", "is", "a",
    "an", "few", "several", "many", "or",
];

pub(in crate::verdict) const REPAIRS: &[&str] = &[
    "fixed", "fixes", "resolved", "resolves", "repaired", "repairs", "corrected", "corrects", "addressed",
    "cleared", "eliminated", "previously", "formerly",
];

pub(in crate::verdict) const ABSENCES: &[&str] = &["no", "zero", "0", "without", "nothing", "none"];

/// After an absence of bad things these make it bad again: "no errors fixed".
const SPOILERS: &[&str] = &[
    "fixed", "resolved", "addressed", "solved", "repaired", "pass", "passed", "passing", "passes", "run",
    "ran", "checked", "tested", "verified", "done", "finished", "completed", "started", "attempted",
    "possible",
];

/// A bad thing that nobody mended: "compile error" against "fixed the compile error", "error handling"
/// and "issue 12".
pub(in crate::verdict) fn is_unmended(tokens: &[Token], at: usize) -> bool {
    const MENDS: &[&str] = &[
        "fix", "fixing", "mended", "mends", "solved", "solves", "closed", "closes", "removed", "removes",
        "gone", "handled", "handles", "prevents", "prevented", "avoids", "avoided", "catches", "caught",
        "covers", "covered", "added", "adds", "implemented", "implements", "translated", "improved",
        "improves", "updated", "changed", "moved", "renamed", "refactored", "replaced", "wrote",
    ];
    const KINDS: &[&str] = &[
        "handling", "handler", "handlers", "message", "messages", "code", "codes", "page", "pages", "type",
        "types", "path", "paths", "reporting", "recovery", "text", "texts", "log", "tracker", "report",
        "class", "enum", "variant", "variants", "case", "cases", "level", "banner", "boundary", "template",
        "templates",
    ];
    const AROUND_MAX: usize = 8;
    if !is_in(&tokens[at], BAD) || is_kind_of_test(tokens, at) {
        return false;
    }
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let around = &tokens[at.saturating_sub(AROUND_MAX)..tokens.len().min(at + AROUND_MAX)];
    let mended = around.iter().filter(same_clause).any(|t| is_in(t, MENDS) || is_in(t, REPAIRS));
    let next = next_in_clause(tokens, at);
    !mended && !next.is_some_and(|t| is_in(t, KINDS) || is_number(Some(t)))
}

/// `did not find any problems`, `does not fail`: a negation that is good news.
pub(in crate::verdict) fn finds_nothing_bad(tokens: &[Token], negation: usize) -> bool {
    const FINDS: &[&str] = &["find", "found", "see", "seen", "have", "show", "contain", "notice", "detect"];
    const AHEAD_MAX: usize = 5;
    let ahead = &tokens[negation + 1..tokens.len().min(negation + 1 + AHEAD_MAX)];
    ahead.first().is_some_and(|t| is_in(t, BAD) || (is_in(t, FINDS) && ahead.iter().any(|t| is_in(t, BAD))))
}

/// Indexes of the tokens that are not part of a harmless phrase such as "no failures".
pub(in crate::verdict) fn unabsorbed(tokens: &[Token]) -> Vec<usize> {
    let mut free = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while index < tokens.len() {
        match harmless_phrase(tokens, index) {
            Some(end) => index = end,
            None => {
                free.push(index);
                index += 1;
            }
        }
    }
    free
}

/// Returns the end of a harmless phrase that begins here. Looks ahead a bounded number of words.
fn harmless_phrase(tokens: &[Token], start: usize) -> Option<usize> {
    const AHEAD_MAX: usize = 6;
    if let Some(end) = mended(tokens, start).or_else(|| never_again(tokens, start)) {
        return Some(end);
    }
    let word = |i: usize| tokens.get(i).filter(|t| t.clause == tokens[start].clause);
    let is_in = |i: usize, list: &[&str]| word(i).is_some_and(|t| list.contains(&t.text.as_str()));
    let absence = is_in(start, ABSENCES);
    if !absence && !is_in(start, REPAIRS) {
        return None;
    }
    // "open items" are bad, and "items" are not.
    let is_open = |i: usize| is_in(i, THINGS) && i > start + 1 && is_in(i - 1, OPEN);
    let is_unsteady =
        |i: usize| !absence && is_in(i, &["flaky", "timeout", "timeouts", "invalid", "unstable"]);
    let is_bad = |i: &usize| is_in(*i, BAD) || is_in(*i, STAND_INS) || is_open(*i) || is_unsteady(*i);
    let between = |i: &usize| is_in(*i, BETWEEN) || is_in(*i, OPEN) || is_in(*i, THINGS);
    let bad = (start + 1..start + AHEAD_MAX)
        .take_while(|i| is_bad(i) || between(i) || (!absence && is_number(word(*i))))
        .filter(is_bad)
        .last()?;
    if absence && (narrows(tokens, start, bad) || is_in(bad, &["regression"]) && is_in(bad + 1, TEST_KINDS)) {
        return None;
    }
    let spoiled = absence && (is_in(bad + 1, SPOILERS) || is_in(bad + 2, SPOILERS));
    (!spoiled && !is_in(bad + 1, &["of"])).then_some(bad + 1)
}

/// `regression test`: a kind of test, and nothing bad.
const TEST_KINDS: &[&str] = &["test", "tests", "suite", "case", "cases", "coverage", "check", "checks"];

/// Says so of the word for something bad where it only says what kind of test it is.
pub(in crate::verdict) fn is_kind_of_test(tokens: &[Token], at: usize) -> bool {
    tokens[at].text == "regression" && next_in_clause(tokens, at).is_some_and(|t| is_in(t, TEST_KINDS))
}

/// `no new failures`, `no critical issues`: the old ones and the others are still there. Behind other good news a word
/// that nothing new came up is no more than that.
fn narrows(tokens: &[Token], start: usize, bad: usize) -> bool {
    const NARROW: &[&str] = &["new", "other", "additional", "critical", "blocking"];
    const HARMLESS: &[&str] = &["regression", "regressions", "needed"];
    const BEHIND: &[&str] = &["warning", "warnings", "finding", "findings"];
    let narrow = tokens.get(start + 1).filter(|t| is_in(t, NARROW));
    let harmless = is_in(&tokens[bad], HARMLESS) || is_in(&tokens[bad], THINGS);
    let is_behind = |t: &Token| start > 0 && t.text == "new" && is_in(&tokens[bad], BEHIND);
    !harmless && narrow.is_some_and(|t| !is_behind(t))
}

/// Returns the end of `failing tests are fixed`, `missing test was added`: a bad thing that the same clause mends.
fn mended(tokens: &[Token], start: usize) -> Option<usize> {
    const AHEAD_MAX: usize = 6;
    const BAD_BEFORE: &[&str] = &[
        "failing", "broken", "missing", "pending", "open", "outstanding", "remaining", "unresolved", "issue",
        "issues", "problem", "problems", "error", "errors", "warning", "warnings", "bug", "bugs",
        "regression", "regressions", "defect", "defects", "crash", "crashes", "todo", "todos", "invalid",
        "failure", "failures", "red",
    ];
    // These may be there while all is green.
    const UNSTEADY: &[&str] = &["flaky", "timeout", "timeouts", "hang", "deadlock", "leak", "leaks"];
    const SOLVED: &[&str] =
        &["fixed", "resolved", "repaired", "corrected", "eliminated", "mended", "solved", "handled"];
    const BETWEEN_MENDED: &[&str] = &[
        "the", "a", "test", "tests", "case", "cases", "doc", "docs", "documentation", "import", "imports",
        "page", "pages", "file", "files", "build", "lint", "check", "checks", "is", "are", "was", "were",
        "has", "have", "been", "all", "both", "now", "and", "comments", "migration", "parser", "link",
        "links", "type", "types", "input",
    ];
    const MENDED: &[&str] = &[
        "fixed", "closed", "resolved", "gone", "repaired", "corrected", "cleared", "eliminated", "removed",
        "mended", "solved", "added", "written", "handled", "passes", "pass", "passing", "green", "works",
        "work", "run", "ran",
    ];
    const BEINGS: &[&str] = &["is", "are", "was", "were", "has", "have", "been", "all", "both", "now"];
    let is_unsteady = is_in(&tokens[start], UNSTEADY);
    if !is_unsteady && !is_in(&tokens[start], BAD_BEFORE) {
        return None;
    }
    let same_clause = |t: &&Token| t.clause == tokens[start].clause;
    let ahead = tokens[start + 1..].iter().take(AHEAD_MAX).take_while(same_clause);
    let between = ahead.take_while(|t| is_in(t, BETWEEN_MENDED) || is_in(t, BAD_BEFORE)).count();
    let end = start + 1 + between;
    if let Some(end) = never_again(tokens, end) {
        return Some(end);
    }
    let last = tokens.get(end).filter(same_clause)?;
    let ends_well =
        tokens.get(end + 1).filter(same_clause).is_none_or(|t| !is_in(t, &["by", "in", "on", "except"]));
    // "remaining work" and "failing run" mend nothing: there the word is a noun.
    // What failed is not mended where it is not there any more.
    let is_test = |t: &Token| is_in(t, &["test", "tests", "check", "checks", "case", "cases", "lint"]);
    let is_dodged = is_in(last, &["gone", "removed", "cleared", "eliminated", "closed"])
        && tokens[start + 1..end].iter().rev().find(|t| !is_in(t, BEINGS)).is_some_and(is_test);
    let is_noun = between == 0 && is_in(last, &["work", "run", "pass"]);
    (is_in(last, if is_unsteady { SOLVED } else { MENDED }) && !is_noun && !is_dodged && ends_well)
        .then_some(end + 1)
}

/// Returns the end of `no longer occurs`, `does not panic`, `not a single failure`, `added the missing`, `nothing else to do`,
/// `as expected`, `still pass`.
fn never_again(tokens: &[Token], start: usize) -> Option<usize> {
    const HAPPENS: &[&str] = &[
        "occurs", "occur", "happens", "happen", "appears", "reproduces", "panics", "panic", "crashes",
        "crash", "hangs", "hang", "fails", "fail", "leaks", "leak", "breaks", "needed", "throws",
    ];
    const PROMISED: &[&str] = &[
        "expected", "planned", "requested", "required", "specified", "described", "agreed", "intended",
        "designed", "documented", "needed", "asked",
    ];
    const HOLDS: &[&str] =
        &["pass", "passes", "passing", "work", "works", "green", "compile", "compiles", "builds", "holds"];
    let is = |ahead: usize, list: &[&str]| {
        let token =
            tokens.get(start + ahead).filter(|t| tokens.get(start).is_some_and(|it| it.clause == t.clause));
        token.is_some_and(|t| is_in(t, list))
    };
    if is(0, &["no"]) && is(1, &["longer"]) && is(2, HAPPENS) {
        return Some(start + 3);
    }
    let negates = is(0, &["not"]) || tokens.get(start).is_some_and(|t| t.text.ends_with("n't"));
    if negates && is(1, HAPPENS) && !is(1, &["needed", "happen", "occur"]) && !is(2, &["as", "gracefully"]) {
        return Some(start + 2);
    }
    let single = is(1, &["a"]) && is(2, &["single"]) && is(3, BAD);
    if is(0, &["not"]) && single {
        return Some(start + 4);
    }
    if is(0, &["handles", "rejects", "catches"])
        && is(1, &["errors", "missing", "invalid", "failures", "broken"])
    {
        return Some(start + 2);
    }
    if is(0, &["added", "adds", "wrote", "restored", "removed", "removes"]) {
        let end = if is(1, &["the", "all", "both"]) { 2 } else { 1 };
        return is(end, &["missing", "broken", "todo", "todos"]).then_some(start + end + 1);
    }
    if is(0, &["as"]) && is(1, PROMISED) || is(0, &["still"]) && is(1, HOLDS) {
        return Some(start + 2);
    }
    let to = if is(1, &["else", "more", "left", "further", "remaining", "remains"]) { 2 } else { 1 };
    let to_do = is(0, &["nothing"]) && is(to, &["to"]) && is(to + 1, &["do", "fix", "mend", "add", "report"]);
    to_do.then_some(start + to + 2)
}
