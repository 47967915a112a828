//! A file to import, what was read of it so far, and what is said about it.

use std::fmt;

use serde::Serialize;
use unstuck_core::evidence::{Decision, DecisionFile};
use unstuck_core::judge::verdict::{self, Evidence};
use unstuck_document::diagnostic::{KeyPath, Location, Report};
use unstuck_document::{Diagnostic, Rejected, node};

use super::{command, markdown, write};
use crate::test_command::TestCommand;
use crate::workflow_file::{Files, Options};

/// The largest file that is read, in bytes.
pub const BYTES_MAX: usize = node::MOST_BYTES;

/// A file to import.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Path from the root of the workspace, with `/`.
    pub path: &'a str,
    /// Content of the file.
    pub bytes: &'a [u8],
}

/// Settings that do not come from the file.
#[derive(Clone, Debug, Default)]
pub struct ImportOptions {
    /// The worker; by default the one that the file names, else Claude Code.
    pub with: Option<ImportedWorker>,
    /// Test command of the project.
    pub tests: Option<TestCommand>,
}

/// The worker of an imported workflow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImportedWorker {
    /// A client, by its name.
    Client(String),
    /// A command line, not blank, which reads the prompt on standard input.
    Command(String),
}

impl fmt::Display for ImportedWorker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(name) => write!(f, "{name} works"),
            Self::Command(command) => write!(f, "`{command}` works, with the prompt on standard input"),
        }
    }
}

/// Something that was carried over, or could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ImportNote {
    /// Name of the file.
    pub file: String,
    /// The line; the first is 1.
    pub line: Option<u32>,
    /// The item, with the reason if it was not carried over.
    pub what: String,
    /// Suggested action, if there is one.
    pub instead: Option<String>,
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        self.instead.as_ref().map_or(Ok(()), |instead| write!(f, "; {instead}"))
    }
}

/// A file, what was read of it so far, and what is said about it.
pub(super) struct Input<'a> {
    pub(super) source: &'a Source<'a>,
    pub(super) text: &'a str,
    pub(super) wishes: &'a ImportOptions,
    pub(super) options: &'a Options,
    pub(super) files: &'a dyn Files,
    pub(super) draft: write::Draft,
    /// The file that remarks are about.
    pub(super) about: String,
    pub(super) carried: Vec<ImportNote>,
    pub(super) left: Vec<ImportNote>,
}

