//! Reads a line that says INCOMPLETE in capitals: `Wait, no: INCOMPLETE`, `On reflection, it is INCOMPLETE.`
//!
//! A false COMPLETE is the worst mistake, so such a word counts unless the line shows that it is quoted, denied, of an
//! earlier time, a condition, one of a list, or a name in what the work is about.

use crate::verdict::remark::limits::{Limit, limit_of};
use crate::verdict::sense::is_nothing;
use crate::verdict::text::{is_cjk, is_in, words};

/// Words that a verdict in capitals may be said with.
const OPEN_WORDS: &[&str] = &[
    "INCOMPLETE", "NOT COMPLETE", "NOT_COMPLETE", "NOT COMPLETED", "NOT DONE", "NOT PASSED", "UNFINISHED",
    "NOT complete", "NOT done", "NOT finished",
];

/// Those that programs print, too; they have to end what they are said in.
const FAIL_WORDS: &[&str] = &["FAIL", "FAILED", "FAILURE", "REJECTED", "BLOCKED", "NEEDS_WORK", "NEEDS WORK"];

/// What is judged, and who judges.
const JUDGED: &[&str] = &[
    "it", "it's", "this", "that", "that's", "these", "they", "work", "task", "tasks", "job", "step", "steps",
    "verdict", "decision", "answer", "conclusion", "result", "outcome", "i", "i'm", "i'd", "my", "we",
    "everything", "implementation", "change", "changes", "docs", "documentation", "tests", "requirements",
    "criteria", "items", "build", "lint", "suite", "ci", "test", "check", "checks", "goal", "goals",
    "feature", "features", "parts", "things", "some", "several", "many", "most", "two", "three", "judgement",
    "judgment", "assessment", "checklist",
];

/// Words that name a verdict in front of it and are no other sentence.
pub(in crate::verdict) const TURNS: &[&str] = &[
    "a", "actually", "after", "complete", "from", "again", "all", "alas", "and", "as", "back", "be", "but",
    "call", "change", "changed", "changing", "clearly", "consider", "correct", "correction", "edit", "final",
    "finally", "hence", "hm", "hmm", "however", "in", "instead", "just", "let", "make", "mark", "marking",
    "me", "meant", "mean", "must", "nope", "now", "of", "oh", "on", "oops", "or", "otherwise", "overall",
    "please", "rather", "really", "reality", "reconsidered", "reflection", "reset", "revert", "revise",
    "revised", "say", "scratch", "second", "set", "should", "so", "sorry", "still", "therefore", "think",
    "thought", "thus", "to", "treat", "unfortunately", "update", "updated", "wait", "well", "yet", "is",
    "am", "are", "have", "had", "been", "no", "the", "status", "count", "counts", "looks", "seems", "remain",
    "remains", "stays", "would",
];

/// Words that take back what was said before.
const RETRACTIONS: &[&str] = &[
    "wrong", "mistake", "mistaken", "mistakenly", "premature", "prematurely", "hasty", "retract", "withdraw",
    "changed", "change", "changes", "correction", "sorry", "actually", "now", "instead", "rather", "update",
    "wait", "oops", "revised", "reconsidered", "mind", "scratch", "strike", "quick", "early", "meant",
    "should",
];

/// Words that tell of an earlier time.
pub(in crate::verdict) const EARLIER: &[&str] = &[
    "was", "were", "been", "previous", "previously", "earlier", "before", "formerly", "initially",
    "originally", "last", "first", "iteration", "iterations", "round", "rounds", "attempt", "attempts",
    "history", "old", "ago", "past", "until", "baseline", "verdicts", "expected", "used",
];

/// Words that make it a condition or an explanation.
pub(in crate::verdict) const CONDITIONS: &[&str] = &[
    "if", "unless", "whenever", "otherwise", "means", "example", "e.g", "either", "stands", "reserved", "use",
];

/// Words that tell of a word in what the work is about.
const NAMED: &[&str] = &[
    "state", "states", "set", "sets", "field", "value", "values", "flag", "enum", "variant", "variants",
    "constant", "column", "returns", "return", "renders", "shows", "prints", "named", "called", "keyword",
    "keywords", "word", "words", "handles", "exit", "orders", "order", "label", "labels", "badge",
];

