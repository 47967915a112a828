//! MUnit: `==> X Suite.does this  0.01s an.Exception: message`, and below it the source text, the values and the stack.
//! JUnit under sbt, and the failed classes that sbt lists for other frameworks.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, MaskingStyle, RawFailure, exception, scan, until};

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:\[\w+\] )?==> X (?P<name>.+?) +(?:[\d.]+m?s )?(?P<said>[\w.$]+\.\w*(?:Exception|Error|Failure)\w*(?:: .*)?)$")
        .expect("well formed")
});

static JUNIT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\[error\] Test (?P<name>\S+) failed: (?P<said>.*?), took [\d.]+ s(?:ec)?$")
        .expect("well formed")
});

/// Reads each test that failed; where no framework names one, the classes.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_first = collector.is_empty();
    let before = collector.len();
    for (at, line) in input.marked() {
        if let Some(failed) = FAILED.captures(line) {
            collector.push(munit(&failed["name"], &failed["said"], until(input.lines, at + 1, is_end)));
        } else if let Some(failed) = JUNIT.captures(line) {
            let stack = scan(&input.lines[at + 1..]).map_while(|line| line.strip_prefix("[error]     at "));
            let stack: Vec<String> = stack.map(|place| format!("    at {place}")).collect();
            let said = failed.name("said").map_or("", |said| said.as_str());
            let block: Vec<&str> = [said].into_iter().chain(stack.iter().map(String::as_str)).collect();
            collector.push(RawFailure::test("junit", &failed["name"], &block));
        }
    }
    if is_first && collector.len() == before {
        classes(input, collector);
    }
}

fn is_end(line: &str) -> bool {
    let suite = line.strip_suffix(':').is_some_and(|name| !name.contains([' ', '"', '=']));
    suite || ["==> ", "  + ", "[error]", "[info]", "[warn]"].iter().any(|head| line.starts_with(head))
}

fn munit(name: &str, said: &str, below: &[&str]) -> RawFailure {
    let (kind, what) = exception(said).unwrap_or(("", said));
    let block = [&[said], below].concat();
    let draft = RawFailure::test("munit", name, &block).kind(kind);
    // The place replaces the message, and the line is source text that identifies the assertion.
    let place = what.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let Some((file, number)) = place else { return draft };
    let code = below.iter().find_map(|line| line.strip_prefix(&format!("{number}:")));
    let behind = below.iter().position(|line| !line.starts_with(|c: char| c.is_ascii_digit()));
    let told = behind.map_or("", |at| below[at].trim());
    let about = format!("{told} {}", code.unwrap_or_default().trim());
    RawFailure { style: MaskingStyle::Diagnostic, ..draft }.about(about.trim()).at(file, Some(number))
}

/// Reads the list of the classes in which something failed.
fn classes(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let Some(start) = input.lines.iter().rposition(|line| *line == "[error] Failed tests:") else { return };
    let names = input.lines[start + 1..].iter().map_while(|line| line.strip_prefix("[error] "));
    for name in names.take_while(|name| name.starts_with([' ', '\t'])) {
        collector.push(RawFailure::test("sbt", name.trim(), &[]).message(name.trim()));
    }
}
