//! Escape sequences of terminals: what is in a text and is not shown.
//!
//! A tool that colours what it found puts them into the middle of words. So whoever looks for a word has to look through
//! them, in the text itself and in JSON, where the first character of each is escaped.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// How a sequence begins, and whether it does so as a control sequence.
const BEGINNINGS: [(&[u8], bool); 6] = [
    (b"\x1b", false),
    (b"\xc2\x9b", true),
    (b"\\u001b", false),
    (b"\\u001B", false),
    (b"\\u009b", true),
    (b"\\u009B", true),
];

/// No sequence is longer, but for the address of a link.
const CONTROL_MAX: usize = 64;
/// No address of a link is longer.
const STRING_MAX: usize = 4096;

/// A text as it is shown.
pub(crate) struct Shown<'t> {
    /// The text without what is not shown.
    pub(crate) text: Cow<'t, [u8]>,
    /// Where the rest begins of which it is not known yet whether it is shown.
    pub(crate) open_from: usize,
    /// From which byte on, of those that are shown, each is so much further back in the text.
    shifts: Vec<(usize, usize)>,
}

impl<'t> Shown<'t> {
    /// Looks through a text; `is_over` says that nothing follows, so that what is not finished is shown.
    pub(crate) fn of(text: &'t [u8], is_over: bool) -> Self {
        static SEARCH: LazyLock<AhoCorasick> = LazyLock::new(|| {
            AhoCorasick::new(BEGINNINGS.map(|(beginning, _)| beginning)).expect("there are few")
        });
        let mut cuts = Vec::new();
        let mut open_from = None;
        let mut next = 0;
        for found in SEARCH.find_iter(text) {
            if found.start() < next {
                continue;
            }
            match end(&text[found.end()..], BEGINNINGS[found.pattern().as_usize()].1) {
                Some(len) => {
                    next = found.end() + len;
                    cuts.push((found.start(), next));
                }
                None if is_over => {}
                None => {
                    open_from = Some(found.start());
                    break;
                }
            }
        }
        let begun = || if is_over { text.len() } else { begun_at_end(text, next) };
        let open_from = open_from.unwrap_or_else(begun);
        Self::without(text, &cuts, open_from)
    }

    fn without(text: &'t [u8], cuts: &[(usize, usize)], open_from: usize) -> Self {
        if cuts.is_empty() {
            return Self { text: Cow::Borrowed(&text[..open_from]), open_from, shifts: Vec::new() };
        }
        let mut shown = Vec::with_capacity(open_from);
        let mut shifts = Vec::with_capacity(cuts.len());
        let mut from = 0;
        for (start, end) in cuts {
            shown.extend_from_slice(&text[from..*start]);
            shifts.push((shown.len(), end - shown.len()));
            from = *end;
        }
        shown.extend_from_slice(&text[from..open_from]);
        Self { text: Cow::Owned(shown), open_from, shifts }
    }

    /// Returns where a byte that is shown stands in the text, or behind the last one where the open rest begins.
    pub(crate) fn place(&self, at: usize) -> usize {
        if at == self.text.len() {
            return self.open_from;
        }
        let behind = self.shifts.partition_point(|(from, _)| *from <= at);
        at + behind.checked_sub(1).map_or(0, |last| self.shifts[last].1)
    }
}

/// Returns where, from `next` on, the beginning of a sequence runs into the end of a text.
fn begun_at_end(text: &[u8], next: usize) -> usize {
    let begins = |at: &usize| {
        let rest = &text[*at..];
        BEGINNINGS.iter().any(|(beginning, _)| beginning.len() > rest.len() && beginning.starts_with(rest))
    };
    let longest = BEGINNINGS.iter().map(|(beginning, _)| beginning.len()).max().unwrap_or(0);
    (next.max(text.len().saturating_sub(longest))..text.len()).find(begins).unwrap_or(text.len())
}

/// Returns how long the rest of a sequence is; `None` if its end is still to come.
fn end(rest: &[u8], is_control: bool) -> Option<usize> {
    match rest.first()? {
        _ if is_control => control(rest),
        b'[' => control(&rest[1..]).map(|len| len + 1),
        b']' | b'P' | b'^' | b'_' => string(rest),
        0x20..=0x2f => rest.get(1).map(|last| if (0x30..=0x7e).contains(last) { 2 } else { 1 }),
        0x30..=0x7e => Some(1),
        _ => Some(0),
    }
}

/// Returns how long the parameters of a control sequence and its last byte are.
fn control(rest: &[u8]) -> Option<usize> {
    let parameters = rest.iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
    if parameters > CONTROL_MAX {
        return Some(0);
    }
    rest.get(parameters).map(|last| parameters + usize::from((0x40..=0x7e).contains(last)))
}

/// Returns how long a string is up to its end, which that of the line is as well.
fn string(rest: &[u8]) -> Option<usize> {
    let within = &rest[..rest.len().min(STRING_MAX)];
    match within.iter().position(|byte| matches!(byte, 0x07 | 0x1b | b'\n' | b'\r')) {
        Some(at) if rest[at] == 0x07 => Some(at + 1),
        Some(at) if rest[at] == 0x1b => rest.get(at + 1).map(|next| at + 1 + usize::from(*next == b'\\')),
        Some(at) => Some(at),
        None if within.len() == STRING_MAX => Some(0),
        None => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_of_a_text_is_known_and_where_it_stands() {
        for (text, shown, open_from) in [
            (&b"plain"[..], &b"plain"[..], 5),
            (b"a\x1b[01;31m\x1b[Kb\x1b[m\x1b[Kc", b"abc", 20),
            (b"a\xc2\x9b1mb", b"ab", 6),
            (b"a\\u001b[1mb\\u009B0mc", b"abc", 20),
            (b"\x1b]8;;http://x\x07a\x1b]8;;\x1b\\b", b"ab", 23),
            (b"\x1b]0;title\nb", b"\nb", 11),
            (b"a\x1b(Bb\x1b7c", b"abc", 8),
            (b"a\x1b", b"a", 1),
            (b"a\x1b[3", b"a", 1),
            (b"a\\u00", b"a", 1),
            (b"a\xc2", b"a", 1),
            (b"a\x1b]0;b", b"a", 1),
            (b"\\n\\u0041", b"\\n\\u0041", 8),
        ] {
            let seen = Shown::of(text, false);
            assert_eq!((&*seen.text, seen.open_from), (shown, open_from), "{}", text.escape_ascii());
            for (at, byte) in shown.iter().enumerate() {
                assert_eq!(text[seen.place(at)], *byte, "{} {at}", text.escape_ascii());
            }
            assert_eq!(seen.place(shown.len()), open_from);
            assert_eq!(Shown::of(text, true).open_from, text.len());
        }
    }

    #[test]
    fn what_never_ends_is_shown() {
        for (beginning, more) in [(&b"\x1b["[..], b'3'), (b"\x1b]", b'x')] {
            let text = [beginning, &vec![more; 2 * STRING_MAX]].concat();
            assert!(Shown::of(&text, false).text.len() >= 2 * STRING_MAX);
        }
    }
}
