//! Finds what stands in for the work, goes round it or falls short of it: `mocked the database`, `few tests pass`,
//! `next: docs`, `removed the failing test`.

use super::affirm::{is_achieved, is_achievement, is_achieving, is_good};
use super::deeds::is_other_work;
use super::portion::is_part;
use crate::verdict::tokens::{Token, ahead_in_clause, before_in_clause, is_in, next_in_clause};

/// Beginnings of the words of a family: `skip` stands for `skips`, `skipped`, `skipping`.
const FAMILIES: &[&str] = &[
    "skip", "bypass", "circumvent", "postpon", "neglect", "overlook", "overrid", "overrul", "overrode",
    "waiv", "exempt", "abandon", "unfortun", "regret", "apolog", "sorry", "doubt", "dubious", "suspicio",
    "guess", "assum", "presum", "approximat", "tentativ", "provisional", "pretend", "fabricat", "falsif",
    "fudg", "botch", "cheat", "kludg", "inadequa", "insuffic", "inaccura", "imperfect", "inconsist",
    "unavail", "unreach", "intermitten", "sporadic", "occasional", "disagree", "dissatisf", "disapprov",
    "disappoint", "questionabl", "debatabl", "overclaim", "exaggerat", "improvis", "experimental",
    "rudimentar", "superficial", "sloppy", "sloppily", "misrepresent", "mislead", "sarcas",
];

/// Words that belong to no family, or to one with harmless members.
const WORDS: &[&str] = &[
    "nobody", "nowhere", "noone", "nah", "naw", "nope", "nein", "nix", "nada", "nyet", "ish", "xfail",
    "rarely", "seldom", "declined", "declining", "omitting", "refusing", "rejecting", "aborting",
    "simulated", "simulating", "simulation", "sometimes", "scarce", "lie", "lies", "lied", "lying", "untrue",
    "joke", "joking", "kidding", "bluff", "bogus", "nonsense", "sham", "hoax", "allegedly", "reportedly",
    "ostensibly", "seemingly", "nominally", "arguably", "practically", "virtually", "basically",
    "essentially", "technically", "otherwise", "exhausted", "interrupted", "killed", "halted", "stalled",
    "punted", "shelved", "parked", "forced", "afaik", "afaict", "iirc", "approx", "kinda", "sorta", "meh",
    "iffy", "shaky", "fragile", "brittle", "risky", "limited", "prototype", "prototyped", "poc", "skeleton",
    "scaffold", "scaffolded", "scaffolding", "backlog", "tba", "undone", "disputed", "contested", "wontfix",
    "xfailed", "retried", "yesterday", "incorrectly", "wrongly", "improperly", "demo", "lightly",
    "minimally", "loosely", "vaguely", "crudely", "naively", "hastily", "semi", "pseudo", "quasi", "mis",
    "accident", "coincidence", "luck", "lucky", "somehow", "fairly", "pretty", "reckon", "imagine",
    "underway", "begun", "nearing", "symptom", "symptoms", "wishful", "often", "leaving", "began", "weaker",
    "hardwired", "seldom", "elsewhere", "struggled", "struggling",
];

/// What stands in for the work. It may be mended: `replaced the placeholder`.
pub(in crate::verdict) const STAND_INS: &[&str] = &[
    "placeholder", "placeholders", "fixme", "fixmes", "xxx", "hack", "hacks", "hacked", "hacky",
    "workaround", "workarounds", "hardcoded", "hardcode", "hardcodes", "hardcoding", "mock", "mocks",
    "mocked", "mocking", "dummy", "dummies", "fake", "fakes", "faked", "faking", "stubbing", "shortcut",
    "shortcuts", "bandaid", "canned", "boilerplate", "gap", "gaps", "hole", "holes", "temporary", "leftover",
    "leftovers", "limitation", "limitations", "stuck",
];

