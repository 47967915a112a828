//! Redacts secret values in stored and displayed text.
//!
//! The values come from the environment and the settings; this module does not guess. A value is found verbatim, in
//! every escaped form that `normal` knows, and as base64 at any alignment. If it has several lines, each line of at
//! least [`LINE_MIN`] bytes is found. Colors within it do not hide it. A value that is split in another way, compressed
//! or encrypted is not found.
//!
//! A variable is secret if its name ends in `_KEY`, `_TOKEN` or `_SECRET`, is `KEY`, `TOKEN` or `SECRET`, or contains
//! `PASSWORD`, ignoring case; or if the settings name it. A value of fewer than [`MIN_LEN`] bytes is not redacted,
//! because it would match ordinary text. Neither is a value that is part of the replacement (`redacted`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use crate::ansi::VisibleText;
use crate::normal::NormalizedText;

/// Maximum bytes that are held back in addition to the longest value.
const HELD_MAX: usize = 64 * 1024;

/// Bytes that are scanned at a time.
const PIECE: usize = 64 * 1024;

/// Held bytes up to which every piece triggers a new scan.
const LOOKED_AT_AGAIN: usize = 1024;

/// Minimum bytes of a value that is redacted.
pub const MIN_LEN: usize = 6;

/// Minimum bytes of a line that is redacted without the rest of its value.
pub const LINE_MIN: usize = 8;

/// Replaces secret values by `[redacted:NAME]`. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Redactor {
    patterns: Option<Arc<Patterns>>,
}

#[derive(Debug)]
struct Patterns {
    /// The values and their lines.
    plain: Search,
    /// The normal forms of these, and of the values in base64.
    normal: Search,
}

impl Redactor {
    /// Creates a redactor for named values. If two names have the same value, the first one is shown.
    pub fn new<N, V>(secrets: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<str>,
        V: AsRef<[u8]>,
    {
        let (mut plain, mut normal) = (SearchTexts::default(), SearchTexts::default());
        for (name, value) in secrets {
            let value = value.as_ref().trim_ascii();
            if value.len() < MIN_LEN {
                continue;
            }
            let mark = format!("[redacted:{}]", name.as_ref()).into_bytes();
            for part in value_and_lines(value) {
                plain.add(part.to_vec(), &mark);
                normal.add(NormalizedText::normalize_value(part), &mark);
            }
            if let Ok(text) = std::str::from_utf8(value) {
                // The normal form merges a quotation mark at the end of the value with the one of JSON after it.
                let quoted = serde_json::Value::from(text).to_string();
                plain.add(quoted.as_bytes()[1..quoted.len() - 1].to_vec(), &mark);
            }
            for form in base64_forms(value) {
                normal.add(NormalizedText::normalize_value(&form), &mark);
            }
        }
        if plain.0.is_empty() && normal.0.is_empty() {
            return Self::default();
        }
        let patterns = Search::new(plain.0).zip(Search::new(normal.0));
        Self { patterns: patterns.map(|(plain, normal)| Arc::new(Patterns { plain, normal })) }
    }

    /// Creates a redactor for the variables with secret names, and for those in `extra_names`.
    pub fn from_environment(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        extra_names: &[String],
    ) -> Self {
        Self::new(secrets(vars, extra_names))
    }

    /// Returns the bytes without secret values, and the number of replacements.
    pub fn redact_bytes<'a>(&self, bytes: &'a [u8]) -> (Cow<'a, [u8]>, u32) {
        if self.patterns.is_none() {
            return (Cow::Borrowed(bytes), 0);
        }
        let mut stream = self.stream();
        let (mut clean, mut same) = (Vec::new(), 0);
        let mut pieces = bytes.chunks(PIECE);
        loop {
            let before = stream.count();
            let from = clean.len();
            let piece = pieces.next();
            match piece {
                Some(piece) => stream.push(piece, &mut clean),
                None => stream.finish(&mut clean),
            }
            if stream.count() == 0 {
                same += clean.len();
                clean.clear();
            } else if before == 0 {
                clean.splice(from..from, bytes[..same].iter().copied());
            }
            if piece.is_none() {
                break;
            }
        }
        match stream.count() {
            0 => (Cow::Borrowed(bytes), 0),
            count => (Cow::Owned(clean), count),
        }
    }

    /// Returns the text without secret values, and the number of replacements.
    pub fn redact_text<'a>(&self, text: &'a str) -> (Cow<'a, str>, u32) {
        match self.redact_bytes(text.as_bytes()) {
            (Cow::Borrowed(_), count) => (Cow::Borrowed(text), count),
            (Cow::Owned(bytes), count) => (Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()), count),
        }
    }

    /// Starts a text that arrives in pieces.
    pub fn stream(&self) -> RedactionStream {
        RedactionStream { patterns: self.patterns.clone(), held: Vec::new(), scanned: 0, count: 0 }
    }
}

