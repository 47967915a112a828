//! Tells whether a line takes a COMPLETE above it back in whatever words: `Wait, no: INCOMPLETE`, `Done: no`,
//! `REJECTED`.
//!
//! Some of it counts on any line below, what is less plain only on the next one.

use super::aloud::{CONDITIONS, EARLIER, TURNS, says_so_aloud};
use super::doubt;
use super::reading::{Reading, Says, read};
use super::undress::undress;
use crate::verdict::remark::affirm::affirms;
use crate::verdict::remark::cjk;
use crate::verdict::sense::{Sense, is_nothing, is_settled, sense_of};
use crate::verdict::text::{self, is_cjk, is_in, words};
use crate::verdict::words::{self, Word};

/// Short lines that take back what stands above them.
const WHOLE: &[&str] = &[
    "just kidding",
    "kidding",
    "i take that back",
    "i take it back",
    "scratch that",
    "strike that",
    "disregard that",
    "disregard this",
    "disregard the above",
    "ignore that",
    "ignore the above",
    "never mind",
    "not really",
    "not quite",
    "not yet",
    "it is not",
    "it isn't",
    "it's not",
    "no wait",
    "no it isn't",
    "no it's not",
    "no it is not",
    "no sorry",
    "no not yet",
    "no not really",
    "actually no",
    "actually not",
    "wait no",
    "sorry no",
    "hold on",
    "psych",
    "or not",
];

/// What is said of a verdict that is none.
const UNDONE: &[&str] = &[
    "wrong", "example", "premature", "mistake", "mistaken", "incorrect", "placeholder", "draft", "joke",
    "untrue", "false",
];

/// What such a sentence consists of besides.
const REST: &[&str] = &[
    "the", "line", "verdict", "answer", "is", "was", "were", "only", "just", "an", "a", "my", "ignore",
    "disregard", "complete",
];

/// Words that make no failure of a sentence that names one.
const FREE: &[&str] = &[
    "no", "not", "nothing", "never", "none", "any", "what", "that", "which", "where", "who", "if", "when",
    "how", "whether", "zero", "0", "without",
];

/// What could not be done, or was not.
const UNABLE: &[&str] = &[
    "could not", "couldn't", "was unable to", "was not able to", "cannot", "can't", "forgot", "ran out",
    "did not finish", "didn't finish", "did not run", "didn't run", "failed to", "was not run",
    "were not run", "was never run", "were never run",
];

/// What a test does that does not pass.
const FAILS: &[&str] = &["fail", "fails"];

/// States of what fails or is not there.
const STATES: &[&str] =
    &["broken", "red", "missing", "left", "failing", "unfinished", "incomplete", "untested", "open"];

/// Words in front of a state.
const BEING: &[&str] = &["is", "are", "remain", "remains", "still"];

/// What may be good news where it could not be done.
const SEEN: &[&str] =
    &["find", "see", "reproduce", "spot", "detect", "longer", "any", "before", "fixed", "anymore"];

/// Tells whether a line takes a COMPLETE back.
pub(in crate::verdict) fn is_against(line: &str) -> bool {
    // A line of a table tells of several things.
    let is_row = line.trim_start().starts_with('|');
    let ends = [text::head(line, text::BESIDE_CHARS_MAX), text::tail(line)];
    let aloud = || !is_row && ends.iter().any(|end| says_so_aloud(end));
    is_word_alone(line) || retracts(line) || says_no_behind_label(line) || counts_failures(line) || aloud()
}

/// Tells whether a text in prose, the reason of a verdict, says that the work is not complete.
pub(in crate::verdict) fn takes_back_in_prose(text: &str) -> bool {
    let is_marked = |line: &str| match undress(line).map(|bare| read(&bare)) {
        Some(Reading::Marker(found)) => found.says == Says::Incomplete,
        Some(Reading::Doubt) => true,
        _ => false,
    };
    let is_past = |line: &str| words(line).any(|word| EARLIER.contains(&word.as_str()) || word == "now");
    text.lines().any(|line| {
        (is_marked(line) && !is_past(line))
            || doubt::denies(line)
            || is_against(line)
            || reports_failure(line)
    })
}

