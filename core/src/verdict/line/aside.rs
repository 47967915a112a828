//! Tells whether a verdict is only shown: in a comment or an example, quoted, denied, or somebody else's.

use std::ops::Range;

use super::example::last_sentence;
use super::recant;
use crate::verdict::remark::limits::{Limit, limit_of};
use crate::verdict::text::{BESIDE_CHARS_MAX, Line, head, words};
use crate::verdict::words::says_no;

/// Who may be quoted.
const SPEAKERS: &[&str] = &[
    "worker", "worker's", "workers", "agent", "agent's", "subagent", "subagent's", "implementer",
    "implementer's", "author", "author's", "developer", "developer's", "coder", "coder's", "log", "logs",
    "transcript",
];

/// What they say it in.
const UTTERANCES: &[&str] = &[
    "answer", "answers", "claim", "claims", "comment", "conclusion", "decision", "file", "json", "line",
    "lines", "log", "message", "note", "notes", "output", "reply", "report", "response", "result",
    "statement", "status", "summary", "text", "transcript", "verdict", "word", "words",
];

/// Verbs of saying, of the past and of the present.
const SAID: &[&str] = &[
    "said", "says", "wrote", "writes", "reported", "reports", "answered", "answers", "printed", "prints",
    "replied", "replies", "claimed", "claims", "stated", "states", "concluded", "concludes", "asserted",
    "asserts", "announced", "declared", "responded",
];

/// Says whether the lines above, the nearest first, open a comment or an example that they do not close.
pub(in crate::verdict) fn is_inside<'a>(above: impl Iterator<Item = &'a str>) -> bool {
    const LINES_MAX: usize = 6;
    for line in above.take(LINES_MAX) {
        let line = line.trim();
        if closes(line) {
            return false;
        }
        if opens(line) {
            return true;
        }
    }
    false
}

