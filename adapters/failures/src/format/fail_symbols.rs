//! The marks that many test tools print before the name of a failed test.

use std::borrow::Cow;
use std::sync::LazyLock;

use regex::Regex;

use super::super::clean_output::CleanOutput;
use super::{FailureCollector, FormatInput, RawFailure, indentation, tap, until, without_time};

const MARKS: &[&str] = &[
    "✗ ", "✖ ", "✘ ", "× ", "✕ ", "❌ ", "[FAIL] ", "[FAILED] ", "FAIL: ", "FAILED: ", "FAILED | ", "FAIL ",
    "FAILED ", "not ok ",
];

/// The marks that follow the name.
const ENDINGS: &[&str] =
    &[" ... FAILED", "... FAIL", " [FAILED]", " [FAIL]", ": FAILED", ": FAIL", "...failed"];

/// Reads the marked lines, and the indented lines below. Marks after the name count only if no line begins with one.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let before = collector.len();
    for name in [marked_before, marked_behind] {
        if collector.len() == before {
            read_marked(input.lines, name, collector);
        }
    }
}

/// Checks whether several tests are marked as failed: a single mark may be quoted, or be the end of a build.
pub(crate) fn are_several(lines: &[&str]) -> bool {
    let mut names = lines.iter().filter_map(|line| marked_before(line.trim()));
    names.next().is_some_and(|first| names.any(|name| name != first))
}

/// Checks whether the last line that names a test says that it passed in a retry, or that it is expected to fail. Text
/// after a colon describes the failure.
pub(crate) fn passes_at_last(pages: &[CleanOutput<'_>; 2], name: &str) -> bool {
    const PASSED: [&str; 7] = ["PASS", "[PASS", "ok ", "OK ", "✓ ", "✔ ", "[       OK ]"];
    const ENDINGS: [&str; 6] = [" PASSED", " PASS", " ok", " OK", ": PASS", "...ok"];
    const MEANT: [&str; 4] = ["(expected)", "expected fail", "known fail", "xfail"];
    let name = name.split_once(": ").map_or(name, |(name, _)| name);
    let last = pages.iter().rev().find_map(|page| last_line(page.text(), name));
    let last = last.map(|line| without_time(line.trim())).unwrap_or_default();
    let is_meant = || MEANT.iter().any(|words| last.to_ascii_lowercase().contains(words));
    PASSED.iter().any(|mark| last.starts_with(mark))
        || ENDINGS.iter().any(|mark| last.ends_with(mark))
        || is_meant()
}

/// Returns the last line that contains a name as a separate word.
fn last_line<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let is_part = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let is_alone =
        |at: &usize| !text[..*at].ends_with(is_part) && !text[at + name.len()..].starts_with(is_part);
    let at = text.rmatch_indices(name).map(|(at, _)| at).find(is_alone)?;
    let start = text[..at].rfind('\n').map_or(0, |end| end + 1);
    text[start..].lines().next()
}

fn read_marked(lines: &[&str], name: fn(&str) -> Option<&str>, collector: &mut FailureCollector<'_>) {
    for (at, line) in lines.iter().enumerate() {
        let Some(name) = name(line.trim()) else { continue };
        let block =
            until(lines, at + 1, |next| next.trim().is_empty() || indentation(next) <= indentation(line));
        let (file, name) = split_place(name.trim());
        let draft = RawFailure::test("markers", &unquote(name), block).with_test_file(file);
        collector.push(draft.with_heading(line.trim()));
    }
}

fn marked_before(line: &str) -> Option<&str> {
    // One byte rejects most lines.
    if !matches!(line.as_bytes().first(), Some(b'F' | b'[' | b'n' | 0xc3 | 0xe2)) {
        return None;
    }
    let name = without_time(without_share(MARKS.iter().find_map(|mark| line.strip_prefix(mark))?));
    if let Some(point) = line.strip_prefix("not ok ") {
        let is_excused =
            point.rsplit_once(" #").is_some_and(|(_, directive)| tap::is_skip_directive(directive));
        return (!is_excused)
            .then(|| name.trim_start_matches(|c: char| c.is_ascii_digit() || matches!(c, ' ' | '-')));
    }
    let (name, counts_failed) = without_counts(name);
    // The lines below name the failed ones.
    if counts_failed {
        return None;
    }
    // A number or a bracket after the mark is a count, not a name; nor is a row of other marks.
    let counts = name.trim_start().starts_with("found ") && name.contains(" problem");
    let names = !counts
        && !name.is_empty()
        && !name.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '(' | '|'))
        && name.contains(char::is_alphabetic);
    names.then_some(name)
}

fn marked_behind(line: &str) -> Option<&str> {
    let name = ENDINGS.iter().find_map(|outcome| without_time(without_share(line)).strip_suffix(outcome))?;
    (!name.is_empty()).then(|| without_time(name.trim_end_matches(['.', ' '])))
}

/// Removes node-tap's counts, `6 failed 1 todo of 8 205ms` or `0 1.7s` (no tests), and returns whether some failed.
fn without_counts(name: &str) -> (&str, bool) {
    static COUNTED: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^(?P<file>\S+) (?:(?P<failed>\d+ failed )?(?:\d+ \w+ )*of )?\d+ [\d.]+m?s$")
            .expect("well formed")
    });
    let Some(counts) =
        Some(name).filter(|name| name.ends_with('s')).and_then(|name| COUNTED.captures(name.trim_start()))
    else {
        return (name, false);
    };
    let file = counts.name("file").map_or(name, |file| file.as_str());
    (file, counts.name("failed").is_some())
}

/// Removes the progress of the run from the end: `17%`, `[ 17%]`.
fn without_share(line: &str) -> &str {
    let Some(counted) = line.trim_end().trim_end_matches(']').strip_suffix('%') else { return line };
    let bare = counted.trim_end_matches(|c: char| c.is_ascii_digit());
    let is_apart = bare.len() < counted.len() && bare.ends_with([' ', '[']);
    if is_apart { bare.trim_end_matches([' ', '[']) } else { line }
}

/// Splits a name into the file and the name if a position precedes it: `test_a:4 adds`.
fn split_place(name: &str) -> (&str, &str) {
    let Some((place, rest)) = name.split_once(' ').filter(|(place, _)| !place.starts_with(':')) else {
        return ("", name);
    };
    let position = place.split_once(':').filter(|(_, position)| {
        let line = position.split(['[', ':']).next().unwrap_or_default();
        !line.is_empty() && line.bytes().all(|byte| byte.is_ascii_digit())
    });
    position.map_or(("", name), |(file, _)| (file, rest.trim()))
}

/// Removes the quotation marks of a name that follows its suite: `suite  "name"`.
fn unquote(name: &str) -> Cow<'_, str> {
    let (suite, test) = match name.split_once("  \"") {
        Some((suite, test)) => (suite, test),
        None => ("", name.strip_prefix('"').unwrap_or_default()),
    };
    match test.strip_suffix('"') {
        Some(test) => format!("{suite} {test}").trim().to_owned().into(),
        None => name.into(),
    }
}
