//! Cuts output into lines that can be shown: no control characters, no terminal sequences, no endless lines.

/// Cuts bytes that come in pieces into lines. Memory is bounded by the longest line that is shown.
#[derive(Debug)]
pub struct Lines {
    chars_max: usize,
    line: Vec<u8>,
    cut: bool,
    inside: Inside,
}

/// Where in a terminal sequence the next byte is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Inside {
    Text,
    /// After ESC.
    Escape,
    /// After ESC [: until a final byte.
    Control,
    /// After ESC ] or one of its kin: until BEL or ESC \.
    String,
    /// ESC in such a string.
    StringEscape,
    /// After ESC ( or one of its kin: one more byte.
    One,
}

const ESC: u8 = 0x1b;
const BEL: u8 = 0x07;

impl Default for Lines {
    fn default() -> Self {
        Self::new(Self::CHARS_MAX)
    }
}

impl Lines {
    /// Most characters of a line for people.
    pub const CHARS_MAX: usize = 400;

    /// Begins a text whose lines are cut after `chars_max` characters.
    pub fn new(chars_max: usize) -> Self {
        Self { chars_max, line: Vec::new(), cut: false, inside: Inside::Text }
    }

    /// Takes the next piece and gives each line that is complete to `show`, unless it is blank.
    /// A carriage return ends a line too.
    pub fn push(&mut self, mut piece: &[u8], mut show: impl FnMut(&str)) {
        while let Some(at) = memchr::memchr2(b'\n', b'\r', piece) {
            match self.as_it_is(&piece[..at]) {
                Some(line) => show(line),
                None => {
                    self.take(&piece[..at]);
                    self.end(&mut show);
                }
            }
            piece = &piece[at + 1..];
        }
        self.take(piece);
    }

    /// Gives what is left of the last line to `show`.
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
        self.inside = Inside::Text;
    }

    /// Returns a line that needs no change: nearly all of them.
    fn as_it_is<'a>(&self, line: &'a [u8]) -> Option<&'a str> {
        let is_new = self.line.is_empty() && !self.cut && self.inside == Inside::Text;
        let is_plain = |line: &[u8]| {
            line.iter().all(|byte| (b' '..=b'~').contains(byte))
                && line.last().is_some_and(|&last| last != b' ')
        };
        (is_new && line.len() <= self.chars_max && is_plain(line)).then(|| std::str::from_utf8(line).ok())?
    }

    fn take(&mut self, part: &[u8]) {
        let full = self.chars_max.saturating_mul(4);
        for (at, &byte) in part.iter().enumerate() {
            if self.line.len() >= full && self.inside == Inside::Text {
                // Nothing of the rest of this line is shown.
                self.cut |= part[at..].iter().any(|&byte| byte >= b' ');
                return;
            }
            self.byte(byte);
        }
    }

    fn byte(&mut self, byte: u8) {
        self.inside = match (self.inside, byte) {
            (Inside::Text, ESC) => Inside::Escape,
            (Inside::Text, _) => return self.keep(byte),
            (Inside::Escape, b'[') => Inside::Control,
            (Inside::Escape, b']' | b'P' | b'X' | b'^' | b'_') => Inside::String,
            (Inside::Escape, b'('..=b'/' | b'#' | b'%' | b' ') => Inside::One,
            (Inside::Escape | Inside::Control | Inside::StringEscape, ESC) => Inside::Escape,
            (Inside::Control, 0x40..=0x7e) | (Inside::String, BEL) => Inside::Text,
            (Inside::Control, _) => Inside::Control,
            (Inside::String, ESC) => Inside::StringEscape,
            (Inside::String, _) => Inside::String,
            (Inside::Escape | Inside::One | Inside::StringEscape, _) => Inside::Text,
        };
    }

    fn keep(&mut self, byte: u8) {
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
            let mut lines = Lines::new(10);
            for piece in input.chunks(size) {
                lines.push(piece, |line| seen.push(line.to_owned()));
            }
            lines.end(|line| seen.push(line.to_owned()));
            assert_eq!(seen, expected, "{name}");
        }
    }

    #[test]
    fn only_what_can_be_shown_is_left() {
        check("plain lines", b"one\ntwo\nthree", &["one", "two", "three"]);
        check("a carriage return ends a line", b"10%\r20%\r\n", &["10%", "20%"]);
        check("blank lines are left out", b"\n  \n\t\nx\n", &["x"]);
        check("colours", b"\x1b[1;31mred\x1b[0m", &["red"]);
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
