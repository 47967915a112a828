//! Finds what speaks of a part of the whole: `a quarter of the tests`, `at least one test passes`, `the easy ones are done`.

use super::affirm::{PARTS, is_achieved, is_whole};
use super::clauses::is_deed;
use crate::verdict::tokens::{Token, before_in_clause, is_in, next_in_clause};

/// Small numbers as words, and what stands for one. What a runner counts stands in digits.
const FEW: &[&str] = &[
    "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "single", "1", "a", "an", "another",
];

/// Verbs that a thing that was counted stands before.
const BEINGS: &[&str] = &["is", "are", "was", "were", "now", "already", "also", "have", "has"];

/// Says so of a word where it stands.
pub(in crate::verdict) fn is_part(tokens: &[Token], at: usize) -> bool {
    is_fraction(tokens, at)
        || is_minimum(tokens, at)
        || counts_some(tokens, at)
        || picks_out(tokens, at)
        || is_own_choice(tokens, at)
        || is_rest(tokens, at)
}

/// `a third of the tests`, `two fifths`, `every third run`, `one in three`.
fn is_fraction(tokens: &[Token], at: usize) -> bool {
    const FRACTIONS: &[&str] = &[
        "quarter", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "twentieth",
        "hundredth",
    ];
    let token = &tokens[at];
    let previous = before_in_clause(tokens, at);
    let next = next_in_clause(tokens, at);
    let counted = previous.is_some_and(|t| is_in(t, FEW) || is_in(t, &["every", "each"]));
    if is_in(token, FRACTIONS) {
        return next.is_some_and(|t| t.text == "of")
            || counted && (next.is_none_or(|t| is_in(t, BEINGS)) || previous.is_some_and(is_whole));
    }
    let is_plural = token.text.strip_suffix('s').is_some_and(|one| FRACTIONS.contains(&one));
    let in_number = token.text == "in" && next.is_some_and(|t| is_in(t, FEW) && t.text.len() > 2);
    is_plural && counted || in_number && previous.is_some_and(|t| is_in(t, FEW))
}

/// `at least one test passes`, against `checks that at least one item is given`.
fn is_minimum(tokens: &[Token], at: usize) -> bool {
    const BOUNDS: &[&str] = &["least", "most", "minimum", "best", "worst", "any"];
    const ASKS: &[&str] = &[
        "that", "requires", "require", "required", "has", "have", "with", "of", "contains", "when", "takes",
        "accepts", "allows", "enforces", "expects", "be",
    ];
    let token = &tokens[at];
    if token.text == "minimum" {
        let previous = before_in_clause(tokens, at);
        return previous.is_some_and(|t| t.text == "bare")
            || previous.is_some_and(|t| t.text == "a")
                && next_in_clause(tokens, at).is_some_and(|t| t.text == "of");
    }
    let next_but_one = || tokens.get(at + 2).filter(|t| t.clause == token.clause);
    if token.text == "up" && next_in_clause(tokens, at).is_some_and(|t| t.text == "to") {
        return next_but_one().is_some_and(|t| is_in(t, FEW));
    }
    if token.text == "just" {
        return next_in_clause(tokens, at).is_some_and(|t| is_in(t, &["the", "a", "one", "some", "my"]));
    }
    let of_each = || tokens[at + 1..].iter().take(5).any(|t| is_in(t, &["per", "each", "every"]));
    token.text == "at"
        && !of_each()
        && next_in_clause(tokens, at).is_some_and(|t| is_in(t, BOUNDS))
        && !before_in_clause(tokens, at).is_some_and(|t| is_in(t, ASKS))
}

