//! Reads the words of a verdict, and what limits or negates them, in English and in CJK scripts.
//!
//! The rules lean one way: what may be a limit is a limit, for a false COMPLETE is the worst mistake
//! and a false INCOMPLETE the least. Only a few well-known harmless phrases ("no failures", "fixed
//! the failing test") are taken out before limits are looked for.

use super::cjk;
use super::good_news::{BAD, is_unmended, unabsorbed};
use super::ratio::has_unmet_ratio;
use super::text::is_cjk;
use super::tokens::{Token, is_in, is_number, tokens};

/// What the value of a decision key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Word {
    /// The work is done.
    Complete,
    /// It is not, or not without a limit.
    Incomplete,
    /// A person must act.
    Blocked,
    /// An external job is still running.
    Waiting,
    /// Nothing we know.
    Unknown,
}

/// What a text beside a complete word does to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Limit {
    /// Nothing.
    Free,
    /// Takes it back, wholly or in part.
    Limited,
    /// Makes it depend on something, so that nothing is said yet.
    Conditional,
}

const COMPLETE: &[&str] = &[
    "complete", "completed", "pass", "passed", "done", "finished", "success", "succeeded", "ok", "approved",
];

const INCOMPLETE: &[&str] = &["incomplete", "fail", "failed", "failure", "partial", "pending", "rejected"];

/// Pairs of words that are one word of the list.
const INCOMPLETE_PAIRS: &[(&str, &str)] = &[("not", "complete"), ("in", "progress"), ("needs", "work")];

/// Words that may stand before a complete word without changing what it says.
const HARMLESS_BEFORE: &[&str] = &[
    "the", "a", "task", "work", "step", "everything", "all", "both", "tests", "test", "checks", "check",
    "suite", "build", "lint", "goals", "requirements", "criteria", "items", "steps", "tasks", "is", "are",
    "was", "were", "has", "have", "been", "now", "it", "this", "that", "job", "verdict", "decision",
    "status", "result", "final", "overall", "completion", "successfully", "fully", "totally", "entirely",
    "completely", "already", "i", "we", "my", "and",
];

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

pub(super) const CONDITIONS: &[&str] =
    &["if", "unless", "until", "once", "provided", "assuming", "whenever", "pending"];

/// Words that begin a condition only at the start: "when the tests pass" against "fixed it when ...".
const CONDITIONS_FIRST: &[&str] = &["when", "after", "as", "upon", "while", "before", "given"];

/// Reads the value of a decision key.
pub(super) fn read_value(value: &str) -> Word {
    let value = value.trim();
    if is_template(value) {
        return Word::Unknown;
    }
    let tokens = tokens(value);
    if let Some(word) = exact(value, &tokens) {
        return word;
    }
    let done = tokens.iter().position(|t| COMPLETE.contains(&t.text.as_str()));
    let open = first_incomplete(&tokens);
    match (done, open) {
        (None, None) => Word::Unknown,
        (None, Some(_)) if negates_failure(&tokens) => Word::Unknown,
        (None, Some(_)) => Word::Incomplete,
        (Some(_), Some(_)) if offers_choice(value) => Word::Unknown,
        (Some(done), _) => read_long(value, &tokens, done),
    }
}

/// Reads a value that is one word of the lists and nothing else.
pub(super) fn read_exact(value: &str) -> Option<Word> {
    exact(value, &tokens(value))
}

/// A value that is one word of the lists, apart from its dress.
fn exact(value: &str, tokens: &[Token]) -> Option<Word> {
    if value.contains(['?', '？', '|']) || value.chars().any(is_cjk) {
        return None;
    }
    let words: Vec<&str> = tokens.iter().map(|t| t.text.as_str()).collect();
    match words.as_slice() {
        [word] if COMPLETE.contains(word) => Some(dressed(value, Word::Complete)),
        [word] if INCOMPLETE.contains(word) => Some(Word::Incomplete),
        ["blocked"] => Some(Word::Blocked),
        ["waiting"] => Some(Word::Waiting),
        [first, second] if INCOMPLETE_PAIRS.contains(&(first, second)) => Some(Word::Incomplete),
        _ => None,
    }
}

