//! Marks: one search for all of them, whatever their number, which tells on which lines each format has its own.
//!
//! At every second byte it and the two behind it are looked up. Of each mark two such threes are known,
//! the rarest at an even and the rarest at an odd distance from its beginning, so one of them is always among
//! those looked up. The steps do not wait for one another as those of an automaton do.

use std::sync::LazyLock;

use super::registry::FORMATS;

/// The lines on which the marks of each format stand, in order.
pub(super) struct Marks(Vec<Vec<usize>>);

impl Marks {
    /// Searches a text, of which these are the lines.
    pub(super) fn new(text: &str, lines: &[&str]) -> Self {
        let mut marks = vec![Vec::new(); FORMATS.len()];
        let offset = |line: &str| line.as_ptr().addr() - text.as_ptr().addr();
        let mut line = 0;
        SEARCH.text(text.as_bytes(), |format, at| {
            while lines.get(line + 1).is_some_and(|next| offset(next) <= at) {
                line += 1;
            }
            if marks[format].last() != Some(&line) {
                marks[format].push(line);
            }
        });
        Self(marks)
    }

    /// Returns the lines with a mark of the format at this place of [`FORMATS`].
    pub(super) fn of(&self, format: usize) -> &[usize] {
        &self.0[format]
    }
}

/// Three bytes of a mark, and what has to be around them.
struct Part {
    mark: &'static [u8],
    /// How far from the beginning of the mark they are.
    offset: usize,
    begins_line: bool,
    ends_line: bool,
    format: usize,
}

impl Part {
    fn is_at(&self, text: &[u8], at: usize) -> bool {
        at.checked_sub(self.offset).is_some_and(|start| {
            // The first byte alone tells most of them apart.
            text[start] == self.mark[0]
                && text[start..].starts_with(self.mark)
                && (!self.begins_line || start == 0 || text[start - 1] == b'\n')
                && (!self.ends_line || text.get(start + self.mark.len()).is_none_or(|next| *next == b'\n'))
        })
    }
}

static SEARCH: LazyLock<Search> = LazyLock::new(Search::new);

struct Search {
    /// The number of the bucket of three bytes, from 1, by their [`index`].
    table: Vec<u8>,
    buckets: Vec<Vec<Part>>,
}

impl Search {
    fn new() -> Self {
        let mut search = Self { table: vec![0; 1 << 16], buckets: Vec::new() };
        for (format, it) in FORMATS.iter().enumerate() {
            it.marks.iter().for_each(|mark| search.add(mark, format));
        }
        search
    }

    fn add(&mut self, mark: &'static str, format: usize) {
        let (begins_line, ends_line) = (mark.starts_with('\n'), mark.ends_with('\n'));
        let mark = mark.trim_matches('\n').as_bytes();
        let threes: Vec<&[u8]> = mark.windows(BYTES).collect();
        for parity in [0, 1] {
            let offsets = (parity..threes.len()).step_by(2);
            let offset = offsets.min_by_key(|at| threes[*at].iter().map(|it| commonness(*it)).sum::<u32>());
            let offset = offset.expect("a mark has at least four bytes");
            let part = Part { mark, offset, begins_line, ends_line, format };
            self.bucket(threes[offset]).push(part);
        }
    }

    fn bucket(&mut self, three: &[u8]) -> &mut Vec<Part> {
        let number = &mut self.table[index(three)];
        if *number == 0 {
            // Of too many, the last share a bucket, since whatever is in it is compared in full.
            *number = u8::try_from(self.buckets.len() + 1).unwrap_or(u8::MAX);
        }
        let at = usize::from(*number) - 1;
        if at == self.buckets.len() {
            self.buckets.push(Vec::new());
        }
        &mut self.buckets[at]
    }

    /// Calls `found` with the format of each mark and where in the text it is, in order.
    fn text(&self, text: &[u8], mut found: impl FnMut(usize, usize)) {
        let mut look = |at: usize| {
            let bucket = self.table[index(&text[at..at + BYTES])];
            if bucket != 0 {
                let parts = self.buckets[usize::from(bucket) - 1].iter();
                parts.filter(|part| part.is_at(text, at)).for_each(|part| found(part.format, at));
            }
        };
        let mut at = 0;
        // In most pieces there is nothing, which one comparison tells.
        while let Some(piece) = text.get(at..at + STEP + BYTES - 2) {
            let any = (0..STEP).step_by(2).fold(0, |any, at| any | self.table[index(&piece[at..at + BYTES])]);
            if any != 0 {
                (at..at + STEP).step_by(2).for_each(&mut look);
            }
            at += STEP;
        }
        (at..text.len().saturating_sub(BYTES - 1)).step_by(2).for_each(look);
    }
}

/// How many bytes are looked up at once.
const BYTES: usize = 3;

/// How many bytes are told to be without marks at once.
const STEP: usize = 8;

fn index(three: &[u8]) -> usize {
    usize::from(u16::from_le_bytes([three[0], three[1]]) ^ u16::from(three[2]) << 5)
}

/// Says how common a byte is in what tools print.
fn commonness(byte: u8) -> u32 {
    match byte {
        b' ' | b'"' | b':' | b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' => 4,
        b'a'..=b'z' | b'-' | b'=' | 0x80.. => 3,
        b'0'..=b'9' | b'.' | b',' | b'_' | b'/' => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Finds the names of the formats by looking for each mark by itself.
    fn naive(line: &str) -> Vec<&'static str> {
        let whole = format!("\n{line}\n");
        let marked = FORMATS.iter().filter(|it| it.marks.iter().any(|mark| whole.contains(mark)));
        marked.map(|it| it.name).collect()
    }

    fn check(line: &str) {
        let text = format!("\n{line}\n{line}");
        let marks = Marks::new(&text, &text.lines().collect::<Vec<_>>());
        let found = FORMATS.iter().enumerate().filter(|(at, _)| marks.of(*at) == [1, 2]);
        assert_eq!(found.map(|(_, it)| it.name).collect::<Vec<_>>(), naive(line), "{line:?}");
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
