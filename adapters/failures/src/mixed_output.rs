//! Finds where failures of other commands may be read, next to those already found.
//!
//! `ruff check .; mypy .` and `make -k lint test` run several tools. A tool with its own grammar is found anywhere. A
//! line `file:line: message` and the last words of a program have no such grammar, and a test may print both. They are
//! trusted only where no test prints:
//!
//! - anywhere, if no test failed
//! - below all output of the test runner
//! - where the last line of a linter, or of make, shows that another command printed them

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::format::traceback::CRASH_LINES;
use super::format::{gcc_style, unrecognized};
use super::line_index::LineIndex;
use super::message::exception;
use super::raw_failure::OutputSpan;
use super::test_counts;
use super::words::is_frame;

/// The lines of a stream.
#[derive(Clone, Copy)]
pub(super) struct StreamLines<'p> {
    pub(super) own: LineIndex<'p>,
    /// The lines that report failed tests.
    pub(super) of_tests: &'p [Range<usize>],
}

/// The regions of a stream in which lines are trusted.
pub(super) struct TrustedRegions {
    /// Regions for lines of the form of a diagnostic.
    pub(super) diagnostics: Vec<Range<usize>>,
    /// Regions for the last words of a program.
    pub(super) last_words: Vec<Range<usize>>,
}

impl TrustedRegions {
    /// Finds the regions in both streams in which no test prints.
    pub(super) fn find(streams: [StreamLines<'_>; 2], printed_is_known: bool) -> [Self; 2] {
        // A single failed target may be the target of the tests.
        let targets = streams.map(|stream| targets(stream.own));
        let are_several = targets.iter().map(Vec::len).sum::<usize>() > 1;
        let mut targets = targets.into_iter();
        streams.map(|StreamLines { own, of_tests }| {
            let lines = own.lines;
            let mut diagnostics = before_counts(own);
            let targets = targets.next().unwrap_or_default();
            if are_several {
                diagnostics.extend(between_targets(lines, &targets));
            }
            let end = after_runner(lines, of_tests);
            diagnostics.extend(end.clone());
            let mut last_words = diagnostics.clone();
            last_words.extend(end.is_none().then(|| final_words(lines)).flatten());
            if printed_is_known {
                last_words.extend(node_crashes(own));
            }
            let of_make = own.starting(b"gm").filter(|(_, line)| is_make_error(line));
            last_words.extend(of_make.map(|(at, _)| at..at + 1));
            Self { diagnostics, last_words }
        })
    }
}

/// Returns the lines of a stream that contain a failure; `text` is the text of the stream.
pub(super) fn lines_of(span: &OutputSpan, text: &str, lines: &[&str]) -> Option<Range<usize>> {
    let memory = text.as_ptr().addr()..text.as_ptr().addr() + text.len();
    let line = |address: usize| {
        let is_in = memory.contains(&address);
        is_in.then(|| lines.partition_point(|line| line.as_ptr().addr() <= address).saturating_sub(1))
    };
    let start = line(span.address)?;
    let end = line(span.end).unwrap_or(start);
    Some(outdented(lines, start.min(end)..start.max(end) + 1))
}

/// Cuts an indented or commented block before its first other line, which may belong to the next command.
///
/// The last block has no end mark. Such lines may also occur in a message, but there they precede the stack.
fn outdented(lines: &[&str], block: Range<usize>) -> Range<usize> {
    let is_said = |at: &usize| !lines[*at].trim().is_empty();
    let is_set_in = |at: usize| lines[at].starts_with([' ', '\t', '#']);
    if !block.clone().find(is_said).is_some_and(is_set_in) {
        return block;
    }
    let stack = block.clone().find(|at| is_set_in(*at) && is_frame(lines[*at]));
    let end = (stack.unwrap_or(block.start)..block.end).find(|at| is_said(at) && !is_set_in(*at));
    block.start..end.unwrap_or(block.end)
}

/// Returns the lines below the last line of the test runner, if it printed any.
fn after_runner(lines: &[&str], tests: &[Range<usize>]) -> Option<Range<usize>> {
    let end = tests.iter().map(|lines| lines.end).max()?;
    let last = lines[end..].iter().rposition(|line| is_of_runner(line));
    Some(last.map_or(end, |last| end + last + 1)..lines.len())
}

/// Checks whether a line reports how a test ended, or how many tests ended.
fn is_of_runner(line: &str) -> bool {
    const HEADS: [&str; 14] =
        ["ok ", "not ok ", "1..", "# ", "✓ ", "✔ ", "√ ", "✗ ", "✘ ", "✖ ", "× ", "PASS", "FAIL", "--- "];
    let bare = line.trim_start();
    HEADS.iter().any(|head| bare.starts_with(head)) || test_counts::is_summary(line)
}

/// Returns the diagnostics above each line in which a linter or a compiler counts them.
fn before_counts(LineIndex { lines, firsts, .. }: LineIndex<'_>) -> Vec<Range<usize>> {
    static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:Found \d+ errors?(?: in \d+ files?.*|\.)|(?:\d+ warnings? and )?\d+ errors? generated\.|Your code has been rated at .*|\d+ issues?[:.].*)$").expect("well formed")
    });
    let counts =
        |at: &usize| matches!(firsts[*at], b'F' | b'Y' | b'0'..=b'9') && COUNTED.is_match(lines[*at]);
    let ends = (0..lines.len()).filter(counts);
    let mut last = 0;
    ends.filter_map(|end| {
        let mut has_some = false;
        let is_own = |line: &&&str| {
            let is_parsed = gcc_style::parse(line).is_some();
            has_some |= is_parsed;
            is_parsed
                || line.is_empty()
                || line.starts_with([' ', '\t'])
                || line.starts_with("***")
                || line.starts_with("---")
        };
        let start = end - lines[last..end].iter().rev().take_while(is_own).count();
        last = end;
        has_some.then_some(start..end)
    })
    .collect()
}

