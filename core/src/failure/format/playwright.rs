//! Playwright.

use std::collections::{BTreeMap, BTreeSet};

use super::super::draft::{Draft, Found};
use super::{Sheet, numbered, until, without_time};

/// So long is a head with its rule, and no rule is behind a longer one.
const HEAD_CHARS: usize = 98;

/// Reads the numbered list; an item is headed `[project] › file:line:col › suite › test ───`.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let count = |line: &str| {
        line.trim_end().strip_suffix(" failed").is_some_and(|count| count.trim().parse::<u32>().is_ok())
    };
    let mut tests: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (_, line) in sheet.with(" › ") {
        if let Some((place, test)) = placed(line.trim_start()) {
            tests.entry(place).or_default().push(without_time(test.trim_end_matches(['─', ' '])));
        }
    }
    // A test may print what looks like a head; those of Playwright are filled up with a rule.
    let is_ruled = |line: &str| line.ends_with('─') || line.chars().count() >= HEAD_CHARS;
    let is_head = |(_, line): (usize, &str)| line.ends_with('─') && placed(line.trim_start()).is_some();
    let are_ruled = sheet.with(" › ").any(is_head);
    let flaky = flaky(sheet);
    let items = numbered::items_that(sheet.lines, 0, count, |line| !are_ruled || is_ruled(line.trim_end()));
    for item in items {
        let head = item.head.trim_end_matches(['─', ' ']);
        let Some((place, name)) = placed(head) else { continue };
        if flaky.contains(head) {
            continue;
        }
        // A step that failed in it is no part of a test, which the list at the end names by itself.
        let mut listed = tests.get(place).into_iter().flatten();
        let name = listed.find(|test| is_step(name, test)).copied().unwrap_or(name);
        let mut parts = place.split(':');
        let file = parts.next().unwrap_or_default();
        // Where the files of a run are says nothing of a failure.
        let is_said = |line: &&str| !line.trim_start().starts_with("Error Context: ");
        let body: Vec<&str> = item.body.iter().copied().filter(is_said).collect();
        let draft = Draft::test("playwright", &format!("{file} › {name}"), &body);
        // Where it waited, if that is known, stands in an error.
        let late = body.iter().map(|line| line.trim()).find(|line| line.starts_with("Test timeout of "));
        let draft = match late.filter(|_| draft.kind.is_empty()) {
            Some(late) => draft.kind("timeout").about(late),
            None => draft,
        };
        found.push(draft.at(file, parts.next().and_then(|line| line.parse().ok())).headed(head));
    }
}

/// Returns the heads of the tests that passed when they were run again, if others did not: by themselves they make a run
/// fail that is told to fail because of them.
fn flaky<'a>(sheet: &Sheet<'a>) -> BTreeSet<&'a str> {
    let is_count = |line: &str, what: &str| {
        line.trim_end().strip_suffix(what).is_some_and(|count| count.trim().parse::<u32>().is_ok())
    };
    let at = sheet.starting(b" ").rfind(|(_, line)| is_count(line, " flaky"));
    let Some((at, _)) = at.filter(|_| sheet.lines.iter().any(|line| is_count(line, " failed"))) else {
        return BTreeSet::new();
    };
    let heads = until(sheet.lines, at + 1, |line| !line.starts_with("    "));
    heads.iter().map(|line| line.trim_matches(['─', ' '])).collect()
}

/// Returns a name without the place that it has within, which moves: `[project] › file › suite › test`.
pub(in crate::failure) fn without_place(name: &str) -> String {
    let parts = name.split(" › ").map(|part| match part.rsplitn(3, ':').collect::<Vec<_>>()[..] {
        [column, line, file] if [column, line].iter().all(|it| it.parse::<u32>().is_ok()) => file,
        _ => part,
    });
    parts.collect::<Vec<_>>().join(" › ")
}

/// Takes `[project] › file:line:col › suite › test` apart into the place and the name.
fn placed(head: &str) -> Option<(&str, &str)> {
    let (first, rest) = head.split_once(" › ")?;
    // Without projects, the place comes first.
    if first.starts_with('[') { rest.split_once(" › ") } else { Some((first, rest)) }
}

/// Says whether a name is that of a step in a test.
fn is_step(name: &str, test: &str) -> bool {
    name.strip_prefix(test).is_some_and(|step| step.starts_with(" › "))
}
