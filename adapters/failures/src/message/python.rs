//! Reads the messages of Python: the marked lines of pytest, and tracebacks.

use super::super::format::python_place;
use super::exception::exception;
use crate::parts::FailureMessage;
use crate::words::{indentation, is_of_word, numbered};

/// Splits `tests/test_app.py:12: AssertionError` into the file, the line, and the exception.
fn split_place(line: &str) -> Option<(&str, &str, &str)> {
    let (place, what) = line.split_once(": ")?;
    let (file, number) = numbered(place)?;
    let (_, extension) = file.rsplit_once('.').filter(|(name, _)| !name.is_empty())?;
    let is_file = !extension.is_empty()
        && extension.chars().all(is_of_word)
        && file.starts_with(|c: char| !c.is_whitespace())
        && !file.contains(':');
    is_file.then_some((file, number, what))
}

/// The lines in which pytest reports how two values differ; the value follows them.
const DIFFERENCES: &[&str] = &[
    "Extra items in the left",
    "Extra items in the right",
    "Left contains",
    "Right contains",
    "Differing items",
];

/// The lines between two exceptions of which the first caused the second.
const LINKS: [&str; 2] =
    ["The above exception was the direct cause", "During handling of the above exception"];

/// Reads the lines that pytest marks with `E`.
pub(super) fn marked_lines(block: &[&str]) -> Option<FailureMessage> {
    // In a chain of exceptions, the last one ended the test.
    let links = |line: &&str| LINKS.iter().any(|begin| line.starts_with(begin));
    let block = block.iter().rposition(links).map_or(block, |at| &block[at + 1..]);
    let marked: Vec<&str> = block.iter().filter_map(|line| line.strip_prefix("E  ")).map(str::trim).collect();
    let head = marked.iter().copied().find(|line| !line.is_empty())?;
    // A syntax error shows the source with a pointer before its message.
    let named =
        marked.iter().copied().find(|line| exception(line).is_some_and(|(kind, _)| kind.ends_with("Error")));
    let head = if exception(head).is_some() {
        head
    } else {
        named.filter(|_| !head.starts_with("assert")).unwrap_or(head)
    };
    let mut reason =
        FailureMessage { about: head.to_owned(), values: marked.join("\n"), ..FailureMessage::default() };
    reason.kind = match exception(head) {
        Some((kind, _)) => kind.to_owned(),
        None if head.starts_with("assert") => "AssertionError".into(),
        None => String::new(),
    };
    add_comparison(&mut reason, &marked);
    let own = block.iter().rev().filter(|line| !line.starts_with([' ', '>', 'E']));
    if let Some((file, number, what)) = own.into_iter().find_map(|line| split_place(line)) {
        (reason.file, reason.line) = (Some(file.to_owned()), number.parse().ok());
        if reason.kind.is_empty() {
            what.clone_into(&mut reason.kind);
        }
    }
    Some(reason)
}

/// Adds the comparison of pytest in one form for all options: verbosity decides whether the kind precedes it.
fn add_comparison(reason: &mut FailureMessage, lines: &[&str]) {
    if let Some(bare) =
        reason.about.strip_prefix("AssertionError: ").filter(|rest| rest.starts_with("assert "))
    {
        reason.about = bare.to_owned();
    }
    if reason.kind == "AssertionError" && !reason.about.contains("assert ") {
        // The author's message comes first, then the comparison.
        let compared = lines.iter().find(|line| line.starts_with("assert "));
        reason.about.extend(compared.iter().flat_map(|line| [" ", **line]));
    }
    let begins = |name: &str| lines.iter().any(|line| line.starts_with(name));
    if begins("Failing test case") || begins("Falsifying") {
        reason.about = "found by search".into();
        return;
    }
    for name in DIFFERENCES.iter().filter(|name| begins(name)) {
        reason.about.push_str(" / ");
        reason.about.push_str(name);
    }
}

/// Reads a group of exceptions, which is drawn with a margin; the kinds of its exceptions identify it.
pub(super) fn group(block: &[&str]) -> Option<FailureMessage> {
    let start =
        block.iter().position(|line| line.ends_with("Exception Group Traceback (most recent call last):"))?;
    let told = block[start + 1..].iter().filter_map(|line| margin(line));
    let mut raised = told.filter_map(|line| Some((line, exception(line)?.0)));
    let (head, kind) = raised.next()?;
    let inner: Vec<&str> = raised.map(|(_, kind)| kind).collect();
    let values = block[start..].iter().filter_map(|line| margin(line)).collect::<Vec<_>>().join("\n");
    Some(FailureMessage {
        kind: kind.to_owned(),
        about: format!("{head} / {}", inner.join(" ")),
        values,
        ..FailureMessage::default()
    })
}

/// Returns the text after the margin of a group, unless it is a stack frame.
fn margin(line: &str) -> Option<&str> {
    line.trim_start().strip_prefix("| ").filter(|told| !told.starts_with(' '))
}

/// Reads a traceback; the last one in a chain of exceptions.
pub(super) fn traceback(block: &[&str]) -> Option<FailureMessage> {
    let start =
        block.iter().rposition(|line| line.trim_start().starts_with("Traceback (most recent call last):"))?;
    let margin = indentation(block[start]);
    let mut reason = FailureMessage::default();
    let mut rest = block[start + 1..].iter().copied();
    for line in rest.by_ref() {
        let frame = python_place(line.trim_start()).filter(|(file, ..)| !file.is_empty());
        if let Some((file, Some(number), _)) = frame {
            let own = !["/lib/python", "/site-packages/", "<frozen", "<string>"]
                .iter()
                .any(|part| file.contains(part));
            if own || reason.file.is_none() {
                (reason.file, reason.line) = (Some(file.to_owned()), Some(number));
            }
        } else if !line.trim().is_empty() && indentation(line) <= margin {
            let kind = exception(line.trim()).map_or(line.trim(), |(kind, _)| kind);
            kind.clone_into(&mut reason.kind);
            line.trim().clone_into(&mut reason.about);
            break;
        }
    }
    if reason.about.is_empty() {
        return None;
    }
    let more: Vec<&str> =
        rest.take_while(|line| !line.trim().is_empty() || !line.starts_with("---")).collect();
    reason.values = format!("{}\n{}", reason.about, more.join("\n"));
    if reason.kind == "AssertionError" {
        add_comparison(&mut reason, &more.iter().map(|line| line.trim()).collect::<Vec<_>>());
    }
    // The part of a comparison that differs is a value: two lists, two dictionaries.
    if let Some(at) = reason.about.find(" differ: ") {
        reason.about.truncate(at + " differ".len());
    }
    Some(reason)
}
