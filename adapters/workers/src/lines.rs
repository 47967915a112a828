//! Splits bytes that arrive in pieces into lines of bounded length.

/// Maximum length of a line that is kept completely, in bytes.
pub(super) const LINE_BYTES_MAX: usize = 8 * 1024 * 1024;

/// Length of the beginning that is kept of a line that is too long, in bytes.
pub(super) const HEAD_BYTES: usize = 4096;

/// Cuts bytes into lines, at `\n` only: JSON may hold the other characters that end a line elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct LineSplitter {
    /// The line that has not ended yet.
    open: Vec<u8>,
    /// Whether it is too long, so that only its beginning is kept.
    too_long: bool,
}

/// One line, without its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutputLine<'a> {
    Complete(&'a [u8]),
    /// Longer than [`LINE_BYTES_MAX`]: its head.
    TooLong(&'a [u8]),
}

impl LineSplitter {
    /// Takes the next bytes and gives each line that ends in them.
    pub fn push(&mut self, mut bytes: &[u8], mut take: impl FnMut(OutputLine<'_>)) {
        while let Some(at) = memchr::memchr(b'\n', bytes) {
            let (line, rest) = (&bytes[..at], &bytes[at + 1..]);
            if self.open.is_empty() && !self.too_long && at <= LINE_BYTES_MAX {
                take(OutputLine::Complete(line));
            } else {
                self.keep(line);
                self.finish(&mut take);
            }
            bytes = rest;
        }
        self.keep(bytes);
    }

    /// Gives the last line, which has no line feed.
    pub fn finish(&mut self, mut take: impl FnMut(OutputLine<'_>)) {
        let open = std::mem::take(&mut self.open);
        if std::mem::take(&mut self.too_long) {
            take(OutputLine::TooLong(&open));
        } else {
            take(OutputLine::Complete(&open));
        }
    }

    /// Returns the bytes of a line that has not ended, if it is not too long.
    pub fn open(&self) -> Option<&[u8]> {
        (!self.too_long).then_some(self.open.as_slice())
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.too_long {
            return;
        }
        self.open.extend_from_slice(&bytes[..bytes.len().min(LINE_BYTES_MAX + 1 - self.open.len())]);
        if self.open.len() > LINE_BYTES_MAX {
            self.too_long = true;
            self.open.truncate(HEAD_BYTES);
            self.open.shrink_to_fit();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the lengths of the lines; a line that is too long has the negative length of its beginning.
    fn lengths(pieces: &[&[u8]]) -> Vec<isize> {
        let mut found = Vec::new();
        let mut take = |line: OutputLine<'_>| match line {
            OutputLine::Complete(bytes) => found.push(bytes.len() as isize),
            OutputLine::TooLong(head) => found.push(-(head.len() as isize)),
        };
        let mut lines = LineSplitter::default();
        pieces.iter().for_each(|piece| lines.push(piece, &mut take));
        lines.finish(&mut take);
        found
    }

    #[test]
    fn lines_are_cut_at_line_feeds_wherever_the_pieces_end() {
        let long = vec![b'x'; LINE_BYTES_MAX];
        let head = HEAD_BYTES as isize;
        let cases: [(&[&[u8]], Vec<isize>); 7] = [
            (&[], vec![0]),
            (&[b"ab\ncd"], vec![2, 2]),
            (&[b"a", b"b\n", b"\n", b"cd"], vec![2, 0, 2]),
            (&["a\u{2028}b\r\n".as_bytes()], vec![6, 0]),
            (&[&long, b"\n"], vec![LINE_BYTES_MAX as isize, 0]),
            (&[&long, b"y", b"z", b"\nab\n"], vec![-head, 2, 0]),
            (&[&long, &long], vec![-head]),
        ];
        for (pieces, expected) in cases {
            assert_eq!(lengths(pieces), expected);
        }
    }
}
