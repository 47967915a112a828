//! Reads the messages of Rust panics.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::parts::FailureMessage;
use crate::words::{is_number, numbered};

/// Location and message of a panic; newer versions print the message on the next line.
struct PanicHeader<'a> {
    file: &'a str,
    line: Option<u32>,
    message: Option<&'a str>,
}

impl<'a> PanicHeader<'a> {
    /// Splits `thread 'main' (12) panicked at src/lib.rs:3:5:` or
    /// `thread 'main' panicked at 'message', src/lib.rs:3:5`.
    fn parse(line: &'a str) -> Option<Self> {
        let said = line.trim_start().strip_prefix("thread '")?;
        // The message may mention another panic.
        let mut splits = said.rmatch_indices(PANICKED);
        splits.find_map(|(at, _)| Self::after_thread(&said[..at], &said[at + PANICKED.len()..]))
    }

    /// Splits the text after the name of a thread, perhaps with its number; `None` if there is no such name.
    fn after_thread(thread: &str, told: &'a str) -> Option<Self> {
        let numbered_name = thread.strip_suffix(") ").and_then(|rest| rest.rsplit_once(" ("));
        let name = numbered_name.filter(|(_, number)| is_number(number)).map(|(name, _)| name);
        if !name.unwrap_or(thread.trim_end()).ends_with('\'') {
            return None;
        }
        let (place, _) = numbered(told.strip_suffix(':').unwrap_or(told))?;
        let (told, line) = numbered(place)?;
        let (message, file) = match told.strip_prefix('\'').and_then(|rest| rest.rsplit_once("', ")) {
            Some((message, file)) => (Some(message), file),
            None => (None, told),
        };
        let is_file = !file.is_empty() && !file.contains(':');
        is_file.then(|| Self { file, line: line.parse().ok(), message })
    }
}

/// The words that follow the name of a thread that panics.
const PANICKED: &str = "panicked at ";

/// Reads `thread '...' panicked at ...` and the message after it.
pub(super) fn panic(block: &[&str]) -> Option<FailureMessage> {
    static PANIC: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(PANICKED));
    let at = block.iter().position(|line| PANIC.find(line.as_bytes()).is_some())?;
    let PanicHeader { file, line, message } = PanicHeader::parse(block[at])?;
    let file = Some(file.to_owned());
    if let Some(message) = message {
        return Some(FailureMessage {
            kind: "panic".into(),
            about: message.into(),
            file,
            line,
            ..FailureMessage::default()
        });
    }
    let message: Vec<&str> = block[at + 1..].iter().copied().take_while(|line| !ends(line)).collect();
    let prose = message.iter().copied().filter(|line| side(line).is_none()).map(str::trim);
    let mut about = prose.collect::<Vec<_>>().join(" ");
    for line in &message {
        if let Some((name, value)) = side(line) {
            about.push_str(&format!(" {name}: {}", words(value)));
        }
    }
    Some(FailureMessage {
        kind: "panic".into(),
        about,
        values: message.join("\n"),
        file,
        line,
        ..FailureMessage::default()
    })
}

fn ends(line: &str) -> bool {
    let line = line.trim();
    line.is_empty() || line.starts_with("note: run with `RUST_BACKTRACE") || line == "stack backtrace:"
}

/// Splits `left: ...` or `right: ...`.
fn side(line: &str) -> Option<(&str, &str)> {
    line.trim_start().split_once(": ").filter(|(name, _)| matches!(*name, "left" | "right"))
}

/// Returns the names of variants and types in a value, sorted, since the order of a map's entries varies.
fn words(value: &str) -> String {
    let mut outside = true;
    let bare: String = value
        .chars()
        .map(|c| {
            outside ^= c == '"';
            if outside { c } else { ' ' }
        })
        .collect();
    let is_inner = |c: char| !c.is_alphanumeric() && c != '_';
    let words = bare.split(is_inner).filter(|word| word.starts_with(|c: char| c.is_alphabetic()));
    words.collect::<BTreeSet<_>>().into_iter().collect::<Vec<_>>().join(" ")
}
