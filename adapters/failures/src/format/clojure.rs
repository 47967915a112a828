//! clojure.test, by Leiningen, the Clojure CLI and Kaocha: `FAIL in (does-this) (a_test.clj:3)`, and the expectation
//! below. Errors of the compiler are read, too.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, exception, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:FAIL|ERROR) in (?:\((?P<names>[^\s()][^()]*)\)|(?P<name>[^\s()]+/[^\s()]+)) \((?P<file>[^\s:()]+):(?P<line>\d+)\)$")
        .expect("well formed")
});

static COMPILER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<what>(?:Syntax|Execution) error .*?)at \(?(?:[^\s(:]+ \()?(?P<file>[^\s:()]+):(?P<line>\d+)(?::(?P<column>\d+))?\)\.$")
        .expect("well formed")
});

/// Reads every assertion that failed, and the errors of the compiler.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut space = "";
    for (at, line) in input.lines.iter().enumerate() {
        let begun = line.strip_prefix("Testing ").or_else(|| line.strip_prefix("lein test "));
        if let Some(name) = begun.filter(|name| !name.contains([' ', ':'])) {
            space = name.trim_end();
        } else if let Some(draft) = assertion(space, line, &input.lines[at + 1..]) {
            collector.push(draft);
        } else if let Some(draft) = compile_error(line, input.lines.get(at + 1)) {
            collector.push(draft);
        }
    }
}

/// Reads an assertion: the expected expression is source text and identifies it.
fn assertion(space: &str, line: &str, below: &[&str]) -> Option<RawFailure> {
    let failed = line.starts_with(['F', 'E']).then(|| FAILED.captures(line))??;
    let block = until(below, 0, |line| line.is_empty() || FAILED.is_match(line));
    // The innermost of several names is the running test.
    let names = failed.name("names").and_then(|names| names.as_str().split(' ').next_back());
    let name = match names {
        Some(name) if !space.is_empty() => format!("{space}/{name}"),
        name => name.or(failed.name("name").map(|name| name.as_str()))?.to_owned(),
    };
    let raised = block.iter().find_map(|line| exception(line.strip_prefix("  actual: ")?));
    let expected = until(block, 0, |line| line.starts_with("  actual: "));
    let (kind, what) = raised.unwrap_or_default();
    let about = format!("{} {what}", expected.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" "));
    let draft =
        RawFailure { style: MaskingStyle::Diagnostic, ..RawFailure::test("clojure-test", &name, block) };
    let draft = draft.kind(kind).about(about.trim()).at(&failed["file"], failed["line"].parse().ok());
    Some(draft.with_heading(line))
}

/// Reads where the compiler, or a program, stopped, and on the line below why.
fn compile_error(line: &str, why: Option<&&str>) -> Option<RawFailure> {
    let stopped = line.starts_with(['S', 'E']).then(|| COMPILER.captures(line))??;
    let why = why.map_or("", |why| why.trim());
    let number = |name: &str| stopped.name(name).and_then(|number| number.as_str().parse().ok());
    let what = format!("{}: {why}", stopped["what"].trim());
    let draft = RawFailure::diagnostic("clojure", &stopped["file"], number("line"), &what);
    Some(draft.with_column(number("column"), "").message(&format!("{line}\n{why}")))
}
