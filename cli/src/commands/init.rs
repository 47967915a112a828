//! `unstuck init`: a workflow with validators and prompts that follow from the files of the project.

use std::io;
use std::path::{Path, PathBuf};

use unstuck_files::output_file::{self, Existing};
use unstuck_workflow::registry::starter;
use unstuck_workflow::test_command;
use unstuck_workspace::branch;

use crate::args::{self, Global};
use crate::error::{Error, Result};
use crate::exit;
use unstuck_app::{branches, workers};

/// Arguments of `unstuck init`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is to be done; can be written into the file later.
    #[arg(default_value = "Say here what is to be done.", value_parser = args::words)]
    goal: String,
    /// Who works: a client by its name (unstuck workers), or any command line that reads a prompt on standard input
    /// [default: the first client that is installed].
    #[arg(long, value_name = "WORKER", value_parser = args::words)]
    with: Option<String>,
    /// Write over files that are there.
    #[arg(long)]
    force: bool,
}

/// Writes the files and says what to do next.
pub fn init(global: &Global, args: &Args) -> Result {
    let root = global.place().directory()?;
    if args.goal.contains(|c: char| c.is_control() && !matches!(c, '\n' | '\t')) {
        return Err(Error::usage("the goal has a control character, which no workflow file can hold")
            .hint("nothing was written; take it out"));
    }
    let known = workers::known(&root)?;
    let first =
        || workers::first_installed(&known).map_or("claude", |client| client.name.as_str()).to_owned();
    let with = args.with.clone().unwrap_or_else(first);
    let (files, found) = starter(&root, &with, known.contains_key(&with), &args.goal);
    let there: Vec<&str> =
        files.iter().filter(|(name, _)| root.join(name).is_file()).map(|(name, _)| name.as_str()).collect();
    if !there.is_empty() && !args.force && !there.iter().any(|name| root.join(name).is_symlink()) {
        return Err(Error::usage(format!("{} is there already", there.join(", ")))
            .hint("nothing was written; --force writes over it"));
    }
    // The workflow refers to the others, and comes last: without them it is of no use.
    let texts = files.iter().rev().map(|(name, text)| (PathBuf::from(name), text.clone().into_bytes()));
    let existing = if args.force { Existing::Replace } else { Existing::Keep };
    output_file::write_below(&root, &texts.collect::<Vec<_>>(), existing).map_err(not_written)?;
    for (name, _) in files.iter().rev() {
        println!("wrote {name}");
    }
    println!();
    for (name, command) in &found {
        println!("  {name:<13} {command}");
    }
    let has = |name: &str| found.iter().any(|(found, _)| found == name);
    if !has("tests-pass") {
        eprintln!(
            "warning: no file of the project says how it is tested, so nothing will test the work: add a validator that \
             does to .agent/work/steps_registry.json, and to the conditions of complete.work"
        );
    }
    let others = test_command::detect(&root).into_iter().skip(1).map(|it| it.to_string());
    let others: Vec<String> = others.collect();
    if !others.is_empty() {
        eprintln!(
            "note: not taken: {}; where the work has to pass them too, add validators to .agent/work/steps_registry.json, \
             and to the conditions of complete.work",
            others.join(", ")
        );
    }
    for folder in has("git-clean").then(|| unignored(&root)).into_iter().flatten() {
        eprintln!(
            "warning: git does not ignore {folder}, which the tools of the project write, so git-clean would have it \
             committed: echo {folder} >>.gitignore"
        );
    }
    println!("\nnext:");
    let probe = found.first().map(|(name, _)| format!("unstuck probe validator {name}"));
    let add = has("git-clean").then(|| "git add unstuck.yaml .agent".to_owned());
    let next = [
        (probe, "try one alone"),
        (Some("unstuck check unstuck.yaml".to_owned()), "what it may cost"),
        (add, "commit them: git-clean asks for that"),
        (Some(format!("unstuck run unstuck.yaml{}", branches::needed(&root))), ""),
    ];
    for (command, what) in next.into_iter().filter_map(|(command, what)| Some((command?, what))) {
        println!("{}", format!("  {command:<36} {what}").trim_end());
    }
    Ok(exit::OK)
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

fn not_written(error: io::Error) -> Error {
    Error::usage(format!("cannot write the files: {error}"))
}
