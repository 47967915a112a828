//! biome: a place and a rule with a line after them, and the message below.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>\S.*?)(?::(?P<line>\d+):(?P<column>\d+))? (?P<rule>[a-z]\w*(?:/[\w/]+)?)(?: +[A-Z]+)* +━━+$")
        .expect("well formed")
});

/// Severities; the first two are errors.
const MARKS: [&str; 6] = ["× ", "✖ ", "! ", "⚠ ", "i ", "ℹ "];

/// Messages that are consequences of other problems in the file.
const DERIVED: [&str; 3] =
    ["Format with errors is disabled", "The file contains diagnostics", "Code formatting aborted"];

/// Reads every problem; warnings count only if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    collector.push_errors(input.marked().filter_map(|(at, line)| problem(input.lines, at, line)).collect());
    for (at, line) in input.marked().filter(|(_, line)| line.starts_with("reporter/")) {
        summary(line, until(input.lines, at + 1, |line| line.ends_with('━')), collector);
    }
}

/// Reads the summary, which names only the files that have problems.
fn summary(head: &str, block: &[&str], collector: &mut FailureCollector<'_>) {
    static FILE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^  - (?P<file>\S.*?)(?: \((?P<count>\d+ (?:error|warning|info)s?(?:, .*)?)\))?$")
            .expect("well formed")
    });
    let kind = head["reporter/".len()..].split(' ').next().unwrap_or_default();
    for line in block {
        let Some(file) = FILE.captures(line) else { continue };
        let counts_errors = file.name("count").is_none_or(|count| count.as_str().contains("error"));
        let draft = match kind {
            "format" => RawFailure::unformatted("biome", &file["file"], None, line.trim()),
            _ => RawFailure::diagnostic("biome", &file["file"], None, kind).kind(kind).message(line.trim()),
        };
        if counts_errors {
            collector.push(draft.with_line(line));
        }
    }
}

/// Reads one problem. The last one has no file and only states that there were some.
fn problem(lines: &[&str], at: usize, line: &str) -> Option<RawFailure> {
    let head = HEAD.captures(line)?;
    let block = until(lines, at + 1, |line| line.ends_with('━'));
    let marked = |line: &&str| {
        MARKS.iter().any(|mark| line.strip_prefix("  ").is_some_and(|rest| rest.starts_with(mark)))
    };
    let said = block.iter().copied().find(marked)?;
    let (mark, what) = said.trim_start().split_once(' ')?;
    let is_note = matches!(mark, "i" | "ℹ");
    if DERIVED.iter().any(|head| what.starts_with(head)) || (is_note && &head["rule"] != "format") {
        return None;
    }
    let number = |name: &str| head.name(name).and_then(|group| group.as_str().parse().ok());
    let message = format!("{line}\n{}", block.join("\n"));
    let draft = match &head["rule"] {
        "format" => RawFailure::unformatted("biome", &head["file"], None, &message),
        rule => RawFailure::diagnostic("biome", &head["file"], number("line"), what).kind(rule),
    };
    let weighs = matches!(mark, "×" | "✖") || &head["rule"] == "format";
    Some(draft.with_column(number("column"), "").warning(!weighs).message(message.trim_end()))
}
