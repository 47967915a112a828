//! A place alone on its line, and the message below or above: gfortran, OCaml, esbuild, webpack, sass and others.

use std::sync::LazyLock;

use regex::Regex;

use super::{FailureCollector, FormatInput, RawFailure, gcc_style, is_frame};

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"^\s*(?:╭▸ )?(?:File "(?P<file1>[^"]+)", lines? (?P<line1>\d+)(?:-\d+)?(?:, characters (?P<column1>\d+)-\d+)?:|(?P<file2>[^\s:"()|╭][^:"()|]*?)(?::(?P<line2>\d+)(?::(?P<column2>\d+))?:?| (?P<line3>\d+):(?P<column3>\d+)(?:-\d+)?(?: +root stylesheet)?))$"#)
        .expect("well formed")
});

static SAID: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^(?:[✘▲✖×] )?(?:\[?(?P<level>(?i:fatal error|error|warning))\]?(?: \(\w+ \d+(?: \[[\w-]+\])?\))?:? |(?P<code>TS\d+): |(?P<kind>[A-Z]\w*(?:Error|Exception)): )(?P<what>\S.*)$")
        .expect("well formed")
});

/// Maximum distance between a place and its message, in lines.
const LINES: usize = 12;

/// Reads every place that has an error: a warning does not fail these tools.
pub(crate) fn read(input: &FormatInput<'_>, collector: &mut FailureCollector<'_>) {
    let (lines, mut free) = (input.lines, 0);
    for at in 0..lines.len() {
        if !may_be_place(lines[at]) || is_frame(lines[at]) {
            continue;
        }
        let read =
            if lines[at].starts_with(WEBPACK) { of_webpack(lines, at) } else { problem(lines, at, free) };
        let Some((draft, last)) = read else { continue };
        free = last + 1;
        if !draft.is_warning {
            collector.push(draft);
        }
    }
}

/// Rejects most lines without the pattern.
fn may_be_place(line: &str) -> bool {
    const LENGTH_MAX: usize = 1000;
    line.len() < LENGTH_MAX
        && (line.starts_with(WEBPACK) || ends_in_position(line) || line.ends_with("root stylesheet"))
}

fn is_place(line: &str) -> bool {
    may_be_place(line) && PLACE.is_match(line)
}

/// Rejects most lines by their first letter, which no message begins with.
fn may_say(line: &str) -> bool {
    matches!(line.as_bytes().first(), Some(b'[' | b'e' | b'f' | b'w' | b'A'..=b'Z' | 0x80..))
}

/// Checks whether a line ends in a number as [`PLACE`] has it: of a line or a column.
fn ends_in_position(line: &str) -> bool {
    let bare = line.strip_suffix(':').unwrap_or(line);
    let before = bare.trim_end_matches(|c: char| c.is_ascii_digit());
    before.len() < bare.len()
        && (before.ends_with([':', '-']) || before.ends_with("line ") || before.ends_with("lines "))
}

/// Reads the message of the place at a line, and returns its last line. Lines above `free` belong to another message.
fn problem(lines: &[&str], at: usize, free: usize) -> Option<(RawFailure, usize)> {
    let place = PLACE.captures(lines[at])?;
    let text =
        |names: &[&str]| names.iter().find_map(|name| place.name(name)).map_or("", |group| group.as_str());
    let file = text(&["file1", "file2"]);
    // Arrows point at source text, which the reader of that tool handles. webpack's `@` lines name an importer.
    if !gcc_style::is_path(file) || file.starts_with("-->") || file.starts_with("@ ") {
        return None;
    }
    let near = |at: &usize| Some((*at, may_say(lines[*at]).then(|| SAID.captures(lines[*at])).flatten()?));
    let below = (at + 1..lines.len().min(at + LINES)).take_while(|at| !is_place(lines[*at]));
    let mut below = below.filter(|at| !heads_another(lines, *at));
    let mut above = (free.max(at.saturating_sub(LINES))..at).rev();
    let (on, said) = above.find_map(|at| near(&at)).or_else(|| below.find_map(|at| near(&at)))?;
    let (first, last) = (on.min(at), on.max(at));
    // A message with a stack is an exception, which another reader handles.
    if lines[on..lines.len().min(on + LINES)].iter().any(|line| is_frame(line)) {
        return None;
    }
    let kind = ["code", "kind"].iter().find_map(|name| said.name(name)).map_or("", |group| group.as_str());
    let is_warning = said.name("level").is_some_and(|level| level.as_str().eq_ignore_ascii_case("warning"));
    let number = |names: &[&str]| text(names).parse().ok();
    let draft =
        RawFailure::diagnostic("diagnostics", file, number(&["line1", "line2", "line3"]), &said["what"])
            .kind(kind)
            .with_column(number(&["column1", "column2", "column3"]), "")
            .warning(is_warning);
    Some((draft.message(&lines[first..=last].join("\n")), last))
}

/// The text before the file that webpack could not load.
const WEBPACK: &str = "ERROR in ";

/// Reads the message below webpack's `ERROR in ./a.js 1:10`; an error that it passes on may have no line.
fn of_webpack<'a>(lines: &[&'a str], at: usize) -> Option<(RawFailure, usize)> {
    static HEAD: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"^ERROR in (?P<file>\S+?)(?:[ :(](?P<line>\d+)[:,](?P<column>\d+)\S*)?$")
            .expect("well formed")
    });
    let head = HEAD.captures(lines[at])?;
    let text = |name: &str| head.name(name).map_or("", |group| group.as_str());
    let said: &'a str = lines.get(at + 1).copied().filter(|line| !line.trim().is_empty())?;
    let below = lines.get(at + 2).copied().unwrap_or_default();
    let is_told_below = said.ends_with(": ") || said.ends_with(':');
    let last = at + 1 + usize::from(is_told_below && !below.is_empty());
    let coded = SAID.captures(said.trim_start());
    let part = |name: &str| {
        coded.as_ref().and_then(|captures| captures.name(name)).map_or("", |group| group.as_str())
    };
    let what = if last > at + 1 { format!("{said} {below}") } else { said.trim().to_owned() };
    let what = if part("what").is_empty() { what.as_str() } else { part("what") };
    // Its parser repeats the place.
    let what = what.trim_end_matches(&format!(" ({}:{})", text("line"), text("column")));
    let draft = RawFailure::diagnostic("diagnostics", text("file"), text("line").parse().ok(), what);
    let draft = draft.kind([part("code"), part("kind")].concat().as_str());
    let draft = draft.with_column(text("column").parse().ok(), "").with_line(lines[at]);
    gcc_style::is_path(text("file"))
        .then(|| (draft.with_last_line(lines[last]).message(&lines[at..=last].join("\n")), last))
}

/// Checks whether the message on a line is above its place: separated by an empty line, and less indented.
fn heads_another(lines: &[&str], on: usize) -> bool {
    let is_apart = lines.get(on + 1).is_some_and(|line| line.trim().is_empty());
    is_apart && lines.get(on + 2).is_some_and(|line| line.starts_with("  ") && is_place(line))
}
