//! The lines of a stream, with the bytes that they begin with.

use std::ops::Range;

/// The lines of a stream.
#[derive(Clone, Copy, Default)]
pub(super) struct LineIndex<'a> {
    pub(super) lines: &'a [&'a str],
    /// The first byte of each line, to find lines with the same beginning by a search for a byte.
    pub(super) firsts: &'a [u8],
    /// The first byte of each line that is not whitespace, for lines that may be indented.
    pub(super) begins: &'a [u8],
}

impl<'a> LineIndex<'a> {
    /// Returns the lines that begin with one of these bytes (at most three), with their numbers.
    pub(super) fn starting(self, with: &[u8]) -> impl DoubleEndedIterator<Item = (usize, &'a str)> + use<'a> {
        places(with, self.firsts).map(move |at| (at, self.lines[at]))
    }

    /// Returns the lines that begin with one of these bytes (at most three) after whitespace, with their numbers.
    pub(super) fn beginning(
        self,
        with: &[u8],
    ) -> impl DoubleEndedIterator<Item = (usize, &'a str)> + use<'a> {
        places(with, self.begins).map(move |at| (at, self.lines[at]))
    }

    /// Returns a range of the lines.
    pub(super) fn part(self, lines: Range<usize>) -> Self {
        let Self { lines: all, firsts, begins } = self;
        Self { lines: &all[lines.clone()], firsts: &firsts[lines.clone()], begins: &begins[lines] }
    }

    /// Returns the lines of each run of a tool; a run begins after the end of the previous one.
    ///
    /// The first and last line of a run begin with one of these bytes (at most three), perhaps after whitespace. A run
    /// that a test starts is part of the test's run.
    pub(super) fn runs(
        self,
        with: &[u8],
        begins: impl Fn(&str) -> bool,
        ends: impl Fn(&str) -> bool,
    ) -> Vec<Range<usize>> {
        let (mut runs, mut start, mut depth, mut has_ended) = (Vec::new(), 0, 0_usize, false);
        for (at, line) in self.beginning(with) {
            if begins(line) {
                if depth == 0 && has_ended {
                    runs.push(start..at);
                    (start, has_ended) = (at, false);
                }
                depth += 1;
            } else if ends(line) {
                depth = depth.saturating_sub(1);
                has_ended = true;
            }
        }
        runs.push(start..self.lines.len());
        runs
    }
}

/// Returns the positions of these bytes, at most three.
pub(super) fn places<'b>(of: &[u8], bytes: &'b [u8]) -> impl DoubleEndedIterator<Item = usize> + use<'b> {
    let byte = |at: usize| of[at.min(of.len() - 1)];
    memchr::memchr3_iter(byte(0), byte(1), byte(2), bytes)
}
