//! A headline and a frame of source text that contains the place: `┌─ a.rs:3:5`, `╭─[a.ts:3:5]`.
//!
//! Tools with miette, ariadne or codespan print it: oxlint, cargo deny and others. Elixir has the place at the end.

use std::sync::LazyLock;

use regex::{Captures, Regex};

use super::{FailureCollector, FormatInput, RawFailure, until};

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\d+ )?(?:[┌└]─+|╭─+\[|,-+\[)\s*(?P<file>[^\s:\]][^:\]]*):(?P<line>\d+)(?::(?P<column>\d+))?(?:\s*\]|:|$)")
        .expect("well formed")
});

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?:\[(?P<code1>\w+)\] )?(?:(?i:(?P<level>error|warning|note|help|advice|info|bug))(?:\[(?P<code2>[\w:@/-]+)\])?:|(?P<mark>[×✖x!⚠☞])) +(?:(?P<code3>[\w-]+\([\w/@-]+\)): +)?(?P<what>\S.*)$")
        .expect("well formed")
});

/// Maximum distance of the headline above the place, in lines.
const LINES: usize = 40;

/// Reads every headline that a frame belongs to; the warnings only where nothing is an error.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    collector.push_errors(input.marked().filter_map(|(at, line)| problem(input.lines, at, line)).collect());
}

fn problem(lines: &[&str], at: usize, line: &str) -> Option<RawFailure> {
    let place = PLACE.captures(line)?;
    let first = at.saturating_sub(LINES);
    let above = lines[first..at].iter().enumerate().rev().take_while(|(_, line)| !line.trim().is_empty());
    let (start, head) = above.into_iter().find_map(|(up, line)| Some((first + up, HEAD.captures(line)?)))?;
    let text = |of: &Captures<'_>, name: &str| {
        of.name(name).map_or_else(String::new, |group| group.as_str().to_owned())
    };
    let weight = [text(&head, "level"), text(&head, "mark")].concat().to_lowercase();
    let is_warning = match weight.as_str() {
        "error" | "bug" | "×" | "✖" | "x" => false,
        "warning" | "!" | "⚠" => true,
        _ => return None,
    };
    let codes = ["code1", "code2", "code3"].map(|name| text(&head, name));
    let block = until(lines, at + 1, |line| line.trim().is_empty());
    let message = [&lines[start..=at], block].concat().join("\n");
    let number = |name: &str| text(&place, name).parse().ok();
    let draft = RawFailure::diagnostic("diagnostics", &text(&place, "file"), number("line"), &head["what"]);
    let draft = draft.kind(&codes.concat()).with_column(number("column"), "").warning(is_warning);
    Some(draft.message(message.trim_end()))
}
