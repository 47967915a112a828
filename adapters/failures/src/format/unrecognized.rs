//! Output that no reader recognized: the exit of the process, and everything that it printed.

use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::evidence::{Confidence, UNPARSED};

use super::super::log_prefix;
use super::super::output::ToolOutput;
use super::{FailureCollector, MaskingStyle, RawFailure};

/// Number of last lines that are shown.
const TAIL_LINES: usize = 3;

/// Maximum number of lines of one stream; only the last ones are used if there are more.
const LINES_MAX: usize = 100_000;

/// Creates one failure from the entire output.
pub(crate) fn read(
    pages: &[&[&str]],
    output: &ToolOutput<'_>,
    collector: &mut FailureCollector<'_>,
) -> Confidence {
    let mut told: Vec<Vec<&str>> = pages.iter().map(|lines| last_reports(lines, is_report)).collect();
    if told.iter().all(Vec::is_empty) {
        // If every line only passes a failure on, that tool may have failed itself: npm has no such script.
        told = pages.iter().map(|lines| last_reports(lines, |line| !line.trim().is_empty())).collect();
    }
    told.iter_mut().for_each(remove_wrapper_head);
    // The last stream with text: standard error before standard output.
    let tail = told.iter().rfind(|lines| !lines.is_empty()).map(|lines| tail(lines)).unwrap_or_default();
    if tail.is_empty() && output.exit_code.is_none() {
        return Confidence::Low;
    }
    if let Some(kind) = exit_reason(output.exit_code) {
        // A time limit cuts the output anywhere, so the output says nothing. A crash reports its reason, if at all,
        // first on standard error, which is unbuffered; stacks and dumps follow.
        let said = told.last().and_then(|lines| lines.first()).filter(|_| is_crash(kind));
        collector.push(RawFailure {
            message: format!("{kind}\n{}", tail.join("\n")),
            ..of_lines(kind, said.copied().unwrap_or_default())
        });
        return Confidence::Medium;
    }
    let code = output.exit_code.map_or_else(String::new, |code| format!("exit {code}: "));
    let lines: Vec<&str> = told.concat().into_iter().map(title).collect();
    let about = format!("{code}\n{}", lines.join("\n"));
    let message = match output.exit_code {
        Some(code) if tail.is_empty() => format!("exit {code}, and it printed nothing"),
        _ => format!("{code}{}", tail.join("\n")),
    };
    collector.push(of_lines(UNPARSED, &about).message(&message));
    Confidence::Low
}

/// Returns a line without the rules around it, which are as long as the terminal is wide.
fn title(line: &str) -> &str {
    const RULES: [char; 8] = ['=', '-', '_', '*', '~', '─', '━', '═'];
    const SHORTEST: usize = 4;
    let is_ruled = line.chars().take(SHORTEST).filter(|c| RULES.contains(c)).count() == SHORTEST;
    if is_ruled { line.trim_matches(RULES).trim() } else { line }
}

/// Begins the failure of a process that all of these lines distinguish from others.
fn of_lines(kind: &str, about: &str) -> RawFailure {
    RawFailure { style: MaskingStyle::Lines, ..RawFailure::process("process", kind, &[]).about(about) }
}

/// Returns the signal or limit that ended a process, by its exit code.
fn exit_reason(code: Option<i32>) -> Option<&'static str> {
    match code? {
        124 => Some("timeout"),
        130 | -2 => Some("SIGINT"),
        132 | -4 => Some("SIGILL"),
        134 | -6 => Some("SIGABRT"),
        135 | -7 => Some("SIGBUS"),
        136 | -8 => Some("SIGFPE"),
        137 | -9 => Some("SIGKILL"),
        139 | -11 => Some("SIGSEGV"),
        143 | -15 => Some("SIGTERM"),
        _ => None,
    }
}

/// Checks whether a process crashed by itself, at a point that is the same each time.
fn is_crash(kind: &str) -> bool {
    matches!(kind, "SIGILL" | "SIGABRT" | "SIGBUS" | "SIGFPE" | "SIGSEGV")
}

/// Returns the last wanted lines, without those in which npm or a shell prints the command that it runs.
fn last_reports<'a>(lines: &[&'a str], is_wanted: impl Fn(&str) -> bool) -> Vec<&'a str> {
    let begins = |begin: &str| lines.iter().any(|line| line.starts_with(begin));
    // A difference that adds lines also removes some.
    let is_traced = begins("+ ") && !begins("- ");
    let is_of_npm = lines.iter().any(|line| NPM.is_match(line));
    let is_run = |line: &str| {
        (is_traced && line.trim_start_matches('+').starts_with(' ') && line.starts_with('+'))
            || (is_of_npm && line.starts_with("> "))
    };
    let wanted = lines.iter().rev().filter(|line| is_wanted(line) && !is_run(line)).take(LINES_MAX);
    let mut wanted: Vec<&str> = wanted.copied().collect();
    wanted.reverse();
    wanted
}

/// Removes a first line with a timestamp if the next one has none: a wrapper prints where and as which user it starts.
fn remove_wrapper_head(lines: &mut Vec<&str>) {
    let is_head = lines.split_first().is_some_and(|(first, rest)| {
        log_prefix::has_timestamp(first) && rest.first().is_some_and(|line| !log_prefix::has_timestamp(line))
    });
    if is_head {
        lines.remove(0);
    }
}

/// Returns the lines to show. Log lines, which begin with a timestamp, count only if there are no others.
fn tail<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let last = &lines[lines.len().saturating_sub(TAIL_LINES)..];
    let tail: Vec<&str> = last.iter().filter(|line| !log_prefix::has_timestamp(line)).copied().collect();
    if tail.is_empty() { lines.last().copied().into_iter().collect() } else { tail }
}

/// Checks whether a line reports a failure itself, and says more than an exit code.
fn is_report(line: &str) -> bool {
    const WORDS_MAX: usize = 6;
    let line = line.trim();
    let only_ends = || ENDS.is_match(line) && line.split_whitespace().count() <= WORDS_MAX;
    !line.is_empty() && !PASSES_ON.is_match(line) && !only_ends()
}

/// Checks whether a line only passes a failure on, like the last lines of make, npm and wrappers.
pub(crate) fn is_epilogue(line: &str) -> bool {
    PASSES_ON.is_match(line.trim()) || ENDS.is_match(line.trim())
}

static PASSES_ON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:g?make(?:\[\d+\])?: (?:\*\*\* \[.*|\*\*\* Waiting.*|Target .*|Entering .*|Leaving .*)$|npm warn |npm (?:ERR!|error)(?: (?:Lifecycle|code (?:ELIFECYCLE|\d)|errno|syscall|spawn|path|workspace|location|command|Exit status|Failed at|This is probably|There is likely|Test failed|A complete log|    /).*)?$|yarn |error Command failed|ELIFECYCLE|Error: Process completed with exit code|##\[error\]|(?:real|user|sys)\s+\d+m?[\d.]+s?$|\S*sh: line \d+: +\d+ (?:Aborted|Done|Segmentation fault|Killed|Terminated)\b)").expect("well formed")
});

/// The line that npm prints before it runs a script: its package with the version, and the name of the script.
static NPM: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"^> \S+@\d\S* \S+$").expect("well formed"));

/// An exit code at the end of a line.
static ENDS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)\b(?:rc|exit|exited|exited with|exit code|exit status|status|returned)[ =:]*\(?-?\d+\)?\.?$",
    )
    .expect("well formed")
});
