//! The Kotlin compiler under Gradle and Maven: `e: file:///a.kt:3:5 message`, or the older `e: /a.kt: (3, 5): message`.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style};

static PROBLEM: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<level>[ew]): (?:\[\w+\] )?(?:file://)?(?P<file>/?[^:]+)(?::(?P<line>\d+)(?::(?P<column>\d+))?:?|: \((?P<line2>\d+), (?P<column2>\d+)\):) (?P<what>.+)$")
        .expect("well formed")
});

/// Reads the errors; the warnings where they are why it failed.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let fails_of_warnings = input.lines.iter().any(|line| line.starts_with("e: warnings found and -Werror"));
    let firsts: &[u8] = if fails_of_warnings { b"ew" } else { b"e" };
    for (_, line) in input.starting(firsts) {
        // Two letters reject most lines.
        let Some(problem) = line.get(1..3).filter(|sign| *sign == ": ").and_then(|_| PROBLEM.captures(line))
        else {
            continue;
        };
        if !gcc_style::is_path(&problem["file"]) {
            continue;
        }
        let number =
            |names: [&str; 2]| names.iter().find_map(|name| problem.name(name)?.as_str().parse().ok());
        let draft =
            RawFailure::diagnostic("kotlin", &problem["file"], number(["line", "line2"]), &problem["what"]);
        let draft = draft.with_column(number(["column", "column2"]), "");
        collector.push(draft.warning(&problem["level"] == "w").message(line));
    }
}
