//! Small words for people.

use std::path::Path;
use std::sync::LazyLock;
use std::time::{SystemTime, UNIX_EPOCH};

use regex::Regex;
use unstuck_core::id::Timestamp;
pub use unstuck_core::plural::count;

/// Returns the time now, by the wall clock.
pub fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// Returns a path with `~` for the home.
pub fn path(path: &Path) -> String {
    let home = std::env::var_os("HOME").or_else(|| std::env::var_os("USERPROFILE"));
    match home.as_deref().and_then(|home| path.strip_prefix(home).ok()) {
        Some(below) => format!("~/{}", below.display()),
        None => path.display().to_string(),
    }
}

/// Returns the first line of a text, cut to so many characters.
pub fn clip(text: &str, most: usize) -> String {
    let line = text.lines().next().unwrap_or_default();
    match line.char_indices().nth(most - 1) {
        Some((at, _)) if line.len() < text.trim_end().len() || line.chars().count() > most => {
            format!("{}…", &line[..at])
        }
        _ if line.len() < text.trim_end().len() => format!("{line}…"),
        _ => line.to_owned(),
    }
}

/// Says whether nothing is drawn for a character by itself: it is of one of the categories of Unicode for control, format,
/// private use, no character, and separators of lines and paragraphs.
pub fn is_invisible(character: char) -> bool {
    static INVISIBLE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"[\p{Cc}\p{Cf}\p{Co}\p{Cn}\p{Zl}\p{Zp}]").expect("it is one"));
    match character {
        ' '..='~' => false,
        _ => INVISIBLE.is_match(character.encode_utf8(&mut [0; 4])),
    }
}
