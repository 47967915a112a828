//! The formats, one file each: where a tool reports failures, and how it names them.
//!
//! A reader scans the lines once and finds the block of each failure. [`message`](super::message) reads the content of
//! the block. A reader is called if the output may be in its format, and must check that itself: lines that a passing
//! test printed must not become failures.

pub(super) mod ansible_lint;
pub(super) mod automake;
pub(super) mod ava;
pub(super) mod bandit;
pub(super) mod bare_location;
pub(super) mod bats;
pub(super) mod behave;
pub(super) mod biome;
pub(super) mod boost;
pub(super) mod bun_test;
pub(super) mod busted;
pub(super) mod by_file;
pub(super) mod cargo_json;
pub(super) mod catch2;
pub(super) mod checkstyle;
pub(super) mod ci_annotations;
pub(super) mod clojure;
pub(super) mod cmake;
pub(super) mod compact;
pub(super) mod coverage;
pub(super) mod criterion;
pub(super) mod csv;
pub(super) mod ctest;
pub(super) mod cucumber;
pub(super) mod dart_analyze;
pub(super) mod dart_test;
pub(super) mod deno_check;
pub(super) mod deno_fmt;
pub(super) mod deno_test;
pub(super) mod diagnostics;
pub(super) mod doctest;
pub(super) mod dotnet;
pub(super) mod elixir;
pub(super) mod error_prefix;
pub(super) mod eslint;
pub(super) mod eslint_pretty;
pub(super) mod eunit;
pub(super) mod exunit;
pub(super) mod fail_symbols;
mod failure_lists;
pub(super) mod formatter_check;
pub(super) mod formatter_list;
pub(super) mod foundry;
pub(super) mod framed_snippet;
pub(super) mod gcc_style;
mod go_lines;
pub(super) mod go_test;
pub(super) mod go_test_json;
pub(super) mod gotestsum;
pub(super) mod gradle;
pub(super) mod gtest;
pub(super) mod jest;
pub(super) mod julia;
pub(super) mod junit;
pub(super) mod karma;
pub(super) mod knip;
pub(super) mod kotlin;
pub(super) mod libcheck;
pub(super) mod libtest;
mod libtest_lines;
pub(super) mod lint_json;
mod location;
pub(super) mod maven;
pub(super) mod meson;
pub(super) mod minitest;
pub(super) mod missing_newline;
pub(super) mod mocha;
pub(super) mod munit;
pub(super) mod nextest;
pub(super) mod nim;
pub(super) mod node_test;
pub(super) mod numbered_failures;
mod numbered_items;
pub(super) mod path_list;
pub(super) mod pester;
pub(super) mod php_pest;
pub(super) mod phpcs;
pub(super) mod phpstan;
pub(super) mod phpunit;
pub(super) mod playwright;
pub(super) mod poku;
pub(super) mod pre_commit;
pub(super) mod prove;
pub(super) mod psalm;
pub(super) mod pyright;
pub(super) mod pytest;
pub(super) mod pytest_startup_error;
pub(super) mod pytest_timeout;
pub(super) mod python_green;
pub(super) mod robot_framework;
pub(super) mod rspec;
pub(super) mod rubocop;
pub(super) mod rule_prefix;
pub(super) mod rustc_style;
pub(super) mod rustfmt;
pub(super) mod sanitizer;
pub(super) mod sarif;
pub(super) mod scalac;
pub(super) mod scalatest;
pub(super) mod shell;
pub(super) mod shellcheck;
pub(super) mod shunit2;
pub(super) mod sqlfluff;
pub(super) mod stestr;
pub(super) mod subunit;
pub(super) mod svelte_check;
pub(super) mod swift_testing;
pub(super) mod tap;
pub(super) mod tasty;
pub(super) mod teamcity;
pub(super) mod terraform;
pub(super) mod test_json;
pub(super) mod testthat;
pub(super) mod traceback;
pub(super) mod tsc;
pub(super) mod twisted_trial;
pub(super) mod unified_diff;
pub(super) mod unittest;
pub(super) mod unity;
pub(super) mod unrecognized;
pub(super) mod vitest;
pub(super) mod xctest;
pub(super) mod zig;

use std::ops::{Deref, Range};

use memchr::memmem;
use regex::Regex;
use serde_json::Value;

