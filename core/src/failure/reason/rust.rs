//! What a panic of Rust says.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::Reason;

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*thread '.*'(?: \(\d+\))? panicked at (?:'(?P<old>.*)', )?(?P<file>[^:\n]+):(?P<line>\d+):\d+:?$")
        .expect("the pattern is well formed")
});

/// Reads `thread '...' panicked at ...` and the message behind it.
pub(super) fn panic(block: &[&str]) -> Option<Reason> {
    let at = block.iter().position(|line| line.contains("panicked at "))?;
    let head = HEAD.captures(block[at])?;
    let (file, line) = (Some(head["file"].to_owned()), head["line"].parse().ok());
    if let Some(message) = head.name("old") {
        return Some(Reason {
            kind: "panic".into(),
            about: message.as_str().into(),
            file,
            line,
            ..Reason::default()
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
