//! Formatters in check mode that name the files they would change: black, isort, ruff, prettier, clang-format.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, exception, gcc_style};

/// Reads every file that would change.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_prettier = is_of_prettier(input);
    let lines = input.lines.iter().enumerate();
    for (at, line) in lines.filter(|(_, line)| line.starts_with(['w', 'W', 'E', 'e', '['])) {
        let black = line.strip_prefix("would reformat ").or(line.strip_prefix("Would reformat: "));
        let isort = line
            .strip_prefix("ERROR: ")
            .and_then(|rest| rest.split_once(" Imports are incorrectly sorted"))
            .map(|(file, _)| file);
        let prettier = line.strip_prefix("[warn] ").filter(|rest| is_prettier && is_file(rest));
        if let Some(file) = black.or(isort).or(prettier) {
            collector.push(RawFailure::unformatted("format", file.trim(), None, line));
        } else if let Some(rest) = line.strip_prefix("error: cannot format ") {
            let (file, what) = rest.split_once(": ").unwrap_or((rest, ""));
            collector.push(RawFailure::diagnostic("format", file, None, what).kind("syntax").message(line));
        } else if let Some(draft) = prettier_error(line).or_else(|| parse_error(input, at)) {
            collector.push(draft);
        }
    }
}

/// Checks whether prettier speaks, on either stream: other tools warn in the same form.
fn is_of_prettier(input: &FormatInput<'_>) -> bool {
    let says = ["Checking formatting", "Code style issues", "checking code style"];
    says.iter().any(|said| input.has(said) || input.beside.lines.iter().any(|line| line.contains(said)))
}

/// Reads prettier's message about a file that it cannot parse: `[error] a.js: SyntaxError: Unexpected token (1:7)`.
fn prettier_error(line: &str) -> Option<RawFailure> {
    static UNREADABLE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(
            r"^\[error\] (?P<file>\S.*?): (?P<what>\w*Error: .*?)(?: \((?P<line>\d+):(?P<column>\d+)\))?$",
        )
        .expect("well formed")
    });
    let said = UNREADABLE.captures(line).filter(|said| gcc_style::is_path(&said["file"]))?;
    let number = |name: &str| said.name(name).and_then(|number| number.as_str().parse().ok());
    let draft = RawFailure::diagnostic("format", &said["file"], number("line"), &said["what"]);
    Some(draft.kind("syntax").with_column(number("column"), "").message(line))
}

/// Reads the messages of black and ruff about such a file: `error: cannot parse: a.py:1:4` with the reason some lines
/// below, and `error: Failed to parse a.py:1:5: Expected an expression`.
fn parse_error(input: &FormatInput<'_>, at: usize) -> Option<RawFailure> {
    const LINES: usize = 5;
    let line = input.lines[at];
    let rest = line
        .strip_prefix("error: cannot parse: ")
        .or_else(|| line.strip_prefix("error: Failed to parse "))?;
    let (place, what) = rest.split_once(": ").unwrap_or((rest, ""));
    let mut parts = place.rsplitn(3, ':');
    let (column, number) = (parts.next()?.parse().ok()?, parts.next()?.parse().ok()?);
    let below = input.lines[at + 1..].iter().take(LINES).take_while(|line| !line.is_empty());
    let why = below.filter(|line| exception(line).is_some()).last().copied().unwrap_or_default();
    let what = if what.is_empty() { why } else { what };
    let draft = RawFailure::diagnostic("format", parts.next()?, Some(number), what).kind("syntax");
    Some(draft.with_column(Some(column), "").message(&format!("{line}\n{why}")))
}

/// Checks whether a warning of prettier is a name: a sentence ends in a dot, or has one before a space.
fn is_file(text: &str) -> bool {
    let extension = text.rsplit_once('.').map_or("", |(_, extension)| extension);
    !extension.is_empty() && !extension.contains(' ') && !text.contains(". ")
}