/// Prefix of the name of a variable that is not secret.
pub const NOT_SECRET: &str = "!";

/// Returns the variables with secret names, and those in `extra_names`, where `!NAME` excludes a variable despite its
/// name.
pub fn secrets(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
    extra_names: &[String],
) -> BTreeMap<String, Vec<u8>> {
    let secret = vars.into_iter().filter_map(|(name, value)| {
        let name = name.to_string_lossy().into_owned();
        let is_listed = |prefix: &str| {
            let mut names = extra_names.iter().filter_map(|extra| extra.strip_prefix(prefix));
            names.any(|extra| extra.eq_ignore_ascii_case(&name))
        };
        let is_secret = (is_secret_name(&name) || is_listed("")) && !is_listed(NOT_SECRET);
        is_secret.then(|| (name, value.as_encoded_bytes().to_vec()))
    });
    secret.collect()
}

/// Returns whether the value of a variable with this name is secret.
pub fn is_secret_name(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    let ends =
        |word: &str| name.strip_suffix(word).is_some_and(|rest| rest.is_empty() || rest.ends_with('_'));
    ["KEY", "TOKEN", "SECRET"].into_iter().any(ends) || name.contains("PASSWORD")
}

/// Redacts a text that arrives in pieces. The result does not depend on where it is cut.
///
/// Holds back only bytes that may be the start of a value.
#[derive(Debug)]
pub struct RedactionStream {
    patterns: Option<Arc<Patterns>>,
    held: Vec<u8>,
    /// Number of held bytes that were scanned.
    scanned: usize,
    count: u32,
}

impl RedactionStream {
    /// Takes the next piece and appends the text that is final to `clean`.
    pub fn push(&mut self, piece: &[u8], clean: &mut Vec<u8>) {
        let Some(patterns) = self.patterns.clone() else { return clean.extend_from_slice(piece) };
        if self.held.is_empty() {
            let kept = self.scan(&patterns, piece, clean, TextEnd::Open);
            self.held.extend_from_slice(&piece[kept..]);
        } else {
            let mut held = std::mem::take(&mut self.held);
            held.extend_from_slice(piece);
            // Many held bytes are not scanned again for each byte that follows.
            if held.len() > LOOKED_AT_AGAIN && held.len() - self.scanned < self.scanned / 4 {
                self.held = held;
                return;
            }
            let kept = self.scan(&patterns, &held, clean, TextEnd::Open);
            held.drain(..kept);
            self.held = held;
        }
        self.scanned = self.held.len();
        // No value has that many color sequences or escapes.
        if self.held.len() > patterns.normal.longest.max(patterns.plain.longest) + HELD_MAX {
            self.finish(clean);
        }
    }

    /// Ends the text and appends the held bytes to `clean`.
    pub fn finish(&mut self, clean: &mut Vec<u8>) {
        let held = std::mem::take(&mut self.held);
        if let Some(patterns) = self.patterns.clone() {
            self.scan(&patterns, &held, clean, TextEnd::Over);
        }
    }

