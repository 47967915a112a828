//! CMake: `CMake Error at file:line (command):`, and the message below, indented.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, until};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^CMake Error(?: \(dev\))?(?: (?:at|in) (?P<file>\S+?)(?::(?P<line>\d+))?(?: \((?P<command>\S+)\))?)?:(?: (?P<what>.*))?$")
        .expect("well formed")
});

/// Reads every error; two empty lines end its message.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    for (at, line) in input.marked() {
        let Some(head) = HEAD.captures(line) else { continue };
        let block = until(input.lines, at + 1, |line| !line.is_empty() && !line.starts_with(' '));
        let stated = block.split(|line| line.is_empty()).find(|lines| !lines.is_empty()).unwrap_or_default();
        let stated: Vec<&str> = stated.iter().map(|line| line.trim()).collect();
        let text = |name: &str| head.name(name).map_or("", |group| group.as_str());
        let what = [text("what"), &stated.join(" ")].concat();
        let message = format!("{line}\n{}", block.join("\n"));
        let draft = RawFailure::diagnostic("cmake", text("file"), text("line").parse().ok(), what.trim());
        collector.push(draft.kind(text("command")).message(message.trim_end()));
    }
}