/// `REJECTED`, `Not done.`, `未完了`: a word for what is open, and nothing else. In a list only in capitals.
fn is_word_alone(line: &str) -> bool {
    const WORDS_MAX: usize = 3;
    let (core, is_item) = plain(line);
    if core.is_empty() || core.ends_with([':', '：', '?']) || line.trim_start().starts_with('#') {
        return false;
    }
    if is_item && core.chars().any(char::is_lowercase) {
        return false;
    }
    let core = core.trim_end_matches(['.', '!', '。']);
    if core.chars().any(is_cjk) {
        return is_open_cjk(core);
    }
    let count = words(core).take(WORDS_MAX + 1).count();
    if count > WORDS_MAX {
        return false;
    }
    if !core.chars().any(char::is_lowercase) && matches!(sense_of(core), Some(Sense::Bad | Sense::Open)) {
        return true;
    }
    let is_open = matches!(words::read_value(core), Word::Incomplete | Word::Blocked | Word::Waiting);
    let negated = words(core).next().is_some_and(|first| first == "not");
    count == 1 && is_open
        || count == 2
            && is_open
            && (negated || core.contains(['_', '-']) || words::read_exact(core).is_some())
}

/// `未完了`, `实际上还没完成`.
fn is_open_cjk(core: &str) -> bool {
    const WORD_CHARS_MAX: usize = 6;
    const SENTENCE_CHARS_MAX: usize = 20;
    const OPEN: &[&str] = &["没完成", "没有完成", "未完成", "未完了", "沒完成", "沒有完成", "まだです"];
    let count = core.chars().count();
    let names_open = OPEN.iter().any(|piece| core.contains(piece));
    let is_alone = core.chars().all(is_cjk);
    let is_denied = ["没有未", "無未", "沒有未", "未完了は", "未完成は", "ない", "ません"]
        .iter()
        .any(|it| core.contains(it));
    is_alone && count <= WORD_CHARS_MAX && cjk::is_open(core)
        || count <= SENTENCE_CHARS_MAX && names_open && !is_denied
}

/// `Just kidding.`, `Scratch that.`, `The line above is only an example.`: takes back what stands above it.
fn retracts(line: &str) -> bool {
    const ABOVE: &[&str] = &["above", "that", "this"];
    const WORDS_MAX: usize = 8;
    let (core, _) = plain(line);
    let beginning = core.split([':', '.', '!', ';', '—', '–']).next().unwrap_or_default();
    let said: Vec<String> = words(beginning).take(WORDS_MAX + 1).collect();
    if WHOLE.contains(&said.join(" ").as_str()) {
        return true;
    }
    let sentence: Vec<String> =
        words(core.split(['.', '!', ',', ';']).next().unwrap_or_default()).take(WORDS_MAX).collect();
    let is_known = sentence.iter().all(|word| is_in(word, ABOVE) || is_in(word, UNDONE) || is_in(word, REST));
    let undoes =
        sentence.iter().any(|word| is_in(word, UNDONE) || matches!(word.as_str(), "ignore" | "disregard"));
    is_known && undoes && sentence.iter().any(|word| is_in(word, ABOVE))
}

/// Tells of the line right below a COMPLETE whether it says that something fails or is not there: `Lint still fails.`,
/// `I could not finish the docs.`
pub(in crate::verdict) fn reports_failure(line: &str) -> bool {
    const WORDS_MAX: usize = 10;
    // What may be open without anything being left to do: a file, a dialog.
    const ITEMS: &[&str] = &[
        "issue", "issues", "bug", "bugs", "question", "questions", "ticket", "tickets", "point", "points",
        "task", "tasks", "item", "items",
    ];
    let (core, _) = plain(line);
    // "PS: the build is broken."
    let (label, behind) = core.split_once(':').unwrap_or_default();
    let is_led = !label.is_empty() && words(label).all(|word| is_lead(&word));
    let core = if is_led { behind } else { core };
    let sentence = core.split(['.', '!', ';', ':', '(']).next().unwrap_or_default();
    let said: Vec<String> = words(sentence).take(WORDS_MAX + 1).collect();
    if goes_on_working(&said) {
        return true;
    }
    if said.len() > WORDS_MAX || said.len() < 2 {
        return false;
    }
    let joined = said.join(" ");
    let is_about_tests =
        said.iter().any(|word| matches!(word.as_str(), "i" | "we" | "tests" | "test" | "lint" | "checks"));
    if is_about_tests && UNABLE.iter().any(|it| joined.contains(it)) {
        return !said.iter().any(|word| is_in(word, SEEN));
    }
    if said.iter().any(|word| is_in(word, FREE) || is_in(word, EARLIER)) {
        return false;
    }
    let [.., before, last] = said.as_slice() else { return false };
    let is_left = last != "open" || said.iter().any(|word| is_in(word, ITEMS));
    is_in(last, FAILS) || is_in(last, STATES) && is_in(before, BEING) && is_left
}

