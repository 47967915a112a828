//! Turns recorded bytes into text and text into lines. Says nothing about what the text means.

use super::problem::Problem;
use crate::snapshot::on_one_line;

/// Decodes a decision file: UTF-8 with or without BOM, UTF-16 with BOM.
///
/// Bytes that are not valid are replaced by U+FFFD and noted, so one bad byte in a reason does not
/// cost the verdict.
pub(crate) fn decode(bytes: &[u8], problems: &mut Vec<Problem>) -> String {
    match bytes {
        [0xEF, 0xBB, 0xBF, rest @ ..] => {
            problems.push(Problem::Bom);
            decode_utf8(rest, problems)
        }
        [0xFE, 0xFF, rest @ ..] => decode_utf16(rest, u16::from_be_bytes, problems),
        [0xFF, 0xFE, rest @ ..] => decode_utf16(rest, u16::from_le_bytes, problems),
        _ => decode_utf8(bytes, problems),
    }
}

fn decode_utf8(bytes: &[u8], problems: &mut Vec<Problem>) -> String {
    match std::str::from_utf8(bytes) {
        Ok(text) => text.to_owned(),
        Err(error) => {
            problems.push(Problem::InvalidUtf8 { offset: error.valid_up_to() });
            String::from_utf8_lossy(bytes).into_owned()
        }
    }
}

fn decode_utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16, problems: &mut Vec<Problem>) -> String {
    problems.push(Problem::Utf16);
    let pairs = bytes.chunks_exact(2);
    let odd = !pairs.remainder().is_empty();
    let units: Vec<u16> = pairs.map(|pair| unit([pair[0], pair[1]])).collect();
    let mut offset = None;
    let mut text = String::with_capacity(units.len());
    for (index, decoded) in char::decode_utf16(units.iter().copied()).enumerate() {
        offset = offset.or(decoded.is_err().then_some(index * 2));
        text.push(decoded.unwrap_or(char::REPLACEMENT_CHARACTER));
    }
    if let Some(offset) = offset.or(odd.then_some(bytes.len())) {
        problems.push(Problem::InvalidUtf8 { offset });
    }
    text
}

/// Returns a line that a program printed as a sentence may quote it: nothing in it begins a new line or steers a terminal.
pub(crate) fn quoted(line: &str) -> String {
    on_one_line(&strip_ansi(line).replace('\t', " "))
}

/// Removes terminal escape sequences (CSI, OSC and the two-character ones).
///
/// An unfinished OSC sequence ends with its line: searching on to the end of the text would be
/// quadratic for a text full of them, and would swallow a verdict.
pub(crate) fn strip_ansi(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\u{1b}' => match chars.peek().copied() {
                Some('[') => {
                    chars.next();
                    skip_csi(&mut chars);
                }
                Some(']' | 'P' | '^' | '_') => skip_osc(&mut chars),
                Some(intermediate) if ('\u{20}'..='\u{2f}').contains(&intermediate) => {
                    chars.next();
                    if chars.peek().is_some_and(|c| ('\u{30}'..='\u{7e}').contains(c)) {
                        chars.next();
                    }
                }
                Some(last) if ('\u{30}'..='\u{7e}').contains(&last) => {
                    chars.next();
                }
                _ => {}
            },
            '\u{9b}' => skip_csi(&mut chars),
            _ => out.push(c),
        }
    }
    out
}

fn skip_csi(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while chars.peek().is_some_and(|c| ('\u{20}'..='\u{3f}').contains(c)) {
        chars.next();
    }
    if chars.peek().is_some_and(|c| ('\u{40}'..='\u{7e}').contains(c)) {
        chars.next();
    }
}

fn skip_osc(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while let Some(&c) = chars.peek() {
        match c {
            '\u{7}' => {
                chars.next();
                return;
            }
            '\u{1b}' => {
                chars.next();
                if chars.peek() == Some(&'\\') {
                    chars.next();
                }
                return;
            }
            _ if is_line_end(c) => return,
            _ => {
                chars.next();
            }
        }
    }
}

/// Tells whether a character ends a line. A lone carriage return does: progress bars and old files.
pub(crate) fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}')
}

