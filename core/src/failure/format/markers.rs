//! The marks that many test tools set before the name of a failed test.

use super::super::draft::{Draft, Found};
use super::super::reason::indentation;
use super::{Sheet, tap, until, without_time};

const MARKS: &[&str] = &[
    "✗ ", "✖ ", "✘ ", "× ", "✕ ", "❌ ", "[FAIL] ", "[FAILED] ", "FAIL: ", "FAILED: ", "FAILED | ", "FAIL ",
    "FAILED ", "not ok ",
];

/// The marks that stand behind the name.
const ENDINGS: &[&str] =
    &[" ... FAILED", "... FAIL", " [FAILED]", " [FAIL]", ": FAILED", ": FAIL", "...failed"];

/// Reads the marked lines, and what is indented below each; lines with the mark behind the name only where
/// there are no others.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let before = found.len();
    for name in [marked_before, marked_behind] {
        if found.len() == before {
            read_marked(sheet.lines, name, found);
        }
    }
}

fn read_marked(lines: &[&str], name: fn(&str) -> Option<&str>, found: &mut Found<'_>) {
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name(line.trim()) else { continue };
        let block =
            until(lines, at + 1, |next| next.trim().is_empty() || indentation(next) <= indentation(line));
        let draft = Draft::test("markers", name, block);
        let message = format!("{}\n{}", line.trim(), draft.message);
        found.push(draft.message(&message));
    }
}

fn marked_before(line: &str) -> Option<&str> {
    // One byte tells most lines apart.
    if !matches!(line.as_bytes().first(), Some(b'F' | b'[' | b'n' | 0xc3 | 0xe2)) {
        return None;
    }
    let name = without_time(MARKS.iter().find_map(|mark| line.strip_prefix(mark))?);
    if let Some(point) = line.strip_prefix("not ok ") {
        let is_excused = point.rsplit_once(" #").is_some_and(|(_, directive)| tap::excuses(directive));
        return (!is_excused)
            .then(|| name.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-')));
    }
    // A number or a bracket behind the mark counts, and names nothing; nor does a row of other marks.
    let counts = name.trim_start().starts_with("found ") && name.contains(" problem");
    let names = !counts
        && !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '(' | '|'))
        && name.contains(char::is_alphabetic);
    names.then_some(name)
}

fn marked_behind(line: &str) -> Option<&str> {
    let name = ENDINGS.iter().find_map(|ending| without_time(line).strip_suffix(ending))?;
    (!name.is_empty()).then(|| name.trim_end_matches(['.', ' ']))
}
