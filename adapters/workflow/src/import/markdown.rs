//! Markdown that people write for a worker: check boxes, commands that verify the work, and completion markers.

use std::sync::LazyLock;

use regex::Regex;
use unstuck_core::text::check_boxes;

use super::command;

pub(super) use check_boxes::boxes;

/// Returns the first heading of a text, else its first line.
pub(super) fn title(text: &str) -> Option<&str> {
    let lines = || text.lines().map(str::trim);
    let underlined = lines().zip(lines().skip(1)).filter(|(_, below)| underline(below) == Some(1));
    let headings = lines().filter(|line| line.starts_with("# "));
    // Whichever stands first; both are parts of the same text.
    let heading = headings.chain(underlined.map(|(line, _)| line)).min_by_key(|line| line.as_ptr());
    let first = || lines().find(|line| !line.is_empty() && underline(line).is_none());
    heading.or_else(first).map(|line| line.trim_start_matches('#').trim()).filter(|line| !line.is_empty())
}

/// Command lines of a text, each with its line.
#[derive(Default)]
pub(super) struct MarkdownCommands {
    /// Commands under headings about verification, or after such a label.
    pub taken: Vec<(u32, String)>,
    /// Commands in backticks elsewhere in the prose.
    pub named: Vec<(u32, String)>,
    /// Text in backticks where commands are taken that is not a known command.
    pub unknown: Vec<(u32, String)>,
}

/// Returns the command lines of a text.
pub(super) fn commands(text: &str) -> MarkdownCommands {
    let mut reader = MarkdownReader::default();
    let mut lines = (1..).zip(text.lines()).peekable();
    while let Some((number, line)) = lines.next() {
        let below = lines.peek().and_then(|(_, below)| underline(below));
        match below.filter(|_| reader.fence.is_none() && is_words(line)) {
            Some(level) => {
                // A rule right below a line of commands turns it into a heading by accident.
                if is_label(line) {
                    reader.line(number, line);
                }
                reader.heading(level, line.trim());
                lines.next();
            }
            None => reader.line(number, line),
        }
    }
    reader.commands
}

/// Returns the level of the heading that a line makes of the words above it.
fn underline(line: &str) -> Option<usize> {
    let line = line.trim();
    let is_underline_of = |mark: char| line.len() > 1 && line.chars().all(|c| c == mark);
    is_underline_of('=').then_some(1).or_else(|| is_underline_of('-').then_some(2))
}

/// Says whether a line is words, and neither blank nor the mark of anything else.
fn is_words(line: &str) -> bool {
    let bare = line.trim_start();
    line.len() - bare.len() < 4
        && bare.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '`' | '*' | '_'))
        && !bare.starts_with("* ")
        && !bare.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(['.', ')'])
        && fence_of(bare).is_none()
}

/// Returns the words by which a worker is to say that a loop ends, each with the line where it stands first.
pub(super) fn markers(text: &str) -> Vec<(u32, String)> {
    static MARKER: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"<(?:promise|ralph|completion)>[^<>\n]{0,80}</(?:promise|ralph|completion)>",
            r"|\b[A-Z][A-Z]*(?:_[A-Z]+)*_(?:COMPLETE|COMPLETED|DONE|FINISHED)\b",
            r"|\bEXIT_SIGNAL:\s*true\b",
        ))
        .expect("the pattern is a constant and tested")
    });
    let mut markers: Vec<(u32, String)> = Vec::new();
    for (number, line) in (1..).zip(text.lines()) {
        for marker in MARKER.find_iter(line).map(|marker| marker.as_str()) {
            if !markers.iter().any(|(_, known)| known.contains(marker)) && markers.len() < MARKERS_MAX {
                markers.push((number, marker.to_owned()));
            }
        }
    }
    markers
}

/// Maximum completion markers that are reported.
const MARKERS_MAX: usize = 20;

/// Maximum commands that are taken: a loop runs all of them after each iteration.
const COMMANDS_MAX: usize = 50;

#[derive(Default)]
struct MarkdownReader {
    /// Level of the heading about verification.
    section: Option<usize>,
    /// Run of backticks or tildes of the open block, and whether its lines are read.
    fence: Option<(String, bool)>,
    /// Prefix for the next lines of the block, after a `cd` line.
    folder: String,
    /// Beginning of a command that continues on the next line, with its line number.
    partial: Option<(u32, String)>,
    commands: MarkdownCommands,
}

impl MarkdownReader {
    fn line(&mut self, number: u32, line: &str) {
        let bare = line.trim_start_matches([' ', '\t', '>']);
        if let Some((fence, is_read)) = &self.fence {
            if bare.starts_with(fence.as_str()) && bare.trim_start_matches(['`', '~']).trim().is_empty() {
                self.end_block();
            } else if *is_read {
                self.in_block(number, bare.trim());
            }
        } else if let Some(fence) = fence_of(bare) {
            let language = bare[fence.len()..].trim().to_ascii_lowercase();
            let is_shell = SHELLS.contains(&language.split_whitespace().next().unwrap_or_default());
            self.fence = Some((fence.to_owned(), is_shell && self.section.is_some()));
        } else if let Some((level, title)) = heading(bare) {
            self.heading(level, title);
        } else {
            self.in_words(number, bare);
        }
    }

