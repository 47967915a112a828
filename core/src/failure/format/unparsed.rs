//! What nothing recognised: how the process ended, and the end of what it printed.

use std::sync::LazyLock;

use regex::Regex;

use super::super::draft::{Draft, Found, Style};
use super::super::page;
use super::super::{Confidence, Output, UNPARSED};

/// So many lines at the end stand for the whole output.
const TAIL_LINES: usize = 3;

/// Makes one failure of the whole output.
pub(in crate::failure) fn read(pages: &[&[&str]], output: &Output<'_>, found: &mut Found<'_>) -> Confidence {
    let printed = |lines: &&&[&str]| lines.iter().any(|line| is_telling(line));
    // The last stream that says something: standard error before standard output.
    let tail = pages.iter().rev().find(printed).map(|lines| tail(lines)).unwrap_or_default();
    let ended = ended(output.exit_code);
    if tail.is_empty() && output.exit_code.is_none() {
        return Confidence::Low;
    }
    if let Some(kind) = ended {
        // A time limit cuts the output anywhere, so its end says nothing.
        found.push(Draft {
            style: Style::Diagnostic,
            message: format!("{kind}\n{}", tail.join("\n")),
            ..Draft::process("process", kind, &[])
        });
        return Confidence::Medium;
    }
    let code = output.exit_code.map_or_else(String::new, |code| format!("exit {code}: "));
    let about = format!("{code}{}", tail.join("\n"));
    found.push(Draft::process("process", UNPARSED, &[]).about(&about).message(&about));
    Confidence::Low
}

/// Says by what a process was ended, as its exit code tells.
fn ended(code: Option<i32>) -> Option<&'static str> {
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

/// Returns the last lines; those of a log, which begin with a moment, only where there are no others.
fn tail<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let telling = || lines.iter().rev().filter(|line| is_telling(line));
    let mut tail: Vec<&str> =
        telling().take(TAIL_LINES).filter(|line| !page::is_stamped(line)).copied().collect();
    if tail.is_empty() {
        tail.extend(telling().next());
    }
    tail.reverse();
    tail
}

fn is_telling(line: &str) -> bool {
    !line.trim().is_empty() && !is_epilogue(line)
}

/// Says whether a line only passes a failure on: what make, npm and wrappers say at the end.
pub(super) fn is_epilogue(line: &str) -> bool {
    static EPILOGUE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?:g?make(?:\[\d+\])?: (?:\*\*\* \[.*|\*\*\* Waiting.*|Target .*|Entering .*|Leaving .*)$|npm (?:ERR!|error|warn) |yarn |error Command failed|ELIFECYCLE|Error: Process completed with exit code|##\[error\])|(?i)\b(?:rc|exit|exited|exited with|exit code|exit status|status|returned)[ =:]*\(?-?\d+\)?\.?$").expect("well formed")
    });
    EPILOGUE.is_match(line.trim())
}
