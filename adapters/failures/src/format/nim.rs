//! unittest of Nim: `  [FAILED] name` below `[Suite] name`, and the failure above it, with a place in brackets.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, indentation};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<file>\S.*?)\((?P<line>\d+), \d+\): (?:Check failed: (?P<stated>.*)|(?P<said>Expect .*))$",
    )
    .expect("well formed")
});
static RAISED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^Unhandled exception: (?P<said>.*) \[(?P<kind>\w+)\]$").expect("well formed")
});
static FRAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^(?P<file>\S.*?\.nim)\((?P<line>\d+)\) ").expect("well formed"));

/// Reads every failed test. A line that is not indented and has no reason above it is output.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (mut suite, mut begin) = ("", 0);
    for (at, line) in input.beginning(b"[") {
        let told = line.trim_start();
        if let Some(name) = told.strip_prefix("[Suite] ") {
            (suite, begin) = (name.trim(), at + 1);
            continue;
        }
        let is_end = ["[OK] ", "[SKIPPED] "].iter().any(|mark| told.starts_with(mark));
        let block = &input.lines[begin.max(at.saturating_sub(LINES_MAX))..at];
        if let Some(name) = told.strip_prefix("[FAILED] ") {
            let is_within = !suite.is_empty() && indentation(line) == STEP;
            let reasons = block.iter().any(|line| is_reason(line.trim()));
            if reasons || is_within {
                let name = if is_within { format!("{suite}::{name}") } else { name.to_owned() };
                collector.push(with_reason(
                    RawFailure::test("nim-unittest", &name, &[]).with_line(line),
                    block,
                    line,
                ));
                begin = at + 1;
            }
        } else if is_end {
            begin = at + 1;
        }
    }
}

/// Maximum number of lines of a reason above the name.
const LINES_MAX: usize = 200;
/// Indentation of a test relative to its suite.
const STEP: usize = 2;

fn is_reason(line: &str) -> bool {
    FAILED.is_match(line) || RAISED.is_match(line)
}

/// Sets the first reason from the lines above the name.
fn with_reason(draft: RawFailure, block: &[&str], head: &str) -> RawFailure {
    let said: Vec<&str> = block.iter().map(|line| line.trim()).collect();
    let first = said.iter().position(|line| is_reason(line) || FRAME.is_match(line)).unwrap_or(said.len());
    let message = [&[head.trim()], &said[first..]].concat().join("\n");
    let draft = draft.message(message.trim_end());
    if let Some(failed) = said.iter().find_map(|line| FAILED.captures(line)) {
        let about = failed.name("stated").or(failed.name("said")).map_or("", |what| what.as_str());
        let draft = draft.kind("expectation").about(about).at(&failed["file"], failed["line"].parse().ok());
        return RawFailure { style: MaskingStyle::Diagnostic, ..draft };
    }
    let Some(raised) = said.iter().find_map(|line| RAISED.captures(line)) else {
        return draft.kind("expectation");
    };
    let draft = draft.kind(&raised["kind"]).about(&raised["said"]);
    match said.iter().rev().find_map(|line| FRAME.captures(line)) {
        Some(frame) => draft.at(&frame["file"], frame["line"].parse().ok()),
        None => draft,
    }
}
