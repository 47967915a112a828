//! Swift Testing: `✘ Test "does this" recorded an issue at ATests.swift:3:5: message`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, scan};

static ISSUE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^\S+ +Test (?:case passing \d+ arguments? (?P<given>.*?) to )?(?:"(?P<title>.+?)"|(?P<name>[\w.]+\(.*?\)|`.+?`(?:\(\))?)) recorded an issue(?: with \d+ arguments? (?P<arguments>.*?))?(?: at (?P<file>[^\s:]+):(?P<line>\d+):\d+)?: (?P<what>.*)$"#)
        .expect("well formed")
});

/// The value after a part of an expression: `(sum → 7) == 8`.
static VALUE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r" → [^()]*").expect("well formed"));

/// Reads the first issue of each test, and of each case of one with arguments.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let mut told = BTreeSet::new();
    for (at, line) in input.marked() {
        let Some(issue) = ISSUE.captures(line) else { continue };
        let text = |name: &str| issue.name(name).map_or("", |group| group.as_str());
        let case = match [text("arguments"), text("given")].concat() {
            given if given.is_empty() => String::new(),
            given => format!(" [{given}]"),
        };
        let name = [text("title"), text("name"), &case].concat();
        if !told.insert((name.clone(), text("file").to_owned())) {
            continue;
        }
        let comments = scan(&input.lines[at + 1..]).take_while(|line| line.starts_with("↳ ")).copied();
        let message: Vec<&str> = [line].into_iter().chain(comments).collect();
        let (kind, _) = text("what").split_once(": ").unwrap_or_default();
        let draft =
            RawFailure::test("swift-testing", &name, &[text("what")]).kind(kind).with_test_file(text("file"));
        let about = VALUE.replace_all(text("what"), "").into_owned();
        let draft = draft.about(&about).at(text("file"), text("line").parse().ok());
        collector.push(draft.message(&message.join("\n")));
    }
}
