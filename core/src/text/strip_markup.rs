//! Removes decoration from a line, and invisible characters, comments and thoughts from a text.

use std::sync::LazyLock;

use regex::Regex;

use crate::text::pattern::regex;
use crate::text::plain::strip_ansi;

/// Takes off a line what decorates it: lists, check boxes, emphasis, quotes, brackets, rules, symbols at its ends, a tag around
/// it, a final full stop.
pub fn strip_markup(line: &str) -> &str {
    let mut text = line;
    loop {
        let before = text.len();
        text = unnumbered(untagged(text.trim()).trim()).trim_matches(is_dress);
        text = text.trim_end_matches(['.', '!', '。', '！']);
        if text.len() == before {
            return text;
        }
    }
}

/// `<verdict>PASS</verdict>` is `PASS`.
fn untagged(text: &str) -> &str {
    let inside = || {
        let (name, rest) = text.strip_prefix('<')?.split_once('>')?;
        let is_name = !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let inside = rest.strip_suffix('>')?.strip_suffix(name)?.strip_suffix("</")?;
        (is_name && !name.is_empty()).then_some(inside)
    };
    inside().unwrap_or(text)
}

/// `1. PASS` and `- [x] PASS` are `PASS`.
fn unnumbered(text: &str) -> &str {
    static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"^(?:(?:[-*+•]|\d{1,2}[.)]|\[[ xX✓✔]?\])\s+)+"));
    NUMBER.find(text).map_or(text, |number| &text[number.end()..])
}

fn is_dress(c: char) -> bool {
    static SYMBOL: LazyLock<Regex> = LazyLock::new(|| regex(r"[\p{So}\p{Cf}\p{Mn}]"));
    const DRESS: &str = " \t*_~`\"'[](){}|#>•·=+-–—「」『』【】“”‘’«»\u{3000}";
    DRESS.contains(c) || (!c.is_ascii() && SYMBOL.is_match(c.encode_utf8(&mut [0; 4])))
}

/// Returns a text without terminal escapes and invisible characters.
pub fn visible(text: &str) -> String {
    let mut text = strip_ansi(text);
    text.retain(|c| {
        !matches!(c, '\0' | '\u{ad}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{feff}')
    });
    text
}

/// Returns a text without comments and thoughts. Lines keep their numbers.
pub fn without_asides(text: &str) -> String {
    const ASIDES: [(&str, &str); 4] = [
        ("<!--", "-->"),
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("<analysis>", "</analysis>"),
    ];
    let mut text = text.to_owned();
    for (open, close) in ASIDES {
        let mut kept = String::new();
        let mut rest = text.as_str();
        while let Some((before, inside, after)) = rest.split_once(open).and_then(|(before, behind)| {
            let (inside, after) = behind.split_once(close)?;
            Some((before, inside, after))
        }) {
            kept.push_str(before);
            kept.extend(inside.matches('\n'));
            rest = after;
        }
        if !kept.is_empty() || rest.len() < text.len() {
            text = kept + rest;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_and_thoughts_are_dropped_and_lines_keep_their_numbers() {
        for (text, expected) in [
            ("a<!-- b -->c", "ac"),
            ("<think>\nCOMPLETE\n</think>\nx", "\n\n\nx"),
            ("<think>a", "<think>a"),
            ("<think><think>a</think>b", "b"),
        ] {
            assert_eq!(without_asides(text), expected, "{text}");
        }
    }
}