/// Finds what stands between the tags of a thought: `<think>` at the beginning of a line, `</think>` anywhere. One that
/// is never closed goes to the end; one that is never opened began with the text.
pub(in crate::verdict) fn thoughts(lines: &[Line<'_>]) -> Vec<Range<usize>> {
    let mut out: Vec<Range<usize>> = Vec::new();
    let mut open = None;
    for line in lines {
        let core = line.text.trim();
        let opens = thought_tag(core.strip_prefix('<'));
        let closes = core.rfind("</").filter(|at| thought_tag(Some(&core[at + 2..])));
        if opens && open.is_none() {
            open = Some(line.start);
        }
        let Some(at) = closes else { continue };
        let end = line.start + line.text.len();
        let ends_line = at == 0 || core[at..].find('>').is_some_and(|tag| at + tag + 1 == core.len());
        match open.take() {
            Some(start) => out.push(start..end),
            None if out.is_empty() && ends_line => out.push(0..end),
            None => {}
        }
    }
    out.extend(open.zip(lines.last()).map(|(start, last)| start..last.start + last.text.len()));
    out
}

/// Says so of what stands behind `<` or `</`.
fn thought_tag(text: Option<&str>) -> bool {
    const NAMES: &[&str] = &[
        "think", "thinking", "thought", "thoughts", "reasoning", "scratchpad", "reflection", "analysis",
        "plan", "planning",
    ];
    let end = text.and_then(|text| text.find(['>', ' ']));
    text.zip(end).is_some_and(|(text, end)| NAMES.iter().any(|name| text[..end].eq_ignore_ascii_case(name)))
}

/// Says whether a place lies in one of these.
pub(in crate::verdict) fn holds(thoughts: &[Range<usize>], at: usize) -> bool {
    let next = thoughts.partition_point(|thought| thought.end <= at);
    thoughts.get(next).is_some_and(|thought| thought.start <= at)
}

/// Says so of a line that is nothing else: code and lists of files begin so, too.
fn opens(line: &str) -> bool {
    matches!(line, "<!--" | "<example>" | "<sample>" | "<quote>" | "<blockquote>")
}

fn closes(line: &str) -> bool {
    line.contains("-->") || line.contains("*/") || line.starts_with("</")
}

/// Says so of a verdict behind these words on its line: `// was`, `I did not write`, `The worker claimed:`.
pub(in crate::verdict) fn introduces(before: &str) -> bool {
    let core = before.trim();
    ["//", "/*", "<!--", "~~"].iter().any(|mark| core.starts_with(mark))
        || opens(core)
        || denies(core)
        || names_another(core)
}

/// Says so of a line above a verdict: `The worker's claim was:`, `The log ends:`.
pub(in crate::verdict) fn names_speaker(line: &str) -> bool {
    const CLAIMS: &[&str] = &["claim", "claims", "claimed"];
    let names = |word: String| SPEAKERS.contains(&word.as_str()) || CLAIMS.contains(&word.as_str());
    line.trim_end().ends_with([':', '：']) && words(line).any(names)
}

/// Says so of a line above a verdict that tells whose words it is: `The worker claimed:`, `The agent's last line was:`,
/// `Output of the worker:`, `Worker said`, `Previous verdict:`.
pub(in crate::verdict) fn names_another_above(line: &str) -> bool {
    const WORDS_MAX: usize = 4;
    let core = line.trim().trim_end_matches(['*', '_', '`']);
    let sentence = last_sentence(core);
    let opens = core.ends_with([':', '：']);
    if !core.ends_with(['.', '!']) && reports_speech(sentence) {
        return true;
    }
    let is_short = words(sentence).count() <= WORDS_MAX && !core.ends_with(['.', '!']);
    (opens && (names_another(sentence) || names_words_of_another(sentence)))
        || (is_short && words(sentence).any(|it| SPEAKERS.contains(&it.as_str())) && names_another(sentence))
}

/// `The worker claimed that it is`: goes on into their words.
fn reports_speech(sentence: &str) -> bool {
    const OWN: &[&str] = &["i", "we", "my", "our", "verdict", "so", "hence", "thus", "therefore", "as"];
    let said: Vec<String> = words(sentence).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let speaks = |three: &[String]| {
        is_in(&three[0], SPEAKERS)
            && is_in(&three[1], SAID)
            && matches!(three[2].as_str(), "that" | "it" | "this")
    };
    said.windows(3).any(speaks) && !said.iter().any(|word| is_in(word, OWN))
}

/// A speaker and what they say it in, and nothing else: `The worker's final answer was`, `Last lines of the log`.
fn names_words_of_another(sentence: &str) -> bool {
    const REST: &[&str] = &[
        "a", "the", "its", "last", "first", "final", "own", "previous", "earlier", "full", "of", "from",
        "by", "in", "was", "were", "is", "are", "reads", "read", "ends", "ended", "with", "contains",
        "contained", "here", "according", "to", "what", "as", "follows", "following", "i", "found", "saw",
        "left", "that", "stands", "there", "quote", "quoted", "quoting", "excerpt", "this", "it",
    ];
    const ALONE: &[&str] = &["quote", "quoted", "quoting", "excerpt"];
    let said: Vec<String> = words(sentence).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let is_known = |word: &String| {
        is_in(word, SPEAKERS) || is_in(word, UTTERANCES) || is_in(word, REST) || is_in(word, SAID)
    };
    let speaks = said.iter().any(|word| is_in(word, SPEAKERS));
    said.iter().all(is_known) && (speaks || said.iter().any(|word| is_in(word, ALONE)))
}

/// Says of the line below a verdict that is quoted that it does not agree: `I disagree.`, `However, two tests fail.`
pub(in crate::verdict) fn disagrees(line: &str) -> bool {
    const LEADS: &[&str] = &[
        "however", "but", "no", "nope", "nah", "wrong", "false", "incorrect", "untrue", "unfortunately",
        "actually", "yet", "still", "although", "though", "except", "not",
    ];
    const WORDS: &[&str] = &["disagree", "disagrees", "wrong", "incorrect", "untrue", "premature", "false"];
    const TRUE: &[&str] =
        &["agree", "true", "correct", "right", "so", "believe", "think", "share", "confirm"];
    let sentence = line.split(['.', '!', ';']).next().unwrap_or_default();
    let said: Vec<String> = words(sentence).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let negates = |word: &String| is_in(word, &["not", "never", "cannot"]) || word.ends_with("n't");
    said.first().is_some_and(|first| is_in(first, LEADS))
        || said.iter().any(|word| is_in(word, WORDS))
        || said.iter().any(negates) && said.iter().any(|word| is_in(word, TRUE))
        || limit_of(sentence) == Limit::Limited
}

/// Says of the line below a verdict that it takes it back: `However, two tests fail.`, `Except for the docs.`, `No.`
pub(in crate::verdict) fn takes_back(line: &str) -> bool {
    const LEADS: &[&str] = &[
        "however", "but", "unfortunately", "although", "though", "sadly", "nevertheless", "nonetheless",
        "regrettably", "alas", "oops", "wait", "sorry", "correction", "actually",
    ];
    const PHRASES: &[&str] = &[
        "that said",
        "having said that",
        "on the other hand",
        "even so",
        "on second thought",
        "hold on",
        "then again",
        "that being said",
    ];
    const LEADS_CJK: &[&str] = &[
        "しかし", "ただし", "だが", "でも", "けれど", "但是", "但", "不过", "不過", "然而", "可是", "하지만",
        "그러나", "다만",
    ];
    let core = line.trim_start_matches(|c: char| !c.is_alphanumeric());
    let sentence = head(core.split(['.', '!', ';']).next().unwrap_or_default(), BESIDE_CHARS_MAX);
    let is_limited = |rest: &str| limit_of(rest) == Limit::Limited;
    if says_no(core)
        || leaves_out(sentence)
        || recant::counts_failures(core)
        || recant::reports_failure(line)
        || recant::is_condition(line)
    {
        return true;
    }
    if LEADS_CJK.iter().any(|lead| core.strip_prefix(lead).is_some_and(is_limited)) {
        return true;
    }
    let lower = sentence.to_lowercase();
    if PHRASES.iter().any(|lead| lower.strip_prefix(lead).is_some_and(is_limited)) {
        return true;
    }
    let end = sentence.find(|c: char| !c.is_alphabetic()).unwrap_or(sentence.len());
    let (first, rest) = sentence.split_at(end);
    LEADS.contains(&first.to_lowercase().as_str()) && is_limited(rest)
}

/// `Except for the docs`, `Apart from one test`: leaves something out; `apart from that` only goes on.
fn leaves_out(sentence: &str) -> bool {
    const ALONE: &[&str] = &["except", "excepting", "excluding", "barring", "minus"];
    const PAIRS: &[(&str, &str)] =
        &[("apart", "from"), ("aside", "from"), ("save", "for"), ("other", "than"), ("all", "but")];
    let said: Vec<String> = words(sentence).take(3).collect();
    let word = |at: usize| said.get(at).map_or("", String::as_str);
    let all_but = matches!(word(0), "everything" | "all") && matches!(word(1), "except" | "but");
    ALONE.contains(&word(0))
        || all_but
        || PAIRS.contains(&(word(0), word(1))) && !matches!(word(2), "that" | "this")
}

/// `I have not written`, `I refuse to write`, `Wrong:`.
fn denies(core: &str) -> bool {
    const ALONE: &[&str] = &["not", "wrong", "no", "incorrect", "false", "invalid", "never"];
    const NEGATIONS: &[&str] = &["not", "never", "cannot", "refuse", "refused", "refuses", "rather"];
    const SAYINGS: &[&str] = &[
        "write", "written", "wrote", "say", "said", "answer", "answered", "print", "printed", "give",
        "given", "output", "report", "return", "claim", "emit", "sign", "send", "sent", "conclude",
        "confirm",
    ];
    let words: Vec<String> = words(core).collect();
    if let [alone] = words.as_slice() {
        return ALONE.contains(&alone.as_str());
    }
    let negates = |word: &String| NEGATIONS.contains(&word.as_str()) || word.ends_with("n't");
    // What is denied is that the object is written: that ends the words before it.
    let end = words.len().saturating_sub(2);
    let says = words[end..].iter().any(|word| SAYINGS.contains(&word.as_str()));
    says && words.iter().rev().take(4).any(negates)
}

/// `Previous verdict:`, `# old:`, `The worker's file said`.
fn names_another(core: &str) -> bool {
    const EARLIER: &[&str] =
        &["previous", "previously", "earlier", "old", "outdated", "former", "formerly", "superseded"];
    const OWN: &[&str] = &["i", "we", "which", "verdict", "as", "what"];
    const VERDICTS: &[&str] = &["verdict", "answer", "decision", "status", "result", "file", "json", "claim"];
    let words: Vec<String> = words(core).collect();
    let is_in = |word: &String, list: &[&str]| list.contains(&word.as_str());
    let own = words.iter().any(|word| is_in(word, OWN));
    let mut rest = words.iter().skip_while(|word| is_in(word, &["the", "my", "its", "an", "a"]));
    let earlier = rest.next().is_some_and(|word| is_in(word, EARLIER));
    earlier && rest.next().is_none_or(|word| is_in(word, VERDICTS))
        || words.last().is_some_and(|word| is_in(word, SAID)) && !own
}
