//! `unstuck completions`: a script that completes arguments.

use std::io::Write as _;

use clap::CommandFactory as _;

use crate::error::Result;
use crate::exit;

/// Arguments of `unstuck completions`.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Example: unstuck completions bash > ~/.local/share/bash-completion/completions/unstuck"
)]
pub struct Args {
    /// The shell.
    shell: clap_complete::Shell,
}

/// Prints the script.
pub fn completions(args: &Args) -> Result {
    let mut command = crate::args::Args::command();
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "unstuck", &mut script);
    crate::wrote(std::io::stdout().lock().write_all(&script));
    Ok(exit::OK)
}
