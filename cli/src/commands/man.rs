//! `unstuck man`: man pages, one for each command.

use std::path::PathBuf;

use clap::CommandFactory as _;

use crate::error::{Error, Result};
use crate::exit;

/// Arguments of `unstuck man`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Example: unstuck man ~/.local/share/man/man1 && man unstuck-run")]
pub struct Args {
    /// The folder to write to; made if it is not there.
    folder: PathBuf,
}

/// Writes the pages.
pub fn man(args: &Args) -> Result {
    let failed =
        |error| Error::usage(format!("cannot write man pages to {}: {error}", args.folder.display()));
    std::fs::create_dir_all(&args.folder).map_err(failed)?;
    clap_mangen::generate_to(crate::args::Args::command(), &args.folder).map_err(failed)?;
    println!("wrote man pages to {}", args.folder.display());
    Ok(exit::OK)
}