impl<'a> Input<'a> {
    pub(super) fn new(
        source: &'a Source<'a>,
        wishes: &'a ImportOptions,
        options: &'a Options,
        files: &'a dyn Files,
    ) -> Result<Self, Rejected> {
        let bytes = source.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source.bytes);
        let text = text_of(source.path, bytes)?;
        let draft = write::Draft::new(source.path, wishes);
        let (about, carried, left) = (source.path.to_owned(), Vec::new(), Vec::new());
        Ok(Self { source, text, wishes, options, files, draft, about, carried, left })
    }

    pub(super) fn rejected(&self, offset: u32, what: impl Into<String>, help: &str) -> Rejected {
        rejected(self.source.path, self.text, offset, what, help)
    }

    /// Returns the line of a place; the first is 1.
    pub(super) fn line(&self, offset: u32) -> u32 {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.text.len());
        let before = self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    pub(super) fn carried(&mut self, line: impl Into<Option<u32>>, what: impl Into<String>) {
        let file = self.about.clone();
        self.carried.push(ImportNote { file, line: line.into(), what: shown(&what.into()), instead: None });
    }

    pub(super) fn left(&mut self, line: impl Into<Option<u32>>, what: impl Into<String>, instead: &str) {
        let (file, instead) = (self.about.clone(), Some(instead.to_owned()));
        self.left.push(ImportNote { file, line: line.into(), what: shown(&what.into()), instead });
    }

    /// Takes a command of the file as one that shows the work, or says why not.
    pub(super) fn command(&mut self, line: u32, text: &str) {
        match command::read(text) {
            Ok(run) if self.draft.step().commands.iter().any(|it| it.run == run) => {}
            Ok(run) => {
                self.carried(line, format!("`{run}`: has to pass after each iteration"));
                let from = format!("{}:{line}", self.about);
                self.draft.step().commands.push(write::Command { run, from });
            }
            Err(why) => {
                self.not_taken(line, text, why);
            }
        }
    }

    /// Says that a command is no check, and why.
    pub(super) fn not_taken(&mut self, line: u32, command: &str, why: &str) {
        let instead = "if it shows that the work is done, write it into the workflow";
        self.left(line, format!("`{command}`: {why}"), instead);
    }

    /// Takes the command that tests the project where the file itself names none; says what is missing where
    /// there is none either.
    pub(super) fn tests(&mut self) {
        if !self.draft.step().commands.is_empty() {
            return;
        }
        match &self.wishes.tests {
            Some(tests) => {
                let what = format!("`{}`: the tests of the project have to pass", tests.command);
                self.carried.push(ImportNote { file: tests.found.clone(), line: None, what, instead: None });
                let command = write::Command { run: tests.command.clone(), from: tests.found.clone() };
                self.draft.step().commands.push(command);
            }
            None => {
                let what = "no command is taken from here as one that shows the work, and none follows from the project";
                self.left(None, what, "so the worker's own word counts; add what a program finds out");
            }
        }
    }

    /// Says who works where the file does not.
    pub(super) fn worker(&mut self) {
        let what = match (&self.wishes.with, self.draft.names_worker) {
            (Some(with), _) => with.to_string(),
            (None, false) => "CLAUDE_CODE works, as no other worker is named".to_owned(),
            (None, true) => return,
        };
        self.carried(None, what);
    }

    /// Notes for every completion marker of another loop what it means here.
    pub(super) fn markers(&mut self, text: &str) {
        for (line, marker) in markdown::markers(text) {
            self.marker(line, &format!("`{marker}` in the output"), &marker);
        }
    }

    /// Notes what a completion marker means here: nothing, or a claim if it would be read as a verdict.
    pub(super) fn marker(&mut self, line: u32, what: &str, word: &str) {
        if is_claim(word) {
            let what =
                format!("{what} is a claim of the worker here: what is asked beside it has to hold as well");
            self.left(line, what, "where nothing else is asked, that word ends the step: add a command");
        } else {
            let what = format!("{what} ends nothing here: it is a word, and no evidence");
            self.left(line, what, "the worker is told how to say that it is done; the commands show it");
        }
    }

    /// Notes that a command in the prose is not a check, if it could be one.
    pub(super) fn named(&mut self, line: u32, text: &str) {
        let Ok(run) = command::read(text) else { return };
        if !self.draft.step().commands.iter().any(|it| it.run == run) {
            self.not_taken(line, &run, "named beside the task, and not taken");
        }
    }

    /// Returns the number of lines before `body`, which is the end of the file.
    pub(super) fn lines_before(&self, body: &str) -> u32 {
        self.line(u32::try_from(self.text.len() - body.len()).unwrap_or(u32::MAX)) - 1
    }
}

/// Says whether an answer that is this word alone is a verdict that the work is complete.
fn is_claim(word: &str) -> bool {
    let file = DecisionFile::NotConfigured;
    let evidence = Evidence {
        file: &file,
        file_fresh: true,
        answer: Some(word),
        prompt: None,
        said: "",
        check_id: None,
    };
    verdict::resolve(&evidence).decision == Decision::Complete
}

pub(super) fn text_of<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, Rejected> {
    let next = "name another file";
    let lossy = || String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES_MAX)]).into_owned();
    if bytes.len() > BYTES_MAX {
        let what = format!("larger than {BYTES_MAX} bytes");
        return Err(rejected_whole(path, &what, "leave out what the worker does not need"));
    }
    let place = |at: usize| u32::try_from(at).unwrap_or(0);
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(rejected(path, &lossy(), place(at.min(lossy().len())), "not a text: a zero byte", next));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        rejected(path, &lossy(), place(error.valid_up_to()), "not UTF-8", "convert it: iconv -t UTF-8")
    })?;
    if text.trim().is_empty() {
        return Err(rejected_whole(path, "the file is empty", next));
    }
    Ok(text)
}

fn rejected(path: &str, text: &str, offset: u32, what: impl Into<String>, help: &str) -> Rejected {
    let mut report = Report::default();
    let source = report.add_source(path.to_owned(), text.to_owned());
    report.error(Location { source, offset }, &KeyPath::default(), what, help);
    Rejected { complaints: report.finish(false).0 }
}

/// Refuses a file for what it is as a whole.
fn rejected_whole(path: &str, what: &str, help: &str) -> Rejected {
    let (file, what, help) = (path.to_owned(), what.to_owned(), Some(help.to_owned()));
    let complaint = Diagnostic { file, line: 0, column: 0, path: String::new(), what, help, excerpt: None };
    Rejected { complaints: vec![complaint] }
}

/// Returns a text on one line, fit for a terminal, and not too long.
pub(super) fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 300;
    let mut shown: String =
        text.chars().take(CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}
