//! A headline and an arrow: `error[E0308]: mismatched types` and `--> src/lib.rs:3:5`.
//!
//! rustc and clippy use this form, as do ruff, ty, pyrefly and deno lint.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, LineIndex, RawFailure, libtest, numbered, until};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:(?P<level>error|warning|note|help|info)(?:\[(?P<code>[\w:@/-]+)\])?:? |(?P<rule>[A-Z]{1,5}\d{2,5}|[a-z]+(?:-[a-z]+)+|unformatted):? (?:\[\*\] )?)").expect("well formed")
});

struct Head<'a> {
    tool: &'static str,
    whole: &'a str,
    level: &'a str,
    code: &'a str,
    rule: &'a str,
    what: &'a str,
}

impl<'a> Head<'a> {
    fn parse(whole: &'a str) -> Option<Self> {
        if let Some(head) = Self::of_pyrefly(whole) {
            return Some(head);
        }
        // Most lines are not headlines, and this check rejects them quickly.
        let head = is_of_head(whole).then(|| HEAD.captures(whole)).flatten()?;
        let text = |name: &str| head.name(name).map_or("", |group| group.as_str());
        let what = &whole[head[0].len()..];
        let rule = text("rule");
        let tool = if rule.is_empty() { "rustc" } else { "ruff" };
        Some(Self { tool, whole, level: text("level"), code: text("code"), rule, what })
    }

    /// Splits `ERROR message [rule]`.
    fn of_pyrefly(whole: &'a str) -> Option<Self> {
        const LEVELS: [(&str, &str); 3] = [("ERROR ", ""), (" WARN ", "warning"), (" INFO ", "info")];
        let (said, level) =
            LEVELS.iter().find_map(|(word, level)| Some((whole.strip_prefix(word)?, *level)))?;
        let (what, rule) = said.trim_end().strip_suffix(']')?.rsplit_once(" [")?;
        Some(Self { tool: "pyrefly", whole, level, code: "", rule, what })
    }
}

/// Checks whether a line begins with a letter, as every headline does.
fn is_of_head(line: &str) -> bool {
    line.starts_with(|c: char| c.is_ascii_alphabetic())
}

/// Maximum number of lines below an arrow. Without empty lines, the lines of the next diagnostic would be included.
const BODY_LINES: usize = 400;

/// Maximum number of lines of a linker error.
const LINK_LINES: usize = 1000;

/// Reads every headline that an arrow follows, and errors of the linker.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (lines, mut since) = (input.lines, 0);
    for (at, line) in input.marked() {
        if line.starts_with("error: linking with") {
            let near = &lines[..lines.len().min(at + LINK_LINES)];
            let ends = ["error: could not compile", "error: linking with"];
            link(until(near, at + 1, |line| ends.iter().any(|end| line.starts_with(end))), collector);
        }
        if DONE.iter().any(|end| line.starts_with(end)) {
            placeless(input.own.part(since..at), collector);
            since = at + 1;
        }
        let (Some(place), Some(head)) = (Place::parse(line), head_above(lines, at)) else { continue };
        if !matches!(head.level, "" | "error") {
            continue;
        }
        let near = &lines[..lines.len().min(at + BODY_LINES)];
        let body = until(near, at + 1, |line| line.trim().is_empty());
        let (tool, code) = (head.tool, if head.rule.is_empty() { head.code } else { head.rule });
        let draft = RawFailure::diagnostic(tool, place.file, place.line, head.what).kind(code);
        // The code was already printed in its place.
        let label = Some(label(body)).filter(|label| *label != code).unwrap_or_default();
        let shown: Vec<&str> = [head.whole, line].into_iter().chain(body.iter().copied()).collect();
        let draft = draft.with_column(place.column, &lint(body));
        // For a file that is not formatted, ruff prints where the difference begins.
        if code == "unformatted" {
            collector.push(RawFailure::unformatted(tool, place.file, place.line, &shown.join("\n")));
            continue;
        }
        let body = if tool == "rustc" { body } else { &[] };
        collector.push(draft.about(&about(head.what, label, body)).message(&shown.join("\n")));
    }
}

/// Returns the text that distinguishes diagnostics: the message and the label of its span. If neither contains a
/// symbol, the source line is added.
pub(super) fn about(message: &str, label: &str, body: &[&str]) -> String {
    let label = label.split("help:").next().unwrap_or_default().trim();
    let source = if has_symbol(message, label) { String::new() } else { pointed_at(body) };
    // This is the form of `--message-format short`.
    let message = if label.is_empty() { message.to_owned() } else { format!("{message}: {label}") };
    if source.is_empty() { message } else { format!("{message} {source}") }
}

/// The line with which rustc and cargo end the output of a crate.
const DONE: [&str; 2] = ["error: could not compile", "error: aborting due to"];

/// Reads the errors without a place: no arrow follows before the next headline.
fn placeless(own: LineIndex<'_>, collector: &mut FailureCollector<'_>) {
    let lines = own.lines;
    let heads = own.starting(b"e").filter(|(_, line)| line.starts_with("error"));
    for (at, head) in heads.filter_map(|(at, line)| Some((at, Head::parse(line)?))) {
        let ends = |line: &str| line.trim().is_empty() || is_of_head(line) && HEAD.is_match(line);
        let body = until(lines, at + 1, ends);
        let what = head.what;
        let placed = body.iter().any(|line| line.trim_start().starts_with("--> "));
        let derived = DONE.iter().chain(&libtest::RERUN).any(|begin| lines[at].starts_with(begin))
            || what.starts_with("linking with");
        if !placed && !derived {
            let message = [&lines[at..=at], body].concat().join("\n");
            collector.push(RawFailure::diagnostic("rustc", "", None, what).kind(head.code).message(&message));
        }
    }
}

