//! What a test of Go says.

use std::sync::LazyLock;

use regex::Regex;

use super::Reason;

static LOGGED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*(?P<file>[\w./-]+\.go):(?P<line>\d+):\s*(?P<what>.*)$").expect("well formed")
});

static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\t(?P<file>/?[^\s:]+\.go):(?P<line>\d+)(?: \+0x|$)").expect("well formed")
});

/// Reads the lines that a test logged with their places, or a panic.
pub(super) fn log(block: &[&str]) -> Option<Reason> {
    if let Some(at) = block.iter().position(|line| line.starts_with("panic: ")) {
        return Some(panic(&block[at..]));
    }
    if let [first, ..] = block
        && *first == "got:"
    {
        return Some(Reason {
            about: "example output".into(),
            values: block.join("\n"),
            ..Reason::default()
        });
    }
    let (at, head) = block
        .iter()
        .enumerate()
        .filter(|(_, line)| line.contains(".go:"))
        .find_map(|(at, line)| Some((at, LOGGED.captures(line)?)))?;
    let mut about = head["what"].to_owned();
    for line in block[at + 1..].iter().map(|line| line.trim()) {
        // Testify tells under headings; the trace and the name of the test say nothing new.
        let (name, told) = line.split_once(':').unwrap_or(("", line));
        match name {
            "Error Trace" | "Test" => {}
            "Error" | "Messages" => about = format!("{about} {}", told.trim()),
            _ if about.trim().is_empty() || about.ends_with(':') => about = format!("{about} {line}"),
            _ if block.len() < 12 && about.contains("unexpected error") => about = format!("{about} {line}"),
            _ => break,
        }
    }
    let values = block[at..].join("\n");
    let (file, line) = (Some(head["file"].to_owned()), head["line"].parse().ok());
    Some(Reason { about: about.trim().to_owned(), values, file, line, ..Reason::default() })
}

fn panic(block: &[&str]) -> Reason {
    let message = block[0].trim_start_matches("panic: ").trim_end_matches(" [recovered]");
    let frames = block.iter().filter_map(|line| FRAME.captures(line));
    let own = frames.into_iter().find(|frame| {
        !["/src/runtime/", "/src/testing/", "/go/src/"].iter().any(|it| frame["file"].contains(it))
    });
    Reason {
        kind: if message.contains("test timed out after") { "timeout".into() } else { "panic".into() },
        about: message.to_owned(),
        values: message.to_owned(),
        file: own.as_ref().map(|frame| frame["file"].to_owned()),
        line: own.and_then(|frame| frame["line"].parse().ok()),
        ..Reason::default()
    }
}