use super::collector::FailureCollector;
use super::ending::{OnTest, TestOutcome};
use super::line_index::{LineIndex, places};
use super::message::exception;
use super::parts::MaskingStyle;
use super::raw_failure::RawFailure;
use super::words::{
    begins, indentation, is_decimal, is_frame, is_number, is_parent, leading_number, numbered,
};
use super::work;

/// The cleaned text of one stream or report.
pub(super) struct FormatInput<'a> {
    /// All of it.
    pub(super) text: &'a str,
    pub(super) own: LineIndex<'a>,
    /// The numbers of the lines with marks of the reader's format.
    pub(super) marked: &'a [usize],
    /// The lines of the other stream.
    pub(super) beside: LineIndex<'a>,
}

/// Gives access to the lines, which readers use most.
impl<'a> Deref for FormatInput<'a> {
    type Target = LineIndex<'a>;

    fn deref(&self) -> &LineIndex<'a> {
        &self.own
    }
}

impl<'a> FormatInput<'a> {
    /// Returns the lines with marks of the format, with their numbers.
    fn marked(&self) -> impl DoubleEndedIterator<Item = (usize, &'a str)> + use<'a> {
        let lines = self.lines;
        // A line that a failed test printed is empty.
        self.marked.iter().map(move |at| (*at, lines[*at])).filter(|(_, line)| !line.is_empty())
    }

    /// Returns the lines with marks of the format within a range, with their numbers.
    fn marked_within(&self, lines: Range<usize>) -> impl DoubleEndedIterator<Item = (usize, &'a str)> {
        let before = |end: usize| self.marked.partition_point(|at| *at < end);
        let marked = &self.marked[before(lines.start)..before(lines.end)];
        FormatInput { marked, ..*self }.marked()
    }

    /// Checks whether the text contains a string.
    fn has(&self, text: &str) -> bool {
        memmem::find(self.text.as_bytes(), text.as_bytes()).is_some()
    }

    /// Returns the lines that contain a string, with their numbers. One search is cheaper than one per line.
    fn with<'t>(&self, text: &'t str) -> impl Iterator<Item = (usize, &'a str)> + use<'a, 't> {
        self.lines_at(memmem::find_iter(self.text.as_bytes(), text))
    }

    /// Returns the lines that match a pattern, with their numbers; the pattern must not span two lines.
    fn matching<'t>(&self, pattern: &'t Regex) -> impl Iterator<Item = (usize, &'a str)> + use<'a, 't> {
        self.lines_at(pattern.find_iter(self.text).map(|found| found.start()))
    }

    /// Returns the lines at these positions of the text, with their numbers; the positions must be in order.
    fn lines_at<I: Iterator<Item = usize>>(
        &self,
        places: I,
    ) -> impl Iterator<Item = (usize, &'a str)> + use<'a, I> {
        let (mut line, mut counted, mut next) = (0, 0, 0);
        let (all, lines) = (self.text.as_bytes(), self.lines);
        places.filter_map(move |at| {
            line += memchr::memchr_iter(b'\n', &all[counted..at]).count();
            counted = at;
            let is_new = line >= next && !lines[line].is_empty();
            next = line + 1;
            is_new.then(|| (line, lines[line]))
        })
    }

    /// Returns the text from one line up to another, which is excluded.
    fn between(&self, start: usize, end: usize) -> &'a str {
        &self.text[self.offset_of(start)..self.offset_of(end)]
    }

    /// Returns the position of the line with this number in the text; after the last line, the end of the text.
    fn offset_of(&self, line: usize) -> usize {
        self.lines.get(line).map_or(self.text.len(), |line| self.offset(line))
    }

    /// Returns the position of a line in the text.
    fn offset(&self, line: &str) -> usize {
        line.as_ptr().addr() - self.text.as_ptr().addr()
    }

    /// Checks whether a line is empty because it was already read.
    fn is_hidden(&self, line: &str) -> bool {
        line.is_empty() && !matches!(self.text.as_bytes().get(self.offset(line)), None | Some(b'\n'))
    }

    /// Returns the JSON documents that begin at the start of a line.
    fn documents(&self) -> impl Iterator<Item = Value> {
        let mut end = 0;
        self.starting(b"{[").flat_map(move |(at, line)| {
            let mut start = self.offset(line);
            let mut documents = Vec::new();
            if start < end || self.is_foreign(at, line) {
                return documents;
            }
            loop {
                let near = self.within_budget(at, start);
                let mut values = serde_json::Deserializer::from_str(near).into_iter();
                let Some(Ok(value)) = values.next() else {
                    work::spend(memchr::memchr_iter(b'\n', &near.as_bytes()[..values.byte_offset()]).count());
                    break;
                };
                documents.push(value);
                end = start + values.byte_offset();
                // Some separate them by NUL instead of a line feed.
                start = self.text.len() - self.text[end..].trim_start_matches('\0').len();
                if !self.text[start..].starts_with('{') {
                    break;
                }
            }
            documents
        })
    }

    /// Returns the text from a position in a line, as far as the budget of the reader allows.
    fn within_budget(&self, line: usize, start: usize) -> &'a str {
        let lines = line..line + work::allowed(self.lines.len() - line);
        &self.text[start..self.offset_of(lines.end).max(start)]
    }

    /// Checks whether a line is a complete object, but not in the reader's format.
    fn is_foreign(&self, at: usize, line: &str) -> bool {
        line.starts_with('{')
            && line.ends_with('}')
            && !self.marked.is_empty()
            && self.marked.binary_search(&at).is_err()
    }
}

