//! Tells whether a line takes a COMPLETE above it back in whatever words: `Wait, no: INCOMPLETE`, `Done: no`,
//! `REJECTED`.
//!
//! A false COMPLETE is the worst mistake, so a word for what is open in capitals takes it back unless the line shows
//! that it is quoted, denied, of an earlier time, a condition, or a name in what the work is about.

use super::cjk;
use super::doubt;
use super::reading::{Reading, Says, read};
use super::sense::{Sense, is_nothing, sense_of};
use super::text::{self, is_cjk, words};
use super::undress::undress;
use super::words::{self, Word};

/// Words that a verdict in capitals may be said with.
const OPEN_WORDS: &[&str] =
    &["INCOMPLETE", "NOT COMPLETE", "NOT_COMPLETE", "NOT COMPLETED", "NOT DONE", "NOT PASSED", "UNFINISHED"];

/// Those that programs print, too; they have to end what they are said in.
const FAIL_WORDS: &[&str] = &["FAIL", "FAILED", "FAILURE", "REJECTED", "BLOCKED", "NEEDS_WORK", "NEEDS WORK"];

/// What is judged, and who judges.
const JUDGED: &[&str] = &[
    "it", "it's", "this", "that", "that's", "these", "they", "work", "task", "tasks", "job", "step", "steps",
    "verdict", "decision", "answer", "conclusion", "result", "outcome", "i", "i'm", "i'd", "my", "we",
    "everything", "implementation", "change", "changes", "docs", "documentation", "tests", "requirements",
    "criteria", "items", "goal", "goals", "feature", "features", "parts", "things", "some", "several",
    "many", "most", "two", "three", "judgement", "judgment", "assessment", "checklist",
];

/// Words that name a verdict in front of it and are no other sentence.
const TURNS: &[&str] = &[
    "a", "actually", "after", "again", "all", "alas", "and", "as", "back", "be", "but", "call", "change",
    "changed", "changing", "clearly", "consider", "correct", "correction", "edit", "final", "finally",
    "hence", "hm", "hmm", "however", "in", "instead", "just", "let", "make", "mark", "marking", "me",
    "meant", "mean", "must", "nope", "now", "of", "oh", "on", "oops", "or", "otherwise", "overall", "please",
    "rather", "really", "reality", "reconsidered", "reflection", "reset", "revert", "revise", "revised",
    "say", "scratch", "second", "set", "should", "so", "sorry", "still", "therefore", "think", "thought",
    "thus", "to", "treat", "unfortunately", "update", "updated", "wait", "well", "yet", "is", "am", "have",
    "had", "no", "the", "status",
];

/// Words that take back what was said before.
const RETRACTIONS: &[&str] = &[
    "wrong", "mistake", "mistaken", "mistakenly", "premature", "prematurely", "hasty", "retract", "withdraw",
    "changed", "change", "changes", "correction", "sorry", "actually", "now", "instead", "rather", "update",
    "wait", "oops", "revised", "reconsidered", "mind", "scratch", "strike", "quick", "early", "meant",
];

/// Words that tell of an earlier time.
const EARLIER: &[&str] = &[
    "was", "were", "been", "previous", "previously", "earlier", "before", "formerly", "initially",
    "originally", "last", "first", "iteration", "iterations", "round", "rounds", "attempt", "attempts",
    "history", "old", "ago", "past", "until", "baseline", "expected", "used",
];

/// Words that make it a condition or an explanation.
const CONDITIONS: &[&str] = &[
    "if", "unless", "whenever", "otherwise", "means", "example", "e.g", "either", "stands", "reserved", "use",
];

/// Words that tell of a word in what the work is about.
const NAMED: &[&str] = &[
    "state", "states", "set", "sets", "field", "value", "values", "flag", "enum", "variant", "variants",
    "constant", "column", "returns", "return", "renders", "shows", "prints", "named", "called", "keyword",
    "keywords", "word", "words", "handles", "exit", "orders", "order", "label", "labels", "badge",
];

/// Tells whether a line takes a COMPLETE back.
pub(super) fn is_against(line: &str) -> bool {
    // A line of a table tells of several things.
    let is_row = line.trim_start().starts_with('|');
    let ends = [text::head(line, text::BESIDE_CHARS_MAX), text::tail(line)];
    let aloud = || !is_row && ends.iter().any(|end| says_so_aloud(end));
    is_word_alone(line) || says_no_behind_label(line) || counts_failures(line) || aloud()
}

