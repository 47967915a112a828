//! Code fences that are longer than anything in them, so that no value ends its own quotation.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::text::fence;

use super::filled::Filled;

/// Minimum length of a fence, in characters.
const SHORTEST: usize = 3;

/// Returns the text as a fenced block on separate lines. Nothing in the text can close the fence.
pub fn fenced(text: &str) -> String {
    fence::fenced(text.strip_suffix('\n').unwrap_or(text)) + "\n"
}

/// Lengthens each fence around values that contain a run of its character at least as long as the fence.
/// Both ends become one longer than the longest such run.
pub(super) fn lengthen(filled: Filled) -> String {
    let Filled { text, values, .. } = filled;
    if values.is_empty() {
        return text;
    }
    let mut longer: Vec<(usize, usize, char)> = Vec::new();
    for fence in fences(&text, &values) {
        let end = fence.close.as_ref().map_or(text.len(), |close| close.start);
        let run = longest_run(&text, fence.open.end..end, fence.mark, &values);
        if run >= fence.open.len() {
            let more = run + 1 - fence.open.len();
            longer.push((fence.open.end, more, fence.mark));
            // The closing one may be longer than needed already.
            let close = fence.close.filter(|close| close.len() <= run);
            longer.extend(close.map(|close| (close.end, run + 1 - close.len(), fence.mark)));
        }
    }
    insert(&text, &longer)
}

/// A fence of the template: its two runs of characters.
struct TemplateFence {
    mark: char,
    open: Range<usize>,
    close: Option<Range<usize>>,
}

/// Finds the fences whose ends are text of the template.
fn fences(text: &str, values: &[Range<usize>]) -> Vec<TemplateFence> {
    let mut fences: Vec<TemplateFence> = Vec::new();
    let mut inside = false;
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let item = if inside { 0 } else { item_marks(line) };
        let found = run_of_line(line, item).map(|(mark, run)| (mark, start + run.start..start + run.end));
        let line_end = start + line.len();
        let begin = start;
        start = line_end;
        let Some((mark, run)) = found.filter(|(_, run)| !touches(values, begin..run.end)) else { continue };
        let rest = &text[run.end..line_end];
        if inside {
            let Some(open) = fences.last_mut() else { continue };
            let closes = mark == open.mark && run.len() >= open.open.len() && rest.trim().is_empty();
            if closes && !touches(values, run.end..line_end) {
                open.close = Some(run);
                inside = false;
            }
        } else if mark == '~' || !rest.contains('`') || touches(values, run.end..line_end) {
            fences.push(TemplateFence { mark, open: run, close: None });
            inside = true;
        }
    }
    fences
}

/// Returns the length of the list markers that a line begins with, including nested ones and ones in a quotation.
/// Only an opening fence can follow list markers; a closing fence cannot.
fn item_marks(line: &str) -> usize {
    static MARKS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^(?:[ \t>]*(?:[-*+]|[0-9]{1,9}[.)])[ \t])*").expect("well formed"));
    MARKS.find(line).map_or(0, |marks| marks.end())
}

/// Returns the run of backticks or tildes that starts a line, after `from` bytes, whitespace and `>` marks.
fn run_of_line(line: &str, from: usize) -> Option<(char, Range<usize>)> {
    let start = from + line[from..].find(|c: char| !matches!(c, ' ' | '\t' | '>'))?;
    let mark = line[start..].chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let length = line[start..].chars().take_while(|c| *c == mark).count();
    (length >= SHORTEST).then_some((mark, start..start + length))
}

/// Says whether a value has a part in the range.
fn touches(values: &[Range<usize>], range: Range<usize>) -> bool {
    let next = values.partition_point(|value| value.end <= range.start);
    values[next..].iter().take_while(|value| value.start < range.end).any(|value| !value.is_empty())
}

/// Returns the length of the longest run of `mark` in which a value has a part.
fn longest_run(text: &str, range: Range<usize>, mark: char, values: &[Range<usize>]) -> usize {
    let mut longest = 0;
    let mut at = range.start;
    while let Some(start) = text[at..range.end].find(mark).map(|found| at + found) {
        let length = text[start..range.end].chars().take_while(|c| *c == mark).count();
        if length > longest && touches(values, start..start + length) {
            longest = length;
        }
        at = start + length;
    }
    longest
}

/// Puts runs of characters into a text, at offsets that rise.
fn insert(text: &str, runs: &[(usize, usize, char)]) -> String {
    let mut result = String::with_capacity(text.len());
    let mut done = 0;
    for (offset, count, mark) in runs {
        result.push_str(&text[done..*offset]);
        result.extend(std::iter::repeat_n(*mark, *count));
        done = *offset;
    }
    result.push_str(&text[done..]);
    result
}
