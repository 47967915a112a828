//! Takes secret values out of what is stored and shown.
//!
//! The values come from the environment and the settings; nothing here guesses what a secret looks
//! like. A value is found as it is, through every escape that `normal` knows, as base64 at any alignment, and
//! where it has several lines by each line of at least [`LINE_MIN`] bytes. Colours within it do not hide it. A value that is
//! split in another way, compressed or encrypted is not found.
//!
//! Which variables are secret: names that end in `_KEY`, `_TOKEN` or `_SECRET`, are exactly `KEY`,
//! `TOKEN` or `SECRET`, or hold `PASSWORD`, without regard to case; and those that the settings
//! name. A value of fewer than [`MIN_LEN`] bytes is left alone: it would eat ordinary text. So is a
//! value that is a part of our own mark (`redacted`).

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::sync::Arc;

use aho_corasick::{AhoCorasick, Input, MatchKind};

use crate::ansi::Shown;
use crate::normal::Normal;

/// So much is held back at most beside a value.
const HELD_MAX: usize = 64 * 1024;

/// So much is looked at at a time.
const PIECE: usize = 64 * 1024;

/// So much that is held back is looked at again with every piece.
const LOOKED_AT_AGAIN: usize = 1024;

/// Values of fewer bytes are not taken out.
pub const MIN_LEN: usize = 6;

/// Lines of fewer bytes are not taken out where the rest of their value is missing.
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
    /// The normal forms of the same, and of base64 of the values.
    normal: Search,
}

impl Redactor {
    /// Makes a redactor of named values. Where two names have the same value, the first one is shown.
    pub fn new<N, V>(secrets: impl IntoIterator<Item = (N, V)>) -> Self
    where
        N: AsRef<str>,
        V: AsRef<[u8]>,
    {
        let (mut plain, mut normal) = (Found::default(), Found::default());
        for (name, value) in secrets {
            let value = value.as_ref().trim_ascii();
            if value.len() < MIN_LEN {
                continue;
            }
            let mark = format!("[redacted:{}]", name.as_ref()).into_bytes();
            for part in parts(value) {
                plain.add(part.to_vec(), &mark);
                normal.add(Normal::of_value(part), &mark);
            }
            if let Ok(text) = std::str::from_utf8(value) {
                // The normal form has one quotation mark where the value ends with one and JSON has another behind it.
                let quoted = serde_json::Value::from(text).to_string();
                plain.add(quoted.as_bytes()[1..quoted.len() - 1].to_vec(), &mark);
            }
            for form in base64_forms(value) {
                normal.add(Normal::of_value(&form), &mark);
            }
        }
        if plain.0.is_empty() && normal.0.is_empty() {
            return Self::default();
        }
        let patterns = Search::new(plain.0).zip(Search::new(normal.0));
        Self { patterns: patterns.map(|(plain, normal)| Arc::new(Patterns { plain, normal })) }
    }

    /// Makes a redactor of the variables whose names say that they are secret, and of those in `extra_names`.
    pub fn from_environment(
        vars: impl IntoIterator<Item = (OsString, OsString)>,
        extra_names: &[String],
    ) -> Self {
        Self::new(secrets(vars, extra_names))
    }

    /// Returns the bytes without secret values, and how many were replaced.
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

    /// Returns the text without secret values, and how many were replaced.
    pub fn redact_text<'a>(&self, text: &'a str) -> (Cow<'a, str>, u32) {
        match self.redact_bytes(text.as_bytes()) {
            (Cow::Borrowed(_), count) => (Cow::Borrowed(text), count),
            (Cow::Owned(bytes), count) => (Cow::Owned(String::from_utf8_lossy(&bytes).into_owned()), count),
        }
    }

    /// Begins a text that comes in pieces.
    pub fn stream(&self) -> Stream {
        Stream { patterns: self.patterns.clone(), held: Vec::new(), seen: 0, count: 0 }
    }
}

/// Prefix of the name of a variable that is not secret.
pub const NOT_SECRET: &str = "!";

