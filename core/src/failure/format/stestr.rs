//! stestr, a runner of Python's unittest in several processes.

use super::super::draft::{Draft, Found};
use super::{Sheet, until, without_time};

/// Reads `{0} NAME [0.1s] ... FAILED`, and the traceback below, which has empty lines between its frames.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    for (at, line) in sheet.marked() {
        let Some(name) = line.strip_suffix(" ... FAILED").and_then(name) else { continue };
        let told = until(sheet.lines, at + 1, |line| name_of(line).is_some() || line.starts_with("===="));
        found.printed(told);
        let draft = Draft::test("stestr", name, &without_source(told));
        let message = format!("{name}\n{}", draft.message);
        found.push(draft.message(&message));
    }
}

/// Returns the name behind the number of the process.
fn name(line: &str) -> Option<&str> {
    let (number, name) = line.strip_prefix('{')?.split_once("} ")?;
    number.bytes().all(|byte| byte.is_ascii_digit()).then(|| without_time(name))
}

/// Returns the name of a test that ended.
fn name_of(line: &str) -> Option<&str> {
    name(line.rsplit_once(" ... ")?.0)
}

/// Leaves the source text out: it stands less far in than its frame, as the exception does.
fn without_source<'a>(lines: &[&'a str]) -> Vec<&'a str> {
    let mut in_frame = false;
    let told = lines.iter().filter(|line| {
        let is_frame = line.trim_start().starts_with("File \"");
        let is_source = in_frame && !is_frame && !line.trim().is_empty();
        in_frame = is_frame || is_source;
        !is_source
    });
    told.copied().collect()
}
