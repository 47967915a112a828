//! tsc: `file(line,col): error TS2322: message`, or with `--pretty` `file:line:col - error TS2322: message`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?P<file>[^\s(].*?)(?:\((?P<line>\d+),(?P<column>\d+)\): |:(?P<line2>\d+):(?P<column2>\d+) - ))?error (?P<code>TS\d+): ").expect("well formed")
});

/// Reads every error; the lines below one only explain it.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (_, line) in input.marked() {
        let Some(error) = ERROR.captures(line) else { continue };
        let number = |names: [&str; 2]| {
            names.iter().find_map(|name| error.name(name)).and_then(|group| group.as_str().parse().ok())
        };
        let (line_number, column) = (number(["line", "line2"]), number(["column", "column2"]));
        let file = error.name("file").map_or("", |file| file.as_str());
        let draft =
            RawFailure::diagnostic("tsc", file, line_number, &line[error[0].len()..]).kind(&error["code"]);
        collector.push(draft.with_column(column, "").message(line));
    }
}
