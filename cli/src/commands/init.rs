//! `unstuck init`: a workflow with validators and prompts that follow from the files of the project.

use std::fs;
use std::path::Path;

use unstuck_adapters::registry::starter;

use crate::args::Global;
use crate::error::{Error, Result};
use crate::{exit, project};

/// Arguments of `unstuck init`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// What is to be done; can be written into the file later.
    #[arg(default_value = "Say here what is to be done.")]
    goal: String,
    /// The command line that works: it reads a prompt on standard input.
    #[arg(long, value_name = "COMMAND", default_value = "claude --print")]
    with: String,
    /// Write over files that are there.
    #[arg(long)]
    force: bool,
}

/// Writes the files and says what to do next.
pub fn init(global: &Global, args: &Args) -> Result {
    let root = project::directory(global)?;
    let (files, found) = starter(&root, &args.with, &args.goal);
    let there: Vec<&str> =
        files.iter().filter(|(name, _)| root.join(name).exists()).map(|(name, _)| name.as_str()).collect();
    if !there.is_empty() && !args.force {
        return Err(Error::usage(format!("{} is there already", there.join(", ")))
            .hint("nothing was written; --force writes over it"));
    }
    for (name, text) in &files {
        write(&root.join(name), text)?;
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
    println!("\nnext:");
    let probe = found.first().map(|(name, _)| format!("unstuck probe validator {name}"));
    let add = has("git-clean").then(|| "git add unstuck.yaml .agent".to_owned());
    let next = [
        (probe, "try one alone"),
        (Some("unstuck check unstuck.yaml".to_owned()), "what it may cost"),
        (add, "commit them: git-clean asks for that"),
        (Some("unstuck run unstuck.yaml".to_owned()), ""),
    ];
    for (command, what) in next.into_iter().filter_map(|(command, what)| Some((command?, what))) {
        println!("{}", format!("  {command:<36} {what}").trim_end());
    }
    Ok(exit::OK)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    made.map_err(|error| Error::usage(format!("cannot write {}: {error}", path.display())))
}
