//! Foundry: `[FAIL: reason] test_This() (gas: 123)`, below its suite.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static SUITE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^(?:Ran|Running|Encountered) \d+ (?:failing )?tests? (?:for|in) (?P<file>\S+\.sol):(?P<name>\w+)$",
    )
    .expect("well formed")
});

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[FAIL(?:[.:] (?:Reason: )?(?P<why>.*?))?(?:[.;] [cC]ounterexample: .*)?\] (?P<name>\w+\([^()]*\)|\w+)(?: \(.*\))?$")
        .expect("well formed")
});

/// Reads every failed test; the end of the output repeats them.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (mut file, mut suite) = (String::new(), String::new());
    for line in input.lines {
        if let Some(begun) = line.starts_with(['R', 'E']).then(|| SUITE.captures(line)).flatten() {
            (file, suite) = (begun["file"].to_owned(), begun["name"].to_owned());
        } else if let Some(failed) = line.starts_with("[FAIL").then(|| FAILED.captures(line)).flatten() {
            let why = failed.name("why").map_or("", |why| why.as_str());
            let name = format!("{suite}.{}", &failed["name"]);
            let draft = RawFailure::test("forge", name.trim_start_matches('.'), &[why]);
            collector.push(draft.with_test_file(&file).at(&file, None).message(line));
        }
    }
}