    fn heading(&mut self, level: usize, title: &str) {
        if self.section.is_none_or(|section| level <= section) || starts_task(title) {
            self.section = is_about_verification(title).then_some(level);
        }
    }

    fn end_block(&mut self) {
        if let Some((number, line)) = self.partial.take() {
            push(&mut self.commands.taken, number, &line);
        }
        self.fence = None;
        self.folder.clear();
    }

    fn in_block(&mut self, number: u32, line: &str) {
        let line = command::bare(line);
        if line.is_empty() || line.starts_with('#') {
            return;
        }
        let (first, whole) = match self.partial.take() {
            Some((first, partial)) => (first, format!("{partial} {line}")),
            None => (number, line.to_owned()),
        };
        if let Some(partial) = whole.strip_suffix('\\') {
            self.partial = Some((first, partial.trim_end().to_owned()));
        } else if whole.strip_prefix("cd ").is_some_and(|folder| !folder.contains(['&', ';', '|'])) {
            self.folder = format!("{whole} && ");
        } else {
            let comment = whole.find(" # ").unwrap_or(whole.len());
            let line = format!("{}{}", self.folder, whole[..comment].trim_end());
            push(&mut self.commands.taken, first, &line);
        }
    }

    fn in_words(&mut self, number: u32, line: &str) {
        let item =
            line.trim_start_matches(|c: char| matches!(c, '-' | '*' | '+' | '.' | ')') || c.is_ascii_digit());
        let item = item.trim_start();
        let item =
            ["[ ]", "[x]", "[X]"].iter().find_map(|mark| item.strip_prefix(mark)).unwrap_or(item).trim();
        let is_taken = self.section.is_some() || is_label(line);
        let spans: Vec<&str> = item.split('`').skip(1).step_by(2).map(str::trim).collect();
        if item.contains('`') {
            let is_whole = |span: &&str| {
                command::is_command(span)
                    && (span.contains(' ') || ALONE.contains(span) || span.contains('/'))
            };
            for span in spans {
                match (is_taken, is_whole(&span)) {
                    (true, true) => push(&mut self.commands.taken, number, span),
                    (false, true) => push(&mut self.commands.named, number, span),
                    (true, false) if command::is_like_one(span) => {
                        push(&mut self.commands.unknown, number, span)
                    }
                    _ => {}
                }
            }
        } else if self.section.is_some() && command::is_command_alone(item) {
            push(&mut self.commands.taken, number, item);
        }
    }
}

fn push(list: &mut Vec<(u32, String)>, number: u32, line: &str) {
    if list.len() < COMMANDS_MAX {
        list.push((number, line.to_owned()));
    }
}

/// Returns whether a heading begins a piece of work, at any level. The worker runs the commands below it once.
fn starts_task(title: &str) -> bool {
    const PIECES: &[&str] =
        &["feature", "issue", "iteration", "milestone", "phase", "stage", "step", "story", "task", "ticket"];
    let first = title.split(|c: char| !c.is_alphanumeric()).find(|word| !word.is_empty());
    first.is_some_and(|word| PIECES.contains(&word.to_ascii_lowercase().as_str()))
}

/// Languages of blocks that hold command lines.
const SHELLS: &[&str] = &["", "bash", "sh", "shell", "zsh", "console", "terminal", "shell-session"];

/// Programs that are a whole command line.
const ALONE: &[&str] = &[
    "ctest", "jest", "make", "mypy", "nox", "phpunit", "pyright", "pytest", "rspec", "rubocop", "tox", "tsc",
    "vitest",
];

fn fence_of(line: &str) -> Option<&str> {
    let mark = line.chars().next().filter(|mark| matches!(mark, '`' | '~'))?;
    let run = &line[..line.len() - line.trim_start_matches(mark).len()];
    (run.len() >= 3).then_some(run)
}

/// Takes a heading apart: its level and its title.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    ((1..=6).contains(&level) && title.starts_with([' ', '\t'])).then(|| (level, title.trim()))
}

fn is_about_verification(title: &str) -> bool {
    static TITLE: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(concat!(
            r"(?i)\b(?:validat(?:e|ion|ing)|verif(?:y|ication|ying)|acceptance|test(?:s|ing)?(?: plan| commands?)?\s*$",
            r"|test (?:plan|commands?)|quality|checks?|backpressure|feedback loops?|definition of done|success criteria|done when)\b",
        ))
        .expect("the pattern is a constant and tested")
    });
    TITLE.is_match(title)
}

/// Returns whether a line is a label for commands, such as `**Verify:** ...`.
fn is_label(line: &str) -> bool {
    static LABEL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^[\W\d]*(?:validat(?:e|ion)|verif(?:y|ication)|acceptance|tests?|test plan|checks?)\b[^:`]{0,30}:")
            .expect("the pattern is a constant and tested")
    });
    LABEL.is_match(line)
}