/// A crossed-out or struck-through complete word says the opposite.
fn dressed(value: &str, word: Word) -> Word {
    // A lone mark behind the word is that of a footnote.
    let is_noted = value.ends_with(['*', '~']) && !value.starts_with(['*', '~']);
    let is_denied = value.starts_with(['!', '~', '¬']);
    if is_denied || is_noted || value.contains("~~") || value.chars().any(is_cross) {
        Word::Incomplete
    } else {
        word
    }
}

fn read_long(value: &str, tokens: &[Token], done: usize) -> Word {
    let before = &tokens[..done];
    let is_whole = value.contains(['/', '%', '％']);
    let is_harmless =
        |t: &Token| HARMLESS_BEFORE.contains(&t.text.as_str()) || (is_whole && is_number(Some(t)));
    let behind = behind(value, &tokens[done].text);
    let is_limited = limit_of(value) != Limit::Free
        || limit_of(behind) != Limit::Free
        || counts_none(behind)
        || goes_on(behind);
    if is_limited || value.chars().any(is_cross) || value.contains("~~") {
        return Word::Incomplete;
    }
    if !before.iter().all(is_harmless) || is_imperative(tokens, done) || value.starts_with('!') {
        return Word::Unknown;
    }
    if is_compound(value, &tokens[done].text) {
        return Word::Unknown;
    }
    match attached_cjk(value, &tokens[done].text) {
        Some(suffix) => match cjk::read_suffix(suffix) {
            Some(true) => Word::Complete,
            Some(false) => Word::Incomplete,
            None => Word::Unknown,
        },
        None => Word::Complete,
    }
}

/// Returns what stands behind the word.
fn behind<'a>(value: &'a str, word: &str) -> &'a str {
    let start = value.to_ascii_lowercase().find(word).map_or(value.len(), |at| at + word.len());
    value[start..]
        .trim_start_matches(|c: char| c.is_whitespace() || matches!(c, ':' | '=' | '-' | '–' | '—' | '('))
}

/// `0`, `0 tests`: nothing was done; `0 errors` is good news.
fn counts_none(behind: &str) -> bool {
    const WORK: &[&str] = &[
        "test", "tests", "check", "checks", "step", "steps", "task", "tasks", "item", "items", "passed", "of",
    ];
    let tokens = tokens(behind);
    let mut words = tokens.iter().map(|token| (token.text.as_str(), token.clause));
    let Some((_, clause)) = words.next().filter(|(word, _)| matches!(*word, "0" | "zero")) else {
        return false;
    };
    let mut words = words.filter(|(_, of)| *of == clause).map(|(word, _)| word);
    match words.next() {
        None => true,
        Some(next) => WORK.contains(&next) && !words.any(|word| BAD.contains(&word)),
    }
}

/// `starting now`: what was to be done goes on.
fn goes_on(behind: &str) -> bool {
    let tokens = tokens(behind);
    tokens
        .first()
        .is_some_and(|first| matches!(first.text.as_str(), "starting" | "continuing" | "proceeding"))
}

/// `complete.sh`, `pass-through`, `pass/fail`: the word is only the beginning of a name.
fn is_compound(value: &str, word: &str) -> bool {
    let lower = value.to_ascii_lowercase();
    let Some((_, rest)) = lower.split_once(word) else { return false };
    let mut next = rest.chars();
    next.next().is_some_and(|c| matches!(c, '.' | '-' | '/' | '\\' | '_' | '@'))
        && next.next().is_some_and(char::is_alphanumeric)
}

/// Returns the CJK text that follows the word without a gap, up to the end of the value.
fn attached_cjk<'a>(value: &'a str, word: &str) -> Option<&'a str> {
    let start = value.to_ascii_lowercase().find(word)? + word.len();
    value[start..].starts_with(is_cjk).then(|| &value[start..])
}

/// `complete the migration first`: an order, not a statement.
fn is_imperative(tokens: &[Token], done: usize) -> bool {
    const ORDERS: &[&str] = &["complete", "pass"];
    const OBJECTS: &[&str] = &[
        "the", "a", "an", "all", "this", "these", "those", "each", "every", "your", "my", "section", "step",
        "steps", "task", "tasks", "list", "them", "it", "rate", "to", "through", "on", "in",
    ];
    let is_order = ORDERS.contains(&tokens[done].text.as_str());
    let same_clause = |t: &&Token| t.clause == tokens[done].clause;
    is_order
        && tokens.get(done + 1).filter(same_clause).is_some_and(|next| OBJECTS.contains(&next.text.as_str()))
}

