//! A page: the output of one stream, as lines without colors, carriage returns and the prefixes of a wrapper.

use std::borrow::Cow;

use super::line_index::LineIndex;
use super::log_prefix::{UnprefixedOutput, remove_prefixes};
use super::output::ToolOutput;
use super::package::{PackageLabels, StreamPackages};
use super::words;

/// Maximum bytes of an output; a longer one keeps its beginning and its end.
const BYTES_MAX: usize = 128 << 20;

/// Bytes kept from the beginning of an output that is too long.
const HEAD_BYTES: usize = 32 << 20;

const ESCAPE: u8 = 0x1b;

/// How long a line is, to reserve room for all of them.
const LINE_BYTES: usize = 48;

/// The lines of a page, and the beginning of each as in [`LineIndex`]; 0 if there is no such byte.
#[derive(Clone)]
pub(super) struct CleanLines<'p> {
    lines: Vec<&'p str>,
    firsts: Vec<u8>,
    begins: Vec<u8>,
}

impl<'p> CleanLines<'p> {
    /// Notes how lines begin.
    pub(super) fn new(lines: Vec<&'p str>) -> Self {
        let firsts = lines.iter().map(|line| line.as_bytes().first().copied().unwrap_or_default()).collect();
        let begins = lines.iter().map(|line| words::begins(line).unwrap_or_default()).collect();
        Self { lines, firsts, begins }
    }

    pub(super) fn own(&self) -> LineIndex<'_> {
        LineIndex { lines: &self.lines, firsts: &self.firsts, begins: &self.begins }
    }

    /// Cuts lines in two at these bytes of theirs; no line is there twice.
    pub(super) fn cut_at(self, places: &[(usize, usize)]) -> Self {
        let mut places = places.iter().peekable();
        let cut = self.lines.into_iter().enumerate().flat_map(|(at, line)| {
            let place = places.next_if(|(of, _)| *of == at).map(|(_, place)| line.split_at(*place));
            let (head, tail) = place.map_or((line, None), |(head, tail)| (head, Some(tail)));
            [head].into_iter().chain(tail)
        });
        Self::new(cut.collect())
    }

    /// Makes a line empty.
    pub(super) fn empty(&mut self, at: usize) {
        self.lines[at] = &self.lines[at][..0];
        self.firsts[at] = 0;
        self.begins[at] = 0;
    }
}

/// The output of one stream.
pub(super) struct CleanOutput<'a> {
    text: Cow<'a, str>,
    /// The packages whose names a wrapper set before their lines.
    labels: PackageLabels,
    left_out: u64,
}

impl<'a> CleanOutput<'a> {
    /// Cleans the bytes, and removes the prefixes of a wrapper; borrows the bytes if there is nothing to do.
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        let page = Self::plain(bytes);
        let UnprefixedOutput { text, labels } = remove_prefixes(page.text);
        Self { text, labels, ..page }
    }

    /// Cleans both streams of a command.
    pub(super) fn both(stdout: &'a [u8], stderr: &'a [u8]) -> [Self; 2] {
        [Self::new(stdout), Self::new(stderr)]
    }

    /// Cleans both streams of an output whose directory is known.
    pub(super) fn from_output(output: &ToolOutput<'a>) -> [Self; 2] {
        Self::both(output.stdout, output.stderr).map(|page| page.within(output.cwd))
    }

    /// Makes the paths below a directory relative if its name has a space, which readers take for the start of a path.
    fn within(self, cwd: &str) -> Self {
        if !cwd.contains(' ') || !self.text.contains(cwd) {
            return self;
        }
        let root = format!("{}/", cwd.trim_end_matches('/'));
        Self { text: self.text.replace(&root, "").into(), ..self }
    }

    /// Cleans the bytes; borrows them where there is nothing to clean.
    pub(super) fn plain(bytes: &'a [u8]) -> Self {
        if bytes.len() <= BYTES_MAX {
            return Self { text: clean(bytes), labels: PackageLabels::default(), left_out: 0 };
        }
        let (head, tail) = (&bytes[..HEAD_BYTES], &bytes[bytes.len() - (BYTES_MAX - HEAD_BYTES)..]);
        let mut text = clean(head).into_owned();
        text.push('\n');
        text.push_str(&clean(tail));
        Self {
            text: text.into(),
            labels: PackageLabels::default(),
            left_out: (bytes.len() - BYTES_MAX) as u64,
        }
    }

    /// Returns how many bytes were left out because there were too many.
    pub(super) fn omitted_bytes(&self) -> u64 {
        self.left_out
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns it with its lines.
    pub(super) fn stream<'s>(&'s self, own: LineIndex<'s>) -> StreamPackages<'s> {
        StreamPackages { text: &self.text, own, labels: &self.labels }
    }

    pub(super) fn lines(&self) -> Vec<&str> {
        let mut lines = Vec::with_capacity(self.text.len() / LINE_BYTES + 1);
        let mut start = 0;
        for end in memchr::memchr_iter(b'\n', self.text.as_bytes()) {
            lines.push(&self.text[start..end]);
            start = end + 1;
        }
        if start < self.text.len() {
            lines.push(&self.text[start..]);
        }
        lines
    }

    /// Cuts it into lines, and notes how each begins.
    pub(super) fn cut(&self) -> CleanLines<'_> {
        CleanLines::new(self.lines())
    }
}

