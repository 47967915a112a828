//! What a panic of Rust says.

use std::collections::BTreeSet;

use super::{Reason, numbered};

/// Where a panic was, and what it said, which newer versions say below.
struct Head<'a> {
    file: &'a str,
    line: Option<u32>,
    message: Option<&'a str>,
}

impl<'a> Head<'a> {
    /// Takes `thread 'main' (12) panicked at src/lib.rs:3:5:` apart, or `thread 'main' panicked at 'message', src/lib.rs:3:5`.
    fn of(line: &'a str) -> Option<Self> {
        let (thread, told) = line.trim_start().strip_prefix("thread '")?.rsplit_once(" panicked at ")?;
        let number = thread.strip_suffix(')').and_then(|it| it.rsplit_once(" ("));
        let is_number = |(_, number): &(&str, &str)| number.bytes().all(|byte| byte.is_ascii_digit());
        let name = number.filter(is_number).map_or(thread, |(name, _)| name);
        let (place, _) = numbered(told.strip_suffix(':').unwrap_or(told))?;
        let (told, line) = numbered(place)?;
        let (message, file) = match told.strip_prefix('\'').and_then(|it| it.rsplit_once("', ")) {
            Some((message, file)) => (Some(message), file),
            None => (None, told),
        };
        let is_head = name.ends_with('\'') && !file.is_empty() && !file.contains(':');
        is_head.then(|| Self { file, line: line.parse().ok(), message })
    }
}

/// Reads `thread '...' panicked at ...` and the message behind it.
pub(super) fn panic(block: &[&str]) -> Option<Reason> {
    let (at, head) = block.iter().enumerate().find_map(|(at, line)| Some((at, Head::of(line)?)))?;
    let Head { file, line, message } = head;
    let file = Some(file.to_owned());
    if let Some(message) = message {
        return Some(Reason { kind: "panic".into(), about: message.into(), file, line, ..Reason::default() });
    }
    let message: Vec<&str> = block[at + 1..].iter().copied().take_while(|line| !ends(line)).collect();
    let prose = message.iter().copied().filter(|line| side(line).is_none()).map(str::trim);
    let mut about = prose.collect::<Vec<_>>().join(" ");
    for line in &message {
        if let Some((name, value)) = side(line) {
            about.push_str(&format!(" {name}: {}", words(value)));
        }
    }
    Some(Reason { kind: "panic".into(), about, values: message.join("\n"), file, line, ..Reason::default() })
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