/// `Wait, no: INCOMPLETE`, `On reflection, it is INCOMPLETE.`
pub(in crate::verdict) fn says_so_aloud(line: &str) -> bool {
    if !OPEN_WORDS.iter().chain(FAIL_WORDS).chain(&["COMPLETE"]).any(|word| line.contains(word)) {
        return false;
    }
    let said = unquoted(line);
    let mut sentences =
        said.split_inclusive(['!', '?', ';', '。']).flat_map(|part| part.split_inclusive(". "));
    sentences.any(|sentence| {
        places(sentence, "COMPLETE").any(|place| place.is_denied())
            || OPEN_WORDS.iter().any(|word| places(sentence, word).any(|place| place.is_meant(false)))
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
        let is_excused = self.is_one_of_several()
            || is_negated(&clause)
            || self.is_earlier_or_conditional()
            || self.is_nothing()
            || self.is_adjective(&clause);
        let ends = !must_end || self.ends_or_reasons();
        ends && !is_excused && (is_of_work(&clause) || !self.is_name(&clause, must_end))
    }

    /// Of the word COMPLETE: `no longer`, `by no means`, `is not yet` in front of it.
    fn is_denied(&self) -> bool {
        const DENIALS: &[&str] =
            &["not", "never", "isn't", "no longer", "by no means", "far from", "nowhere near"];
        const DEGREES: &[&str] = &["yet", "fully", "quite", "really", "at all"];
        let clause = words(self.clause()).collect::<Vec<_>>().join(" ");
        let core =
            DEGREES.iter().fold(clause.as_str(), |core, degree| core.trim_end_matches(degree).trim_end());
        let is_denied = DENIALS.iter().any(|denial| {
            core.strip_suffix(denial).is_some_and(|rest| rest.is_empty() || rest.ends_with(' '))
        });
        let is_free =
            |word: &str| !EARLIER.contains(&word) && !matches!(word, "if" | "unless" | "when" | "will");
        is_denied
            && !self.after.trim_start().starts_with(char::is_alphanumeric)
            && words(self.before).all(|word| is_free(&word))
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
        let before: Vec<String> = words(self.before).collect();
        let retracts = before.iter().any(|word| is_in(word, RETRACTIONS));
        // "The first verdict was COMPLETE, this one is INCOMPLETE."
        let clause: Vec<String> = words(self.clause()).collect();
        let is_now = clause.iter().any(|word| matches!(word.as_str(), "is" | "it's" | "remains"))
            && !clause.iter().any(|word| is_in(word, EARLIER));
        let would_have = before.windows(2).any(|pair| pair[0] == "would" && pair[1] == "have");
        if would_have
            || before.iter().any(|word| is_in(word, CONDITIONS))
            || clause.iter().any(|word| word == "when")
            || !retracts && !is_now && before.iter().any(|word| is_in(word, EARLIER))
        {
            return true;
        }
        let goes_on = self.after.starts_with([' ', ')']);
        let tells = |word: String| {
            (is_in(&word, EARLIER) && word != "until")
                || is_in(&word, CONDITIONS)
                || word == "when"
                || word == "would"
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
        const VERBS: &[&str] = &[
            "is", "it's", "that's", "remains", "stays", "be", "still", "looks", "seems", "appears",
            "consider",
        ];
        const REASONS: &[&str] = &[
            "because", "since", "as", "due", "for", "after", "again", "now", "until", "and", "with", "it",
            "to",
        ];
        let last = clause.iter().rev().find(|word| !matches!(word.as_str(), "a" | "an" | "the"));
        let next = words(self.after).next().unwrap_or_default();
        // "INCOMPLETE lint is red", "INCOMPLETE is right".
        let is_bad = self.before.trim().is_empty() && limit_of(self.after) == Limit::Limited;
        let is_right = ["is right", "is correct", "is the right"]
            .iter()
            .any(|it| self.after.trim_start().starts_with(it));
        self.after.starts_with(' ')
            && !(is_bad || is_right)
            && self.after.trim_start().starts_with(char::is_alphabetic)
            && !REASONS.contains(&next.as_str())
            && !last.is_some_and(|word| VERBS.contains(&word.as_str()))
    }

    /// Says whether it names something in what the work is about: `Orders without a payment are`, `Added the`.
    fn is_name(&self, clause: &[String], must_end: bool) -> bool {
        const VERBS: &[&str] = &["is", "remains", "stays", "still"];
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

/// `this is`, `I'd call it`, `the verdict changed to`: says something of the work.
fn is_of_work(clause: &[String]) -> bool {
    let judged = clause.iter().rposition(|word| is_in(word, JUDGED));
    judged.is_some_and(|at| clause[at + 1..].iter().all(|word| is_in(word, TURNS)))
}

/// `not`, `no longer`, `rather than` in front of it.
fn is_negated(clause: &[String]) -> bool {
    const NEGATIONS: &[&str] =
        &["not", "never", "without", "neither", "nor", "none", "zero", "0", "nothing", "isn't"];
    // "No, wait: INCOMPLETE" denies something else.
    const TURNS_BEHIND_NO: &[&str] =
        &["wait", "sorry", "it", "it's", "this", "that", "actually", "i", "the", "my", "so", "oh"];
    const AHEAD_MAX: usize = 4;
    let near = &clause[clause.len().saturating_sub(AHEAD_MAX)..];
    let last = near.last().map_or("", String::as_str);
    let no = near.iter().rposition(|word| word == "no");
    near.iter().any(|word| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't"))
        || no.is_some_and(|at| near.get(at + 1).is_none_or(|next| !TURNS_BEHIND_NO.contains(&next.as_str())))
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
