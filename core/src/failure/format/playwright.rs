//! Playwright.

use super::super::draft::{Draft, Found};
use super::{Sheet, numbered};

/// Reads the numbered list; an item is headed `[project] › file:line:col › suite › test ───`.
pub(in crate::failure) fn read(sheet: &Sheet<'_>, found: &mut Found<'_>) {
    let count = |line: &str| {
        line.trim_end().strip_suffix(" failed").is_some_and(|count| count.trim().parse::<u32>().is_ok())
    };
    for item in numbered::items(sheet.lines, 0, count) {
        let head = item.head.trim_end_matches(['─', ' ']);
        let Some((place, name)) = head.split_once(" › ").and_then(|(first, rest)| {
            // Without projects, the place comes first.
            if first.starts_with('[') { rest.split_once(" › ") } else { Some((first, rest)) }
        }) else {
            continue;
        };
        let mut parts = place.split(':');
        let file = parts.next().unwrap_or_default();
        let draft = Draft::test("playwright", &format!("{file} › {name}"), item.body);
        let message = format!("{head}\n{}", draft.message);
        found.push(draft.at(file, parts.next().and_then(|line| line.parse().ok())).message(&message));
    }
}
