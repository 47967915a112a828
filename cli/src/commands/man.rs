//! `unstuck man`: man pages, one for each command.

use std::io;
use std::path::PathBuf;

use clap::Command;
use clap_mangen::Man;
use unstuck_files::output_file::{self, Existing};

use crate::error::{AppError, Result};
use crate::exit;

/// Arguments of `unstuck man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: unstuck man ~/.local/share/man/man1 && man unstuck-run")]
pub struct Args {
    /// Directory to write to; created if it is missing.
    folder: PathBuf,
}

/// Writes the pages.
pub fn man(args: &Args, command: Command) -> Result {
    let failed =
        |error| AppError::usage(format!("cannot write man pages to {}: {error}", args.folder.display()));
    let mut command = command.disable_help_subcommand(true);
    command.build();
    let mut pages = Vec::new();
    add_pages(command, &mut pages).map_err(failed)?;
    output_file::write_into(&args.folder, &pages, Existing::Replace).map_err(failed)?;
    println!("wrote man pages to {}", args.folder.display());
    Ok(exit::OK)
}

/// Adds the page of a command and of those below it.
fn add_pages(command: Command, pages: &mut Vec<(PathBuf, Vec<u8>)>) -> io::Result<()> {
    for below in command.get_subcommands().filter(|below| !below.is_hide_set()) {
        add_pages(below.clone(), pages)?;
    }
    let page = Man::new(command);
    let mut text = Vec::new();
    page.render(&mut text)?;
    pages.push((page.get_filename().into(), text));
    Ok(())
}
