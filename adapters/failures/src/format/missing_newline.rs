//! What a runner says of a test behind what that test printed without an end of line: `loading...--- FAIL: TestX (0.00s)`.

use super::super::formats::FORMATS;
use super::super::prefilter::Prefilter;
use super::without_time;

/// A format, how a line begins that is its own, and how those that end a test and say how long it took.
struct Runner {
    format: &'static str,
    own: &'static str,
    ends: &'static [&'static str],
}

const RUNNERS: [Runner; 2] = [
    Runner { format: "go-test", own: "FAIL", ends: &["--- FAIL: "] },
    Runner { format: "gtest", own: "[ RUN      ] ", ends: &["[  FAILED  ] ", "[       OK ] "] },
];

/// Returns which lines have such an end in their middle, in order, and where it begins.
pub(crate) fn places(lines: &[&str], marks: &Prefilter) -> Vec<(usize, usize)> {
    let mut glued: Vec<(usize, usize)> = Vec::new();
    for Runner { format, own, ends } in RUNNERS {
        let marked = FORMATS.iter().position(|it| it.name == format).map_or(&[][..], |at| marks.of(at));
        // Where each line has something before it, that is of a wrapper.
        if marked.iter().any(|at| lines[*at].starts_with(own)) {
            glued.extend(marked.iter().filter_map(|at| Some((*at, place(lines[*at], ends)?))));
        }
    }
    glued.sort_unstable();
    glued.dedup_by_key(|(at, _)| *at);
    glued
}

/// Returns where such an end begins behind something else. What a tool logs of another is set in, and has no time behind it.
fn place(line: &str, ends: &[&str]) -> Option<usize> {
    let at = ends.iter().filter_map(|end| line.rfind(end)).max().filter(|at| *at > 0)?;
    let is_printed = !line.starts_with([' ', '\t', '[']);
    let is_end = without_time(line).len() < line.len();
    (is_printed && is_end).then_some(at)
}