/// `Let me now fix the remaining test`: announces more work.
fn goes_on_working(said: &[String]) -> bool {
    const BEGINNINGS: &[&[&str]] = &[&["let", "me"], &["now", "i", "will"], &["now", "i'll"]];
    const TURNS: &[&str] = &["now", "also", "next", "first", "just", "quickly"];
    const WORK: &[&str] = &[
        "fix", "finish", "implement", "address", "resolve", "complete", "write", "add", "continue", "debug",
        "investigate", "mend", "correct",
    ];
    let begins = |beginning: &&&[&str]| {
        said.len() > beginning.len() && said.iter().zip(**beginning).all(|(a, b)| a == b)
    };
    let rest = BEGINNINGS.iter().find(begins).map(|beginning| &said[beginning.len()..]);
    let mut rest = rest.into_iter().flatten().skip_while(|word| is_in(word, TURNS));
    // "Let me add that all tests pass."
    rest.next().is_some_and(|word| is_in(word, WORK)) && rest.next().is_none_or(|word| word != "that")
}

/// Tells of the line right below a COMPLETE whether it is a condition and nothing else: `if CI passes`, `(pending review)`.
pub(in crate::verdict) fn is_condition(line: &str) -> bool {
    const LEADS: &[&str] = &["if", "unless", "once", "until", "pending", "provided", "assuming", "subject"];
    const WORDS_MAX: usize = 7;
    let (core, _) = plain(line);
    let core = core.trim_matches(|c: char| matches!(c, '(' | ')' | '.' | '!'));
    let said: Vec<String> = words(core).take(WORDS_MAX + 1).collect();
    (2..=WORDS_MAX).contains(&said.len())
        && !core.contains([',', ':', '.', '=', '{', '(', '<', '>', '`', ';'])
        && LEADS.contains(&said[0].as_str())
}

/// `Done: no`, `Errors: 2`, `Missing: the docs`, `Overall: not complete`.
fn says_no_behind_label(line: &str) -> bool {
    const LABEL_WORDS_MAX: usize = 4;
    let (core, _) = plain(line);
    let Some((label, value)) = core.split_once([':', '：', '=', '?']) else { return false };
    let (label, value) = (label.trim(), value.trim().trim_matches(['*', '`', '"']).trim());
    if words(label).count() > LABEL_WORDS_MAX || value.is_empty() {
        return false;
    }
    let number = words(value).next().and_then(|first| first.parse::<u64>().ok());
    let is_alone = words(value).count() == 1;
    match sense_of(label) {
        Some(Sense::Good) => words::says_no(value) || is_crossed(value) || (is_alone && number == Some(0)),
        Some(Sense::Bad) if words(label).next().is_some_and(|first| first == "blocked") => {
            !is_nothing(value) && !affirms(value) && !is_settled(value)
        }
        Some(Sense::Bad) => {
            words::is_assent(value)
                || number.is_some_and(|number| number > 0) && words(value).count() <= 2 && !is_settled(value)
        }
        Some(Sense::Open) => !is_nothing(value) && !affirms(value) && !is_settled(value),
        // "Overall: not complete", "Caveat: two tests fail".
        None if words(label).all(|word| is_lead(&word)) => is_word_alone(value) || counts_failures(value),
        // "lint: ❌".
        None if is_crossed(value) => true,
        None => false,
    }
}

/// A word that leads to what is said: `Update:`, `My final verdict:`.
fn is_lead(word: &str) -> bool {
    const LEADS: &[&str] = &[
        "caveat", "caveats", "warning", "known", "issues", "problem", "note", "nb", "ps", "my", "verdict",
        "answer", "decision", "conclusion",
    ];
    TURNS.contains(&word) || LEADS.contains(&word)
}