/// `one test passes`, `a prototype works`, `two of the platforms are green`, against `all two tests` and `one test was added`.
fn counts_some(tokens: &[Token], at: usize) -> bool {
    const VAGUE: &[&str] = &["something", "anything", "parts", "bits", "pieces"];
    const WHOLE_BEFORE: &[&str] =
        &["the", "these", "those", "remaining", "last", "our", "of", "for", "in", "with", "to"];
    const SAID: &[&str] = &[
        "pass", "passes", "passed", "passing", "work", "works", "working", "green", "ok", "okay", "done",
        "finished", "fine", "good", "clean", "complete", "completed", "builds", "compiles", "succeeds",
        "succeeded", "met", "correct", "fixed", "solved", "resolved", "gone",
    ];
    const REACH_MAX: usize = 6;
    let previous = before_in_clause(tokens, at);
    let is_held =
        |t: &Token| is_whole(t) || is_tens(t) || is_in(t, WHOLE_BEFORE) || is_deed(t) || is_in(t, FEW);
    if !is_in(&tokens[at], FEW) && !is_in(&tokens[at], VAGUE) || previous.is_some_and(is_held) {
        return false;
    }
    let is_numbered = tokens[at].text == "1" && previous.is_some();
    if is_numbered || next_in_clause(tokens, at).is_some_and(is_tens) {
        return false;
    }
    let clause = tokens[at].clause;
    let goes_on = |t: &&Token| t.clause == clause && !is_in(t, &["and", "that", "which", "so"]);
    let ahead = tokens[at + 1..].iter().take(REACH_MAX).take_while(goes_on);
    let mut ahead =
        ahead.skip_while(|t| !is_in(t, SAID) && !is_in(t, BEINGS)).skip_while(|t| is_in(t, BEINGS));
    ahead.next().is_some_and(|t| is_in(t, SAID))
}

/// `forty`, of `forty-two`.
fn is_tens(token: &Token) -> bool {
    is_in(
        token,
        &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred", "and"],
    )
}

/// `the easy ones are done`, `the main part works`, `the backend side is green`.
fn picks_out(tokens: &[Token], at: usize) -> bool {
    const CHUNKS: &[&str] = &[
        "part", "parts", "piece", "pieces", "bit", "bits", "side", "portion", "portions", "chunk", "chunks",
    ];
    const PIECES: &[&str] = &[
        "one", "ones", "part", "parts", "piece", "pieces", "bit", "bits", "side", "sides", "portion",
        "portions", "chunk", "chunks", "aspect", "aspects", "stuff", "basics", "essentials", "fundamentals",
        "gist", "core", "path", "idea", "bulk",
    ];
    const BACK_MAX: usize = 4;
    const SAID: &[&str] = &[
        "is", "are", "was", "were", "works", "work", "passes", "pass", "passed", "done", "has", "have",
        "functionality", "logic", "features", "compiles", "builds",
    ];
    let previous = tokens[at.saturating_sub(BACK_MAX)..at].iter().filter(|t| t.clause == tokens[at].clause);
    let next = next_in_clause(tokens, at);
    const EASE: &[&str] = &[
        "easy", "easier", "easiest", "hard", "main", "simple", "basic", "tricky", "boring", "obvious", "big",
        "biggest", "small", "important",
    ];
    let is_piece = is_in(&tokens[at], PIECES) && next.is_none();
    if is_piece && before_in_clause(tokens, at).is_some_and(|t| is_in(t, EASE)) {
        return true;
    }
    let of_it = next.is_some_and(|t| t.text == "of") && is_in(&tokens[at], CHUNKS);
    if of_it && !previous.clone().any(|t| is_whole(t) || is_deed(t)) {
        return true;
    }
    is_in(&tokens[at], PIECES)
        && next.is_some_and(|t| is_in(t, SAID))
        && !previous.clone().any(|t| is_whole(t) || is_achieved(&t.text))
}

/// `everything I tried works`, `the tests that I wrote pass`.
fn is_own_choice(tokens: &[Token], at: usize) -> bool {
    const KEPT: &[&str] = &["agreed", "needed", "promised", "planned"];
    const THINGS: &[&str] = &[
        "everything", "all", "ones", "what", "cases", "inputs", "files", "whatever", "time", "errors",
        "failures", "issues", "problems", "warnings",
    ];
    if !is_in(&tokens[at], &["i", "we"]) {
        return false;
    }
    let back = before_in_clause(tokens, at).filter(|t| is_in(t, &["that", "which"])).map_or(at, |_| at - 1);
    let thing = before_in_clause(tokens, back).is_some_and(|t| is_in(t, THINGS) || is_in(t, PARTS));
    thing && !next_in_clause(tokens, at).is_some_and(|t| is_in(t, KEPT))
}

/// `all other tests pass`, `the others are done`.
fn is_rest(tokens: &[Token], at: usize) -> bool {
    let next = next_in_clause(tokens, at);
    match tokens[at].text.as_str() {
        "other" => {
            next.is_some_and(|t| is_in(t, PARTS) || is_in(t, &["ones", "half", "run", "runs", "time", "day"]))
        }
        "others" => next.is_some_and(|t| is_in(t, BEINGS) || is_in(t, &["pass", "work"])),
        _ => false,
    }
}
