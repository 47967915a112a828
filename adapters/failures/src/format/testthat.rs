//! testthat (R): `── Failure ('test-a.R:3:5'): does this ───`, and the reason below.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:── (?:\d+\. )?)?(?P<kind>Failure|Error) \('(?P<file>[^':]+):(?P<line>\d+)(?::\d+)?'\)(?:: (?P<name>.*?))?(?: ─+)?$")
        .expect("well formed")
});

/// Reads the block below each headline. Some reporters print it twice, with the same words.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let block = until(input.lines, at + 1, |line| {
            let headed = ["──", "══", "[ FAIL ", "Failure (", "Error ("];
            line.is_empty() || headed.iter().any(|head| line.starts_with(head))
        });
        // A failure outside of tests has no name.
        let name = failed.name("name").map_or("(code run outside of `test_that()`)", |name| name.as_str());
        let draft =
            RawFailure::test("testthat", name, block).with_test_file(&failed["file"]).with_heading(name);
        let draft = if draft.kind.is_empty() { draft.kind(&failed["kind"].to_lowercase()) } else { draft };
        collector.push(draft.at(&failed["file"], failed["line"].parse().ok()));
    }
}