/// The target of an arrow.
struct Place<'a> {
    file: &'a str,
    line: Option<u32>,
    column: Option<u32>,
}

impl<'a> Place<'a> {
    /// Splits `--> src/lib.rs:3:5`; a line or a column may be missing.
    fn parse(line: &'a str) -> Option<Self> {
        let place = line.trim_start().strip_prefix("--> ")?.trim_end();
        let (file, line, column) = match numbered(place) {
            Some((rest, last)) => match numbered(rest) {
                Some((file, first)) => (file, first, last),
                None => (rest, last, ""),
            },
            None => (place, "", ""),
        };
        let number = |text: &str| text.parse().ok();
        (!file.is_empty()).then(|| Self { file, line: number(line), column: number(column) })
    }
}

/// Returns the lint in the notes below a diagnostic: a clippy lint or a compiler lint.
fn lint(body: &[&str]) -> String {
    static LINT: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"rust-clippy/[^#\s]*#(?P<link>\w+)|`(?:-[DWF] |#\[(?:deny|warn|forbid)\()(?P<name>(?:\w+::)?[\w-]+)")
            .expect("well formed")
    });
    // These words reject most lines.
    let may_name =
        |line: &&&str| line.contains("`-") || line.contains("`#[") || line.contains("rust-clippy/");
    let notes = body.iter().filter(may_name);
    let all: Vec<regex::Captures<'_>> = notes.filter_map(|line| LINT.captures(line)).collect();
    let link = all
        .iter()
        .find_map(|captures| captures.name("link"))
        .map(|group| format!("clippy::{}", group.as_str()));
    let name =
        || all.iter().filter_map(|captures| captures.name("name")).find(|group| group.as_str() != "warnings");
    // The option has dashes instead of the underscores of the name.
    link.or_else(|| name().map(|group| group.as_str().replace('-', "_"))).unwrap_or_default()
}

/// Returns the headline above an arrow; a headline may have a few lines.
fn head_above<'a>(lines: &[&'a str], arrow: usize) -> Option<Head<'a>> {
    const LINES: usize = 4;
    let above = lines[arrow.saturating_sub(LINES)..arrow].iter().rev();
    above.take_while(|line| !line.trim().is_empty()).find_map(|line| Head::parse(line))
}

/// Checks whether a diagnostic names its subject.
pub(super) fn has_symbol(message: &str, label: &str) -> bool {
    message.contains('`') || label.contains('`')
}

/// Returns the source that the first carets point at, with a few characters before.
///
/// The complete line cannot be used, since it is cut to the width of the terminal. For a span of several lines, the
/// carets show only its end, so the line is returned.
fn pointed_at(body: &[&str]) -> String {
    let pointing = body.windows(2).find(|pair| pair[1].contains('^') && pair[1].contains('|'));
    let columns = |line: &&str| line.split_once('|').map(|(_, columns)| columns.to_owned());
    let Some((source, carets)) = pointing.and_then(|pair| columns(&pair[0]).zip(columns(&pair[1]))) else {
        return String::new();
    };
    const BEFORE: usize = 10;
    if carets.contains("|_") {
        return source.trim().to_owned();
    }
    let start = carets.chars().take_while(|c| *c != '^').count();
    let length = carets.chars().skip(start).take_while(|c| *c == '^').count();
    let first = start.saturating_sub(BEFORE);
    let shown: String = source.chars().skip(first).take(start - first + length).collect();
    shown.rsplit("...").next().unwrap_or(&shown).trim().to_owned()
}

/// Returns the text after the carets of the first span that has them.
fn label<'a>(body: &[&'a str]) -> &'a str {
    let pointing = body.iter().find(|line| line.contains('^') && line.contains('|'));
    let Some(line) = pointing else { return "" };
    let behind = line.rsplit('^').next().unwrap_or_default();
    // A second span may be underlined on the same line, with its own text.
    let behind = behind.trim_start_matches(['-', ' ', '~']);
    if line[line.find('^').unwrap_or_default()..].contains(" -") { "" } else { behind.trim() }
}

/// Reads the symbols that the linker did not find.
pub(super) fn link(block: &[&str], collector: &mut FailureCollector<'_>) {
    static SYMBOL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?:undefined symbol: |undefined reference to [`'‘])(?P<name>[^\s'’]+)|(?:cannot find|unable to find library|library not found for) (?P<library>-l[^\s:]+)")
            .expect("well formed")
    });
    static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r">>> referenced by .*\((?P<file>[^:()]+):(?P<line>\d+)\)").expect("well formed")
    });
    for (at, line) in block.iter().enumerate() {
        let Some(symbol) = SYMBOL.captures(line) else { continue };
        let what = match symbol.name("library") {
            Some(library) => format!("cannot find {}", library.as_str()),
            None => format!("undefined symbol: {}", &symbol["name"]),
        };
        let mut draft = RawFailure::diagnostic("rustc", "", None, &what).kind("link").message(line.trim());
        if let Some(place) = block.get(at + 1).and_then(|next| REFERENCE.captures(next)) {
            draft = draft.at(&place["file"], place["line"].parse().ok());
        }
        collector.push(draft);
    }
}
