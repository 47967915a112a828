//! jest.

use std::sync::LazyLock;

use memchr::memmem;
use regex::Regex;

use super::{
    FailureCollector, FormatInput, OnTest, RawFailure, TestOutcome, indentation, until, without_time,
};

const TOOL: &str = "jest";

/// The message of jest if a test ends the process. The summary is then missing, unless another process runs that test.
const EXITED: &str = "process.exit called with ";

/// The beginning of the list of open handles.
const OPEN_HANDLES: &str = "Jest has detected the following ";

/// The first byte of `●`.
const BULLET: u8 = "●".as_bytes()[0];

/// Reads the blocks under `●`, each below the `FAIL` of its file.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let is_summary = |line: &str| line.starts_with("Test Suites:") || line.starts_with("Tests:");
    let is_own = |(_, line): (usize, &str)| is_summary(line) || block_title(line).is_some_and(is_exit);
    if !input.beginning(&[b'T', BULLET]).any(is_own) && !is_incomplete(input) {
        return read_settings_errors(input, collector);
    }
    let ends = |line: &str| block_title(line).is_some() || (!line.is_empty() && indentation(line) <= 1);
    let mut file = None;
    let handles = input.starting(b"J").find(|(_, line)| line.starts_with(OPEN_HANDLES)).map(|(at, _)| at);
    for (at, line) in input.beginning(&[b'F', b'P', BULLET]) {
        // An open handle, which keeps the process running, fails no test.
        if line.starts_with("  ●  ") && handles.is_some_and(|above| above < at) {
            continue;
        }
        if let Some((failed, name)) = headline(line) {
            file = failed.then(|| {
                let below = until(lines, at + 1, |line| headline(line).is_some());
                file_of(name, input.between(at + 1, at + 1 + below.len()))
            });
        } else if let Some(name) = block_title(line) {
            // A name of several lines ends above the first empty line.
            let more = until(lines, at + 1, |line| line.trim().is_empty() || line.starts_with(' '));
            let name = [name].iter().chain(more).copied().collect::<Vec<_>>().join(" ");
            let name = name.trim();
            let block = until(lines, at + 1 + more.len(), ends);
            if is_exit(name) {
                let draft = RawFailure::process(TOOL, "process.exit", block);
                collector.push(draft.message(&format!("● {name}\n{}", block.join("\n"))));
            } else if let Some(file) = file.filter(|_| !line.ends_with(" ● Console")) {
                push(file, name, block, collector);
            }
        }
    }
}

/// Checks whether a failure with a place in it follows a failed file. An exit suppresses the summary.
fn is_incomplete(input: &FormatInput<'_>) -> bool {
    let mut file = None;
    input.beginning(&[b'F', BULLET]).any(|(at, line)| {
        if let Some((true, name)) = headline(line) {
            file = Some(file_of(name, ""));
        }
        let block =
            || until(input.lines, at + 1, |line| block_title(line).is_some() || headline(line).is_some());
        let place = || file.map(|file| format!("({file}:"));
        block_title(line).is_some()
            && place().is_some_and(|place| block().iter().any(|line| line.contains(&place)))
    })
}

/// Reads the results of the tests below the headline of their file: with `--verbose`, and if there is only one file.
pub(crate) fn outcomes(lines: &[&str], tell: &mut OnTest<'_>) {
    let mut file = None;
    let mut groups: Vec<(usize, &str)> = Vec::new();
    for line in lines {
        if let Some((_, name)) = headline(line) {
            (file, groups) = (Some(file_of(name, "")), Vec::new());
            continue;
        }
        let Some(within) = file else { continue };
        let depth = indentation(line);
        if depth < 2 || line.trim().is_empty() {
            // The list ends at the first line that is not indented.
            file = None;
            continue;
        }
        groups.retain(|(at, _)| *at < depth);
        let Some((name, outcome)) = parse_outcome(line.trim()) else {
            groups.push((depth, line.trim()));
            continue;
        };
        let path: Vec<&str> =
            [within].into_iter().chain(groups.iter().map(|(_, group)| *group)).chain([name]).collect();
        tell(TOOL, &path.join(" › "), outcome);
    }
}

