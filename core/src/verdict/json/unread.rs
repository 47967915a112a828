//! Looks into what begins like a verdict in JSON and cannot be read: quotation marks that are not escaped, an
//! object that is cut off.
//!
//! It decides nothing. But a COMPLETE beside it is not believed where it says something else of this very check.

use std::ops::Range;

use super::object::{ID_KEYS, STRONG_KEYS, WORD_KEYS};
use crate::verdict::check_id::{self, CheckIdMatch};
use crate::verdict::json::Found;
use crate::verdict::text;
use crate::verdict::words::{self, Word};

/// So much of a value is looked at, so that many keys without an end of their values do not cost a square.
const VALUE_CHARS_MAX: usize = 200;

/// A stretch of text that begins like an object and is none.
struct Stretch<'a> {
    text: &'a str,
    start: usize,
    /// It never ends.
    is_cut: bool,
}

/// Finds the last stretch from `from` on that says of this check that it is not complete, or something that nobody
/// knows; returns how it reads in a sentence. `is_echo` tells which stood in the prompt.
pub(in crate::verdict) fn objection(
    text: &str,
    found: &Found,
    from: usize,
    expected: Option<&str>,
    is_echo: impl Fn(Range<usize>) -> bool,
) -> Option<String> {
    let objects = |stretch: &Stretch<'_>| objects(stretch, expected);
    let stretches = stretches(text, found).into_iter().rev().take_while(|it| it.start >= from);
    let mut objecting = stretches.filter(objects);
    let stretch = objecting.find(|it| !is_echo(it.start..it.start + it.text.len()))?;
    Some(format!("unreadable JSON \"{}\"", text::quote(stretch.text)))
}

/// Cuts the stretches out, in order. One that never ends goes to where the next object may begin.
fn stretches<'a>(text: &'a str, found: &Found) -> Vec<Stretch<'a>> {
    let broken = found.broken.iter().map(|span| (span.start, Some(span.end)));
    let mut spans: Vec<_> = broken.chain(found.cut.iter().map(|start| (*start, None))).collect();
    spans.sort_unstable_by_key(|(start, _)| *start);
    let mut starts: Vec<usize> = spans.iter().map(|(start, _)| *start).collect();
    starts.extend(found.objects.iter().map(|object| object.span.start));
    starts.sort_unstable();
    let stretch = |(start, end): (usize, Option<usize>)| {
        let next = starts.get(starts.partition_point(|it| *it <= start)).copied().unwrap_or(text.len());
        Stretch { text: &text[start..end.unwrap_or(next)], start, is_cut: end.is_none() }
    };
    spans.into_iter().map(stretch).collect()
}

/// Says whether a stretch speaks against COMPLETE. Without the id of this check it does so only where it is cut off,
/// for the id may have been in what is not there, or where no id was asked for.
fn objects(stretch: &Stretch<'_>, expected: Option<&str>) -> bool {
    let is_ours = expected.map(|expected| is_of(stretch, expected));
    let keys = match is_ours {
        Some(Some(false)) => return false,
        Some(None) if !stretch.is_cut => return false,
        Some(Some(true)) => WORD_KEYS,
        Some(None) | None => STRONG_KEYS,
    };
    let said = keys.iter().flat_map(|key| values(stretch.text, key));
    let is_surely_ours = is_ours == Some(Some(true));
    let denies = |value: &str| match words::read_value(value) {
        Word::Complete => false,
        Word::Unknown => is_surely_ours || (is_cut_off(stretch, value) && !words::begins_complete(value)),
        _ => true,
    };
    said.into_iter().any(denies) || ends_in_key(stretch)
}

/// Says whether a value of a stretch ends where the text does.
fn is_cut_off(stretch: &Stretch<'_>, value: &str) -> bool {
    stretch.is_cut && stretch.text.trim_end().ends_with(value.trim_end())
}

/// `{"decision`, `{"decision":`: what it was to say is not there.
fn ends_in_key(stretch: &Stretch<'_>) -> bool {
    let inner = stretch.text.trim_start_matches('{').trim();
    let key = inner.strip_prefix(['"', '\'']).unwrap_or_default().to_ascii_lowercase();
    let core = key.trim_end_matches([':', ' ', '"', '\'']);
    stretch.is_cut && !core.is_empty() && STRONG_KEYS.iter().any(|name| name.starts_with(core))
}

/// Says whose check a stretch is; `None` where it does not tell.
fn is_of(stretch: &Stretch<'_>, expected: &str) -> Option<bool> {
    let mut of_another = None;
    for got in ID_KEYS.iter().flat_map(|key| values(stretch.text, key)) {
        let is_cut_off = stretch.is_cut && stretch.text.ends_with(got) && expected.starts_with(got);
        match check_id::compare(got, expected) {
            CheckIdMatch::Match => return Some(true),
            CheckIdMatch::Mismatch { .. } if is_cut_off => return Some(true),
            CheckIdMatch::Mismatch { .. } => of_another = Some(false),
            CheckIdMatch::Absent | CheckIdMatch::Placeholder => {}
        }
    }
    of_another
}

/// Returns what stands behind a key and a colon: up to the quotation mark that ends it, else up to what ends a value.
fn values<'a>(stretch: &'a str, key: &'a str) -> impl Iterator<Item = &'a str> {
    let is_quote = |c: char| matches!(c, '"' | '\'' | '“' | '”' | '‘' | '’' | '`');
    let keys = stretch.as_bytes().windows(key.len()).enumerate();
    let ends = keys
        .filter(|(_, bytes)| bytes.eq_ignore_ascii_case(key.as_bytes()))
        .map(|(at, _)| (at, at + key.len()));
    ends.filter_map(move |(start, end)| {
        let joins = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
        if stretch.get(..start)?.ends_with(joins) {
            return None;
        }
        let rest = stretch.get(end..)?.trim_start_matches(|c: char| is_quote(c) || c == '\\').trim_start();
        let value = rest.strip_prefix(':')?.trim_start().trim_start_matches('\\');
        let (value, quoted) = value.strip_prefix(is_quote).map_or((value, false), |value| (value, true));
        let ends = |c: char| if quoted { is_quote(c) || c == '\n' } else { matches!(c, ',' | '}' | '\n') };
        let value = text::head(value, VALUE_CHARS_MAX);
        Some(value[..value.find(ends).unwrap_or(value.len())].trim_end_matches('\\'))
    })
}