/// Returns an output as text: without colors and cursor movements, every carriage return an end of line.
pub fn plain(bytes: &[u8]) -> String {
    CleanOutput::plain(bytes).text().to_owned()
}

/// Takes colors and cursor movements out and makes every carriage return an end of line.
fn clean(bytes: &[u8]) -> Cow<'_, str> {
    // A byte order mark is not part of the first name.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    if memchr::memchr2(ESCAPE, b'\r', bytes).is_none() {
        // Nearly all output is well formed, and to see that alone is faster.
        return str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed);
    }
    let mut kept = Vec::with_capacity(bytes.len());
    let mut width = TerminalWidth::default();
    // The length of the line, up to what was counted.
    let (mut length, mut counted) = (0, 0);
    let mut rest = bytes;
    while let Some(at) = memchr::memchr2(ESCAPE, b'\r', rest) {
        // Sequences often follow each other directly.
        if at > 0 {
            kept.extend_from_slice(&rest[..at]);
            rest = &rest[at..];
        }
        let len = if rest[0] == ESCAPE { escape_len(rest) } else { 1 };
        let (sequence, behind) = rest.split_at(len);
        rest = behind;
        // Sequences that start to overwrite a line: the old text becomes a line by itself.
        let to_margin = match sequence[len - 1] {
            b'A' if sequence.starts_with(b"\x1b[") => {
                let new: &[u8] = &kept[counted..];
                let end_of_line = memchr::memrchr(b'\n', new).map(|at| at + 1);
                length =
                    end_of_line.map_or(length, |_| 0) + characters(&new[end_of_line.unwrap_or_default()..]);
                width.drawn_from.get_or_insert(counted + end_of_line.unwrap_or_default());
                counted = kept.len();
                width.divides(length);
                false
            }
            b'\r' => len == 1,
            b'G' => matches!(sequence, b"\x1b[G" | b"\x1b[0G" | b"\x1b[1G"),
            _ => false,
        };
        if to_margin && !matches!(rest.first(), Some(b'\n' | b'\r')) && kept.last() != Some(&b'\n') {
            kept.push(b'\n');
        }
    }
    kept.extend_from_slice(rest);
    let TerminalWidth { found: width, drawn_from, .. } = width;
    let (text, start) = match String::from_utf8(kept) {
        Ok(text) => (text, drawn_from),
        // Every position changes then.
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), drawn_from.and(Some(0))),
    };
    match start.filter(|_| (WIDTH_MIN..=WIDTH_MAX).contains(&width)) {
        Some(start) => join_rows(text, width, start).into(),
        None => text.into(),
    }
}

/// Estimated width of the terminal that was drawn on.
#[derive(Default)]
struct TerminalWidth {
    found: usize,
    /// How many more lengths it divides than not. Text that a test prints without a line feed spoils one of them.
    votes: usize,
    /// The beginning of the line in which it first moved up.
    drawn_from: Option<usize>,
}

impl TerminalWidth {
    /// Records a length that covers complete rows.
    fn divides(&mut self, length: usize) {
        match gcd(self.found, length) {
            common if common >= WIDTH_MIN => (self.found, self.votes) = (common, self.votes + 1),
            _ if self.votes == 0 => self.found = length,
            _ => self.votes -= 1,
        }
    }
}

/// How wide a terminal may be that was drawn on.
const WIDTH_MIN: usize = 40;
const WIDTH_MAX: usize = 1000;

/// Cuts lines into the rows of a terminal.
///
/// A progress bar of several rows fills each row with spaces and ends none of them. Text printed above it has no line
/// feed either. Then the bar moves up, so the width of the terminal divides the length of everything before it. A line
/// that is wider than the terminal takes several rows. No row was drawn above `start`.
fn join_rows(text: String, width: usize, mut start: usize) -> String {
    let mut rows = String::new();
    let mut told = 0;
    // No line has more characters than bytes, so a line that begins and ends within this many bytes is one row.
    while let Some(near) = text.as_bytes().get(start..start + 2 * width) {
        if let Some(end) = memchr::memrchr(b'\n', near) {
            start += end + 1;
            continue;
        }
        let line = &text[start..];
        let line = &line[..memchr::memchr(b'\n', line.as_bytes()).unwrap_or(line.len())];
        let (end, length) = (start + line.len(), line.chars().count());
        if length > width && length.is_multiple_of(width) {
            if told == 0 {
                rows.reserve(text.len());
            }
            rows.push_str(&text[told..start]);
            let mut rest = line;
            while !rest.is_empty() {
                let end = rest.char_indices().nth(width).map_or(rest.len(), |(at, _)| at);
                let (row, behind) = rest.split_at(end);
                rest = behind;
                if rest.is_empty() || !continues(row, rest) {
                    rows.push_str(row.trim_end());
                    rows.push('\n');
                } else {
                    rows.push_str(row);
                }
            }
            told = text.len().min(end + 1);
        }
        start = end + 1;
    }
    if told == 0 {
        return text;
    }
    rows.push_str(&text[told..]);
    rows
}

