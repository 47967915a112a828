//! Reads the words of a verdict, and what limits or negates them, in English and in CJK scripts.
//!
//! The rules lean one way: what may be a limit is a limit, for a false COMPLETE is the worst mistake
//! and a false INCOMPLETE the least. Only a few well-known harmless phrases ("no failures", "fixed
//! the failing test") are taken out before limits are looked for.

use super::text::is_cjk;

/// What the value of a decision key says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Word {
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
pub(crate) enum Limit {
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

const CONDITIONS: &[&str] = &["if", "unless", "until", "once", "provided", "assuming", "whenever", "pending"];

/// Words that begin a condition only at the start: "when the tests pass" against "fixed it when ...".
const CONDITIONS_FIRST: &[&str] = &["when", "after", "as", "upon", "while", "before"];

/// Bad things: their absence is good news.
const BAD: &[&str] = &[
    "fail", "fails", "failed", "failing", "failure", "failures", "error", "errors", "issue", "issues",
    "problem", "problems", "warning", "warnings", "regression", "regressions", "bug", "bugs", "defect",
    "defects", "blocker", "blockers", "finding", "findings", "todo", "todos", "missing", "broken",
    "remaining", "remains", "left", "outstanding", "pending", "unresolved", "crash", "crashes", "conflict",
    "conflicts", "needed", "skipped", "caveat", "caveats", "reservation", "reservations",
];

/// Words that may stand between "no" and the bad thing.
const BETWEEN: &[&str] = &[
    "any", "more", "further", "new", "other", "remaining", "open", "known", "outstanding", "critical",
    "test", "tests", "lint", "type", "build", "compile", "compiler", "longer", "single", "blocking",
    "additional", "unresolved", "changes", "the", "all", "both", "every", "two", "three", "last", "that",
    "was", "were", "previously", "formerly", "flaky", "work", "else", "items", "steps", "are", "is",
];

const REPAIRS: &[&str] = &[
    "fixed", "fixes", "resolved", "resolves", "repaired", "repairs", "corrected", "corrects", "addressed",
    "cleared", "eliminated", "previously", "formerly",
];

const ABSENCES: &[&str] = &["no", "zero", "0", "without", "nothing", "none"];

/// After an absence of bad things these make it bad again: "no errors fixed".
const SPOILERS: &[&str] = &[
    "fixed", "resolved", "addressed", "solved", "repaired", "pass", "passed", "passing", "passes", "run",
    "ran", "checked", "tested", "verified",
];

/// A word of a text, in lower case, and which clause it stands in.
struct Token {
    text: String,
    clause: usize,
}

/// Reads the value of a decision key.
pub(crate) fn read_value(value: &str) -> Word {
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
pub(crate) fn read_exact(value: &str) -> Option<Word> {
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
    if value.contains("~~") || value.chars().any(is_cross) || value.starts_with('!') {
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
    if limit_of(value) != Limit::Free || value.chars().any(is_cross) || value.contains("~~") {
        return Word::Incomplete;
    }
    if !before.iter().all(is_harmless) || is_imperative(tokens, done) || value.starts_with('!') {
        return Word::Unknown;
    }
    if is_compound(value, &tokens[done].text) {
        return Word::Unknown;
    }
    match attached_cjk(value, &tokens[done].text) {
        Some(suffix) => match read_suffix_cjk(suffix) {
            Some(true) => Word::Complete,
            Some(false) => Word::Incomplete,
            None => Word::Unknown,
        },
        None => Word::Complete,
    }
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
pub(crate) fn offers_choice(text: &str) -> bool {
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
pub(crate) fn limit_of(text: &str) -> Limit {
    if text.contains(['?', '？']) || has_unmet_ratio(text) {
        return Limit::Limited;
    }
    let tokens = tokens(text);
    let free = unabsorbed(&tokens);
    let is_any = |list: &[&str]| free.iter().any(|i| list.contains(&tokens[*i].text.as_str()));
    let first = tokens.first().map_or("", |t| t.text.as_str());
    if CONDITIONS_FIRST.contains(&first) || is_any(CONDITIONS) {
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
    limit_of_cjk(text)
}

/// A bad thing that nobody mended: "compile error" against "fixed the compile error", "error handling"
/// and "issue 12".
fn is_unmended(tokens: &[Token], at: usize) -> bool {
    const MENDS: &[&str] = &[
        "fix", "fixing", "mended", "mends", "solved", "solves", "closed", "closes", "removed", "removes",
        "gone", "handled", "handles", "prevents", "prevented", "avoids", "avoided", "catches", "caught",
        "covers", "covered", "silenced", "suppressed", "added", "adds", "implemented", "implements",
        "documented", "translated", "improved", "improves", "updated", "changed", "moved", "renamed",
        "refactored", "replaced", "wrote",
    ];
    const KINDS: &[&str] = &[
        "handling", "handler", "handlers", "message", "messages", "code", "codes", "page", "pages", "type",
        "types", "path", "paths", "reporting", "recovery", "text", "texts", "log", "tracker", "report",
        "class", "enum", "variant", "variants", "case", "cases", "level", "banner", "boundary", "template",
        "templates",
    ];
    const AROUND_MAX: usize = 8;
    if !is_in(&tokens[at], BAD) {
        return false;
    }
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let around = &tokens[at.saturating_sub(AROUND_MAX)..tokens.len().min(at + AROUND_MAX)];
    let mended = around.iter().filter(same_clause).any(|t| is_in(t, MENDS) || is_in(t, REPAIRS));
    let next = tokens.get(at + 1).filter(same_clause);
    !mended && !next.is_some_and(|t| is_in(t, KINDS) || is_number(Some(t)))
}

/// `bar one test`, `save for the docs`, `review required`, `requires approval`: takes a part back.
fn is_exception(tokens: &[Token], at: usize) -> bool {
    const PIECES: &[&str] = &["one", "two", "three", "four", "five", "for", "a", "some"];
    const NEEDS: &[&str] = &[
        "review", "approval", "work", "testing", "tests", "attention", "changes", "fixes", "verification",
        "confirmation", "investigation", "human", "manual", "input", "clarification", "permission", "help",
        "more", "further", "another", "signoff", "sign",
    ];
    const FULFILLED: &[&str] = &["all", "everything", "as", "what", "every", "that", "than", "whatever"];
    const AHEAD_MAX: usize = 4;
    const BEFORE_MAX: usize = 6;
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let ahead = &tokens[at + 1..tokens.len().min(at + AHEAD_MAX)];
    let mut ahead = ahead.iter().take_while(same_clause);
    match tokens[at].text.as_str() {
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

/// How the line above goes on into a verdict.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// It ends in a colon, as what announces an honest verdict does.
    Colon,
    /// It ends in a verb of saying.
    Saying,
    /// It ends in another word that leaves it open: "is", "not", "almost".
    Link,
}

/// Words that deny what the sentence ends with.
const DENIALS: &[&str] = &[
    "not", "never", "neither", "nor", "cannot", "cant", "isnt", "arent", "wasnt", "dont", "doesnt", "didnt",
    "wont", "almost", "nearly", "mostly", "partly", "partially", "half", "far", "nowhere", "hardly",
    "barely", "scarcely", "unable", "refuse", "refuses", "refused", "impossible", "unlikely", "premature",
    "early", "yet", "still", "wrong", "incorrect",
];

/// Words that limit it, or say that it is not so now, unless they only announce it.
const RESERVES: &[&str] = &[
    "only", "some", "most", "will", "would", "could", "should", "might", "may", "must", "soon", "later",
    "tomorrow", "hopefully", "maybe", "perhaps", "probably", "close", "fail", "fails", "broken", "missing",
    "unfinished", "incomplete",
];

/// Words that name a verdict: of a sentence with a colon only the clause around them announces one.
const ANNOUNCERS: &[&str] = &[
    "verdict", "decision", "answer", "conclusion", "result", "status", "json", "judgement", "judgment",
    "outcome", "assessment", "so", "hence", "thus", "therefore",
];

/// Tells what a sentence does to the COMPLETE that ends it on the next line.
pub(crate) fn denial_of(sentence: &str, reach: Reach) -> Limit {
    let tokens = tokens(sentence);
    let clauses: Vec<usize> = tokens.iter().filter(|t| is_in(t, ANNOUNCERS)).map(|t| t.clause).collect();
    let counts = |t: &Token| reach != Reach::Colon || clauses.is_empty() || clauses.contains(&t.clause);
    let free: Vec<usize> = unabsorbed(&tokens).into_iter().filter(|i| counts(&tokens[*i])).collect();
    let denies = |i: &usize| {
        let token = &tokens[*i];
        let negates = is_in(token, DENIALS) || token.text.ends_with("n't");
        (negates && !finds_nothing_bad(&tokens, *i))
            || (reach != Reach::Colon && is_in(token, RESERVES))
            || (reach == Reach::Link && is_in(token, ABSENCES))
    };
    if free.iter().any(denies) || (reach != Reach::Colon && has_unmet_ratio(sentence)) {
        return Limit::Limited;
    }
    let conditional = |t: &Token| is_in(t, CONDITIONS) || t.text == "when";
    if reach != Reach::Colon && tokens.iter().any(conditional) { Limit::Conditional } else { Limit::Free }
}

fn is_in(token: &Token, list: &[&str]) -> bool {
    list.contains(&token.text.as_str())
}

/// `did not find any problems`, `does not fail`: a negation that is good news.
fn finds_nothing_bad(tokens: &[Token], negation: usize) -> bool {
    const FINDS: &[&str] = &["find", "found", "see", "seen", "have", "show", "contain", "notice", "detect"];
    const AHEAD_MAX: usize = 5;
    let ahead = &tokens[negation + 1..tokens.len().min(negation + 1 + AHEAD_MAX)];
    ahead.first().is_some_and(|t| is_in(t, BAD) || (is_in(t, FINDS) && ahead.iter().any(|t| is_in(t, BAD))))
}

/// `step 1`, `phase 2`: a part of the work, which may not be all of it.
fn names_part(tokens: &[Token]) -> bool {
    const PARTS: &[&str] =
        &["step", "phase", "part", "task", "stage", "item", "section", "milestone", "iteration", "chapter"];
    tokens.windows(2).any(|pair| PARTS.contains(&pair[0].text.as_str()) && is_number(Some(&pair[1])))
}

/// Indexes of the tokens that are not part of a harmless phrase such as "no failures".
fn unabsorbed(tokens: &[Token]) -> Vec<usize> {
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
    let bad = (start + 1..start + AHEAD_MAX)
        .take_while(|i| is_in(*i, BAD) || is_in(*i, BETWEEN) || (!absence && is_number(word(*i))))
        .filter(|i| is_in(*i, BAD))
        .last()?;
    let spoiled = absence && (is_in(bad + 1, SPOILERS) || is_in(bad + 2, SPOILERS));
    (!spoiled && !is_in(bad + 1, &["of"])).then_some(bad + 1)
}

/// Returns the end of `failing tests are fixed`, `missing test was added`: a bad thing that the same clause mends.
fn mended(tokens: &[Token], start: usize) -> Option<usize> {
    const AHEAD_MAX: usize = 6;
    const BAD_BEFORE: &[&str] = &[
        "failing", "broken", "missing", "pending", "open", "outstanding", "remaining", "unresolved", "issue",
        "issues", "problem", "problems", "error", "errors", "warning", "warnings", "bug", "bugs",
        "regression", "regressions", "defect", "defects", "crash", "crashes", "todo", "todos", "invalid",
        "red",
    ];
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
    if !is_in(&tokens[start], BAD_BEFORE) {
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
    (is_in(last, MENDED) && ends_well).then_some(end + 1)
}

/// Returns the end of `no longer occurs`, `does not panic`, `not a single failure`, `added the missing`, `nothing else to do`.
fn never_again(tokens: &[Token], start: usize) -> Option<usize> {
    const HAPPENS: &[&str] = &[
        "occurs", "occur", "happens", "happen", "appears", "reproduces", "panics", "panic", "crashes",
        "crash", "hangs", "hang", "fails", "fail", "leaks", "leak", "breaks", "needed", "throws",
    ];
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
    if is(0, &["added", "adds", "wrote", "removed", "removes"]) {
        let end = if is(1, &["the", "all", "both"]) { 2 } else { 1 };
        return is(end, &["missing", "broken", "todo", "todos"]).then_some(start + end + 1);
    }
    let to_do = is(0, &["nothing"]) && is(1, &["else", "more", "left"]) && is(2, &["to"]) && is(3, &["do"]);
    to_do.then_some(start + 4)
}

fn is_number(token: Option<&Token>) -> bool {
    token.is_some_and(|t| t.text.chars().all(|c| c.is_ascii_digit()))
}

/// Finds `3/10`, `3 of 10`, `40%` and the like: less than the whole.
pub(crate) fn has_unmet_ratio(text: &str) -> bool {
    let lower = text.to_lowercase();
    let parts = number_parts(&lower);
    let is_unmet = |n: f64, m: f64| n < m;
    parts.windows(3).any(|three| match three {
        [Part::Number(n), Part::Joint, Part::Number(m)] => is_unmet(*n, *m),
        _ => false,
    }) || parts.windows(2).any(|two| match two {
        [Part::Number(n), Part::Percent] => *n < 100.0,
        _ => false,
    })
}

/// What matters for ratios.
enum Part {
    Number(f64),
    Joint,
    Percent,
    Other,
}

fn number_parts(lower: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut rest = lower;
    while let Some(c) = rest.chars().next() {
        let is_same: fn(char) -> bool = if c.is_ascii_digit() {
            |c| c.is_ascii_digit() || c == '.'
        } else if c.is_alphabetic() {
            |c| c.is_alphabetic() || c == '-'
        } else {
            rest = &rest[c.len_utf8()..];
            match c {
                '/' | '／' => parts.push(Part::Joint),
                '%' | '％' => parts.push(Part::Percent),
                _ if c.is_whitespace() => {}
                _ => parts.push(Part::Other),
            }
            continue;
        };
        let end = rest.find(|c| !is_same(c)).unwrap_or(rest.len());
        let word = &rest[..end];
        rest = &rest[end..];
        parts.push(match word {
            "of" | "out" => Part::Joint,
            "percent" | "pct" => Part::Percent,
            "the" | "all" => continue,
            _ if c.is_ascii_digit() => match word.trim_end_matches('.').parse() {
                Ok(number) => Part::Number(number),
                Err(_) => Part::Other,
            },
            _ => number_word(word).map_or(Part::Other, Part::Number),
        });
    }
    // "3 out of 10" has two joints.
    let mut previous_joint = false;
    parts.retain(|part| {
        let joint = matches!(part, Part::Joint);
        let keep = !(joint && previous_joint);
        previous_joint = joint;
        keep
    });
    parts
}

/// Reads `seven`, `ninety` and `forty-two`.
fn number_word(word: &str) -> Option<f64> {
    const NUMBERS: &[&str] = &[
        "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven",
        "twelve",
    ];
    const TENS: &[&str] =
        &["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety", "hundred"];
    if let Some((tens, units)) = word.split_once('-') {
        return Some(number_word(tens)? + number_word(units.split('-').next()?)?);
    }
    let small = NUMBERS.iter().position(|name| *name == word);
    small.or_else(|| TENS.iter().position(|name| *name == word).map(|n| (n + 2) * 10)).map(|n| n as f64)
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut word = String::new();
    let mut clause = 0;
    let mut previous = ' ';
    for c in text.chars().chain([' ']) {
        let c = if matches!(c, '’' | 'ʼ' | '´') { '\'' } else { c };
        let in_word = c.is_alphanumeric() || (c == '\'' && !word.is_empty());
        // A change of script ends a word: "COMPLETEではない" is two.
        if !word.is_empty() && (!in_word || is_cjk(c) != is_cjk(previous)) {
            let text = std::mem::take(&mut word).trim_end_matches('\'').to_owned();
            tokens.push(Token { text, clause });
        }
        let is_dash = matches!(c, '-' | '=' | '~') && previous.is_whitespace();
        previous = c;
        if in_word {
            word.extend(c.to_lowercase());
            continue;
        }
        if is_dash
            || matches!(c, '\n' | '\r')
            || matches!(c, ',' | ';' | '.' | ':' | '!' | '(' | ')' | '、' | '。' | '，' | '—' | '–')
        {
            clause += 1;
        }
    }
    tokens
}

fn is_template(value: &str) -> bool {
    value.starts_with(['<', '$']) || value.contains("{{") || value.starts_with('%')
}

/// Symbols that say no.
pub(crate) fn is_cross(c: char) -> bool {
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

/// Text in CJK scripts that follows a complete word directly and only affirms it.
const AFFIRMATIONS: &[&str] = &[
    "です",
    "でした",
    "だ",
    "だった",
    "である",
    "であります",
    "しました",
    "した",
    "済み",
    "済",
    "ですね",
    "ですよ",
    "となりました",
    "になりました",
    "と判定します",
    "と判定しました",
    "と判断します",
    "と判断しました",
    "とします",
    "とする",
    "完了",
    "完了です",
    "完了しました",
    "了",
    "입니다",
];

/// Pieces of text in CJK scripts that negate or limit.
const LIMITS_CJK: &[&str] = &[
    "ない", "無い", "なし", "無し", "ません", "ませぬ", "ず、", "せず", "未", "不", "非", "否", "まだ",
    "以外", "除", "だが", "ですが", "けど", "けれど", "しかし", "ただし", "但", "一部", "部分", "ほぼ",
    "殆ど", "ほとんど", "だけ", "のみ", "残", "失敗", "エラー", "かも", "だろう", "でしょう", "と思", "はず",
    "予定", "途中", "没", "無", "无", "别", "別に", "几乎", "差", "还", "還", "失败", "錯誤", "错误", "吗",
    "嗎", "か。", "아니", "아님", "않", "안 ", "못", "미완", "거의", "제외", "실패", "지만", "違", "嘘",
    "誤", "待", "とはいえ", "らず", "難", "中止", "断念", "不明", "中です",
];

const CONDITIONS_CJK: &[&str] = &[
    "場合", "なら", "たら", "れば", "とき", "時は", "もし", "まで", "如果", "若", "当", "要是", "면 ", "条件",
];

/// Good news that hold a negation.
const HARMLESS_CJK: &[&str] = &[
    "問題", "失敗", "エラー", "不具合", "警告", "残り", "残件", "指摘", "残課題", "错误", "错誤", "问题",
    "異常", "失败",
];
const ABSENCES_CJK: &[&str] = &[
    "はありません",
    "はございません",
    "ありません",
    "はない",
    "もない",
    "はなし",
    "もなし",
    "なし",
    "無し",
    "ゼロ",
    "は0件",
    "0件",
];

fn limit_of_cjk(text: &str) -> Limit {
    if !text.chars().any(is_cjk) {
        return Limit::Free;
    }
    let mut rest = text.to_owned();
    for bad in HARMLESS_CJK {
        for absence in ABSENCES_CJK {
            rest = rest.replace(&format!("{bad}{absence}"), "");
        }
        for absence in ["没有", "无", "無"] {
            rest = rest.replace(&format!("{absence}{bad}"), "");
        }
    }
    let ends_with_question = rest.trim_end().ends_with('か');
    if CONDITIONS_CJK.iter().any(|piece| rest.contains(piece)) {
        Limit::Conditional
    } else if ends_with_question || LIMITS_CJK.iter().any(|piece| rest.contains(piece)) {
        Limit::Limited
    } else {
        Limit::Free
    }
}

/// Reads CJK text that follows a word without a separator: `Some(true)` affirms, `Some(false)`
/// negates or limits, `None` says nothing about it (`COMPLETEの場合`).
pub(crate) fn read_suffix_cjk(suffix: &str) -> Option<bool> {
    let core = suffix.trim().trim_end_matches(['。', '．', '.', '!', '！']);
    if AFFIRMATIONS.contains(&core) {
        return Some(true);
    }
    (limit_of(suffix) == Limit::Limited).then_some(false)
}

/// Tells whether a text is nothing but "no", "false" and the like.
pub(crate) fn is_refusal(text: &str) -> bool {
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
pub(crate) fn says_no(text: &str) -> bool {
    let core = text.trim().trim_end_matches(['.', '!', '。']).to_lowercase();
    matches!(core.as_str(), "no" | "false" | "never" | "nope" | "not yet" | "not" | "いいえ" | "否")
}

/// Tells whether a text is nothing but "yes", "true" and the like.
pub(crate) fn is_assent(text: &str) -> bool {
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
