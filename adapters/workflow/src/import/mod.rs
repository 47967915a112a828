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
use unstuck_document::node::{self, TreeNode};
use unstuck_document::{LoadError, LoadReport, json};

use crate::workflow_file::{self, Files, LoadOptions};

mod command;
mod input;
mod markdown;
mod options;
mod plan;
mod prompt;
mod ralph;
mod registry;
mod stories;
mod write;

pub use input::BYTES_MAX;
use input::Import;
pub use options::{ImportNote, ImportOptions, ImportSource, ImportedWorker};

/// The kind of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ImportKind {
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

impl fmt::Display for ImportKind {
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

/// The result of an import.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportedWorkflow {
    /// The kind of the file.
    pub kind: ImportKind,
    /// A workflow that its reader takes.
    pub workflow: String,
    /// The parts that were imported.
    pub carried: Vec<ImportNote>,
    /// The parts that were left out.
    pub left: Vec<ImportNote>,
}

/// Makes a workflow of a file. What it refers to comes from `files`, below the workspace of `options`.
///
/// Never panics, whatever the bytes are.
///
/// # Errors
///
/// A file that is none of these, or is broken: with its place and what to do about it.
pub fn import(
    source: &ImportSource<'_>,
    choices: &ImportOptions,
    options: &LoadOptions,
    files: &dyn Files,
) -> Result<ImportedWorkflow, LoadError> {
    let mut input = Import::new(source, choices, options, files)?;
    let kind = match document(&input)? {
        ParsedFile::Tree(tree) => read_tree(&mut input, &tree)?,
        ParsedFile::Text if markdown::boxes(input.text).is_empty() => {
            prompt::read(&mut input);
            ImportKind::Prompt
        }
        ParsedFile::Text => {
            plan::read(&mut input);
            ImportKind::Plan
        }
    };
    if kind != ImportKind::Workflow {
        input.worker();
    }
    let Import { draft, carried, left, text, .. } = input;
    let workflow = if kind == ImportKind::Workflow { text.to_owned() } else { write::to_yaml(&draft) };
    let name = Path::new(source.path).with_extension("unstuck.yaml");
    let name = if kind == ImportKind::Workflow { Path::new(source.path) } else { &name };
    let loaded = workflow_file::parse(workflow.as_bytes(), &options.workspace.join(name), options, files)?;
    let mut imported = ImportedWorkflow { kind, workflow, carried, left };
    imported.left.extend(loaded.warnings.into_iter().map(|warning| ImportNote {
        file: warning.file,
        line: (warning.line > 0).then_some(warning.line),
        what: warning.what,
        instead: warning.help,
    }));
    Ok(imported)
}

fn read_tree(input: &mut Import<'_>, tree: &TreeNode) -> Result<ImportKind, LoadError> {
    let has = |key: &str| tree.entry(key).is_some();
    if registry::is_one(tree) {
        registry::read(input)?;
        return Ok(ImportKind::Registry);
    }
    let lists = stories::find(tree);
    if !lists.is_empty() {
        stories::read(input, tree, &lists)?;
        return Ok(ImportKind::Stories);
    }
    if ralph::is_one(tree) {
        ralph::read(input, tree)?;
        return Ok(ImportKind::Ralph);
    }
    if has("steps") || has("version") && has("timeout") {
        return Ok(ImportKind::Workflow);
    }
    Err(input.rejected(
        tree.place.offset,
        "nothing in this file can be imported",
        "expected user stories with `passes`, a configuration of a Ralph loop, a steps registry or a workflow; a plan or a \
         prompt is Markdown",
    ))
}

enum ParsedFile {
    Tree(TreeNode),
    Text,
}

/// Reads the text as JSON or YAML where it is that; anything else is words.
fn document(input: &Import<'_>) -> Result<ParsedFile, LoadError> {
    let start = input.text.trim_start();
    let mut report = LoadReport::default();
    let source = report.add_source(input.source.path.to_owned(), input.text.to_owned());
    let has_name = |names: &[&str]| {
        let extension = Path::new(input.source.path).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| names.iter().any(|name| extension.eq_ignore_ascii_case(name)))
    };
    let is_json = has_name(&["json", "jsonc"]) || start.starts_with('{') && start.contains('"');
    let is_yaml = has_name(&["yaml", "yml"]);
    let tree = if is_json {
        json::parse(source, input.text, &mut report)
    } else {
        node::parse(source, input.text, &mut report)
    };
    let (complaints, _) = report.finish(false);
    match tree {
        Some(tree) if complaints.is_empty() && (is_json || is_yaml || is_known(&tree)) => {
            Ok(ParsedFile::Tree(tree))
        }
        _ if is_json || is_yaml && !complaints.is_empty() => Err(LoadError { complaints }),
        _ => Ok(ParsedFile::Text),
    }
}

/// Returns whether a tree from a file without a JSON or YAML name is a known format, and not prose with a colon.
fn is_known(tree: &TreeNode) -> bool {
    let has = |keys: &[&str]| keys.iter().all(|key| tree.entry(key).is_some());
    registry::is_one(tree) || ralph::is_one(tree) || has(&["steps", "version"]) || has(&["steps", "name"])
}

#[cfg(test)]
mod tests;
