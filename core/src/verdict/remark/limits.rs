//! Reads what limits or negates a complete word, or makes it a condition, in English; [`cjk`] does so for other scripts.
//!
//! The rules lean one way: what may be a limit is a limit, for a false COMPLETE is the worst mistake and a false
//! INCOMPLETE the least. Only a few well-known harmless phrases ("no failures", "fixed the failing test") are taken
//! out before limits are looked for.

use super::adverbs;
use super::bounds;
use super::cjk;
use super::good_news::{is_kind_of_test, is_unmended, unabsorbed};
use super::ratio::has_unmet_ratio;
use super::shortfall;
use crate::verdict::tokens::{Token, is_in, is_number, next_in_clause, tokens};

/// What a text beside a complete word does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::verdict) enum Limit {
    /// Nothing.
    Free,
    /// Takes it back, wholly or in part.
    Limited,
    /// Makes it depend on something, so that nothing is said yet.
    Conditional,
}

const LIMITS: &[&str] = &[
    "not", "no", "never", "neither", "nor", "none", "nothing", "cannot", "cant", "isnt", "arent", "wasnt",
    "werent", "doesnt", "didnt", "dont", "wont", "couldnt", "hasnt", "havent", "zero", "without", "except",
    "excepting", "excluding", "excludes", "but", "however", "although", "though", "whereas", "almost",
    "nearly", "mostly", "partly", "partially", "partial", "half", "halfway", "some", "most", "only", "still",
    "yet", "remaining", "remains", "remain", "left", "outstanding", "missing", "pending", "todo", "todos",
    "tbd", "wip", "unfinished", "incomplete", "unresolved", "unverified", "untested", "unchecked", "unknown",
    "unclear", "uncertain", "unsure", "fail", "fails", "failed", "failing", "failure", "failures", "broken",
    "breaks", "errors", "crash", "crashes", "crashed", "regression", "regressions", "blocker", "blockers",
    "blocked", "conflict", "conflicts", "wrong", "invalid", "rejected", "waiting", "need", "needs", "needed",
    "must", "should", "will", "would", "could", "might", "may", "maybe", "perhaps", "probably", "likely",
    "possibly", "presumably", "apparently", "supposedly", "hopefully", "expected", "soon", "later", "apart",
    "aside", "minus", "barring", "roughly", "approximately", "false", "progress", "draft", "skipped",
    "pretend", "hypothetically", "example", "sample", "cancelled", "canceled", "aborted", "timeout",
    "question", "doubt", "doubtful", "exception", "exceptions", "awaiting", "awaits", "unable", "refused",
    "refuse", "refuses", "gave", "quit", "impossible", "stopped", "incorrect", "red", "awaited", "abandoned",
    "inconclusive", "insufficient", "lacking", "lacks", "lack", "unsupported", "unstable", "denied",
    "reverted", "stub", "stubs", "stubbed", "disabled", "tentative", "tentatively", "provisional",
    "provisionally", "theoretically", "tried", "attempted", "attempt", "planned", "be", "than", "instead",
    "less", "deferred", "postponed", "omitted", "ignored", "ignoring", "unfixed", "unimplemented",
    "unaddressed", "unmet", "unsolved", "untouched", "degraded", "issues", "problems", "bugs", "defects",
    "warnings", "first", "second", "initial", "initially", "far", "unlikely", "besides", "poorly", "badly",
    "shouldnt", "wouldnt", "mustnt", "neednt", "ain", "aint", "worse", "regressed", "flaky", "ready",
    "partway", "somewhat", "rather", "kind", "sort", "hardly", "barely", "scarcely", "incompletely",
    "temporarily", "think", "guess", "believe", "suppose", "assume", "seems", "seem", "appears", "appear",
    "looks", "hope", "hoping", "tomorrow", "eventually", "shortly", "conditionally", "preliminary",
    "interim", "thirds", "quarters", "tenths", "hang", "hangs", "hung", "largely",
];

/// The commonest negations and limits of other languages that are written with spaces.
const LIMITS_ELSEWHERE: &[&str] = &[
    "nicht", "noch", "aber", "ausser", "außer", "teilweise", "fehlt", "fehlen", "pas", "encore", "sauf",
    "mais", "partiellement", "manque", "manquent", "falta", "faltan", "salvo", "excepto", "exceto", "pero",
    "todavía", "parcialmente", "ainda", "faltam", "ma", "tranne", "ancora", "manca", "mancano",
    "parzialmente", "не", "нет", "кроме", "но", "ещё", "еще", "частично",
];

pub(in crate::verdict) const CONDITIONS: &[&str] =
    &["if", "unless", "until", "once", "provided", "assuming", "whenever", "pending"];

/// Those that may say how long or how often something was so.
const TIMES: &[&str] = &["until", "once", "whenever"];

/// Words that begin a condition only at the start: "when the tests pass" against "fixed it when ...".
const CONDITIONS_FIRST: &[&str] = &["when", "after", "as", "upon", "while", "before", "given"];

