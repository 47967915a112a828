//! Linters that print a file once and indent its problems below: `3:5  error  message  (rule)`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style};

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?:[✖⚠×!] +)?(?P<line>\d+):(?P<column>\d+):?\s+(?:\[?(?P<level>(?i:error|warning|warn|info|note))\]?:?\s+)?(?:(?P<code>[A-Z]{1,6}\d{2,5}|[a-z]+(?:-[a-z]+)+:):? +)?(?:\[\*\] )?(?P<what>\S.*?)(?:\s\s+\(?(?P<rule>[\w@][\w@/.-]*)\)?|\s+\((?P<rule2>[\w@][\w@/-]*)\))?\s*$")
        .expect("well formed")
});

/// Reads the problems below each file; warnings count only if there are no errors.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (mut above, mut is_ruled, mut drafts) = ("", false, Vec::new());
    for (at, line) in input.lines.iter().enumerate() {
        // The first letter rejects most lines before the line above is checked for a file.
        let begin = input.begins[at];
        if input.firsts[at] == b' ' || input.firsts[at] == b'\t' {
            if begin.is_ascii_digit() || begin == b'!' || !begin.is_ascii() {
                drafts.extend(file(above).and_then(|file| problem(file, line)));
            }
            continue;
        }
        let coded = Some(above).filter(|_| is_ruled).and_then(|above| split_code(file(above)?, line));
        if begin == RULE[0] && line.as_bytes().starts_with(RULE) && file(above).is_some() {
            is_ruled = true;
        } else if coded.is_some() {
            drafts.extend(coded);
        } else {
            (above, is_ruled) = (line, false);
        }
    }
    collector.push_errors(drafts);
}

/// The rule below the name of a file.
const RULE: &[u8] = "───".as_bytes();

/// Returns the file that a line names.
fn file(line: &str) -> Option<&str> {
    Some(line.trim_end().trim_end_matches(':')).filter(|named| gcc_style::is_path(named))
}

fn problem(file: &str, line: &str) -> Option<RawFailure> {
    if !line.trim_start_matches([' ', '✖', '⚠', '×', '!']).starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let problem = PROBLEM.captures(line)?;
    let text = |name: &str| problem.name(name).map_or("", |group| group.as_str());
    let rule = ["code", "rule", "rule2"].into_iter().map(text).find(|rule| !rule.is_empty());
    let is_warning = text("level").to_ascii_lowercase().starts_with(['w', 'i', 'n']);
    let draft = RawFailure::diagnostic("diagnostics", file, text("line").parse().ok(), text("what"));
    let draft = draft.kind(rule.unwrap_or_default().trim_end_matches(':')).warning(is_warning);
    Some(draft.with_column(text("column").parse().ok(), "").message(line.trim()))
}

/// Splits `H013 1:0 message`, which follows a file and the rule below it.
fn split_code(file: &str, line: &str) -> Option<RawFailure> {
    let mut parts = line.splitn(3, ' ');
    let (code, place, what) = (parts.next()?, parts.next()?, parts.next()?);
    let (number, column) = place.split_once(':')?;
    let is_code =
        code.starts_with(|c: char| c.is_ascii_uppercase()) && code.ends_with(|c: char| c.is_ascii_digit());
    let draft = RawFailure::diagnostic("diagnostics", file, number.parse().ok(), what.trim()).kind(code);
    is_code.then(|| draft.with_column(column.parse().ok(), "").message(line))
}