/// Tells whether a text in prose, the reason of a verdict, says that the work is not complete.
pub(super) fn takes_back_in_prose(text: &str) -> bool {
    let is_marked = |line: &str| match undress(line).map(|bare| read(&bare)) {
        Some(Reading::Marker(found)) => found.says == Says::Incomplete,
        Some(Reading::Doubt) => true,
        _ => false,
    };
    let is_past = |line: &str| words(line).any(|word| EARLIER.contains(&word.as_str()) || word == "now");
    text.lines().any(|line| (is_marked(line) && !is_past(line)) || doubt::denies(line) || is_against(line))
}

// ---------------------------------------------------------------------------------------------
// In capitals

/// `Wait, no: INCOMPLETE`, `On reflection, it is INCOMPLETE.`
fn says_so_aloud(line: &str) -> bool {
    if !OPEN_WORDS.iter().chain(FAIL_WORDS).any(|word| line.contains(word)) {
        return false;
    }
    let said = unquoted(line);
    let mut sentences =
        said.split_inclusive(['!', '?', ';', '。']).flat_map(|part| part.split_inclusive(". "));
    sentences.any(|sentence| {
        OPEN_WORDS.iter().any(|word| places(sentence, word).any(|place| place.is_meant(false)))
            || FAIL_WORDS.iter().any(|word| places(sentence, word).any(|place| place.is_meant(true)))
    })
}

/// A word in capitals, with the sentence around it.
struct Place<'a> {
    before: &'a str,
    after: &'a str,
}

/// Finds a word in capitals that is no piece of a name.
fn places<'a>(sentence: &'a str, word: &'a str) -> impl Iterator<Item = Place<'a>> {
    let joins = |c: char| c.is_alphanumeric() && !is_cjk(c) || matches!(c, '_' | '/' | '$' | '@' | '\\');
    let found =
        sentence.match_indices(word).map(move |(at, _)| (&sentence[..at], &sentence[at + word.len()..]));
    let is_alone = move |(before, after): &(&str, &str)| {
        let mut next = after.chars();
        let joined = match next.next() {
            Some('-' | '.' | ':' | '=') => next.next().is_some_and(|c| c.is_ascii_alphanumeric() || c == ':'),
            Some(c) => joins(c),
            None => false,
        };
        !joined && !before.ends_with(|c: char| joins(c) || matches!(c, '-' | '.')) || before.ends_with("...")
    };
    found.filter(is_alone).map(|(before, after)| Place { before, after })
}

/// What ends a clause.
const JOINTS: &[&str] = &[",", ":", "：", "—", "–", "->", "=>", "→", "⇒", "(", " - ", "、", "，", "...", "…"];