fn first_incomplete(tokens: &[Token]) -> Option<usize> {
    let free = unabsorbed(tokens);
    let pairs = tokens
        .windows(2)
        .position(|pair| INCOMPLETE_PAIRS.contains(&(pair[0].text.as_str(), pair[1].text.as_str())));
    free.into_iter().find(|i| INCOMPLETE.contains(&tokens[*i].text.as_str())).or(pairs)
}

/// `not failed`, `never fails`: no failure, but no success either.
fn negates_failure(tokens: &[Token]) -> bool {
    const NEGATIONS: &[&str] = &["not", "never", "no", "isnt", "didnt", "doesnt", "0", "zero"];
    tokens.first().is_some_and(|t| NEGATIONS.contains(&t.text.as_str()))
}

/// Both a complete and an incomplete word, with nothing but a choice between them.
pub(super) fn offers_choice(text: &str) -> bool {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower
        .split(|c: char| !c.is_alphanumeric() && !matches!(c, '|' | '/'))
        .flat_map(|part| part.split_inclusive(['|', '/']))
        .filter(|word| !word.is_empty())
        .collect();
    let side = |word: &str| {
        let word = word.trim_end_matches(['|', '/']);
        if COMPLETE.contains(&word) {
            Some(true)
        } else if INCOMPLETE.contains(&word) || word == "not" {
            Some(false)
        } else {
            None
        }
    };
    let is_joint = |word: &str| matches!(word, "or" | "|" | "/" | "vs" | "versus" | "oder");
    let joined = |pair: &[&str]| {
        pair[0].ends_with(['|', '/'])
            && side(pair[0]).is_some()
            && side(pair[1]).is_some_and(|s| Some(s) != side(pair[0]))
    };
    let spaced = |three: &[&str]| {
        is_joint(three[1])
            && side(three[0]).is_some()
            && side(three[2]).is_some_and(|s| Some(s) != side(three[0]))
    };
    words.windows(2).any(joined) || words.windows(3).any(spaced)
}

/// Tells what a text does to the complete word that it stands beside (or holds).
pub(super) fn limit_of(text: &str) -> Limit {
    if text.contains(['?', '？']) || has_unmet_ratio(text) {
        return Limit::Limited;
    }
    let tokens = tokens(text);
    let free = unabsorbed(&tokens);
    let is_any = |list: &[&str]| free.iter().any(|i| list.contains(&tokens[*i].text.as_str()));
    let word = |at: usize| tokens.get(at).map_or("", |t| t.text.as_str());
    // "as long as" and "as soon as" are conditions, "as requested" is none.
    let is_manner = word(0) == "as" && !matches!(word(1), "long" | "soon" | "far");
    if CONDITIONS_FIRST.contains(&word(0)) && !is_manner || is_any(CONDITIONS) {
        return Limit::Conditional;
    }
    let limits =
        |i: &usize| tokens[*i].text.ends_with("n't") || is_unmended(&tokens, *i) || is_exception(&tokens, *i);
    if is_any(LIMITS)
        || is_any(LIMITS_ELSEWHERE)
        || names_part(&tokens)
        || defers(&tokens)
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
        let next = tokens.get(at + 1).filter(|t| t.clause == tokens[at].clause);
        next.is_some_and(|next| pairs.contains(&(tokens[at].text.as_str(), next.text.as_str())))
    };
    let ends_clause = |at: usize| tokens.get(at + 1).is_none_or(|next| next.clause != tokens[at].clause);
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
    tokens.windows(2).any(|pair| PARTS.contains(&pair[0].text.as_str()) && is_number(Some(&pair[1])))
}

fn is_template(value: &str) -> bool {
    value.starts_with(['<', '$']) || value.contains("{{") || value.starts_with('%')
}

/// Symbols that say no.
pub(super) fn is_cross(c: char) -> bool {
    matches!(
        c,
        '❌' | '✗'
            | '✘'
            | '✕'
            | '✖'
            | '❎'
            | '🚫'
            | '⛔'
            | '⚠'
            | '🔴'
            | '🟡'
            | '🟠'
            | '❗'
            | '‼'
            | '❓'
            | '❔'
            | '⏳'
            | '⌛'
            | '🚧'
            | '👎'
            | '×'
            | '☒'
    )
}

