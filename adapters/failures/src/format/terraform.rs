//! Terraform, OpenTofu and tflint: `Error: summary`, the place, the source text, and the reason, with or without bars.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^  on (?P<file>\S.*?) line (?P<line>\d+)(?:, in (?P<item>.+?))?:?$").expect("well formed")
});

/// The rule of tflint.
static RULE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<what>.*\S) \((?P<rule>[a-z\d]+(?:_[a-z\d]+)+)\)$").expect("well formed")
});

/// Maximum distance of the place below the summary, in lines.
const LINES: usize = 8;

/// Reads every error; the warnings of tflint count if it has no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (mut drafts, mut free) = (Vec::new(), 0);
    for (at, line) in input.marked() {
        // The mark is in the summary, or in the place below it.
        let first = at.saturating_sub(LINES).max(free);
        let Some(start) = (first..=at).rev().find(|at| level(bare(input.lines[*at])).is_some()) else {
            continue;
        };
        free = start + 1;
        let Some((level, what)) = level(bare(input.lines[start])) else { continue };
        let is_boxed = input.lines[start].starts_with('│');
        if (is_boxed || at > start) && line.starts_with('│') == is_boxed {
            drafts.extend(problem(level, what, block(&input.lines[start + 1..], is_boxed)));
        }
    }
    collector.push_errors(drafts);
}

/// Removes the bar before a line.
fn bare(line: &str) -> &str {
    line.strip_prefix('│').map_or(line, |line| line.strip_prefix(' ').unwrap_or(line)).trim_end()
}

/// Splits a summary.
fn level(line: &str) -> Option<(&'static str, &str)> {
    let found =
        ["Error", "Warning", "Notice"].into_iter().find_map(|level| Some((level, line.strip_prefix(level)?)));
    let (level, what) = found?;
    Some((level, what.strip_prefix(": ")?))
}

/// Returns the lines below a summary, up to the end of its box or to the next one.
fn block<'a>(below: &[&'a str], is_boxed: bool) -> Vec<&'a str> {
    const LINES: usize = 60;
    let own = below.iter().take(LINES).take_while(|line| line.starts_with('│') == is_boxed);
    own.map(|line| bare(line)).take_while(|line| level(line).is_none()).collect()
}

fn problem(level: &str, what: &str, block: Vec<&str>) -> Option<RawFailure> {
    let near = block.iter().take(LINES).enumerate();
    let (at, place) = near.filter_map(|(at, line)| Some((at, PLACE.captures(line)?))).next().unzip();
    let (what, rule) = RULE.captures(what).map_or((what.to_owned(), String::new()), |ruled| {
        (ruled["what"].to_owned(), ruled["rule"].to_owned())
    });
    if level != "Error" && rule.is_empty() {
        return None;
    }
    // The affected instance, and after the source text the reason.
    let instance = block.iter().find_map(|line| line.strip_prefix("  with ")).unwrap_or_default();
    let why = block[at.unwrap_or_default()..].iter().skip_while(|line| !line.is_empty());
    let why = why.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty()).copied();
    let why = if rule.is_empty() { why.collect::<Vec<_>>().join(" ") } else { String::new() };
    let text = |name: &str| {
        place.as_ref().and_then(|captures| captures.name(name)).map_or("", |group| group.as_str())
    };
    let message = [&[what.as_str()], block.as_slice()].concat().join("\n");
    let draft = match text("item").strip_prefix("run \"").and_then(|item| item.strip_suffix('"')) {
        Some(run) => RawFailure::test("terraform", run, &[&what, &why]).with_test_file(text("file")),
        None => RawFailure::diagnostic("terraform", "", None, &what)
            .about(&[&what, text("item"), instance, &why].join(" "))
            .kind(&rule)
            .warning(level != "Error"),
    };
    Some(draft.at(text("file"), text("line").parse().ok()).message(message.trim_end()))
}