impl<'a> Place<'a> {
    /// The words of the clause in front of it.
    fn clause(&self) -> &'a str {
        let start =
            JOINTS.iter().filter_map(|joint| self.before.rfind(joint).map(|at| at + joint.len())).max();
        &self.before[start.unwrap_or(0)..]
    }

    /// Says whether it is meant of this work, now. Of a word that programs print, `must_end`: only what ends in it is.
    fn is_meant(&self, must_end: bool) -> bool {
        let clause: Vec<String> = words(self.clause()).collect();
        !(must_end && !self.ends_or_reasons())
            && !self.is_one_of_several()
            && !is_negated(&clause)
            && !self.is_earlier_or_conditional()
            && !self.is_nothing()
            && !self.is_adjective(&clause)
            && (clause.iter().any(|word| JUDGED.contains(&word.as_str())) || !self.is_name(&clause, must_end))
    }

    /// `FAIL`, `FAIL because of x`, `FAIL 2 tests`.
    fn ends_or_reasons(&self) -> bool {
        const REASONS: &[&str] = &["because", "since", "due"];
        let rest = self.after.trim_start();
        let first = words(rest).next().unwrap_or_default();
        let figure = first.parse().is_ok_and(|number: u64| number > 0) && words(rest).count() > 1;
        let is_first = self.before.trim().is_empty() && self.after.starts_with(' ');
        !rest.contains(char::is_alphanumeric)
            || (self.after.starts_with(' ') && REASONS.contains(&first.as_str()))
            || (is_first && figure && !rest.contains(['/', '(']))
    }

    /// `COMPLETE or INCOMPLETE`, `INCOMPLETE, COMPLETE`, `BLOCKED, INCOMPLETE`: a list of verdicts.
    fn is_one_of_several(&self) -> bool {
        const OTHERS: &[&str] = &["COMPLETE", "PASS", "PASSED", "DONE", "BLOCKED", "WAITING"];
        let is_other = |word: &str| OTHERS.contains(&word);
        let mut behind = self.after.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let mut previous = "";
        if behind
            .any(|word| is_other(word) && !std::mem::replace(&mut previous, word).eq_ignore_ascii_case("not"))
        {
            return true;
        }
        let core = self.before.trim_end().trim_end_matches([',', '/', '|']).trim_end();
        let (rest, last) = core.rsplit_once(|c: char| c.is_whitespace()).unwrap_or(("", core));
        let is_joint = matches!(last, "and" | "or" | "nor" | "vs" | "versus");
        let other = if is_joint { rest.rsplit(char::is_whitespace).next().unwrap_or_default() } else { last };
        is_other(other.trim_matches([',', '"'])) && (is_joint || core.len() < self.before.trim_end().len())
    }

    /// `the last verdict was`, `if lint had failed`, `INCOMPLETE was wrong`.
    fn is_earlier_or_conditional(&self) -> bool {
        let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
        let before: Vec<String> = words(self.before).collect();
        let retracts = before.iter().any(|word| is_in(word, RETRACTIONS));
        let would_have = before.windows(2).any(|pair| pair[0] == "would" && pair[1] == "have");
        if would_have
            || before.iter().any(|word| is_in(word, CONDITIONS))
            || words(self.clause()).any(|word| word == "when")
            || !retracts && before.iter().any(|word| is_in(word, EARLIER))
        {
            return true;
        }
        let goes_on = self.after.starts_with([' ', ')']);
        let tells = |word: String| {
            is_in(&word, EARLIER) || is_in(&word, CONDITIONS) || word == "when" || word == "would"
        };
        goes_on && words(self.after).take(3).any(tells)
            || words(self.after).any(|word| matches!(word.as_str(), "if" | "unless" | "otherwise"))
    }

    /// `INCOMPLETE: none`, `INCOMPLETE items: 0`.
    fn is_nothing(&self) -> bool {
        let reason = self.after.trim_matches(|c: char| !c.is_alphanumeric());
        !reason.is_empty() && (is_nothing(reason) || reason.rsplit([' ', ':']).next().is_some_and(is_nothing))
    }

    /// `INCOMPLETE orders`: stands before what it says something of.
    fn is_adjective(&self, clause: &[String]) -> bool {
        const VERBS: &[&str] = &["is", "it's", "that's", "remains", "stays", "be", "still"];
        const REASONS: &[&str] =
            &["because", "since", "as", "due", "for", "after", "again", "now", "until", "and", "with"];
        let last = clause.iter().rev().find(|word| !matches!(word.as_str(), "a" | "an" | "the"));
        let next = words(self.after).next().unwrap_or_default();
        self.after.starts_with(' ')
            && self.after.trim_start().starts_with(char::is_alphabetic)
            && !REASONS.contains(&next.as_str())
            && !last.is_some_and(|word| VERBS.contains(&word.as_str()))
    }

    /// Says whether it names something in what the work is about: `Orders without a payment are`, `Added the`.
    fn is_name(&self, clause: &[String], must_end: bool) -> bool {
        const VERBS: &[&str] = &["is", "remains", "stays", "still"];
        let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
        if clause.is_empty() {
            let names = |word: String| is_in(&word, NAMED);
            let before = self.before.trim_end().trim_end_matches([':', '：']);
            return words(before).any(names) && !words(before).any(|word| is_in(&word, JUDGED));
        }
        if clause.iter().all(|word| is_in(word, TURNS)) {
            return false;
        }
        let ends_in_verb = clause.iter().rev().take(2).any(|word| is_in(word, VERBS));
        clause.iter().any(|word| is_in(word, NAMED)) || !ends_in_verb || must_end
    }
}

/// `not`, `no longer`, `rather than` in front of it.
fn is_negated(clause: &[String]) -> bool {
    const NEGATIONS: &[&str] =
        &["not", "never", "without", "neither", "nor", "none", "zero", "0", "nothing", "isn't"];
    const BEHIND_NO: &[&str] = &["longer", "more", "further", "open", "such", "single"];
    const AHEAD_MAX: usize = 4;
    let near = &clause[clause.len().saturating_sub(AHEAD_MAX)..];
    let last = near.last().map_or("", String::as_str);
    let no = near.iter().rposition(|word| word == "no");
    near.iter().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"))
        || no.is_some_and(|at| near.get(at + 1).is_none_or(|next| BEHIND_NO.contains(&next.as_str())))
        || matches!(last, "than" | "from")
        || (last == "of" && near.iter().any(|word| word == "instead"))
}