/// Tells whether a character has no width and no meaning for us.
pub(crate) fn is_zero_width(c: char) -> bool {
    matches!(
        c,
        '\u{ad}'
            | '\u{200b}'..='\u{200f}'
            | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{2064}'
            | '\u{2066}'..='\u{2069}'
            | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}'
    )
}

/// One line of a text, without its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Line<'a> {
    /// Offset of the first byte in the text.
    pub start: usize,
    /// What stands between two line ends.
    pub text: &'a str,
}

/// Splits a text into lines.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let mut out = Vec::new();
    let mut start = 0;
    for (index, c) in text.char_indices().filter(|(_, c)| is_line_end(*c)) {
        out.push(Line { start, text: &text[start..index] });
        start = index + c.len_utf8();
    }
    out.push(Line { start, text: &text[start..] });
    out
}

/// Tells whether a character belongs to a script that is written without spaces between words.
pub(crate) fn is_cjk(c: char) -> bool {
    matches!(
        c,
        '\u{1100}'..='\u{11ff}'
            | '\u{3005}'..='\u{3007}'
            | '\u{3040}'..='\u{30ff}'
            | '\u{3130}'..='\u{318f}'
            | '\u{3400}'..='\u{9fff}'
            | '\u{ac00}'..='\u{d7af}'
            | '\u{f900}'..='\u{faff}'
            | '\u{20000}'..='\u{3ffff}'
    )
}

/// The words of a text in small letters, with straight apostrophes.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> {
    let joins = |c: char| c.is_alphanumeric() || matches!(c, '\'' | '’');
    let words = text.split(move |c: char| !joins(c)).filter(|word| !word.is_empty());
    words.map(|word| word.to_lowercase().replace('’', "'"))
}

/// Says whether a word is one of these.
pub(crate) fn is_in(word: &str, list: &[&str]) -> bool {
    list.contains(&word)
}

/// Characters of a line that are looked at beside an object, so that a line of many objects does not
/// cost a square of its length.
pub(crate) const BESIDE_CHARS_MAX: usize = 300;

/// Returns the end of a text, as far as it is looked at beside an object.
pub(crate) fn tail(text: &str) -> &str {
    let start = text.char_indices().rev().nth(BESIDE_CHARS_MAX).map_or(0, |(index, _)| index);
    &text[start..]
}

/// Returns the first characters of a text, so many at most.
pub(crate) fn head(text: &str, chars: usize) -> &str {
    let end = text.char_indices().nth(chars).map_or(text.len(), |(index, _)| index);
    &text[..end]
}

/// Shortens a text that is quoted in a sentence.
pub(crate) fn quote(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    let flat: String = text.chars().take(CHARS_MAX).map(|c| if is_line_end(c) { ' ' } else { c }).collect();
    if text.chars().nth(CHARS_MAX).is_some() { format!("{flat}...") } else { flat }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_of_every_kind_disappear_and_text_stays() {
        for (text, expected) in [
            ("\u{1b}[1m\u{1b}[31mCOMPLETE\u{1b}[0m", "COMPLETE"),
            ("\u{1b}]8;;http://x\u{7}PASS\u{1b}]8;;\u{1b}\\", "PASS"),
            ("\u{1b}]0;title never ends\nPASS", "\nPASS"),
            ("\u{1b}(BPASS\u{1b}7", "PASS"),
            ("\u{9b}32mPASS", "PASS"),
            ("PASS\u{1b}", "PASS"),
        ] {
            assert_eq!(strip_ansi(text), expected, "{text:?}");
        }
    }

    #[test]
    fn every_line_end_ends_a_line() {
        let found: Vec<&str> = lines("a\rb\r\nc\u{85}d\u{2028}e").iter().map(|l| l.text).collect();
        assert_eq!(found, ["a", "b", "", "c", "d", "e"]);
    }

    #[test]
    fn utf16_of_both_orders_is_read_and_an_odd_byte_noted() {
        let mut problems = Vec::new();
        assert_eq!(decode(b"\xFE\xFF\0O\0K", &mut problems), "OK");
        assert_eq!(decode(b"\xFF\xFEO\0K\0!", &mut problems), "OK");
        assert_eq!(problems.len(), 3);
    }
}
