//! Finds wording that a reader stumbles over: phrases that this project used too much, and sentences that are too long.
//!
//! A list of phrases cannot judge prose. It keeps the known habits from coming back.

use std::sync::LazyLock;

use regex::Regex;

use crate::File;

/// Phrases for which there is a common word: "fix" instead of `mend`, "exists" instead of `is there`.
const PHRASES: &[&str] = &[
    r"\bmend(s|ed|ing)?\b",
    r"\b(nobody|somebody|whoever|whom)\b",
    r"\b(beside|anew|weather|blanks)\b",
    r"\b(is|are|was|were|been|be) (told|asked of)\b|\btells? of\b",
    r"\b(at|came to) rest\b|\bnot a word\b|\b(no|without a) word\b|\bin words\b|\bin the midst\b",
    r"\b(is|are) (not )?there(?: *[^ a-z]|$)",
    r"\bstands? (in|on|at|behind|before|below|above|alone)\b",
    r"\b(go|goes|gone|going|hang|hangs) on\b|\bcomes? to\b|\bput back\b",
    r"\b(is|are|not) whole\b|\bis no [a-z]+\.?$",
    r"\bof (its|their|our) own\b|\b(that|those) of\b",
    r"^(Of|Until when|Who|Whom|Whoever|What) [a-z]+ [^?]*$",
    r"\b(any|no) more\b[.,;]",
];

/// Maximum words of a sentence.
const WORDS_MAX: usize = 30;

/// A sentence to rewrite.
pub struct Hit {
    /// Its line, from 1.
    pub line: usize,
    /// Why: the phrase, or the number of words.
    pub why: String,
    /// The line.
    pub text: String,
}

/// Returns the lines to rewrite in a file: of Markdown all text, of Rust the comments and the names of tests.
pub fn hits(file: &File) -> Vec<Hit> {
    static PATTERNS: LazyLock<Vec<Regex>> = LazyLock::new(|| {
        let patterns = PHRASES.iter().map(|phrase| Regex::new(&format!("(?i){phrase}")));
        patterns.collect::<Result<_, _>>().expect("the phrases are patterns")
    });
    let mut hits = Vec::new();
    for (line, text) in sentences(file) {
        if let Some(found) = PATTERNS.iter().find_map(|pattern| pattern.find(&text)) {
            hits.push(Hit { line, why: format!("\"{}\"", found.as_str()), text });
            continue;
        }
        let longest = text
            .split(['.', '!', '?', ':', ';', '|'])
            .map(|sentence| sentence.split_whitespace().count())
            .max();
        if let Some(words) = longest.filter(|words| *words > WORDS_MAX) {
            hits.push(Hit { line, why: format!("{words} words"), text });
        }
    }
    hits
}

/// Returns the lines of prose without code: comments of Rust, names of tests as words, Markdown outside of code blocks.
fn sentences(file: &File) -> Vec<(usize, String)> {
    static COMMENT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^\s*//[/!]?\s?(.*)").expect("a pattern"));
    static TEST: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*(?:async )?fn ([a-z0-9_]{25,})\(").expect("a pattern"));
    static CODE: LazyLock<Regex> = LazyLock::new(|| Regex::new("`[^`]*`").expect("a pattern"));
    let is_rust = file.name.ends_with(".rs");
    let mut in_code = false;
    let prose = (1..).zip(file.text.lines()).filter_map(move |(number, line)| {
        let text = if is_rust {
            let name = || TEST.captures(line).map(|captures| captures[1].replace('_', " "));
            COMMENT.captures(line).map(|captures| captures[1].to_owned()).or_else(name)?
        } else {
            let is_fence = line.trim_start().starts_with("```");
            in_code ^= is_fence;
            (!in_code && !is_fence).then(|| line.to_owned())?
        };
        Some((number, CODE.replace_all(&text, "").into_owned()))
    });
    prose.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn habits_are_found_in_text_and_not_in_code() {
        let long = format!("//! {}", "word ".repeat(31));
        for (name, text, expected) in [
            ("a.md", "Nobody mends it.", &["\"mends\""][..]),
            ("a.md", "```\nNobody\n```\nIt is `nobody`.", &[]),
            ("a.md", "It is there. It is there for you. There is a file.", &["\"is there.\""]),
            ("a.rs", "let nobody = 1; // goes on", &[]),
            ("a.rs", "// goes on", &["\"goes on\""]),
            ("a.rs", "fn a_worker_that_goes_on_is_stopped() {}", &["\"goes on\""]),
            ("a.rs", "//! What a step does", &["\"What a step does\""]),
            ("a.rs", &long, &["31 words"]),
        ] {
            let file = File { name: name.to_owned(), text: text.to_owned() };
            let found: Vec<String> = hits(&file).into_iter().map(|hit| hit.why).collect();
            assert_eq!(found, expected, "{text}");
        }
    }
}
