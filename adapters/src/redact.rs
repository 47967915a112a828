//! Takes secret values out of what is stored and shown.
//!
//! The values come from the environment and the settings; nothing here guesses what a secret looks
//! like. What is taken out is the value itself and its JSON-escaped and URL-encoded forms, also where it is coloured; base64
//! and otherwise split values are not found.
//!
//! Which variables are secret: names that end in `_KEY`, `_TOKEN` or `_SECRET`, are exactly `KEY`,
//! `TOKEN` or `SECRET`, or hold `PASSWORD`, without regard to case; and those that the settings
//! name. A value of fewer than [`MIN_LEN`] bytes is left alone: it would eat ordinary text. So is a
//! value that is a part of our own mark (`redacted`).

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use crate::escapes::Shown;

/// So much is held back at most beside a value.
const HELD_MAX: usize = 64 * 1024;

/// Values of fewer bytes are not taken out.
pub const MIN_LEN: usize = 6;

/// Replaces secret values by `[redacted:NAME]`. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    patterns: Option<Arc<Patterns>>,
}

#[derive(Debug)]
struct Patterns {
    search: AhoCorasick,
    values: Vec<Vec<u8>>,
    replacements: Vec<Vec<u8>>,
    /// Whether some value begins with this byte.
    first: [bool; 256],
    longest: usize,
}

impl Redactor {
    /// Makes a redactor of named values. Where two names have the same value, the first one is shown.
    pub fn new<N, V>(secrets: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<str>,
        V: AsRef<[u8]>,
    {
        let mut seen = BTreeSet::new();
        let mut found = Vec::new();
        for (name, value) in secrets {
            let mark = format!("[redacted:{}]", name.as_ref()).into_bytes();
            for form in forms(value.as_ref()) {
                if form.len() >= MIN_LEN && !holds(&mark, &form) && seen.insert(form.clone()) {
                    found.push((form, mark.clone()));
                }
            }
        }
        Self { patterns: Patterns::new(found).map(Arc::new) }
    }

    /// Makes a redactor of the variables whose names say that they are secret, and of those in `extra_names`.
    pub fn from_environment(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        extra_names: &[String],
    ) -> Self {
        let secret = vars.into_iter().filter_map(|(name, value)| {
            let name = name.to_string_lossy().into_owned();
            let wanted =
                is_secret_name(&name) || extra_names.iter().any(|extra| extra.eq_ignore_ascii_case(&name));
            wanted.then(|| (name, bytes_of(&value).to_vec()))
        });
        Self::new(secret.collect::<std::collections::BTreeMap<_, _>>())
    }

    /// Returns the bytes without secret values, and how many were replaced.
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, [u8]>, u32) {
        let Some(patterns) = self.patterns.as_deref() else { return (Cow::Borrowed(bytes), 0) };
        if !patterns.search.is_match(&*Shown::of(bytes, true).text) {
            return (Cow::Borrowed(bytes), 0);
        }
        let mut stream = self.stream();
        let mut clean = Vec::with_capacity(bytes.len());
        stream.push(bytes, &mut clean);
        stream.finish(&mut clean);
        (Cow::Owned(clean), stream.count())
    }

    /// Returns the text without secret values, and how many were replaced.
    pub fn redact_text<'a>(&self, text: &'a str) -> (Cow<'a, str>, u32) {
        match self.redact_bytes(text.as_bytes()) {
            (Cow::Borrowed(_), count) => (Cow::Borrowed(text), count),
            (Cow::Owned(bytes), count) => (Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()), count),
        }
    }

    /// Begins a text that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream { patterns: self.patterns.clone(), held: Vec::new(), count: 0 }
    }
}

/// Returns whether the name of a variable says that its value is secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends =
        |word: &str| name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    ["KEY", "TOKEN", "SECRET"].into_iter().any(ends) || name.contains("PASSWORD")
}

/// A text that comes in pieces: any way of cutting it gives the same result.
///
/// Holds back no more than what may be the beginning of a value.
#[derive(Debug)]
pub struct Stream {
    patterns: Option<Arc<Patterns>>,
    held: Vec<u8>,
    count: u32,
}

