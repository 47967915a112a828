//! Marks: one search for the marks of all formats, which finds the lines that contain each mark.
//!
//! The search looks up the three bytes at every second position and the class of the byte after them. It knows two such
//! triples of each mark: the rarest at an even and the rarest at an odd distance from its beginning. One of the two is
//! therefore always looked up. Unlike in an automaton, no step depends on the one before.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::formats::FORMATS;

/// The lines that contain the marks of each format, in order.
pub(super) struct Prefilter(Vec<Vec<usize>>);

impl Prefilter {
    /// Searches a text; `lines` are its lines.
    pub(super) fn new(text: &str, lines: &[&str]) -> Self {
        let mut marks = vec![Vec::new(); FORMATS.len()];
        let (mut line, start) = (0, text.as_ptr().addr());
        SEARCH.text(text.as_bytes(), |format, at| {
            while lines.get(line + 1).is_some_and(|next| next.as_ptr().addr() <= start + at) {
                line += 1;
            }
            if marks[format].last() != Some(&line) {
                marks[format].push(line);
            }
        });
        Self(marks)
    }

    /// Returns the lines with a mark of the format at this index of [`FORMATS`].
    pub(super) fn marked_lines(&self, format: usize) -> &[usize] {
        &self.0[format]
    }
}

/// Three bytes of a mark, and the text required around them.
struct Trigram {
    mark: &'static [u8],
    /// Distance from the beginning of the mark, in bytes.
    offset: usize,
    /// The [`index`] of the three bytes.
    index: usize,
    /// Up to eight first bytes of the mark, and the mask of the bytes that it has.
    head: u64,
    known: u64,
    begins_line: bool,
    ends_line: bool,
    format: usize,
}

impl Trigram {
    /// Returns the rarest part of a mark at an even distance from its beginning, and at an odd one.
    fn both(mark: &'static str, format: usize, shared: &TrigramUse) -> [Self; 2] {
        let (begins_line, ends_line) = (mark.starts_with('\n'), mark.ends_with('\n'));
        let mark = mark.trim_matches('\n').as_bytes();
        let known = u64::MAX >> (64 - 8 * mark.len().min(8));
        [0, 1].map(|parity| {
            let offsets = (parity..mark.len() + 1 - BYTES).step_by(2);
            let cost = |at: &usize| commonness(&mark[*at..]) + shared.cost(&mark[*at..][..BYTES]);
            let offset = offsets.min_by_key(cost);
            let offset = offset.expect("a mark has at least four bytes");
            let index = index(&mark[offset..offset + BYTES]);
            Self { mark, offset, index, head: head(mark), known, begins_line, ends_line, format }
        })
    }

    /// Returns the [`class`]es of bytes that may follow the three bytes, as bits.
    fn followers(&self) -> u8 {
        self.mark.get(self.offset + BYTES).map_or(u8::MAX, |byte| class(*byte))
    }

    fn is_at(&self, text: &[u8], at: usize) -> bool {
        at.checked_sub(self.offset).is_some_and(|start| {
            // The first bytes alone reject most positions.
            (head(&text[start..]) ^ self.head) & self.known == 0
                && text[start..].starts_with(self.mark)
                && (!self.begins_line || start == 0 || text[start - 1] == b'\n')
                && (!self.ends_line || text.get(start + self.mark.len()).is_none_or(|next| *next == b'\n'))
        })
    }
}

/// Returns the first eight bytes of a text as a number; missing bytes are 0.
fn head(text: &[u8]) -> u64 {
    let short = || text.iter().rev().fold(0, |head, byte| head << 8 | u64::from(*byte));
    text.first_chunk().map_or_else(short, |bytes| u64::from_le_bytes(*bytes))
}

static SEARCH: LazyLock<Search> = LazyLock::new(Search::new);

struct Search {
    /// The [`class`]es that may follow three bytes, by their [`index`]; 0 without parts.
    followers: Box<[u8; 1 << 16]>,
    /// The position of the first part with each index, if there is one.
    begins: Vec<u16>,
    /// The parts, sorted by index.
    parts: Vec<Trigram>,
}

impl Search {
    fn new() -> Self {
        let marks = FORMATS.iter().enumerate();
        let marks = marks.flat_map(|(format, entry)| entry.marks.iter().map(move |mark| (*mark, format)));
        let shared = TrigramUse::new();
        let mut parts: Vec<Trigram> =
            marks.flat_map(|(mark, format)| Trigram::both(mark, format, &shared)).collect();
        parts.sort_by_key(|part| part.index);
        let (mut followers, mut begins) = (Box::new([0; 1 << 16]), vec![0; 1 << 16]);
        for (at, part) in parts.iter().enumerate().rev() {
            followers[part.index] |= part.followers();
            begins[part.index] = u16::try_from(at).expect("there are fewer than indices");
        }
        Self { followers, begins, parts }
    }

    /// Returns the parts with an index, which must have some.
    fn parts(&self, index: usize) -> impl Iterator<Item = &Trigram> {
        self.parts[usize::from(self.begins[index])..].iter().take_while(move |part| part.index == index)
    }

