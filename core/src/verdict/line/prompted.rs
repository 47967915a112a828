//! Knows what stood in the prompt, and behind what.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::echo::Echo;
use crate::verdict::json;
use crate::verdict::line_of;
use crate::verdict::text::{Line, lines, tail};

/// Lines that are looked at around an object, so that many objects do not cost a square of the text.
const LINES_MAX: usize = 16;

/// Knows what stood in the prompt, and behind what.
///
/// An echo is a repeated place, not a repeated word: a prompt that names the words must not make a worker
/// complete that only repeats it, and must not keep one from answering with such a word either. Decoration
/// does not count: only letters and digits are compared, and what programs put before the lines that they show is
/// left out. Nor does a prompt that quotes what the worker said last time keep it from ending in the same words: of
/// those, [`Echo`] tells a quotation from the same answer again.
#[derive(Default)]
pub(crate) struct Prompted {
    asked: Places,
    own: Places,
    quotation: Echo,
}

impl Prompted {
    /// Reads the prompt, if there is one, and what in there are the worker's own words.
    pub(crate) fn new(prompt: Option<&str>, own: &str) -> Self {
        let Some(prompt) = prompt else { return Self::default() };
        let own_places = if own.is_empty() { Places::default() } else { Places::of(own) };
        Self { asked: Places::of(prompt), own: own_places, quotation: Echo::of(prompt, own) }
    }

    /// Tells whether the line at this offset of a text stood in the prompt behind the same line.
    pub(crate) fn has_line(&self, text: &str, before: &str, start: usize, line: &str) -> bool {
        if self.asked.lines.is_empty() {
            return false;
        }
        let place = (bare(before), bare(line));
        if self.own.lines.contains(&place) {
            return self.asked.lines.contains(&place) && self.quotation.repeats(text, start, line);
        }
        self.asked.lines.contains(&place)
            || self.asked.lines.contains(&(bare(unmarked(before)), bare(unmarked(line))))
    }