/// Checks whether a row is filled to its end, so that its line continues. One space may belong to the line.
fn continues(row: &str, next: &str) -> bool {
    !(row.ends_with("  ") || row.ends_with(' ') && next.starts_with(' '))
}

/// Counts the characters of UTF-8 text.
fn characters(bytes: &[u8]) -> usize {
    bytes.iter().filter(|byte| !matches!(byte, 0x80..=0xbf)).count()
}

fn gcd(left: usize, right: usize) -> usize {
    if right == 0 { left } else { gcd(right, left % right) }
}

/// Returns the length of the escape sequence at the start of `bytes`.
fn escape_len(bytes: &[u8]) -> usize {
    let len = match bytes.get(1) {
        Some(b'[') => {
            bytes[2..].iter().position(|byte| (0x40..=0x7e).contains(byte)).map_or(bytes.len(), |at| at + 3)
        }
        // A title or a link: up to the bell or the string terminator, which follows soon or never.
        Some(b']') => {
            let body = &bytes[2..bytes.len().min(4096)];
            let end = body.iter().position(|byte| matches!(*byte, 0x07 | ESCAPE | b'\n'));
            end.map_or(2, |at| at + if body[at] == 0x07 { 3 } else { 2 })
        }
        Some(b'(' | b')' | b'#') => 3,
        _ => 2,
    };
    len.min(bytes.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(bytes: &[u8], expected: &[&str]) {
        assert_eq!(CleanOutput::new(bytes).lines(), expected, "{}", String::from_utf8_lossy(bytes));
    }

    #[test]
    fn lines_come_without_what_a_terminal_makes_of_them() {
        check(b"", &[]);
        check(b"a\nb", &["a", "b"]);
        check(b"a\r\nb\r\r\n", &["a", "b"]);
        check(b"\x1b[1m\x1b[91merror\x1b[0m: x\x1b(B\n", &["error: x"]);
        check(b"Building [=> ] 1/2\r\x1b[Kerror: x", &["Building [=> ] 1/2", "error: x"]);
        check(b"a b\x1b[1G c d\x1b[K\n", &["a b", " c d"]);
        check(b"\x1b]8;;http://x\x07link\x1b]8;;\x07", &["link"]);
        check(b"\xff\x1b[", &["\u{fffd}"]);
        check(b"\xef\xbb\xbfsrc/a.ts(1,2): x", &["src/a.ts(1,2): x"]);
        // Two rows of 40, and three of which the bar is one.
        let row = |text: &str| format!("{text:40}");
        let bar = [row("Running 0/2"), row("  a"), "\x1b[1A\r\x1b[2K".to_owned()].concat();
        let told =
            [row("  FAIL a"), row("    it broke"), row("Running 1/2"), "\x1b[1A\r".to_owned()].concat();
        check(
            format!("{bar}{told}Summary\n").as_bytes(),
            &["Running 0/2", "  a", "  FAIL a", "    it broke", "Running 1/2", "Summary"],
        );
        let long = "  FAIL a_name_that_is_wider_than_the_terminal_is";
        let told = [format!("{long:80}"), row("Running 1/2"), "\x1b[1A\r".to_owned()].concat();
        check(format!("{bar}{told}").as_bytes(), &["Running 0/2", "  a", long, "Running 1/2"]);
        // The last bar is of one row, and is cleared without moving up.
        let cleared =
            [row("Running 2/2"), "\r\x1b[2K".to_owned(), row("src/a.c:3: x"), row("src/b.c:3: y")].concat();
        check(
            format!("{bar}{told}{cleared}\n").as_bytes(),
            &[
                "Running 0/2",
                "  a",
                long,
                "Running 1/2",
                row("Running 2/2").as_str(),
                "src/a.c:3: x",
                "src/b.c:3: y",
            ],
        );
        let odd = format!("{:57}\x1b[1A\r", "printed by a test");
        check(
            format!("{bar}{odd}{bar}{told}").as_bytes(),
            &[
                "Running 0/2",
                "  a",
                odd.split('\x1b').next().unwrap_or_default(),
                "Running 0/2",
                "  a",
                long,
                "Running 1/2",
            ],
        );
    }
}
