//! vitest.

use super::{FailureCollector, FormatInput, RawFailure, exception, until};

const TOOL: &str = "vitest";

/// The beginning of the name of a failed test.
const HEAD: &str = " FAIL  ";

/// The first byte of a rule.
const RULE: u8 = "⎯".as_bytes()[0];

/// Reads the blocks under `FAIL` and the unhandled errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let is_rule = |line: &str| line.starts_with('⎯');
    let is_head = |line: &str| line.starts_with(HEAD);
    let is_first = |line: &str| is_rule(line) && (line.contains(" Failed ") || line.contains(" Unhandled "));
    let Some((start, _)) = input.starting(&[RULE]).find(|(_, line)| is_first(line)) else {
        return;
    };
    let mut heads: Vec<&str> = Vec::new();
    let mut unhandled = false;
    for (at, line) in input.beginning(&[b'F', RULE]).skip_while(|(at, _)| *at < start) {
        if is_rule(line) {
            unhandled = line.contains(" Unhandled ") || (unhandled && !line.contains(" Failed "));
            // The exception is directly below the rule.
            let raised =
                lines.get(at + 1).filter(|line| unhandled && !is_head(line) && exception(line).is_some());
            if raised.is_some() {
                let draft = RawFailure::process(TOOL, "", until(lines, at + 1, is_rule));
                let kind = format!("unhandled {}", draft.kind);
                collector.push(draft.kind(&kind));
            }
        } else if let Some(name) = line.strip_prefix(HEAD) {
            heads.push(name);
            // Several retries, or several tests with the same reason, share a block.
            if lines.get(at + 1).is_some_and(|next| is_head(next)) {
                continue;
            }
            let block = until(lines, at + 1, |line| is_rule(line) || is_head(line));
            let mut told = heads.clone();
            told.dedup();
            for name in told {
                push(name, block, collector);
            }
            heads.clear();
        }
    }
}

fn push(name: &str, block: &[&str], collector: &mut FailureCollector<'_>) {
    // The name of a project precedes the file, in brackets or bars.
    let name = name.trim_start_matches('|').trim_start();
    let name = name.split_once("| ").map_or(name, |(_, rest)| rest);
    let place = name.split(" > ").next().unwrap_or(name);
    let name = place.rsplit_once("  ").map_or(name, |(project, _)| name[project.len()..].trim_start());
    let (file, rest) = name.split_once(" > ").unwrap_or((name.split(" [ ").next().unwrap_or(name), ""));
    let draft = RawFailure::test(TOOL, name.split(" [ ").next().unwrap_or(name), block);
    let line = draft.line.filter(|_| draft.file.as_deref() == Some(file));
    let draft = if rest.is_empty() { RawFailure { test: None, ..draft } } else { draft };
    collector.push(draft.at(file, line).with_heading(name));
}
