//! Removes terminal escape sequences from text.
//!
//! A tool that colors its matches puts escape sequences in the middle of words. A search for a word has to ignore them,
//! both in plain text and in JSON, where the first character of each sequence is escaped.

use std::borrow::Cow;
use std::sync::LazyLock;

use aho_corasick::AhoCorasick;

/// Starts of a sequence, and whether each starts a control sequence.
const BEGINNINGS: [(&[u8], bool); 6] = [
    (b"\x1b", false),
    (b"\xc2\x9b", true),
    (b"\\u001b", false),
    (b"\\u001B", false),
    (b"\\u009b", true),
    (b"\\u009B", true),
];

/// Maximum parameter bytes of a control sequence.
const CONTROL_MAX: usize = 64;
/// Maximum bytes of a string, such as the address of a link.
const STRING_MAX: usize = 4096;

/// A text without its escape sequences.
pub(crate) struct VisibleText<'t> {
    /// The visible text.
    pub(crate) text: Cow<'t, [u8]>,
    /// Start of the rest that may be an incomplete sequence, as an offset in the original.
    pub(crate) open_from: usize,
    /// Offsets in the visible text, each with the number of bytes that were removed before it.
    shifts: Vec<(usize, usize)>,
}

impl<'t> VisibleText<'t> {
    /// Removes the sequences of a text. If it `is_over`, nothing follows, so an incomplete sequence is visible text.
    pub(crate) fn new(text: &'t [u8], is_over: bool) -> Self {
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
            match sequence_len(&text[found.end()..], BEGINNINGS[found.pattern().as_usize()].1) {
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
        let begun = || if is_over { text.len() } else { partial_start(text, next) };
        let open_from = open_from.unwrap_or_else(begun);
        Self::cut(text, &cuts, open_from)
    }

    fn cut(text: &'t [u8], cuts: &[(usize, usize)], open_from: usize) -> Self {
        if cuts.is_empty() {
            return Self { text: Cow::Borrowed(&text[..open_from]), open_from, shifts: Vec::new() };
        }
        let mut visible = Vec::with_capacity(open_from);
        let mut shifts = Vec::with_capacity(cuts.len());
        let mut from = 0;
        for (start, end) in cuts {
            visible.extend_from_slice(&text[from..*start]);
            shifts.push((visible.len(), end - visible.len()));
            from = *end;
        }
        visible.extend_from_slice(&text[from..open_from]);
        Self { text: Cow::Owned(visible), open_from, shifts }
    }

    /// Returns the offset in the original of a byte of the visible text; for its end, the start of the open rest.
    pub(crate) fn original_offset(&self, at: usize) -> usize {
        if at == self.text.len() {
            return self.open_from;
        }
        let behind = self.shifts.partition_point(|(from, _)| *from <= at);
        at + behind.checked_sub(1).map_or(0, |last| self.shifts[last].1)
    }
}

/// Returns where, at `next` or later, a text ends with an incomplete start of a sequence.
fn partial_start(text: &[u8], next: usize) -> usize {
    let begins = |at: &usize| {
        let rest = &text[*at..];
        BEGINNINGS.iter().any(|(beginning, _)| beginning.len() > rest.len() && beginning.starts_with(rest))
    };
    let longest = BEGINNINGS.iter().map(|(beginning, _)| beginning.len()).max().unwrap_or(0);
    (next.max(text.len().saturating_sub(longest))..text.len()).find(begins).unwrap_or(text.len())
}

/// Returns the length of the rest of a sequence; `None` if it is incomplete.
fn sequence_len(rest: &[u8], is_control: bool) -> Option<usize> {
    match rest.first()? {
        _ if is_control => control_len(rest),
        b'[' => control_len(&rest[1..]).map(|len| len + 1),
        b']' | b'P' | b'^' | b'_' => string_len(rest),
        0x20..=0x2f => rest.get(1).map(|last| if (0x30..=0x7e).contains(last) { 2 } else { 1 }),
        0x30..=0x7e => Some(1),
        _ => Some(0),
    }
}

/// Returns the length of the parameters of a control sequence and its last byte.
fn control_len(rest: &[u8]) -> Option<usize> {
    let parameters = rest.iter().take_while(|byte| (0x20..=0x3f).contains(*byte)).count();
    if parameters > CONTROL_MAX {
        return Some(0);
    }
    rest.get(parameters).map(|last| parameters + usize::from((0x40..=0x7e).contains(last)))
}

/// Returns the length of a string with its terminator. The end of the line ends it, too.
fn string_len(rest: &[u8]) -> Option<usize> {
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
    fn visible_text_and_its_offsets_are_found() {
        for (text, visible, open_from) in [
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
            let parsed = VisibleText::new(text, false);
            assert_eq!((&*parsed.text, parsed.open_from), (visible, open_from), "{}", text.escape_ascii());
            for (at, byte) in visible.iter().enumerate() {
                assert_eq!(text[parsed.original_offset(at)], *byte, "{} {at}", text.escape_ascii());
            }
            assert_eq!(parsed.original_offset(visible.len()), open_from);
            assert_eq!(VisibleText::new(text, true).open_from, text.len());
        }
    }

    #[test]
    fn endless_sequence_is_visible() {
        for (beginning, more) in [(&b"\x1b["[..], b'3'), (b"\x1b]", b'x')] {
            let text = [beginning, &vec![more; 2 * STRING_MAX]].concat();
            assert!(VisibleText::new(&text, false).text.len() >= 2 * STRING_MAX);
        }
    }
}