/// Tells whether a heading opens a list of what is left: `Missing:`, `## Open items`.
pub(in crate::verdict) fn opens_list_of_open(heading: &str) -> bool {
    const PLAINLY: &[&str] =
        &["known issues", "open items", "open issues", "still open", "open points", "not done"];
    let core = heading.trim();
    let (plain, _) = plain(core.trim_start_matches('#'));
    let is_heading = core.starts_with('#') || plain.ends_with([':', '：']);
    let label = plain.trim_end_matches([':', '：', '*', '_']).trim().to_lowercase();
    is_heading && (sense_of(&label) == Some(Sense::Open) || PLAINLY.contains(&label.as_str()))
}

/// `❌`: nothing but a symbol that says no.
fn is_crossed(value: &str) -> bool {
    value.chars().any(words::is_cross) && !value.contains(char::is_alphanumeric)
}

/// `Two tests fail.`, `3 checks are still red`.
pub(in crate::verdict) fn counts_failures(line: &str) -> bool {
    const COUNTS: &[&str] =
        &["one", "two", "three", "four", "five", "six", "several", "some", "many", "most", "all"];
    const WHAT: &[&str] =
        &["test", "tests", "check", "checks", "item", "items", "requirements", "criteria", "tasks"];
    const OPEN: &[&str] = &["failing", "red", "broken", "missing", "open", "unfinished"];
    const LEADS: &[&str] =
        &["still", "yet", "now", "but", "and", "only", "that", "said", "wait", "oops", "sorry", "however"];
    const WORDS_MAX: usize = 8;
    let (core, _) = plain(line);
    let sentence = core.split(['.', '!', ';', '(']).next().unwrap_or_default();
    let said: Vec<String> = words(sentence).collect();
    if sums_up_failures(core) {
        return true;
    }
    let mut rest = said.iter().skip_while(|word| is_in(word, LEADS)).peekable();
    let counts = |word: &&String| is_in(word, COUNTS) || word.parse().is_ok_and(|number: u64| number > 0);
    // Of what is counted, and not of what that is about: `2 tests for failing uploads`.
    let fails = |at: usize| {
        let before = at.checked_sub(1).is_some_and(|it| is_in(&said[it], BEING) || is_in(&said[it], WHAT));
        let next = said.get(at + 1).is_none_or(|next| is_in(next, WHAT));
        is_in(&said[at], FAILS) || is_in(&said[at], OPEN) && (before || next)
    };
    rest.next_if(counts).is_some()
        && said.len() <= WORDS_MAX
        && said.iter().any(|word| is_in(word, WHAT))
        && (0..said.len()).any(fails)
        && !said.iter().any(|word| {
            is_in(word, EARLIER)
                || is_in(word, CONDITIONS)
                || word == "no"
                || word == "not"
                || word == "none"
                || word == "fixed"
        })
}

/// `3 failed, 12 passed`, `Tests: 1 failed, 11 passed, 12 total`: what a program counts, and nothing else.
fn sums_up_failures(core: &str) -> bool {
    const COUNTED: &[&str] = &[
        "failed", "passed", "skipped", "total", "tests", "test", "suites", "failures", "errors", "pending",
        "ignored", "in", "s", "seconds", "files",
    ];
    let said: Vec<String> = words(core).collect();
    let is_number = |word: &String| word.parse::<f64>().is_ok();
    let is_count = |pair: &[String]| is_number(&pair[0]) && pair[0] != "0" && pair[1] == "failed";
    said.windows(2).any(is_count)
        && said.iter().all(|word| is_number(word) || COUNTED.contains(&word.as_str()))
}

/// A line without bullets and emphasis, and whether it is an item of a list.
fn plain(line: &str) -> (&str, bool) {
    let core = line.trim();
    let rest =
        core.trim_start_matches(|c: char| matches!(c, '-' | '*' | '+' | '•' | '>') || c.is_whitespace());
    let is_item = rest.len() < core.len() && core.starts_with(['-', '+', '•']) || core.starts_with("* ");
    (text::head(rest.trim_matches(['*', '_', '`']).trim(), text::BESIDE_CHARS_MAX), is_item)
}