/// Returns the test in a line of the list, and its result.
fn parse_outcome(line: &str) -> Option<(&str, TestOutcome)> {
    const MARKS: [(&str, TestOutcome); 6] = [
        ("✓ ", TestOutcome::Passed),
        ("√ ", TestOutcome::Passed),
        ("✕ ", TestOutcome::Failed),
        ("× ", TestOutcome::Failed),
        ("○ skipped ", TestOutcome::Skipped),
        ("✎ todo ", TestOutcome::Skipped),
    ];
    let (name, outcome) =
        MARKS.iter().find_map(|(mark, outcome)| Some((line.strip_prefix(mark)?, *outcome)))?;
    Some((without_time(name), outcome))
}

/// Reads the errors in the settings, which are printed before anything runs: `● Validation Error:`.
fn read_settings_errors(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let wrong =
        input.starting(&[BULLET]).filter_map(|(at, line)| Some((at, line, line.strip_suffix(" Error:")?)));
    for (at, line, head) in wrong {
        let block =
            until(input.lines, at + 1, |line| line.trim_start().starts_with("Configuration Documentation:"));
        let kind = format!("{} error", head.trim_start_matches(['●', ' ']));
        collector.push(RawFailure::process(TOOL, &kind.to_lowercase(), block).with_line(line));
    }
}

/// Returns the name in the head of a block.
fn block_title(line: &str) -> Option<&str> {
    line.strip_prefix("  ● ").map(str::trim)
}

fn is_exit(name: &str) -> bool {
    name.starts_with(EXITED)
}

/// Returns whether the tests of a file failed, and the rest of its headline; `None` for any other line.
fn headline(line: &str) -> Option<(bool, &str)> {
    let line = line.strip_prefix(' ').unwrap_or(line);
    let failed = line.strip_prefix("FAIL ").map(|name| (true, name));
    failed.or_else(|| Some((false, line.strip_prefix("PASS ")?)))
}

/// Returns the file in a headline, without its project and the time. `below` is the text below the headline.
fn file_of<'a>(headline: &'a str, below: &str) -> &'a str {
    /// Maximum number of words in the name of a project.
    const WORDS_MAX: usize = 4;
    let headline = headline.trim().split(" (").next().unwrap_or_default();
    let behind = headline.match_indices(' ').map(|(at, _)| headline[at + 1..].trim_start());
    // A project name may contain spaces, and so may a path, but a frame contains only the path.
    let is_named = |file: &&str| memmem::find(below.as_bytes(), format!("({file}:").as_bytes()).is_some();
    let file = Some(headline).filter(|file| !file.contains(' '));
    let file = file.or_else(|| behind.take(WORDS_MAX).find(is_named));
    let file = file.or_else(|| headline.rsplit_once("  ").map(|(_, file)| file)).unwrap_or(headline);
    file.strip_prefix("./").unwrap_or(file)
}

fn push(file: &str, name: &str, block: &[&str], collector: &mut FailureCollector<'_>) {
    if name == "Console"
        || name.starts_with("Cannot log after tests are done")
        || name.starts_with("Obsolete")
    {
        return;
    }
    let whole_file = name == "Test suite failed to run";
    let full = format!("{file} › {name}");
    let mut draft = RawFailure::test(TOOL, &full, block);
    let message = format!("FAIL {file}\n● {name}\n{}", draft.message);
    let line = draft.line.filter(|_| draft.file.as_deref() == Some(file));
    if whole_file {
        draft.test = None;
    } else if let Some(source) = assertion_source(block) {
        draft.about = format!("{} | {source}", draft.about);
    }
    collector.push(draft.at(file, line).message(&message));
}

/// Returns the source line that jest points at, which identifies the assertion of the test.
fn assertion_source<'a>(block: &[&'a str]) -> Option<&'a str> {
    static POINTED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\s*>\s*\d+ \| (?P<source>.*)$").expect("well formed"));
    let found = block.iter().find_map(|line| POINTED.captures(line))?;
    Some(found.name("source")?.as_str().trim())
}
