//! Playwright.

use super::super::draft::{Draft, Found};
use super::{Sheet, numbered, without_time};

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
        // A step that failed in it is no part of a test, which the list at the end names by itself.
        let name = sheet.with(place).find_map(|(_, line)| test_of(line, place, name)).unwrap_or(name);
        let mut parts = place.split(':');
        let file = parts.next().unwrap_or_default();
        let draft = Draft::test("playwright", &format!("{file} › {name}"), item.body);
        let message = format!("{head}\n{}", draft.message);
        found.push(draft.at(file, parts.next().and_then(|line| line.parse().ok())).message(&message));
    }
}

/// Returns the part of a name that a line of a list has: `file:line:col › suite › test ───`.
fn test_of<'n>(line: &str, place: &str, name: &'n str) -> Option<&'n str> {
    let (_, test) = line.split_once(place)?;
    let test = without_time(test.strip_prefix(" › ")?.trim_end_matches(['─', ' ']));
    name.strip_prefix(test).filter(|rest| rest.starts_with(" › ")).map(|_| &name[..test.len()])
}
