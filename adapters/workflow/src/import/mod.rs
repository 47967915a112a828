//! Reads what drives another loop, and writes a workflow that does the same here, as far as there is one.
//!
//! A kind of file is known by what it holds: `stories` with `passes`, a `plan` with boxes, a `prompt`, the
//! configuration of a Ralph loop (`ralph`), a steps `registry`, a workflow. What was carried over and what could
//! not be is listed, with its line. A word of the worker's own is a claim at most: what the files name as commands that
//! show the work becomes the check.
//!
//! `write` puts the workflow into words, `markdown` and `command` read what several kinds have in common.

use std::fmt;
use std::path::Path;

use serde::Serialize;
use unstuck_core::evidence::{Decision, DecisionFile};
use unstuck_core::verdict::{self, Evidence};

use crate::test_command::TestCommand;
use crate::workflow_file::{self, Files, Options};
use unstuck_document::complaint::{KeyPath, Place, Report};
use unstuck_document::json;
use unstuck_document::node::{self, Node};
use unstuck_document::{Complaint, Rejected};

mod command;
mod markdown;
mod plan;
mod prompt;
mod ralph;
mod registry;
mod stories;
mod write;

/// The largest file that is read, in bytes.
pub const BYTES_MAX: usize = node::MOST_BYTES;

/// A file to import.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// From the root of the workspace, with `/`.
    pub path: &'a str,
    /// What it holds.
    pub bytes: &'a [u8],
}

/// What is not for the file to say.
#[derive(Clone, Debug, Default)]
pub struct Wishes {
    /// Who works; by default whom the file names, else Claude Code.
    pub with: Option<Works>,
    /// How the project is tested.
    pub tests: Option<TestCommand>,
}

/// Who works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Works {
    /// A client, by its name.
    Client(String),
    /// A command line, not blank, which reads the prompt on standard input.
    Command(String),
}

impl fmt::Display for Works {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Client(name) => write!(f, "{name} works"),
            Self::Command(command) => write!(f, "`{command}` works, with the prompt on standard input"),
        }
    }
}

/// What a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// JSON with user stories that pass or do not.
    Stories,
    /// Markdown with boxes.
    Plan,
    /// A text for the worker.
    Prompt,
    /// The configuration of a Ralph loop.
    Ralph,
    /// A steps registry.
    Registry,
    /// A workflow: it runs as it is.
    Workflow,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stories => "user stories",
            Self::Plan => "a plan with boxes",
            Self::Prompt => "a prompt",
            Self::Ralph => "the configuration of a Ralph loop",
            Self::Registry => "a steps registry",
            Self::Workflow => "a workflow",
        })
    }
}

/// Something that was carried over, or could not be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Remark {
    /// Where it stands.
    pub file: String,
    /// The line; the first is 1.
    pub line: Option<u32>,
    /// What it is.
    pub what: String,
    /// What to do instead, where there is something to do.
    pub instead: Option<String>,
}

impl fmt::Display for Remark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.what)?;
        self.instead.as_ref().map_or(Ok(()), |instead| write!(f, "; {instead}"))
    }
}

/// What became of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// What it is.
    pub kind: Kind,
    /// A workflow that its reader takes.
    pub workflow: String,
    /// What is in it.
    pub carried: Vec<Remark>,
    /// What is not in it.
    pub left: Vec<Remark>,
}

/// Makes a workflow of a file. What it refers to comes from `files`, below the workspace of `options`.
///
/// Never panics, whatever the bytes are.
///
/// # Errors
///
/// A file that is none of these, or is broken: with its place and what to do about it.
pub fn import(
    source: &Source<'_>,
    wishes: &Wishes,
    options: &Options,
    files: &dyn Files,
) -> Result<Imported, Rejected> {
    let mut input = Input::new(source, wishes, options, files)?;
    let kind = match input.document()? {
        Document::Tree(tree) => of_tree(&mut input, &tree)?,
        Document::Text if markdown::boxes(input.text).is_empty() => {
            prompt::read(&mut input);
            Kind::Prompt
        }
        Document::Text => {
            plan::read(&mut input);
            Kind::Plan
        }
    };
    if kind != Kind::Workflow {
        input.worker();
    }
    let Input { draft, carried, left, text, .. } = input;
    let workflow = if kind == Kind::Workflow { text.to_owned() } else { write::written(&draft) };
    let name = Path::new(source.path).with_extension("unstuck.yaml");
    let name = if kind == Kind::Workflow { Path::new(source.path) } else { &name };
    let loaded = workflow_file::parse(workflow.as_bytes(), &options.workspace.join(name), options, files)?;
    let mut imported = Imported { kind, workflow, carried, left };
    imported.left.extend(loaded.warnings.into_iter().map(|warning| Remark {
        file: warning.file,
        line: (warning.line > 0).then_some(warning.line),
        what: warning.what,
        instead: warning.help,
    }));
    Ok(imported)
}