    /// Returns the number of replacements so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// Appends the final part of `text` and returns the start of the rest.
    fn scan(&mut self, patterns: &Patterns, text: &[u8], clean: &mut Vec<u8>, end: TextEnd) -> usize {
        let is_over = end == TextEnd::Over;
        let visible = VisibleText::new(text, is_over);
        let normal = NormalizedText::new(&visible.text, is_over);
        // A match that starts before `certain` cannot become longer with later pieces.
        let certain_from = |at| {
            if is_over {
                return visible.text.len();
            }
            let in_normal = patterns.normal.partial_match_start(&normal.text, normal.first_from(at));
            // The second half of an escape would have another meaning.
            let in_plain = normal.escape_start(patterns.plain.partial_match_start(&visible.text, at)).max(at);
            in_plain.min(normal.original_offset(in_normal))
        };
        let next_plain = |at| patterns.plain.find(&visible.text, at);
        let next_normal = |at| {
            let (start, end, mark) = patterns.normal.find(&normal.text, normal.first_from(at))?;
            Some((normal.original_offset(start), normal.original_offset(end), mark))
        };
        let (mut at, mut from) = (0, 0);
        let mut certain = certain_from(at);
        let (mut in_plain, mut in_normal) = (next_plain(at), next_normal(at));
        loop {
            if in_plain.is_some_and(|(start, ..)| start < at) {
                in_plain = next_plain(at);
            }
            if in_normal.is_some_and(|(start, ..)| start < at) {
                in_normal = next_normal(at);
            }
            let first = in_plain
                .into_iter()
                .chain(in_normal)
                .min_by_key(|(start, end, _)| (*start, usize::MAX - end));
            let Some((start, end, mark)) = first.filter(|(start, ..)| *start < certain) else {
                let kept = visible.original_offset(certain).max(from);
                clean.extend_from_slice(&text[from..kept]);
                return kept;
            };
            clean.extend_from_slice(&text[from..visible.original_offset(start)]);
            clean.extend_from_slice(mark);
            self.count = self.count.saturating_add(1);
            at = end;
            from = visible.original_offset(at - 1) + 1;
            if at > certain {
                certain = certain_from(at);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum TextEnd {
    Open,
    Over,
}

/// Texts to search for, each with its mark.
#[derive(Default)]
struct SearchTexts(BTreeMap<Vec<u8>, Vec<u8>>);

impl SearchTexts {
    fn add(&mut self, text: Vec<u8>, mark: &[u8]) {
        if text.len() >= MIN_LEN && !holds(mark, &text) {
            self.0.entry(text).or_insert_with(|| mark.to_vec());
        }
    }
}

/// Searches for any of several texts.
#[derive(Debug)]
struct Search {
    search: AhoCorasick,
    /// The texts, sorted.
    texts: Vec<Vec<u8>>,
    marks: Vec<Vec<u8>>,
    /// Whether a text starts with this byte.
    first: [bool; 256],
    longest: usize,
}

impl Search {
    fn new(found: BTreeMap<Vec<u8>, Vec<u8>>) -> Option<Self> {
        let (texts, marks): (Vec<_>, Vec<_>) = found.into_iter().unzip();
        let mut first = [false; 256];
        for text in &texts {
            first[usize::from(*text.first()?)] = true;
        }
        let longest = texts.iter().map(Vec::len).max().unwrap_or_default();
        // Building fails only with more than 2 GB of values.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts).ok()?;
        Some(Self { search, texts, marks, first, longest })
    }

    /// Returns the start, the end and the mark of the first match at `at` or later.
    fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize, &[u8])> {
        let found = self.search.find(Input::new(text).range(at..))?;
        Some((found.start(), found.end(), &self.marks[found.pattern().as_usize()]))
    }

    /// Returns where, at `at` or later, the input ends with what may be the start of a text.
    fn partial_match_start(&self, text: &[u8], at: usize) -> usize {
        let earliest = at.max((text.len() + 1).saturating_sub(self.longest));
        let begins = |rest: &[u8]| {
            let behind = self.texts.partition_point(|text| text.as_slice() <= rest);
            self.texts.get(behind).is_some_and(|text| text.starts_with(rest))
        };
        (earliest..text.len())
            .find(|&start| self.first[usize::from(text[start])] && begins(&text[start..]))
            .unwrap_or(text.len())
    }
}

/// Returns the value, and its lines if it has several.
fn value_and_lines(value: &[u8]) -> BTreeSet<&[u8]> {
    let lines = value.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    lines.filter(|line| line.len() >= LINE_MIN).chain([value]).collect()
}

/// Returns the part of the base64 form that does not depend on the surrounding bytes, for each of the three alignments,
/// and the lines of base64 that is wrapped at the usual widths.
fn base64_forms(value: &[u8]) -> Vec<Vec<u8>> {
    const ALPHABETS: [&[u8; 64]; 2] = [
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/",
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_",
    ];
    const WIDTHS: [usize; 2] = [64, 76];
    let mut forms = Vec::new();
    for alphabet in ALPHABETS {
        for before in 0..3 {
            let bytes: Vec<u8> = std::iter::repeat_n(0, before).chain(value.iter().copied()).collect();
            // A character that holds bits of the surrounding bytes is left out.
            let (from, to) = ((before * 8).div_ceil(6), bytes.len() * 8 / 6);
            let form: Vec<u8> = (from..to).map(|at| alphabet[sextet(&bytes, at)]).collect();
            if before == 0 {
                for width in WIDTHS.into_iter().filter(|width| form.len() > *width) {
                    forms
                        .extend(form.chunks(width).filter(|line| line.len() >= LINE_MIN).map(<[u8]>::to_vec));
                }
            }
            forms.push(form);
        }
    }
    forms
}

/// Returns six bits of a text as a number.
fn sextet(bytes: &[u8], at: usize) -> usize {
    let (byte, shift) = (at * 6 / 8, at * 6 % 8);
    let pair = usize::from(bytes[byte]) << 8 | bytes.get(byte + 1).map_or(0, |next| usize::from(*next));
    pair >> (10 - shift) & 0x3f
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}
