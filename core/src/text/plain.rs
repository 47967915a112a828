//! Plain text: without what steers a terminal, on one line, as long as may be shown.

use crate::snapshot::on_one_line;

/// Returns a line that a program printed as a sentence may quote it: nothing in it begins a new line or steers a terminal.
pub fn quoted(line: &str) -> String {
    on_one_line(&strip_ansi(line).replace('\t', " "))
}

/// Removes terminal escape sequences (CSI, OSC and the two-character ones).
///
/// An unfinished OSC sequence ends with its line: searching on to the end of the text would be
/// quadratic for a text full of them, and would swallow a verdict.
pub fn strip_ansi(text: &str) -> String {
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
fn is_line_end(c: char) -> bool {
    matches!(c, '\n' | '\r')
}

/// Shortens a text that is quoted in a sentence.
pub fn quote(text: &str) -> String {
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
}