fn of_tree(input: &mut Input<'_>, tree: &Node) -> Result<Kind, Rejected> {
    let has = |key: &str| tree.entry(key).is_some();
    if registry::is_one(tree) {
        registry::read(input)?;
        return Ok(Kind::Registry);
    }
    let lists = stories::find(tree);
    if !lists.is_empty() {
        stories::read(input, tree, &lists)?;
        return Ok(Kind::Stories);
    }
    if ralph::is_one(tree) {
        ralph::read(input, tree)?;
        return Ok(Kind::Ralph);
    }
    if has("steps") || has("version") && has("timeout") {
        return Ok(Kind::Workflow);
    }
    Err(input.rejected(
        tree.place.offset,
        "nothing in this file can be imported",
        "expected user stories with `passes`, a configuration of a Ralph loop, a steps registry or a workflow; a plan or a \
         prompt is Markdown",
    ))
}

/// A file, what was read of it so far, and what is said about it.
struct Input<'a> {
    source: &'a Source<'a>,
    text: &'a str,
    wishes: &'a Wishes,
    options: &'a Options,
    files: &'a dyn Files,
    draft: write::Draft,
    /// The file that remarks are about.
    about: String,
    carried: Vec<Remark>,
    left: Vec<Remark>,
}

enum Document {
    Tree(Node),
    Text,
}

impl<'a> Input<'a> {
    fn new(
        source: &'a Source<'a>,
        wishes: &'a Wishes,
        options: &'a Options,
        files: &'a dyn Files,
    ) -> Result<Self, Rejected> {
        let bytes = source.bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(source.bytes);
        let text = text_of(source.path, bytes)?;
        let draft = write::Draft::new(source.path, wishes);
        let (about, carried, left) = (source.path.to_owned(), Vec::new(), Vec::new());
        Ok(Self { source, text, wishes, options, files, draft, about, carried, left })
    }

    /// Reads the text as JSON or YAML where it is that; anything else is words.
    fn document(&self) -> Result<Document, Rejected> {
        let start = self.text.trim_start();
        let mut report = Report::default();
        let source = report.add_source(self.source.path.to_owned(), self.text.to_owned());
        let has_name = |names: &[&str]| {
            let extension = Path::new(self.source.path).extension().and_then(|it| it.to_str());
            extension.is_some_and(|it| names.iter().any(|name| it.eq_ignore_ascii_case(name)))
        };
        let is_json = has_name(&["json", "jsonc"]) || start.starts_with('{') && start.contains('"');
        let is_yaml = has_name(&["yaml", "yml"]);
        let tree = if is_json {
            json::parse(source, self.text, &mut report)
        } else {
            node::parse(source, self.text, &mut report)
        };
        let (complaints, _) = report.finish(false);
        match tree {
            Some(tree) if complaints.is_empty() && (is_json || is_yaml || is_known(&tree)) => {
                Ok(Document::Tree(tree))
            }
            _ if is_json || is_yaml && !complaints.is_empty() => Err(Rejected { complaints }),
            _ => Ok(Document::Text),
        }
    }

    fn rejected(&self, offset: u32, what: impl Into<String>, help: &str) -> Rejected {
        rejected(self.source.path, self.text, offset, what, help)
    }

    /// Returns the line of a place; the first is 1.
    fn line(&self, offset: u32) -> u32 {
        let offset = usize::try_from(offset).unwrap_or(usize::MAX).min(self.text.len());
        let before = self.text.as_bytes()[..offset].iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(before).unwrap_or(u32::MAX).saturating_add(1)
    }

