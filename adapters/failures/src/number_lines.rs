//! Finds lines with numbers that can come closer to a bound: `812.4 kB, more than the 500 kB`, `step 3 of 12`.
//!
//! A number has a bound if the line compares it with the number next to it, if it is a coverage (100), or if it counts
//! errors and the like (0). So clocks, process ids and ports have none.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::evidence::{Number, NumberLine};
use unstuck_core::id::Digest;

use crate::plain;

/// Maximum bytes at the end of each text that are read: that is where tools sum up.
const TEXT_MAX: usize = 64 << 10;
/// Maximum lines that are kept, those with the smallest frames.
const LINES_MAX: usize = 200;
/// A line with more numbers is a table or a dump.
const NUMBERS_MAX: usize = 4;
/// Maximum bytes of a line; longer lines are skipped.
const LINE_MAX: usize = 500;

static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"-?[0-9]+(?:\.[0-9]+)?"));
/// The words and signs between a number and its bound.
static COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"(?i)[≥≤/]|>=|<=|(?:^|[^<>=])[<>](?:[^<>=]|$)|\b(?:of|budget|limit|at least|at most|below|above|under|over|want|wanted|expected|needs?|required|threshold|target|goal|allowed|than|exceeds?|exceeded|beyond|max|min|maximum|minimum)\b",
    )
});
static COUNT: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"\b[0-9]+ (?:errors?|problems?|failures?|issues?|warnings?|findings?|open items?|(?:[a-z]+ )?(?:left|remaining|missing))\b",
    )
});

/// Words after `4 of 10` that mean fewer is better.
static FAILED: LazyLock<Regex> = LazyLock::new(|| regex(r"(?i)\b(?:fail|error|missing|left)"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a constant")
}

/// Returns the lines whose numbers have a bound, in the order of their frames; of a repeated frame, the last line.
pub fn number_lines<'t>(texts: impl IntoIterator<Item = &'t [u8]>) -> Vec<NumberLine> {
    let mut lines = BTreeMap::new();
    for text in texts {
        let text = plain(&text[text.len().saturating_sub(TEXT_MAX)..]);
        let fitting = text
            .lines()
            .filter(|line| line.len() <= LINE_MAX && line.bytes().any(|byte| byte.is_ascii_digit()));
        for (frame, numbers) in fitting.filter_map(number_line) {
            lines.insert(frame, numbers);
        }
    }
    lines.into_iter().take(LINES_MAX).map(|(frame, numbers)| NumberLine { frame, numbers }).collect()
}

fn number_line(line: &str) -> Option<(Digest, Vec<Number>)> {
    let places: Vec<Range<usize>> =
        NUMBER.find_iter(line).take(NUMBERS_MAX + 1).map(|number| number.range()).collect();
    if places.is_empty() || places.len() > NUMBERS_MAX {
        return None;
    }
    let values: Vec<i64> =
        places.iter().map(|place| millionths(&line[place.clone()])).collect::<Option<_>>()?;
    let is_compared = |at: usize| COMPARISON.is_match(&line[places[at].end..places[at + 1].start]);
    let is_coverage = line.to_lowercase().contains("cover");
    let of_itself = |at: usize| {
        let place = &places[at];
        if is_coverage && line[place.end..].starts_with('%') {
            return Some(100_000_000);
        }
        COUNT.find_iter(line).any(|count| count.start() == place.start).then_some(0)
    };
    let bound = |at: usize| {
        // `4 of 10 failed` is better with fewer.
        if at + 1 < values.len() && is_compared(at) && FAILED.is_match(&line[places[at + 1].end..]) {
            return Some(0);
        }
        let after = (at + 1 < values.len() && is_compared(at)).then(|| values[at + 1]);
        after.or_else(|| (at > 0 && is_compared(at - 1)).then(|| values[at - 1])).or_else(|| of_itself(at))
    };
    let numbers: Vec<Number> =
        values.iter().enumerate().map(|(at, &value)| Number { value, bound: bound(at) }).collect();
    let frame = NUMBER.replace_all(line.trim(), "#");
    numbers.iter().any(|number| number.bound.is_some()).then(|| (Digest::sha256(frame.as_bytes()), numbers))
}

/// Reads a decimal number; `None` if it is too large for the numbers of a message.
fn millionths(number: &str) -> Option<i64> {
    const DIGITS: usize = 6;
    let (whole, part) = number.split_once('.').unwrap_or((number, ""));
    let part = format!("{:0<DIGITS$}", &part[..part.len().min(DIGITS)]);
    format!("{whole}{part}").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_the_bound_that_its_line_names() {
        for (line, expected) in [
            ("error: bundle.js is 812.4 kB, more than the 500 kB that are allowed", "812.4→500 500→812.4"),
            ("RuntimeError: pipeline stopped at step 3 of 12", "3→12 12→3"),
            ("accuracy 0.55, want >= 0.90", "0.55→0.9 0.9→0.55"),
            ("coverage: 61.2% of statements", "61.2→100"),
            ("housestyle: 11 problems found", "11→0"),
            ("# 7 are left", "7→0"),
            ("==== 1 error in 0.58s ====", "1→0 0.58"),
            ("4 of 10 cases failed", "4→0 10→4"),
            ("latency 120 ms exceeds 50 ms on port 8080", "120→50 50→120 8080"),
            ("[1498] pid 31355 build started", ""),
            ("2026-11-29 12:00:01 took 12 ms", ""),
            ("FAIL: coverage is below 80%", "80→100"),
            ("no number", ""),
            ("1 of 2 of 3 of 4 of 5", ""),
        ] {
            let show = |value: i64| format!("{}", value as f64 / 1e6);
            let lines = number_lines([line.as_bytes()]);
            let numbers = lines.iter().flat_map(|line| &line.numbers).map(|number| match number.bound {
                Some(bound) => format!("{}→{}", show(number.value), show(bound)),
                None => show(number.value),
            });
            assert_eq!(numbers.collect::<Vec<_>>().join(" "), expected, "{line}");
        }
    }

    #[test]
    fn the_last_line_of_a_frame_counts() {
        let lines = number_lines([&b"step 1 of 9\nstep 2 of 9\nother 1 of 2\nstep 3 of 9\n"[..]]);
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().any(|line| line.numbers[0].value == 3_000_000));
    }
}
