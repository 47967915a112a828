//! Splits lines in which a runner reports a test right after that test's output: `loading...--- FAIL: TestX (0.00s)`.

use super::super::formats::FORMATS;
use super::super::prefilter::Prefilter;
use super::without_time;

/// A format, with the beginnings of all its lines and of its lines with the result and duration of a test.
struct Runner {
    format: &'static str,
    own: &'static str,
    ends: &'static [&'static str],
}

const RUNNERS: [Runner; 2] = [
    Runner { format: "go-test", own: "FAIL", ends: &["--- FAIL: "] },
    Runner { format: "gtest", own: "[ RUN      ] ", ends: &["[  FAILED  ] ", "[       OK ] "] },
];

/// Returns the lines with such a report in their middle, in order, and its position.
pub(crate) fn places(lines: &[&str], marks: &Prefilter) -> Vec<(usize, usize)> {
    let mut glued: Vec<(usize, usize)> = Vec::new();
    for Runner { format, own, ends } in RUNNERS {
        let marked = FORMATS
            .iter()
            .position(|known| known.name == format)
            .map_or(&[][..], |at| marks.marked_lines(at));
        // If every line has a prefix, the prefix is from a wrapper.
        if marked.iter().any(|at| lines[*at].starts_with(own)) {
            glued.extend(marked.iter().filter_map(|at| Some((*at, place(lines[*at], ends)?))));
        }
    }
    glued.sort_unstable();
    glued.dedup_by_key(|(at, _)| *at);
    glued
}

/// Returns the position of such a report after other text. A test's log is indented, and has no duration.
fn place(line: &str, ends: &[&str]) -> Option<usize> {
    let at = ends.iter().filter_map(|end| line.rfind(end)).max().filter(|at| *at > 0)?;
    let is_printed = !line.starts_with([' ', '\t', '[']);
    let is_end = without_time(line).len() < line.len();
    (is_printed && is_end).then_some(at)
}
