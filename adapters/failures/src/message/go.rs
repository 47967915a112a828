//! Reads the messages of Go tests.

use crate::parts::FailureMessage;
use crate::words::{is_number, is_of_word};

/// Splits `    app_test.go:12: said` into the file, the line, and the message.
fn split_log(line: &str) -> Option<(&str, &str, &str)> {
    let is_of_path = |c: char| is_of_word(c) || matches!(c, '.' | '/' | '-');
    // Most lines have no Go file before their first colon, so this check rejects them quickly.
    let (file, rest) = line.split_at(memchr::memchr(b':', line.as_bytes())?);
    let name = file.strip_suffix(".go")?.trim_start();
    let (number, said) = rest[1..].split_once(':')?;
    let is_head = !name.is_empty() && name.chars().all(is_of_path) && is_number(number);
    is_head.then(|| (file.trim_start(), number, said.trim_start()))
}

/// Takes the file and the line of a stack frame off a line, `\t/src/app.go:12 +0x1d`.
fn frame(line: &str) -> Option<(&str, &str)> {
    let place = line.strip_prefix('\t')?;
    let place = place.split_once(" +0x").map_or(place, |(place, _)| place);
    let (file, number) = place.split_once(':')?;
    let is_file = file.ends_with(".go") && file.len() > ".go".len() && !file.contains(char::is_whitespace);
    (is_file && is_number(number)).then_some((file, number))
}

/// Reads the lines that a test logged with their places, or a panic.
pub(super) fn log(block: &[&str]) -> Option<FailureMessage> {
    if let Some(at) = block.iter().position(|line| line.starts_with("panic: ")) {
        return Some(panic(&block[at..]));
    }
    if let [first, ..] = block
        && *first == "got:"
    {
        return Some(FailureMessage {
            about: "example output".into(),
            values: block.join("\n"),
            ..FailureMessage::default()
        });
    }
    let (at, (file, number, said)) =
        block.iter().enumerate().find_map(|(at, line)| Some((at, split_log(line)?)))?;
    let mut about = said.to_owned();
    for line in block[at + 1..].iter().map(|line| line.trim()) {
        // Testify prints headings; the trace and the name of the test add nothing new.
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
    let (file, line) = (Some(file.to_owned()), number.parse().ok());
    Some(FailureMessage { about: about.trim().to_owned(), values, file, line, ..FailureMessage::default() })
}

fn panic(block: &[&str]) -> FailureMessage {
    let message = block[0].trim_start_matches("panic: ").trim_end_matches(" [recovered]");
    let frames = block.iter().filter_map(|line| frame(line));
    let own = frames.into_iter().find(|(file, _)| {
        !["/src/runtime/", "/src/testing/", "/go/src/"].iter().any(|part| file.contains(part))
    });
    FailureMessage {
        kind: if message.contains("test timed out after") { "timeout".into() } else { "panic".into() },
        about: message.to_owned(),
        values: message.to_owned(),
        file: own.map(|(file, _)| file.to_owned()),
        line: own.and_then(|(_, number)| number.parse().ok()),
        ..FailureMessage::default()
    }
}
