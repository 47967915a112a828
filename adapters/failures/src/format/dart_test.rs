//! dart test and flutter test: `00:01 +3 -1: test/a_test.dart: does this [E]`, and the message below, indented. For a
//! widget, Flutter prints the message above, in a frame.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style, until};

const TOOL: &str = "dart-test";

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?:\d+:)?\d\d:\d\d \+\d+(?: ~\d+)? -\d+: |❌ )(?P<loading>loading )?(?:(?P<file>\S[^:]*\.dart)(?:: )?)?(?P<name>.*?) ?(?:\[E\]|\(failed\))\s*$")
        .expect("well formed")
});

/// A line of a stack: `test/a_test.dart 14:7  main.<fn>`, `package:matcher  expect`.
static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s+(?P<file>\S+\.dart) (?P<line>\d+):\d+\s+\S|^\s+(?:package|dart):\S+\s\s+\S|^#\d+ ")
        .expect("well formed")
});

/// The line in which a frame of Flutter names where the exception was thrown.
static THROWN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^  (?:file://)?(?P<file>/\S+\.dart) line (?P<line>\d+)$").expect("well formed")
});

/// Reads every test that failed, and the files that could not be compiled.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut loads = Vec::new();
    // Lines above this one belong to another test.
    let mut free = 0;
    for (at, line) in input.marked() {
        let Some(failed) = FAILED.captures(line) else { continue };
        let block = until(input.lines, at + 1, |line| !line.is_empty() && !line.starts_with("  "));
        let file = failed.name("file").map_or("", |file| file.as_str());
        if failed.name("loading").is_some() {
            let draft = RawFailure::process(TOOL, "load", block).at(file, None);
            loads.push(draft.with_heading(&format!("loading {file}")));
        } else {
            let framed = last_frame(&input.lines[free..at]);
            let draft = if framed.is_empty() {
                test(&failed["name"], block)
            } else {
                widget(&failed["name"], framed)
            };
            collector.push(with_file(draft, file));
        }
        free = at + 1;
    }
    if !loads.is_empty() {
        let before = collector.len();
        let errors = input.with(": Error: ").filter_map(|(_, line)| gcc_style::parse(line));
        errors.for_each(|error| collector.push(error.draft()));
        if collector.len() == before {
            loads.into_iter().for_each(|draft| collector.push(draft));
        }
    }
}

/// Returns the file of a test. If only one file was run, only the stack names it.
fn with_file(draft: RawFailure, file: &str) -> RawFailure {
    let file = if file.is_empty() { draft.file.clone().unwrap_or_default() } else { file.to_owned() };
    draft.with_test_file(&file)
}

fn test(name: &str, block: &[&str]) -> RawFailure {
    let told = until(block, 0, |line| FRAME.is_match(line));
    let draft = RawFailure::test(TOOL, name, told);
    let own = |file: &str| !file.starts_with("package:") && !file.starts_with("dart:");
    let frames = block.iter().filter_map(|line| FRAME.captures(line));
    let mut places = frames
        .filter_map(|frame| Some((frame.name("file")?.as_str().to_owned(), frame["line"].parse().ok())));
    match places.find(|(file, _)| own(file)) {
        Some((file, line)) => draft.at(&file, line),
        None => draft,
    }
}

/// Returns the last frame of Flutter.
fn last_frame<'s, 'a>(lines: &'s [&'a str]) -> &'s [&'a str] {
    let start = lines.iter().rposition(|line| line.starts_with("══╡ EXCEPTION CAUGHT BY "));
    start.map_or(&[], |start| until(lines, start + 1, |line| line.starts_with("═══")))
}

/// Reads a frame of Flutter: `The following TestFailure was thrown running a test:`, the message, and a stack.
fn widget(name: &str, frame: &[&str]) -> RawFailure {
    let told = until(frame, 1, |line| line.starts_with("When the exception was thrown"));
    let head = frame.first().and_then(|head| head.strip_prefix("The following "));
    let kind = head.and_then(|head| head.split(' ').next()).unwrap_or_default();
    let draft = RawFailure::test(TOOL, name, told).kind(kind);
    let thrown = frame.iter().find_map(|line| THROWN.captures(line));
    match thrown {
        Some(thrown) => draft.at(&thrown["file"], thrown["line"].parse().ok()),
        None => draft,
    }
}
