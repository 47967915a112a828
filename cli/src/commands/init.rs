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
    println!("\nnext:");
    let probe = format!("unstuck probe validator {}", found.first().map_or("git-clean", |(name, _)| name));
    let next = [
        (probe.as_str(), "try one alone"),
        ("unstuck check unstuck.yaml", "what it may cost"),
        ("git add unstuck.yaml .agent", "commit them: git-clean asks for that"),
        ("unstuck run unstuck.yaml", ""),
    ];
    for (command, what) in next {
        println!("{}", format!("  {command:<36} {what}").trim_end());
    }
    Ok(exit::OK)
}

fn write(path: &Path, text: &str) -> Result<()> {
    let made = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(path, text));
    made.map_err(|error| Error::usage(format!("cannot write {}: {error}", path.display())))
}
