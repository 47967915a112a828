//! Formatters that list the files they would change: PHP CS Fixer, Pint, mix format.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style};

static LISTED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"^ +(?:\d+\)|\*|⨯) (?P<file>\S+?)(?: \((?P<rules>[\w/, ]+)\)| \s+(?P<rules2>[\w/, ]*…?))?\s*$",
    )
    .expect("well formed")
});

/// Reads the file on each line of the list. The rules that it breaks follow it, but are not part of the failure.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (_, line) in input.starting(b" ") {
        let Some(listed) = LISTED.captures(line).filter(|captures| gcc_style::is_path(&captures["file"]))
        else {
            continue;
        };
        collector.push(RawFailure::unformatted("format", &listed["file"], None, line.trim()));
    }
}
