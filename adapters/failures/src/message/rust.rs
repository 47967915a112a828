//! What a panic of Rust says.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use crate::parts::FailureMessage;
use crate::words::{is_number, numbered};

/// Where a panic was, and what it said, which newer versions say below.
struct PanicHeader<'a> {
    file: &'a str,
    line: Option<u32>,
    message: Option<&'a str>,
}

impl<'a> PanicHeader<'a> {
    /// Takes `thread 'main' (12) panicked at src/lib.rs:3:5:` apart, or `thread 'main' panicked at 'message', src/lib.rs:3:5`.
    fn of(line: &'a str) -> Option<Self> {
        let said = line.trim_start().strip_prefix("thread '")?;
        // The message may tell of another panic.
        let mut splits = said.rmatch_indices(PANICKED);
        splits.find_map(|(at, _)| Self::behind(&said[..at], &said[at + PANICKED.len()..]))
    }

    /// Takes apart what stands behind the name of a thread, if that is one, perhaps with its number.
    fn behind(thread: &str, told: &'a str) -> Option<Self> {
        let numbered_name = thread.strip_suffix(") ").and_then(|it| it.rsplit_once(" ("));
        let name = numbered_name.filter(|(_, number)| is_number(number)).map(|(name, _)| name);
        if !name.unwrap_or(thread.trim_end()).ends_with('\'') {
            return None;
        }
        let (place, _) = numbered(told.strip_suffix(':').unwrap_or(told))?;
        let (told, line) = numbered(place)?;
        let (message, file) = match told.strip_prefix('\'').and_then(|it| it.rsplit_once("', ")) {
            Some((message, file)) => (Some(message), file),
            None => (None, told),
        };
        let is_file = !file.is_empty() && !file.contains(':');
        is_file.then(|| Self { file, line: line.parse().ok(), message })
    }
}

/// What a thread says of itself.
const PANICKED: &str = "panicked at ";

/// Reads `thread '...' panicked at ...` and the message behind it.
pub(super) fn panic(block: &[&str]) -> Option<FailureMessage> {
    static PANIC: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new(PANICKED));
    let at = block.iter().position(|line| PANIC.find(line.as_bytes()).is_some())?;
    let PanicHeader { file, line, message } = PanicHeader::of(block[at])?;
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

/// Takes `left: ...` or `right: ...` apart.
fn side(line: &str) -> Option<(&str, &str)> {
    line.trim_start().split_once(": ").filter(|(name, _)| matches!(*name, "left" | "right"))
}

/// Returns the names in a value: which variants and types they are, in an order of their own, since a map
/// prints its entries in another one each time.
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
