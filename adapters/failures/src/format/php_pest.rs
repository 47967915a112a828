//! Pest and `artisan test`: a list of tests, and below it failed tests, after headlines cut at the terminal width.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until, without_time};

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^  at (?P<file>\S.*):(?P<line>\d+)$").expect("well formed"));

/// Reads the block below each headline.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut listed = failures_in_list(input);
    // A rule is above each headline; a similar line without one was printed by a test.
    let is_own = |at: usize| at.checked_sub(1).is_some_and(|above| input.lines[above].starts_with("  ────"));
    for (at, line) in input.marked().filter(|(at, _)| is_own(*at)) {
        let Some((class, name)) = line.strip_prefix("   FAILED  ").and_then(|head| head.split_once(" > "))
        else {
            continue;
        };
        // The exception is aligned to the right.
        let (name, kind) = name.trim_end().rsplit_once("  ").unwrap_or((name, ""));
        let listed =
            listed.get_mut(class).and_then(|names| names.pop_if(|listed| is_one(listed, name.trim())));
        let name = listed.filter(|_| name.trim().ends_with('…')).unwrap_or(name.trim());
        let block = until(input.lines, at + 1, is_end);
        let told: Vec<&str> = block.iter().copied().take_while(|line| !PLACE.is_match(line)).collect();
        let draft = RawFailure::test("pest", &format!("{class} > {name}"), &told).with_heading(line.trim());
        let draft = if kind.is_empty() { draft } else { draft.kind(kind.trim()) };
        let place = block.iter().find_map(|line| PLACE.captures(line));
        collector.push(match place {
            Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
            None => draft,
        });
    }
}

/// Returns the failed tests of each class from the list, the last first: the headlines have the same order.
fn failures_in_list<'a>(input: &FormatInput<'a>) -> BTreeMap<&'a str, Vec<&'a str>> {
    let (mut class, mut listed) = ("", BTreeMap::<_, Vec<&str>>::new());
    for (_, line) in input.starting(b" ") {
        if let Some(name) = line.strip_prefix("   FAIL  ") {
            class = name.trim();
        } else if let Some(name) = line.strip_prefix("  ⨯ ") {
            listed.entry(class).or_default().push(without_seconds(name));
        }
    }
    listed.values_mut().for_each(|names| names.reverse());
    listed
}

/// Checks whether two names are the same; either may be cut.
fn is_one(one: &str, other: &str) -> bool {
    let [whole_one, whole_other] = [one, other].map(|name| name.trim_end_matches('…'));
    (other.ends_with('…') && one.starts_with(whole_other))
        || (one.ends_with('…') && other.starts_with(whole_one))
        || one == other
}

/// Removes the duration of a test from the end: it is aligned to the right, or follows the mark of a name that is cut.
fn without_seconds(name: &str) -> &str {
    let name = without_time(name);
    let (before, time) = name.rsplit_once(' ').unwrap_or((name, ""));
    let number = time.strip_suffix('s').unwrap_or_default();
    let is_time = number.contains('.') && number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if is_time { before.trim_end() } else { name }
}

fn is_end(line: &str) -> bool {
    line.starts_with("  ────") || line.starts_with("   FAILED  ") || line.starts_with("  Tests: ")
}
