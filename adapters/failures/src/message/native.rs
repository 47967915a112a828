//! Reads the messages of C and C++ programs: GoogleTest, and `assert`.

use std::sync::LazyLock;

use regex::Regex;

use crate::parts::{FailureMessage, MaskingStyle};

static FAILURE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:(?P<file>.+?)[:(](?P<line>\d+)\)?|unknown file): (?:Failure|error)|(?P<file2>\S+\.(?:c|cc|cpp|cxx|h|hh|hpp)):(?P<line2>\d+)|unknown file)$")
        .expect("well formed")
});

/// Reads `file:line: Failure` and the expressions after it; only the first if there are several.
pub(super) fn googletest(block: &[&str]) -> Option<FailureMessage> {
    let heads = block.iter().enumerate().filter(|(_, line)| may_be_head(line));
    let (at, head) = heads.into_iter().find_map(|(at, line)| Some((at, FAILURE.captures(line)?)))?;
    let told = block[at + 1..]
        .iter()
        .copied()
        .take_while(|line| !(line.starts_with('[') || may_be_head(line) && FAILURE.is_match(line)));
    let told: Vec<&str> = told.collect();
    let lines = told.iter().map(|line| line.trim()).filter(|line| !line.is_empty());
    // The expressions are source text and stay as they are; their results are values.
    let is_value = |line: &str| line.starts_with("Which is:") || line.starts_with("Actual:");
    // The type of a thrown exception is not a value, but its description is.
    let stated = lines.map(|line| line.split(" with description").next().unwrap_or(line));
    let stated = stated.filter(|line| !is_value(line) || line.starts_with("Actual: it throws "));
    let stated = stated.filter(|line| !line.contains(" evaluates to "));
    let about = stated.take(6).collect::<Vec<_>>().join(" ");
    let kind = if about.starts_with("C++ exception") { "exception" } else { "expectation" };
    Some(FailureMessage {
        kind: kind.into(),
        about,
        values: told.join("\n"),
        file: head.name("file").or(head.name("file2")).map(|file| file.as_str().to_owned()),
        line: head.name("line").or(head.name("line2")).and_then(|line| line.as_str().parse().ok()),
        style: MaskingStyle::Diagnostic,
    })
}

/// Rejects most lines without the pattern.
fn may_be_head(line: &str) -> bool {
    line.ends_with(": Failure")
        || line.ends_with(": error")
        || line.starts_with("unknown file")
        || (line.ends_with(|c: char| c.is_ascii_digit()) && !line.contains(' ') && line.contains(':'))
}

static ASSERTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:^|\s)(?P<file>[^\s:]+):(?P<line>\d+): (?:.+: )?Assertion [`'](?P<what>.*)' failed\.?$")
        .expect("well formed")
});

/// Reads the line that `assert` prints.
pub(super) fn assertion(block: &[&str]) -> Option<FailureMessage> {
    let may_assert = |line: &&&str| line.ends_with("' failed.") || line.ends_with("' failed");
    let found = block.iter().filter(may_assert).find_map(|line| ASSERTION.captures(line))?;
    Some(FailureMessage {
        kind: "assert".into(),
        about: found["what"].to_owned(),
        values: String::new(),
        file: Some(found["file"].to_owned()),
        line: found["line"].parse().ok(),
        style: MaskingStyle::Diagnostic,
    })
}