impl Stream {
    /// Takes the next piece and appends to `clean` what is certain by now.
    pub fn push(&mut self, piece: &[u8], clean: &mut Vec<u8>) {
        let Some(patterns) = self.patterns.clone() else { return clean.extend_from_slice(piece) };
        if self.held.is_empty() {
            let kept = self.scan(&patterns, piece, clean, End::Open);
            self.held.extend_from_slice(&piece[kept..]);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(piece);
            let kept = self.scan(&patterns, &held, clean, End::Open);
            held.drain(..kept);
            self.held = held;
        }
        // Nobody writes so many colours into a word.
        if self.held.len() > patterns.longest + HELD_MAX {
            self.finish(clean);
        }
    }

    /// Appends to `clean` what was held back: the text is over.
    pub fn finish(&mut self, clean: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        if let Some(patterns) = self.patterns.clone() {
            self.scan(&patterns, &held, clean, End::Over);
        }
    }

    /// Returns how many values were replaced so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Appends what is certain of `text` and returns where the rest begins.
    fn scan(&mut self, patterns: &Patterns, text: &[u8], clean: &mut Vec<u8>, end: End) -> usize {
        let shown = Shown::of(text, end == End::Over);
        // What begins before `certain` cannot become longer by what is still to come.
        let certain_from =
            |at| if end == End::Over { shown.text.len() } else { patterns.hold_from(&shown.text, at) };
        let (mut at, mut from) = (0, 0);
        let mut certain = certain_from(at);
        loop {
            match patterns.search.find(Input::new(&*shown.text).range(at..)) {
                Some(found) if found.start() < certain => {
                    clean.extend_from_slice(&text[from..shown.place(found.start())]);
                    clean.extend_from_slice(&patterns.replacements[found.pattern().as_usize()]);
                    self.count = self.count.saturating_add(1);
                    at = found.end();
                    from = shown.place(at - 1) + 1;
                    if at > certain {
                        certain = certain_from(at);
                    }
                }
                _ => {
                    let kept = shown.place(certain).max(from);
                    clean.extend_from_slice(&text[from..kept]);
                    return kept;
                }
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Over,
}

impl Patterns {
    fn new(found: Vec<(Vec<u8>, Vec<u8>)>) -> Option<Self> {
        let (values, replacements): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let mut first = [false; 256];
        for value in &values {
            first[usize::from(*value.first()?)] = true;
        }
        let longest = values.iter().map(Vec::len).max()?;
        // Building fails only beyond two thousand million bytes of values.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&values).ok()?;
        Some(Self { search, values, replacements, first, longest })
    }

    /// Returns where, from `at` on, what may be the beginning of a value runs into the end of the text.
    fn hold_from(&self, text: &[u8], at: usize) -> usize {
        let earliest = at.max(text.len().saturating_sub(self.longest - 1));
        (earliest..text.len())
            .find(|&start| {
                let rest = &text[start..];
                self.first[usize::from(rest[0])]
                    && self.values.iter().any(|value| value.len() > rest.len() && value.starts_with(rest))
            })
            .unwrap_or(text.len())
    }
}

/// Returns the value and the forms it takes inside JSON texts and URLs.
fn forms(value: &[u8]) -> Vec<Vec<u8>> {
    let value = value.trim_ascii();
    let mut forms = vec![value.to_vec(), url_encoded(value)];
    if let Ok(text) = std::str::from_utf8(value) {
        let quoted = serde_json::Value::from(text).to_string();
        let quoted = &quoted[1..quoted.len() - 1];
        forms.push(quoted.as_bytes().to_vec());
        forms.extend([
            ascii(quoted, |unit| format!("\\u{unit:04x}")),
            ascii(quoted, |unit| format!("\\u{unit:04X}")),
        ]);
    }
    forms
}

/// Returns what JSON is where all that is beyond ASCII is escaped, too.
fn ascii(quoted: &str, escape: impl Fn(u16) -> String) -> Vec<u8> {
    let mut text = String::with_capacity(quoted.len());
    for c in quoted.chars() {
        match c {
            ..='\u{7f}' => text.push(c),
            _ => text.extend(c.encode_utf16(&mut [0; 2]).iter().map(|unit| escape(*unit))),
        }
    }
    text.into_bytes()
}

fn url_encoded(value: &[u8]) -> Vec<u8> {
    value.iter().fold(Vec::with_capacity(value.len()), |mut text, &byte| {
        if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) {
            text.push(byte);
        } else {
            text.extend_from_slice(format!("%{byte:02X}").as_bytes());
        }
        text
    })
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn bytes_of(text: &OsStr) -> &[u8] {
    text.as_encoded_bytes()
}
