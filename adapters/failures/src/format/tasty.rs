//! tasty (Haskell): a tree of groups, `does this: FAIL (0.01s)` in it, and the message below, more indented.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, indentation, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^ *(?P<name>\S.*?): +(?P<ending>FAIL|OK)(?: \([\d.]+s\))?$").expect("well formed")
});

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^ +(?P<file>\S+\.l?hs):(?P<line>\d+):$").expect("well formed"));

/// Reads every failed test, with its groups, if the count follows.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut groups: Vec<&str> = Vec::new();
    let Some(end) = input.marked().last().map(|(at, _)| at) else { return };
    for (at, line) in input.lines[..end].iter().enumerate() {
        let depth = indentation(line);
        // The output of a passed test may follow its name, further to the right.
        let Some(failed) = FAILED.captures(line).filter(|failed| !failed["name"].contains(":  ")) else {
            // A group is alone on its line, one step less indented than its content.
            let below = input.lines.get(at + 1).copied().unwrap_or_default();
            if indentation(below) == depth + 2
                && depth.is_multiple_of(2)
                && !["", "OK"].contains(&line.trim())
            {
                groups.truncate(depth / 2);
                if groups.len() == depth / 2 {
                    groups.push(line.trim());
                }
            }
            continue;
        };
        if &failed["ending"] != "FAIL" {
            continue;
        }
        let block = until(input.lines, at + 1, |line| {
            indentation(line) <= depth || line.ends_with("FAIL") || line.trim_start().starts_with("Use -p '")
        });
        let within = groups.iter().take(depth / 2).copied();
        let name = within.chain([&failed["name"]]).collect::<Vec<_>>().join(".");
        let place = block.iter().find_map(|line| PLACE.captures(line));
        let told: Vec<&str> = block.iter().copied().filter(|line| !PLACE.is_match(line)).collect();
        let draft = RawFailure::test("tasty", &name, &told).with_heading(&name);
        collector.push(match place {
            Some(place) => draft.at(&place["file"], place["line"].parse().ok()),
            None => draft,
        });
    }
}
