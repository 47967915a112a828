//! `unstuck completions`: a script that completes arguments, runs too: it asks this program.

use std::io::Write as _;

use clap_complete::env::Shells;

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
    let shells = Shells::builtins();
    let shell = shells.completer(&args.shell.to_string()).expect("every shell that can be named is built in");
    let mut script = Vec::new();
    shell
        .write_registration("COMPLETE", "unstuck", "unstuck", "unstuck", &mut script)
        .expect("nothing can go wrong in memory");
    crate::output_queue::check_written(std::io::stdout().lock().write_all(&script));
    Ok(exit::OK)
}
