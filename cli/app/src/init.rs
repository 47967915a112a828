//! A workflow to begin with, from the files of a project.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_files::output_file::{self, Existing};
use unstuck_workflow::registry::{starter, workflow_file};
use unstuck_workflow::test_command;
use unstuck_workspace::branch;

use crate::error::{AppError, Result};
use crate::workers;

/// The files that were written, and what was found for them.
pub struct Starter {
    /// The names of the files, the workflow last.
    pub files: Vec<String>,
    /// The validators, or the check: the name and the command of each.
    pub validators: Vec<(String, String)>,
    /// Commands that test the project, too, and were not taken.
    pub others: Vec<String>,
    /// Folders that the tools of the project write and git does not ignore, if a validator asks for a clean repository.
    pub unignored: Vec<&'static str>,
}

impl Starter {
    /// Returns true for a validator of this name.
    pub fn has(&self, name: &str) -> bool {
        self.validators.iter().any(|(found, _)| found == name)
    }
}

/// The files that are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct InitRequest<'a> {
    /// The goal.
    pub goal: &'a str,
    /// The worker; `None` for the first client that is installed.
    pub with: Option<&'a str>,
    /// Validators and prompts are written, too.
    pub registry: bool,
    /// Files that exist are overwritten.
    pub force: bool,
}

/// Writes a workflow, perhaps with validators and prompts.
///
/// # Errors
///
/// A file exists already and `force` is not given, or cannot be written. Nothing is written then.
pub fn init(root: &Path, request: &InitRequest<'_>) -> Result<Starter> {
    let InitRequest { goal, with, force, .. } = *request;
    if goal.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(AppError::usage("the goal has a control character, which no workflow file can hold")
            .hint("nothing was written; take it out"));
    }
    let known = workers::load_clients(root)?;
    let first =
        || workers::first_installed(&known).map_or("claude", |client| client.name.as_str()).to_owned();
    let with = with.map_or_else(first, str::to_owned);
    let is_client = known.contains_key(&with);
    let mut tests = test_command::detect(root).into_iter();
    let (files, found) = if request.registry {
        tests.next();
        starter(root, &with, is_client, goal)
    } else {
        let check = tests.next().map(|test| test.command);
        let text = workflow_file(&with, is_client, goal, check.as_deref());
        (
            vec![("unstuck.yaml".to_owned(), text)],
            check.map(|check| ("check".to_owned(), check)).into_iter().collect(),
        )
    };
    let there: Vec<&str> =
        files.iter().filter(|(name, _)| root.join(name).is_file()).map(|(name, _)| name.as_str()).collect();
    if !there.is_empty() && !force && !there.iter().any(|name| root.join(name).is_symlink()) {
        return Err(AppError::usage(format!("{} is there already", there.join(", ")))
            .hint("nothing was written; --force writes over it"));
    }
    // The workflow refers to the others, and comes last: without them it is of no use.
    let texts = files.iter().rev().map(|(name, text)| (PathBuf::from(name), text.clone().into_bytes()));
    let existing = if force { Existing::Replace } else { Existing::Keep };
    output_file::write_below(root, &texts.collect::<Vec<_>>(), existing).map_err(not_written)?;
    let others = tests.map(|test| test.to_string()).collect();
    let asks_for_clean = found.iter().any(|(name, _)| name == "git-clean");
    Ok(Starter {
        files: files.into_iter().rev().map(|(name, _)| name).collect(),
        validators: found,
        others,
        unignored: if asks_for_clean { unignored(root) } else { Vec::new() },
    })
}

/// A file of a project, and the folder that its tools write.
const WRITTEN: &[(&str, &str)] = &[
    ("Cargo.toml", "target/"),
    ("package.json", "node_modules/"),
    ("pyproject.toml", "__pycache__/"),
    ("setup.py", "__pycache__/"),
    ("setup.cfg", "__pycache__/"),
    ("requirements.txt", "__pycache__/"),
    ("pytest.ini", "__pycache__/"),
    ("tox.ini", "__pycache__/"),
];

/// Returns the folders that tools of the project write and git does not ignore.
fn unignored(root: &Path) -> Vec<&'static str> {
    let is_shown = |folder: &str| branch::ignores(root, folder) == Some(false);
    let written = WRITTEN.iter().filter(|(file, _)| root.join(file).exists()).map(|(_, folder)| *folder);
    let mut folders: Vec<&str> = written.filter(|folder| is_shown(folder)).collect();
    folders.dedup();
    folders
}

fn not_written(error: io::Error) -> AppError {
    AppError::usage(format!("cannot write the files: {error}"))
}
