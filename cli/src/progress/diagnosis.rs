//! Summary of a stuck step at the end of a run: failures, since when, and attempts.

use unstuck_core::evidence::headline;
use unstuck_core::id::Iteration;
use unstuck_replay::{FailureSummary, StepSummary};

use crate::format;

/// Maximum number of failures that are shown. The diagnosis has all of them.
const FAILURES_MAX: usize = 3;
/// Maximum number of the last attempts that are shown.
const ATTEMPTS_MAX: usize = 3;
/// Maximum characters of the message of a failure.
const MESSAGE_MAX: usize = 200;
/// Column of the text.
const INDENT: usize = 12;

/// Returns the lines for a step.
pub fn lines(step: &StepSummary) -> Vec<String> {
    let wrapped = |text: &str| format::wrap(text, format::width(), INDENT);
    let mut lines = Vec::new();
    let failing: Vec<_> = unstuck_replay::current_failures(step).collect();
    for (failure, since) in failing.iter().take(FAILURES_MAX) {
        let place = failure.place.as_ref().map_or_else(String::new, |place| format!(" · {place}"));
        let what = format!("{}{place} · {} · {since}", failure.name, failure.fingerprint);
        lines.push(format!("  fails     {}", wrapped(&what)));
        lines.extend(failure_line(failure).map(|told| format!("{:INDENT$}{}", "", wrapped(&told))));
    }
    let named: Vec<_> = unstuck_replay::current_fingerprints(step).collect();
    for (name, since) in named.iter().take(FAILURES_MAX) {
        lines.push(format!("  fails     {}", wrapped(&format!("{name} · {since}"))));
    }
    let more = failing.len().max(named.len()).saturating_sub(FAILURES_MAX);
    if more > 0 {
        lines.push(format!("{:INDENT$}and {more} more", ""));
    }
    let attempts = unstuck_replay::attempts(step);
    let tried = attempts.iter().rev().take(ATTEMPTS_MAX).rev();
    let tried: Vec<String> = tried.map(|(what, of)| format!("{what} ({})", range(of))).collect();
    if !tried.is_empty() {
        let more = if attempts.len() > ATTEMPTS_MAX { "..., " } else { "" };
        lines.push(format!("  tried     {}", wrapped(&format!("{more}{}", tried.join(", ")))));
    }
    lines
}

/// Returns what the tool says about a failure, on one line.
fn failure_line(failure: &FailureSummary) -> Option<String> {
    headline(&failure.message, &failure.name).map(|told| format::cut(&told, MESSAGE_MAX))
}

/// `#2`, `#2 to #4`.
fn range(of: &[Iteration]) -> String {
    match of {
        [first, .., last] => format!("#{first} to #{last}"),
        [one] => format!("#{one}"),
        [] => String::new(),
    }
}