/// Pairs of words.
const PAIRS: &[(&str, &str)] = &[
    ("ran", "out"),
    ("run", "out"),
    ("runs", "out"),
    ("running", "out"),
    ("had", "to"),
    ("has", "to"),
    ("have", "to"),
    ("commented", "out"),
    ("commenting", "out"),
    ("give", "up"),
    ("gives", "up"),
    ("given", "up"),
    ("giving", "up"),
    ("best", "effort"),
    ("best", "efforts"),
    ("best", "guess"),
    ("best", "of"),
    ("best", "i"),
    ("my", "knowledge"),
    ("our", "knowledge"),
    ("my", "machine"),
    ("on", "track"),
    ("look", "green"),
    ("look", "good"),
    ("look", "fine"),
    ("been", "green"),
    ("been", "passing"),
    ("been", "working"),
    ("worth", "mentioning"),
    ("worth", "noting"),
    ("started", "on"),
    ("to", "you"),
    ("i", "leave"),
    ("we", "leave"),
    ("by", "force"),
    ("hard", "wired"),
    ("special", "cased"),
    ("debug", "output"),
    ("debug", "print"),
    ("debug", "prints"),
    ("debug", "statements"),
    ("my", "fork"),
    ("my", "branch"),
    ("my", "copy"),
    ("my", "laptop"),
    ("my", "side"),
    ("my", "end"),
    ("our", "side"),
    ("off", "and"),
    ("very", "least"),
    ("times", "of"),
    ("times", "in"),
    ("times", "out"),
    ("test", "wants"),
    ("test", "expects"),
    ("tests", "want"),
    ("tests", "expect"),
    ("low", "hanging"),
    ("touch", "wood"),
    ("on", "wood"),
    ("ignore", "list"),
    ("skip", "list"),
    ("allow", "attribute"),
    ("comment", "about"),
    ("comment", "explaining"),
    ("comments", "about"),
    ("design", "doc"),
    ("design", "document"),
    ("wrote", "down"),
    ("written", "down"),
    ("had", "passed"),
    ("had", "worked"),
    ("someone", "else"),
    ("somebody", "else"),
    ("by", "someone"),
    ("by", "somebody"),
    ("on", "course"),
    ("under", "way"),
    ("getting", "there"),
    ("fingers", "crossed"),
    ("as", "good"),
    ("ts", "ignore"),
    ("type", "ignore"),
    ("eslint", "disable"),
    ("another", "branch"),
    ("another", "repo"),
    ("another", "story"),
    ("another", "matter"),
    ("another", "thing"),
    ("another", "question"),
    ("another", "topic"),
    ("another", "problem"),
    ("different", "story"),
    ("different", "matter"),
    ("different", "question"),
    ("different", "branch"),
    ("different", "task"),
    ("different", "thing"),
    ("separate", "matter"),
    ("separate", "story"),
    ("separate", "question"),
    ("separate", "branch"),
    ("my", "best"),
    ("good", "enough"),
    ("close", "enough"),
    ("near", "enough"),
    ("close", "to"),
    ("more", "or"),
    ("dry", "run"),
    ("dry", "runs"),
    ("hard", "coded"),
    ("work", "around"),
    ("place", "holder"),
    ("the", "rest"),
    ("everything", "else"),
    ("on", "hold"),
    ("at", "risk"),
    ("at", "times"),
    ("under", "review"),
    ("in", "review"),
    ("under", "construction"),
    ("happy", "path"),
    ("proof", "of"),
    ("by", "eye"),
    ("used", "to"),
    ("going", "to"),
    ("about", "to"),
    ("supposed", "to"),
    ("meant", "to"),
    ("try", "to"),
    ("trying", "to"),
    ("ought", "to"),
    ("plan", "to"),
    ("working", "on"),
    ("more", "time"),
    ("the", "works"),
    ("switched", "off"),
    ("turned", "off"),
    ("next", "sprint"),
    ("next", "release"),
    ("next", "iteration"),
    ("next", "pr"),
    ("next", "phase"),
    ("next", "time"),
    ("next", "version"),
    ("next", "week"),
    ("next", "milestone"),
    ("next", "run"),
    ("next", "worker"),
    ("another", "pr"),
    ("another", "ticket"),
    ("another", "task"),
    ("another", "day"),
    ("another", "time"),
    ("another", "issue"),
    ("separate", "pr"),
    ("separate", "ticket"),
    ("separate", "task"),
    ("separate", "issue"),
    ("had", "time"),
    ("had", "been"),
    ("everything", "possible"),
    ("was", "possible"),
    ("one", "of"),
    ("part", "of"),
    ("parts", "of"),
    ("on", "retry"),
    ("after", "retry"),
    ("after", "retries"),
    ("for", "today"),
    ("for", "me"),
    ("trust", "me"),
    ("with", "comments"),
    ("finished", "early"),
    ("that", "exist"),
    ("that", "ran"),
    ("that", "can"),
    ("can", "pass"),
    ("were", "passing"),
    ("were", "green"),
    ("were", "working"),
    ("was", "passing"),
    ("was", "green"),
    ("was", "working"),
    ("self", "approved"),
    ("pre", "approved"),
    ("auto", "approved"),
    ("rubber", "stamped"),
    ("by", "chance"),
    ("made", "up"),
    ("n", "a"),
    ("more", "to"),
    ("to", "do"),
];

