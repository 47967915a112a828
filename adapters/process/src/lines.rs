//! Splits output into lines for display: without control characters and terminal sequences, of limited length.

/// Splits bytes that arrive in pieces into lines. Memory is limited by the longest displayed line.
#[derive(Debug)]
pub struct DisplayLines {
    chars_max: usize,
    line: Vec<u8>,
    cut: bool,
    inside: SequenceState,
}

/// Position of the next byte in a terminal sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SequenceState {
    Text,
    /// After ESC.
    Escape,
    /// After `ESC [`, until a final byte.
    Control,
    /// After `ESC ]` or a similar start, until BEL or `ESC \`.
    String,
    /// After ESC in such a string.
    StringEscape,
    /// After `ESC (` or a similar start: one more byte.
    One,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

impl Default for DisplayLines {
    fn default() -> Self {
        Self::new(Self::CHARS_MAX)
    }
}

impl DisplayLines {
    /// Default maximum characters of a line.
    pub const CHARS_MAX: usize = 400;

    /// Starts a text whose lines are cut after `chars_max` characters.
    pub fn new(chars_max: usize) -> Self {
        Self { chars_max, line: Vec::new(), cut: false, inside: SequenceState::Text }
    }

    /// Takes the next piece and gives each line that is complete to `show`, unless it is blank.
    /// A carriage return ends a line too.
    pub fn push(&mut self, mut piece: &[u8], mut show: impl FnMut(&str)) {
        while let Some(at) = memchr::memchr2(b'\n', b'\r', piece) {
            match self.unchanged_line(&piece[..at]) {
                Some(line) => show(line),
                None => {
                    self.push_part(&piece[..at]);
                    self.end(&mut show);
                }
            }
            piece = &piece[at + 1..];
        }
        self.push_part(piece);
    }

    /// Gives the rest of the last line to `show`.
    pub fn end(&mut self, mut show: impl FnMut(&str)) {
        let text = String::from_utf8_lossy(&self.line);
        let mut chars =
            text.chars().map(|char| if char == '\t' { ' ' } else { char }).filter(|char| !char.is_control());
        let mut line: String = chars.by_ref().take(self.chars_max).collect();
        if self.cut || chars.next().is_some() {
            line.pop();
            line.push('…');
        }
        if !line.trim().is_empty() {
            show(line.trim_end());
        }
        self.line.clear();
        self.cut = false;
        self.inside = SequenceState::Text;
    }

    /// Returns the line if it needs no change, as nearly all do.
    fn unchanged_line<'a>(&self, line: &'a [u8]) -> Option<&'a str> {
        let is_new = self.line.is_empty() && !self.cut && self.inside == SequenceState::Text;
        let is_plain = |line: &[u8]| {
            line.iter().all(|byte| (b' '..=b'~').contains(byte))
                && line.last().is_some_and(|&last| last != b' ')
        };
        (is_new && line.len() <= self.chars_max && is_plain(line)).then(|| std::str::from_utf8(line).ok())?
    }

    fn push_part(&mut self, part: &[u8]) {
        let full = self.chars_max.saturating_mul(4);
        for (at, &byte) in part.iter().enumerate() {
            if self.line.len() >= full && self.inside == SequenceState::Text {
                // The rest of this line is not displayed.
                self.cut |= part[at..].iter().any(|&byte| byte >= b' ');
                return;
            }
            self.byte(byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        self.inside = match (self.inside, byte) {
            (SequenceState::Text, ESC) => SequenceState::Escape,
            (SequenceState::Text, _) => return self.push_visible(byte),
            (SequenceState::Escape, b'[') => SequenceState::Control,
            (SequenceState::Escape, b']' | b'P' | b'X' | b'^' | b'_') => SequenceState::String,
            (SequenceState::Escape, b'('..=b'/' | b'#' | b'%' | b' ') => SequenceState::One,
            (SequenceState::Escape | SequenceState::Control | SequenceState::StringEscape, ESC) => {
                SequenceState::Escape
            }
            (SequenceState::Control, 0x40..=0x7e) | (SequenceState::String, BEL) => SequenceState::Text,
            (SequenceState::Control, _) => SequenceState::Control,
            (SequenceState::String, ESC) => SequenceState::StringEscape,
            (SequenceState::String, _) => SequenceState::String,
            (SequenceState::Escape | SequenceState::One | SequenceState::StringEscape, _) => {
                SequenceState::Text
            }
        };
    }

    fn push_visible(&mut self, byte: u8) {
        if !byte.is_ascii_control() || byte == b'\t' {
            self.line.push(byte);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, input: &[u8], expected: &[&str]) {
        for size in [1, usize::MAX] {
            let mut seen = Vec::new();
            let mut lines = DisplayLines::new(10);
            for piece in input.chunks(size) {
                lines.push(piece, |line| seen.push(line.to_owned()));
            }
            lines.end(|line| seen.push(line.to_owned()));
            assert_eq!(seen, expected, "{name}");
        }
    }

    #[test]
    fn control_characters_and_sequences_are_removed() {
        check("plain lines", b"one\ntwo\nthree", &["one", "two", "three"]);
        check("a carriage return ends a line", b"10%\r20%\r\n", &["10%", "20%"]);
        check("blank lines are left out", b"\n  \n\t\nx\n", &["x"]);
        check("colors", b"\x1b[1;31mred\x1b[0m", &["red"]);
        check("a title ended by BEL", b"\x1b]0;title\x07text", &["text"]);
        check("a link ended by ESC \\", b"\x1b]8;;http://x\x1b\\text\x1b]8;;\x1b\\", &["text"]);
        check("character set", b"\x1b(Btext", &["text"]);
        check("an unfinished sequence ends with its line", b"\x1b]0;never\ntext", &["text"]);
        check("control characters", b"a\0b\x07c\x08\x7f", &["abc"]);
        check("control characters beyond ASCII", "a\u{9b}31mb".as_bytes(), &["a31mb"]);
        check("tabs become blanks", b"a\tb", &["a b"]);
        check("invalid UTF-8", b"a\xffb", &["a\u{fffd}b"]);
        check("exactly as long as allowed", b"0123456789", &["0123456789"]);
        check("a long line", b"0123456789ab", &["012345678…"]);
        check("a very long line", &[b'x'; 5000], &["xxxxxxxxx…"]);
        check("characters of several bytes", "ääääääääääää".as_bytes(), &["äääääääää…"]);
    }
}
