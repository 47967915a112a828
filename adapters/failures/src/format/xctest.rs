//! XCTest, of Swift and Objective-C.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>\S+):(?P<line>\d+): error: -?\[?(?P<test>[\w.]+[. ]\w+)\]? : (?P<what>.*)$")
        .expect("well formed")
});

/// Reads the first assertion of each test that failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut told = "";
    for (_, line) in input.with(": error: ") {
        let Some(failed) = FAILED.captures(line) else { continue };
        let test = failed.name("test").map_or("", |test| test.as_str());
        if test != told {
            let draft = RawFailure::test("xctest", test, &[]).about(&failed["what"]).message(line);
            collector.push(draft.at(&failed["file"], failed["line"].parse().ok()));
            told = test;
        }
    }
}