/// Returns the lines from `start` up to the first that ends the block, as far as the budget of the reader allows.
fn until<'s, 'a>(lines: &'s [&'a str], start: usize, ends: impl Fn(&str) -> bool) -> &'s [&'a str] {
    let rest = within_budget(&lines[start.min(lines.len())..]);
    let block = &rest[..rest.iter().position(|line| ends(line)).unwrap_or(rest.len())];
    work::spend(block.len() + 1);
    block
}

/// Iterates over lines as far as the budget of the reader allows.
fn scan<'s, 'a>(lines: &'s [&'a str]) -> impl Iterator<Item = &'s &'a str> {
    lines.iter().take_while(|_| work::step())
}

/// Iterates backwards over lines as far as the budget of the reader allows.
fn scan_back<'s, 'a>(lines: &'s [&'a str]) -> impl Iterator<Item = &'s &'a str> {
    lines.iter().rev().take_while(|_| work::step())
}

/// Returns the lines that the reader may scan.
fn within_budget<'s, 'a>(lines: &'s [&'a str]) -> &'s [&'a str] {
    &lines[..work::allowed(lines.len())]
}

/// Returns the first lines of blocks, each with the end of its block: the next block, or the last line.
fn blocks(heads: impl Iterator<Item = usize>, end: usize) -> impl Iterator<Item = (usize, usize)> {
    let mut heads = heads.peekable();
    std::iter::from_fn(move || Some((heads.next()?, heads.peek().copied().unwrap_or(end))))
}

/// Splits `File "a.py", line 3, in name` into the file, the line, and the rest.
pub(super) fn python_place(line: &str) -> Option<(&str, Option<u32>, &str)> {
    let (file, rest) = line.strip_prefix("File \"")?.split_once("\", line ")?;
    let (number, rest) = rest.split_at(rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len()));
    Some((file, number.parse().ok(), rest))
}

/// Reads a JSON number, such as a line number.
fn number(value: &Value) -> Option<u32> {
    value.as_u64().and_then(|number| u32::try_from(number).ok())
}

/// Returns the items of a JSON list; empty for other values.
fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// Returns a JSON string; empty for other values.
fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

/// Removes a duration in brackets from the end of a name: `(12.3ms)`, `[0.01s]`, `12ms`.
pub(super) fn without_time(name: &str) -> &str {
    let name = name.trim_end();
    let open = name.rfind(['(', '[']).filter(|at| name.ends_with([')', ']']) && *at > 0);
    let Some(open) = open else { return name };
    let inner = name[open + 1..name.len() - 1].trim_start_matches(['<', '>', ' ']).trim_end();
    let unit = inner.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, '.' | ',')).trim();
    let is_time = inner.starts_with(|c: char| c.is_ascii_digit())
        && matches!(unit, "ms" | "s" | "µs" | "μs" | "us" | "ns" | "m" | "min" | "sec" | "seconds");
    if is_time { name[..open].trim_end() } else { name }
}