/// What a pair behind which these stand names: `the REST API`, `a dry-run flag`.
const NAMED: &[&str] =
    &["api", "client", "endpoint", "endpoints", "server", "layer", "flag", "option", "mode"];

/// What one runs out of.
const MEANS: &[&str] = &[
    "time", "budget", "memory", "tokens", "context", "credits", "space", "scope", "ideas", "reach", "luck",
    "quota",
];

/// Things to be done or answered, which are bad while they are open.
pub(in crate::verdict) const THINGS: &[&str] = &[
    "item", "items", "question", "questions", "task", "tasks", "point", "points", "work", "ticket",
    "tickets", "comment", "comments", "thread", "threads", "step", "steps", "end", "ends", "finding",
    "findings", "criteria", "requirement", "requirements", "goal", "goals", "action", "actions", "matter",
    "matters", "topic", "topics", "follow", "thing", "things", "change", "changes",
];

/// What makes them bad.
pub(in crate::verdict) const OPEN: &[&str] = &[
    "open", "remaining", "outstanding", "unresolved", "unfinished", "unanswered", "further", "more", "loose",
    "pending", "additional", "unmet", "incomplete", "other", "missing", "unaddressed", "blocking",
];

const TESTS: &[&str] = &[
    "test", "tests", "assertion", "assertions", "check", "checks", "case", "cases", "suite", "suites",
    "lint", "lints", "spec", "specs", "validation", "requirement", "requirements", "threshold", "thresholds",
    "scope", "criterion", "criteria", "expectation", "expectations", "gate", "gates",
];

/// Words that begin another piece of a sentence.
const JOINTS: &[&str] = &["and", "then", "so", "from", "in", "of", "after", "by", "because", "to"];

/// Says so of a text; `free` are the words that no harmless phrase has in it.
pub(in crate::verdict) fn is_short(tokens: &[Token], free: &[usize]) -> bool {
    let is_bad = |at: usize| {
        let word = tokens[at].text.as_str();
        WORDS.contains(&word)
            || FAMILIES.iter().any(|family| word.starts_with(family))
            || is_stand_in(tokens, at)
            || is_open(tokens, at)
            || counts_few(tokens, at)
            || qualifies(tokens, at)
            || weakens_tests(tokens, at)
            || is_unsure(tokens, at)
            || is_ahead(tokens, at)
            || is_part(tokens, at)
            || is_other_work(tokens, at)
            || is_hearsay(tokens, at)
    };
    let is_pair = |pair: &[usize]| {
        let (first, second) = (&tokens[pair[0]], &tokens[pair[1]]);
        let next = tokens.get(pair[1] + 1).filter(|t| t.clause == second.clause);
        let is_listed = match (first.text.as_str(), second.text.as_str()) {
            ("out", "of") => next.is_some_and(|t| is_in(t, MEANS)),
            words => PAIRS.contains(&words) && !next.is_some_and(|t| is_in(t, NAMED)),
        };
        pair[1] == pair[0] + 1 && first.clause == second.clause && is_listed
    };
    free.iter().any(|at| is_bad(*at)) || free.windows(2).any(is_pair)
}