/// Returns the variables whose names say that they are secret, and those in `extra_names`; there, `!NAME` is one that is
/// not secret although its name says so.
pub fn secrets(
    vars: impl IntoIterator<Item = (OsString, OsString)>,
    extra_names: &[String],
) -> BTreeMap<String, Vec<u8>> {
    let secret = vars.into_iter().filter_map(|(name, value)| {
        let name = name.to_string_lossy().into_owned();
        let named = |prefix: &str| {
            let mut names = extra_names.iter().filter_map(|extra| extra.strip_prefix(prefix));
            names.any(|extra| extra.eq_ignore_ascii_case(&name))
        };
        let wanted = (is_secret_name(&name) || named("")) && !named(NOT_SECRET);
        wanted.then(|| (name, bytes_of(&value).to_vec()))
    });
    secret.collect()
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
    /// How much of that was looked at.
    seen: usize,
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
            // Much that is held is not looked at again for each byte that follows.
            if held.len() > LOOKED_AT_AGAIN && held.len() - self.seen < self.seen / 4 {
                self.held = held;
                return;
            }
            let kept = self.scan(&patterns, &held, clean, End::Open);
            held.drain(..kept);
            self.held = held;
        }
        self.seen = self.held.len();
        // No value has so many colours in it, or is escaped so often.
        if self.held.len() > patterns.normal.longest.max(patterns.plain.longest) + HELD_MAX {
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
        let is_over = end == End::Over;
        let shown = Shown::of(text, is_over);
        let normal = Normal::of(&shown.text, is_over);
        // What begins before `certain` cannot become longer by what is still to come.
        let certain_from = |at| {
            if is_over {
                return shown.text.len();
            }
            let in_normal = patterns.normal.hold_from(&normal.text, normal.from(at));
            // A cut within an escape would be read otherwise.
            let in_plain = normal.whole(patterns.plain.hold_from(&shown.text, at)).max(at);
            in_plain.min(normal.place(in_normal))
        };
        let next_plain = |at| patterns.plain.find(&shown.text, at);
        let next_normal = |at| {
            let (start, end, mark) = patterns.normal.find(&normal.text, normal.from(at))?;
            Some((normal.place(start), normal.place(end), mark))
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
                let kept = shown.place(certain).max(from);
                clean.extend_from_slice(&text[from..kept]);
                return kept;
            };
            clean.extend_from_slice(&text[from..shown.place(start)]);
            clean.extend_from_slice(mark);
            self.count = self.count.saturating_add(1);
            at = end;
            from = shown.place(at - 1) + 1;
            if at > certain {
                certain = certain_from(at);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Open,
    Over,
}

/// Texts to search for, each with its mark.
#[derive(Default)]
struct Found(BTreeMap<Vec<u8>, Vec<u8>>);

impl Found {
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
    /// Sorted.
    texts: Vec<Vec<u8>>,
    marks: Vec<Vec<u8>>,
    /// Whether some text begins with this byte.
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
        // Building fails only beyond two thousand million bytes of values.
        let search = AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&texts).ok()?;
        Some(Self { search, texts, marks, first, longest })
    }

    /// Returns the first match from `at` on: its start, its end and its mark.
    fn find(&self, text: &[u8], at: usize) -> Option<(usize, usize, &[u8])> {
        let found = self.search.find(Input::new(text).range(at..))?;
        Some((found.start(), found.end(), &self.marks[found.pattern().as_usize()]))
    }

    /// Returns where, from `at` on, what may be the beginning of a text runs into the end.
    fn hold_from(&self, text: &[u8], at: usize) -> usize {
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

/// Returns the value, and the lines of one that has several.
fn parts(value: &[u8]) -> BTreeSet<&[u8]> {
    let lines = value.split(|byte| matches!(byte, b'\n' | b'\r')).map(<[u8]>::trim_ascii);
    lines.filter(|line| line.len() >= LINE_MIN).chain([value]).collect()
}

/// Returns the part of base64 that is the same whatever is before and behind the value, for each place that the value may
/// have in a group, and the lines of base64 that is wrapped as tools do it.
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
            // A character that holds a bit of what is before or behind is left out.
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

/// Returns six bits of a text, as a number.
fn sextet(bytes: &[u8], at: usize) -> usize {
    let (byte, shift) = (at * 6 / 8, at * 6 % 8);
    let pair = usize::from(bytes[byte]) << 8 | bytes.get(byte + 1).map_or(0, |next| usize::from(*next));
    pair >> (10 - shift) & 0x3f
}

fn holds(text: &[u8], part: &[u8]) -> bool {
    text.windows(part.len()).any(|window| window == part)
}

fn bytes_of(text: &OsStr) -> &[u8] {
    text.as_encoded_bytes()
}
