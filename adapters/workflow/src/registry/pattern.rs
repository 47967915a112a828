//! Which pattern a failure belongs to that names none: the one of which most words are in what it says.

use serde_json::Value;

use unstuck_core::completion::{SuccessWhenError, regex};

/// A word, or a regular expression between slashes, that a pattern is picked by.
#[derive(Clone, Debug)]
pub struct PatternTerm(TermKind);

#[derive(Clone, Debug)]
enum TermKind {
    Plain(String),
    Matches(regex::Regex),
}

impl PatternTerm {
    /// Reads a word as a registry writes it: `/regex/`, or the text itself.
    ///
    /// # Errors
    ///
    /// The regular expression is not well formed, or uses a construct that linear time does not allow.
    pub fn parse(text: &str) -> Result<Self, SuccessWhenError> {
        let inner = text.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        Ok(Self(match inner.filter(|inner| !inner.is_empty()) {
            // Case is ignored, as for words.
            Some(inner) => TermKind::Matches(regex(inner).and_then(|_| regex(&format!("(?i){inner}")))?),
            None => TermKind::Plain(text.to_lowercase()),
        }))
    }

    /// Says whether it is in a corpus. An empty word is in none.
    fn hits(&self, corpus: &str) -> bool {
        match &self.0 {
            TermKind::Plain(word) => !word.trim().is_empty() && corpus.contains(word),
            TermKind::Matches(regex) => regex.is_match(corpus),
        }
    }
}

/// Returns what a failure says, to look for words in: its error, and its params that are text. `None` if it
/// says nothing.
pub fn corpus<'a>(error: &'a str, params: impl IntoIterator<Item = &'a Value>) -> Option<String> {
    let texts = std::iter::once(error).chain(params.into_iter().filter_map(Value::as_str));
    let parts: Vec<&str> = texts.filter(|text| !text.trim().is_empty()).collect();
    (!parts.is_empty()).then(|| parts.join("\n").to_lowercase())
}

/// Counts the words that are in a corpus.
pub fn score(words: &[PatternTerm], corpus: &str) -> usize {
    words.iter().filter(|word| word.hits(corpus)).count()
}

/// Returns the place of the pattern with most hits, the first of equals; `None` where none has any.
pub fn best<'a>(patterns: impl IntoIterator<Item = &'a [PatternTerm]>, corpus: &str) -> Option<usize> {
    let scores = patterns.into_iter().map(|words| score(words, corpus)).enumerate();
    let best = scores.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.filter(|(_, hits)| *hits > 0).map(|(at, _)| at)
}
