//! Plain text: without what steers a terminal, on one line, as long as may be shown.

use std::sync::LazyLock;

use regex::Regex;

use crate::snapshot::single_line;
use crate::text::pattern::regex;

/// Returns a line that a program printed as a sentence may quote it: nothing in it begins a new line or steers a terminal.
pub fn escape_controls(line: &str) -> String {
    single_line(&strip_ansi(line).replace('\t', " "))
}

/// Removes terminal escape sequences (CSI, OSC and the two-character ones).
///
/// An unfinished OSC sequence ends with its line: searching on to the end of the text would be
/// quadratic for a text full of them, and would swallow a verdict.
pub fn strip_ansi(text: &str) -> String {
    static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
        const CSI: &str = r"(?:\x1b\[|\x{9b})[ -?]*[@-~]?";
        const OSC: &str = r"\x1b[\]P^_][^\x07\x1b\r\n]*(?:\x07|\x1b\\?)?";
        const SHORT: &str = r"\x1b(?:[ -/][0-~]?|[0-~])?";
        regex(&format!("{CSI}|{OSC}|{SHORT}"))
    });
    ESCAPE.replace_all(text, "").into_owned()
}

/// Shortens a text that is quoted in a sentence.
pub fn quote(text: &str) -> String {
    const CHARS_MAX: usize = 120;
    let flat: String = text.chars().take(CHARS_MAX).collect();
    let flat = flat.replace(['\n', '\r'], " ");
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