/// A stand-in that nobody took away, or a word that takes an achievement back: `unreviewed`.
fn is_stand_in(tokens: &[Token], at: usize) -> bool {
    const HARMLESS: &[&str] = &["unchanged", "unlisted", "unordered", "unsorted", "unsigned", "unloaded"];
    const TAKEN_AWAY: &[&str] = &[
        "removed", "removes", "replaced", "replaces", "fixed", "fixes", "resolved", "resolves", "eliminated",
        "gone", "cleared", "closed", "closes", "handled", "handles",
    ];
    const BETWEEN: &[&str] = &[
        "the", "a", "an", "all", "last", "both", "every", "is", "are", "was", "were", "has", "have", "been",
        "now", "promise", "rejection", "exception", "value", "values", "path", "paths", "two", "three",
    ];
    let word = tokens[at].text.as_str();
    let undone = || word.strip_prefix("un").is_some_and(is_achieved) && !HARMLESS.contains(&word);
    if !is_in(&tokens[at], STAND_INS) && !undone() {
        return false;
    }
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let before = tokens[..at].iter().rev().take_while(same_clause).find(|t| !is_in(t, BETWEEN));
    let after = tokens[at + 1..].iter().take_while(same_clause).find(|t| !is_in(t, BETWEEN));
    !before.is_some_and(|t| is_in(t, TAKEN_AWAY)) && !after.is_some_and(|t| is_in(t, TAKEN_AWAY))
}

/// `two open questions`, `docs open`, `open: docs`, `next: docs`, `next step is docs`.
fn is_open(tokens: &[Token], at: usize) -> bool {
    const CLOSED: &[&str] = &["closed", "resolved", "answered", "done", "fixed", "addressed", "opened"];
    const NEXT: &[&str] = &["step", "steps", "up", "is", "are", "task", "we", "i", "comes", "will", "to"];
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    const AHEAD_MAX: usize = 8;
    let previous = at.checked_sub(1).map(|before| &tokens[before]);
    let begins = previous.is_none_or(|t| t.clause != tokens[at].clause);
    let next = next_in_clause(tokens, at);
    let is_label = begins && next.is_none() && at + 1 < tokens.len();
    let closed = || tokens[at..].iter().take(AHEAD_MAX).take_while(same_clause).any(|t| is_in(t, CLOSED));
    match tokens[at].text.as_str() {
        "open" => {
            is_label || (!begins && next.is_none()) || (next.is_some_and(|t| is_in(t, THINGS)) && !closed())
        }
        "loose" => next.is_some_and(|t| is_in(t, &["end", "ends"])),
        // The clauses of a path in code, `Iterator::next`, are two colons apart.
        "next" => {
            let in_path = previous.is_some_and(|t| tokens[at].clause > t.clause + 1);
            begins && !in_path && (is_label || next.is_some_and(|t| is_in(t, NEXT)))
        }
        "later" => is_label,
        "started" | "starting" => {
            begins || previous.is_some_and(|t| is_in(t, &["and", "then", "just", "already"]))
        }
        "all" => next.is_none() && previous.is_some_and(|t| t.text == "is"),
        "wait" | "waits" | "follow" | "follows" | "continue" | "continues" | "lag" | "lags" | "linger"
        | "lingers" | "differ" | "differs" | "suffer" | "suffers" => {
            !begins
                && next.is_none_or(|t| {
                    is_in(t, &["on", "behind", "until", "later", "soon", "with", "from", "and"])
                })
        }
        _ => false,
    }
}