/// A line without what is quoted in it, without code and without emphasis.
fn unquoted(line: &str) -> String {
    const PAIRS: &[(char, char)] =
        &[('`', '`'), ('"', '"'), ('“', '”'), ('‘', '’'), ('「', '」'), ('『', '』'), ('«', '»')];
    let mut out = String::new();
    let mut closing = None;
    for (at, c) in line.char_indices() {
        match closing {
            Some(close) if c == close => closing = None,
            Some(_) => {}
            None => {
                let opened = PAIRS.iter().find(|(open, _)| *open == c).map(|(_, close)| *close);
                // One that is never closed is no quotation.
                closing = opened.filter(|close| line[at + c.len_utf8()..].contains(*close));
                match closing {
                    Some(_) => out.push('\u{fffc}'),
                    None if c != '*' => out.push(c),
                    None => {}
                }
            }
        }
    }
    out
}

// ---------------------------------------------------------------------------------------------
// Whole lines

/// `REJECTED`, `Not done.`, `未完了`: a word for what is open, and nothing else. In a list only in capitals.
fn is_word_alone(line: &str) -> bool {
    let (core, is_item) = plain(line);
    if core.is_empty() || core.ends_with([':', '：', '?']) || line.trim_start().starts_with('#') {
        return false;
    }
    if is_item && core.chars().any(char::is_lowercase) {
        return false;
    }
    let core = core.trim_end_matches(['.', '!', '。']);
    if core.chars().any(is_cjk) {
        return core.chars().all(is_cjk) && cjk::is_open(core) && core.chars().count() <= 6;
    }
    let count = words(core).count();
    let is_open = matches!(words::read_value(core), Word::Incomplete | Word::Blocked | Word::Waiting);
    let negated = words(core).next().is_some_and(|first| first == "not");
    count == 1 && is_open
        || count == 2
            && is_open
            && (negated || core.contains(['_', '-']) || words::read_exact(core).is_some())
}

/// `Done: no`, `Errors: 2`, `Missing: the docs`.
fn says_no_behind_label(line: &str) -> bool {
    const LABEL_WORDS_MAX: usize = 4;
    let (core, _) = plain(line);
    let Some((label, value)) = core.split_once([':', '：', '=']) else { return false };
    let (label, value) = (label.trim(), value.trim().trim_matches(['*', '`', '"']).trim());
    if words(label).count() > LABEL_WORDS_MAX || value.is_empty() {
        return false;
    }
    let number = words(value).next().and_then(|first| first.parse::<u64>().ok());
    let is_alone = words(value).count() == 1;
    match sense_of(label) {
        Some(Sense::Good) => words::says_no(value) || is_crossed(value) || (is_alone && number == Some(0)),
        Some(Sense::Bad) => {
            words::is_assent(value) || number.is_some_and(|number| number > 0) && words(value).count() <= 2
        }
        Some(Sense::Open) => !is_nothing(value),
        None => false,
    }
}

/// `❌`: nothing but a symbol that says no.
fn is_crossed(value: &str) -> bool {
    value.chars().any(words::is_cross) && !value.contains(char::is_alphanumeric)
}

/// `Two tests fail.`, `3 checks are still red`.
pub(super) fn counts_failures(line: &str) -> bool {
    const COUNTS: &[&str] =
        &["one", "two", "three", "four", "five", "six", "several", "some", "many", "most", "all"];
    const WHAT: &[&str] =
        &["test", "tests", "check", "checks", "item", "items", "requirements", "criteria", "tasks"];
    const FAILS: &[&str] = &["fail", "fails", "failing", "red", "broken", "missing", "open", "unfinished"];
    const LEADS: &[&str] =
        &["still", "now", "but", "and", "only", "that", "said", "wait", "oops", "sorry", "however"];
    const WORDS_MAX: usize = 8;
    let (core, _) = plain(line);
    let sentence = core.split(['.', '!', ';', '(']).next().unwrap_or_default();
    let said: Vec<String> = words(sentence).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let mut rest = said.iter().skip_while(|word| is_in(word, LEADS)).peekable();
    let counts = |word: &&String| is_in(word, COUNTS) || word.parse().is_ok_and(|number: u64| number > 0);
    rest.next_if(counts).is_some()
        && said.len() <= WORDS_MAX
        && said.iter().any(|word| is_in(word, WHAT))
        && said.iter().any(|word| is_in(word, FAILS))
        && !said.iter().any(|word| {
            is_in(word, EARLIER)
                || is_in(word, CONDITIONS)
                || word == "no"
                || word == "not"
                || word == "fixed"
        })
}

/// A line without bullets and emphasis, and whether it is an item of a list.
fn plain(line: &str) -> (&str, bool) {
    let core = line.trim();
    let rest =
        core.trim_start_matches(|c: char| matches!(c, '-' | '*' | '+' | '•' | '>') || c.is_whitespace());
    let is_item = rest.len() < core.len() && core.starts_with(['-', '+', '•']) || core.starts_with("* ");
    (text::head(rest.trim_matches(['*', '_', '`']).trim(), text::BESIDE_CHARS_MAX), is_item)
}
