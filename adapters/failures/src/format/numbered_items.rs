//! Numbered lists of failures: `1) Name`, and the block below. The number is not part of the name.

use super::{begins, indentation, is_frame, until};

/// An item of a list.
pub(super) struct NumberedItem<'s, 'a> {
    /// The index of its first line.
    pub(super) at: usize,
    /// The text after the number.
    pub(super) head: &'a str,
    /// The lines below.
    pub(super) body: &'s [&'a str],
}

/// Returns the items of the list that starts at `start`; the numbers count up from 1.
pub(super) fn items<'s, 'a>(
    lines: &'s [&'a str],
    start: usize,
    ends: impl Fn(&str) -> bool,
) -> Vec<NumberedItem<'s, 'a>> {
    items_numbered(lines, start, ends, |_, number, before| number == before + 1)
}

/// Returns items like [`items`], for lines that another check accepts as heads.
pub(super) fn items_that<'s, 'a>(
    lines: &'s [&'a str],
    start: usize,
    ends: impl Fn(&str) -> bool,
    is_head: impl Fn(&str) -> bool,
) -> Vec<NumberedItem<'s, 'a>> {
    items_numbered(lines, start, ends, |at, number, before| number == before + 1 && is_head(lines[at]))
}

/// Returns the items from `start`, each after an empty line. Numbers count all tests, so some are missing.
pub(super) fn items_of_all<'s, 'a>(
    lines: &'s [&'a str],
    start: usize,
    ends: impl Fn(&str) -> bool,
) -> Vec<NumberedItem<'s, 'a>> {
    items_numbered(lines, start, ends, |at, number, before| {
        number > before && at.checked_sub(1).is_none_or(|above| lines[above].trim().is_empty())
    })
}

fn items_numbered<'s, 'a>(
    lines: &'s [&'a str],
    start: usize,
    ends: impl Fn(&str) -> bool,
    is_next: impl Fn(usize, usize, usize) -> bool,
) -> Vec<NumberedItem<'s, 'a>> {
    let mut items: Vec<NumberedItem<'s, 'a>> = Vec::new();
    let mut before = 0;
    let mut depth = None;
    let mut last = lines.len();
    for (at, line) in lines.iter().enumerate().skip(start) {
        if ends(line) {
            last = at;
            break;
        }
        let Some((number, head)) = head(line).filter(|(number, _)| is_next(at, *number, before)) else {
            continue;
        };
        // The numbers may be aligned to the right, so that 10 begins one column before 9.
        if depth.is_none_or(|depth: usize| depth.abs_diff(indentation(line)) <= 2) {
            depth = Some(indentation(line));
            if let Some(item) = items.last_mut() {
                item.body = &lines[item.at + 1..at];
            }
            items.push(NumberedItem { at, head, body: &[] });
            before = number;
        }
    }
    if let Some(item) = items.last_mut() {
        item.body = set_in(&lines[item.at + 1..last]);
    }
    items
}

/// Cuts an indented body at the first line below its stack that is not indented: the last body has no other end, and
/// the output of another tool may follow. A message may contain such lines.
fn set_in<'s, 'a>(body: &'s [&'a str]) -> &'s [&'a str] {
    let is_set_in = |line: &str| line.trim().is_empty() || line.starts_with([' ', '\t']);
    let stack = body.iter().position(|line| is_set_in(line) && is_frame(line));
    let Some(stack) = stack.filter(|_| body.first().is_some_and(|line| is_set_in(line))) else { return body };
    &body[..stack + until(body, stack, |line| !is_set_in(line)).len()]
}

fn head(line: &str) -> Option<(usize, &str)> {
    if begins(line).is_some_and(|byte| byte.is_ascii() && !byte.is_ascii_digit()) {
        return None;
    }
    let rest = line.trim_start();
    if !rest.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (number, head) = rest.split_once(')')?;
    Some((number.parse().ok()?, head.trim()))
}