/// `few tests pass`, `several checks pass`: not all, unless it counts what was done.
fn counts_few(tokens: &[Token], at: usize) -> bool {
    const FEW: &[&str] = &[
        "few", "fewer", "several", "many", "couple", "handful", "majority", "bulk", "minority", "portion",
        "fraction", "subset", "share", "slice", "percentage", "lot", "lots", "plenty", "dozen", "bunch",
    ];
    const BACK_MAX: usize = 3;
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let mut before = tokens[at.saturating_sub(BACK_MAX)..at].iter().filter(same_clause);
    is_in(&tokens[at], FEW) && !before.any(|t| is_achieved(&t.text))
}

/// `added a bug`, `the main tests pass`, `passed before`, `old ones persist`, `0 tests`, `done save docs`.
fn qualifies(tokens: &[Token], at: usize) -> bool {
    const MAKES: &[&str] = &["added", "adds", "introduced", "introduces", "created", "creates", "made"];
    const BAD: &[&str] = &[
        "bug", "bugs", "regression", "regressions", "failure", "failures", "crash", "crashes", "leak",
        "leaks", "deadlock", "deadlocks", "mess",
    ];
    const MAIN: &[&str] = &[
        "important", "main", "basic", "essential", "key", "easy", "simple", "easiest", "easier", "selected",
        "certain", "targeted", "visible", "public", "smoke", "sanity", "fast", "quick", "cheap", "trivial",
        "small", "smaller", "shorter", "critical", "minor", "local", "my", "relevant", "related", "normal",
        "common", "usual", "standard", "typical", "default", "core", "central", "linux", "windows", "macos",
    ];
    const USES: &[&str] = &[
        "flow", "flows", "path", "paths", "case", "cases", "input", "inputs", "scenario", "scenarios",
        "feature", "features", "functionality", "version", "logic", "build", "builds", "users", "files",
    ];
    const SAID: &[&str] = &["is", "are", "work", "works", "pass", "passes", "passed", "green", "done"];
    const ENDS: &[&str] = &["done", "finished", "fixed"];
    const STATES: &[&str] = &["fine", "ok", "okay", "good", "clean", "correct", "complete"];
    const AHEAD_MAX: usize = 3;
    let same_clause = |t: &&Token| t.clause == tokens[at].clause;
    let mut ahead = ahead_in_clause(tokens, at, AHEAD_MAX);
    let next = next_in_clause(tokens, at);
    let previous = before_in_clause(tokens, at);
    match tokens[at].text.as_str() {
        // "added crash reports" names a kind of thing.
        word if MAKES.contains(&word) => {
            ahead.any(|t| is_in(t, BAD)) && ahead.next().is_none_or(|t| is_in(t, JOINTS))
        }
        word if MAIN.contains(&word) => {
            let said = tokens.get(at + 2).filter(same_clause).is_some_and(|t| is_in(t, SAID));
            next.is_some_and(|t| is_in(t, TESTS) || said && is_in(t, USES))
        }
        // "was done" leaves open what, and "it was fine" what it is now.
        "has" | "had" | "have" if at <= 1 && next.is_some_and(|t| is_in(t, &["been", "it"])) => {
            previous.is_none()
        }
        "was" | "were" => {
            let begins = at == 0 || at == 1 && previous.is_none() && is_in(&tokens[0], &["complete", "done"]);
            next.is_some_and(|t| is_in(t, STATES) || begins && is_in(t, ENDS))
        }
        "persist" | "persists" => next.is_none(),
        "before" | "earlier" => next.is_none() && previous.is_none_or(|t| t.text != "as"),
        // "0 tests, 0 failures": nothing was tried.
        "0" => next.is_some_and(|t| is_in(t, TESTS) || is_in(t, &["passed", "passing", "run", "executed"])),
        "save" => previous.is_some() && is_good(tokens, at - 1),
        _ => false,
    }
}

