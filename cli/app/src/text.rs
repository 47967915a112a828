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

/// Returns a text of others without what would steer a terminal, turn the direction of reading or hide in it: characters
/// that nothing is drawn for, but for line feeds and tabs, become signs that stand for them.
pub fn sanitize(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    for (at, character) in text.char_indices() {
        let behind = at + character.len_utf8();
        let joins = || joins_emoji(&text[..at], &text[behind..]);
        plain.push(if character == JOINER && joins() { character } else { sign(character) });
    }
    plain
}

/// Joins two pictures to one.
const JOINER: char = '\u{200d}';

/// Says whether there is a picture on both sides.
fn joins_emoji(before: &str, behind: &str) -> bool {
    static PICTURE: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"^\p{Extended_Pictographic}").expect("it is one"));
    let is_modifier = |c: &char| matches!(c, '\u{fe0f}' | '\u{1f3fb}'..='\u{1f3ff}');
    let last = before.char_indices().rev().find(|(_, c)| !is_modifier(c));
    last.is_some_and(|(at, _)| PICTURE.is_match(&before[at..])) && PICTURE.is_match(behind)
}

fn sign(character: char) -> char {
    match character {
        '\n' | '\t' => character,
        '\0'..='\u{1f}' => char::from_u32(0x2400 + u32::from(character)).unwrap_or('\u{fffd}'),
        '\u{7f}' => '\u{2421}',
        _ if is_invisible(character) => '\u{fffd}',
        _ => character,
    }
}