/// Returns the lines in which make reports a failed target. A failure that another make passes on counts once.
fn targets(own: LineIndex<'_>) -> Vec<usize> {
    let fails = |line: &str| {
        is_of_make(line)
            && line.contains(": *** [")
            && line.contains("Error ")
            && !line.ends_with("(ignored)")
    };
    let passes_on =
        |above: usize| is_of_make(own.lines[above]) && unrecognized::is_epilogue(own.lines[above]);
    let said = own.starting(b"gm");
    let said = said.filter(|(at, line)| fails(line) && !at.checked_sub(1).is_some_and(passes_on));
    said.map(|(at, _)| at).collect()
}

/// Returns the lines between the failures of targets. The first part is the block directly above the first failure.
fn between_targets(lines: &[&str], targets: &[usize]) -> Vec<Range<usize>> {
    let mut start = None;
    let mut parts = Vec::new();
    for end in targets.iter().copied() {
        let above = || end - lines[..end].iter().rev().take_while(|line| !line.trim().is_empty()).count();
        parts.push(start.unwrap_or_else(above)..end);
        start = Some(end + 1);
    }
    parts
}

/// Returns the last words of a program that died, if no other output follows.
fn final_words(lines: &[&str]) -> Option<Range<usize>> {
    let ends = |line: &&&str| !line.trim().is_empty() && !unrecognized::is_epilogue(line);
    let end = lines.iter().rposition(|line| ends(&line))? + 1;
    if lines[end - 1].starts_with("Node.js v") {
        return Some(0..end);
    }
    let begins =
        |line: &&str| line.starts_with("Traceback (most") || line.starts_with("Exception in thread \"");
    let start = lines[..end].iter().rposition(begins)?;
    let is_own = |line: &&str| {
        line.is_empty()
            || line.starts_with([' ', '\t'])
            || line.starts_with("Caused by")
            || exception(line).is_some()
    };
    lines[start + 1..end].iter().all(is_own).then_some(start..end)
}

/// Returns the lines above each line in which node prints its version, which it does when it dies.
fn node_crashes(own: LineIndex<'_>) -> Vec<Range<usize>> {
    let ends = own.starting(b"N").filter(|(_, line)| line.starts_with("Node.js v"));
    ends.map(|(end, _)| end.saturating_sub(CRASH_LINES)..end + 1).collect()
}

fn is_of_make(line: &str) -> bool {
    let rest = line.strip_prefix('g').unwrap_or(line).strip_prefix("make");
    rest.is_some_and(|rest| rest.starts_with([':', '[']))
}

/// Checks whether make could not run a program, or has no rule for a target.
fn is_make_error(line: &str) -> bool {
    is_of_make(line) && !unrecognized::is_epilogue(line)
}