/// `removed the failing test`, `the assertions were relaxed`: what would have failed is not there any more.
fn weakens_tests(tokens: &[Token], at: usize) -> bool {
    const WEAKENS: &[&str] = &[
        "removed", "removes", "removing", "deleted", "deletes", "deleting", "dropped", "drops", "disabled",
        "disables", "disabling", "muted", "silenced", "suppressed", "swallowed", "weakened", "weakens",
        "relaxed", "relaxes", "loosened", "quarantined", "xfailed", "commented", "excluded", "lowered",
        "lowers", "lowering", "reduced", "reduces", "reducing",
    ];
    const REACH_MAX: usize = 4;
    if !is_in(&tokens[at], WEAKENS) {
        return false;
    }
    let goes_on = |t: &&Token| t.clause == tokens[at].clause && !is_in(t, JOINTS);
    let is_test = |t: &Token| is_in(t, TESTS);
    tokens[at + 1..].iter().take(REACH_MAX).take_while(goes_on).any(is_test)
        || tokens[..at].iter().rev().take(REACH_MAX).take_while(goes_on).any(is_test)
}

/// `according to the author`, `the README says it works`: somebody else's word.
fn is_hearsay(tokens: &[Token], at: usize) -> bool {
    const OTHERS: &[&str] = &[
        "author", "worker", "agent", "user", "log", "logs", "reviewer", "developer", "readme", "them", "him",
        "her", "colleague", "previous", "earlier", "comment", "comments", "commit", "changelog",
    ];
    const SAYS: &[&str] = &["says", "say", "said", "claims", "claimed", "tells", "told", "swears", "insists"];
    const SAID: &[&str] = &[
        "that", "it", "all", "everything", "they", "so", "the", "tests", "me", "us", "done", "success",
        "completion",
    ];
    const REACH_MAX: usize = 4;
    let mut ahead = ahead_in_clause(tokens, at, REACH_MAX);
    if is_in(&tokens[at], &["according", "per"]) {
        return ahead.any(|t| is_in(t, OTHERS));
    }
    is_in(&tokens[at], SAYS) && ahead.next().is_some_and(|t| is_in(t, SAID))
}

/// `medium confidence`, `not confident`: anything but a high one.
fn is_unsure(tokens: &[Token], at: usize) -> bool {
    const SURE: &[&str] =
        &["high", "full", "complete", "total", "very", "great", "highly", "fully", "strong", "am", "with"];
    const NAMES: &[&str] = &["confidence", "confident"];
    is_in(&tokens[at], NAMES) && !at.checked_sub(1).is_some_and(|before| is_in(&tokens[before], SURE))
}

/// `fixing the docs`, `docs to write`: goes on, or is to be done.
fn is_ahead(tokens: &[Token], at: usize) -> bool {
    const EASE: &[&str] = &["good", "easy", "easier", "simple", "simpler", "safe", "ready", "fine", "able"];
    const BASES: &[&str] = &["write", "build", "rewrite", "run", "make", "investigate", "decide", "discuss"];
    let clause = tokens[at].clause;
    let of = |at: usize| tokens.get(at).filter(|t| t.clause == clause);
    let begins = at == 0 || of(at - 1).is_none();
    let word = tokens[at].text.as_str();
    if begins
        && (is_achieving(word) && word != "including"
            || matches!(word, "writing" | "building" | "running" | "investigating"))
    {
        let end = (at..tokens.len()).take_while(|i| of(*i).is_some());
        return !end.skip(1).any(|i| is_good(tokens, i));
    }
    let eased = at > 0 && is_in(&tokens[at - 1], EASE);
    let is_base = |t: &Token| is_achievement(&t.text) || is_in(t, BASES);
    word == "to" && !begins && !eased && of(at + 1).is_some_and(is_base) && of(at + 2).is_none()
}