/// Tells whether a text is nothing but "no", "false" and the like.
pub(super) fn is_refusal(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(
        core.as_str(),
        "no" | "false"
            | "never"
            | "nope"
            | "nay"
            | "none"
            | "not yet"
            | "not"
            | "n"
            | "いいえ"
            | "否"
            | "ng"
            | "偽"
            | "null"
            | "nil"
            | "n/a"
    )
}

/// Tells whether a text is a plain no. A "none" or "n/a" only says that there is nothing to say.
pub(super) fn says_no(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(core.as_str(), "no" | "false" | "never" | "nope" | "not yet" | "not" | "いいえ" | "否")
}

/// Tells whether a text is nothing but "yes", "true" and the like.
pub(super) fn is_assent(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(core.as_str(), "yes" | "true" | "はい" | "是")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_word_is_read_in_any_case_and_dress() {
        for word in COMPLETE {
            for value in [
                (*word).to_owned(),
                word.to_uppercase(),
                format!(" {word}. "),
                format!("{word} ✅"),
                format!("**{word}**"),
                format!("\"{word}\""),
                format!("{word}!"),
            ] {
                assert_eq!(read_value(&value), Word::Complete, "{value}");
            }
        }
        for word in INCOMPLETE.iter().chain(&[
            "not complete", "not_complete", "in_progress", "in-progress", "needs_work", "Needs work",
        ]) {
            assert_eq!(read_value(word), Word::Incomplete, "{word}");
            assert_eq!(read_value(&word.to_uppercase()), Word::Incomplete, "{word}");
        }
    }

    #[test]
    fn a_longer_value_counts_when_nothing_limits_it() {
        for value in [
            "complete - all tests pass",
            "task completed successfully",
            "All tests passed",
            "The work is done",
            "passed: 12/12",
            "complete (no failures)",
            "done, 0 errors",
            "completed; fixed the failing test",
            "approved with no remaining issues",
            "completeです",
            "COMPLETE：問題なし",
            "successfully completed",
            "pass, nothing left",
            "complete: fixed all failing tests",
            "done: previously failing tests now pass",
        ] {
            assert_eq!(read_value(value), Word::Complete, "{value}");
        }
    }

    #[test]
    fn a_negation_or_a_limit_makes_it_incomplete() {
        for value in [
            "not done",
            "isn't complete",
            "isn’t complete",
            "not yet passed",
            "almost done",
            "complete except for the docs",
            "complete, but two tests fail",
            "3/10 complete",
            "complete 3 of 10",
            "complete?",
            "done 40%",
            "no success",
            "never completed",
            "completed with 2 failures",
            "complete if the tests pass",
            "COMPLETEではない",
            "COMPLETEとは言えない",
            "COMPLETEしていない",
            "未complete",
            "complete ❌",
            "~~complete~~",
            "mostly complete",
            "failed: 2 tests",
            "complete without fixing the failing tests",
            "complete, no errors fixed",
            "passed 3 out of 4",
            "two of three done",
            "no tests passed",
            "complete, lint still red",
            "rejected: see comments",
            "pass, 1 failed",
        ] {
            assert_eq!(read_value(value), Word::Incomplete, "{value}");
        }
    }

    #[test]
    fn what_says_nothing_is_unknown() {
        for value in [
            "",
            "   ",
            "maybe",
            "complete|incomplete",
            "<complete|incomplete>",
            "complete/incomplete",
            "COMPLETE or INCOMPLETE",
            "pass / fail",
            "{{decision}}",
            "$DECISION",
            "to be decided",
            "complete the migration first",
            "not failed",
            "no failures",
            "<complete>",
            "yes",
            "true",
            "完了",
            "ready to be approved",
            "incomplete | complete",
            "!complete",
        ] {
            assert_ne!(read_value(value), Word::Complete, "{value}");
        }
        for value in ["", "maybe", "complete|incomplete", "no failures", "yes", "<complete>"] {
            assert_eq!(read_value(value), Word::Unknown, "{value}");
        }
    }

    #[test]
    fn ratios_below_one_are_found_wherever_they_stand() {
        for (text, expected) in [
            ("3/10", true),
            ("10/10", false),
            ("3 of 10", true),
            ("3 out of the 10", true),
            ("40%", true),
            ("100 %", false),
            ("99.5 percent", true),
            ("two of three", true),
            ("src/3", false),
            ("2026/01", false),
            ("12", false),
        ] {
            assert_eq!(has_unmet_ratio(text), expected, "{text}");
        }
    }
}
