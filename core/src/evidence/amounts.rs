//! The numbers that a failure tells. Of one that counts what is left to do they fall, although it stays the same failure.

use std::ops::Range;

use crate::text::stack::is_frame;

/// A message with more numbers than this tells no count.
const NUMBERS_MAX: usize = 20;
/// What has more digits is no count either, but a size, a moment or a name.
const DIGITS_MAX: usize = 6;

/// Returns the whole numbers that stand by themselves in a message, in their order; none where there are too many. A part of a word, of
/// a time, of a place or of a version is none, nor is what stands in a stack trace.
pub fn amounts(message: &str) -> Vec<u64> {
    let told = message.lines().filter(|line| !is_frame(line) && !line.trim_start().starts_with("File \""));
    let all: Vec<u64> = told.flat_map(of_line).take(NUMBERS_MAX + 1).collect();
    if all.len() > NUMBERS_MAX { Vec::new() } else { all }
}

fn of_line(line: &str) -> impl Iterator<Item = u64> {
    let mut numbers = numbers(line);
    if numbers.len() > 1 && tells_what_is_done(line) {
        for at in 1..numbers.len() {
            let ((part, all), between) =
                ((numbers[at - 1].1, numbers[at].1), numbers[at - 1].0.end..numbers[at].0.start);
            if &line[between] == " of " && part <= all {
                numbers[at - 1].1 = all - part;
            }
        }
    }
    numbers.into_iter().map(|(_, number)| number)
}

/// Says whether a line tells how much of something is done, of which more is better.
fn tells_what_is_done(line: &str) -> bool {
    const DONE: [&str; 9] =
        ["complete", "completed", "covered", "done", "finished", "implemented", "passed", "passing", "ready"];
    let mut words = line.split(|c: char| !c.is_alphabetic());
    let is = |word: &str, of: &[&str]| of.iter().any(|it| it.eq_ignore_ascii_case(word));
    words.clone().any(|word| is(word, &DONE)) && !words.any(|word| is(word, &["not", "t"]))
}

/// Returns the whole numbers that stand by themselves in a line, and where.
fn numbers(line: &str) -> Vec<(Range<usize>, u64)> {
    let bytes = line.as_bytes();
    let is_digit = |at: usize| bytes.get(at).is_some_and(u8::is_ascii_digit);
    let starts =
        (0..bytes.len()).filter(|at| is_digit(*at) && at.checked_sub(1).is_none_or(|it| !is_digit(it)));
    let numbers = starts.filter_map(|start| {
        let end = (start..).find(|at| !is_digit(*at))?;
        let before = start.checked_sub(1).map(|at| bytes[at]);
        let joins =
            |byte: u8| byte.is_ascii_alphanumeric() || b"_.:/-#@\\".contains(&byte) || !byte.is_ascii();
        let goes_on = match bytes.get(end) {
            Some(b'.' | b':' | b',') => is_digit(end + 1),
            Some(byte) => byte.is_ascii_alphanumeric() || b"_/-%".contains(byte),
            None => false,
        };
        let is_place = line[..start].trim_end().ends_with("line");
        let is_thousand = before == Some(b',') && start >= 2 && is_digit(start - 2);
        let is_part =
            before.is_some_and(joins) || is_thousand || goes_on || is_place || end - start > DIGITS_MAX;
        line[start..end].parse().ok().filter(|_| !is_part).map(|number| (start..end, number))
    });
    numbers.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_numbers_that_stand_by_themselves_count() {
        for (message, expected) in [
            ("AssertionError: 11 != 0 : 11 left", &[11, 0, 11][..]),
            ("error: 6 todo left.", &[6]),
            // What is done of all is what is left.
            ("error: only 4 of 12 stories are done", &[8, 12]),
            ("4 of 12 checks failed", &[4, 12]),
            ("4 of 12 checks are not done", &[4, 12]),
            ("expected [3], got (4)", &[3, 4]),
            ("  File \"t.py\", line 3, in test_2\nAssertionError: 7", &[7]),
            ("    at f (/a/b.js:3:5)\nat line 8: 2 open", &[2]),
            ("a.py:3: case_2 took 0.02s, 15ms, 12:30:01, v1.2.3, 50%, -1, 1/2, 1,000", &[]),
            ("at 1764240000", &[]),
            (&"1 ".repeat(21), &[]),
        ] {
            assert_eq!(amounts(message), expected, "{message}");
        }
    }
}