    /// Tells whether an object stood in the prompt behind the same words, or stands behind nothing but the mark of a
    /// program that shows it.
    pub(crate) fn has_object(&self, text: &str, split: &[Line<'_>], span: Range<usize>) -> bool {
        let literal = bare(&text[span.clone()]);
        let Some(asked) = self.asked.objects.get(&literal) else { return false };
        let before = said_before(text, split, span.start);
        if self.own.objects.get(&literal).is_some_and(|own| own.contains(&before)) {
            return asked.contains(&before) && self.quotation.repeats(text, span.start, &text[span]);
        }
        asked.contains(&before) || is_shown(text, split, span.start, asked)
    }
}

/// What stands in a text, and behind what.
#[derive(Default)]
struct Places {
    lines: BTreeSet<(String, String)>,
    /// Objects, with all that they stand behind.
    objects: BTreeMap<String, BTreeSet<String>>,
}

impl Places {
    fn of(text: &str) -> Self {
        let split = lines(text);
        let mut before = String::new();
        let mut pairs = BTreeSet::new();
        for line in split.iter().map(|line| bare(line.text)).filter(|line| !line.is_empty()) {
            pairs.insert((before, line.clone()));
            before = line;
        }
        let found = json::find(text);
        let mut objects: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for span in found.objects.iter().map(|object| &object.span).chain(&found.broken) {
            let before = said_before(text, &split, span.start);
            objects.entry(bare(&text[span.clone()])).or_default().insert(before);
        }
        Self { lines: pairs, objects }
    }
}

/// Letters and digits, in lower case.
fn bare(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// What stands before an object: on its line, else on the last line before that says something.
fn said_before(text: &str, split: &[Line<'_>], start: usize) -> String {
    let number = line_of(split, start);
    let own = on_its_line(text, split, start);
    let earlier = split[..number.min(split.len())].iter().rev().take(LINES_MAX).map(|line| tail(line.text));
    std::iter::once(own).chain(earlier).map(bare).find(|line| !line.is_empty()).unwrap_or_default()
}

/// What stands before an object on its line.
fn on_its_line<'a>(text: &'a str, split: &[Line<'a>], start: usize) -> &'a str {
    split.get(line_of(split, start)).map_or("", |line| tail(&text[line.start.min(start)..start]))
}

/// Says whether a line shows what was asked behind a mark: `     1\t{...}`, `[12:00:00] Answer: {...}`.
fn is_shown(text: &str, split: &[Line<'_>], start: usize, asked: &BTreeSet<String>) -> bool {
    let own = on_its_line(text, split, start);
    let number = line_of(split, start);
    let around = || {
        let (above, below) = split.split_at(number.min(split.len()));
        above.iter().rev().take(LINES_MAX).chain(below.iter().skip(1).take(LINES_MAX))
    };
    let is_shared = |mark: &str| {
        let mark = form(mark.trim());
        mark.ends_with(|c: char| !c.is_alphanumeric())
            && around().any(|line| form(tail(line.text.trim())).starts_with(&mark))
    };
    marks(own).any(|(mark, rest)| {
        let rest = bare(rest);
        (rest.is_empty() || asked.contains(&rest)) && (is_mark(mark) || is_shared(mark))
    })
}

/// What a mark has in common with those of other lines: all but its figures.
fn form(text: &str) -> String {
    let mut form = String::new();
    for c in text.chars() {
        match c {
            '0'..='9' if form.ends_with('0') => {}
            '0'..='9' => form.push('0'),
            c => form.push(c),
        }
    }
    form
}

/// Takes off what programs put before the lines that they show.
fn unmarked(line: &str) -> &str {
    marks(line).filter(|(mark, _)| is_mark(mark)).last().map_or(line, |(_, rest)| rest)
}

/// Splits what may be a mark off the front of a line, the shortest first.
fn marks(line: &str) -> impl Iterator<Item = (&str, &str)> {
    const PIECES_MAX: usize = 10;
    let ends = |c: char| c.is_whitespace() || matches!(c, ':' | '=' | '>' | '|' | ']' | ')' | '→' | '-');
    let first = line.find(char::is_alphanumeric).unwrap_or(line.len());
    let cuts = line[first..].char_indices().filter(move |(_, c)| ends(*c));
    let cuts = cuts.map(move |(at, c)| first + at + c.len_utf8()).take(PIECES_MAX);
    cuts.chain([line.len()]).filter(move |at| *at > first).map(|at| line.split_at(at))
}

/// `     1\t`, `[12:00:00 INFO]`, `src/a.md:3:`, `prompt>`: says nothing, but where and when a line stands.
fn is_mark(mark: &str) -> bool {
    const PROMPTS: &[char] = &['>', '|', '│', '❯', '»', '$', '%', '→'];
    const WORDS: &[&str] = &[
        "trace", "debug", "info", "log", "warn", "warning", "error", "stdout", "stderr", "line", "am", "pm",
        "utc", "prompt", "user", "system", "human", "data", "input", "in", "message", "msg", "cat", "of",
        "the", "mon", "tue", "wed", "thu", "fri", "sat", "sun", "jan", "feb", "mar", "apr", "may", "jun",
        "jul", "aug", "sep", "oct", "nov", "dec",
    ];
    let core = mark.trim();
    let is_prompt = core.ends_with(PROMPTS) && !core.starts_with('|') && !core.contains([' ', '\t']);
    if is_prompt && !core.ends_with("->") && !core.ends_with("=>") {
        return true;
    }
    let is_place = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
        let is_figure = word.trim_start_matches('l').starts_with(|c: char| c.is_ascii_digit());
        let is_file = word.contains(['.', '/']);
        word.len() < 2 || is_figure || is_file || WORDS.contains(&word.as_str())
    };
    unbracketed(core).split(|c: char| c.is_whitespace() || matches!(c, ':' | '=')).all(is_place)
}

/// A text without what stands in brackets.
fn unbracketed(text: &str) -> String {
    let mut depth = 0_usize;
    let mut out = String::new();
    for c in text.chars() {
        match c {
            '[' | '(' | '<' => depth += 1,
            ']' | ')' | '>' => depth = depth.saturating_sub(1),
            c if depth == 0 => out.push(c),
            _ => {}
        }
    }
    out
}
