//! JSON messages of cargo, rustc and clippy, and of libtest.

use std::cell::LazyCell;
use std::sync::LazyLock;

use memchr::memmem::Finder;
use serde::Deserialize;

use super::super::clean_output::plain;
use super::{FailureCollector, FormatInput, RawFailure, libtest, nextest, rustc_style};

#[derive(Deserialize)]
struct Line {
    message: Option<RustcDiagnostic>,
}

#[derive(Deserialize)]
struct RustcDiagnostic {
    message: String,
    #[serde(default)]
    code: Option<Code>,
    #[serde(default)]
    spans: Vec<Span>,
    #[serde(default)]
    rendered: Option<String>,
}

#[derive(Deserialize)]
struct Code {
    code: String,
}

#[derive(Deserialize)]
struct Span {
    file_name: String,
    line_start: u32,
    #[serde(default)]
    column_start: Option<u32>,
    is_primary: bool,
    label: Option<String>,
}

#[derive(Deserialize)]
struct Test {
    event: String,
    name: String,
    #[serde(default)]
    stdout: String,
}

static ERROR: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"level\":\"error"));
static FAILED: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("\"failed\""));

/// Reads every error, and every failed test.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let suites = input.marked().filter(|(_, line)| line.starts_with('{') && is_failed_suite(line));
    let ends: Vec<usize> = suites.map(|(at, _)| at).collect();
    let mut targets = libtest::targets(input, &ends).into_iter().peekable();
    // nextest's text output contains everything that its JSON does, and more.
    let told = LazyCell::new(|| nextest::failed_names(input.beside));
    for (at, line) in input.marked().filter(|(_, line)| line.starts_with('{')) {
        if ERROR.find(line.as_bytes()).is_some() {
            let wrapped = serde_json::from_str::<Line>(line).ok().and_then(|line| line.message);
            if let Some(diagnostic) = wrapped.or_else(|| serde_json::from_str(line).ok()) {
                diagnostic.push(collector);
            }
        } else if FAILED.find(line.as_bytes()).is_some()
            && let Ok(test) = serde_json::from_str::<Test>(line)
            && test.event == "failed"
        {
            let block: Vec<&str> = test.stdout.lines().collect();
            match test.name.rsplit_once('$') {
                Some((binary, name)) => {
                    // The number of a retry follows it.
                    let name = name.split('#').next().unwrap_or_default();
                    if !told.contains(name) {
                        collector.push(
                            RawFailure::test("cargo-nextest", name, &block)
                                .with_test_file(of_nextest(binary)),
                        );
                    }
                }
                None => {
                    let target = targets.peek().copied().unwrap_or_default();
                    collector.push(RawFailure::test("cargo-test", &test.name, &block).with_test_file(target));
                }
            }
        } else if ends.binary_search(&at).is_ok() {
            targets.next();
        }
    }
}

/// Returns a binary as nextest prints it in its text output: the binary of a library has the name of its crate.
fn of_nextest(binary: &str) -> &str {
    binary.split_once("::").filter(|(of_crate, name)| of_crate == name).map_or(binary, |(name, _)| name)
}

/// Checks whether a line ends the failed tests of a binary.
fn is_failed_suite(line: &str) -> bool {
    FAILED.find(line.as_bytes()).is_some()
        && line.contains("\"suite\"")
        && [r#""event": "failed""#, r#""event":"failed""#].iter().any(|mark| line.contains(mark))
}

impl RustcDiagnostic {
    fn push(self, collector: &mut FailureCollector<'_>) {
        let rendered = self.rendered.unwrap_or_default();
        if self.spans.is_empty() {
            let lines: Vec<&str> = rendered.lines().collect();
            push_without_place(&self.message, &lines, collector);
            return;
        }
        let primary = self.spans.iter().find(|span| span.is_primary).unwrap_or(&self.spans[0]);
        let label = primary.label.as_deref().unwrap_or_default();
        let rule = self.code.map(|code| code.code).unwrap_or_default();
        let code = if is_code(&rule) { rule.as_str() } else { "" };
        let draft =
            RawFailure::diagnostic("rustc", &primary.file_name, Some(primary.line_start), &self.message);
        let draft = draft.kind(code).with_column(primary.column_start, &rule);
        let shown = match rustc_style::has_symbol(&self.message, label) {
            true => String::new(),
            false => plain(rendered.as_bytes()),
        };
        let shown: Vec<&str> = shown.lines().collect();
        collector.push(draft.about(&rustc_style::about(&self.message, label, &shown)).message(&rendered));
    }
}

/// A lint has a name that the text does not contain; both forms must be the same failure.
fn is_code(code: &str) -> bool {
    code.starts_with('E') && code[1..].bytes().all(|byte| byte.is_ascii_digit())
}

fn push_without_place(message: &str, rendered: &[&str], collector: &mut FailureCollector<'_>) {
    if message.starts_with("linking with") {
        rustc_style::link(rendered, collector);
    }
}
