//! Catch2 and doctest: an assertion with its expansion, under the name of the test case.

use std::sync::LazyLock;

use regex::Regex;

use super::super::draft::{Draft, Found, Style};
use super::{Sheet, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<file>\S+?)[:(](?P<line>\d+)\)?: (?:FAILED:|ERROR: (?P<what>.*)|FATAL ERROR: (?P<fatal>.*))$",
    )
    .expect("well formed")
});

/// Reads every assertion that failed, of the first in each test case.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let lines = sheet.lines;
    let (mut name, mut told) = (String::new(), String::new());
    // Only doctest writes the reason behind the place.
    let doctest = sheet.has("TEST CASE:  ");
    for (at, line) in lines.iter().enumerate() {
        if let Some(case) = line.strip_prefix("TEST CASE:  ") {
            case.trim().clone_into(&mut name);
        } else if line.starts_with("-----") && lines.get(at + 2).is_some_and(|line| line.starts_with("-----"))
        {
            lines[at + 1].trim().clone_into(&mut name);
        }
        if name.is_empty()
            || told == name
            || !(line.ends_with(": FAILED:") || doctest && line.contains("ERROR: "))
        {
            continue;
        }
        let Some(failed) = FAILED.captures(line) else { continue };
        let block = until(lines, at + 1, |line| line.trim().is_empty() || line.starts_with("====="));
        // The expression is source text; its expansion is a value.
        let inline = failed.name("what").or(failed.name("fatal")).map(|what| what.as_str());
        let stated = inline.or_else(|| block.first().map(|line| line.trim())).unwrap_or_default();
        let draft = Draft::test("catch2", &name, &[]).kind("expectation").about(stated);
        let draft = Draft { style: Style::Diagnostic, values: block.join("\n"), ..draft };
        let message = format!("{name}\n{line}\n{}", block.join("\n"));
        found.push(draft.at(&failed["file"], failed["line"].parse().ok()).message(&message));
        told.clone_from(&name);
    }
}
