//! The marks that many test tools set before the name of a failed test.

use super::super::draft::{Draft, Found};
use super::super::reason::indentation;
use super::{Sheet, until, without_time};

const MARKS: &[&str] = &[
    "✗ ",
    "✖ ",
    "✘ ",
    "× ",
    "✕ ",
    "❌ ",
    "[FAIL] ",
    "[FAILED] ",
    "FAIL: ",
    "FAILED: ",
    "FAIL ",
    "FAILED ",
    "not ok ",
];

/// Reads the marked lines, and what is indented below each.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    for (at, line) in lines.iter().enumerate() {
        let bare = line.trim_start();
        // One byte tells most lines apart.
        if !matches!(bare.as_bytes().first(), Some(b'F' | b'[' | b'n' | 0xc3 | 0xe2)) {
            continue;
        }
        let Some(name) = MARKS.iter().find_map(|mark| bare.strip_prefix(mark)).map(without_time) else {
            continue;
        };
        if name.is_empty()
            || name.starts_with(|c: char| c.is_ascii_digit() || c == '(' || c == '|')
                && !bare.starts_with("not ok")
        {
            continue;
        }
        let name = if bare.starts_with("not ok ") {
            name.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-'))
        } else {
            name
        };
        let block =
            until(lines, at + 1, |next| next.trim().is_empty() || indentation(next) <= indentation(line));
        let draft = Draft::test("markers", name, block);
        let message = format!("{}\n{}", line.trim(), draft.message);
        found.push(draft.message(&message));
    }
}