    fn carried(&mut self, line: impl Into<Option<u32>>, what: impl Into<String>) {
        let file = self.about.clone();
        self.carried.push(Remark { file, line: line.into(), what: shown(&what.into()), instead: None });
    }

    fn left(&mut self, line: impl Into<Option<u32>>, what: impl Into<String>, instead: &str) {
        let (file, instead) = (self.about.clone(), Some(instead.to_owned()));
        self.left.push(Remark { file, line: line.into(), what: shown(&what.into()), instead });
    }

    /// Takes a command of the file as one that shows the work, or says why not.
    fn command(&mut self, line: u32, text: &str) {
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
    fn not_taken(&mut self, line: u32, command: &str, why: &str) {
        let instead = "if it shows that the work is done, write it into the workflow";
        self.left(line, format!("`{command}`: {why}"), instead);
    }

    /// Takes the command that tests the project where the file itself names none; says what is missing where
    /// there is none either.
    fn tests(&mut self) {
        if !self.draft.step().commands.is_empty() {
            return;
        }
        match &self.wishes.tests {
            Some(tests) => {
                let what = format!("`{}`: the tests of the project have to pass", tests.command);
                self.carried.push(Remark { file: tests.found.clone(), line: None, what, instead: None });
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
    fn worker(&mut self) {
        let what = match (&self.wishes.with, self.draft.names_worker) {
            (Some(with), _) => with.to_string(),
            (None, false) => "CLAUDE_CODE works, as no other worker is named".to_owned(),
            (None, true) => return,
        };
        self.carried(None, what);
    }

    /// Says of every word by which a worker ends another loop that it ends nothing here.
    fn markers(&mut self, text: &str) {
        for (line, marker) in markdown::markers(text) {
            self.marker(line, &format!("`{marker}` in the output"), &marker);
        }
    }

    /// Says what such a word is here: nothing, or the claim that it is for whoever reads a verdict.
    fn marker(&mut self, line: u32, what: &str, word: &str) {
        if is_claim(word) {
            let what =
                format!("{what} is a claim of the worker here: what is asked beside it has to hold as well");
            self.left(line, what, "where nothing else is asked, that word ends the step: add a command");
        } else {
            let what = format!("{what} ends nothing here: it is a word, and no evidence");
            self.left(line, what, "the worker is told how to say that it is done; the commands show it");
        }
    }

    /// Says of a command that stands in the words that it is no check, if it could be one.
    fn named(&mut self, line: u32, text: &str) {
        let Ok(run) = command::read(text) else { return };
        if !self.draft.step().commands.iter().any(|it| it.run == run) {
            self.not_taken(line, &run, "named beside the task, and not taken");
        }
    }

    /// Returns how many lines stand before a text that is the end of the file.
    fn lines_before(&self, body: &str) -> u32 {
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

/// Says whether a tree that nobody calls JSON or YAML is one of ours all the same, and not prose with a colon in it.
fn is_known(tree: &Node) -> bool {
    let has = |keys: &[&str]| keys.iter().all(|key| tree.entry(key).is_some());
    registry::is_one(tree) || ralph::is_one(tree) || has(&["steps", "version"]) || has(&["steps", "name"])
}

fn text_of<'a>(path: &str, bytes: &'a [u8]) -> Result<&'a str, Rejected> {
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
    report.error(Place { source, offset }, &KeyPath::default(), what, help);
    Rejected { complaints: report.finish(false).0 }
}

/// Refuses a file for what it is as a whole.
fn rejected_whole(path: &str, what: &str, help: &str) -> Rejected {
    let (file, what, help) = (path.to_owned(), what.to_owned(), Some(help.to_owned()));
    let complaint = Complaint { file, line: 0, column: 0, path: String::new(), what, help, excerpt: None };
    Rejected { complaints: vec![complaint] }
}

/// Returns a text on one line, fit for a terminal, and not too long.
fn shown(text: &str) -> String {
    const CHARS_MAX: usize = 300;
    let mut shown: String =
        text.chars().take(CHARS_MAX).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.chars().nth(CHARS_MAX).is_some() {
        shown.push('…');
    }
    shown
}

#[cfg(test)]
mod tests;
