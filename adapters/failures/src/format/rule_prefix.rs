//! Problems that begin with their rule in brackets, `(no-explicit-any) message`, as old versions of deno lint print
//! them. The place may be on the next line, after `at`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\((?P<rule>[a-z][a-z\d]*(?:-[a-z\d]+)+)\) (?P<what>\S.*)$").expect("well formed")
});

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+at (?P<file>\S.*?):(?P<line>\d+)(?::(?P<column>\d+))?\s*$").expect("well formed")
});

pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.starting(b"(") {
        let Some(head) = HEAD.captures(line) else { continue };
        let block = until(input.lines, at, str::is_empty);
        let place = block.iter().find_map(|line| PLACE.captures(line));
        let number = |name: &str| place.as_ref()?.name(name)?.as_str().parse().ok();
        let file = place.as_ref().map_or("", |place| place.name("file").map_or("", |file| file.as_str()));
        let draft = RawFailure::diagnostic("lint", file, number("line"), &head["what"]).kind(&head["rule"]);
        collector.push(draft.with_column(number("column"), "").message(&block.join("\n")));
    }
}
