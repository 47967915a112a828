//! Unity: `file:line:test:FAIL: message`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>[^\s:]+):(?P<line>\d+):(?P<test>\w+):FAIL(?:: ?(?P<what>.*))?$")
        .expect("well formed")
});

/// Reads every test that failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (_, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let what = failed.name("what").map_or("", |what| what.as_str());
        let draft = RawFailure::test("unity", &failed["test"], &[what]).kind("assertion").message(line);
        collector.push(draft.at(&failed["file"], failed["line"].parse().ok()));
    }
}