/// Tells what a text does to the complete word that it stands beside (or holds).
pub(in crate::verdict) fn limit_of(text: &str) -> Limit {
    if text.contains(['?', '？']) || has_unmet_ratio(text) {
        return Limit::Limited;
    }
    let tokens = tokens(text);
    let free = unabsorbed(&tokens);
    let is_any = |list: &[&str]| free.iter().any(|i| list.contains(&tokens[*i].text.as_str()));
    let word = |at: usize| tokens.get(at).map_or("", |t| t.text.as_str());
    // "as long as" and "as soon as" are conditions, "as requested" is none.
    let is_manner = word(0) == "as" && !matches!(word(1), "long" | "soon" | "far");
    if CONDITIONS_FIRST.contains(&word(0)) && !is_manner || CONDITIONS.contains(&word(0)) {
        return Limit::Conditional;
    }
    // "works until midnight" says something, and "complete if it works" nothing yet.
    let is_bounded = bounds::is_bounded(&tokens, &free);
    let waits = |i: &usize| CONDITIONS.contains(&word(*i)) && !(is_bounded && TIMES.contains(&word(*i)));
    if free.iter().any(waits) {
        return Limit::Conditional;
    }
    let limits = |i: &usize| {
        tokens[*i].text.ends_with("n't")
            || adverbs::is_doubtful(&tokens[*i].text)
            || is_unmended(&tokens, *i)
            || is_exception(&tokens, *i)
    };
    if free.iter().any(|i| is_in(&tokens[*i], LIMITS) && !is_kind_of_test(&tokens, *i))
        || is_any(LIMITS_ELSEWHERE)
        || names_part(&tokens)
        || defers(&tokens)
        || shortfall::is_short(&tokens, &free)
        || is_bounded
        || free.iter().any(limits)
    {
        return Limit::Limited;
    }
    cjk::limit_of(text)
}

/// `bar one test`, `save for the docs`, `review required`, `requires approval`: takes a part back.
fn is_exception(tokens: &[Token], at: usize) -> bool {
    const PIECES: &[&str] = &["one", "two", "three", "four", "five", "for", "a", "some"];
    const NEEDS: &[&str] = &[
        "review", "approval", "work", "testing", "tests", "attention", "changes", "fixes", "verification",
        "confirmation", "investigation", "human", "manual", "input", "clarification", "permission", "help",
        "more", "further", "another", "signoff", "sign",
    ];
    const RESERVED: &[&str] = &["conditions", "reservations", "caveats", "changes"];
    const FULFILLED: &[&str] = &["all", "everything", "as", "what", "every", "that", "than", "whatever"];
    const AHEAD_MAX: usize = 4;
    const BEFORE_MAX: usize = 6;
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let ahead = &tokens[at + 1..tokens.len().min(at + AHEAD_MAX)];
    let mut ahead = ahead.iter().take_while(same_clause);
    match tokens[at].text.as_str() {
        "with" | "under" => ahead.next().is_some_and(|t| is_in(t, RESERVED)),
        "save" => ahead.next().is_some_and(|t| is_in(t, PIECES) || is_number(Some(t))),
        "bar" => ahead.next().is_some_and(|t| t.text == "the" || is_in(t, PIECES) || is_number(Some(t))),
        "sans" | "modulo" => !ahead.next().is_some_and(|t| is_in(t, &["serif", "operator", "operation"])),
        "require" | "requires" => ahead.any(|t| is_in(t, NEEDS)),
        "required" => {
            let before = &tokens[at.saturating_sub(BEFORE_MAX)..at];
            let fulfilled = before.iter().filter(same_clause).any(|t| is_in(t, FULFILLED));
            !fulfilled
                && ahead.next().is_none_or(|t| is_in(t, &["before", "by", "for", "from", "to", "first"]))
        }
        _ => false,
    }
}

/// `for now`, `in part`, `docs to follow`: pairs of words that limit or put off what they stand beside.
fn defers(tokens: &[Token]) -> bool {
    const PAIRS: &[(&str, &str)] = &[
        ("in", "part"),
        ("large", "part"),
        ("in", "principle"),
        ("in", "theory"),
        ("on", "paper"),
        ("for", "now"),
        ("timed", "out"),
        ("times", "out"),
        ("subject", "to"),
        ("conditional", "on"),
        ("conditional", "upon"),
        ("contingent", "on"),
        ("contingent", "upon"),
        ("depending", "on"),
        ("more", "work"),
        ("follow", "up"),
        ("come", "next"),
        ("comes", "next"),
        ("coming", "next"),
        ("short", "of"),
        ("shy", "of"),
    ];
    const AT_THE_END: &[(&str, &str)] = &[("to", "follow"), ("to", "go"), ("to", "come")];
    const EASE: &[&str] = &["good", "easy", "easier", "simple", "simpler"];
    let is_pair = |at: usize, pairs: &[(&str, &str)]| {
        next_in_clause(tokens, at)
            .is_some_and(|next| pairs.contains(&(tokens[at].text.as_str(), next.text.as_str())))
    };
    let ends_clause = |at: usize| next_in_clause(tokens, at).is_none();
    let eased = |at: usize| at.checked_sub(1).is_some_and(|before| is_in(&tokens[before], EASE));
    // "docs next", but not `Iterator::next`, whose colons end a clause.
    let comes_next = |at: usize| {
        tokens[at].text == "next" && ends_clause(at) && at > 0 && tokens[at - 1].clause == tokens[at].clause
    };
    (0..tokens.len()).any(|at| {
        is_pair(at, PAIRS) || comes_next(at) || (is_pair(at, AT_THE_END) && ends_clause(at + 1) && !eased(at))
    })
}

/// `step 1`, `phase 2`: a part of the work, which may not be all of it.
fn names_part(tokens: &[Token]) -> bool {
    const PARTS: &[&str] =
        &["step", "phase", "part", "task", "stage", "item", "section", "milestone", "iteration", "chapter"];
    const NUMBERS: &[&str] = &["one", "two", "three", "four", "five", "six", "seven"];
    let numbers = |t: &Token| is_number(Some(t)) || is_in(t, NUMBERS);
    tokens.windows(2).any(|pair| is_in(&pair[0], PARTS) && numbers(&pair[1]))
}