    /// Checks whether an even position of a piece may begin a part. Two more bytes after the piece are known.
    fn may_be_in(&self, piece: &[u8; STEP + 2]) -> bool {
        /// One of the bytes that are taken from each two.
        const LANES: u64 = 0x0001_0001_0001_0001;
        let (these, behind) = (head(piece), head(&piece[2..]));
        // Four indices at once, as `index` computes each, and the numbers of the classes that follow them.
        let indices = these ^ (behind & (LANES * 0xff)) << 5;
        let classes = (behind >> 8) & (LANES * 7);
        let any = (0..64).step_by(16).fold(0, |any, lane| {
            any | self.followers[usize::from((indices >> lane) as u16)] >> ((classes >> lane) as u8)
        });
        any & 1 != 0
    }

    /// Calls `found` with the format of each mark and its position in the text, in order.
    fn text(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let is_known = |at: usize| {
            let follower = text.get(at + BYTES).map_or(u8::MAX, |byte| class(*byte));
            self.followers[index(&text[at..at + BYTES])] & follower != 0
        };
        let mut look = |at: usize| {
            let parts = self.parts(index(&text[at..at + BYTES]));
            parts.filter(|part| part.is_at(text, at)).for_each(|part| found(part.format, at));
        };
        let mut at = 0;
        // Most pieces contain no mark, which one comparison shows.
        while let Some(piece) = text[at..].first_chunk() {
            if self.may_be_in(piece) {
                (at..at + STEP).step_by(2).filter(|at| is_known(*at)).for_each(&mut look);
            }
            at += STEP;
        }
        (at..text.len().saturating_sub(BYTES - 1)).step_by(2).filter(|at| is_known(*at)).for_each(look);
    }
}

/// Number of bytes of a trigram.
const BYTES: usize = 3;

/// Number of bytes that one comparison can show to be free of marks.
const STEP: usize = 8;

fn index(three: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([three[0], three[1]]) ^ u16::from(three[2]) << 5)
}

/// Returns one of eight bits.
fn class(byte: u8) -> u8 {
    1 << (byte & 7)
}

/// The number of marks that contain the same three bytes.
struct TrigramUse(BTreeMap<&'static [u8], u32>);

impl TrigramUse {
    fn new() -> Self {
        let mut shared = BTreeMap::new();
        for mark in FORMATS.iter().flat_map(|format| format.marks) {
            for three in mark.trim_matches('\n').as_bytes().windows(BYTES) {
                *shared.entry(three).or_default() += 1;
            }
        }
        Self(shared)
    }

    /// Returns the additional cost of looking up these three bytes, after which all marks with them are compared.
    fn cost(&self, three: &[u8]) -> u32 {
        const COST_MAX: u32 = 4;
        (self.0[three] / 2).min(COST_MAX)
    }
}

/// Words, and parts of them, that tools print all the time.
const COMMON: [&str; 30] = [
    " Test", " tests", "error", "ERROR", "examples", "\"Action\":\"", "expected", " file", "form", "info",
    " in ", " Running ", " RUN ", "    ", "ed ", ".test", "execut", "...", " build", "compil", "check",
    " not ", "s, ", " fail", "project", "null", "FAIL", "Fail", " - ", "time",
];

/// Returns how common these three bytes and the one after them are in the output of tools.
fn commonness(part: &[u8]) -> u32 {
    /// The end of a mark, which any byte may follow: more common than any single byte.
    const ANYTHING: u32 = 7;
    const IN_A_COMMON_WORD: u32 = 4;
    let is_common = |length: usize| {
        let in_word = |word: &&str| memchr::memmem::find(word.as_bytes(), &part[..length]).is_some();
        u32::from(part.len() >= length && COMMON.iter().any(in_word))
    };
    part[..BYTES].iter().map(|byte| of_byte(*byte)).sum::<u32>()
        + part.get(BYTES).map_or(ANYTHING, |byte| of_byte(*byte))
        + IN_A_COMMON_WORD * (is_common(BYTES) + is_common(BYTES + 1))
}

/// Returns how common a byte is.
fn of_byte(byte: u8) -> u32 {
    match byte {
        b' ' | b'"' | b':' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 4,
        // Many characters begin with the same bytes.
        0x80.. => 5,
        b'a'..=b'z' | b'-' | b'=' => 3,
        b'0'..=b'9' | b'.' | b',' | b'_' | b'/' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the names of the formats by a separate search for each mark.
    fn naive(line: &str) -> Vec<&'static str> {
        let whole = format!("\n{line}\n");
        let marked = FORMATS.iter().filter(|entry| entry.marks.iter().any(|mark| whole.contains(mark)));
        marked.map(|entry| entry.name).collect()
    }

    fn check(line: &str) {
        let text = format!("\n{line}\n{line}");
        let marks = Prefilter::new(&text, &text.split('\n').collect::<Vec<_>>());
        let found = FORMATS.iter().enumerate().filter(|(at, _)| marks.marked_lines(*at) == [1, 2]);
        assert_eq!(found.map(|(_, entry)| entry.name).collect::<Vec<_>>(), naive(line), "{line:?}");
    }

    #[test]
    fn every_mark_is_found_wherever_it_stands() {
        for mark in FORMATS.iter().flat_map(|format| format.marks) {
            let mark = mark.trim_matches('\n');
            for (before, behind) in [("", ""), ("x", ""), ("", "x"), ("ab", " y"), (mark, mark), ("é", "é")]
            {
                check(&format!("{before}{mark}{behind}"));
            }
            check(&mark[mark.char_indices().nth(1).expect("a mark is long").0..]);
        }
    }
}
