//! The Scala compiler: `[error] a.scala:3:5: message` in sbt, Mill and the Scala CLI, and
//! `-- [E007] Type Mismatch Error: a.scala:3:5 ---` in Scala 3. Details about the shown source text are below.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure};

static HEAD: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^-- (?:\[(?P<code>E\d+)\] )?(?P<what>[\w ]*?(?P<level>Error|Warning)): (?P<file>\S.*?\.scala):(?P<line>\d+)(?::(?P<column>\d+))?[ -]*$")
        .expect("well formed")
});

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?P<file>[^\s:][^:]*\.scala):(?P<line>\d+)(?::(?P<column>\d+))?(?:: (?:(?P<level>error|warning): )?(?P<what>.*))?$")
        .expect("well formed")
});

/// Maximum number of lines of a message.
const LINES: usize = 20;

/// Reads every error. If the compiler treats warnings as errors, it reads those, too.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let is_strict = input.has("-Werror") || input.has("-Xfatal-warnings");
    let drafts = input.marked().filter_map(|(at, _)| {
        let drawn = read_drawing(input.lines, at).or_else(|| plain(input.lines, at));
        drawn.filter(|draft| is_strict || !draft.is_warning)
    });
    collector.push_errors(drafts.collect());
}

/// Removes the prefix of sbt from a line, and returns whether it marks a warning.
fn bare(line: &str) -> (Option<bool>, &str) {
    let levels = [("[error] ", Some(false)), ("[warn] ", Some(true)), ("[info] ", None)];
    let found = levels.into_iter().find_map(|(head, level)| Some((level, line.strip_prefix(head)?)));
    found.unwrap_or((None, line))
}

/// Reads the format of Scala 3: the message follows a bar, below the source text and its pointer.
fn read_drawing(lines: &[&str], at: usize) -> Option<RawFailure> {
    let (level, line) = bare(lines[at]);
    let head = HEAD.captures(line)?;
    let below = lines[at + 1..].iter().take(LINES).map(|line| bare(line).1);
    let barred = below.map_while(|line| {
        let (number, text) = line.split_once('|')?;
        number.bytes().all(|byte| byte.is_ascii_digit() || byte == b' ').then_some((number, text))
    });
    // Source text follows a number.
    let told = barred.filter(|(number, _)| number.trim().is_empty()).map(|(_, text)| text.trim());
    let told = told.skip_while(|text| !is_pointer(text)).skip(1);
    let told: Vec<&str> =
        told.take_while(|text| !text.is_empty() && !text.starts_with("longer expl")).collect();
    let what = format!("{}: {}", &head["what"], told.join(" "));
    let code = head.name("code").map_or("", |code| code.as_str());
    let number = |name: &str| head.name(name).and_then(|number| number.as_str().parse().ok());
    let draft = RawFailure::diagnostic("scalac", &head["file"], number("line"), &what).kind(code);
    let is_warning = level.unwrap_or(&head["level"] == "Warning");
    Some(draft.with_column(number("column"), "").warning(is_warning))
}

/// Reads a place and a message, which continues up to the source text.
fn plain(lines: &[&str], at: usize) -> Option<RawFailure> {
    let (level, line) = bare(lines[at]);
    let place = PLACE.captures(line)?;
    let said = place.name("level").map(|level| level.as_str() == "warning");
    let is_warning = said.or(level)?;
    let below = lines[at + 1..].iter().take(LINES).map(|line| bare(line));
    let below: Vec<&str> = below.take_while(|(other, _)| *other == level).map(|(_, line)| line).collect();
    let pointer = below.iter().position(|line| is_pointer(line.trim())).unwrap_or_default();
    let more = below[..pointer.saturating_sub(1)].iter().map(|line| line.trim());
    let first = place.name("what").map_or("", |what| what.as_str()).trim();
    let what = [first].into_iter().chain(more).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ");
    let number = |name: &str| place.name(name).and_then(|number| number.as_str().parse().ok());
    let draft = RawFailure::diagnostic("scalac", &place["file"], number("line"), &what);
    (!what.is_empty()).then(|| draft.with_column(number("column"), "").warning(is_warning))
}

fn is_pointer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte == b'^')
}
