//! Catch2 and doctest: an assertion with its expansion, under the name of the test case.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?P<file>\S+?)[:(](?P<line>\d+)\)?: (?:FAILED:|ERROR: (?P<what>.*)|FATAL ERROR: (?P<fatal>.*))$",
    )
    .expect("well formed")
});

/// Reads every failed assertion, but only the first of each test case.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let lines = input.lines;
    let (mut name, mut told) = (String::new(), (String::new(), ""));
    let mut suite = "";
    // Only doctest writes the reason after the place.
    let doctest = input.has("TEST CASE:  ");
    for (at, line) in lines.iter().enumerate() {
        if line.starts_with("=====") {
            suite = "";
        } else if let Some(named) = line.strip_prefix("TEST SUITE: ") {
            suite = named.trim();
        } else if let Some(case) = line.strip_prefix("TEST CASE:  ") {
            name = join_names(case, until(lines, at + 1, |line| !line.starts_with("  ")));
        } else if line.starts_with("-----") {
            let titles = until(lines, at + 1, |line| line.starts_with("-----") || line.is_empty());
            let framed = lines.get(at + 1 + titles.len()).is_some_and(|line| line.starts_with("-----"));
            if let Some((case, sections)) = titles.split_first().filter(|_| framed) {
                name = join_names(case, sections);
            }
        }
        if name.is_empty()
            || (told.0 == name && told.1 == suite)
            || !(line.ends_with(": FAILED:") || doctest && line.contains("ERROR: "))
        {
            continue;
        }
        let Some(failed) = FAILED.captures(line) else { continue };
        let block = until(lines, at + 1, |line| line.trim().is_empty() || line.starts_with("====="));
        // The expression is source text; its expansion is a value.
        let inline = failed.name("what").or(failed.name("fatal")).map(|what| what.as_str());
        let stated = inline.or_else(|| block.first().map(|line| line.trim())).unwrap_or_default();
        let thrown = stated.starts_with("due to ");
        let kind = if thrown { "exception" } else { "expectation" };
        let said = block.get(1).filter(|_| thrown).map_or("", |line| line.trim());
        let stated = format!("{stated} {said}");
        let draft = RawFailure::test("catch2", &name, &[])
            .kind(kind)
            .about(stated.trim())
            .with_line(line)
            .with_test_file(suite);
        let draft = RawFailure { style: MaskingStyle::Diagnostic, values: block.join("\n"), ..draft };
        let message = format!("{name}\n{line}\n{}", block.join("\n"));
        collector.push(draft.at(&failed["file"], failed["line"].parse().ok()).message(&message));
        told = (name.clone(), suite);
    }
}

/// Joins the name of a test case with the names of the sections around the failure.
fn join_names(case: &str, sections: &[&str]) -> String {
    let sections = sections.iter().copied().filter(|section| !section.trim().is_empty());
    std::iter::once(case).chain(sections).map(str::trim).collect::<Vec<_>>().join("/")
}
