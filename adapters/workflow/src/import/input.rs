//! A file to import, what was read of it so far, and what is said about it.

use unstuck_core::evidence::{Decision, DecisionFile};
use unstuck_core::judge::verdict::{self, Evidence};
use unstuck_core::plural;
use unstuck_document::{Diagnostic, FileOffset, KeyPath, LoadError, LoadReport, diagnostic};

use super::options::{ImportNote, ImportOptions, ImportSource, one_line};
use super::{command, markdown, write};
use crate::workflow_file::{Files, LoadOptions};

/// The largest file that is read, in bytes.
pub const BYTES_MAX: usize = diagnostic::MOST_BYTES;

/// A file, what was read of it so far, and what is said about it.
pub(super) struct Import<'a> {
    pub(super) source: &'a ImportSource<'a>,
    pub(super) text: &'a str,
    pub(super) choices: &'a ImportOptions,
    pub(super) options: &'a LoadOptions,
    pub(super) files: &'a dyn Files,
    pub(super) draft: write::Draft,
    /// The file that remarks are about.
    pub(super) about: String,
    pub(super) carried: Vec<ImportNote>,
    pub(super) left: Vec<ImportNote>,
}

impl<'a> Import<'a> {
    pub(super) fn new(
        source: &'a ImportSource<'a>,
        choices: &'a ImportOptions,
        options: &'a LoadOptions,
        files: &'a dyn Files,
    ) -> Result<Self, LoadError> {
        let bytes = source.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source.bytes);
        let text = decode_text(source.path, bytes)?;
        let draft = write::Draft::new(source.path, choices);
        let (about, carried, left) = (source.path.to_owned(), Vec::new(), Vec::new());
        Ok(Self { source, text, choices, options, files, draft, about, carried, left })
    }

    pub(super) fn rejected(&self, offset: u32, what: impl Into<String>, help: &str) -> LoadError {
        reject_at(self.source.path, self.text, offset, what, help)
    }

    /// Returns the line of a place; the first is 1.
    pub(super) fn line(&self, offset: u32) -> u32 {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.text.len());
        let before = self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    pub(super) fn carry(&mut self, line: impl Into<Option<u32>>, what: impl Into<String>) {
        let file = self.about.clone();
        let what = one_line(&what.into());
        self.carried.push(ImportNote { file, line: line.into(), what, instead: None });
    }

    pub(super) fn omit(&mut self, line: impl Into<Option<u32>>, what: impl Into<String>, instead: &str) {
        let (file, instead) = (self.about.clone(), Some(instead.to_owned()));
        self.left.push(ImportNote { file, line: line.into(), what: one_line(&what.into()), instead });
    }

    /// Takes a command of the file as one that shows the work, or says why not.
    pub(super) fn command(&mut self, line: u32, text: &str) {
        match command::read(text) {
            Ok(run) if self.draft.step().commands.iter().any(|command| command.run == run) => {}
            Ok(run) => {
                self.carry(line, format!("`{run}`: has to pass after each iteration"));
                let from = format!("{}:{line}", self.about);
                self.draft.step().commands.push(write::DraftCommand { run, from });
            }
            Err(why) => {
                self.reject_command(line, text, why);
            }
        }
    }

    /// Says that a command is no check, and why.
    pub(super) fn reject_command(&mut self, line: u32, command: &str, why: &str) {
        let instead = "if it shows that the work is done, write it into the workflow";
        self.omit(line, format!("`{command}`: {why}"), instead);
    }

    /// Takes the command that tests the project where the file itself names none; says what is missing where
    /// there is none either.
    pub(super) fn tests(&mut self) {
        if !self.draft.step().commands.is_empty() {
            return;
        }
        match &self.choices.tests {
            Some(tests) => {
                let what = format!("`{}`: the tests of the project have to pass", tests.command);
                self.carried.push(ImportNote { file: tests.found.clone(), line: None, what, instead: None });
                let command = write::DraftCommand { run: tests.command.clone(), from: tests.found.clone() };
                self.draft.step().commands.push(command);
            }
            None => {
                let what = "no command is taken from here as one that shows the work, and none follows from the project";
                self.omit(None, what, "so the worker's own word counts; add what a program finds out");
            }
        }
    }

    /// Says who works where the file does not.
    pub(super) fn worker(&mut self) {
        let what = match (&self.choices.with, self.draft.names_worker) {
            (Some(with), _) => with.to_string(),
            (None, false) => "CLAUDE_CODE works, as no other worker is named".to_owned(),
            (None, true) => return,
        };
        self.carry(None, what);
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
            self.omit(line, what, "where nothing else is asked, that word ends the step: add a command");
        } else {
            let what = format!("{what} ends nothing here: it is a word, and no evidence");
            self.omit(line, what, "the worker is told how to say that it is done; the commands show it");
        }
    }

    /// Notes that a command in the prose is not a check, if it could be one.
    pub(super) fn note_command(&mut self, line: u32, text: &str) {
        let Ok(run) = command::read(text) else { return };
        if !self.draft.step().commands.iter().any(|command| command.run == run) {
            self.reject_command(line, &run, "named beside the task, and not taken");
        }
    }

    /// Takes a bound of iterations that is written as a number.
    pub(super) fn iterations(&mut self, line: u32, count: &str) {
        match count.parse::<u32>() {
            Ok(count @ 2..) => {
                self.draft.step().max_iterations = count;
                self.carry(line, format!("{} at most", plural::count(count, "iteration")));
            }
            _ => self.omit(
                line,
                format!("max_iterations = {count}"),
                "a loop is bounded here by at least 2 iterations",
            ),
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

pub(super) fn decode_text<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, LoadError> {
    let next = "name another file";
    let lossy = || String::from_utf8_lossy(&bytes[..bytes.len().min(BYTES_MAX)]).into_owned();
    if bytes.len() > BYTES_MAX {
        let what = format!("larger than {BYTES_MAX} bytes");
        return Err(reject_file(path, &what, "leave out what the worker does not need"));
    }
    let place = |at: usize| u32::try_from(at).unwrap_or(0);
    if let Some(at) = memchr::memchr(0, bytes) {
        return Err(reject_at(path, &lossy(), place(at.min(lossy().len())), "not a text: a zero byte", next));
    }
    let text = str::from_utf8(bytes).map_err(|error| {
        reject_at(path, &lossy(), place(error.valid_up_to()), "not UTF-8", "convert it: iconv -t UTF-8")
    })?;
    if text.trim().is_empty() {
        return Err(reject_file(path, "the file is empty", next));
    }
    Ok(text)
}

fn reject_at(path: &str, text: &str, offset: u32, what: impl Into<String>, help: &str) -> LoadError {
    let mut report = LoadReport::default();
    let source = report.add_source(path.to_owned(), text.to_owned());
    report.error(FileOffset { source, offset }, &KeyPath::default(), what, help);
    LoadError { complaints: report.finish(false).0 }
}

/// Refuses a file for what it is as a whole.
fn reject_file(path: &str, what: &str, help: &str) -> LoadError {
    let (file, what, help) = (path.to_owned(), what.to_owned(), Some(help.to_owned()));
    let complaint = Diagnostic { file, line: 0, column: 0, path: String::new(), what, help, excerpt: None };
    LoadError { complaints: vec![complaint] }
}
